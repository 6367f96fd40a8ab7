"""Is deleted gone? Route by route of the interface, after reopening and compaction, and layer by layer in the bytes.

Nothing passes by being absent: a target counts where a look before the deletion found it. It is gone if every look
after that answered, and none brought it. Where a call failed nobody knows: such a target counts as not gone, and if
there are no others, the measure has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.trust import gone
from harness.metrics.trust.metric import ASKS, DrillWords, TrustMetric, trust
from harness.metrics.trust.reach import DELETING, LIVE, NEEDS, ROUTES, ReachRoute
from harness.metrics.trust.remains import (
    bytes_gone,
    bytes_gone_after_kill,
    queries_kept,
    replaced_bytes_gone,
    seen_astray,
)
from harness.metrics.trust.residue import ResidueKind
from harness.metrics.trust.retold import retold
from harness.model.cells import LookStage
from harness.model.trial import Better, Measure
from harness.text import encodings

FORGOTTEN = "forgotten_by_every_route"
"""Of the memories that were deleted, those that no route brings any more."""
DRILL = DrillWords(
    "deletion",
    20,
    "Deleted",
    "Is deleted gone: by every route, and from every layer of the disk in text and vectors?",
)
ASKING = (*ASKS, *DELETING.values(), *NEEDS.values())
WRITING = ("open", "remember")
"""What bytes need to be there at all."""


def _measure(
    name: str,
    formula: str,
    measure: Callable[[Transcript], Measure],
    better: Better = "higher",
    label: str = "",
    otherwise: str = "",
    column: Place | None = None,
    aside: str = "",
    varies: str = "",
    version: int = 2,
    asks: Sequence[str] = ASKING,
) -> TrustMetric:
    return trust(
        name, DRILL, better, "proportion", formula, measure, label=label, otherwise=otherwise, column=column,
        aside=aside, varies=varies, version=version, whole=False, asks=tuple(asks),
    )  # fmt: skip


_WHERE: Mapping[ReachRoute, tuple[str, str]] = {
    "search": ("a search for its own words", "found by search"),
    "forbidden search": ("a search for its canary itself", "found by their own word"),
    "paraphrase": ("a question in other words", "found in other words"),
    "listing": ("the listing of its scope", "listed"),
    "get": ("its id", "read by id"),
    "history": ("the audit history of its id", "in the history of their id"),
}
"""Route -> what brings a memory, and what a memory is that it still brings."""
_UPDATED = ", one of them although an update of its id came after"
_CURRENT: Sequence[ReachRoute] = ("search", "listing", "get")
_STEPS: Mapping[LookStage, tuple[str, str, tuple[str, ...]]] = {
    "closed": ("closing", "after the process has ended", ()),
    "churned": ("churn", "after 2.2 times the drill's size of more writes, and closing", ()),
    "compacted": ("compaction", "after that and the compaction that the vendor documents", ("compact",)),
}
_KINDS: Mapping[ResidueKind, tuple[str, Place]] = {
    "text": ("canary", columns.DELETED.at("stored")),
    "vector": ("embedding (or one near to it)", columns.DELETED.at("vector")),
}
_LATER = {"closing": "after closing", "churn": "after more writes", "compaction": "after compaction"}
_PAGES = "which free pages are written over depends on ids that are drawn at random"
_BYSTANDERS = {
    "same": ("same_scope", "of the targets' scope", "of the same scope"),
    "sibling": ("sibling_scope", "of scopes whose name begins like the targets'", "of a scope of a like name"),
    "user": ("other_user", "of another user in the targets' repositories", "of another user"),
    "wider": ("wider_scope", "of all users of the targets' repositories", "of all users"),
    "narrower": ("narrower_scope", "of one branch of the targets' scopes", "of one branch"),
}
_KEPT = (
    "questions with a word that stands in no memory whose word is found on disk after the process has ended / such "
    "questions asked; what queries leave is counted here only, never as residue of a memory"
)
_TOLD_APART: Mapping[str, str] = {"wider": "scope_user", "narrower": "scope_branch"}
"""Role -> the trait without which a backend takes it for the targets' own scope."""
METRICS: tuple[TrustMetric, ...] = (
    _measure(
        "queries_kept_on_disk",
        _KEPT,
        queries_kept,
        "lower",
        aside="a kept question is not a kept memory",
        label="questions found on disk",
    ),
    *(
        _measure(
            f"forgotten_from_{route.replace(' ', '_')}",
            f"memories forgotten by id that {where} does not bring any more{_UPDATED} / those that it brought before, "
            "or brings then",
            partial(gone.measure_gone, role="forget", routes=(route,), needs=(NEEDS[route],) if route in NEEDS else ()),
            version=3,
            label=f"deleted memories no longer {back}",
            otherwise=f"deleted memories still {back}",
            column=columns.DELETED.at("history" if route == "history" else "served"),
        )
        for route, (where, back) in _WHERE.items()
    ),
    _measure(
        FORGOTTEN,
        "memories forgotten by id that no route which brought them before (three searches, listing, id, history) "
        f"brings any more{_UPDATED} / those that a route brought before, or brings then",
        partial(gone.measure_gone, role="forget", routes=ROUTES),
        version=3,
        label="deleted memories gone by every route",
        otherwise="deleted memories that some route still brings",
        aside="a sum over routes, which are counted apart",
    ),
    _measure(
        "forgotten_after_reopening",
        "memories forgotten by id that no search, listing or id which brought them before brings in a fresh process / "
        f"those that one of them brought before, or brings then{_UPDATED}; a history is counted apart",
        partial(gone.measure_gone, role="forget", routes=LIVE, step="reopened", needs=("persistent",)),
        version=4,
        label="deleted memories gone after reopening",
        otherwise="deleted memories back after reopening",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "forgotten_after_compaction",
        "memories forgotten by id that no search, listing or id which brought them before brings after many more "
        "writes and the compaction that the vendor documents / those that one of them brought before, or brings then"
        f"{_UPDATED}",
        partial(gone.measure_gone, role="forget", routes=LIVE, step="compacted", needs=("persistent", "compact")),
        version=4,
        label="deleted memories gone after compaction",
        otherwise="deleted memories back after compaction",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "scope_forgotten_from_listing",
        "memories of a forgotten scope, all of them, that its listing does not bring any more / those listed before, "
        "or then",
        partial(gone.measure_gone, role="scope", routes=("listing",), needs=("entries",)),
        version=2,
        label="memories of a deleted scope no longer listed",
        otherwise="memories of a deleted scope still listed",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "large_scope_listed",
        "memories of a scope of more than 100 that its listing shows before the deletion / those acknowledged",
        gone.listed_whole,
        label="memories of a large scope listed",
        otherwise="memories of a large scope not listed",
        column=columns.FOUND.at("listing"),
    ),
    _measure(
        "scope_forgotten_from_search",
        "memories of a forgotten scope, of a sample with canaries, that a search for their own words does not bring "
        "any more / those that it brought before, or brings then",
        partial(gone.measure_gone, role="scope", routes=("search",)),
        version=2,
        label="memories of a deleted scope no longer found",
        otherwise="memories of a deleted scope still found",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "replaced_gone_after_update",
        "texts replaced by an update that search, listing and id do not bring any more / those that one of them "
        "brought before, or brings then; a history may keep them",
        partial(gone.measure_gone, role="update", routes=_CURRENT),
        version=2,
        label="replaced texts gone after an update",
        otherwise="replaced texts still served after an update",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "replaced_gone_after_supersede",
        "texts with a successor, every other one named by who asks on a branch, that search, listing and id do not "
        "bring any more, or only marked as superseded / those that one of them brought before, or brings then",
        partial(gone.measure_gone, role="supersede", routes=_CURRENT, current=True),
        version=3,
        label="replaced texts gone or marked",
        otherwise="replaced texts still served unmarked",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "expired_not_recalled",
        "memories whose date is over that a search for their own words does not bring / those whose twin of the year "
        "2999 is brought by the same search for its words",
        gone.expired_not_recalled,
        label="expired memories hidden",
        otherwise="expired memories that come back",
        column=columns.DATES.at("expired"),
    ),
    _measure(
        "forgetting_said_and_done",
        "deletions by id called done whose memory no search, listing or id brings any more / deletions called done "
        "whose memory one of them brought before, or brings then",
        gone.honest,
        version=2,
        label="confirmed deletions that are true",
        otherwise="deletions confirmed and not done",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "history_tells_earlier_text",
        "memories changed once whose audit history still brings the text from before the change / memories changed "
        "once whose history was asked for",
        gone.history_tells,
        version=2,
        label="histories that tell the earlier text",
        otherwise="histories without the earlier text",
        column=columns.KEPT.at("fields"),
    ),
    _measure(
        "retold_after_deletion",
        "memories deleted by id or with their scope of which a search, a listing or an id still brings half of the "
        "words that stand in no text that stays, in a hit without their canary, right after the deletion, after "
        "reopening or after compaction / those whose own words one of them brought before",
        retold,
        "lower",
        version=1,
        label="deleted memories told in other words",
        otherwise="deleted memories that nothing tells any more",
        column=columns.DELETED.at("served"),
    ),
    _measure(
        "unknown_id_called_deleted",
        "requests to forget that were called done: an id that nobody has, an empty one, the beginning of one, no id at "
        "all / such requests; one that is refused is not called done",
        gone.unknown_called_deleted,
        "lower",
        version=3,
        label="unknown ids said to be deleted",
        column=columns.DELETED.at("answer"),
    ),
    *(
        _measure(
            f"{name}_over_deletion",
            f"memories {whose} that nobody asked to delete, listed before all deletions and not after / those listed "
            "before; a request that failed deletes nothing, and the others of its operation count",
            partial(gone.over_deletion, role=role, needs=(_TOLD_APART[role],) if role in _TOLD_APART else ()),
            "lower",
            version=3,
            label=f"other memories {short} deleted too",
            column=columns.DELETED.at("bystanders"),
        )
        for role, (name, whose, short) in _BYSTANDERS.items()
    ),
    *(
        _measure(
            f"{kind}_gone_after_{name}",
            f"memories forgotten by id or with their scope whose {what} no layer and no undeclared place shows {when} "
            "/ those that one showed before, or shows then; where a layer that showed one cannot be looked at any "
            "more, it is not gone; where one took in bytes with the writes or the deletions that show nothing of them, "
            f"and gave none back, it cannot be told. Searched {encodings.describe_searched()}",
            partial(bytes_gone, kind=kind, step=step, needs=needs),
            label=f"deleted {kind}s gone from disk {_LATER[name]}",
            otherwise=f"deleted {kind}s still on disk {_LATER[name]}",
            column=place,
            varies=_PAGES,
            version=4,
            asks=WRITING,
        )
        for kind, (what, place) in _KINDS.items()
        for step, (name, when, needs) in _STEPS.items()
    ),
    *(
        _measure(
            f"{kind}_gone_after_kill",
            f"memories forgotten by id in a process that is killed as soon as it has answered whose {what} no place "
            "shows then / those that a place showed before, or shows then",
            partial(bytes_gone_after_kill, kind=kind),
            label=f"deleted {kind}s gone from disk after a kill",
            otherwise=f"deleted {kind}s still on disk after a kill",
            column=place,
            varies=_PAGES,
            version=4,
            asks=WRITING,
        )
        for kind, (what, place) in _KINDS.items()
    ),
    _measure(
        "seen_in_undeclared_places",
        "memories with a canary of which a place that the adapter does not declare (its homes, temporary folders and "
        "output, files in the root and beside it) shows text or vector at any look / those acknowledged",
        seen_astray,
        "lower",
        aside="where deleted memories are left there, the measures of the bytes count them",
        label="memories found in undeclared files",
    ),
    _measure(
        "memories_printed",
        "memories with a canary that the output of the backend's own processes shows at any look / those acknowledged; "
        "what a server prints is not looked at",
        partial(seen_astray, printed=True),
        "lower",
        version=1,
        aside="what is printed is not asked for by a column; deleted memories in it count as left on disk",
        label="memories printed to its output",
    ),
    _measure(
        "replaced_text_gone_after_closing",
        "texts replaced by an update whose canary no layer shows after the process has ended / those that a layer "
        "showed before, or shows then; not of a store that offers a history or marks, which keep them on purpose",
        replaced_bytes_gone,
        varies=_PAGES,
        version=4,
        asks=WRITING,
        label="replaced texts gone from disk",
        otherwise="replaced texts still on disk",
        column=columns.DELETED.at("replaced"),
    ),
)
