"""The selftest on the terminal: one row a scenario in 100 columns, then what holds of the suite, then what does not."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.compare.comparisons import find_dominated
from harness.compare.rows import DUMP
from harness.model.results import Comparison
from harness.model.trial import DEFAULT_K, READ_POLICIES
from harness.report import words
from harness.report.words import make_plain
from harness.selftest import bounds, capture_faults, cheats, job_table, overlap, separability, transcripts
from harness.selftest.pool_baselines import PoolBaseline
from harness.selftest.proof import Count
from harness.selftest.suite import ENOUGH, MISLED, SOLVED, ScenarioRow, SelfTest, share, sum_counts

HEADS = (
    "checks", "oracle", "stale", "none", "texts", "silent", "pool>k", "cold", "trust", "new", "verify", "misled",
)  # fmt: skip


def show(report: SelfTest, out: Console, *, with_jobs: bool = False) -> None:
    """Prints what was proven. Everything is `Text`, so no text of a scenario is taken for markup.

    Args:
        with_jobs: Also each way to take each decision.
    """
    out.print(_make_table(report), soft_wrap=False)
    for row in report.rows if with_jobs else ():
        job_table.show_ways(row.scenario, row.tried, row.unaided, out)
    for line in ["", *_list_suite(report), *(["", "worth knowing"] if report.notes else []), *map(str, report.notes)]:
        # `wrap` makes nothing of an empty line
        for part in textwrap.wrap(make_plain(line), max(out.width, 80), subsequent_indent="  ") or [""]:
            # already wrapped: Rich would break the line again at a narrower width
            out.print(Text(part), soft_wrap=True)


def _make_table(report: SelfTest) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    kind = ""
    for row in report.rows:
        own, _, name = row.scenario.partition("/")
        if own != kind:
            kind = own
            table.add_row(Text(make_plain(kind), style="bold"))
        table.add_row(Text(make_plain(name)), *_make_cells(row))
    return table


def _make_cells(row: ScenarioRow) -> Iterator[Text]:
    silent = sum_counts([row.names, row.noise])
    for count in (row.checks, row.oracle, row.stale, sum_counts([row.none, row.refusal]), row.texts, silent):
        yield _format_count(count)
    yield Text(str(row.open_.large))
    yield Text(str(row.cold))
    for policy in READ_POLICIES:
        yield Text(f"{share(row.open_.solved[policy]):.0%}")
    misled = (row.open_.newest_wrong, row.open_.head_misleads, row.open_.only_memory)
    yield Text(" ".join(str(count.hits) for count in misled))


def _format_count(count: Count) -> Text:
    """A count alone is good; with what is missing beside it, it is not."""
    return Text(str(count.of)) if count.hits == count.of else Text(str(count), style="bold red")


EXPLAINED = """checks: nothing before the job, the right value after it, the wrong value for each single wrong option;
oracle: decisions right with only the gold; stale: decisions stale with only the superseded; none: decisions that an
empty memory and a constant refusal leave as they are; texts: authored texts that the rules read as annotated;
silent: noise texts that tell nothing but a lure where it holds, and file names that tell nothing;
pool>k: questions for which more is stored than is asked for; cold: decisions right without a memory;
trust, new, verify: decisions that these readers solve from the full pool;
misled: decisions in which the newest entry is wrong, the source at HEAD misleads, only memory knows"""


def _list_suite(report: SelfTest) -> list[str]:
    rows = report.rows
    judged = "" if len(rows) >= ENOUGH else f" (not judged below {ENOUGH} scenarios)"
    pools = {
        "scopes unheeded": [row.open_ for row in rows],
        "scopes heeded": [row.scoped for row in rows],
    }
    lines = [" ".join(EXPLAINED.split()), ""]
    for name, each in pools.items():
        wrong = sum_counts(pool.newest_wrong for pool in each)
        lines.append(f"full pool, {name}: {_show_solved(each)}; at most {SOLVED:.0%} may be{judged}")
        lines.append(f"  newest entry wrong: {_show_share(wrong)}; at least {MISLED:.0%} must be{judged}")
    head, told, large = (
        sum_counts(getattr(row.open_, key) for row in rows) for key in ("head_misleads", "only_memory", "large")
    )
    cold = sum_counts(row.cold for row in rows)
    misled, knows, right = map(_show_share, (head, told, cold))
    lines.append(f"HEAD misleads: {misled}; only memory knows: {knows}; cold is right: {right}")
    lean = overlap.add(row.leaning for row in rows)
    lines.append(
        f"questions about a replaced rule that share a rare word with one side only: with the current rule "
        f"{lean.current}, with the one before {lean.superseded}, of {lean.of}; at most {overlap.BOUND:.0%} more with "
        f"one than with the other; who counts words takes the current rule in {lean.picked:g}{judged}"
    )
    heard = [row.heard for row in rows if row.heard]
    lines += (f"{line}{judged}" for line in transcripts.describe(heard))
    lines.append(f"more than k = {DEFAULT_K} memories stored: for {_show_share(large)} of the questions of probes")
    small = [f"{row.scenario.partition('/')[2]} {', '.join(row.open_.small)}" for row in rows if row.open_.small]
    if small:
        lines.append(f"  not for: {'; '.join(small)}")
    if report.chance is not None:
        drawn, expected, k, n = report.chance
        lines.append(
            f"random: an answer in {drawn} draws of {k} out of {n}; expected by chance {expected * drawn.of:.0f}"
        )
    compared = bounds.compare_dominance([cell for row in rows for cell in row.noisy])
    if compared:
        lines.append(f"{DUMP} at noise {bounds.NOISE}: {_describe_comparisons(compared)}")
        better = words.join_words(find_dominated(compared)) or "no backend"
        spoken = any(row.spoken for row in rows)
        bound = f"than {bounds.RANKED} it may not be" if spoken else "than none may it be"
        lines.append(f"  as good in all of these, better in one: than {better}; {bound}{judged}")
    lines += [
        f"{each.kind} told from facts by metadata and style: area under the curve {each.area:.2f} "
        f"({each.cases} against {each.facts}); at most {separability.BOUNDS[each.kind]:.2f} may be"
        for each in report.apart
    ]
    if report.gains:
        shown = ", ".join(f"{each.cheat} {each.gain:+.2f}" for each in report.gains)
        lines.append(f"gained by keeping only what looks like an answer, at most {cheats.BOUND:.2f} may be: {shown}")
    lines += capture_faults.describe([row.captured for row in rows if row.captured])
    lines.append(f"refusal: {sum_counts(row.refusal for row in rows)} decisions end as without a memory")
    return lines


def _describe_comparisons(compared: Sequence[Comparison]) -> str:
    """`against bm25: answers recalled .59 to .51, ...`: the means of both, in the order of the measures."""
    told: dict[str, list[str]] = {}
    for each in compared:
        show = words.format_number if each.measure == "tokens_total" else words.share
        values = f"{show(each.left_value)} to {show(each.right_value)}"
        told.setdefault(each.right, []).append(f"{words.measure_name(each.measure)} {values}")
    return "; ".join(f"against {name}: {', '.join(values)}" for name, values in told.items())


def _show_solved(pools: list[PoolBaseline]) -> str:
    shares = (f"{policy} solves {share(sum_counts(p.solved[policy] for p in pools)):.0%}" for policy in READ_POLICIES)
    return ", ".join(shares)


def _show_share(count: Count) -> str:
    return f"{count} ({share(count):.0%})"
