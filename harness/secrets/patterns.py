"""Patterns that are looked for only in a text that holds a sign of them: most texts hold few of all the signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Pattern(NamedTuple):
    """Attributes:
    signs: What every text has that it is found in, one of them, in small letters.
    """

    signs: tuple[str, ...]
    expression: re.Pattern[str]

    def find(self, text: str, lower: str) -> Iterator[re.Match[str]]:
        """Every match.

        Args:
            lower: The text in small letters, as far as they are of ASCII.
        """
        return self.expression.finditer(text) if any(sign in lower for sign in self.signs) else iter(())


def pattern(signs: str, *parts: str) -> Pattern:
    """A pattern of parts that follow each other.

    Args:
        signs: Bars between them.
    """
    return Pattern(tuple(signs.split("|")), re.compile("".join(parts)))
