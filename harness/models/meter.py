"""What one trial asked of the models, by phase."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class PhaseCount:
    """What was asked for in one phase, cached or not. `tokens`, `cut_tokens`: word pieces seen and cut off."""

    calls: int = 0
    texts: int = 0
    tokens: int = 0
    cut_texts: int = 0
    cut_tokens: int = 0

    def __add__(self, other: PhaseCount) -> PhaseCount:
        return PhaseCount(
            self.calls + other.calls,
            self.texts + other.texts,
            self.tokens + other.tokens,
            self.cut_texts + other.cut_texts,
            self.cut_tokens + other.cut_tokens,
        )


class Meter:
    """Counts of one key. The engine sets `phase`; a call counts where it arrived, and only if it was answered."""

    def __init__(self) -> None:
        self.phase = ""
        self._counts: dict[str, PhaseCount] = {}
        self._lock = threading.Lock()

    def counts(self) -> dict[str, PhaseCount]:
        """Phase -> count, of the phases that had a call."""
        with self._lock:
            return dict(self._counts)

    def add(self, phase: str, count: PhaseCount) -> None:
        with self._lock:
            self._counts[phase] = self._counts.get(phase, PhaseCount()) + count
