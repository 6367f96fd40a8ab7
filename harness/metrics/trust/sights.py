"""Which of a drill's memories an answer shows, told by their canaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from harness.adapter import Hit
from harness.log.transcript import Called, Op, Transcript
from harness.model.drill import Piece

CANARY = re.compile(r"cw[0-9a-f]{12}")
LOOKS: tuple[Op, ...] = ("entries", "recall", "get")


class Sights:
    """A transcript as looks at memories. Where there was no look, or one failed, nothing is known."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    @cached_property
    def _by_canary(self) -> Mapping[str, Piece]:
        return {piece.canary: piece for piece in self.transcript.plan.pieces if piece.canary}

    def named(self, text: str) -> list[Piece]:
        """The memories whose canaries stand in a text."""
        return [self._by_canary[word] for word in CANARY.findall(text) if word in self._by_canary]

    def hits(self, call: Called) -> Iterator[tuple[Hit, Piece]]:
        """Each hit with the memories that it shows."""
        return ((hit, piece) for hit in self.transcript.hits(call) for piece in self.named(hit.text))

    def shown(self, call: Called) -> set[str]:
        return {piece.name for _, piece in self.hits(call)}

    @cached_property
    def _looks(self) -> Mapping[tuple[str, str], list[tuple[int, Called, set[str]]]]:
        looks: dict[tuple[str, str], list[tuple[int, Called, set[str]]]] = {}
        for op in LOOKS:
            for line, call in self.transcript.calls(op):
                seen = (line, call, self.shown(call))
                for name in call.about:
                    looks.setdefault((call.step, name), []).append(seen)
        return looks

    def sees(self, step: str, name: str, *ops: Op) -> bool | None:
        """Whether a look at a memory in this step showed it; None if there was none, or none but failed ones."""
        looks = [look for look in self._looks.get((step, name), []) if not ops or look[1].op in ops]
        if any(name in shown for _, _, shown in looks):
            return True
        return None if not looks or any(call.fault for _, call, _ in looks) else False

    def stands(self, step: str, name: str) -> bool | None:
        """Whether a look in this step showed it, not marked as superseded; None if no look could tell."""
        seen = self.sees(step, name)
        hits = (pair for _, call, _ in self._looks.get((step, name), []) for pair in self.hits(call))
        return seen and any(piece.name == name and not hit.superseded for hit, piece in hits)

    def last(self, name: str, before: int) -> bool | None:
        """Whether the last look at a memory before a line showed it; None if there was none, or it failed."""
        looks = (look for (_, about), looks in self._looks.items() if about == name for look in looks)
        _, call, shown = max((look for look in looks if look[0] < before), default=(0, None, set()), key=_line)
        return None if call is None or call.fault else name in shown

    def told(self, call: Called) -> set[str]:
        """The memories whose texts a history tells."""
        texts = self.transcript.answer(call) or []
        return {piece.name for text in texts for piece in self.named(text)}

    def line(self, step: str, name: str) -> str | None:
        """The receipt for a look: the first one that showed it, else the first one."""
        looks = self._looks.get((step, name), [])
        line = next((line for line, _, shown in looks if name in shown), looks[0][0] if looks else None)
        return None if line is None else self.transcript.receipt(line, name)


def _line(look: tuple[int, Called | None, set[str]]) -> int:
    return look[0]
