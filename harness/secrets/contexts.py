"""What is a secret where it stands: behind a name, an option or a header, in a call, in a table, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from harness.secrets import assignments, calls, commands, headers, names, pairs, prose, tables
from harness.secrets.patterns import Patterns
from harness.secrets.values import is_plain

# no str.lower(): of a few letters it makes two, and places would move
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_PATTERNS = Patterns(*headers.PATTERNS, *commands.PATTERNS, *calls.PATTERNS)


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where a value stands that is a secret by what is before it."""
    lower = text.translate(_LOWER)
    for found in _PATTERNS.find(text, lower):
        if not is_plain(found[1]):
            yield found.span(1)
    yield from headers.find_cookies(text, lower)
    yield from pairs.find(text, lower)
    named = list(names.find(text, lower))
    for name in named:
        yield from assignments.find(text, name) if name.is_ascii else ()
        yield from prose.find_behind(text, name)
    yield from prose.find(text, lower)
    yield from tables.find(text, lower, named)
