"""How much of an answer is read. These are limits of ours, not of the protocol: what exceeds one is no breach, and is
named as what it is. They keep what one answer costs the parent at some seconds. Lists come in pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.adapter import Hit, Usage
from harness.backend.worker import LINE

REPLY = LINE
"""Bytes of one answer, or of one page of it."""
TOTAL = 256 * 2**20
"""Bytes of all pages of an answer."""
TEXT = 2**20
"""Characters of one memory, with its source and date."""
RECALLED = 2 * 2**20
"""Characters of all that one recall brings: each is cut into entries, counted in tokens and read for facts."""
LISTED = 500_000
"""Values of one answer."""
PARTS = 10_000
"""Memories of one recall, and the lines in them: each may become an entry."""
ID = 4096
"""Characters of an id."""
REASON = 1000
"""Characters of the reason of a verdict."""
LAYERS = 100
"""Layers of a store: each is looked at by itself."""
COUNT = 2**53
"""The largest count that every reader of a log takes for the same number."""


def check_recall(hits: Sequence[Hit]) -> str | None:
    """Which limit they exceed, in words; None for none. All of them together are read, too."""
    # either sign, as a text may part its lines by either
    parts = len(hits) + sum(sum(map(hit.text.count, "\r\n")) for hit in hits)
    if parts > PARTS:
        return f"{parts:,} memories and lines; at most {PARTS:,} are read"
    return check_hits(hits, RECALLED)


def check_hits(hits: Sequence[Hit], total: int | None = None) -> str | None:
    """Which limit one of these memories exceeds, in words; None for none.

    Args:
        total: Characters of all of them.
    """
    found = 0
    for hit in hits:
        size = _measure(hit)
        verdict = hit.verdict
        longest = max(len(hit.memory_id), len(verdict.by or "") if verdict else 0)
        if longest > ID:
            return f"an id of {longest:,} characters; at most {ID:,} are read"
        if verdict and len(verdict.reason or "") > REASON:
            return f"a reason of {len(verdict.reason or ''):,} characters; at most {REASON:,} are read"
        if size > TEXT:
            return f"a memory of {size:,} characters; at most {TEXT:,} are read"
        found += size
    if total is not None and found > total:
        return f"memories of {found:,} characters in all; at most {total:,} are read"
    return None


def check_ids(ids: Iterable[str]) -> str | None:
    longest = max(map(len, ids), default=0)
    return f"an id of {longest:,} characters; at most {ID:,} are read" if longest > ID else None


def check_texts(texts: Iterable[str]) -> str | None:
    longest = max(map(len, texts), default=0)
    return f"a text of {longest:,} characters; at most {TEXT:,} are read" if longest > TEXT else None


def check_usage(usage: Usage) -> str | None:
    """What no count can be: that is a breach."""
    wrong = {name: n for name, n in vars(usage).items() if not 0 <= n <= COUNT}
    return ", ".join(f"{name} is {n if abs(n) <= COUNT else 'beyond 2^53'}" for name, n in wrong.items()) or None


def _measure(hit: Hit) -> int:
    """Characters of a memory with its date, source and scope; written out, as each hit of each answer is measured."""
    size, source, scope = len(hit.text) + len(hit.created or ""), hit.source, hit.scope
    if source:
        size += len(source.commit or "") + len(source.path or "") + len(source.session or "")
    if scope:
        size += len(scope.repo or "") + len(scope.org or "") + len(scope.branch or "") + len(scope.user or "")
    return size
