"""What the page shows of logs and transcripts themselves, made where these are scored, so that none is read twice.

Of drills these are receipts in words: which memory, which call stored it, which call shows what became of it. A
reviewer can repeat each by hand.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from harness.adapter import Hit, to_wire
from harness.compare import cost_model, statements
from harness.compare.cost_model import Cost
from harness.compare.rows import is_headline
from harness.compare.scoring import ScoredDrill, ScoredStory
from harness.log.events import Event
from harness.log.folder import Folder
from harness.log.parts import Sighting
from harness.log.reader import Log
from harness.log.receipts import Receipt as Place
from harness.log.receipts import read as read_receipt
from harness.log.transcript import Broke, Called, Handled, Looked, Transcript
from harness.metrics import broken, deletion, footprint
from harness.metrics.footprint import Sample
from harness.metrics.trust.promises import find_promise
from harness.model.canary import memory_word
from harness.model.cells import BrokenPromise, TrustCell
from harness.model.dates import same_moment
from harness.model.drill import Piece
from harness.model.results import Results
from harness.model.trial import Definition, Measure, Measured
from harness.report import words
from harness.report.timeline import timelines as timeline
from harness.report.timeline.repeat import Replay, repeat
from harness.report.timeline.timelines import StoryTimelines, Timelines
from harness.report.words import make_visible

# --- receipts of drills -----------------------------------------------------------------------------------------------

OF_EACH = 2
"""Receipts of one measure of one backend that are shown in full."""
STEPS = 12
"""Steps of a sequence that are shown."""
HITS, TEXT, CASE, SEEN, LINE = 6, 300, 160, 8, 1000
READS = ("recall", "entries", "get")


@dataclass(frozen=True)
class BadCase:
    """One bad case of one measure: where it stands, what happened there, how to see it again.

    Attributes:
        case: Which memory it is about, in a sentence; empty if it is about none.
        program: Lines of a program that shows the same of a broken promise, against the backend's own SDK alone.
    """

    id: str
    backend: str
    measure: str
    where: str
    case: str
    says: tuple[str, ...]
    commands: tuple[str, ...]
    program: tuple[str, ...] = ()


def sound(definition: Definition, measure: Measure) -> bool | None:
    """Whether a proportion is as good as it can be; None for what has no best value or was not measured."""
    best = {"higher": 1.0, "lower": 0.0}.get(definition.better)
    if best is None or not isinstance(measure, Measured) or measure.hits is None:
        return None
    return measure.value == best


def describe_cases(
    cell: TrustCell, transcript: Transcript, definitions: Mapping[str, Definition], replay: Replay
) -> Iterator[BadCase]:
    """A few of each measure that is not as it should be."""
    for name, measure in cell.measures.items():
        if sound(definitions[name], measure) is not False:
            continue
        # Several cases of a measure may rest on one line, which is shown once.
        places = filter(None, map(read_receipt, dict.fromkeys(measure.receipts)))
        for at, place in enumerate(islice(places, OF_EACH)):
            event = transcript.events[place.line - 1]
            # One line can be the receipt of several memories, and ids on a page are unique.
            yield BadCase(
                id=f"{cell.id}--{name}-{place.line}{f'-{at}' if place.memory else ''}",
                backend=make_visible(cell.backend, 60),
                measure=name,
                where=f"{cell.transcript}, line {place.line}",
                case=_case(transcript, place),
                says=tuple(_list_sentences(transcript, event, place)),
                commands=(*_commands(cell, transcript, place, replay), *_find_again(cell, transcript, event)),
                program=tuple(make_visible(each, LINE) for each in _list_program(event)),
            )


def tell(transcript: Transcript, place: Place) -> tuple[str, ...]:
    """What the line of a receipt says, line by line."""
    return tuple(_list_sentences(transcript, transcript.events[place.line - 1], place))


def _commands(cell: TrustCell, transcript: Transcript, place: Place, replay: Replay) -> tuple[str, ...]:
    lines = sorted({place.line, place.stored or place.line})
    return (
        f"sed -n '{';'.join(f'{line}p' for line in lines)}' drills/{shlex.quote(cell.transcript)}",
        replay.command(transcript.trial),
    )


# --- one memory -------------------------------------------------------------------------------------------------------


def _case(transcript: Transcript, place: Place) -> str:
    """One sentence: the memory, the call that stored it, the call that shows what became of it. Empty without one."""
    piece = transcript.plan.by_name.get(place.memory or "")
    if piece is None or place.stored is None:
        return ""
    stored, event = (transcript.events[line - 1] for line in (place.stored, place.line))
    text = f"{piece.name} \u201c{make_visible(piece.item.text, CASE)}\u201d"
    call = f"line {place.stored} ({_name(stored)})"
    if event is stored:
        return f"{text}: handed over by {call}"
    return f"{text}: stored by {call}, {_fate(transcript, event, piece)} line {place.line} ({_name(event)})"


def _fate(transcript: Transcript, event: Event, piece: Piece) -> str:
    if isinstance(event, Called) and event.fault is not None:
        return "not to be told from"
    return "shown by" if _brings(transcript, event, piece) else "missing from"


def _name(event: Event) -> str:
    if isinstance(event, Called):
        many = f" of {words.format_number(len(event.about))}" if event.op == "remember" and len(event.about) > 1 else ""
        return f"{event.step}: {event.op}{many}"
    if isinstance(event, Looked):
        return f"{event.step}: a look at {make_visible(event.layer.name, 80)}"
    return f"{event.step}: {event.what}" if isinstance(event, Handled) else "the drill"


def _brings(transcript: Transcript, event: Event, piece: Piece) -> bool:
    if isinstance(event, Looked):
        return any(seen.fact == piece.name for seen in transcript.sightings(event))
    if not isinstance(event, Called):
        return False
    if event.op == "history":
        return any(_mark(piece) in text for text in transcript.answer(event) or ())
    return bool(_own(transcript, event, piece))


def _own(transcript: Transcript, event: Called, piece: Piece) -> list[Hit]:
    """The hits that are this memory, by its id or its text."""
    stored = transcript.events[transcript.stored[piece.name] - 1]
    assert isinstance(stored, Called)
    # An update names what it replaces before what it stores, and only the latter got ids.
    about = stored.about if stored.op == "remember" else stored.about[-1:]
    # Not strict, as a failed update has an empty answer for each piece that it is about.
    acks = dict(zip(about, transcript.ids(stored), strict=False))
    hits = transcript.hits(event) if event.op in READS else ()
    return [hit for hit in hits if hit.memory_id in acks.get(piece.name, ()) or _mark(piece) in hit.text]


def _mark(piece: Piece) -> str:
    return piece.canary or piece.item.text


def _differences(piece: Piece, hit: Hit) -> Iterator[str]:
    """What came back otherwise than it was written."""
    item = piece.item
    pairs = {
        "text": (item.text, hit.text),
        "source": (item.source, hit.source),
        "date": (item.at, hit.created),
        "confidence": (item.confidence, hit.confidence),
        "scope": (item.scope, hit.scope),
    }
    for name, (written, back) in pairs.items():
        # The same moment may come back written in another way.
        if written != back and not (name == "date" and same_moment(hit.created, item.at)):
            yield f"{name}: written {_value(written)}, came back {_value(back)}"


def _value(value: object) -> str:
    parts = to_wire(value)
    if isinstance(parts, dict):
        return make_visible(", ".join(f"{key} {part}" for key, part in parts.items()), 200) or "nowhere"
    return "without" if value is None else make_visible(str(value), 200)


# --- the call itself --------------------------------------------------------------------------------------------------


def _find_again(cell: TrustCell, transcript: Transcript, event: Event) -> Iterator[str]:
    """Commands that find in the kept store what the look saw; of each form and place the first."""
    if isinstance(event, Broke):
        yield f"coldwarm promises --replay drills/{shlex.quote(cell.file)}"
    if isinstance(event, Looked):
        store = f"work/{cell.id}/at-{event.step}"
        first: dict[tuple[str, str], Sighting] = {}
        for seen in transcript.sightings(event):
            first.setdefault((seen.form, seen.place), seen)
        for seen in list(first.values())[:SEEN]:
            piece = transcript.plan.by_name.get(seen.fact)
            yield repeat(event.layer, seen, memory_word(piece.canary if piece and piece.canary else ""), store)


def _list_program(event: Event) -> list[str]:
    return event.program.splitlines() if isinstance(event, Broke) else []


def _tell_promise(broken: BrokenPromise | None) -> Iterator[str]:
    """The shortest sequence, step by step."""
    if broken is None:
        return
    yield from (f"{at}. {make_visible(step, TEXT)}" for at, step in enumerate(broken.steps[:STEPS], 1))
    if len(broken.steps) > STEPS:
        yield f"and {len(broken.steps) - STEPS} more steps, which the command below prints"
    yield make_visible(broken.says, TEXT)
    if broken.random:
        yield f"Not deterministic. Played again: {make_visible(broken.random, TEXT)}"
    elif not broken.shrunk:
        yield "The time was over before the sequence was as short as it can be."


def _list_sentences(transcript: Transcript, event: Event, place: Place) -> Iterator[str]:
    piece = transcript.plan.by_name.get(place.memory or "")
    if piece is not None:
        yield _case(transcript, place)
    if isinstance(event, Called):
        yield from _call(transcript, event, piece)
    elif isinstance(event, Looked):
        layer = make_visible(event.layer.name, 80)
        yield f"{event.step}: a look at {layer}, {event.files} files, {event.bytes:,} bytes"
        if event.problem:
            yield make_visible(event.problem, TEXT)
        for seen in transcript.sightings(event)[:SEEN]:
            near = f", cosine {seen.nearness:.4f}" if seen.nearness is not None else ""
            where = f", {make_visible(seen.place, 120)}" if seen.place else ""
            yield f"{seen.fact} as {seen.form}{near}: {seen.count} times in {make_visible(seen.path, 120)}{where}"
    elif isinstance(event, Broke):
        yield from _tell_promise(find_promise(transcript))
    elif isinstance(event, Handled):
        fault = f": {make_visible(event.fault.message, TEXT)}" if event.fault else ""
        yield f"{event.step}: {event.what}{fault}"


def _call(transcript: Transcript, event: Called, piece: Piece | None) -> Iterator[str]:
    """What was asked and what came back; of a memory in question only what came back of it."""
    request = ", ".join(f"{name} {make_visible(str(value), 200)}" for name, value in event.request.items() if value)
    about = f" about {', '.join(event.about[:5])}{' and more' if len(event.about) > 5 else ''}" if event.about else ""
    yield f"{event.step}: {event.op}{about} ({request})" if request else f"{event.step}: {event.op}{about}"
    if event.fault is not None:
        yield f"{event.fault.kind}: {make_visible(event.fault.message, TEXT)}"
    elif event.op in READS:
        hits = transcript.hits(event)
        yield f"came back: {words.format_count(len(hits), 'memory', 'memories')}"
        own = _own(transcript, event, piece) if piece is not None else []
        listed = [(at, hit) for at, hit in enumerate(hits, 1) if hit in own or not own]
        for at, hit in listed[:HITS]:
            yield f"{at}. {make_visible(hit.text, TEXT)}"
            if piece is not None and hit in own:
                yield from _differences(piece, hit)
    else:
        yield f"came back: {make_visible(str(transcript.answer(event)), TEXT)}"


# --- evidence of a run ------------------------------------------------------------------------------------------------


class StoryEvidence(NamedTuple):
    """Of one story. layers: of its primary trials, by backend; costs: of its
    chat calls, a row a condition; problems: a line for each log that cannot be shown."""

    told: StoryTimelines | None
    layers: dict[str, list[deletion.LayerVerdict]]
    samples: list[Sample]
    costs: list[Cost]
    problems: list[str]


class DrillEvidence(NamedTuple):
    """Of one drill."""

    id: str
    receipts: list[BadCase]
    samples: list[Sample]
    problems: list[str]


Evidences: TypeAlias = list[StoryEvidence | DrillEvidence]


class Evidence(NamedTuple):
    """What the page shows of the logs themselves.

    Attributes:
        layers: Of the primary trials of each backend, by its label.
        samples: What was timed and weighed, of all.
        costs: A row for each condition, whether it called a chat model or not.
        receipts: Of the drills, by cell.
        problems: A line for each log that cannot be shown.
    """

    timelines: Timelines
    layers: dict[str, list[deletion.LayerVerdict]]
    samples: list[Sample]
    costs: list[Cost]
    receipts: dict[str, list[BadCase]]
    problems: list[str]


def read(folder: Folder, processes: int = 1) -> tuple[Results, Evidences]:
    """The results of a run, and what the page shows of each story and drill: every log is read once."""
    # Large runs are scored in other processes, to which a closure could not be sent.
    return statements.score_run(folder, partial(show, replay=Replay.of(folder.read())), processes)


def show(scored: ScoredStory | ScoredDrill, replay: Replay) -> StoryEvidence | DrillEvidence:
    return _show_story(scored, replay) if isinstance(scored, ScoredStory) else _show_drill(scored, replay)


def _guard(log: Log | Transcript, problems: list[str], make: Callable[[], None]) -> None:
    try:
        make()
    except Exception as error:
        # One log that cannot be shown must not cost the report of all others.
        problems.append(f"{log.path}: cannot be shown in full: {broken.describe(error)}")


def _show_story(story: ScoredStory, replay: Replay) -> StoryEvidence:
    timelines, problems, samples = list[StoryTimelines | None](), list[str](), list[Sample]()
    paid = list[Cost]()
    layers = dict[str, list[deletion.LayerVerdict]]()
    primary = {cell.trial for cell in story.cells if is_headline(cell, story.frame.conditions)}

    def look(log: Log) -> None:
        samples.extend(footprint.of_trial(log))
        if log.trial.backend and log.trial.id in primary:
            layers.setdefault(log.trial.backend, []).extend(deletion.layers(log))

    # A problem of the whole story is named by its first log.
    _guard(story.logs[0], problems, lambda: timelines.append(timeline.tell_story(story, replay)))
    _guard(story.logs[0], problems, lambda: paid.extend(cost_model.cost_story(story.views)))
    for log in story.logs:
        _guard(log, problems, partial(look, log))
    return StoryEvidence(timelines[0] if timelines else None, layers, samples, paid, problems)


def _show_drill(drill: ScoredDrill, replay: Replay) -> DrillEvidence:
    transcript, receipts, samples, problems = drill.transcript, list[BadCase](), list[Sample](), list[str]()

    def look() -> None:
        samples.extend(footprint.of_drill(transcript))
        if drill.cell:
            receipts.extend(describe_cases(drill.cell, transcript, drill.definitions, replay))

    _guard(transcript, problems, look)
    return DrillEvidence(transcript.trial.id, receipts, samples, problems)


def gather(results: Results, parts: Iterable[StoryEvidence | DrillEvidence]) -> Evidence:
    """All of it. A story or drill that the results do not name is not shown."""
    drilled = {cell.id for cell in results.trust}
    samples, problems, timelines, paid = list[Sample](), list[str](), list[StoryTimelines](), list[Cost]()
    layers, receipts = dict[str, list[deletion.LayerVerdict]](), dict[str, list[BadCase]]()
    for part in parts:
        samples += part.samples
        problems += part.problems
        if isinstance(part, DrillEvidence):
            if part.id in drilled:
                receipts[part.id] = part.receipts
            continue
        timelines += [part.told] if part.told else []
        paid += part.costs
        for backend, verdicts in part.layers.items():
            layers.setdefault(backend, []).extend(verdicts)
    return Evidence(timeline.assemble(results, timelines), layers, samples, cost_model.join(paid), receipts, problems)
