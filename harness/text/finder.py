"""Which of many texts stand in another, found in one pass however many there are."""

from __future__ import annotations

from collections.abc import Iterable

from ahocorasick_rs import AhoCorasick


class Finder:
    """Looks for texts, none of them empty."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(dict.fromkeys(texts))
        self._automaton = AhoCorasick(self._texts)

    def find(self, text: str) -> list[str]:
        """Forms that stand in a text, in the order of their first places; of those at one place, as they were given."""
        starts: dict[int, int] = {}
        # overlapping: else a text that stands inside another one would be missed
        for number, start, _ in self._automaton.find_matches_as_indexes(text, overlapping=True):
            starts.setdefault(number, start)
        return [self._texts[number] for number in sorted(starts, key=lambda number: (starts[number], number))]
