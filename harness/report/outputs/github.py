"""For a job on GitHub: annotations at the lines of broken gates, and a summary that is never refused for its size."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report.model import board
from harness.report.words import format_count, make_plain

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
    return make_plain(" ".join(text.split()), 2000).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(text: str, limit: int = LIMIT) -> str:
    """Markdown of at most `limit` bytes: whole paragraphs are left out from the end on, and counted."""
    if len(text.encode()) <= limit:
        return text
    parts = text.split("\n\n")
    left, room = 0, limit - 200
    while len("\n\n".join(parts).encode()) > room:
        parts.pop()
        left += 1
    return (
        "\n\n".join([*parts, f"*{format_count(left, 'paragraph')} left out for size: see summary.md of the run.*"])
        + "\n"
    )
