"""What a check of the adapter contract works with: fresh stores, each open in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.adapter import Hit, Item, Scope, Source
from harness.backend.client import MemoryFault, RemoteMemory
from harness.backend.store import ChildStore
from harness.gateway.meter import Meter
from harness.model.backend import Backend
from harness.play.store import Hindered

SHOP = Scope(repo="storefront", org="acme")
AT = "2026-02-03T10:00:00+00:00"
SOURCE = Source("1a2b3c4d5e", "docs/deploy.md", 12, "monday")


class Broken(AssertionError):  # noqa: N818  a finding, not an error
    """A line of the contract that an adapter does not keep: what was expected, what was seen."""


@dataclass(frozen=True)
class ContractCheck:
    """One check of the contract.

    Attributes:
        needs: Capabilities without which there is nothing to check.
        verbatim: Wants a text back as it was told.
        bare: Told that there is no embedder, unless the adapter cannot do without.
    """

    name: str
    says: str
    needs: tuple[str, ...]
    run: Callable[[Bench], None]
    verbatim: bool = False
    bare: bool = False


CHECKS: list[ContractCheck] = []
"""Filled by the modules of checks, in the order in which a reader would ask."""


def check(
    *needs: str, verbatim: bool = False, bare: bool = False
) -> Callable[[Callable[[Bench], None]], Callable[[Bench], None]]:
    """Registers a function as a check; its docstring is the line of the contract."""

    def register(run: Callable[[Bench], None]) -> Callable[[Bench], None]:
        CHECKS.append(ContractCheck(run.__name__, (run.__doc__ or "").strip(), needs, run, verbatim, bare))
        return run

    return register


@dataclass
class Bench:
    """One empty store of one adapter. Opens are fresh processes; those still open at the end are killed.

    Attributes:
        meter: What it asks the gateway for.
        embeds: As it declares: it cannot do without vectors.
    """

    site: ChildStore
    meter: Meter
    embeds: bool

    @property
    def root(self) -> Path:
        return self.site.root

    @property
    def declaration(self) -> Backend:
        """What the adapter says of itself."""
        return self.site.backend

    def offers(self, *capabilities: str) -> bool:
        return all(self.declaration.support[each].supported for each in capabilities)

    @contextlib.contextmanager
    def open(self) -> Iterator[RemoteMemory]:
        """Closed at the end of the block, as a user would; a fault on the way is the check's."""
        memory = self.site.open()
        try:
            yield memory
        # an interrupt, too, must leave no process behind
        except BaseException:
            memory.kill()
            raise
        memory.close()


def list_sides(bench: Bench) -> list[tuple[Scope, Scope]]:
    """Pairs of scopes that differ in one declared respect, and look alike."""
    base = Scope(org="acme" if bench.offers("scope_org") else None, repo="api" if bench.offers("scope_repo") else None)
    others = {"repo": "api-internal", "org": "acme2", "branch": "release/2", "user": "ana2@example.com"}
    mine = {"repo": "api", "org": "acme", "branch": "release", "user": "ana@example.com"}
    return [
        (replace(base, **{part: mine[part]}), replace(base, **{part: others[part]}))
        for part in others
        if bench.offers(f"scope_{part}")
    ]


def make_item(text: str, scope: Scope = SHOP, **more: Any) -> Item:
    return Item(text, scope, AT, "project", **more)


def remember_ids(memory: RemoteMemory, *items: Item) -> list[str]:
    """Remembers and gives the one id of each; Broken if one was not acknowledged with exactly one."""
    acks = memory.remember(items)
    memory.settle(20)
    for at, ack in enumerate(acks):
        expect(len(ack.ids) == 1, f"item {at} was acknowledged with {len(ack.ids)} ids")
    return [ack.ids[0] for ack in acks]


def find(memory: RemoteMemory, query: str, scope: Scope = SHOP, k: int = 5) -> list[Hit]:
    return memory.recall(query, scope, k, AT)


def holds(hits: list[Hit], text: str) -> bool:
    """Whether some hit carries a text; a store may show more around it."""
    return any(text in hit.text for hit in hits)


def expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Broken(otherwise)


def equal(seen: Any, wanted: Any, what: str) -> None:
    expect(seen == wanted, f"{what}: {str(seen)[:200]} instead of {str(wanted)[:200]}")


def run(each: ContractCheck, bench: Bench) -> str | None:
    """None if it is kept, else why not, on one line. Raises Hindered."""
    try:
        each.run(bench)
    except Broken as broken:
        return " ".join(str(broken).split())
    except MemoryFault as error:
        # what the machine broke says nothing of the adapter
        if error.fault.kind == "machine":
            raise Hindered(error.fault) from None
        return " ".join(str(error).split())[:400]
    return None
