"""The module path of a child: copies of the adapters and of what they may know of the harness, never the suite.

A folder of COLDWARM_ADAPTER_PATH stands on it as it is, unless the suite, the cache or the child's own folder lies
below: then links to what is beside those do. Copies are named by their content and made once in each process.
"""

from __future__ import annotations

import compileall
import hashlib
import importlib.util
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness import paths
from harness.machine import leftovers
from harness.machine.sandbox import list_beside
from harness.machine.site_packages import list_outside

ALLOW = "COLDWARM_ALLOW_READ"
"""Names what every child may read as well: files and folders, with the separator of PATH between them."""
KNOWN = (
    "__init__.py",
    "adapter/__init__.py",
    "adapter/base.py",
    "adapter/capabilities.py",
    "adapter/codec.py",
    "adapter/contract.py",
    "adapter/embeddings.py",
    "backend/__init__.py",
    "backend/raised.py",
    "backend/startup.py",
    "backend/worker.py",
    "machine/__init__.py",
    "machine/crowds.py",
    "machine/namespaces.py",
    "machine/sandbox.py",
)
"""What a child has of the harness."""
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Modules:
    """What a child imports from and reads.

    Attributes:
        path: Where a child imports from, first things first.
        reads: What it has to read, the path included.
    """

    path: tuple[str, ...]
    reads: tuple[str, ...]


def find_modules(adapter: str, own: Path, python: str = sys.executable) -> Modules:
    """What a child of this adapter imports from and reads.

    Args:
        own: The folder that holds the child's store and home.
        python: The interpreter that it runs in.
    """
    own = own.resolve()
    direct, links = list[Path](), dict[str, Path]()
    for place in _list_places(adapter, python):
        if _clear(place, own):
            direct.append(place)
        else:
            # the first folder that has a name wins, as on any module path
            links = {entry.name: entry for entry in sorted(place.iterdir()) if _clear(entry, own)} | links
    links = {each.name: each for each in _find_here(adapter, links) if _clear(each, own)} | links
    links |= _find_lent(adapter, python)
    stage = _stage(adapter, links)
    lent = [
        *paths.list_paths(ALLOW),
        *_list_prefixes(python),
        *_list_packages(python),
        *paths.list_paths("LD_LIBRARY_PATH"),
        *paths.SERVERS.glob("*/venv"),
    ]
    beside = [
        part for each in dict.fromkeys(lent) if each.exists() for part in list_beside(each, (*_list_hidden(), own))
    ]
    path = (str(stage), *map(str, direct))
    return Modules(path, (*path, *map(str, links.values()), *map(str, beside)))


def _list_hidden() -> tuple[Path, ...]:
    """What no child may see, even where it lies in a folder that is lent."""
    ours = ("harness", "tasks") if paths.INSTALLED else ("fixtures", "reports", "tasks", "tests", ".git")
    return (*(paths.ROOT / name for name in ours), paths.RUNS, paths.cache_root())


def _clear(place: Path, own: Path) -> bool:
    """Whether nothing hidden lies there, nor the folder of the child among those of others."""
    place = place.resolve()
    within = any(each == place or each in place.parents for each in _list_hidden())
    return not within and not any(place == each or place in each.parents for each in (*_list_hidden(), own))


def _list_places(adapter: str, python: str) -> Iterator[Path]:
    """Folders of adapters beside the checkout's: those of COLDWARM_ADAPTER_PATH, and where else it is installed.

    Installed, all packages lie beside the suite, and a folder cannot be listed when something in it is hidden.
    """
    if paths.INSTALLED:
        yield paths.ROOT
    for place in paths.list_paths(paths.PLACES):
        if place != paths.ROOT and place.is_dir():
            yield place
    module = _list_installed(adapter)
    if module is not None and not _lies_within(
        module.parent, (paths.ROOT, *_list_prefixes(python), *_list_prefixes(sys.executable))
    ):
        yield module.parent


def _find_lent(adapter: str, python: str) -> Mapping[str, Path]:
    """An adapter that is installed beside our packages: another interpreter gets it alone, as it has its own."""
    module = _list_installed(adapter)
    if python == sys.executable or module is None or not _lies_within(module, _list_prefixes(sys.executable)):
        return {}
    return {} if module.stem in ("adapters", "harness", "tasks") else {module.name: module}


def _list_installed(adapter: str) -> Path | None:
    """The file or the folder of the adapter's topmost module, as this process would import it."""
    with suppress(ImportError, ValueError, AttributeError):
        spec = importlib.util.find_spec(_name_top_package(adapter))
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
    return None


def _lies_within(place: Path, folders: Iterable[Path]) -> bool:
    return any(each == place or each in place.parents for each in folders)


def _find_here(adapter: str, found: Mapping[str, Path]) -> Iterator[Path]:
    """The adapter's module or package in the working folder, if no other folder has it; nothing else of that folder."""
    top = _name_top_package(adapter)
    names = (f"{top}.py", top)
    if any((place / name).exists() for place in (paths.ROOT, *paths.list_paths(paths.PLACES)) for name in names):
        return
    if not {*names} & {*found} and importlib.util.find_spec(top) is None:
        yield from (Path.cwd() / name for name in names if (Path.cwd() / name).exists())


def _name_top_package(adapter: str) -> str:
    return adapter.partition(":")[0].partition(".")[0]


def _list_prefixes(python: str) -> tuple[Path, ...]:
    """An interpreter with its library, and those of the one that it borrows from."""
    ours = (Path(sys.prefix), Path(sys.base_prefix)) if python == sys.executable else ()
    return (*ours, Path(python).absolute().parent.parent, Path(python).resolve().parent.parent)


def _list_packages(python: str) -> Iterator[Path]:
    """Packages of an interpreter that lie elsewhere; a checkout of ours that is installed so is staged instead."""
    for place in map(Path.resolve, list_outside(_list_prefixes(python), own=python == sys.executable)):
        if paths.ROOT not in (place, *place.parents):
            yield from list_beside(place, (paths.ROOT,))


def _stage(adapter: str, links: Mapping[str, Path]) -> Path:
    """A folder with copies of what belongs to the checkout, and with these links."""
    files = {str(path.relative_to(paths.ROOT)): path for path in _list_copies(adapter)}
    hasher = hashlib.sha256(repr(sorted(links.items())).encode())
    for name, path in sorted(files.items()):
        # a NUL on both sides, so that no name runs into what a file holds
        hasher.update(f"\0{name}\0".encode() + path.read_bytes())
    with _LOCK:
        target = leftovers.process_folder() / hasher.hexdigest()[:16]
        if not target.exists():
            draft = target.with_suffix(".part")
            shutil.rmtree(draft, ignore_errors=True)  # an earlier try may have failed half way
            for name, path in files.items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, draft / name)
            compileall.compile_dir(draft, quiet=2, stripdir=draft)  # once, as no child can write there
            for name, path in links.items():
                # a copy of ours goes before a link of the same name
                with suppress(FileExistsError):
                    (draft / name).symlink_to(path)
            draft.replace(target)
    return target


def _list_copies(adapter: str) -> Iterator[Path]:
    """What a child has of the house: what it needs, the adapters, and the folder of the adapter's own module."""
    yield from (paths.ROOT / "harness" / name for name in KNOWN)
    yield from (each for each in (paths.ROOT / "adapters").rglob("*") if each.is_file() and each.suffix != ".pyc")
    *folders, _ = adapter.partition(":")[0].split(".")
    if folders and folders[0] != "tasks" and folders != ["harness"]:
        yield from paths.ROOT.joinpath(*folders).glob("*.py")
        for depth in range(1, len(folders)):
            yield from paths.ROOT.joinpath(*folders[:depth]).glob("__init__.py")
