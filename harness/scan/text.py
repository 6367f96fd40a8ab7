"""What is left on disk: the bytes of canaries in every file of a declared layer. Never follows a link outside."""

from __future__ import annotations

import mmap
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.adapter import Layer
from harness.events import Sighting

ENCODINGS = ("utf-8", "utf-16-le")


@dataclass
class Scan:
    """What a look at one layer found. `problem` says what could not be looked at: never a pass."""

    files: int = 0
    bytes: int = 0
    sightings: list[Sighting] = field(default_factory=list)
    problem: str | None = None


def scan(root: Path, layer: Layer, canaries: Mapping[str, str]) -> Scan:
    """Looks for every canary (fact id -> string) in the raw bytes of the layer's files below `root`."""
    found = Scan()
    if layer.format == "remote":
        found.problem = "remote: its bytes cannot be read from here"
        return found
    needles = [(fact, form, text.encode(form)) for fact, text in sorted(canaries.items()) for form in ENCODINGS]
    top = root / layer.path
    try:
        if Path(layer.path).is_absolute() or not top.resolve().is_relative_to(root.resolve()):
            found.problem = f"{layer.path} lies outside the space"
            return found
        for path in _files(top, found):
            _read(path, path.relative_to(root).as_posix(), needles, found)
    except (OSError, ValueError, RuntimeError) as error:  # an adapter may name anything: a null, a loop of links
        found.problem = f"{layer.path[:200]!a} cannot be read: {getattr(error, 'strerror', None) or error}"
    if not found.files and found.problem is None:
        found.problem = f"{layer.path} holds no file"
    return found


def _files(top: Path, found: Scan) -> Iterator[Path]:
    for path in sorted(top.rglob("*")) if top.is_dir() and not top.is_symlink() else [top]:
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue  # vanished, or was never there: a layer without any file says so
        if stat.S_ISREG(mode):
            yield path
        elif not stat.S_ISDIR(mode):
            found.problem = f"{path.name} is not a regular file and was not followed"


def _read(path: Path, name: str, needles: list[tuple[str, str, bytes]], found: Scan) -> None:
    """One file of a store that may still be at work: what vanishes meanwhile was not there."""
    try:
        sightings, size = list(_sightings(path, name, needles)), path.stat().st_size
    except FileNotFoundError:
        return
    found.files += 1
    found.bytes += size
    found.sightings += sightings


def _sightings(path: Path, name: str, needles: list[tuple[str, str, bytes]]) -> Iterator[Sighting]:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for fact, form, needle in needles:
                first = data.find(needle)
                if first >= 0:
                    yield Sighting(fact=fact, path=name, form=form, count=_count(data, needle, first), offset=first)


def _count(data: mmap.mmap, needle: bytes, at: int) -> int:
    amount = 0
    while at >= 0:
        amount, at = amount + 1, data.find(needle, at + len(needle))
    return amount
