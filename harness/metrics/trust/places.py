"""Scopes that lie around each other: what one of them brings, lists and takes with it.

See `harness.play.drills.scopes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from harness.adapter import Scope, applies
from harness.log.transcript import Called, Op
from harness.metrics.trust.apart import ScopeCase, ScopeView, group_of
from harness.metrics.trust.view import scope_of

LATTICE = "lattice"
LOOKS: tuple[Op, ...] = ("entries", "recall")
DIRECTIONS = {
    "wider": "that it lies within",
    "narrower": "that lies within it",
    "other": "that differs from it in one part",
}


def find_direction(other: Scope, place: Scope) -> str:
    return "wider" if applies(other, place) else "narrower" if applies(place, other) else "other"


@lru_cache(maxsize=2048)
def find_neighbours(name: str, view: ScopeView) -> Sequence[tuple[str, str]]:
    """The places of a group whose memories do not hold where this one's does, with the way in which they come near."""
    return list(_find_neighbours(name, view))


def _find_neighbours(name: str, view: ScopeView) -> Iterator[tuple[str, str]]:
    group, place = group_of(name), view.scope(name)
    for other in view.groups[group]:
        if not applies(view.scope(other), place):
            within = applies(place, view.scope(other))
            # a group is called LIKENESS-NUMBER; only the lattice holds several likenesses
            yield other, ("nesting" if within else "part") if group == LATTICE else group.partition("-")[0]


def list_differing_parts(one: Scope, other: Scope) -> set[str]:
    """The parts in which two scopes differ."""
    return {part for part, name in vars(one).items() if name != vars(other)[part]}


# few, as each holds a view and with it a transcript
@lru_cache(maxsize=4)
def find_ignored(view: ScopeView) -> frozenset[str]:
    """The parts that the store does not look at: of two scopes that differ in this one only, and by names that are not
    alike, every search in one brings what holds in the other."""
    found_by_part: dict[str, list[bool]] = {}
    for _, call in view.transcript.calls("recall", "place"):
        (name,) = call.about
        for other, likeness in (
            find_neighbours(name, view) if group_of(name) == LATTICE and view.was_found(name) else ()
        ):
            parts = list_differing_parts(view.scope(name), view.scope(other))
            if likeness == "part" and len(parts) == 1 and view.was_found(other):
                found_by_part.setdefault(next(iter(parts)), []).append(other in view.list_shown(call))
    return frozenset(part for part, found in found_by_part.items() if all(found))


def explains_leak(one: Scope, other: Scope, view: ScopeView) -> bool:
    """Whether a leak between them is no wonder, as the store looks at no part in which they differ."""
    return list_differing_parts(one, other) <= find_ignored(view)


def by_search(likeness: str, view: ScopeView) -> Iterable[ScopeCase]:
    """Asked for its own text, which those beside it are like."""
    for line, call in view.transcript.calls("recall", "place"):
        (name,) = call.about
        others = {each for each, kind in find_neighbours(name, view) if kind == likeness and view.was_found(each)}
        # a leak that the part in which they differ explains is counted under `part` alone
        if likeness != "part":
            others = {each for each in others if not explains_leak(view.scope(name), view.scope(each), view)}
        if others and view.was_found(name):
            yield view.find_crossing(line, call, others)


def by_listing(view: ScopeView) -> Iterable[ScopeCase]:
    for line, call in view.transcript.calls("entries", "listed place"):
        (name,) = call.about
        own = view.was_found(name) if call.fault else view.sees("listed place", name)
        if own and any(view.was_found(each) for each, _ in find_neighbours(name, view)):
            yield view.find_crossing(line, call)


def wider_listed(view: ScopeView) -> Iterable[ScopeCase]:
    """What holds in a scope and belongs to a wider one is found there, and is not listed."""
    found = [piece for piece in view.plan.of("everywhere", "place", "near", "far") if view.was_found(piece.name)]
    for step in ("listed", "listed place"):
        for line, call in view.transcript.calls("entries", step):
            place = scope_of(call)
            wider = {each.name for each in found if each.item.scope != place and applies(each.item.scope, place)}
            if wider and (call.fault or view.sees(step, call.about[0])):
                yield view.find_crossing(line, call, wider)


def wider_missed(view: ScopeView) -> Iterable[ScopeCase]:
    """What is limited to less holds in a narrower scope, too."""
    for line, call in view.transcript.calls("recall", "within"):
        (name,) = call.about
        if view.was_found(name):
            yield view.case(None if call.fault else name not in view.list_shown(call), line, name)


def by_forgetting(direction: str, view: ScopeView) -> Iterable[ScopeCase]:
    """Each place around it that the last look before showed; the scope's own must be gone after."""
    for line, call in view.transcript.calls("forget_scope"):
        if call.step.startswith("around "):
            place, (own,) = scope_of(call), call.about
            there = [
                name for name in _list_present(line, call, view) if find_direction(view.scope(name), place) == direction
            ]
            case = view.find_loss(call.step, there, line) if there else None
            if case and (case.bad is not False or (view.was_found(own) and view.sees(call.step, own) is False)):
                yield case


def by_forgetting_blank(view: ScopeView) -> Iterable[ScopeCase]:
    """Nobody wrote to such a scope: there is nothing of its own to go."""
    for line, call in view.transcript.calls("forget_scope"):
        if call.step.startswith("blank ") and (there := _list_present(line, call, view)):
            yield view.find_loss(call.step, there, line)


def _list_present(line: int, call: Called, view: ScopeView) -> list[str]:
    """The other places that were looked at after a deletion, and stood before it."""
    looks = [look for op in LOOKS for _, look in view.transcript.calls(op, call.step)]
    names = dict.fromkeys(name for look in looks for name in look.about)
    return [name for name in names if name not in call.about and view.last(name, line)]
