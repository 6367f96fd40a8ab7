"""memcite: what its verdicts mean and what is cited; `coldwarm conform memcite@1.0.1` holds the row to the contract."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.memcite import Memcite, MemciteMemory, judge
from harness.adapter import Item, Scope, Source, Space, Verdict

SHOP = Scope("storefront", "acme")
FAKE = SimpleNamespace(FileRef=lambda path, lines: (path, lines), ManualRef=lambda note: note)
"""Instead of the library: what evidence is made of."""


def record(status: str, message: str = "", superseded_by: str | None = None) -> Any:
    named = {"validation_status": SimpleNamespace(value=status), "validation_message": message}
    return SimpleNamespace(**named, superseded_by=superseded_by)


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        (record("stale", "Content changed at a.md L3-3"), Verdict("stale", reason="Content changed at a.md L3-3")),
        (record("invalid", "File not found: a.md"), Verdict("stale", reason="File not found: a.md")),
        (record("valid", "Content relocated from L3-3 to L5-5"), None),
        (record("unchecked"), Verdict("unverified")),
        (record("stale", "Content changed", "b"), Verdict("superseded", by="b")),
    ],
)
def test_its_word_on_a_memory_is_the_verdict(told: Any, verdict: Verdict | None) -> None:
    assert judge(told) == verdict


def cite(root: Path, source: Source | None, scope: Scope = SHOP, **trees: str) -> Any:
    space = Space(str(root), "", "", 0, 1, work_trees=trees)
    memory = MemciteMemory(FAKE, space)
    return memory.cite(Item("Ship on Mondays.", scope, "2026-02-03T10:00:00+00:00", "project", source))


def test_a_line_is_cited_where_there_is_a_work_tree_of_its_repository(tmp_path: Path) -> None:
    source = Source("1a2b3c", "docs/deploy.md", 3, "monday")
    assert cite(tmp_path, source, storefront="/tree") == ("docs/deploy.md", (3, 3))
    assert cite(tmp_path, source, Scope(org="acme"), storefront="/tree") == ("docs/deploy.md", (3, 3))
    assert cite(tmp_path, Source(path="docs/deploy.md"), storefront="/tree") == ("docs/deploy.md", None)
    assert cite(tmp_path, source, Scope("admin"), storefront="/tree") == cite(tmp_path, source) == "monday"
    assert cite(tmp_path, None, storefront="/tree") == "told"


def test_what_is_stale_can_be_withheld() -> None:
    assert Memcite().stale == "shown" and Memcite().configured({"stale": "withheld"}).stale == "withheld"
    with pytest.raises(ValueError, match="stale cannot be 'hidden'"):
        Memcite().configured({"stale": "hidden"})
