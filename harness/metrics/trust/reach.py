"""A transcript of the drill `deletion`: by which routes each memory came back, and which memories were deleted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from harness.log.transcript import Called, Handled, Op
from harness.metrics.metric import failed, unsupported
from harness.metrics.trust.view import DrillLook, DrillView, lacks
from harness.model.canary import query_word
from harness.model.drill import Piece
from harness.model.trial import NotMeasured

ReachStep = Literal["before", "deleted", "after", "closed", "reopened", "killed", "churned", "compacted"]
STEPS: tuple[ReachStep, ...] = get_args(ReachStep)
ReachRoute = Literal["search", "forbidden search", "paraphrase", "listing", "get", "history"]
ROUTES: tuple[ReachRoute, ...] = get_args(ReachRoute)
LIVE: tuple[ReachRoute, ...] = ROUTES[:-1]
"""Where only memories come back that hold; a history is of those that did."""
NEEDS: Mapping[ReachRoute, str] = {"listing": "entries", "get": "get", "history": "history"}
_CALLED: Mapping[ReachRoute, Op] = {"get": "get", "history": "history"}
DELETING: Mapping[str, Op] = {"forget": "forget", "update": "update", "supersede": "supersede", "scope": "forget_scope"}
"""Role -> the operation that deletes it."""


class ReachLook(NamedTuple):
    """Whether one call brought one memory.

    Attributes:
        found: None if the call failed.
        current: It came back, and not marked as superseded.
    """

    line: int
    found: bool | None
    current: bool | None

    @property
    def failed(self) -> bool:
        return self.found is None


class Reach(DrillView):
    """Pieces are named; a look is (step, route, name)."""

    # --- what was deleted ---

    @cached_property
    def deletions(self) -> Mapping[str, int]:
        """What the backend was asked to delete, or to replace, with the line of the request."""
        return {
            name: line
            for op in DELETING.values()
            for line, call in self.transcript.calls(op, "deleted")
            for name in call.about
            if self.plan.by_name[name].role in DELETING
        }

    def targets(self, *roles: str) -> list[str]:
        return [piece.name for piece in self.plan.of(*roles) if piece.name in self.deletions]

    @cached_property
    def killed(self) -> Sequence[str]:
        """What was forgotten right before a kill; nothing if that call failed."""
        calls = self.transcript.calls("forget", "killed")
        return [name for _, call in calls if call.fault is None for name in call.about]

    @cached_property
    def first_ids(self) -> Mapping[str, tuple[str, ...]]:
        """Piece -> the ids under which it was first acknowledged; none if that failed."""
        return {deed.piece.name: deed.ids for deed in self.list_written("remember")}

    @cached_property
    def deletion_answers(self) -> Mapping[str, bool]:
        """Forgotten by id -> whether the backend called all of its ids deleted; a call that failed said nothing."""
        answers: dict[str, bool] = {}
        for _, call in self.transcript.calls("forget", "deleted"):
            names = call.request["memory_ids"]
            assert isinstance(names, list)
            for name, done in zip(map(str, names), self.transcript.answer(call) or (), strict=False):
                answers[name] = done or answers.get(name, False)  # one that is named twice was there once
        return {name: all(answers.get(each, False) for each in self.first_ids[name]) for name in self.targets("forget")}

    # --- what came back ---

    def at(self, step: ReachStep, route: ReachRoute, name: str) -> ReachLook | None:
        """Of several ids, one that still brings it counts; and a call that failed shows no absence."""
        looks = [self._look_at(look, name) for look in self._by_route(step, route, self.plan.by_name[name])]
        decisive = [look for look in looks if look.found] or [look for look in looks if look.failed]
        return decisive[-1] if decisive else next(iter(looks), None)

    def _by_route(self, step: ReachStep, route: ReachRoute, piece: Piece) -> Sequence[DrillLook]:
        if route == "listing":
            return self.listings(step, piece.item.scope)
        # three routes are recalls, which differ in their question
        looks = self.looks(piece.name, [step], [_CALLED.get(route, "recall")])
        return looks if route in _CALLED else [look for look in looks if _find_route(piece, look.call) == route]

    def _look_at(self, look: DrillLook, name: str) -> ReachLook:
        if look.call.fault:
            return ReachLook(look.line, None, None)
        return ReachLook(
            look.line, name in self.list_shown(look.call), name in self.list_shown(look.call, current=True)
        )

    def was_seen(self, step: ReachStep, route: ReachRoute, name: str) -> bool:
        look = self.at(step, route, name)
        return look is not None and bool(look.found)

    def routes(self, name: str, routes: Sequence[ReachRoute], step: ReachStep) -> list[ReachRoute]:
        """Those that brought the memory before the deletion, or bring it at a step: a page may have hidden it."""
        return [route for route in routes if self.was_seen("before", route, name) or self.was_seen(step, route, name)]

    def find_left(self, step: ReachStep, route: ReachRoute, name: str, *, current: bool = False) -> str | None:
        """The receipt if it is not gone: the look that brought it or failed, else the request to delete it.

        Args:
            current: What is marked as superseded is gone.
        """
        look = self.at(step, route, name)
        if look is not None and (look.current if current else look.found) is False:
            return None
        return self.receipt(step, route, name)

    def was_brought(self, step: ReachStep, route: ReachRoute, name: str, *, current: bool) -> bool:
        look = self.at(step, route, name)
        return look is not None and bool(look.current if current else look.found)

    def list_failing(self, step: ReachStep, name: str, routes: Sequence[ReachRoute]) -> list[ReachRoute]:
        """Those whose call failed, so that they show no absence."""
        return [route for route in routes if (look := self.at(step, route, name)) is not None and look.failed]

    def explain_undone(self) -> NotMeasured | None:
        """Why a deletion cannot have harmed anything: of one operation every request failed."""
        for op in DELETING.values():
            # without those that name unknown ids: they delete nothing
            requests = [(line, call) for line, call in self.transcript.calls(op, "deleted") if call.about]
            line, first = next(iter(requests), (0, None))
            if first and first.fault and all(call.fault for _, call in requests):
                why = " ".join(first.fault.message.split())
                return NotMeasured(status="failed", reason=f"{op}: {why}"[:300], receipts=(f"L{line}",))
        return None

    def receipt(self, step: ReachStep, route: ReachRoute, name: str) -> str:
        look = self.at(step, route, name)
        return self.transcript.receipt(look.line if look else self.deletions.get(name), name)

    def was_reached(self, step: ReachStep) -> bool:
        """Whether anything was asked for at a step."""
        return next(self.transcript.calls("recall", step), None) is not None

    # --- why nothing can be said ---

    def explain_refusal(self, roles: Collection[str], *needs: str, step: ReachStep = "after") -> NotMeasured | None:
        """Unless a deletion of one of these roles, and all that is needed, is supported and was played to `step`."""
        support = self.transcript.drilled.backend.support
        deleting = [op for role, op in DELETING.items() if role in roles]
        if deleting and not any(self.transcript.supports(op) for op in deleting):
            return unsupported("; ".join(f"{op}: {support[op].note or 'not offered'}" for op in deleting))
        return lacks(self.transcript, *needs) or self.explain_loss(step)

    def explain_loss(self, step: ReachStep) -> NotMeasured | None:
        """Why there was nothing to see at a step: the drill ended before its end, or the compaction failed."""
        ended = self.transcript.ended
        steps = {STEPS.index(event.step) for _, event in self.transcript.of(Called) if event.step in STEPS}
        steps |= {STEPS.index(event.step) for _, event in self.transcript.of(Handled) if event.step in STEPS}
        # a drill that failed broke off within its last step, so that this one is not complete
        if (ended is None or ended.status == "failed") and max(steps, default=0) <= STEPS.index(step):
            return failed(f"the drill did not get past '{step}': {self.transcript.reason}")
        for line, event in self.transcript.of(Handled):
            if event.what == "compacted" and event.step == step and event.fault:
                return NotMeasured(status="failed", reason=f"compact: {event.fault.message}", receipts=(f"L{line}",))
        return None


def _find_route(piece: Piece, call: Called) -> ReachRoute:
    query = call.request["query"]
    if query == query_word(piece.canary or ""):
        return "forbidden search"
    return "paraphrase" if query == piece.query else "search"
