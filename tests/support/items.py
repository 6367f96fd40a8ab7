"""A memory as tests of adapters write it."""

from __future__ import annotations

from typing import Any

from harness.adapter import Item, Scope, Source

SHOP = Scope(repo="storefront", org="acme")
AT = "2026-02-03T10:00:00+00:00"


def item(text: str, scope: Scope = SHOP, source: Source | None = None, *, at: str = AT, **more: Any) -> Item:
    """One with a source is as sure as 0.75, unless `more` says otherwise."""
    return Item(text, scope, at, "project", **{"source": source, "confidence": 0.75 if source else None, **more})
