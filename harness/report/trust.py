"""What the drills showed: one table a drill, the layers of a deletion, and receipts that a reviewer can repeat."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness import registry
from harness.drill import DRILLS, DrillName
from harness.events import Event, Sighting
from harness.model import Definition, Measure, Measured
from harness.report import tables, words
from harness.report.repeat import repeat
from harness.report.words import visible
from harness.results import LayerRow, LookStage, Results, TrustCell
from harness.transcript import Called, Handled, Looked, Transcript

ASKS: Mapping[DrillName, tuple[str, str]] = {
    "keeping": ("Kept", "Is what was written there, found, ranked, and unaltered?"),
    "deletion": ("Deleted", "Is deleted gone: by every route, and from every layer of the disk in text and vectors?"),
    "isolation": ("Kept apart", "Does a question from one scope bring or change what belongs to another?"),
    "rollback": ("Rolled back", "After an incident, is the store what it was, without what was erased since?"),
    "poison": ("Poisoned", "What becomes of injected, doubtful and expired memories beside firm rules?"),
    "durability": ("Killed", "Is what was acknowledged still there after the process was killed?"),
    "sharing": ("Shared", "What one agent writes and another deletes, does the next one see it so?"),
}  # fmt: skip
HEADLINE: Mapping[str, tuple[str, str]] = {
    "writes_kept": ("writes", "kept"),
    "forgotten_by_every_route": ("gone by", "route"),
    "text_gone_after_closing": ("text", "gone"),
    "vector_gone_after_closing": ("vectors", "gone"),
    "read_across_scopes": ("crossed", "scopes"),
    "restored_exactly": ("restored", ""),
    "attacks_acted_on": ("poison", "acted on"),
    "lost_by_kill": ("lost by", "a kill"),
}
"""One measure of each question for where there is no room for all, with its head in two lines."""
BOUND = 40
"""Receipts shown in full; the rest is counted."""
OF_EACH = 2
"""Receipts of one measure of one backend among them."""
HITS, TEXT, SEEN = 6, 300, 8


@dataclass(frozen=True)
class Figure:
    """A measure of one backend. `fault`: it is not as good as it can be. `link`: its first receipt on the page."""

    text: str
    note: str
    measured: bool
    fault: bool
    link: str


@dataclass(frozen=True)
class Row:
    measure: str
    better: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Table:
    """One drill: backends side by side. `sizes`: memories in the store."""

    drill: DrillName
    title: str
    asks: str
    size: int
    backends: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Layers:
    """Where one backend's deleted memories were found: stages side by side."""

    backend: str
    stages: tuple[str, ...]
    rows: tuple[LayerLine, ...]


@dataclass(frozen=True)
class LayerLine:
    """A route, a layer or a place in it. Of each stage a word with its count, and why it cannot be told."""

    layer: str
    place: str
    kind: str
    looks: tuple[tuple[str, str, str], ...]
    """Of each stage: the verdict or "" if there was no look, what is shown of it, the reason."""


@dataclass(frozen=True)
class Receipt:
    """One bad case of one measure: where it stands, what happened there, how to see it again."""

    id: str
    backend: str
    measure: str
    where: str
    says: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """Everything that the page says of drills. `total`: receipts that there are."""

    tables: tuple[Table, ...]
    layers: tuple[Layers, ...]
    receipts: tuple[Receipt, ...]
    total: int


def collect(results: Results, receipts: Mapping[str, Sequence[Receipt]]) -> Shown:
    """The tables in the order of the drills; `receipts` of every backend and measure in turn, up to BOUND."""
    found = [receipts.get(cell.id, ()) for cell in results.trust]
    turns = [receipt for turn in zip_longest(*found) for receipt in turn if receipt is not None]
    shown = tuple(turns[:BOUND])
    links: dict[tuple[str, str], str] = {}
    for receipt in shown:
        links.setdefault((receipt.id.rpartition("--")[0], receipt.measure), receipt.id)
    return Shown(tuple(_tables(results, links)), tuple(_layers(results)), shown, len(turns))


def headline(results: Results) -> tuple[list[tuple[str, str]], list[tuple[str, tuple[Figure, ...]]]]:
    """The heads of HEADLINE that were played, and backend by backend, the sound reference last, their figures."""
    cells: dict[str, dict[str, TrustCell]] = {}
    for cell in results.trust:
        cells.setdefault(cell.backend, {}).update(dict.fromkeys(cell.measures, cell))
    played = [name for name in HEADLINE if any(name in own for own in cells.values())]
    absent = Figure(words.NOT_MEASURED["not-run"], "", False, False, "")
    rows = [
        (
            tables.shown(results, backend),
            tuple(
                _figure(own[name], name, results.trust_definitions[name], {}) if name in own else absent
                for name in played
            ),
        )
        for backend, own in sorted(cells.items(), key=lambda pair: (pair[0] == registry.SOUND, pair[0]))
    ]
    return [HEADLINE[name] for name in played], rows


def sound(definition: Definition, measure: Measure) -> bool | None:
    """Whether a proportion is as good as it can be; None for what has no best value or was not measured."""
    best = {"higher": 1.0, "lower": 0.0}.get(definition.better)
    if best is None or not isinstance(measure, Measured) or measure.hits is None:
        return None
    return measure.value == best


def _tables(results: Results, links: Mapping[tuple[str, str], str]) -> Iterator[Table]:
    for drill in DRILLS:
        cells = sorted(
            (cell for cell in results.trust if cell.drill == drill),
            key=lambda cell: (cell.backend == registry.SOUND, cell.backend),  # the sound reference last
        )
        if cells:
            names = list(dict.fromkeys(name for cell in cells for name in cell.measures))
            rows = tuple(
                Row(
                    name,
                    results.trust_definitions[name].better,
                    tuple(_figure(cell, name, results.trust_definitions[name], links) for cell in cells),
                )
                for name in names
            )
            title, asks = ASKS[drill]
            backends = tuple(tables.shown(results, cell.backend) for cell in cells)
            yield Table(drill, title, asks, cells[0].size, backends, rows)


def _figure(cell: TrustCell, name: str, definition: Definition, links: Mapping[tuple[str, str], str]) -> Figure:
    measure = cell.measures[name]
    link = links.get((cell.id, name), f"d-{name}")
    if not isinstance(measure, Measured):
        return Figure(words.NOT_MEASURED[measure.status], visible(measure.reason, 120), False, False, link)
    counted = measure.hits is not None and measure.of
    text = words.count(measure.hits or 0, measure.of or 0) if counted else _amount(measure.value, definition.unit)
    note = words.interval(measure.interval) if measure.interval else ""
    return Figure(text, note, True, sound(definition, measure) is False, link)


STAGES: tuple[LookStage, ...] = ("before", "after", "closed", "reopened", "churned", "compacted")
WORDS = {"gone": "gone", "present": "\u25b2 {} left", "not-computable": "cannot be told", "not-seen-before": "\u2013"}
"""A place that did not show a target before says nothing by not showing it after."""


def _layers(results: Results) -> Iterator[Layers]:
    for cell in sorted(results.trust, key=lambda cell: (cell.backend == registry.SOUND, cell.backend)):
        if cell.layers:
            stages = tuple(
                stage for stage in STAGES if any(look.stage == stage for r in cell.layers for look in r.looks)
            )
            yield Layers(tables.shown(results, cell.backend), stages, tuple(_layer(row, stages) for row in cell.layers))


def _layer(row: LayerRow, stages: Sequence[LookStage]) -> LayerLine:
    looks = {look.stage: look for look in row.looks}
    told = tuple(
        (look.verdict, f"{look.seen} of {row.targets}" if stage == "before" else WORDS[look.verdict].format(look.seen),
         visible(look.reason, 200))
        if (look := looks.get(stage)) else ("", "", "")
        for stage in stages
    )  # fmt: skip
    return LayerLine(visible(row.layer, 80), visible(row.place, 120), row.kind, told)


def _amount(value: float, unit: str) -> str:
    return f"{value * 1000:.2g} ms" if unit == "seconds" else words.number(value)


# --- receipts ---------------------------------------------------------------------------------------------------------


def receipts(cell: TrustCell, transcript: Transcript, definitions: Mapping[str, Definition]) -> Iterator[Receipt]:
    """A few of each measure that is not as it should be."""
    for name, measure in cell.measures.items():
        if sound(definitions[name], measure) is not False:
            continue
        for line in list(dict.fromkeys(measure.receipts))[:OF_EACH]:
            number = int(line.partition(":")[0].removeprefix("L"))
            event = transcript.events[number - 1]
            yield Receipt(
                id=f"{cell.id}--{name}-{number}",
                backend=visible(cell.backend, 60),
                measure=name,
                where=f"{cell.transcript}, line {number}",
                says=tuple(_says(transcript, event)),
                commands=(*_commands(cell, number), *_seen_again(cell, transcript, event)),
            )


def _commands(cell: TrustCell, number: int) -> tuple[str, ...]:
    trial = cell.id.rpartition("-")[0]
    return (
        f"sed -n {number}p drills/{shlex.quote(cell.transcript)}",
        f"coldwarm run -b {shlex.quote(cell.backend)} --drill {cell.drill} --trial {shlex.quote(trial)} --keep",
    )


def _seen_again(cell: TrustCell, transcript: Transcript, event: Event) -> Iterator[str]:
    """Commands that find in the kept store what the look saw; of each form and place the first."""
    if isinstance(event, Looked):
        store = f"reports/out/latest/work/{cell.id}/at-{event.step}"
        first: dict[tuple[str, str], Sighting] = {}
        for seen in transcript.sightings(event):
            first.setdefault((seen.form, seen.place), seen)
        for seen in list(first.values())[:SEEN]:
            piece = transcript.plan.by_name.get(seen.fact)
            yield repeat(event.layer, seen, (piece.canary if piece else None) or "", store)


def _says(transcript: Transcript, event: Event) -> Iterator[str]:
    if isinstance(event, Called):
        yield from _call(transcript, event)
    elif isinstance(event, Looked):
        yield f"{event.step}: a look at {visible(event.layer.name, 80)}, {event.files} files, {event.bytes:,} bytes"
        if event.problem:
            yield visible(event.problem, TEXT)
        for seen in transcript.sightings(event)[:SEEN]:
            near = f", cosine {seen.nearness:.4f}" if seen.nearness is not None else ""
            place = f", {visible(seen.place, 120)}" if seen.place else ""
            yield f"{seen.fact} as {seen.form}{near}: {seen.count} times in {visible(seen.path, 120)}{place}"
    elif isinstance(event, Handled):
        fault = f": {visible(event.fault.message, TEXT)}" if event.fault else ""
        yield f"{event.step}: {event.what}{fault}"


def _call(transcript: Transcript, event: Called) -> Iterator[str]:
    asked = ", ".join(f"{name} {visible(str(value), 200)}" for name, value in event.request.items() if value)
    about = f" about {', '.join(event.about[:5])}{' and more' if len(event.about) > 5 else ''}" if event.about else ""
    yield f"{event.step}: {event.op}{about} ({asked})" if asked else f"{event.step}: {event.op}{about}"
    if event.fault is not None:
        yield f"{event.fault.kind}: {visible(event.fault.message, TEXT)}"
    elif event.op in ("recall", "entries", "get"):
        hits = transcript.hits(event)
        yield f"came back: {words.plural(len(hits), 'memory').replace('memorys', 'memories')}"
        yield from (f"{at}. {visible(hit.text, TEXT)}" for at, hit in enumerate(hits[:HITS], 1))
    else:
        yield f"came back: {visible(str(transcript.answer(event)), TEXT)}"
