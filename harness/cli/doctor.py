"""What works on this machine: versions, embedder, git, write access, and every adapter opened for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from harness import paths
from harness.adapter import Space
from harness.backend import client, environments, interpreters, registry, servers
from harness.backend.client import Deadlines, MemoryFault
from harness.cli import env
from harness.gateway.cache import EmbeddingCache
from harness.gateway.embedder import EmbedderError, Encoder, MissingEmbedderError, choose
from harness.gateway.gateway import Gateway, GatewayError
from harness.machine import bubblewrap, containment, extras, leftovers, story_clock
from harness.model.trial import Spec
from harness.play.readers.chat import UNCONTAINED

PACKAGES = (
    "mem0ai", "qdrant-client", "faiss-cpu", "chromadb", "letta-client", "openai", "pandas", "datasets",
)  # fmt: skip


@dataclass(frozen=True)
class Examined:
    """One line of the doctor: what was looked at, whether it is good, and what was seen."""

    name: str
    good: bool
    seen: str
    absent: bool = False
    """Not installed, which breaks only what asks for it."""


def examine(out: Path, specs: Sequence[Spec] = ()) -> Iterator[Examined]:
    """Everything that a run needs, in the order in which it needs it; these backends beside those that are known."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Examined("python", sys.version_info >= (3, 11), version)
    yield _examine_git()
    yield Examined("coldwarm", _are_ours(), metadata.version("coldwarm"))
    for package in PACKAGES:
        yield _examine_package(package)
    yield Examined("backends", True, f"children are contained by: {containment.describe()} (docs/containment.md)")
    yield Examined("checks", True, bubblewrap.describe_containment())
    yield _examine_clock()
    yield _examine_agents()
    yield _examine_folder("cache", paths.cache_root())
    yield _examine_folder("reports", out)
    embedder = choose()
    try:
        embedder.encode(["a line of text"])
        good = Examined("embedder", True, f"{embedder.name}, checksums match ({embedder.digest[:12]})")
    except MissingEmbedderError as error:
        good = Examined("embedder", True, str(error), absent=True)
    except EmbedderError as error:
        # Adapters are opened with this embedder, so nothing more can be said of them.
        yield Examined("embedder", False, str(error))
        return
    yield good
    for environment in environments.list_made():
        yield Examined("environment", True, env.describe(environment))
    try:
        yield from _examine_adapters(embedder, specs)
    except GatewayError as error:
        yield Examined("gateway", False, str(error))


def _examine_clock() -> Examined:
    """What `--clock story` needs."""
    lack = story_clock.explain_missing()
    return Examined("clock", True, lack or f"of a story: {story_clock.find_library()}", absent=bool(lack))


def _examine_agents() -> Examined:
    """Chat models and agent programs that do jobs by themselves."""
    if bubblewrap.is_available():
        return Examined("agents", True, "contained by bubblewrap, without a network but their model")
    if os.environ.get(UNCONTAINED):
        return Examined("agents", True, f"not contained, as {UNCONTAINED} is set")
    return Examined("agents", True, f"do not play: bubblewrap is not here, and {UNCONTAINED} is not set", absent=True)


def _examine_git() -> Examined:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError) as error:
        return Examined("git", False, f"cannot be run: {error}")
    return Examined("git", True, done.stdout.strip())


def _are_ours() -> bool:
    """`adapters` and `tasks` are the ones beside this harness, not packages of the same name from elsewhere."""
    folders = [__import__(name).__path__[0] for name in ("adapters", "tasks")]
    return all(Path(path).parent == paths.ROOT for path in folders)


def _examine_package(name: str) -> Examined:
    try:
        return Examined(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        extra = extras.EXTRAS.get(name.replace("-", "_"), "all")
        return Examined(name, True, f"not installed; {extras.install(extra)}", absent=True)


def _examine_folder(name: str, folder: Path) -> Examined:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Examined(name, False, f"{folder} cannot be written: {error.strerror}")
    return Examined(name, True, f"{folder} can be written, {shutil.disk_usage(folder).free // 2**30} GiB free")


def _examine_adapters(embedder: Encoder, specs: Sequence[Spec]) -> Iterator[Examined]:
    known = [Spec(adapter=name) for name in registry.list_adapters()]
    with leftovers.make_temporary() as home, Gateway(EmbeddingCache(None, embedder)) as gateway:
        for at, spec in enumerate((*known, *specs)):
            if (reference := registry.find(spec).reference) is not None:
                # A number, as a label may hold a slash, in a setting that is a path.
                yield _try_opening(spec, reference, home / str(at), gateway, embedder.dims)


def _try_opening(spec: Spec, reference: str, folder: Path, gateway: Gateway, dims: int) -> Examined:
    """Opens the adapter on an empty folder and closes it again."""
    name, root = spec.label, folder / "store"
    root.mkdir(parents=True)
    gateway.register(name)
    try:
        launch = interpreters.make_launcher(spec)
        description = client.describe(reference, folder / "describe", launch=launch, settings=spec.settings)
        if description.unfit:
            return Examined(f"adapter {name}", False, description.unfit)
        if description.embeds and not dims:
            return Examined(
                f"adapter {name}", True, extras.explain_lack("onnxruntime", "it needs vectors: the embedder"), True
            )
        if description.server is not None:  # asked for by name only, so that its absence breaks nothing
            lacks = servers.explain_missing(description.server)
            return Examined(f"adapter {name}", True, lacks or "its server is installed", bool(lacks))
        memory = client.open_memory(
            reference,
            Space(str(root), gateway.url, name, dims, 1, dict(spec.settings)),
            folder / "home",
            Deadlines(),
            launch,
        )
        memory.close()
    except MemoryFault as error:  # refused: it lacks a key, and is asked for by name only as well
        # No kind of fault says that a package is missing: these words of its message do.
        absent = error.fault.kind == "refused" or "is not installed" in str(error)
        return Examined(f"adapter {name}", absent, interpreters.explain_missing(spec, error), absent)
    finally:
        gateway.unregister(name)
    return Examined(f"adapter {name}", True, f"{memory.description.version} opens and closes")
