"""Is deleted gone? Route by route of the interface, after reopening and compaction, and layer by layer in the bytes.

Nothing passes by being absent: a target counts where a look before the deletion found it, and a look that failed or
is missing after that shows nothing, so the target counts as not gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from harness.metrics.metric import failed, not_applicable, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.reach import LIVE, NEEDS, ROUTES, Reach, Route, Step, reach_of
from harness.metrics.trust.residue import REMOVED, Kind, residue_of
from harness.model import Better, Measure, Measured
from harness.results import LookStage
from harness.transcript import Transcript

UNSEEN = "no route brought a target before the deletion"


def gone(
    transcript: Transcript,
    *,
    role: str,
    routes: Sequence[Route],
    needs: Sequence[str] = (),
    step: Step = "after",
    current: bool = False,
) -> Measure:
    """Targets of a role that no route brings at a step, of those that a route brought before.

    current: what comes back marked as superseded counts as gone.
    """
    reach = reach_of(transcript)
    if refused := reach.refused((role,), *needs, step=step):
        return refused
    return _gone(reach, reach.targets(role), routes, step, current)


def _gone(reach: Reach, names: Sequence[str], routes: Sequence[Route], step: Step, current: bool = False) -> Measure:
    known = {name: used for name in names if (used := reach.routes(name, routes))}
    broken = [
        look.line for name in names for route in routes if (look := reach.at("before", route, name)) and look.failed
    ]
    if broken and not known:
        return failed(f"L{broken[0]}: the looks before the deletion failed")
    left = {name: [reach.left(step, route, name, current=current) for route in used] for name, used in known.items()}
    lines = list(dict.fromkeys(line for each in left.values() for line in each if line))
    return proportion(sum(not any(each) for each in left.values()), len(known), lines, none=UNSEEN)


def honest(transcript: Transcript) -> Measure:
    reach = reach_of(transcript)
    if refused := reach.refused(("forget",)):
        return refused
    said = [name for name, done in reach.said.items() if done]
    if not said:
        return not_applicable("the backend called no deletion done")
    return _gone(reach, said, LIVE, "after")


def unknown_called_deleted(transcript: Transcript) -> Measure:
    reach = reach_of(transcript)
    if refused := reach.refused(("forget",)):
        return refused
    for line, call in transcript.calls("forget", "deleted"):
        if not call.about:
            if call.fault:
                return failed(f"L{line}: {call.fault.message}")
            hits = int(any(transcript.answer(call)))
            return proportion(hits, 1, [f"L{line}"] * hits, none="")
    return not_applicable("no memory was stored, so that there was no id to shape another after")


def expired_not_recalled(transcript: Transcript) -> Measure:
    reach = reach_of(transcript)
    if refused := reach.refused((), "expiry", step="before"):
        return refused
    pairs = {piece.twin: piece.name for piece in transcript.plan.of("lasting") if piece.twin}
    known = [name for name, lasting in pairs.items() if reach.seen("before", "search", lasting)]
    left = [line for name in known if (line := reach.left("before", "search", name))]
    none = "no memory that expires in 2999 was recalled either"
    return proportion(len(known) - len(left), len(known), left, none=none)


def over_deletion(transcript: Transcript, role: str) -> Measure:
    reach = reach_of(transcript)
    if refused := reach.refused(("forget", "update", "supersede", "scope"), "entries"):
        return refused
    listed = [piece.name for piece in transcript.plan.of(role) if reach.seen("before", "listing", piece.name)]
    lost = [name for name in listed if not reach.seen("after", "listing", name)]
    lines = list(dict.fromkeys(reach.receipt("after", "listing", name) for name in lost))
    return proportion(len(lost), len(listed), lines, none="no bystander was listed before the deletion")


def replaced_bytes_gone(transcript: Transcript) -> Measure:
    found = bytes_gone(transcript, roles=("update",), kind="text", step="closed")
    if isinstance(found, Measured) and transcript.supports("history"):
        return not_applicable("the backend offers a history of earlier texts, which keeps them on purpose")
    return found


def bytes_gone(
    transcript: Transcript,
    *,
    kind: Kind,
    step: LookStage,
    roles: Sequence[str] = REMOVED,
    needs: Sequence[str] = (),
) -> Measure:
    reach = reach_of(transcript)
    if refused := reach.refused(roles, "persistent", *needs, step=step):
        return refused
    targets = [name for name in reach.targets(*roles) if transcript.plan.by_name[name].canary]
    return residue_of(transcript).gone(targets, kind, step)


# --- definitions ------------------------------------------------------------------------------------------------------


def _measure(
    name: str, formula: str, measure: Callable[[Transcript], Measure], better: Better = "higher"
) -> TrustMetric:
    return trust(name, "deletion", better, "proportion", formula, measure, whole=False)


_WHERE: Mapping[Route, str] = {
    "search": "a search for its own words",
    "forbidden search": "a search for its canary itself",
    "paraphrase": "a question in other words",
    "listing": "the listing of its scope",
    "get": "its id",
    "history": "the audit history of its id",
}
_CURRENT: Sequence[Route] = ("search", "listing", "get")
_STEPS: Mapping[LookStage, tuple[str, str, tuple[str, ...]]] = {
    "closed": ("closing", "after the process has ended", ()),
    "churned": ("churn", "after 2.2 more writes for each memory that was stored, and closing", ()),
    "compacted": ("compaction", "after that and the compaction that the vendor documents", ("compact",)),
}
_KINDS: Mapping[Kind, str] = {"text": "canary", "vector": "embedding (or one near to it)"}
_BYSTANDERS = {
    "same": ("same_scope", "of the targets' scope"),
    "sibling": ("sibling_scope", "of scopes whose name begins like the targets'"),
    "user": ("other_user", "of another user in the targets' repositories"),
}
METRICS: tuple[TrustMetric, ...] = (
    *(
        _measure(
            f"forgotten_from_{route.replace(' ', '_')}",
            f"memories forgotten by id that {where} does not bring any more / those that it brought before",
            partial(gone, role="forget", routes=(route,), needs=(NEEDS[route],) if route in NEEDS else ()),
        )
        for route, where in _WHERE.items()
    ),
    _measure(
        "forgotten_by_every_route",
        "memories forgotten by id that no route which brought them before (three searches, listing, id, history) "
        "brings any more / those that a route brought before",
        partial(gone, role="forget", routes=ROUTES),
    ),
    _measure(
        "forgotten_after_reopening",
        "memories forgotten by id that no route which brought them before brings in a fresh process / those that a "
        "route brought before",
        partial(gone, role="forget", routes=ROUTES, step="reopened", needs=("persistent",)),
    ),
    _measure(
        "forgotten_after_compaction",
        "memories forgotten by id that no route which brought them before brings after many more writes and the "
        "compaction that the vendor documents / those that a route brought before",
        partial(gone, role="forget", routes=ROUTES, step="compacted", needs=("persistent", "compact")),
    ),
    _measure(
        "scope_forgotten_from_listing",
        "memories of a forgotten scope, all of them, that its listing does not bring any more / those listed before",
        partial(gone, role="scope", routes=("listing",), needs=("entries",)),
    ),
    _measure(
        "scope_forgotten_from_search",
        "memories of a forgotten scope, of a sample with canaries, that a search for their own words does not bring "
        "any more / those that it brought before",
        partial(gone, role="scope", routes=("search",)),
    ),
    _measure(
        "replaced_gone_after_update",
        "texts replaced by an update that search, listing and id do not bring any more / those that one of them "
        "brought before; a history may keep them",
        partial(gone, role="update", routes=_CURRENT),
    ),
    _measure(
        "replaced_gone_after_supersede",
        "texts with a successor that search, listing and id do not bring any more, or only marked as superseded / "
        "those that one of them brought before",
        partial(gone, role="supersede", routes=_CURRENT, current=True),
    ),
    _measure(
        "expired_not_recalled",
        "memories whose date is over that a search for their own words does not bring / those whose twin of the year "
        "2999 is brought by the same search for its words",
        expired_not_recalled,
    ),
    _measure(
        "forgetting_said_and_done",
        "deletions by id called done whose memory no search, listing or id brings any more / deletions called done "
        "whose memory one of them brought before",
        honest,
    ),
    _measure(
        "unknown_id_called_deleted",
        "requests to forget an id that nobody has and that were called done / such requests",
        unknown_called_deleted,
        "lower",
    ),
    *(
        _measure(
            f"{name}_over_deletion",
            f"memories {whose} that nobody asked to delete, listed before all deletions and not after / those listed "
            "before",
            partial(over_deletion, role=role),
            "lower",
        )
        for role, (name, whose) in _BYSTANDERS.items()
    ),
    *(
        _measure(
            f"{kind}_gone_after_{name}",
            f"memories forgotten by id or with their scope whose {what} no layer shows {when} / those that a layer "
            "showed before, or shows then; where a layer that showed one cannot be looked at any more, it is not gone",
            partial(bytes_gone, kind=kind, step=step, needs=needs),
        )
        for kind, what in _KINDS.items()
        for step, (name, when, needs) in _STEPS.items()
    ),
    _measure(
        "replaced_text_gone_after_closing",
        "texts replaced by an update whose canary no layer shows after the process has ended / those that a layer "
        "showed before, or shows then; not of a store that offers a history, which keeps them on purpose",
        replaced_bytes_gone,
    ),
)
