"""The cases of the drill `isolation`: each look or change from another scope that counts, and whether it crossed."""

from __future__ import annotations

from collections.abc import Iterable

from harness.adapter import Scope, applies
from harness.metrics.trust import places
from harness.metrics.trust.apart import ScopeCase, ScopeView, pair_of
from harness.metrics.trust.view import scope_of


def by_listing(view: ScopeView) -> Iterable[ScopeCase]:
    """One that failed counts where the scope was known, and the other's listing works."""
    for line, call in view.transcript.calls("entries", "listed"):
        name = call.about[0]
        # the listing that failed cannot be its own control
        own = view.was_found(name) if call.fault else view.sees("listed", name)
        if own and view.sees("listed", view.twin(name)):
            yield view.find_crossing(line, call)
    yield from places.by_listing(view)


def by_reading(view: ScopeView) -> Iterable[ScopeCase]:
    for line, call in view.transcript.calls("get", "cross"):
        (name,) = call.about
        if view.sees("own", name, "get") and not applies(view.scope(name), scope_of(call)):
            yield view.find_crossing(line, call)


def by_history(gone: str, view: ScopeView) -> Iterable[ScopeCase]:
    """Of memories that are there, or of those that are gone (`" gone"`)."""
    found = {name for _, call in view.transcript.calls("history", f"own{gone}") for name in view.list_shown(call)}
    for line, call in view.transcript.calls("history", f"cross{gone}"):
        (name,) = call.about
        if name in found and not applies(view.scope(name), scope_of(call)):
            yield view.case(None if call.fault else name in view.list_shown(call), line, name)


def by_updating(view: ScopeView) -> Iterable[ScopeCase]:
    """A change shows that it was possible; no change counts only if the same from the own scope took effect."""
    for line, call in view.transcript.calls("update", "cross"):
        name, text = call.about
        if not view.sees("listed", name):
            continue
        still, new = view.sees("cross written", name), view.sees("cross written", text)
        # a change that one look shows outweighs a look that failed
        changed = True if still is False or new else None if still is None or new is None else False
        if changed is not False or view.sees("own written", name) is False:
            yield ScopeCase(changed, view.tell_crossing(line, name))


def by_forgetting(view: ScopeView) -> Iterable[ScopeCase]:
    for line, call in view.transcript.calls("forget", "cross"):
        (name,) = call.about
        if not view.sees("listed", name):
            continue
        still = view.sees("cross written", name)
        if not still or view.sees("own written", name) is False:
            bad = None if still is None else not still
            yield ScopeCase(bad, view.tell_crossing(line, name))


def by_superseding(view: ScopeView) -> Iterable[ScopeCase]:
    """What is marked as superseded is replaced."""
    for line, call in view.transcript.calls("supersede", "cross"):
        name, _ = call.about
        if not view.stands("listed", name):
            continue
        still = view.stands("cross written", name)
        if not still or view.stands("own written", name) is False:
            bad = None if still is None else not still
            yield ScopeCase(bad, view.tell_crossing(line, name))


def by_forgetting_a_scope(view: ScopeView) -> Iterable[ScopeCase]:
    """Each memory of the second scope that was there right before; the first scope's own must be gone after."""
    before, after = "before forget_scope", "after forget_scope"
    for line, call in view.transcript.calls("forget_scope", "across"):
        (near,) = call.about
        there = [name for name in view.pairs[pair_of(near)] if name != near and view.sees(before, name)]
        case = view.find_loss(after, there, line) if there else None
        if case and (case.bad is not False or (view.was_found(near) and view.sees(after, near) is False)):
            yield case


def in_no_scope(view: ScopeView) -> Iterable[ScopeCase]:
    """Counts if what holds everywhere came back: then the backend answers such a question at all."""
    yield from elsewhere("empty", view) if view.was_found("everywhere") else ()


def in_an_unwritten_scope(view: ScopeView) -> Iterable[ScopeCase]:
    yield from elsewhere("unwritten", view)


def elsewhere(step: str, view: ScopeView) -> Iterable[ScopeCase]:
    for line, call in view.transcript.calls("recall", step):
        if call.fault or view.was_found(call.about[0]):
            yield view.find_crossing(line, call)
    for line, call in view.transcript.calls("entries", step):
        yield view.find_crossing(line, call)


def list_refused(view: ScopeView) -> Iterable[ScopeCase]:
    """One case a scope: its write failed or stored less than all, or it could not be asked for."""
    transcript = view.transcript
    failed = {scope_of(call) for step in ("own", "place") for _, call in transcript.calls("recall", step) if call.fault}
    for line, call in transcript.calls("remember", "write"):
        lost: dict[Scope, list[str]] = {}
        for name, ids in zip(call.about, transcript.ids(call), strict=False):
            lost.setdefault(view.scope(name), []).extend([] if ids else [name])
        for scope, names in lost.items():
            # what is limited to nothing has no name that could be refused
            if scope != Scope():
                yield ScopeCase(bool(names) or scope in failed, view.transcript.receipt(line, (names or [""])[0]))


def list_missed(view: ScopeView) -> Iterable[ScopeCase]:
    """The controls of every other case: what they do not bring counts nowhere else."""
    for step in ("own", "place"):
        for line, call in view.transcript.calls("recall", step):
            (name,) = call.about
            if name in view.ids:
                yield view.case(None if call.fault else name not in view.list_shown(call), line, name)


def list_crowded(view: ScopeView) -> Iterable[ScopeCase]:
    """Only if there are enough of others to fill an answer."""
    transcript = view.transcript
    # less the one that is asked for, which is among them
    others = sum(view.was_found(piece.name) for piece in view.plan.of("near")) - 1
    for line, call in transcript.calls("recall", "crowd") if others >= transcript.trial.k else ():
        (name,) = call.about
        if view.was_found(name):
            yield view.case(None if call.fault else name not in view.list_shown(call), line, name)
