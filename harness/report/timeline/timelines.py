"""Timelines: the trials of a run told in story time, bad ones in full, the others packed by scenario.

At the head of each stands what went wrong in it, by the receipts of its cells. All are bounded; what is left out is
counted and said.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from harness import metrics
from harness.compare.rows import is_headline
from harness.compare.scoring import ScoredStory
from harness.log.events import Forgot, Recalled, Scanned, Sought
from harness.log.receipts import Receipt, read
from harness.metrics import broken
from harness.metrics.acting import STALE_USE
from harness.metrics.view import Record, View
from harness.model.cells import Cell
from harness.model.results import Results
from harness.model.trial import Measured, NotMeasured, ReadPolicy
from harness.report import words
from harness.report.timeline.nodes import (
    Node,
    check_source,
    cut_trees,
    describe_check,
    draw_note,
    freeze_tree,
    make_node,
    make_proof,
    pack,
    place,
    quote,
    show,
    thaw_tree,
    write_markup,
)
from harness.report.timeline.repeat import Replay
from harness.report.timeline.session import Telling

# --- what went wrong in one trial -------------------------------------------------------------------------------------

BAD: Mapping[str, str] = {
    name: case.called
    for name in metrics.list_placed(lambda words: words.case.place if words.case else None)
    if (case := metrics.words_of(name).case)
}
"""Measures of which every receipt is a bad case, and what such a case is called."""
MOST = 12
"""Cases that one timeline lists; the rest is counted."""


def explain_broken(cells: Sequence[Cell]) -> str:
    """Why a trial did not get to its end; empty if it did."""
    cell = cells[0]
    return f"{cell.status}: {show(cell.reason, 200)}" if cell.status in ("failed", "incomplete") else ""


def group_cases(cells: Sequence[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Measure and receipt of each bad case, with the cells that cite it; the receipt of a failure shows no case."""
    cells_by_case: dict[tuple[str, str], list[Cell]] = {}
    for measure in BAD:
        for cell in cells:
            judged = cell.measures.get(measure)
            for ref in judged.receipts if isinstance(judged, Measured) else ():
                cells_by_case.setdefault((measure, ref), []).append(cell)
    return cells_by_case


def describe_briefly(cells: Sequence[Cell]) -> str:
    """In a few words, with counts; empty if nothing went wrong."""
    counts: dict[str, int] = {}
    for measure, _ in group_cases(cells):
        counts[measure] = counts.get(measure, 0) + 1
    named = [f"{BAD[measure]} ({n})" if n > 1 else BAD[measure] for measure, n in counts.items()]
    return "; ".join(filter(None, [explain_broken(cells), *named]))


def describe_cases(record: Record, cells: Sequence[Cell]) -> Iterator[Node]:
    """Each case in one line, a measure's deleted secrets in one; and what was not measured."""
    lines: dict[object, tuple[str, list[Node | str | None], list[str]]] = {}
    for measure, (line, what, note) in _merge_cases(record, cells):
        many = isinstance(record.log.events[line - 1], Sought | Forgot)
        known = lines.setdefault(measure if many else (measure, line, note), (measure, [], []))
        known[1].extend([", ", *what] if known[1] else what)
        known[2].append(f"{note} \u00b7 L{line}" if note else f"L{line}")
    listed = [
        make_node(
            "li", "", make_node("b", "", f"\u2715 {BAD[measure]}: "), *what, draw_note(", ".join(dict.fromkeys(notes)))
        )
        for measure, what, notes in list(lines.values())[:MOST]
    ]
    if why := explain_broken(cells):
        listed.insert(0, make_node("li", "", make_node("b", "", f"\u2715 {why}")))
    if len(lines) > MOST:
        listed.append(make_node("li", "quiet", f"\u2026 and {len(lines) - MOST} more"))
    if listed:
        yield make_node("ul", "wrong", *listed)
    measures = [each for each in BAD if metrics.words_of(each).answers and each in cells[0].measures]
    missing = [f"{words.measure_name(each)} {word}" for each in measures if (word := _explain_missing(cells[0], each))]
    if missing:
        yield make_node("p", "quiet", f"Not measured here: {'; '.join(missing)}.")


def _explain_missing(cell: Cell, measure: str) -> str:
    value = cell.measures[measure]
    if isinstance(value, NotMeasured):
        return f"{words.NOT_MEASURED[value.status]} ({show(value.reason, 160)})"
    return ""


_Case = tuple[int, list[Node | str | None], str]
"""The line of the log, what it was, and where."""


def _merge_cases(record: Record, cells: Sequence[Cell]) -> Iterator[tuple[str, _Case]]:
    """Bad cases; a decision stands once, by whichever entry of the same question each reader took it."""
    known: dict[tuple[str, str], list[Cell]] = {}
    for (measure, ref), cited in group_cases(cells).items():
        known.setdefault((measure, ref.partition(":")[0] if measure == STALE_USE else ref), []).extend(cited)
    cases = [(measure, _draw_case(record, measure, ref, cited)) for (measure, ref), cited in known.items()]
    yield from sorted(cases, key=lambda each: (list(BAD).index(each[0]), each[1][0]))


def _draw_case(record: Record, measure: str, ref: str, cited: Sequence[Cell]) -> _Case:
    receipt = read(ref) or Receipt(1)
    line, entry = min(receipt.line, len(record.log.events)), receipt.entry
    event = record.log.events[line - 1]
    if isinstance(event, Recalled) and measure == STALE_USE:
        readers = [policy for policy in record.log.opened.reads if policy in {cell.read_policy for cell in cited}]
        where = f"{event.at:%Y-%m-%d}, session {event.session}, reading {words.join_words(readers)}"
        return line, _draw_decision(record, event, readers), where
    if isinstance(event, Recalled) and entry is not None and entry < len(record.entries(line, event)):
        back = record.entries(line, event)[entry]
        git = check_source(record, event.session, back.hit.source)
        seen = make_proof(record, back.hit.source)
        shown_by = make_node("code", "", seen.command) if seen else None
        return (
            line,
            [quote(back.text), shown_by],
            f"cites {place(back.hit.source)}; {describe_check(git) or 'git was not asked'}",
        )
    if isinstance(event, Scanned):
        facts = {sighting.fact for sighting in event.sightings} & {each.fact for _, each in record.of(Forgot)}
        return line, [receipt.memory or words.join_words(sorted(facts))], f"layer {show(event.layer.name, 80)}"
    return line, [event.fact if isinstance(event, Sought | Forgot) else event.__class__.__name__.lower()], ""


def _draw_decision(record: Record, event: Recalled, readers: Sequence[ReadPolicy]) -> list[Node | str | None]:
    """The question, the values that were taken, the right one."""
    job, _, name = event.ref.partition("/")
    works = [work for policy in readers for _, work in record.works(policy) if work.job == job]
    values = [each.value or "" for work in works for each in work.choices if each.decision == name]
    known = next(each for _, each in record.scenario.jobs() if each.id == job)
    decision = next(each for each in known.decisions if each.id == name)
    taken = show(words.join_words(list(dict.fromkeys(values))), 160)
    right = f" {taken}, where {show(decision.right.value, 160)} is right"
    return [make_node("bdi", "", show(decision.question, 200)), make_node("bdi", "", right)]


# --- the trials of a run ----------------------------------------------------------------------------------------------

BOUND, IN_FULL, PACKED = 60, 280_000, 500_000
"""Timelines in full, at most; their characters of HTML; the characters of all packed blocks."""


@dataclass(frozen=True)
class Timeline:
    """One trial.

    Attributes:
        id: Of the trial, and the anchor.
        said: In a few words what went wrong, or nothing.
        body: What is shown without script.
        block: Where the whole of it is packed, if it is.
    """

    id: str
    title: str
    said: str
    body: Node
    block: int | None


@dataclass(frozen=True)
class Timelines:
    """All trials of a run, told for the page.

    Attributes:
        shown: In full.
        packed: The others.
        anchored: The trials with an anchor.
        says: What is where, and what is nowhere.
        blocks: Of each scenario the packed trees by trial id (`nodes.pack`).
    """

    shown: tuple[Timeline, ...]
    packed: tuple[Timeline, ...]
    blocks: tuple[str, ...]
    anchored: frozenset[str]
    says: tuple[str, ...]


@dataclass(frozen=True)
class _TrialCells:
    """A trial that was played, by its cells."""

    cells: tuple[Cell, ...]

    @property
    def id(self) -> str:
        return self.cells[0].trial

    def timeline(self, body: Node, block: int | None) -> Timeline:
        cell = self.cells[0]
        parts = [
            words.make_visible(cell.backend or "cold", 60),
            cell.scenario,
            cell.write_policy or "",
            f"noise {cell.noise}",
        ]
        title = ", ".join(filter(None, [*parts, f"seed {cell.seed}" if cell.seed != 1 else ""]))
        return Timeline(self.id, title, describe_briefly(self.cells), body, block)


def tell_story(story: ScoredStory, replay: Replay) -> StoryTimelines | None:
    """All trials of one story, from its logs alone; None if none of it was played."""
    views: dict[str, View] = {}
    for view in story.views:
        views.setdefault(view.log.trial.id, view)
    played = [trial for trial in _list_trials(sorted(story.cells, key=lambda cell: cell.id)) if trial.id in views]
    if not played:
        return None
    tiers = {trial.id: _find_tier(story, views[trial.id], trial) for trial in played}
    noise = story.frame.conditions.headline_noise
    order = sorted(played, key=lambda trial: (tiers[trial.id], trial.cells[0].noise != noise))
    rich = {each.id: _draw_tree(views[each.id], each.cells, replay, whole=tiers[each.id] == 0) for each in order}
    data = pack(rich)
    fits = len(data) <= PACKED // max(1, story.frame.stories)

    def brief(trial: _TrialCells) -> bytes:
        # What is not whole in the packed block is brief already.
        whole = tiers[trial.id] == 0
        return freeze_tree(_draw_tree(views[trial.id], trial.cells, replay, whole=False) if whole else rich[trial.id])

    trees = {trial.id: brief(trial) for trial in order if not fits or describe_briefly(trial.cells)}
    return StoryTimelines(played[0].cells[0].scenario, tuple(rich), data, fits, tiers, trees)


class StoryTimelines(NamedTuple):
    """One story, as it is sent from the process that read its logs.

    Attributes:
        order: All trials; controls, then other noise come last, and are the first to be cut.
        rich: The packed block of them that tells what each question brought in rows that are compared.
        fits: It fits in the least room that a story may get.
        tiers: Trial -> 0 in the headline, 1 other rows under test, 2 the rest.
        brief: Frozen trees that tell less: of the bad trials, and of all if the block may not fit.
    """

    story: str
    order: tuple[str, ...]
    rich: str
    fits: bool
    tiers: Mapping[str, int]
    brief: Mapping[str, bytes]


def assemble(results: Results, timelines: Iterable[StoryTimelines]) -> Timelines:
    """All stories, in the order in which they were read: each gets its share of the room that the ones before it left.

    Bad trials are in full, from every backend in turn, until a bound is reached.
    """
    trials = {trial.id: trial for trial in _list_trials(results.cells)}
    room, stories_left, blocks, frozen = PACKED, len(results.stories), list[_Block](), dict[str, bytes]()
    tiers = dict[str, int]()
    for each in timelines:
        share = room // max(1, stories_left)
        rich = each.fits or len(each.rich) <= share
        data, order = each.rich, each.order
        if not rich:
            data, order = cut_trees({name: thaw_tree(each.brief[name]) for name in each.order}, share)
        blocks.append(_Block(each.story, data, order, rich))
        room, stories_left = room - len(data), stories_left - 1
        frozen |= each.brief
        tiers |= each.tiers
    bad = _order_fairly([trial for trial in trials.values() if describe_briefly(trial.cells)], tiers)
    wanted = {trial.id: thaw_tree(frozen[trial.id]) for trial in bad[:BOUND] if trial.id in frozen}
    # Before they are numbered below, as a timeline finds its block by its place.
    blocks.sort(key=lambda block: (block.story, block.trials))
    full = _fit(bad, wanted)
    block_of = {name: number for number, block in enumerate(blocks) for name in block.trials}
    folded = [trial for name, trial in trials.items() if name in block_of and name not in full]
    shown = [each.timeline(full[each.id], block_of.get(each.id)) for each in bad if each.id in full]
    packed = [each.timeline(make_node("p", "quiet", "Unfolds by script."), block_of[each.id]) for each in folded]
    here = frozenset(block_of) | frozenset(full)
    rich_blocks = sum(block.rich for block in blocks), len(blocks)
    limits = _describe_limits(len(full), len(bad), len(packed), len(trials) - len(here), rich_blocks)
    return Timelines(tuple(shown), tuple(packed), tuple(block.data for block in blocks), here, limits)


def _list_trials(all_cells: Iterable[Cell]) -> list[_TrialCells]:
    """Those that were played, in the order of the results."""
    cells: dict[str, list[Cell]] = {}
    for cell in all_cells:
        if cell.status not in ("unsupported", "not-run"):
            cells.setdefault(cell.trial, []).append(cell)
    return [_TrialCells(tuple(own)) for own in cells.values()]


def _order_fairly(trials: Sequence[_TrialCells], tiers: Mapping[str, int]) -> list[_TrialCells]:
    """Every kind of fault of every backend in turn; what the headline counts comes first, controls last."""
    queues: dict[tuple[int, str, str], list[_TrialCells]] = {}
    for trial in trials:
        kinds = dict.fromkeys(measure for measure, _ in group_cases(trial.cells))
        # A trial that broke off may have no bad case, and waits in a queue as well.
        for kind in kinds or {"": None}:
            queues.setdefault((tiers.get(trial.id, 2), kind, trial.cells[0].backend or ""), []).append(trial)
    order: dict[str, _TrialCells] = {}
    for tier in range(3):
        mine = [queue for key, queue in sorted(queues.items()) if key[0] == tier]
        order |= {each.id: each for turn in zip_longest(*mine) for each in turn if each and each.id not in order}
    return list(order.values())


def _find_tier(story: ScoredStory, view: View, trial: _TrialCells) -> int:
    """As its row will be: a control that has none is told as what is under test."""
    backend = view.log.opened.backend
    if backend is None or (backend.control and trial.cells[0].backend in story.frame.rows):
        return 2
    return 0 if any(is_headline(cell, story.frame.conditions) for cell in trial.cells) else 1


class _Block(NamedTuple):
    """The packed trials of a story. rich: as `StoryTimelines.rich`."""

    story: str
    data: str
    trials: tuple[str, ...]
    rich: bool


def _draw_tree(view: View, cells: Sequence[Cell], replay: Replay, *, whole: bool) -> Node:
    """All that is told of a trial, of which `view` is any cell: they share one record."""
    try:
        return _tell(view, cells, replay, whole=whole)
    except Exception as error:
        # One trial that cannot be told must not cost the page of all others.
        return make_node("p", "", f"This trial cannot be shown: {broken.describe(error)}")


def _tell(view: View, cells: Sequence[Cell], replay: Replay, *, whole: bool) -> Node:
    telling = Telling(view, whole)
    folded = None if whole else make_node("p", "quiet", "What each question brought is not shown here, jobs aside.")
    log = shlex.quote(f"logs/{cells[0].log}")
    commands = make_node("pre", "", f"{replay.command(view.log.trial)}\nsed -n 1p {log}  # L1; any line of the log")
    body = [*describe_cases(view.record, cells), *telling.sessions(), folded]
    return make_node(
        "div", "", *body, make_node("p", "quiet", "Play it again and keep its store, or read its log:"), commands
    )


def _fit(bad: Sequence[_TrialCells], trees: Mapping[str, Node]) -> dict[str, Node]:
    """Of the trees in turn those that fit into what room the ones before them left."""
    full: dict[str, Node] = {}
    room = IN_FULL
    for name in (trial.id for trial in bad if trial.id in trees):
        size = len(write_markup(trees[name]))
        if size <= room:
            full[name], room = trees[name], room - size
    return full


def _describe_limits(full: int, bad: int, packed: int, left_out: int, rich: tuple[int, int]) -> tuple[str, ...]:
    none = "In no trial was a stale rule acted on, a deleted secret found again, or a source left unproven."
    some = (
        f"In full: {full:,} of the {words.format_count(bad, 'trial')} in which something went wrong, "
        "every kind of it from "
        "every backend in turn, without what single questions brought."
    )
    more = f"Packed, and unfolded by script: {words.format_count(packed, 'timeline')}."
    if rich[0]:
        where = "" if rich[0] == rich[1] else f", in {rich[0]} of {rich[1]} stories"
        more += f" Those of the rows that the headline compares also tell what each question brought{where}."
    rest = (
        f"Left out to keep the page small, controls first: {words.format_count(left_out, 'timeline')}; "
        "each trial's events stand "
        "in its log."
    )
    return tuple(filter(None, [some if bad else none, more if packed else "", rest if left_out else ""]))
