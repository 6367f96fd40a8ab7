"""Receipts: where in a log the evidence of a verdict stands. They are strings, so that results.json stays plain.

`L12` is line 12. `L12:e3` is the fourth entry that it brought. `L12 answer-7 stored at L3` is about the memory
`answer-7`: line 3 is the call that stored it, line 12 the one that shows what became of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = re.compile(r"L(?P<line>\d+)(?::e(?P<entry>\d+))?(?: (?P<memory>.+) stored at L(?P<stored>\d+))?", re.DOTALL)


class Receipt(NamedTuple):
    """A place in a log.

    Attributes:
        stored: The line of the call that stored the memory.
    """

    line: int
    entry: int | None = None
    memory: str | None = None
    stored: int | None = None

    def __str__(self) -> str:
        entry = "" if self.entry is None else f":e{self.entry}"
        memory = "" if self.stored is None else f" {self.memory} stored at L{self.stored}"
        return f"L{self.line}{entry}{memory}"


def read(text: str) -> Receipt | None:
    """None for words that name no line, such as those about a look that was not taken."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    entry, stored = (None if found[part] is None else int(found[part]) for part in ("entry", "stored"))
    return Receipt(int(found["line"]), entry, found["memory"], stored)
