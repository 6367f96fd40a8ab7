"""Patterns that are looked for only in a text that holds a sign of them: most texts hold few of all the signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, MatchKind

_SHORT = 3
"""Characters of a sign that so many texts hold that it is looked for alone."""


class Pattern(NamedTuple):
    """What is looked for.

    Attributes:
        signs: What every text has that it is found in, one of them.
    """

    signs: tuple[str, ...]
    expression: re.Pattern[str]


def pattern(signs: str, *parts: str) -> Pattern:
    """A pattern of parts that follow each other.

    Args:
        signs: Bars between them.
    """
    return Pattern(tuple(signs.split("|")), re.compile("".join(parts)))


class Patterns:
    """Several, whose signs are looked for all at once."""

    def __init__(self, *patterns: Pattern) -> None:
        self._patterns = patterns
        signs = list(dict.fromkeys(sign for each in patterns for sign in each.signs))
        self._short = [sign for sign in signs if len(sign) < _SHORT]
        self._long = [sign for sign in signs if len(sign) >= _SHORT]
        # the only kind that finds overlapping signs, one of which may lie within another
        self._automaton = AhoCorasick(self._long, matchkind=MatchKind.Standard)

    def find(self, text: str, signs: str) -> Iterator[re.Match[str]]:
        """Every match of each.

        Args:
            signs: The text as the signs are written, in small letters perhaps.
        """
        numbers = {number for number, _, _ in self._automaton.find_matches_as_indexes(signs, overlapping=True)}
        held = {self._long[number] for number in numbers}.union(sign for sign in self._short if sign in signs)
        for each in self._patterns:
            if not held.isdisjoint(each.signs):
                yield from each.expression.finditer(text)
