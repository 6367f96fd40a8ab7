"""How numbers, counts, intervals and verdicts are put into words, and what words of ours mean: the one place for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from harness import metrics
from harness.compare.rows import GOLD
from harness.metrics import trust
from harness.model.dates import count_reused
from harness.model.results import Pooled, Results
from harness.model.trial import FED, SCRIPTED, Definition, Interval

NOT_MEASURED: Mapping[str, str] = {
    "unsupported": "unsupported",
    "not-applicable": "n/a",
    "failed": "failed",
    "not-run": "not run",
}
"""The four words for no number."""
MEANING: Mapping[str, str] = {
    "unsupported": "the backend declares that it cannot do this",
    "n/a": "not applicable: there was nothing to measure, or its control did not come out",
    "failed": "it was tried and broke",
    "not run": "it was planned and has no result",
}
NO_MERIT = "recalled nothing"
"""Stands beside a clean count of a row that recalled nothing: remembering nothing is no cleanliness."""
_UNSEEN = frozenset(
    ["\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", "\u3164", "\uffa0"]
    + [chr(code) for code in (*range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))]
)
"""Letters and marks that show nothing, and can carry a text past a reader; U+FE0F is left, as emoji need it."""
_COMMAND = re.compile(r"::(?=[A-Za-z])|##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""How GitHub (`::error::`, `##[error]`), Azure and TeamCity are told something by a line that they log."""


def format_number(value: float) -> str:
    """A number without a false last digit: 4,120; 41.3; 0.83."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def format_amount(value: float, unit: str) -> str:
    """A number with its unit; seconds as milliseconds, proportions as they are."""
    if unit == "seconds":
        return format_seconds(value)
    return format_number(value) if unit in ("proportion", "difference", "ratio") else f"{format_number(value)} {unit}"


def format_seconds(value: float) -> str:
    # 999.5 ms and more would be written as 1e+03 ms
    return f"{value * 1000:,.3g} ms" if value < 0.9995 else f"{value:,.1f} s"


def share(value: float) -> str:
    """A proportion of 0 to 1 as .83, its ends as 0 and 1."""
    text = f"{value:.2f}"
    # A small difference below 0 rounds to a zero, which has no sign.
    return {"0.00": "0", "1.00": "1", "-0.00": "0"}.get(text, re.sub(r"^(-?)0\.", r"\1.", text))


def show_signed(value: float, show: Callable[[float], str]) -> str:
    """A difference with its sign; a minus is a minus."""
    return f"\u2212{show(-value)}" if value < 0 else f"+{show(value)}" if value else show(value)


def count(hits: float, of: int) -> str:
    """`24/30`: never a share without its denominator."""
    return f"{format_number(hits)}/{of:,}"


def format_interval(value: Interval) -> str:
    """Both ends, as shares if they can be, else as numbers."""
    show = share if max(abs(value.low), abs(value.high)) <= 1 else format_number
    return f"{show(value.low)} to {show(value.high)}"


def format_count(n: int, noun: str, several: str = "") -> str:
    """`1 story`, `12 stories`; without a form for several an s is put behind."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {several or f'{noun}s'}"


def join_words(parts: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def count_missed(pooled: Pooled) -> list[tuple[str, int]]:
    """How many cells did not measure, by word."""
    counts = (pooled.unsupported, pooled.not_applicable, pooled.failed, pooled.not_run)
    return [(word, n) for word, n in zip(NOT_MEASURED.values(), counts, strict=True) if n]


def value(pooled: Pooled) -> str:
    """The number with its count, or the words for there being none; a lower bound says so."""
    if pooled.value is None:
        # The pool of no cell has nothing that it misses.
        return " + ".join(word for word, _ in count_missed(pooled)) or NOT_MEASURED["not-run"]
    shown = count(pooled.hits, pooled.of) if pooled.hits is not None and pooled.of else format_number(pooled.value)
    return f"\u2265 {shown}" if pooled.at_least else shown


def format_beside(pooled: Pooled) -> str:
    """What must stand next to a measured number: its interval, and the cells that are not in it."""
    parts = [format_interval(pooled.interval)] if pooled.value is not None and pooled.interval else []
    return ", ".join([*parts, *filter(None, [describe_left_out(pooled)])])


def describe_left_out(pooled: Pooled) -> str:
    """The cells that a measured number does not hold, by word."""
    if pooled.value is None:
        return ""
    return ", ".join(f"{format_count(n, 'cell')} {word}" for word, n in count_missed(pooled))


def measure_name(name: str) -> str:
    """What it counts, so that `more` and `fewer` can stand before it."""
    return metrics.words_of(name).thing or label(name)


def find_topic(name: str) -> str:
    """The part of the page that a measure of stories stands in."""
    return metrics.words_of(name).topic.id


def label(name: str) -> str:
    """A measure as a reader calls it; files and commands have its name, with underscores."""
    definition = metrics.DEFINITIONS.get(name) or trust.DEFINITIONS.get(name)
    return definition.label if definition and definition.label else name.replace("_", " ")


def describe_others(definition: Definition) -> str:
    """What the other cases of a measure are, those that are not its hits."""
    return definition.otherwise or f"not {label(definition.name)}"


def describe_fault(definition: Definition) -> str:
    """What went wrong by a measure, whichever of its cases are its hits."""
    return label(definition.name) if definition.better == "lower" else describe_others(definition)


UNDATED = ", all memories written with the same date"


def describe_conditions(results: Results) -> str:
    """What was held fixed, in one line."""
    conditions = results.run.conditions
    contained = " ".join(
        ["", *filter(None, [_describe_contained(results), describe_unsealed(results), describe_reused(results)])]
    )
    seeds = ", ".join(str(seed) for seed in conditions.seeds)
    if not results.stories:
        return make_visible(f"Held fixed: k {conditions.k}, embedder {conditions.embedder}, seed {seeds}.{contained}")
    noise = " and ".join(str(n) for n in conditions.noise)
    programs = results.run.programs
    played = f" ({' and '.join(programs)})" if programs else ""
    return make_visible(
        f"Held fixed: k {conditions.k}, {conditions.budget:,} tokens of memory text ({conditions.tokens}), "
        f"reader {conditions.reader}{played}, "
        f"{'' if conditions.writer == SCRIPTED else f'writer {conditions.writer}, '}"
        f"{FED[conditions.feed]}{', ' if FED[conditions.feed] else ''}"
        f"embedder {conditions.embedder}, write {conditions.headline_write}, read {conditions.headline_read}, "
        f"noise {conditions.headline_noise} of {noise} played, seed {seeds}{UNDATED if conditions.undated else ''}"
        f"{_describe_clock(results)}"
        f"{f', up to {conditions.rounds} rounds a job' if conditions.rounds > 1 else ''}.{contained}"
    )


def _describe_clock(results: Results) -> str:
    """Empty if all had the wall clock."""
    if results.run.conditions.clock == "wall":
        return ""
    apart = [name for name, row in results.backends.items() if row.backend and row.clock == "wall" and name not in GOLD]
    but = f" (the wall clock for {join_words(apart)}: a server keeps its memories)" if apart else ""
    return f", the clock of the story{but}"


def describe_reused(results: Results) -> str:
    """Empty if all was played in this run."""
    # A trial has a cell for each way of reading, and was played once.
    trials = {*(cell.trial for cell in results.cells), *(cell.id for cell in results.trust)}
    reused = count_reused(results.run.reused, len(trials))
    return f"{reused}, and what they took is of that time." if reused else ""


def describe_unsealed(results: Results) -> str:
    """Empty if every log that was closed has its seal."""
    many = format_count(results.run.unsealed, "log")
    return (
        f"Not sealed: {many} of an older coldwarm, in which a change would not be seen." if results.run.unsealed else ""
    )


def _describe_contained(results: Results) -> str:
    """What backends and checks could not reach; nothing of a run that did not record it."""
    run = results.run
    if not run.backends_contained:
        return ""
    return f"Backends contained by: {run.backends_contained}. Checks: {run.checks_contained}."


def make_visible(text: str, limit: int | None = None, *, lines: bool = False) -> str:
    """Hostile text made harmless to look at: controls, bidi marks and lone surrogates as visible tokens, cut at `limit`
    characters with the full size stated.

    Args:
        lines: Keeps line feeds and tabs.
    """
    shown = text if limit is None else text[:limit]
    allowed = "\n\t" if lines else ""
    # Most texts are plain ASCII, and need no look at each character.
    if shown.isascii() and shown.isprintable():
        safe = shown
    else:
        safe = "".join(c if c in allowed or not _is_hidden(c) else f"\u27e8U+{ord(c):04X}\u27e9" for c in shown)
    cut = len(text) - len(shown)
    return f"{safe} \u2026 [cut: {len(shown):,} of {len(text):,} characters shown]" if cut else safe


def make_plain(text: str, limit: int | None = None) -> str:
    """`visible` for what is printed: no CI server reads a command in its log, wherever a line of it is broken."""
    # One changed character of the two is enough to break a command.
    return _COMMAND.sub(lambda found: f"{found[0][0]}\u27e8U+{ord(found[0][1]):04X}\u27e9", make_visible(text, limit))


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co") or char in _UNSEEN


# --- the words of the page that are ours ------------------------------------------------------------------------------

GLOSSARY: Mapping[str, str] = {
    "story": "A scripted history of work on a real git repository: what is learned, changed, asked, done and deleted.",
    "suite, split": "All stories of one version; a split is a part of them, one of which is held back for a final run.",
    "cold, warm; arm": "The same jobs without memory (the cold arm) and with it (the warm arm).",
    "append only": "The agent only adds to its memory. On the console and in files: append.",
    "look up first": "Before it writes, the agent asks the memory and replaces what the new fact contradicts: curated.",
    "fact, source": "What a story tells, with the commit, file and line where it stands in its repository.",
    "probe, gold": "A question to the memory, in up to three phrasings (strata); gold is the facts that answer it.",
    "job": "A piece of work in the repository: some decisions, each judged by a check of its own.",
    "right decision": "A job's check found the right value in the work tree. Checks are commands; no model judges.",
    "stale": "A rule that was true and no longer is.",
    "lure": "A rule that looks alike and holds elsewhere: another repository, branch or user.",
    "recalled": "Among the first k memories that came back, within the token budget, one says what was asked for.",
    "k, budget": "How many memories a question asks for, and how many tokens of them count.",
    "noise": "Generated memories beside the story: unrelated ones, look-alikes, rules that hold elsewhere.",
    "seed": "The number that draws the noise and the canaries: equal seeds, equal texts.",
    "reader": "Who turns memories into decisions: fixed rules, unless the run names a model or an agent program.",
    "trusting, newest, verifying, careful, filtered": (
        "Which memory an agent takes: the first, the latest, the one whose cited line still stands in git, the latest "
        "whose cited line is not gone, or the first that the backend's own filter lets through."
    ),
    "scope": "Where a memory holds: organisation, repository, branch, user.",
    "drill": "A test of trust without a story: the store is written to, asked, deleted from, killed and reopened.",
    "promise": "What the contract of a backend says, held against random sequences of operations.",
    "route": "A way to a memory: listing, search, direct read, history.",
    "layer": "A place where a backend keeps bytes: a table, an index, a log, a file.",
    "canary": "A word that stands in one memory only. What still shows it after a deletion still holds that memory.",
    "poison": "Memories that were injected, are doubtful, or have expired.",
    "control": "A row that is never ranked. It shows what the best, the worst, chance and no memory look like here.",
    "oracle, stale oracle": "The best and the worst possible memory: all that comes back is right, or stale.",
    "reference": "A small sound store, which shows that a drill can be passed.",
    "cell": "One trial, or one drill, with all its measures.",
    "receipt": "The line of a log on which a number rests, with the command that repeats it.",
    "gate": "A demand on a measure, made by the team that runs this.",
    "unsupported, n/a, failed, not run": (
        "Why there is no number: declared as lacking; nothing to measure; tried and broken; planned, without a result."
    ),
    "gravity": "The order of the tests in a column: what harms whoever relies on the memory most comes first.",
    "shown": "A difference is shown if its adjusted p is at most .05; its interval then leaves out 0.",
}
