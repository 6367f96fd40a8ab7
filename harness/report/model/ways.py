"""A measure under each way of working: how memory was written, and which of what came back the agent took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from harness.compare.rows import COLD, GOLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.cells import Cell
from harness.model.results import Comparison, Pooled, Results
from harness.model.trial import SCRIPTED_READS, USUAL_WRITES, ReadPolicy, WritePolicy
from harness.report import words

WRITE_LABELS: Mapping[WritePolicy, str] = {
    "append": "append", "curated": "look up", "matched": "look up by words", "expire": "expire",
    "on-commit": "follow commits", "reviewed": "review", "deprecate": "mark as ended",
    "deprecate-on-commit": "mark, follow commits",
}  # fmt: skip
"""How a column or a chart calls a write policy."""
WRITE_DESCRIPTIONS: Mapping[WritePolicy, str] = {
    "append": "only adds notes",
    "curated": "looks up the old note before it writes",
    "matched": "replaces the note that is worded most like the new one",
    "deprecate": "looks up the old note and marks it as ended",
    "expire": "takes away notes that have outlived their kind",
    "on-commit": "follows the lines that its notes cite, at each commit",
    "deprecate-on-commit": "marks the old note as ended, also when a commit changes a line that it cites",
    "reviewed": "writes an unsure note only when it is confirmed",
}
"""What an agent does under a write policy."""
USUAL = "is of an agent that looks up the old note before it writes. After append, it is of one that only adds notes."
"""What the numbers of a cell are of in a run that names no way of writing."""
READS: Mapping[ReadPolicy, str] = {
    "trusting": "takes the first note it gets",
    "newest": "takes the newest note",
    "verifying": "checks its notes against git",
    "careful": "takes the newest note that git does not contradict",
    "filtered": "asks only for rules that nobody doubted and takes the first",
    "model": "is a chat model",
}
"""What an agent does under a read policy."""


@dataclass(frozen=True)
class Spread:
    """A measure of one row under one write policy, as each read policy that was played reads it.

    Attributes:
        by_read: Only those with a number, the headline's first; one entry under None without a memory.
    """

    write: WritePolicy | None
    by_read: Mapping[ReadPolicy | None, Pooled]

    @property
    def first(self) -> Pooled:
        return next(iter(self.by_read.values()))

    @property
    def of(self) -> int | None:
        """Cases, if all read policies have equally many."""
        cases = {each.of for each in self.by_read.values()}
        return cases.pop() if len(cases) == 1 else None

    @property
    def numbers(self) -> tuple[float, float]:
        """The lowest and the highest: hits where they are counted, else values."""
        counts = [count(each) for each in self.by_read.values()]
        return min(counts), max(counts)

    @property
    def shares(self) -> tuple[float, float]:
        shares = [share(each) for each in self.by_read.values()]
        return min(shares), max(shares)

    @property
    def text(self) -> str:
        """`44-48`, or one number if all read policies agree."""
        return show_range(*self.numbers)


def count(pooled: Pooled) -> float:
    return pooled.hits if pooled.hits is not None else pooled.value or 0.0


def share(pooled: Pooled) -> float:
    """Of the cases where they are counted, else the mean over stories."""
    return pooled.hits / pooled.of if pooled.hits is not None and pooled.of else pooled.value or 0.0


def show_range(low: float, high: float) -> str:
    ends = words.format_number(low), words.format_number(high)
    # Compared as they are shown: two ends that read alike are one number.
    return ends[0] if ends[0] == ends[1] else "\u2013".join(ends)


def list_reads(results: Results, row: str = "") -> list[ReadPolicy]:
    """The read policies that were played, by one row or by any, the headline's first."""
    played = {each.read_policy for each in results.contrasts if row in ("", each.backend)}
    known = [read for read in (*SCRIPTED_READS, "model") if read in played]
    return sorted(known, key=lambda read: read != results.run.conditions.headline_read)


def pool_way(results: Results, row: str, measure: str, write: WritePolicy, read: ReadPolicy) -> Pooled | None:
    """A measure under one way of working, at the headline's noise; the cold arm is the same under all."""
    conditions = results.run.conditions
    if row == COLD or (write, read) == (conditions.headline_write, conditions.headline_read):
        own = results.backends.get(row)
        return own.measures.get(measure) if own else None
    for each in results.contrasts:
        if (each.backend, each.write_policy, each.read_policy, each.noise) == (
            row,
            write,
            read,
            conditions.headline_noise,
        ):
            return each.measures.get(measure)
    return None


def spread(results: Results, row: str, measure: str, write: WritePolicy) -> Spread | None:
    """None: it has no number under this write policy."""
    if row == COLD:
        own = pool_way(results, row, measure, write, results.run.conditions.headline_read)
        return Spread(None, {None: own}) if own is not None and own.value is not None else None
    by_read: dict[ReadPolicy | None, Pooled] = {}
    for read in list_reads(results):
        own = pool_way(results, row, measure, write, read)
        if own is not None and own.value is not None:
            by_read[read] = own
    return Spread(write, by_read) if by_read else None


def spreads(results: Results, row: str, measure: str) -> list[Spread]:
    """Under each write policy that was played, append first."""
    writes: list[WritePolicy] = [results.run.conditions.headline_write] if row == COLD else results.list_writes()
    return [each for write in writes if (each := spread(results, row, measure, write)) is not None]


def are_usual(results: Results) -> bool:
    """Whether no other ways of writing were played than those of a run that names none."""
    return set(results.list_writes()) <= {*USUAL_WRITES}


def explain_writes(results: Results) -> str:
    """What the agent does under each way of writing that was played."""
    if are_usual(results):
        return "Append only adds to memory; curated looks up first and replaces what the new fact contradicts."
    return " ".join(f"{write}: the agent {WRITE_DESCRIPTIONS[write]}." for write in results.list_writes())


def explain_reads(results: Results) -> str:
    """What the agent takes under each way of reading that was played."""
    return " ".join(f"{read}: the agent {READS[read]}." for read in list_reads(results))


def join_reads(reads: Iterable[ReadPolicy]) -> str:
    """What an agent does under one or another of some read policies."""
    named = set(reads)
    return words.join_words([does for read, does in READS.items() if read in named], "or")


def explain_range(results: Results) -> str:
    """What a range in a cell is over; empty if there is only one way of reading, or no story."""
    reads = list_reads(results) if results.stories else []
    if len(reads) <= 1:
        return ""
    does = words.join_words([f"({at}) {READS[read]}" for at, read in enumerate(reads, 1)], "or")
    text = f"A range gives the lowest and the highest result over {len(reads)} ways of reading: the agent {does}."
    text += " Which of them gives the lowest differs by column."
    tested = (row for row in results.list_tested() if row in results.backends)
    if "filtered" in reads and any("filtered" not in list_reads(results, row) for row in tested):
        text += f" Only backends with filters can be read in way ({reads.index('filtered') + 1})."
    return text


def explain_bold(results: Results) -> str:
    """Which way of writing the first number of a cell is of; empty if there is only one."""
    if len(results.list_writes()) <= 1:
        return ""
    if are_usual(results):
        return f"The number in bold {USUAL}"
    return (
        "The number in bold is of the way of writing that suits the backend best. Beneath is append, or the next best."
    )


def best_write(results: Results, row: str) -> WritePolicy:
    """The write policy under which a row decides best whatever the agent takes: by the lowest count over the read
    policies, then the highest; append if there is no difference, as it costs no look-up.
    """
    by_write = spreads(results, row, DECISIONS_RIGHT)
    best = max(by_write, key=lambda each: (each.numbers, each.write == "append"), default=None)
    # Without a memory there is no write policy to be the best.
    return best.write if best and best.write else results.run.conditions.headline_write


def order_writes(results: Results, row: str) -> list[WritePolicy]:
    """The write policies of a row that were played, its best first; one without a memory."""
    conditions = results.run.conditions
    if row == COLD or row in GOLD:
        return [conditions.headline_write]
    best = best_write(results, row)
    return sorted(results.list_writes(), key=lambda write: write != best)


def list_cells(results: Results, row: str, write: WritePolicy) -> list[Cell]:
    """The cells of a row under one write policy at the headline's noise, under every read policy; all cells without a
    memory. Controls with gold play without noise."""
    noise = results.run.conditions.headline_noise
    return [
        cell
        for cell in results.cells
        if (cell.arm == "cold" and row == COLD)
        or (cell.backend == row and cell.write_policy == write and (cell.noise == noise or row in GOLD))
    ]


def tell_best(results: Results) -> str:
    """Of a chart with one way of working for each row."""
    read = READS[results.run.conditions.headline_read]
    return f"Each backend is written as suits it best, and the agent {read}."


def tell_primary(results: Results) -> str:
    """Of a table with one way of working for all rows; and which one the scoreboard shows instead."""
    conditions = results.run.conditions
    write, read = conditions.headline_write, conditions.headline_read
    how = f"write {write} (the agent {WRITE_DESCRIPTIONS[write]}), read {read} (it {READS[read]})"
    way = f"{how}, noise {conditions.headline_noise:,}"
    sentences = [f"One way of working for all rows: {way}."]
    if gold := [name for name in GOLD if name in results.backends]:
        sentences.append(f"{words.join_words(gold)} {'plays' if len(gold) == 1 else 'play'} without noise.")
    best = ["each backend under the way of writing that suits it best"] if len(results.list_writes()) > 1 else []
    best += ["ranges over the ways of reading"] if len(list_reads(results)) > 1 else []
    return " ".join([*sentences, f"The scoreboard shows {words.join_words(best)}."] if best else sentences)


Standing = Literal["better", "worse", "open", "untold"]
"""Against no memory under one way of working: open, if a difference was not shown; untold, if none could have been."""


def stand(results: Results, row: str, write: WritePolicy) -> dict[ReadPolicy, Standing]:
    """How right decisions of a row compare with no memory, under each read policy; empty: it was not compared."""
    comparisons = results.against_cold(row, DECISIONS_RIGHT)
    ways = {read: comparisons.get((write, read)) for read in list_reads(results, row)}
    return {read: _stand(each) for read, each in ways.items()} if any(ways.values()) else {}


def _stand(comparison: Comparison | None) -> Standing:
    if comparison is None or not comparison.able:
        return "untold"
    if comparison.verdict == "no-difference-shown":
        return "open"
    return "better" if comparison.verdict == "right-better" else "worse"
