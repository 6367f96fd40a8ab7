"""What a transcript of the drill `deletion` shows: by which route each memory came back, and what was deleted.

A memory came back if the answer holds its canary, or, where it has none, its whole text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, get_args

from harness.adapter import Scope
from harness.log.transcript import Called, Handled, Op, Transcript
from harness.metrics.metric import failed, unsupported
from harness.metrics.trust.pieces import scope_of
from harness.model.canary import asked, kept
from harness.model.drill import Piece
from harness.model.trial import NotMeasured

ReachStep = Literal["before", "deleted", "after", "closed", "reopened", "killed", "churned", "compacted"]
STEPS: tuple[ReachStep, ...] = get_args(ReachStep)
ReachRoute = Literal["search", "forbidden search", "paraphrase", "listing", "get", "history"]
ROUTES: tuple[ReachRoute, ...] = get_args(ReachRoute)
LIVE: tuple[ReachRoute, ...] = ROUTES[:-1]
"""Where only memories come back that hold; a history is of those that did."""
NEEDS: Mapping[ReachRoute, str] = {"listing": "entries", "get": "get", "history": "history"}
_ASKS: Mapping[Op, ReachRoute] = {"get": "get", "history": "history"}
DELETING: Mapping[str, Op] = {"forget": "forget", "update": "update", "supersede": "supersede", "scope": "forget_scope"}
"""Role -> the operation that deletes it."""


class ReachLook(NamedTuple):
    """found: None if the call failed. current: it came back, and not marked as superseded."""

    line: int
    found: bool | None
    current: bool | None

    @property
    def failed(self) -> bool:
        return self.found is None


def mark(piece: Piece) -> str:
    return kept(piece.canary) if piece.canary else piece.item.text


class Reach:
    """One transcript, read once. Pieces are named; a look is (step, route, name)."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    # --- what was deleted ---

    @cached_property
    def deletions(self) -> Mapping[str, int]:
        """What the backend was asked to delete, or to replace, with the line of the request."""
        return {
            name: line
            for op in DELETING.values()
            for line, call in self.transcript.calls(op, "deleted")
            for name in call.about
            if self.transcript.plan.by_name[name].role in DELETING
        }

    def targets(self, *roles: str) -> list[str]:
        return [piece.name for piece in self.transcript.plan.of(*roles) if piece.name in self.deletions]

    @cached_property
    def killed(self) -> Sequence[str]:
        """What was forgotten right before a kill; nothing if that call failed."""
        calls = self.transcript.calls("forget", "killed")
        return [name for _, call in calls if call.fault is None for name in call.about]

    @cached_property
    def ids(self) -> Mapping[str, tuple[str, ...]]:
        """Piece -> the ids under which it was first acknowledged."""
        calls = self.transcript.calls("remember")
        return {
            name: ids for _, call in calls for name, ids in zip(call.about, self.transcript.ids(call), strict=False)
        }

    @cached_property
    def said(self) -> Mapping[str, bool]:
        """Forgotten by id -> whether the backend called all of its ids deleted; a call that failed said nothing."""
        answers: dict[str, bool] = {}
        for _, call in self.transcript.calls("forget", "deleted"):
            names = call.request["memory_ids"]
            assert isinstance(names, list)
            answers |= dict(zip(map(str, names), self.transcript.answer(call) or (), strict=False))
        return {name: all(answers.get(each, False) for each in self.ids[name]) for name in self.targets("forget")}

    # --- what came back ---

    @cached_property
    def _looks(self) -> Mapping[tuple[str, ReachRoute, str], ReachLook]:
        looks: dict[tuple[str, ReachRoute, str], ReachLook] = {}
        for step, route, name, look in (*self._asked(), *self._listed()):
            known = looks.get((step, route, name))
            # Of several ids, one that still brings it counts; and a call that failed shows no absence.
            if known is None or look.found or (look.found is None and not known.found):
                looks[step, route, name] = look
        return looks

    def _asked(self) -> Iterator[tuple[str, ReachRoute, str, ReachLook]]:
        """Calls about one memory."""
        for op in ("recall", *_ASKS):
            for line, call in self.transcript.calls(op):
                piece = self.transcript.plan.by_name[call.about[0]]
                route = _ASKS.get(op) or _searched(piece, call)
                look = _look(line, call, mark(piece), *self._texts(call))
                yield call.step, route, piece.name, look

    def _listed(self) -> Iterator[tuple[str, ReachRoute, str, ReachLook]]:
        held: dict[Scope, list[Piece]] = {}
        for piece in self.transcript.plan.pieces:
            held.setdefault(piece.item.scope, []).append(piece)
        for line, call in self.transcript.calls("entries"):
            texts, current = ("\0".join(each) for each in self._texts(call))
            for piece in held.get(scope_of(call), ()):
                yield call.step, "listing", piece.name, _look(line, call, mark(piece), [texts], [current])

    def _texts(self, call: Called) -> tuple[Sequence[str], Sequence[str]]:
        """All texts of an answer, and those not marked as superseded."""
        if call.op == "history":
            texts = self.transcript.answer(call) or []
            return texts, texts
        hits = self.transcript.hits(call)
        return [hit.text for hit in hits], [hit.text for hit in hits if not hit.superseded]

    def at(self, step: ReachStep, route: ReachRoute, name: str) -> ReachLook | None:
        return self._looks.get((step, route, name))

    def seen(self, step: ReachStep, route: ReachRoute, name: str) -> bool:
        look = self.at(step, route, name)
        return look is not None and bool(look.found)

    def routes(self, name: str, routes: Sequence[ReachRoute], step: ReachStep) -> list[ReachRoute]:
        """Those that brought the memory before the deletion, or bring it at a step: a page may have hidden it."""
        return [route for route in routes if self.seen("before", route, name) or self.seen(step, route, name)]

    def left(self, step: ReachStep, route: ReachRoute, name: str, *, current: bool = False) -> str | None:
        """The receipt if it is not gone: the look that brought it or failed, else the request to delete it.

        current: what is marked as superseded is gone.
        """
        look = self.at(step, route, name)
        if look is not None and (look.current if current else look.found) is False:
            return None
        return self.receipt(step, route, name)

    def brought(self, step: ReachStep, route: ReachRoute, name: str, *, current: bool = False) -> bool:
        look = self.at(step, route, name)
        return look is not None and bool(look.current if current else look.found)

    def failing(self, step: ReachStep, name: str, routes: Sequence[ReachRoute]) -> list[ReachRoute]:
        """Those whose call failed, so that they show no absence."""
        return [route for route in routes if (look := self.at(step, route, name)) is not None and look.failed]

    def undone(self) -> NotMeasured | None:
        """Why a deletion cannot have harmed anything: a request for it failed."""
        for op in DELETING.values():
            for line, call in self.transcript.calls(op, "deleted"):
                if call.fault and call.about:
                    why = " ".join(call.fault.message.split())
                    return NotMeasured(status="failed", reason=f"{op}: {why}"[:300], receipts=(f"L{line}",))
        return None

    def receipt(self, step: ReachStep, route: ReachRoute, name: str) -> str:
        look = self.at(step, route, name)
        return self.transcript.receipt(look.line if look else self.deletions.get(name), name)

    def reached(self, step: ReachStep) -> bool:
        """Whether anything was asked for at a step."""
        return next(self.transcript.calls("recall", step), None) is not None

    # --- why nothing can be said ---

    def refused(self, roles: Collection[str], *needs: str, step: ReachStep = "after") -> NotMeasured | None:
        """Unless a deletion of one of these roles, and all that is needed, is supported and was played to `step`."""
        support = self.transcript.drilled.backend.support
        deleting = [op for role, op in DELETING.items() if role in roles]
        if deleting and not any(self.transcript.supports(op) for op in deleting):
            return unsupported("; ".join(f"{op}: {support[op].note or 'not offered'}" for op in deleting))
        for need in needs:
            if not self.transcript.supports(need):
                return unsupported(f"{need}: {support[need].note or 'not offered'}")
        return self.lost(step)

    def lost(self, step: ReachStep) -> NotMeasured | None:
        """Why there was nothing to see at a step: the drill ended before its end, or the compaction failed."""
        ended = self.transcript.ended
        steps = {STEPS.index(event.step) for _, event in self.transcript.of(Called) if event.step in STEPS}
        steps |= {STEPS.index(event.step) for _, event in self.transcript.of(Handled) if event.step in STEPS}
        if (ended is None or ended.status == "failed") and max(steps, default=-1) <= STEPS.index(step):
            return failed(f"the drill did not get past '{step}': {self.transcript.reason}")
        for line, event in self.transcript.of(Handled):
            if event.what == "compacted" and event.step == step and event.fault:
                return NotMeasured(status="failed", reason=f"compact: {event.fault.message}", receipts=(f"L{line}",))
        return None


reach_of = lru_cache(maxsize=4)(Reach)
"""Many measures read one transcript."""


def _searched(piece: Piece, call: Called) -> ReachRoute:
    query = call.request["query"]
    if query == asked(piece.canary or ""):
        return "forbidden search"
    return "paraphrase" if query == piece.query else "search"


def _look(line: int, call: Called, text: str, texts: Sequence[str], current: Sequence[str]) -> ReachLook:
    if call.fault:
        return ReachLook(line, None, None)
    return ReachLook(line, any(text in each for each in texts), any(text in each for each in current))
