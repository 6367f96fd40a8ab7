"""Pages in Markdown: `summary.md`, what chat calls cost, and a model beside the scripted reader.

Words of a backend stand in code, with entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from harness.compare.calibration import Calibration, PolicyFit, Row
from harness.compare.calibration import Condition as ReaderCondition
from harness.compare.cost_model import Condition, Cost
from harness.model.job import DecisionOutcome
from harness.model.prices import Prices
from harness.model.results import Results
from harness.model.trial import READ_POLICIES, SCRIPTED, Interval
from harness.report import words
from harness.report.model import board, table
from harness.report.model.board import Board, BoardRow
from harness.report.model.evidence import BadCase
from harness.report.model.sections import Costing, collect_costs
from harness.report.model.table import MEANING, SHAPES, ScoreboardCell
from harness.report.text import points, verdict

# --- verdict and scoreboard for a job summary or a pull request -------------------------------------------------------

CASES = 12
"""Cases of the drills that are shown; the report has more, and the receipts name all."""
_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " ", **{char: f"&#{ord(char)};" for char in "|`@[]*~$\\"}}
)
_BETWEEN = re.compile(r"(?<![^\W_])_|_(?![^\W_])|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
"""What is emphasis or an address only where it stands: `_` at the end of a word, `://`, `www.`"""


def format_code(text: str, limit: int = 200) -> str:
    """Foreign text that breaks no table, mentions nobody and links nowhere."""
    # Before `make_visible`, which shows a line feed as a token.
    return f"<code>{_escape(words.make_visible(text.replace(chr(10), ' '), limit))}</code>"


def write_summary(results: Results, receipts: Mapping[str, Sequence[BadCase]] = {}) -> str:
    """The whole file.

    Args:
        receipts: Of the drills, by cell.
    """
    scoreboard = board.collect(results)
    parts = [
        _write_head(results, scoreboard),
        _write_gates(results, scoreboard),
        _show_board(results, scoreboard),
        _write_cases(receipts),
        _list_faults(results, bad=False),
        _rest(results, scoreboard),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _write_head(results: Results, scoreboard: Board) -> list[str]:
    stories = words.format_count(len(results.stories), "story", "stories")
    played = ", ".join(filter(None, [f"coldwarm {results.run.version}", table.describe_suite(results), stories]))
    return [
        "# Which memory should this agent use?",
        "",
        f"{_escape(played)}, logs `{results.run.logs[:12]}`.",
        "",
        *_list_faults(results, bad=True),
        *(f"- {_escape(line.text)}" for line in verdict.judge(results, scoreboard)),
        "",
    ]


def _list_faults(results: Results, *, bad: bool) -> list[str]:
    """The bad ones stand before anything that the other calls have shown; what a drill provoked, below."""
    lines = []
    for each in table.state_faults(results):
        if each.bad != bad:
            continue
        head = _escape(each.head)
        lines.append(f"**{SHAPES['bad']} {head}**" if each.bad else head)
        lines += ["", *(f"- {format_code(failing.says, 400)}" for failing in each.failing), ""]
    return lines


def _escape(text: str) -> str:
    """Markdown is read inside of `<code>`, too: an image in a memory would be fetched for each reader of a summary."""
    return _BETWEEN.sub(lambda found: f"&#{ord(found[0])};", text.translate(_ENTITIES))


def _write_gates(results: Results, scoreboard: Board) -> list[str]:
    """The broken and the unmeasured one by one, the held ones counted."""
    if not results.gates:
        return []
    counts = Counter(gate.verdict for gate in results.gates)
    sentence = f"{counts['broken']} broken, {counts['not-measured']} not measured, {counts['held']} held"
    bad = [gate for verdict in ("broken", "not-measured") for gate in results.gates if gate.verdict == verdict]
    mark = {"broken": "\u2715", "not-measured": "?"}
    lines = [f"- {mark[gate.verdict]} {gate.verdict.replace('-', ' ')}: {format_code(gate.says, 400)}" for gate in bad]
    if unchecked := board.collect_demands(results, scoreboard).lines:
        lines += [*([""] if lines else []), "**Problems that none of your gates checks**", ""]
        lines += [f"- {_escape(line)}" for line in unchecked]
    return [f"**Gates: {sentence}**", "", *lines, *([""] if lines else [])]


def _show_board(results: Results, scoreboard: Board) -> list[str]:
    """The scoreboard, as every other output has it."""
    if scoreboard.empty:
        return []
    lines = [[_name_row(row), *map(_show, row.scores)] for row in scoreboard.rows]
    legend = ", ".join(f"{SHAPES[each]} {word}" for each, word in MEANING.items() if each != "open")
    notes = [f"{row.name}: {note}." for row in scoreboard.rows for note in row.notes]
    sentences = [
        f"{legend}.",
        scoreboard.counts,
        board.FAILED if scoreboard.trust else "",
        scoreboard.bounds,
        *notes,
        table.explain_model_inside(results),
    ]
    return [
        *_write_grid(["Backend", *(column.head for column in scoreboard.columns)], lines),
        "",
        _escape(" ".join(filter(None, sentences))),
        "",
    ]


def _name_row(row: BoardRow) -> str:
    return f"{format_code(row.name)} {_escape(row.version)}".strip()


def _show(score: ScoreboardCell) -> str:
    mark = f"{score.shape} " if score.judgement != "open" else ""
    text = _escape(score.text) if score.measured else f"*{_escape(score.text)}*"
    beside = "; ".join(_escape(each) for each in (*(line.text for line in score.lines[1:]), score.word) if each)
    return f"{mark}{text}" + (f" ({beside})" if beside else "")


def _write_cases(receipts: Mapping[str, Sequence[BadCase]]) -> list[str]:
    """Which memory it was: of every backend in turn one case of a measure, the first few."""
    # Reversed twice: of each measure the first case is kept, and measures keep their order.
    first = [{each.measure: each for each in reversed(found) if each.case} for found in receipts.values()]
    turns = zip_longest(*(reversed(found.values()) for found in first))
    cases = [each for turn in turns for each in turn if each is not None][:CASES]
    lines = [f"- {format_code(each.backend)} {each.measure}: {format_code(each.case, 600)}" for each in cases]
    return ["**For example**", "", *lines, ""] if lines else []


def _write_grid(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    ruled = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(line)} |" for line in (heads, ruled, *lines)]


def _rest(results: Results, scoreboard: Board) -> list[str]:
    lacking = board.explain_cells(scoreboard)
    return [
        *(["**Not measured**", "", *(f"- {_escape(line)}" for line in lacking), ""] if lacking else []),
        *(f"{_escape(line)}\n" for line in filter(None, [table.explain_chance(results)])),
        _escape(words.describe_conditions(results)),
        "",
        "**This run cannot say**",
        "",
        *(f"- {_escape(line)}" for line in points.explain_limits(results)),
    ]


# --- the costs of chat calls, as `coldwarm cost` prints them ----------------------------------------------------------


def write_costs(costs: Sequence[Cost], prices: Prices | None) -> str:
    """The whole page in Markdown."""
    return "\n".join(_list_costs(collect_costs(costs, prices))) + "\n"


def _list_costs(costing: Costing) -> Iterator[str]:
    yield from ("# What the chat calls cost", "", costing.says)
    if not costing.spent:
        yield "No chat call was made."
    if costing.unpriced:
        yield f"Without a price: {', '.join(format_code(name or 'several models', 60) for name in costing.unpriced)}."
    yield from costing.notes
    yield from ("", "## For each job done", "")
    yield _format_row(
        "reader, backend, writing, noise", "jobs done", "tokens", "money", "seconds working", "seconds writing"
    )
    yield _format_row("---", *["---:"] * 5)
    for job in costing.jobs:
        yield _format_row(_name_condition(job.condition), *job[1:])
    yield from ("", "## By payer and phase", "")
    yield _format_row(
        "reader, backend, writing, noise", "payer", "phase", "model", "calls", "prompt", "of it cached", "answers",
        "money",
    )  # fmt: skip
    yield _format_row("---", "---", "---", "---", *["---:"] * 5)
    for spent in costing.spent:
        model = format_code(spent.model, 60) if spent.model else "-"
        yield _format_row(_name_condition(spent.condition), spent.payer, spent.phase, model, *spent[4:])


def _name_condition(condition: Condition) -> str:
    reader, backend, write, noise, writer = condition
    return ", ".join(
        [
            format_code(reader, 60),
            format_code(backend, 60) if backend else "cold",
            *([write] if write else []),
            str(noise),
            *([format_code(f"writer {writer}", 60)] if writer != SCRIPTED else []),
        ]
    )


def _format_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


# --- a model's decisions beside the scripted reader's, as `coldwarm calibrate` prints them ----------------------------

SHOWN: Mapping[DecisionOutcome, str] = {
    "right": "right", "stale": "stale", "lure": "lure", "other": "other", "unresolved": "open", "failed": "failed",
}  # fmt: skip


def write_calibration(calibrations: Sequence[Calibration]) -> str:
    """The whole page."""
    return "\n".join(line for each in calibrations for line in _list_decisions(each)) + "\n"


def _list_decisions(each: Calibration) -> Iterator[str]:
    yield from (f"# {format_code(each.reader, 60)} beside the scripted reader", "")
    yield from _summarize(each)
    yield from ("", "## Decision by decision", "")
    yield "Decisions are " + " / ".join(SHOWN.values()) + ". Equal: both took the same value, or both none."
    yield ""
    heads = [f"{policy}{column}" for policy in READ_POLICIES for column in ("", ": equal")]
    yield _format_row("backend, writing, noise", "asked", "model", *heads)
    yield _format_row("---", *["---:"] * (2 + len(heads)))
    yield from (_format_row(*_format_cells(row)) for row in each.rows)
    yield from ("", "## Which policy, and in which order", "")
    yield (
        "Equal decisions are a mean over scenarios. The order is that of the rows without controls by right decisions: "
        "Kendall's tau-b, 1 if both readers rank them alike, -1 if the other way round. The interval of a share is one "
        "of 95 %, over scenarios. That of tau is the middle 95 % of what it is in resampled scenarios. It holds the "
        "true tau less often than that, the fewer scenarios there are: chance pulls tau towards 0. So read its side of "
        "0 alone; it tells of these rows, not of others."
    )
    yield ""
    yield _format_row("policy", "equal", "mean share", "interval", "tau", "interval", "ranks the rows")
    yield _format_row("---", *["---:"] * 5, "---")
    yield from (_format_row(*_describe_fit(fit)) for fit in each.fits)
    yield ""


def _summarize(each: Calibration) -> Iterator[str]:
    decisions = sum(row.decisions for row in each.rows)
    how = "in jobs that the model did" if each.jobs else "that the model was asked for"
    yield (
        f"{words.format_count(decisions, 'decision')} {how}, in "
        f"{words.format_count(each.scenarios, 'scenario')} and "
        f"{words.format_count(each.conditions, 'condition')} beside controls."
    )
    best = max(each.fits, key=lambda fit: fit.share)
    if each.nearest:
        yield f"The scripted policy nearest to the model is **{each.nearest}** ({best.equal} of {best.of} decisions)."
    else:
        yield (
            f"Cannot say which scripted policy is nearest to the model: {best.policy} has most in common with it "
            f"({best.equal} of {best.of} decisions), but its lead is not beyond doubt."
        )
    why = "did not both come to them" if each.jobs else "were shown other entries"
    left_out = {
        "Not asked for, as nothing came back": each.unasked,
        f"Left out, as the two readers {why}": each.otherwise,
    }
    yield from (f"{what}: {words.format_count(count, 'more decision')}." for what, count in left_out.items() if count)
    if each.jobs:
        yield (
            "The model asked the memory in words of its own, in stories with salted names, so it may have been shown "
            "other entries than the scripted reader."
        )
    if each.unpaired:
        yield f"Trials of the model without a scripted one beside them: {each.unpaired:,}."


def _format_cells(row: Row) -> list[str]:
    beside = [
        cell
        for policy in READ_POLICIES
        for cell in (_outcomes(row.scripted[policy]), f"{row.equal[policy]} of {row.decisions}")
    ]
    return [_name_reading(row.condition), str(row.decisions), _outcomes(row.model), *beside]


def _name_reading(condition: ReaderCondition) -> str:
    if condition.write is None:
        return "cold: no memory"
    control = " (control)" if condition.control else ""
    return f"{format_code(condition.backend, 60)}{control}, {condition.write}, {condition.noise}"


def _outcomes(counts: Mapping[DecisionOutcome, int]) -> str:
    return " / ".join(str(counts.get(outcome, 0)) for outcome in SHOWN)


def _describe_fit(fit: PolicyFit) -> list[str]:
    ranks = {"alike": "alike", "otherwise": "the other way round", "cannot-say": f"cannot say: {fit.why}"}
    return [
        fit.policy, f"{fit.equal} of {fit.of}", f"{fit.share:.2f}", _interval(fit.interval),
        "" if fit.tau is None else f"{fit.tau:.2f}", _interval(fit.tau_interval), ranks[fit.ranks],
    ]  # fmt: skip


def _interval(bounds: Interval | None) -> str:
    return f"{bounds.low:.2f} to {bounds.high:.2f}" if bounds else ""
