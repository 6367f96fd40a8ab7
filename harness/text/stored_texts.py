"""Which texts were stored under which ids, and whether what comes back is any of them.

A hit is a memory of the store if it shows what was acknowledged under its id. Where its id is new, as a store may split
a text, merge several, or count anew, it has to show what was acknowledged under any. It shows a text that stands in it
as a whole. Else at least half of its runs of three words have to be those of stored texts: a store that cuts, masks or
wraps a text is told apart from one that says what nobody told it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice

from harness.text.classify import KnownTexts

RUN = 3
"""Words of a run. A question shares words with its answer, and hardly ever three in a row."""
HALF = 0.5
READ = 2000
"""Words of a text that are compared at most."""
_WORD = re.compile(r"\w+")


class StoredTexts:
    """All that was told so far in one trial."""

    def __init__(self) -> None:
        self.known = KnownTexts()
        self._any = _Texts()
        self._by_id: defaultdict[str, _Texts] = defaultdict(_Texts)

    def add(self, texts: Sequence[str], ids: Sequence[Sequence[str]] = ()) -> None:
        """Args:
        ids: Of each text; none of what a call that failed may have stored all the same.
        """
        self.known.add(texts)
        for text in texts:
            self._any.add(text)
        for text, names in zip(texts, ids, strict=False):
            for name in names:
                self._by_id[name].add(text)

    def holds(self, memory_id: str, text: str, entries: Iterable[tuple[int, int]]) -> bool:
        """Whether a hit shows what was stored, in one of its entries (`cut`) or as a whole."""
        # `get`, as an index would make an entry, and the id would be no new one the next time
        texts = self._by_id.get(memory_id, self._any)
        return any(text[start:end] in texts for start, end in entries) or texts.are_like(text)


class _Texts:
    """Texts, and the runs of their words, counted when they are first asked for."""

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._uncounted: list[str] = []
        self._runs: set[tuple[str, ...]] = set()

    def __contains__(self, text: str) -> bool:
        return text in self._whole

    def add(self, text: str) -> None:
        # without blank ends, as entries are cut
        self._whole.add(text.strip())
        self._uncounted.append(text)

    def are_like(self, text: str) -> bool:
        """Too few words to have a run have to stand in one of them."""
        runs = _find_runs(text)
        if not runs:
            return any(text.strip() in each for each in self._whole)
        while self._uncounted:
            self._runs |= _find_runs(self._uncounted.pop())
        return len(runs & self._runs) >= HALF * len(runs)


def _find_runs(text: str) -> set[tuple[str, ...]]:
    words = [found[0].casefold() for found in islice(_WORD.finditer(text), READ)]
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
