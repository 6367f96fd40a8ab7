"""Scopes: does a memory stay in its own? Tested by searches under similar names, and by every other operation.

A memory that comes back where it does not hold is a leak; one that is limited to nothing holds everywhere. A case
counts only if the same call in the memory's own scope found or changed it. If the backend refuses a name, that is
neither a leak nor a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from harness.adapter import applies
from harness.log.transcript import Op, Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.metric import not_applicable, proportion, unsupported
from harness.metrics.trust import crossing, places
from harness.metrics.trust.apart import ScopeCase, ScopeView
from harness.metrics.trust.metric import ASKS, DrillWords, TrustMetric, trust
from harness.metrics.trust.view import lacks, scope_of
from harness.model.trial import Measure

TRAITS = ("scope_repo", "scope_user", "scope_org", "scope_branch")
LIKENESSES = {
    "prefix": ("one name begins with the other", "names that begin alike"),
    "case": ("the names differ in case, or by a sharp s and ss", "upper and lower case"),
    "space": ("the names differ in spaces", "spaces in names"),
    "lookalike": (
        "the names look alike (Cyrillic and Latin, composed and decomposed, with and without an accent or a dot)",
        "look-alike letters",
    ),
    "pattern": ("one name is a pattern (* % _ ? . $) that could match the other", "wildcards in names"),
    "part": (
        "no name is like the other: the scopes differ in one part, or in which parts they name",
        "names that are not alike",
    ),
    "nesting": ("the first leaves open a part that the second names", "a part left open"),
    "word": (
        "the first leaves open a part that the second calls None, null, all or default",
        "a part called None or all",
    ),
    "length": (
        "the names agree in their first 30, 32, 63, 64, 100, 128 or 255 characters",
        "names alike at first",
    ),
    "path": ("the names are paths that share a part: forks, siblings, a doubled slash", "forks and paths"),
    "address": ("the names are mail addresses that share a part, or such a part", "mail addresses"),
    "number": (
        "the names are numbers or releases that one may read as the same (1.1 and 1.10)",
        "numbers and releases",
    ),
    "separator": (
        "the names are the same two words, joined in another way, in the other order, or encoded",
        "the same words joined otherwise",
    ),
    "join": ("the names of two parts, run together, are the same", "joined names"),
    "position": ("the same name stands in another part", "the same name in another part"),
}
"""In which way two scopes come near, in full and in short."""
VERSIONS = {"case": 4, "lookalike": 4, "part": 4}
"""Of the measures of a likeness that was given more names or cases; of the others 3."""


def measure_scoped(measure: Callable[[Transcript], Measure], found: Transcript) -> Measure:
    """Unless the backend has no scopes, or none that this size tries."""
    if not any(found.supports(trait) for trait in TRAITS):
        return unsupported(f"scopes: {found.drilled.backend.support[TRAITS[0]].note or 'not offered'}")
    if next(found.calls("remember"), None) is None:
        return not_applicable("no pair of scopes of this size differs in a respect that the backend supports")
    return measure(found)


def measure_bad(
    cases: Callable[[ScopeView], Iterable[ScopeCase]], needs: tuple[Op, ...], none: str, found: Transcript
) -> Measure:
    """The bad cases of those that count."""
    if lacking := lacks(found, *needs):
        return lacking
    counted = list(cases(ScopeView.of(found)))
    # None counts as bad, too: of a call that failed nobody knows that it kept the scopes apart
    lines = [case.receipt for case in counted if case.bad is not False]
    unanswered = sum(case.bad is None for case in counted)
    return proportion(len(lines), len(counted), list(dict.fromkeys(lines)), none=none, unanswered=unanswered)


def by_search(likeness: str, view: ScopeView) -> Iterable[ScopeCase]:
    for line, call in view.transcript.calls("recall", "cross"):
        (name,) = call.about
        if not name.startswith(f"{likeness}-") or applies(view.scope(name), scope_of(call)):
            continue
        # a leak that the part in which they differ explains is counted under `part` alone
        if likeness != "part" and places.explains_leak(view.scope(name), scope_of(call), view):
            continue
        if view.was_found(name) and view.was_found(view.twin(name)):
            yield view.find_crossing(line, call)
    yield from places.by_search(likeness, view)


def measure_near_names(likeness: str, found: Transcript) -> Measure:
    """A difference that the store never looks at is no near miss of this kind: the wider cause is named instead, which
    is itself a case of the likeness `part`."""
    blind = sorted(places.find_ignored(ScopeView.of(found)))
    none = f"whatever the names are, {' and '.join(blind)} is not told apart: see leaks_by_part" if blind else NOT_FOUND
    return measure_bad(partial(by_search, likeness), (), none, found)


def scope_kept(found: Transcript) -> Measure:
    """One case a search that brought the memory it was for."""
    view, came, lost = ScopeView.of(found), 0, []
    calls = [*found.calls("recall", "own"), *found.calls("recall", "wider")]
    # asked of all calls together: a hit without a scope beside others that have one is a scope lost
    if calls and not any(hit.scope for _, call in calls for hit in found.hits(call)):
        return not_applicable("no hit brought a scope")
    for line, call in calls:
        kept = [hit.scope == piece.item.scope for hit, piece in view.hits(call) if piece.name in call.about]
        came += bool(kept)
        lost += [found.receipt(line, next(iter(call.about), ""))] if kept and not all(kept) else []
    return proportion(came - len(lost), came, lost, none="nothing came back")


DRILL = DrillWords(
    "isolation",
    30,
    "Kept apart",
    "Does a question from one scope bring or change what belongs to another?",
)
NOT_FOUND = "no memory was found in its own scope"


def _measure(
    name: str,
    formula: str,
    cases: Callable[[ScopeView], Iterable[ScopeCase]],
    *needs: Op,
    label: str,
    column: Place,
    none: str = NOT_FOUND,
    version: int = 2,
) -> TrustMetric:
    return trust(
        name,
        DRILL,
        "lower",
        "proportion",
        formula,
        partial(measure_scoped, partial(measure_bad, cases, needs, none)),
        label=label,
        column=column,
        asks=(*ASKS, *needs),
        version=version,
    )


METRICS: tuple[TrustMetric, ...] = (
    *(
        trust(
            f"leaks_by_{likeness}",
            DRILL,
            "lower",
            "proportion",
            f"searches in one scope, with a text that another's memory is like, that bring what does not hold there / "
            f"such searches, where {what}; both ways; counted where each memory is found in its own scope"
            + (
                "" if likeness == "part" else ", and the part in which they differ is told apart where no name is alike"
            ),
            partial(measure_scoped, partial(measure_near_names, likeness)),
            version=VERSIONS.get(likeness, 3),
            label=f"searches that cross scopes: {short}",
            column=columns.SCOPES.at("shown"),
        )
        for likeness, (what, short) in LIKENESSES.items()
    ),
    _measure(
        "leaks_by_listing",
        "listings of one scope that show a memory that does not hold there / listings; counted where both scopes of "
        "the pair list their own",
        crossing.by_listing,
        "entries",
        version=3,
        label="listings that show another scope",
        column=columns.SCOPES.at("shown"),
    ),
    _measure(
        "wider_scope_in_listing",
        "listings of one scope that show a memory of a wider one, which holds there and belongs to another / listings; "
        "counted where the scope lists its own and the wider one's is found",
        places.wider_listed,
        "entries",
        version=1,
        label="listings that show a wider scope",
        column=columns.SCOPES.at("wider"),
    ),
    _measure(
        "missed_in_own_scope",
        "searches for a memory in its own scope, by its own text, that do not bring it / such searches for what was "
        "acknowledged; hundreds in one process",
        crossing.list_missed,
        none="nothing was acknowledged",
        version=1,
        label="memories missed in their own scope",
        column=columns.FOUND.at("unfound"),
    ),
    _measure(
        "wider_scope_missed",
        "searches in a scope for a memory of a wider one, by its own text, that do not bring it / such searches, also "
        "for what names nothing at all; counted where it is found in its own scope",
        places.wider_missed,
        none="no memory of a wider scope was asked for in a narrower one",
        version=1,
        label="memories of a wider scope missed in a narrower one",
        column=columns.FOUND.at("unfound"),
    ),
    _measure(
        "read_across_scopes",
        "reads by id, from one scope, that bring another scope's memory / such reads; counted where the same read "
        "from its own scope brings it",
        crossing.by_reading,
        "get",
        version=3,
        label="memories read by id from another scope",
        column=columns.SCOPES.at("read"),
    ),
    _measure(
        "updated_across_scopes",
        "updates by id, from one scope, that change another scope's memory, read back there / such updates; counted "
        "where it was seen before, and it changed or the same update from its own scope took effect",
        crossing.by_updating,
        "update",
        label="memories updated by id from another scope",
        column=columns.SCOPES.at("changed"),
    ),
    _measure(
        "forgotten_across_scopes",
        "deletions by id, from one scope, of another scope's memory that take it away there / such deletions; counted "
        "where it was seen before, and it went or the same deletion from its own scope took effect",
        crossing.by_forgetting,
        "forget",
        label="memories deleted by id from another scope",
        column=columns.SCOPES.at("changed"),
    ),
    _measure(
        "superseded_across_scopes",
        "memories that another scope's memory is told to succeed, by id, and that are gone or superseded in their own "
        "scope / such requests; counted where it stood before, and it went or the same from its own scope took effect",
        crossing.by_superseding,
        "supersede",
        version=1,
        label="memories replaced by id from another scope",
        column=columns.SCOPES.at("changed"),
    ),
    _measure(
        "history_across_scopes",
        "histories by id, from one scope, that tell the text of another scope's memory that is there / such histories; "
        "counted where the same from its own scope tells it",
        partial(crossing.by_history, ""),
        "history",
        version=2,
        label="histories of live memories read from another scope",
        column=columns.SCOPES.at("read"),
    ),
    _measure(
        "deleted_history_across_scopes",
        "histories by id, from one scope, that tell the text of another scope's memory that was deleted / such "
        "histories; counted where the same from its own scope tells it",
        partial(crossing.by_history, " gone"),
        "history",
        none="no history told of a deleted memory, not even in its own scope",
        version=1,
        label="deleted memories that the history shows to other users or projects",
        column=columns.SCOPES.at("remains"),
    ),
    _measure(
        "scope_deletion_spill",
        "deletions of one scope that take a memory of its pair's other scope / deletions; counted where the other "
        "scope showed memories right before, and one went or the scope's own went",
        crossing.by_forgetting_a_scope,
        "forget_scope",
        version=3,
        label="scope deletions that hit a neighbour",
        column=columns.SCOPES.at("changed"),
    ),
    *(
        _measure(
            f"{direction}_scope_forgotten",
            f"deletions of one scope that take a memory of a scope {where} / deletions; counted where it was seen "
            "before, and it went or the scope's own went",
            partial(places.by_forgetting, direction),
            "forget_scope",
            none=f"no deletion was looked at from a scope {where}",
            version=1,
            label=f"scope deletions that hit {'another' if direction == 'other' else f'a {direction}'} scope",
            column=columns.SCOPES.at("changed"),
        )
        for direction, where in places.DIRECTIONS.items()
    ),
    _measure(
        "empty_name_forgets_others",
        "deletions of a scope that gives a part an empty name that take a memory limited to another / such deletions; "
        "counted where it was seen before",
        places.by_forgetting_blank,
        "forget_scope",
        none="no memory was seen before such a deletion",
        version=1,
        label="deletions of an empty name that hit others",
        column=columns.SCOPES.at("changed"),
    ),
    _measure(
        "leaks_into_empty_name",
        "searches and listings in a scope that gives a part an empty name that show a memory limited to another / such "
        "looks; counted where the one searched for is found in its own scope",
        partial(crossing.elsewhere, "blank"),
        version=1,
        label="looks with an empty name that show others",
        column=columns.SCOPES.at("shown"),
    ),
    _measure(
        "leaks_into_no_scope",
        "searches and listings without any scope that show a memory limited to a scope / such looks; counted where a "
        "memory without limits comes back without a scope, and the one searched for in its own",
        crossing.in_no_scope,
        none="without a scope, not even a memory without limits came back",
        label="looks without a scope that show others",
        column=columns.SCOPES.at("shown"),
    ),
    _measure(
        "leaks_into_unwritten_scope",
        "searches and listings in scopes that nobody wrote to that show a memory limited to another / such looks; "
        "counted where the one searched for is found in its own scope",
        crossing.in_an_unwritten_scope,
        label="looks into unused scopes that show others",
        column=columns.SCOPES.at("shown"),
    ),
    _measure(
        "crowded_out_of_scope",
        "searches in a scope that do not bring its only memory on the matter / such searches, where at least k other "
        "scopes hold nearly the same; counted where its own text brings it",
        crossing.list_crowded,
        none="no memory was found in its own scope while k others are like it",
        label="answers crowded out by other scopes",
        column=columns.SCOPES.at("crowded"),
    ),
    trust(
        "scope_names_refused",
        DRILL,
        "neither",
        "proportion",
        "scopes whose memories were not all taken, or that could not be searched / scopes written to; a refused name "
        "is no leak and no pass",
        partial(measure_scoped, partial(measure_bad, crossing.list_refused, (), "nothing was written")),
        version=2,
        label="scope names refused",
    ),
    trust(
        "scope_names_kept",
        DRILL,
        "higher",
        "proportion",
        "searches that bring a memory with the scope it was given, to the letter / searches that bring the memory they "
        "are for, in its own scope or, if it has no limits, in another; not applicable if no hit brings a scope",
        partial(measure_scoped, scope_kept),
        label="scope names returned to the letter",
        otherwise="scope names changed",
        column=columns.KEPT.at("fields"),
    ),
)
