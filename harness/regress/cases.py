"""The very cases that changed between two runs: the same question, job or look, from the logs of both.

A case is what was asked, not the line on which it stands: lines move from run to run.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from harness.compare.rows import is_headline
from harness.log import receipts as places
from harness.log import transcript as transcripts
from harness.log.blobs import BlobError, Blobs
from harness.log.events import Corrected, Event, Forgot, Listed, Recalled, Round, Scanned, Sought, Worked
from harness.log.lines import LogError
from harness.log.reader import read
from harness.log.transcript import Called, Handled, Looked, Transcript
from harness.metrics.view import Record
from harness.model.cells import AnyCell, Cell, TrustCell
from harness.model.trial import Measured, ReadPolicy
from harness.regress.baseline_files import Side
from harness.report import words
from harness.report.model import evidence
from harness.report.timeline.nodes import Node, draw_note, draw_verdict, list_entries, make_node, quote, show

OF_EACH = 3
"""Cases of one row that are shown."""
Key = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """One case, as both runs saw it.

    Attributes:
        title: Where it belongs: a scenario, or a drill.
        then, now: What was asked, what came back, what was done with it.
    """

    title: str
    then: Node
    now: Node


class Archive:
    """The logs of one run, read as they are asked for."""

    def __init__(self, side: Side) -> None:
        results, self.root = side.results, side.root
        self.run = side.baseline.run
        self._cells: dict[tuple[str, str, int], Cell] = {}
        self._drills: dict[str, TrustCell] = {}
        if results is not None:
            own = (cell for cell in results.cells if cell.backend and is_headline(cell, results.run.conditions))
            self._cells = {(cell.backend or "", cell.scenario, cell.seed): cell for cell in own}
            self._drills = {cell.id: cell for cell in results.trust}
        # Of this object alone: a cache on the methods would keep every object alive.
        self.record: Callable[[str], Record | None] = lru_cache(maxsize=64)(self._record)
        self.transcript: Callable[[str], Transcript | None] = lru_cache(maxsize=16)(self._transcript)

    def seeds(self, backend: str, scenario: str) -> dict[int, Cell]:
        """Seed -> the cell of a backend's row in one scenario."""
        return {seed: cell for (name, story, seed), cell in self._cells.items() if (name, story) == (backend, scenario)}

    def drill(self, cell: str) -> TrustCell | None:
        return self._drills.get(cell)

    def _record(self, file: str) -> Record | None:
        log = self._read(file, "logs", read)
        return Record(log) if log else None

    def _transcript(self, file: str) -> Transcript | None:
        return self._read(file, "drills", transcripts.read)

    def _read(self, file: str, below: str, load: Callable[[Path, Blobs], T]) -> T | None:
        """None without the log; its name is the run's own and may say anything."""
        if self.root is None or not file or Path(file).name != file:
            return None
        try:
            return load(self.root / below / file, Blobs(self.root / "blobs"))
        except (OSError, LogError, BlobError):
            return None


# --- stories ------------------------------------------------------------------------------------------------------


def compare_story(old: Archive, new: Archive, backend: str, measure: str, scenario: str) -> Iterator[Case]:
    """Where the receipts of a measure differ in one scenario."""
    sides = old.seeds(backend, scenario), new.seeds(backend, scenario)
    for seed in sorted(sides[0].keys() & sides[1].keys()):
        cells = sides[0][seed], sides[1][seed]
        records = old.record(cells[0].log), new.record(cells[1].log)
        if records[0] is None or records[1] is None:
            continue
        # once more as a pair, so that mypy knows that both are there
        known = (records[0], records[1])
        cited = [_count_cited(record, cell, measure) for record, cell in zip(known, cells, strict=True)]
        # dicts, as they keep the order of the receipts
        for key in (key for key in {**cited[0], **cited[1]} if cited[0].get(key) != cited[1].get(key)):
            then, now = (
                _draw_side(record, cell, key, counted.get(key, 0), archive)
                for record, cell, counted, archive in zip(known, cells, cited, (old, new), strict=True)
            )
            yield Case(f"{scenario}{f', seed {seed}' if seed != 1 else ''}", then, now)


def _count_cited(record: Record, cell: Cell, measure: str) -> Counter[Key]:
    """What the receipts of a measure are about, and how many of them."""
    events = record.log.events
    return Counter(_make_key(events[each.line - 1], each) for each in _list_receipts(cell, measure, len(events)))


def _list_receipts(cell: AnyCell, measure: str, lines: int) -> list[places.Receipt]:
    """Those of a measure that lead into a log of so many lines: it may have been cut since it was scored."""
    found = cell.measures.get(measure)
    named = map(places.read, found.receipts if isinstance(found, Measured) else ())
    return [each for each in named if each and each.line <= lines]


def _make_key(event: Event, place: places.Receipt) -> Key:
    match event:
        case Recalled():
            return event.kind, event.purpose, event.ref, event.stratum or ""
        case Worked():
            return event.kind, event.job
        case Corrected():
            return event.kind, event.job, str(event.number)
        case Sought():
            return event.kind, event.stage, event.route, event.fact
        case Scanned():
            return event.kind, event.stage, event.layer.name, place.memory or ""
        case Listed():
            return event.kind, event.stage, str(event.scope)
        case Forgot():
            return event.kind, event.fact
    return type(event).__name__.lower(), str(getattr(event, "session", ""))


def _draw_side(record: Record, cell: Cell, key: Key, cited: int, archive: Archive) -> Node:
    """One run's view of a case."""
    # a Scanned names no memory itself: the key has it last
    memory = places.Receipt(0, memory=key[-1] or None)
    for line, event in enumerate(record.log.events, 1):
        own = _make_key(event, memory if isinstance(event, Scanned) else places.Receipt(line))
        if own == key and (not isinstance(event, Round) or event.read_policy == cell.read_policy):
            mark = make_node(
                "p",
                "cites",
                "\u25c6 cited as a receipt of this number" if cited else "\u25c7 not cited for this number",
            )
            command = f"sed -n {line}p logs/{shlex.quote(cell.log)}  # run {show(archive.run, 60)}"
            return make_node(
                "div", "", mark, *_tell(record, cell.read_policy, line, event), make_node("pre", "", command)
            )
    return make_node("div", "", make_node("p", "quiet", "did not come to this in this run"))


def _tell(record: Record, policy: ReadPolicy | None, line: int, event: Event) -> Iterator[Node]:
    if isinstance(event, Recalled):
        yield make_node("p", "q", "asked ", quote(event.query, 200), draw_note(f"k {event.k}, {event.pool:,} stored"))
        if event.purpose in ("decision", "filtered"):
            job, _, decision = event.ref.partition("/")
            yield from _tell_decisions(record, policy, job, decision)
        if event.fault is not None:
            yield make_node("p", "bad", f"\u2715 {event.fault.kind}: {show(event.fault.message)}")
        gold = [name for _, probe in record.scenario.probes() if probe.id == event.ref for name in probe.gold]
        yield list_entries(record, line, event, gold=gold)
    elif isinstance(event, Worked):
        yield from _tell_decisions(record, policy, event.job, None)
    elif isinstance(event, Sought):
        answer = {True: "\u25b2 still found", False: "\u25cf not found", None: "not known"}[event.found]
        yield make_node("p", "", f"{event.fact} by {event.route}, {event.stage}: {answer} {show(event.where, 200)}")
    elif isinstance(event, Scanned):
        yield make_node("p", "", f"a look at {show(event.layer.name, 80)}, {event.stage}")
        sightings = [
            f"{each.fact}: {words.format_count(each.count, 'time')} in {show(each.path, 120)}"
            for each in event.sightings
        ]
        yield make_node("p", "", "; ".join(sightings[:8]) or "nothing was seen there")
    elif isinstance(event, Forgot):
        yield make_node("p", "", f"told to forget {event.fact}: it said {show(str(event.said), 80)}")
    else:
        yield make_node("p", "", type(event).__name__.lower())


def _tell_decisions(record: Record, policy: ReadPolicy | None, job: str, only: str | None) -> Iterator[Node]:
    """What was decided in a job, or one decision of it, beside what is right."""
    values = {
        choice.decision: choice.value for _, work in record.works(policy) if work.job == job for choice in work.choices
    }
    for (name, decision), judged in record.find_decided(policy).items():
        if name == job and only in (None, decision):
            value = values.get(decision)
            answer = "left open" if value is None else show(value, 160)
            right = "" if judged.verdict == "right" else f", right is {show(judged.decision.right.value, 160)}"
            head = make_node("bdi", "", show(judged.decision.question, 160))
            yield make_node(
                "p", "took", head, " ", draw_verdict(judged.verdict), " ", make_node("bdi", "", f"{answer}{right}")
            )


# --- drills -------------------------------------------------------------------------------------------------------


def compare_drill(old: Archive, new: Archive, cell: str, measure: str) -> Iterator[Case]:
    """Where the receipts of a drill's measure differ: the same call or look, about the same memory."""
    cells = old.drill(cell), new.drill(cell)
    if cells[0] is None or cells[1] is None:
        return
    both = old.transcript(cells[0].transcript), new.transcript(cells[1].transcript)
    if both[0] is None or both[1] is None:
        return
    # once more as a pair, so that mypy knows that both are there
    known = (both[0], both[1])
    cited = [_list_places(each, own, measure) for each, own in zip(known, cells, strict=True)]
    for key in (key for key in {**cited[0], **cited[1]} if (key in cited[0]) != (key in cited[1])):
        then, now = (
            _drill_side(transcript, own, key, key in counted, archive)
            for transcript, own, counted, archive in zip(known, cells, cited, (old, new), strict=True)
            if own is not None
        )
        yield Case(f"drill {cells[1].drill}", then, now)


def _list_places(transcript: Transcript, cell: AnyCell | None, measure: str) -> dict[Key, places.Receipt]:
    events = transcript.events
    receipts = _list_receipts(cell, measure, len(events)) if cell else []
    return {_drill_key(events[each.line - 1], each.memory): each for each in receipts}


def _drill_key(event: Event, memory: str | None) -> Key:
    """A call is told from others of its step by what it asked for; ids are the store's own."""
    about = memory or ""
    match event:
        case Called():
            query = str(event.request.get("query", ""))
            return event.step, event.who, event.op, query, ",".join(event.about[:3]), about
        case Handled():
            return event.step, event.who, event.what, about
        case Looked():
            return event.step, event.layer.name, about
    return type(event).__name__, about


def _drill_side(transcript: Transcript, cell: TrustCell, key: Key, cited: bool, archive: Archive) -> Node:
    # the key of a drill's case ends with the memory that it is about
    memory = key[-1] or None
    for line, event in enumerate(transcript.events, 1):
        if _drill_key(event, memory) == key:
            place = places.Receipt(line, memory=memory, stored=transcript.stored.get(memory or ""))
            mark = make_node(
                "p",
                "cites",
                "\u25c6 cited as a receipt of this number" if cited else "\u25c7 not cited for this number",
            )
            paragraphs = [
                make_node("p", "", make_node("bdi", "", words.make_visible(each, 400)))
                for each in evidence.tell(transcript, place)
            ]
            command = f"sed -n {line}p drills/{shlex.quote(cell.transcript)}  # run {show(archive.run, 60)}"
            return make_node("div", "", mark, *paragraphs, make_node("pre", "", command))
    return make_node("div", "", make_node("p", "quiet", "did not come to this in this run"))
