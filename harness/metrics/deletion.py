"""Is deleted gone? Route by route of the interface, after reopening, and layer by layer in the stored bytes.

A target counts on a route or layer only if a look before the deletion found it there. A look that is missing or
failed after that shows nothing, so the target counts as not gone; if that is so of all, the measure has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, get_args

from harness.log.blobs import unpack
from harness.log.events import Forgot, Listed, Route, Scanned, Sought, Stage
from harness.log.parts import WEIGHTS
from harness.log.reader import Log
from harness.log.receipts import Receipt
from harness.metrics import columns, freed
from harness.metrics.metric import StoryMetric, cannot_tell, failed, metric, not_applicable, proportion, unsupported
from harness.metrics.view import Record, View
from harness.metrics.words import DELETED, Case, Words
from harness.model.canary import memory_word
from harness.model.trial import Measure, NotMeasured

LIVE: tuple[Route, ...] = tuple(route for route in get_args(Route) if route != "history")
"""Where only memories come back that hold; a history is of those that did."""
CONTROLS = ("remember", "supersede", "recall", "entries", "get", "history", "forget")
"""Operations without which no target is known or gone."""
NO_CONTROL = "no target was found there before the deletion"


class Look(NamedTuple):
    line: int
    found: bool | None


class Looks:
    """What a log says of its deletions, by target (fact id)."""

    def __init__(self, record: Record) -> None:
        self._record = record

    @cached_property
    def targets(self) -> Mapping[str, tuple[int, Forgot]]:
        """Facts that the backend was asked to delete, with the line of the request."""
        return {event.fact: (line, event) for line, event in self._record.of(Forgot)}

    @cached_property
    def _sought(self) -> Mapping[tuple[Stage, Route, str], Look]:
        return {
            (event.stage, event.route, event.fact): Look(line, event.found) for line, event in self._record.of(Sought)
        }

    def list_controlled(self, route: Route) -> list[str]:
        """Targets that this route found before."""
        return [fact for fact in self.targets if (look := self._sought.get(("before", route, fact))) and look.found]

    def at(self, stage: Stage, route: Route, fact: str) -> Look | None:
        return self._sought.get((stage, route, fact))

    def is_gone(self, stage: Stage, route: Route, fact: str) -> bool:
        look = self.at(stage, route, fact)
        return look is not None and look.found is False

    def list_failing(self, stage: Stage, fact: str, routes: Collection[Route]) -> list[Route]:
        """Routes whose look failed, so that they show no absence."""
        looks = ((route, self.at(stage, route, fact)) for route in routes)
        return [route for route, look in looks if look is not None and look.found is None]

    def judge(self, stage: Stage, routes: Mapping[str, Sequence[Route]], every: Sequence[Route], none: str) -> Measure:
        """Targets with the routes that found them before: those that nothing brings, of those that are known."""
        facts = [fact for fact, known in routes.items() if known]
        # a dict keeps the routes in order; the order of a set changes with each process
        left = {
            fact: [
                self.receipt(stage, route, fact)
                for route in dict.fromkeys([*routes[fact], *self.list_failing(stage, fact, every)])
                if not self.is_gone(stage, route, fact)
            ]
            for fact in facts
        }
        bad = [fact for fact in facts if left[fact]]
        # what a look still showed is known to be left; where looks only failed, nobody can tell
        seen = [fact for fact in bad if any((look := self.at(stage, r, fact)) and look.found for r in every)]
        lines = list(dict.fromkeys(line for fact in bad for line in left[fact]))
        nothing = self._record.explain_uncontrolled(none, *CONTROLS)
        return proportion(len(facts) - len(bad), len(facts), lines, none=nothing, unanswered=len(bad) - len(seen))

    def receipt(self, stage: Stage, route: Route, fact: str) -> str:
        """The look that still found it; else the request to delete it."""
        look = self.at(stage, route, fact)
        line = look.line if look else self.targets[fact][0]
        return str(Receipt(line, None, fact, self._record.stored.get(fact)))

    def was_reached(self, stage: Stage) -> bool:
        return any(seen == stage for seen, _, _ in self._sought)


def _explain_refusal(view: View, *capabilities: str) -> NotMeasured | None:
    """Why nothing can be said of deletion in this cell."""
    if not view.scenario.forgotten:
        return not_applicable("the scenario deletes nothing")
    for capability in ("forget", *capabilities):
        support = view.record.support(capability)
        if not support.supported:
            return unsupported(f"{capability}: {support.note or 'not offered'}")
    if not view.record.of(Forgot):
        return failed(f"nothing was deleted; {view.log.reason}" if view.record.failed else "nothing was deleted")
    return None


def _explain_loss(view: View, looks: Looks, stage: Stage) -> NotMeasured | None:
    if looks.was_reached(stage):
        return None
    # the log of a trial that was completed gives no reason
    return failed(f"the trial did not get to the look {stage}; {view.log.reason}".removesuffix("; "))


def deleted_from(view: View, route: Route) -> Measure:
    # both are recalls, which every backend has; the other routes are optional
    refused = _explain_refusal(view, *(() if route in ("search", "forbidden") else (route,)))
    if refused is not None:
        return refused
    looks = Looks(view.record)
    lost = _explain_loss(view, looks, "after")
    if lost is not None:
        return lost
    return looks.judge("after", {fact: [route] for fact in looks.list_controlled(route)}, [route], NO_CONTROL)


def deleted_after_reopening(view: View) -> Measure:
    """Gone by every live route that found it before, in a fresh process on the same store."""
    refused = _explain_refusal(view, "persistent")
    if refused is not None:
        return refused
    looks = Looks(view.record)
    lost = _explain_loss(view, looks, "reopened")
    if lost is not None:
        return lost
    routes = {fact: [route for route in LIVE if fact in looks.list_controlled(route)] for fact in looks.targets}
    return looks.judge("reopened", routes, LIVE, NO_CONTROL)


def deletion_acknowledged(view: View) -> Measure:
    """Deletions that the backend called done, and of them those that search and listing confirm."""
    refused = _explain_refusal(view)
    if refused is not None:
        return refused
    looks = Looks(view.record)
    lost = _explain_loss(view, looks, "after")
    if lost is not None:
        return lost
    # `all` holds of an empty answer, which acknowledges nothing
    said = [fact for fact, (_, event) in looks.targets.items() if event.said and all(event.said)]
    routes: tuple[Route, ...] = ("search", "entries")
    known = {fact: [route for route in routes if fact in looks.list_controlled(route)] for fact in said}
    none = "the backend called no deletion done of which search or listing had found the target"
    return looks.judge("after", known, routes, none)


# --- bystanders -------------------------------------------------------------------------------------------------------


def over_deletion(view: View) -> Measure:
    refused = _explain_refusal(view, "entries")
    if refused is not None:
        return refused
    targets = Looks(view.record).targets
    # one request that failed does not excuse what the others took with them: only if all failed is nothing known
    for line, event in list(targets.values())[:1]:
        if event.fault and all(each.fault for _, each in targets.values()):
            return failed(f"L{line}: nothing was deleted: {event.fault.message}")
    canaries = [memory_word(view.log.opened.canaries[fact]) for fact in targets]
    bystanders, lost, unanswered = 0, list[str](), 0
    listings = [each for each in _listings(view.record) if each[1].fault is None]
    if not listings:
        return failed("nothing was listed before the deletion")
    for line, before, after in listings:
        answered = after is not None and after.fault is None
        # counted, as a listing may hold equal texts
        left = Counter(hit.text for hit in view.log.hits(after)) if after and answered else Counter[str]()
        for position, hit in enumerate(view.log.hits(before)):
            if any(canary in hit.text for canary in canaries):
                continue
            bystanders += 1
            if left[hit.text]:
                left[hit.text] -= 1
            else:
                lost.append(f"L{line}:e{position}")
                unanswered += not answered
    none = "nothing else was stored beside the targets"
    return proportion(len(lost), bystanders, lost, none=none, unanswered=unanswered)


def _listings(record: Record) -> Iterator[tuple[int, Listed, Listed | None]]:
    """Each listing before a deletion with its line, and the next one of the same scope after it."""
    listed = [(line, event) for line, event in record.of(Listed) if event.stage in ("before", "after")]
    for at, (line, event) in enumerate(listed):
        if event.stage == "before":
            yield line, event, next((e for _, e in listed[at:] if e.stage == "after" and e.scope == event.scope), None)


# --- bytes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerVerdict:
    """One declared layer: of the targets seen in its bytes before (`of`), those still seen after.

    moved: targets seen after that were not seen before.

    Attributes:
        problem: Why the layer cannot be computed, else None.
        line: Of the last look at it.
        unread: It, or a part of it, could not be looked at.
    """

    layer: str
    format: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    of: int
    problem: str | None
    line: int
    unread: bool

    @property
    def moved(self) -> tuple[str, ...]:
        return tuple(fact for fact in self.after if fact not in self.before)


def layers(log: Log) -> list[LayerVerdict]:
    """The verdict on every declared layer, in the order of declaration; of a log without deletion, none."""
    return _layers(Record(log))


def _layers(record: Record) -> list[LayerVerdict]:
    targets = Looks(record).targets
    scans: dict[str, dict[Stage, list[tuple[int, Scanned]]]] = {}
    for line, event in record.of(Scanned):
        scans.setdefault(event.layer.name, {}).setdefault(event.stage, []).append((line, event))
    beside = {event.layer.name for _, event in record.of(Scanned) if not event.declared}
    verdicts = [_verdict(name, stages, targets) for name, stages in scans.items() if targets]
    # of undeclared places only those that show a target, or could not be read
    return [each for each in verdicts if each.layer not in beside or each.before or each.after or each.unread]


def _verdict(name: str, stages: Mapping[Stage, list[tuple[int, Scanned]]], targets: Collection[str]) -> LayerVerdict:
    before, after = stages.get("before", []), stages.get("after", [])
    line, last = (after or before)[-1]
    problems = [event.problem for _, event in (*before, *after) if event.problem]
    unread = bool(problems)
    seen = _find_seen(before, targets)
    if not after:
        problems.append("not looked at after the deletion")
    if not problems and not seen:
        problems.append("no target was seen in it before the deletion")
    return LayerVerdict(
        layer=name,
        format=last.layer.format,
        before=seen,
        after=_find_seen(after, targets),
        of=len(seen),
        problem=problems[0] if problems else None,
        line=line,
        unread=unread,
    )


def _find_seen(scans: list[tuple[int, Scanned]], targets: Collection[str]) -> tuple[str, ...]:
    facts = {sighting.fact for _, event in scans for sighting in event.sightings}
    return tuple(fact for fact in targets if fact in facts)


def deleted_from_bytes(view: View) -> Measure:
    """A target is gone if no layer shows it after; it counts if a layer that can be computed showed it before."""
    refused = _explain_refusal(view, "persistent")
    if refused is not None:
        return refused
    verdicts = _layers(view.record)
    if not any(event.stage == "after" for _, event in view.record.of(Scanned)):
        lost = _explain_loss(view, Looks(view.record), "reopened")
        return lost or not_applicable("the backend declares no layer")
    facts = {fact for each in verdicts if each.problem is None for fact in each.before}
    # a text that moved into a layer is left there, though no look before had seen it
    facts |= {fact for each in verdicts for fact in each.after}
    stored = view.record.stored
    left = {fact: str(Receipt(each.line, None, fact, stored.get(fact))) for each in verdicts for fact in each.after}
    unseen = ", ".join(f"{each.layer}: {each.problem}" for each in verdicts if each.problem)
    receipts = list(dict.fromkeys(left.values()))
    blind = [f"{each.layer}: {each.problem}" for each in verdicts if each.unread]
    if facts and not left and (blind := [*blind, *_list_kept(view, facts)]):
        return cannot_tell(f"no target is left where it could be looked, but {'; '.join(blind)}")
    none = view.record.explain_uncontrolled(f"no layer can be computed ({unseen})", "remember", "supersede")
    return proportion(len(facts - left.keys()), len(facts), receipts, none=none)


def _list_kept(view: View, facts: Collection[str]) -> list[str]:
    """New places that took in what would do for the deleted texts. One that was there before grew with other writes."""
    scans: dict[tuple[str, Stage], list[Scanned]] = {}
    for _, event in view.record.of(Scanned):
        scans.setdefault((event.layer.name, event.stage), []).append(event)
    # a log without weights does not tell what grew
    if not any(event.weights is not None for (_, stage), each in scans.items() if stage == "before" for event in each):
        return []
    due = freed.of_texts(view.scenario.by_id[fact].plain.text for fact in facts)
    found = []
    for name in dict.fromkeys(name for name, _ in scans):
        then, now = (_sizes(view.log, scans.get((name, stage), ())) for stage in ("before", "after"))
        read = freed.list_read(each for event in scans.get((name, "after"), ()) for each in event.sightings)
        new = {spot: size for spot, size in now.items() if spot not in then}
        found += [f"{name}: {why}" for why in freed.taken_in({}, new, read, due, len(facts), {})]
    return found


def _sizes(log: Log, scans: Iterable[Scanned]) -> freed.Held:
    return freed.sizes(each for event in scans for each in unpack(log.blobs, WEIGHTS, event.weights or ()))


_WHERE: dict[Route, tuple[str, str]] = {
    "search": ("the story's own question", "found by search"),
    "forbidden": ("a search for the deleted string itself", "found by searching for it"),
    "entries": ("the listing of all memories", "listed"),
    "get": ("its id", "returned by its id"),
    "history": ("the audit history of its id", "in the audit history"),
}
"""Route -> what brings a target, and what a target is that it still brings."""
DELETED_FROM_BYTES = "deleted_from_bytes"
_measure = partial(metric, words=Words(DELETED))
METRICS: tuple[StoryMetric, ...] = (
    *(
        _measure(
            f"deleted_from_{route}", "higher", "proportion",
            f"targets that {where} does not bring after the deletion / targets that it brought before",
            partial(deleted_from, route=route), source="ForgetEval" if route == "forbidden" else "own", version=2,
            label=f"deleted secrets no longer {still}", otherwise=f"deleted secrets still {still}",
            column=columns.DELETED.at("history" if route == "history" else "served"),
            words=Words(DELETED, place=10 + at, case=Case(30 + at, f"deleted, and still {still}")),
        )
        for at, (route, (where, still)) in enumerate(_WHERE.items())
    ),
    _measure(
        "deleted_after_reopening", "higher", "proportion",
        "targets that no search, listing or id brings in a fresh process on the same store / targets that one of them "
        "brought before",
        deleted_after_reopening, version=3, words=Words(
            DELETED, 20, case=Case(40, "deleted, and back after reopening"),
        ),
        label="deleted secrets gone after reopening", otherwise="deleted secrets back after reopening",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        DELETED_FROM_BYTES, "higher", "proportion",
        "targets that no layer and no undeclared place shows in its bytes after closing / targets that one showed "
        "before; where a part could not be looked at, or a new place took in with the deletion what would do for the "
        "texts and shows nothing, and nothing is left elsewhere, nothing is measured",
        deleted_from_bytes, version=3, words=Words(
            DELETED, 30, thing="deleted secrets gone from storage",
            answers=True, cells="gone after delete",
            case=Case(20, "deleted, and still in the stored bytes"),
        ),
        label="deleted secrets gone from disk", otherwise="deleted secrets still on disk",
        column=columns.DELETED.at("stored"),
    ),
    _measure(
        "deletion_acknowledged", "higher", "proportion",
        "deletions called done that search and listing confirm / deletions called done of which one had found the "
        "target before", deletion_acknowledged, version=2,
        label="confirmed deletions that are true", otherwise="deletions confirmed and not done",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "over_deletion", "lower", "proportion",
        "other memories of the targets' scopes that were listed before and not after / such memories listed before",
        over_deletion, version=3,
        label="other memories deleted too", column=columns.DELETED.at("bystanders"),
    ),
)  # fmt: skip
