"""Does an adapter keep the contract? Some sixty checks through the same child processes as a run, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.backend import client, interpreters, registry
from harness.backend.client import Deadlines
from harness.backend.store import ChildStore, make_opaque_name
from harness.conformance import capturing, change_checks, filter_checks, work_tree_checks, write_checks  # noqa: F401  they register their checks, in this order
from harness.conformance.bench import CHECKS, Bench, ContractCheck, run
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.embedder import Encoder, MissingEmbedderError, choose
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter
from harness.machine import extras, leftovers
from harness.model.backend import Backend
from harness.model.trial import Spec
from harness.play.backends import Playable
from harness.play.children import Children

__all__ = ["CHECKS", "CheckOutcome", "ContractCheck", "Setting", "open_setting"]


DEADLINES = Deadlines()


@dataclass(frozen=True)
class CheckOutcome:
    """How one check ended.

    Attributes:
        why: What broke, which capability is declared as unsupported, or why it means nothing.
    """

    check: ContractCheck
    status: Literal["kept", "broken", "unsupported", "not-applicable"]
    why: str = ""


@dataclass
class Setting:
    """One adapter with all that its checks share.

    Attributes:
        chat: Who answers a model inside; None: it has none.
        embedder: The digest of the one behind the gateway.
    """

    playable: Playable
    children: Children
    folder: Path
    chat: str | None
    embedder: str

    def judge(self, check: ContractCheck) -> CheckOutcome:
        """One check on a store of its own. EmbedderError: the adapter embeds, and nobody here can."""
        support = self.playable.backend.support
        for name in check.needs:
            if not support[name].supported:
                return CheckOutcome(check, "unsupported", f"{name}: {support[name].note}")
        if check.verbatim and support["extracts"].supported:
            return CheckOutcome(check, "not-applicable", "a model inside rewrites what it is told")
        embeds = self.playable.embeds
        with self.lend(bare=check.bare and not embeds) as (store, meter):
            why = run(check, Bench(store, meter, embeds))
        self.children.check()
        return CheckOutcome(check, "broken", why) if why else CheckOutcome(check, "kept")

    def try_open(self) -> None:
        """Opens and closes an empty store. MemoryFault: no check could say more than that."""
        with self.lend() as (store, _):
            store.open().close()

    @contextmanager
    def lend(self, *, bare: bool = False) -> Iterator[tuple[ChildStore, Meter]]:
        """An empty store and its meter.

        Args:
            bare: It is told that there is no embedder.
        """
        children = replace(self.children, dims=0) if bare else self.children
        # the name of its folder must not tell a backend what is checked
        with children.lend(self.playable, 1, self.folder / "work" / make_opaque_name()) as lent:
            yield lent


@contextmanager
def open_setting(
    spec: Spec, embedder: Encoder | None = None, deadlines: Deadlines = DEADLINES, cache: Path | None = None
) -> Iterator[Setting]:
    """Where one adapter is checked. RegistryError: nobody knows it; MemoryFault: it cannot say what it is;
    MissingEmbedderError: it needs vectors, and none can be made here.

    Args:
        cache: The file in which embeddings are kept; None: in memory.
    """
    entry = registry.find(spec)
    if entry.reference is None:
        raise registry.RegistryError(f"'{spec.adapter}' is a control without an adapter")
    model, launch = embedder or choose(), interpreters.make_launcher(spec)
    with leftovers.make_temporary() as folder:
        description = client.describe(entry.reference, folder / "describe", deadlines, launch, spec.settings)
        registry.check_settings(spec, description.settings, description.problem)
        if description.embeds and not model.dims:
            raise MissingEmbedderError(extras.explain_lack("onnxruntime", f"{spec.label}: the embedder"))
        backend = Backend(name=description.name, version=description.version, support=description.support)
        withheld = client.list_secrets(spec.settings, description.secrets)
        chat = StandIn() if backend.supports("extracts") else None
        with (
            closing(EmbeddingCache(cache, model)) as embeddings,
            Gateway(embeddings, chat) as gateway,
            Children.opened(gateway, folder, deadlines, model.dims) as children,
        ):
            playable = Playable(
                entry, spec, backend, description.source, withheld, description.server, description.embeds
            )
            yield Setting(playable, children, folder, chat.name if chat else None, model.digest)
