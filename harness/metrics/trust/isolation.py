"""Does a memory stay in its scope? By search for each way in which names come near, and by every other operation.

What comes back where it does not hold is a leak; what is limited to nothing holds everywhere. A case counts only if the
same call in the memory's own scope found or changed it. A name that the backend does not take is refused, which is
neither a leak nor a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import NamedTuple

from harness.adapter import Scope, applies
from harness.metrics.metric import not_applicable, proportion, unsupported
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.sights import Sights
from harness.model import Measure
from harness.transcript import Called, Op, Transcript

TRAITS = ("scope_repo", "scope_user", "scope_org", "scope_branch")
FAMILIES = {
    "prefix": "one name begins with the other",
    "case": "the names differ in case",
    "space": "the names differ in spaces",
    "lookalike": "the names look alike (Cyrillic and Latin, composed and decomposed)",
    "pattern": "one name is a pattern (* % _ ? . $) that could match the other",
}


class Case(NamedTuple):
    """One that counts. receipt: the line of the call that decides."""

    bad: bool
    receipt: str


class View(Sights):
    """A transcript of isolation: what was asked where, and what belongs there."""

    def found(self, name: str) -> bool:
        """The control of every search: asked for in its own scope, it came back."""
        return self.sees("own", name, "recall") is True

    def foreign(self, call: Called) -> bool:
        """Whether something came back that does not hold where it was asked for."""
        place = asked(call)
        return any(not applies(piece.item.scope, place) for _, piece in self.hits(call))

    @cached_property
    def pairs(self) -> Mapping[str, list[str]]:
        """The memories of each pair."""
        pairs: dict[str, list[str]] = {}
        for name in self.transcript.plan.by_name:
            pairs.setdefault(_pair(name), []).append(name)
        return pairs

    def twin(self, name: str) -> str:
        return self.transcript.plan.by_name[name].twin or name


def _pair(name: str) -> str:
    return name.rpartition(".")[0]


def asked(call: Called) -> Scope:
    given = call.request["scope"]
    assert isinstance(given, dict), "the drill logs the scope of every call"
    return Scope(**{part: str(value) for part, value in given.items()})


def scoped(measure: Callable[[Transcript], Measure], found: Transcript) -> Measure:
    """Unless the backend has no scopes, or none that this size tries."""
    if not any(found.supports(trait) for trait in TRAITS):
        return unsupported(f"scopes: {found.drilled.backend.support[TRAITS[0]].note or 'not offered'}")
    if next(found.calls("remember"), None) is None:
        return not_applicable("no pair of scopes of this size differs in a respect that the backend supports")
    return measure(found)


def bad(cases: Callable[[View], Iterable[Case]], needs: tuple[Op, ...], none: str, found: Transcript) -> Measure:
    """The bad cases of those that count."""
    for need in needs:
        if not found.supports(need):
            return unsupported(f"{need}: {found.drilled.backend.support[need].note or 'not offered'}")
    counted = list(cases(View(found)))
    lines = [case.receipt for case in counted if case.bad]
    return proportion(len(lines), len(counted), list(dict.fromkeys(lines)), none=none)


def by_search(family: str, view: View) -> Iterable[Case]:
    for line, call in view.transcript.calls("recall", "cross"):
        (name,) = call.about
        if name.startswith(f"{family}-") and view.found(name) and view.found(view.twin(name)):
            yield Case(call.fault is not None or view.foreign(call), f"L{line}")


def by_listing(view: View) -> Iterable[Case]:
    """One that failed counts as a leak where the scope was known, and the other's listing works."""
    for line, call in view.transcript.calls("entries", "listed"):
        name = call.about[0]
        own = view.found(name) if call.fault else view.sees("listed", name)
        if own and view.sees("listed", view.twin(name)):
            yield Case(call.fault is not None or view.foreign(call), f"L{line}")


def by_reading(view: View) -> Iterable[Case]:
    for line, call in view.transcript.calls("get", "cross"):
        (name,) = call.about
        if view.sees("own", name, "get"):
            yield Case(call.fault is not None or view.foreign(call), f"L{line}")


def by_updating(view: View) -> Iterable[Case]:
    """A change shows that it was possible; no change counts only if the same from the own scope took effect."""
    for line, call in view.transcript.calls("update", "cross"):
        name, text = call.about
        if not view.sees("listed", name):
            continue
        changed = view.sees("cross written", name) is not True or view.sees("cross written", text) is not False
        if changed or view.sees("own written", name) is False:
            yield Case(changed, f"L{line}")


def by_forgetting(view: View) -> Iterable[Case]:
    for line, call in view.transcript.calls("forget", "cross"):
        (name,) = call.about
        if not view.sees("listed", name):
            continue
        gone = view.sees("cross written", name) is not True
        if gone or view.sees("own written", name) is False:
            yield Case(gone, f"L{line}")


def by_forgetting_a_scope(view: View) -> Iterable[Case]:
    """Each memory of the second scope that was there right before; the first scope's own must be gone after."""
    before, after = "before forget_scope", "after forget_scope"
    for line, call in view.transcript.calls("forget_scope", "across"):
        (near,) = call.about
        there = [name for name in view.pairs[_pair(near)] if name != near and view.sees(before, name)]
        spilt = any(view.sees(after, name) is not True for name in there)
        if there and (spilt or (view.found(near) and view.sees(after, near) is False)):
            yield Case(spilt, f"L{line}")


def in_no_scope(view: View) -> Iterable[Case]:
    """Counts if what holds everywhere came back: then the backend answers such a question at all."""
    yield from _elsewhere(view, "empty") if view.found("everywhere") else ()


def in_an_unwritten_scope(view: View) -> Iterable[Case]:
    yield from _elsewhere(view, "unwritten")


def _elsewhere(view: View, step: str) -> Iterable[Case]:
    for line, call in view.transcript.calls("recall", step):
        if view.found(call.about[0]):
            yield Case(call.fault is not None or view.foreign(call), f"L{line}")
    for line, call in view.transcript.calls("entries", step):
        yield Case(call.fault is not None or view.foreign(call), f"L{line}")


def refused(view: View) -> Iterable[Case]:
    """One case a name: its write failed or stored less than all, or it could not be asked for."""
    transcript = view.transcript
    failed = {asked(call) for _, call in transcript.calls("recall", "own") if call.fault}
    for line, call in transcript.calls("remember", "write"):
        scope = transcript.plan.by_name[call.about[0]].item.scope
        if scope != Scope():
            yield Case(not all(transcript.ids(call)) or scope in failed, f"L{line}")


def crowded(view: View) -> Iterable[Case]:
    """Only if there are enough of others to fill an answer."""
    transcript = view.transcript
    others = sum(view.found(piece.name) for piece in transcript.plan.of("near")) - 1
    for line, call in transcript.calls("recall", "crowd") if others >= transcript.trial.k else ():
        (name,) = call.about
        if view.found(name):
            yield Case(call.fault is not None or name not in view.shown(call), f"L{line}")


def scope_kept(found: Transcript) -> Measure:
    """One case a search that brought the memory it was for."""
    view, came, lost = View(found), 0, []
    calls = [*found.calls("recall", "own"), *found.calls("recall", "wider")]
    if calls and not any(hit.scope for _, call in calls for hit in found.hits(call)):
        return not_applicable("no hit brought a scope")
    for line, call in calls:
        kept = [hit.scope == piece.item.scope for hit, piece in view.hits(call) if piece.name in call.about]
        came += bool(kept)
        lost += [f"L{line}"] if kept and not all(kept) else []
    return proportion(came - len(lost), came, lost, none="nothing came back")


NOT_FOUND = "no memory was found in its own scope"


def _measure(
    name: str, formula: str, cases: Callable[[View], Iterable[Case]], *needs: Op, none: str = NOT_FOUND
) -> TrustMetric:
    return trust(name, "isolation", "lower", "proportion", formula, partial(scoped, partial(bad, cases, needs, none)))


METRICS: tuple[TrustMetric, ...] = (
    *(
        _measure(
            f"leaks_by_{family}",
            f"searches in one scope with the text of a memory of another that bring a memory that does not hold there "
            f"/ such searches, where {what}; both ways; counted where each memory is found in its own scope",
            partial(by_search, family),
        )
        for family, what in FAMILIES.items()
    ),
    _measure(
        "leaks_by_listing",
        "listings of one scope that show a memory that does not hold there / listings; counted where both scopes of "
        "the pair list their own",
        by_listing,
        "entries",
    ),
    _measure(
        "read_across_scopes",
        "reads by id, from one scope, that bring another scope's memory / such reads; counted where the same read "
        "from its own scope brings it",
        by_reading,
        "get",
    ),
    _measure(
        "updated_across_scopes",
        "updates by id, from one scope, that change another scope's memory, read back there / such updates; counted "
        "where it was seen before, and it changed or the same update from its own scope took effect",
        by_updating,
        "update",
    ),
    _measure(
        "forgotten_across_scopes",
        "deletions by id, from one scope, of another scope's memory that take it away there / such deletions; counted "
        "where it was seen before, and it went or the same deletion from its own scope took effect",
        by_forgetting,
        "forget",
    ),
    _measure(
        "scope_deletion_spill",
        "deletions of one scope that take a memory of its pair's other scope / deletions; counted where the other "
        "scope showed memories right before, and one went or the scope's own went",
        by_forgetting_a_scope,
        "forget_scope",
    ),
    _measure(
        "leaks_into_no_scope",
        "searches and listings without any scope that show a memory limited to a scope / such looks; counted where a "
        "memory without limits comes back without a scope, and the one searched for in its own",
        in_no_scope,
        none="without a scope, not even a memory without limits came back",
    ),
    _measure(
        "leaks_into_unwritten_scope",
        "searches and listings in scopes that nobody wrote to that show a memory limited to another / such looks; "
        "counted where the one searched for is found in its own scope",
        in_an_unwritten_scope,
    ),
    _measure(
        "crowded_out_of_scope",
        "searches in a scope that do not bring its only memory on the matter / such searches, where at least k other "
        "scopes hold nearly the same; counted where its own text brings it",
        crowded,
        none="no memory was found in its own scope while k others are like it",
    ),
    trust(
        "scope_names_refused",
        "isolation",
        "neither",
        "proportion",
        "scopes whose memories were not all taken, or that could not be searched / scopes written to; a refused name "
        "is no leak and no pass",
        partial(scoped, partial(bad, refused, (), "nothing was written")),
    ),
    trust(
        "scope_names_kept",
        "isolation",
        "higher",
        "proportion",
        "searches that bring a memory with the scope it was given, to the letter / searches that bring the memory they "
        "are for, in its own scope or, if it has no limits, in another; not applicable if no hit brings a scope",
        partial(scoped, scope_kept),
    ),
)
