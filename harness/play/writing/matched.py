"""`matched`: looks up first, and replaces the memory that is worded most like the new one, whatever it says.

This is what an agent does that compares words alone. It misses an old rule in other words, and replaces a true memory
that only sounds like the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.log.parts import Written
from harness.play.readers import ReadEntry
from harness.play.writing.curated import Curated

ALIKE = 0.6
"""Words in common of all words of both, from which two memories are taken to be about one matter: in the suite most
rules are so much alike to the one that replaces them, and some other memories are, too."""
_WORD = re.compile(r"\w+")


class Matched(Curated):
    """Recognises an old memory by its words."""

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        new = list_words(written.item.text)
        alike = [(compare(new, list_words(entry.text)), entry) for entry in usable]
        # of two that are equally like it, the one that the backend ranks first
        likeness, entry = max(alike, key=lambda pair: (pair[0], -pair[1].position), default=(0.0, None))
        return [entry] if entry is not None and likeness >= ALIKE else []


def list_words(text: str) -> frozenset[str]:
    """Lower-case words, each once."""
    return frozenset(_WORD.findall(text.lower()))


def compare(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard's index."""
    return len(left & right) / len(left | right) if left | right else 0.0
