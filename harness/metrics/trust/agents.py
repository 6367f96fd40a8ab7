"""What a transcript of the drill of sharing shows of each of its agents or handles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from harness.metrics.metric import proportion
from harness.metrics.trust.metric import DrillWords
from harness.metrics.trust.view import DrillDeed, DrillLook, DrillView
from harness.model.drill import Piece
from harness.model.trial import Measure

OTHER = {"a": "b", "b": "a"}
SHARED = (
    "both write", "settled", "to be corrected", "corrected", "corrected again", "versions",
    "to be deleted", "both delete", "deleted",
)  # fmt: skip
"""The steps while two processes have the store open."""
CALM = ("second reads", "first reads again", "settled", "deleted", "reopened")
"""Those in which nobody writes, so that each question of a step asks the same store."""
SHARING = DrillWords(
    "sharing",
    70,
    "Shared",
    "What one agent writes and another deletes, does the next one see it so?",
)
UNSEEN = "no memory was brought by its own text where it was written"


class Agents(DrillView):
    """What a transcript shows of each agent or handle. Calls that failed show nothing, but stand in the receipts."""

    def deeds(self, step: str) -> list[DrillDeed]:
        """The writes of a step that were acknowledged."""
        return [deed for deed in self.list_written("remember", step) if deed.ids]

    def list_known(self, step: str) -> list[DrillDeed]:
        """The writes of a step that the writer's own recall brought."""
        return [deed for deed in self.deeds(step) if self.finds(step, deed.piece, deed.who)]

    @property
    def both(self) -> list[DrillDeed]:
        """The writes of two at once; none without the control."""
        return self.deeds("both write") if self.list_known("first writes") or self.list_known("both write") else []

    def list_spared(self, deeds: Sequence[DrillDeed], step: str) -> list[DrillDeed]:
        """Those that nobody was asked to delete in a step."""
        asked = {call.about[0] for _, call in self.transcript.calls("forget", step)}
        return [deed for deed in deeds if deed.piece.name not in asked]

    def find_question(self, step: str, piece: Piece, who: str = "a") -> DrillLook | None:
        """The recall of its own text."""
        looks = [look for look in self.looks(piece.name, [step], ["recall"]) if look.call.who == who]
        return looks[-1] if looks else None

    def finds(self, step: str, piece: Piece, who: str = "a") -> bool:
        look = self.find_question(step, piece, who)
        return look is not None and piece.name in self.list_shown(look.call)

    def hides(self, step: str, piece: Piece, who: str = "a") -> bool:
        """It was looked for, and did not come."""
        look = self.find_question(step, piece, who)
        return look is not None and look.call.fault is None and piece.name not in self.list_shown(look.call)

    def times_listed(self, piece: Piece) -> int:
        """How often it is listed after both were closed."""
        return max((each[piece.name] for each in self._listed), default=0)

    @cached_property
    def _listed(self) -> list[Counter[str]]:
        calls = (call for _, call in self.transcript.calls("entries", "reopened"))
        return [Counter(each.name for _, each in self.hits(call)) for call in calls]

    def unknown(self, step: str, piece: Piece, *who: str) -> bool:
        """Whether a look of one of these at it failed, or, at the end, the listing."""
        looks = (self.find_question(step, piece, each) for each in who)
        failed = step == "reopened" and any(call.fault for _, call in self.transcript.calls("entries", step))
        return failed or any(look is not None and look.call.fault for look in looks)

    def share(
        self,
        bad: Sequence[DrillDeed],
        of: Sequence[DrillDeed],
        step: str,
        *,
        turned: bool = False,
        none: str,
        unanswered: int = 0,
    ) -> Measure:
        """bad / of, or what remains (`turned`); receipts: what that step's listing and looks show of each bad one."""
        hits = len(of) - len(bad) if turned else len(bad)
        lines = list(dict.fromkeys(self._receipts(bad, step)))
        return proportion(hits, len(of), lines, none=none, unanswered=unanswered)

    def _receipts(self, bad: Sequence[DrillDeed], step: str) -> Iterator[str]:
        """Before them the deed, if that is another call than the one that stored the memory."""
        listings = [line for line, _ in self.transcript.calls("entries", step)]
        for deed in bad:
            name = deed.piece.name
            if self.transcript.stored.get(name) != deed.line:
                yield f"L{deed.line}"
            looks = [look.line for who in OTHER if (look := self.find_question(step, deed.piece, who))]
            reads = [look.line for look in self.looks(deed.piece.name, [step], ["get"])]
            for line in (*listings, *looks, *reads) or (deed.line,):
                yield self.transcript.receipt(line, name)
