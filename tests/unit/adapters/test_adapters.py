"""What every adapter keeps to, by its own declaration. Those with an SDK carry the marker `backend`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, get_args

import pytest

from adapters.bm25 import Bm25
from adapters.chroma import Chroma
from adapters.full_context import FullContext
from adapters.mem0 import Mem0
from adapters.none import Nothing
from adapters.notes import Notes
from adapters.random import Random
from adapters.reference import Reference
from adapters.refusal import Refusal
from adapters.vector_file import VectorFile
from harness.adapter import (
    CAPABILITIES,
    Adapter,
    Hit,
    Item,
    Operation,
    Source,
    Space,
    Unsupported,
    Usage,
)
from tests.support.items import AT, SHOP

PLAIN = [Nothing, Notes, Bm25, VectorFile, FullContext, Random, Refusal, Reference]
REAL = [pytest.param(kind, marks=pytest.mark.backend) for kind in (Chroma, Mem0)]
ROOT = Path(__file__).parents[3]
SHIP = "Deploy with scripts/ship --target blimp, never by hand."
FULL = Item(SHIP, SHOP, AT, "procedural", Source("1a2b3c4d5e", "docs/deploy.md", 12, "monday"), 0.75)


@pytest.fixture(params=[*PLAIN, *REAL], ids=lambda kind: kind.name)
def adapter(request: pytest.FixtureRequest) -> Adapter:
    made: Adapter = request.param()
    return made


def needs(adapter: Adapter, *capabilities: str) -> None:
    for word in capabilities:
        if adapter.support[word].level == "unsupported":
            pytest.skip(f"{adapter.name}: {word}: {adapter.support[word].note}")


def offers(adapter: Adapter, capability: str) -> bool:
    return adapter.support[capability].level != "unsupported"


def texts(hits: Sequence[Hit]) -> str:
    return "\n".join(hit.text for hit in hits)


@pytest.mark.slow
def test_declares_each_capability_and_refuses_what_it_declares_unsupported(adapter: Adapter, space: Space) -> None:
    assert isinstance(adapter, Adapter)
    assert list(adapter.support) == list(CAPABILITIES)
    assert all(support.level == "native" or support.note for support in adapter.support.values())
    assert adapter.version()
    arguments: dict[str, tuple[Any, ...]] = {
        "entries": (SHOP,), "get": (SHOP, "x"), "history": (SHOP, "x"), "update": (SHOP, "x", FULL),
        "supersede": (SHOP, ["x"], FULL), "deprecate": (SHOP, ["x"], "2026-01-01T00:00:00+00:00"),
        "forget": (SHOP, ["x"]), "forget_scope": (SHOP,),
        "snapshot": (), "restore": ("x",), "observe": ([], SHOP, "2026-01-01T00:00:00+00:00", "monday"),
    }  # fmt: skip
    with closing(adapter.open(space)) as memory:
        if offers(adapter, "snapshot"):
            arguments["restore"] = (memory.snapshot(),)
        for name in set(get_args(Operation)) - {"compact"}:
            if offers(adapter, name):
                getattr(memory, name)(*arguments[name])
            else:
                with pytest.raises(Unsupported):
                    getattr(memory, name)(*arguments[name])
        assert memory.settle(1) is True
        assert memory.usage() == (Usage() if offers(adapter, "usage") else None)
    if not offers(adapter, "compact"):
        with pytest.raises(Unsupported):
            adapter.compact(space)


def test_no_sdk_is_loaded_before_a_store_is_opened() -> None:
    plain = ("bm25", "full_context", "none", "notes", "placebo", "protocol", "random", "reference", "refusal")
    names = [*plain, "claude_memory", "codex_memories", "vector_file", "chroma", "mem0"]
    loads = "".join(f"import adapters.{name}\n" for name in names)
    show = "import sys; print(*sorted({'bm25s', 'numpy', 'chromadb', 'mem0', 'openai', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", loads + show], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "module", "message"),
    [
        (Chroma, "chromadb", "is not installed; install coldwarm[chroma]"),
        (Mem0, "mem0", "is not installed; install coldwarm[mem0]"),
        (Bm25, "bm25s", "is not installed; install coldwarm"),
    ],
)
def test_a_missing_sdk_is_one_clear_line(
    kind: type[Any], module: str, message: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("MEM0_DIR", "restored afterwards")
    monkeypatch.setenv("MEM0_TELEMETRY", "restored afterwards")
    with pytest.raises(RuntimeError) as caught:
        kind().open(space)
    assert str(caught.value) == f"{module} {message}"

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("adapters._base.version", absent)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        kind().version()
