"""Checks of recalls that are kept to a part of what is stored."""

from __future__ import annotations

from harness.adapter import Filter, Item, Source
from harness.backend.client import RemoteMemory
from harness.conformance.bench import AT, SHOP, Bench, check, equal, expect, make_item, remember_ids
from harness.conformance.change_checks import LATER

QUERY = "The queue is rabbit."
WANTED = ("On Mondays the queue is drained, says rabbit.", "Who drains the queue tells rabbit.")
NEARER = 8
"""More than are asked for."""
PATH, PATHS = "docs/deploy.md", ("docs/deploy.md.old", "docs", "deploy.md", "docs/deploy_md", "docs/Deploy.md")


def _write(memory: RemoteMemory, *wanted: Item, others: list[Item]) -> list[str]:
    """Others are nearer to the question than what is wanted; the ids of that."""
    # each of the others at least once, and more than are asked for
    crowd = [
        Item(f"The queue is rabbit {at}.", SHOP, AT, each.kind, each.source, each.confidence)
        for at, each in enumerate((others * NEARER)[: max(NEARER, len(others))])
    ]
    return remember_ids(memory, *crowd, *wanted)[len(crowd) :]


def _check(bench: Bench, where: Filter, *wanted: Item, others: list[Item]) -> None:
    """At once, and after reopening, exactly these come."""
    with bench.open() as memory:
        names = _write(memory, *wanted, others=others)
        _expect(memory, where, names)
    if bench.offers("persistent"):
        with bench.open() as memory:
            memory.settle(20)
            _expect(memory, where, names)


def _expect(memory: RemoteMemory, where: Filter, names: list[str], at: str = AT) -> None:
    hits = memory.recall_where(QUERY, SHOP, 5, at, where)
    wrong = [hit.text for hit in hits if hit.memory_id not in names]
    expect(not wrong, f"{where} brought {wrong}")
    equal(sorted(hit.memory_id for hit in hits), sorted(names), f"what {where} brought")


@check("filter_kind")
def keeps_to_kinds(bench: Bench) -> None:
    """brings the kinds that it is asked for and no other, and takes them before it takes k"""
    wanted = Item(WANTED[0], SHOP, AT, "procedural"), Item(WANTED[1], SHOP, AT, "user")
    others = [Item("", SHOP, AT, "episodic", Source(path=PATH), 0.9), Item("", SHOP, AT, "episodic")]
    _check(bench, Filter(kinds=("user", "procedural")), *wanted, others=others)


@check("filter_path")
def keeps_to_a_path(bench: Bench) -> None:
    """brings what cites this very file; not what cites none, or one that is called much like it"""
    wanted = [make_item(text, source=Source("1a2b3c4d5e", PATH, 3 + at)) for at, text in enumerate(WANTED)]
    others = [*(make_item("", source=Source("1a2b3c4d5e", path, 3)) for path in PATHS), make_item("")]
    _check(bench, Filter(path=PATH), *wanted, others=others)


@check("filter_confidence")
def keeps_to_a_confidence(bench: Bench) -> None:
    """brings what is as sure as it is asked for, and what was told without a confidence"""
    others = [make_item("", confidence=sure) for sure in (0.49, 0.05, 0.0)]
    _check(bench, Filter(confidence=0.5), make_item(WANTED[0]), make_item(WANTED[1], confidence=0.5), others=others)


@check("filter_kind", "update")
def filters_what_was_updated(bench: Bench) -> None:
    """goes by what an update said, also after a mark, and not by what was told before"""
    kinds = Filter(kinds=("procedural",))
    with bench.open() as memory:
        changed, same = _write(
            memory,
            make_item(WANTED[0]),
            Item(WANTED[1], SHOP, AT, "procedural"),
            others=[Item("", SHOP, AT, "episodic")],
        )
        memory.update(SHOP, changed, Item(WANTED[0], SHOP, AT, "procedural"))
        memory.update(SHOP, same, Item(f"{WANTED[1]} Always.", SHOP, AT, "procedural"))
        if bench.offers("deprecate"):
            memory.deprecate(SHOP, [same], LATER)
        memory.settle(20)
        _expect(memory, kinds, [changed, same])
        _expect(memory, Filter(kinds=("project",)), [])
