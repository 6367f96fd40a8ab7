"""What CI reads: `junit.xml` for its servers, and for a job on GitHub annotations and a summary.

Gates, cells, drills, cells of the scoreboard and backends that could not play are test cases of `junit.xml`. Broken
gate: failure. What ended badly, failed in calls beyond the allowance, or is gated and was not measured: error, because
skipped is green everywhere. What a backend declares that it cannot do: skipped. What is bad on the scoreboard is told
in a case that passed, as it is of a drill: only a gate demands. Without a number it is skipped. Only words of coldwarm
and of a fault stand in the file, no memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal
from xml.etree import ElementTree

from harness.model.cells import AnyCell, Faults
from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report.model import board
from harness.report.model.table import DASH, MEANING, ScoreboardCell
from harness.report.words import format_count, make_plain, make_visible

# --- `junit.xml` ------------------------------------------------------------------------------------------------------

# The names of elements in junit.xml.
TestOutcome = Literal["failure", "error", "skipped"]
TEXT = 2000
"""Characters of one message."""


@dataclass(frozen=True)
class TestCase:
    """A test case: names are the same in every run.

    Attributes:
        says: Why it did not pass.
        told: What it showed, if it passed.
    """

    place: str
    name: str
    outcome: TestOutcome | None = None
    says: str = ""
    file: str | None = None
    told: str = ""


def write_junit(results: Results) -> str:
    """The whole file. The same results give the same bytes; it parses, whatever a backend has said."""
    root = ElementTree.Element("testsuites", name="coldwarm")
    suites = {
        "gates": _gates(results),
        "backends": _list_unplayed(results),
        "stories": _make_cases(results, results.cells),
    }
    suites |= {"drills": _make_cases(results, results.trust), "scoreboard": _scores(results)}
    for name, cases in suites.items():
        _suite(root, name, list(cases))
    ElementTree.indent(root)
    # `tostring` adds no XML declaration when it returns a `str`.
    written = '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
    ElementTree.fromstring(written)  # noqa: S314  our own text: one bad character would lose all of it
    return written


def _gates(results: Results) -> Iterator[TestCase]:
    outcomes: dict[str, TestOutcome] = {"broken": "failure", "not-measured": "error"}
    for gate in results.gates:
        name = f"{gate.gate}: {gate.measure} of {gate.backend}"
        receipts = f"; cells: {', '.join(gate.cells)}" if gate.cells and gate.verdict != "held" else ""
        yield TestCase("gates", name, outcomes.get(gate.verdict), gate.says + receipts, gate.file)


def _list_unplayed(results: Results) -> Iterator[TestCase]:
    for each in results.run.unplayed:
        message = f"{'not run' if each.allowed else 'could not run'}: {each.reason}"
        yield TestCase("backends", each.backend, "skipped" if each.allowed else "error", message)


def _make_cases(results: Results, cells: Iterable[AnyCell]) -> Iterator[TestCase]:
    failing: dict[str, list[Faults]] = {}
    for fault in chain.from_iterable(results.beyond().values()):
        failing.setdefault(fault.trial, []).append(fault)
    for cell in cells:
        problems = [f"{cell.status}: {cell.reason or 'no reason was given'}"] if cell.status != "complete" else []
        problems += [
            f"{fault.count} of {fault.calls} calls of {fault.op} failed: {_describe(fault)}"
            for fault in failing.get(cell.played, [])
        ]
        outcome: TestOutcome = "skipped" if cell.status == "unsupported" else "error"
        seen = f"; see {cell.file}" if cell.file and problems else ""
        yield TestCase(
            cell.backend or "cold",
            cell.id,
            outcome if problems else None,
            "; ".join(problems) + seen,
            cell.file or None,
        )


def _scores(results: Results) -> Iterator[TestCase]:
    """A case for each row and column; none where no output has a table."""
    scoreboard = board.collect(results)
    for row in scoreboard.rows if not scoreboard.empty else ():
        for column, score in zip(scoreboard.columns, row.scores, strict=True):
            text = _tell(score)
            outcome: TestOutcome | None = None if score.measured else "skipped"
            # Told both ways: as the reason of a skip, or as what a case that passed showed.
            yield TestCase("scoreboard", f"{row.key}: {column.head}", outcome, text, told=text)


def _tell(score: ScoreboardCell) -> str:
    """`bad: 8 of 8; deleted secrets still on disk`: what a table shows as a mark, and beside the number."""
    if score == DASH:
        return "not asked"
    first = f"{MEANING[score.judgement]}: {score.text}" if score.judgement != "open" else score.text
    return "; ".join(filter(None, [first, *(line.text for line in score.lines[1:]), score.word, score.why]))


def _describe(fault: Faults) -> str:
    return f"{fault.kind} at {fault.receipt}: {fault.message}"


def _suite(root: ElementTree.Element, name: str, cases: list[TestCase]) -> None:
    if not cases:
        return
    counts = {word: str(sum(case.outcome == word for case in cases)) for word in ("failure", "error", "skipped")}
    suite = ElementTree.SubElement(
        root, "testsuite", name=name, tests=str(len(cases)),
        failures=counts["failure"], errors=counts["error"], skipped=counts["skipped"],
    )  # fmt: skip
    for case in cases:
        # A server takes the last dot of a class name for the border of a package.
        place = f"coldwarm.{make_visible(case.place, 100).replace('.', '_')}"
        element = ElementTree.SubElement(suite, "testcase", classname=place, name=make_visible(case.name, 300))
        if case.file:
            element.set("file", make_visible(case.file, 300))
        if case.outcome:
            message = make_visible(" ".join(case.says.split()), TEXT)
            # Some show the attribute, some the text.
            ElementTree.SubElement(element, case.outcome, message=message).text = message
        elif case.told:  # not as output, in which servers seek attachments
            own = ElementTree.SubElement(element, "properties")
            ElementTree.SubElement(own, "property", name="shown", value=make_visible(" ".join(case.told.split()), TEXT))


# --- a job on GitHub: annotations at the lines of broken gates, a summary that is never refused for its size ----------

MOST = 10
"""Annotations of one kind that a step may have; the last of more says how many there are."""
LIMIT = 900_000
"""Bytes of a summary; of more than 1 MiB a job would show nothing."""


def annotate(results: Results, file: str) -> Iterator[str]:
    """One workflow command for each gate that is broken or was not measured.

    Args:
        file: Where the gates stand.
    """
    bad = [gate for verdict in ("broken", "not-measured") for gate in results.gates if gate.verdict == verdict]
    shown = bad if len(bad) <= MOST else bad[: MOST - 1]
    for gate in shown:
        yield _command(gate, file)
    if len(shown) < len(bad):
        yield f"::error title=gates::and {format_count(len(bad) - len(shown), 'gate')} more: see the summary"


def warn_undemanded(results: Results, file: str) -> Iterator[str]:
    """A warning for each column in which something fails that no gate covers: a job is green all the same."""
    for each in board.collect_demands(results, board.collect(results)).bad if results.gates else ():
        yield f"::warning file={_property(file)},title=no gate covers it::{_data(str(each))}"


def _command(gate: GateVerdict, file: str) -> str:
    title = f"{gate.gate} {'is broken' if gate.verdict == 'broken' else 'was not measured'}"
    return f"::error file={_property(file)},line={gate.line},title={_property(title)}::{_data(gate.says)}"


def _data(text: str) -> str:
    """Escaped: else a line feed in what a backend said would begin a command of its own."""
    # `split` takes the line feeds, so only the sign that begins an escape is left to escape.
    return make_plain(" ".join(text.split()), 2000).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def cut_summary(text: str, limit: int = LIMIT) -> str:
    """Markdown of at most `limit` bytes: whole paragraphs are left out from the end on, and counted."""
    if len(text.encode()) <= limit:
        return text
    parts = text.split("\n\n")
    # Room for the sentence on what was left out.
    dropped, room = 0, limit - 200
    while len("\n\n".join(parts).encode()) > room:
        parts.pop()
        dropped += 1
    return (
        "\n\n".join([*parts, f"*{format_count(dropped, 'paragraph')} left out for size: see summary.md of the run.*"])
        + "\n"
    )
