"""What every adapter keeps to, by its own declaration. Those with an SDK carry the marker `backend`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
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
    Ack,
    Adapter,
    Hit,
    Item,
    Operation,
    Scope,
    Source,
    Space,
    Unsupported,
    Usage,
    to_wire,
)

PLAIN = [Nothing, Notes, Bm25, VectorFile, FullContext, Random, Refusal, Reference]
REAL = [pytest.param(kind, marks=pytest.mark.backend) for kind in (Chroma, Mem0)]
ROOT = Path(__file__).parents[3]
SHOP = Scope(repo="storefront", org="acme")
AT = "2026-02-03T10:00:00+00:00"
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


def item(text: str, scope: Scope = SHOP) -> Item:
    return Item(text, scope, AT, "project")


def texts(hits: Sequence[Hit]) -> str:
    return "\n".join(hit.text for hit in hits)


def test_declares_each_capability_and_refuses_what_it_declares_unsupported(adapter: Adapter, space: Space) -> None:
    assert isinstance(adapter, Adapter)
    assert list(adapter.support) == list(CAPABILITIES)
    assert all(support.level == "native" or support.note for support in adapter.support.values())
    assert adapter.version()
    arguments: dict[str, tuple[Any, ...]] = {
        "entries": (SHOP,), "get": (SHOP, "x"), "history": (SHOP, "x"), "update": (SHOP, "x", FULL),
        "supersede": (SHOP, ["x"], FULL), "forget": (SHOP, ["x"]), "forget_scope": (SHOP,),
        "snapshot": (), "restore": ("x",),
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


def test_round_trip(adapter: Adapter, space: Space) -> None:
    needs(adapter, "persistent")
    other = "Invoices are numbered per year."
    with closing(adapter.open(space)) as memory:
        acks = memory.remember([FULL, item(other)])
        assert [len(ack.ids) for ack in acks] == [1, 1]
        found = memory.recall("ship target blimp", SHOP, 5, AT)
        assert SHIP in texts(found)
        listed = {hit.memory_id: hit for hit in memory.entries(SHOP)}
        assert {*listed} == {ack.ids[0] for ack in acks}
        for hit in [hit for hit in (*found, *listed.values()) if hit.memory_id == acks[0].ids[0]]:
            assert SHIP in hit.text
            if offers(adapter, "source"):
                assert (hit.text, hit.source, hit.confidence) == (SHIP, FULL.source, FULL.confidence)
            if offers(adapter, "created"):
                assert hit.created == AT
            assert hit.scope == (SHOP if offers(adapter, "scope_repo") else None)
        if offers(adapter, "source"):
            assert listed[acks[1].ids[0]].source is None
            assert listed[acks[1].ids[0]].confidence is None
        if offers(adapter, "ranked") and adapter.name != "random":
            assert found[0].text == SHIP
            assert [hit.score for hit in found] == sorted((hit.score or 0 for hit in found), reverse=True)


def test_recall_gives_at_most_k(adapter: Adapter, space: Space) -> None:
    needs(adapter, "ranked")
    with closing(adapter.open(space)) as memory:
        memory.remember([item(f"ship number {at}") for at in range(12)])
        assert [len(memory.recall("ship", SHOP, k, AT)) for k in (0, 1, 5, 12, 50)] == [0, 1, 5, 12, 12]


def test_reopening_finds_everything_under_the_same_ids(adapter: Adapter, space: Space) -> None:
    needs(adapter, "persistent")
    with closing(adapter.open(space)) as memory:
        memory.remember([FULL, item("Invoices are numbered per year."), item("Déjà vu “quoted” ✓ line\u2028end")])
        before = sorted(memory.entries(SHOP), key=lambda hit: hit.memory_id)
    with closing(adapter.open(space)) as memory:
        assert sorted(memory.entries(SHOP), key=lambda hit: hit.memory_id) == before
        assert len(before) == 3
        assert SHIP in texts(memory.recall("ship target blimp", SHOP, 5, AT))
        memory.remember([item("A later one.")])
        assert len(memory.entries(SHOP)) == 4


KILLED = """
import importlib, json, os, signal, sys
from harness.adapter import Space, read_item
module, name, space, items = sys.argv[1:]
memory = getattr(importlib.import_module(module), name)().open(Space(**json.loads(space)))
acks = memory.remember([read_item(value) for value in json.loads(items)])
print(json.dumps([ack.ids for ack in acks]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_loses_nothing_that_was_acknowledged(adapter: Adapter, space: Space) -> None:
    needs(adapter, "persistent")
    kind, items = type(adapter), [FULL, item("Invoices are numbered per year.")]
    arguments = [kind.__module__, kind.__name__, json.dumps(to_wire(space)), json.dumps(to_wire(items))]
    command = [sys.executable, "-c", KILLED, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with closing(adapter.open(space)) as memory:
        assert SHIP in texts(memory.recall("ship target blimp", SHOP, 5, AT))
        assert {hit.memory_id for hit in memory.entries(SHOP)} == {
            name for ids in json.loads(done.stdout) for name in ids
        }


def test_forget(adapter: Adapter, space: Space) -> None:
    needs(adapter, "forget")
    with closing(adapter.open(space)) as memory:
        secret, rest = (ack.ids for ack in memory.remember([item("The canary is k4n4ry."), item("The rest stays.")]))
        assert memory.forget(SHOP, [*secret, "unknown", "00000000-0000-4000-8000-000000000000"]) == [True, False, False]
        assert memory.forget(SHOP, secret) == [False]
        assert memory.forget(SHOP, []) == []
        for found in (memory.recall("canary k4n4ry", SHOP, 5, AT), memory.entries(SHOP)):
            assert "k4n4ry" not in texts(found)
        if offers(adapter, "get"):
            assert memory.get(SHOP, secret[0]) is None
            assert memory.get(SHOP, rest[0]) is not None
    with closing(adapter.open(space)) as memory:
        assert [hit.memory_id for hit in memory.entries(SHOP)] == [*rest]


def test_a_neighbour_with_a_similar_name_sees_nothing(adapter: Adapter, space: Space) -> None:
    needs(adapter, "scope_repo", "entries", "get", "forget", "forget_scope")
    api, internal = Scope(repo="api", org="acme"), Scope(repo="api-internal", org="acme")
    with closing(adapter.open(space)) as memory:
        own, other = memory.remember([item("The port is 8080.", api), item("The port is 9090.", internal)])
        assert [hit.text for hit in memory.recall("port", api, 5, AT)] == ["The port is 8080."]
        assert [hit.text for hit in memory.recall("port", internal, 5, AT)] == ["The port is 9090."]
        assert [hit.text for hit in memory.entries(api)] == ["The port is 8080."]
        assert memory.get(api, other.ids[0]) is None
        assert memory.forget(api, other.ids) == [False]
        assert memory.update(api, other.ids[0], item("The port is 1.", api)) == Ack(())
        memory.forget_scope(api)
        assert [hit.text for hit in memory.entries(internal)] == ["The port is 9090."]
        assert memory.get(api, own.ids[0]) is None


def test_wider_memories_hold_here_and_narrower_ones_do_not(adapter: Adapter, space: Space) -> None:
    needs(adapter, "scope_org", "scope_repo", "scope_branch", "scope_user")
    scopes = {
        "everywhere": Scope(),
        "organisation": Scope(org="acme"),
        "repository": SHOP,
        "branch": replace(SHOP, branch="release/2 b"),
        "person": replace(SHOP, user="dana@example.com"),
        "stranger": Scope(org="other"),
    }
    with closing(adapter.open(space)) as memory:
        memory.remember([item(f"rule {name}", scope) for name, scope in scopes.items()])

        def seen(place: Scope) -> set[str]:
            return {hit.text.removeprefix("rule ") for hit in memory.recall("rule", place, 20, AT)}

        assert seen(SHOP) == {"everywhere", "organisation", "repository"}
        assert seen(scopes["branch"]) == {"everywhere", "organisation", "repository", "branch"}
        assert seen(scopes["person"]) == {"everywhere", "organisation", "repository", "person"}
        assert seen(Scope()) == {"everywhere"}
        assert seen(scopes["stranger"]) == {"everywhere", "stranger"}
        for name, scope in scopes.items():
            assert [(hit.text, hit.scope) for hit in memory.entries(scope)] == [(f"rule {name}", scope)]


def test_an_empty_store_knows_nothing(adapter: Adapter, space: Space) -> None:
    with closing(adapter.open(space)) as memory:
        assert memory.entries(SHOP) == []
        assert memory.remember([]) == []
        if offers(adapter, "get"):
            assert memory.get(SHOP, "unknown") is None
        if adapter.name != "refusal":
            assert memory.recall("anything", SHOP, 5, AT) == []


def test_lists_past_any_page_limit(adapter: Adapter, space: Space) -> None:
    needs(adapter, "persistent")
    written = [item(f"Fact number {at} is here.") for at in range(250)]
    with closing(adapter.open(space)) as memory:
        acks = memory.remember(written)
        listed = {hit.memory_id: hit.text for hit in memory.entries(SHOP)}
    assert len(listed) == 250
    assert all(one.text in listed[ack.ids[0]] for one, ack in zip(written, acks, strict=True))


def test_a_blank_text_is_not_stored(adapter: Adapter, space: Space) -> None:
    with closing(adapter.open(space)) as memory:
        acks = memory.remember([item(""), item("  \n "), item("Not blank.")])
        assert [ack.ids for ack in acks[:2]] == [(), ()]
        assert len(memory.entries(SHOP)) == len(acks[2].ids) == int(offers(adapter, "persistent"))


def test_update_replaces_text_and_fields_under_the_same_id(adapter: Adapter, space: Space) -> None:
    needs(adapter, "update")
    fresh = replace(
        FULL, text="Deploy with scripts/ship --target raft.", source=Source(path="README.md"), confidence=None
    )
    with closing(adapter.open(space)) as memory:
        (name,) = memory.remember([FULL])[0].ids
        assert memory.update(SHOP, name, fresh).ids == (name,)
        assert memory.update(SHOP, "unknown", fresh).ids == ()
    with closing(adapter.open(space)) as memory:
        for found in (memory.recall("target raft", SHOP, 5, AT), memory.entries(SHOP)):
            assert [(hit.memory_id, hit.text, hit.source, hit.confidence) for hit in found] == [
                (name, fresh.text, fresh.source, None)
            ]


def test_supersede_leaves_the_successor_only(adapter: Adapter, space: Space) -> None:
    needs(adapter, "supersede")
    with closing(adapter.open(space)) as memory:
        old = memory.remember([item("The queue is rabbit.")])[0].ids
        new = memory.supersede(SHOP, old, item("The queue is redis.")).ids
        assert [hit.memory_id for hit in memory.entries(SHOP)] == [*new]
        assert "rabbit" not in texts(memory.recall("the queue", SHOP, 5, AT))


def test_the_storage_that_it_names_holds_the_text(adapter: Adapter, space: Space) -> None:
    root = Path(space.root)
    before = adapter.storage(space)
    with closing(adapter.open(space)) as memory:
        memory.remember([item("The canary is k4n4ry, naïve.")])
    layers = adapter.storage(space)
    assert {layer.name for layer in before} <= {layer.name for layer in layers}
    assert len({layer.name for layer in layers}) == len(layers)
    paths = [root / layer.path for layer in layers]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    holds = any("k4n4ry, naïve".encode() in file.read_bytes() for file in files)
    assert holds == offers(adapter, "persistent")
    for file in root.rglob("*"):  # nothing is kept where it does not say
        assert b"k4n4ry" not in (file.read_bytes() if file.is_file() else b"") or file in files


def test_no_sdk_is_loaded_before_a_store_is_opened() -> None:
    plain = ("bm25", "full_context", "none", "notes", "random", "reference", "refusal", "vector_file")
    names = [*plain, "chroma", "mem0"]
    loads = "".join(f"import adapters.{name}\n" for name in names)
    show = "import sys; print(*sorted({'bm25s', 'numpy', 'chromadb', 'mem0', 'openai', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", loads + show], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


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
