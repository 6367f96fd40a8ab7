"""The string that tells one memory from all others: a word that queries may carry, and a word that none ever does.

A store may keep what it was asked. So an interface is searched for the first word, and bytes are searched for the last:
what a query left is then never taken for what a memory left.
"""

from __future__ import annotations

from harness.model.trial import digest


def make(*parts: object) -> str:
    """Two words, drawn from `parts`."""
    return " ".join(f"cw{digest([*parts, use])[:20]}" for use in ("asked", "kept"))


def query_word(canary: str) -> str:
    """The word for queries. A canary of an old log is one word, for both uses."""
    return canary.split(" ", 1)[0]


def memory_word(canary: str) -> str:
    """The word that stands in the memory only."""
    return canary.rsplit(" ", 1)[-1]


def query(text: str, canary: str) -> str:
    """A text as a query: without the word that no query carries."""
    # replacing an empty text would put the word between all letters
    return text.replace(canary, query_word(canary)) if canary else text
