"""What is left on disk of strings and vectors, layer by layer, and where in a file it lies if its format tells."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from harness.adapter import Layer
from harness.events import Sighting
from harness.scan import postgres, raw, sqlite
from harness.scan.needles import Match, Needles

__all__ = ["Needles", "Scan", "scan"]

SHOWN = 5
"""Problems told in full; the rest is counted."""


@dataclass
class Scan:
    """What a look at one layer found. bytes: the size of the files. sightings: one per name, form, file and place."""

    files: int = 0
    bytes: int = 0
    sightings: list[Sighting] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def problem(self) -> str | None:
        """What could not be looked at, in one line: never a pass."""
        more = len(self.problems) - SHOWN
        told = [*self.problems[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        return " ".join("; ".join(told).split()) or None


def scan(root: Path, layer: Layer, needles: Needles) -> Scan:
    """Looks for every needle in the layer's files below `root`; each file is read once. Never raises for what it meets.

    Places: in a SQLite file `rows table.column`, `index`, `free page`, `unused part of a page`, `write-ahead log`,
    `journal`; in a PostgreSQL folder `live tuple`, `dead tuple`, `index entry`, `dead index entry`, `free space of a
    page`, `write-ahead log`, or the folder of any other file.
    """
    found = Scan()
    if layer.format == "remote":
        found.problems.append("remote: its bytes cannot be read from here")
        return found
    try:
        top = root / layer.path
        if Path(layer.path).is_absolute() or not top.resolve().is_relative_to(root.resolve()):
            found.problems.append(f"{layer.path[:200]!a} lies outside the space")
            return found
        _Look(root, top, layer, needles, found).all()
    except (OSError, ValueError, RuntimeError) as error:  # an adapter may name anything: a null, a loop of links
        reason = getattr(error, "strerror", None) or error
        found.problems.append(f"{layer.path[:200]!a} cannot be read: {reason}")
    if not found.files and not found.problems:
        found.problems.append(f"{layer.path} holds no file")
    return found


class _Look:
    """One scan at work."""

    def __init__(self, root: Path, top: Path, layer: Layer, needles: Needles, found: Scan) -> None:
        self.root, self.top, self.needles, self.found = root, top, needles, found
        self.databases = 0
        self.cluster = postgres.Cluster(top)
        self.read = {"file": self._plain, "sqlite": self._sqlite, "postgres": self._postgres}[layer.format]
        self.format = layer.format

    def all(self) -> None:
        for path in self._files():
            self._file(path)
        if self.format == "sqlite" and self.found.files and not self.databases:
            self._problem(self.top, "is not a SQLite database: only its raw bytes were searched")
        if self.format == "postgres" and self.found.files and not self.cluster.valid:
            self._problem(self.top, "is not a PostgreSQL data folder: only its raw bytes were searched")

    def _files(self) -> list[Path]:
        files = list(raw.files(self.top, self.found.problems.append))
        if self.format == "sqlite" and files == [self.top]:
            for end in sqlite.LOGS:
                files += raw.files(self.top.with_name(self.top.name + end), self.found.problems.append)
        return files

    def _problem(self, path: Path, what: str) -> None:
        self.found.problems.append(f"{path.name[:200]!a} {what}")

    def _file(self, path: Path) -> None:
        """One file of a store that may still be at work: what vanishes meanwhile was not there."""
        tally = _Tally(raw.shown(path.relative_to(self.root)))
        try:
            with raw.opened(path) as file:
                size = os.fstat(file).st_size
                self.read(path, file, size, tally)
        except FileNotFoundError:
            return
        except OSError as error:
            self._problem(path, f"cannot be read: {error.strerror}")
            return
        finally:
            self.found.sightings += tally.sightings()
        self.found.files += 1
        self.found.bytes += size

    def _plain(self, path: Path, file: int, size: int, tally: _Tally, place: str = "") -> None:
        for match in raw.search(file, size, self.needles):
            tally.add(match, place)

    def _postgres(self, path: Path, file: int, size: int, tally: _Tally) -> None:
        if not self.cluster.relation(path):
            self._plain(path, file, size, tally, self.cluster.folder(path) if self.cluster.valid else "")
            return
        for match in raw.search(file, size, self.needles):
            tally.add(match, self.cluster.kind(file, match.start))

    def _sqlite(self, path: Path, file: int, size: int, tally: _Tally) -> None:
        pages = sqlite.Pages(file, size)
        log = next((what for end, what in sqlite.LOGS.items() if path.name.endswith(end)), None)
        if log or not pages.valid:
            self.databases += not size  # what is empty is an empty database
            self._plain(path, file, size, tally, log or "")
            return
        self.databases += 1
        try:
            for place, match in sqlite.rows(path, self.needles):
                tally.add(match, place, row=True)
        except sqlite.Unreadable as reason:
            self._problem(path, f"its rows cannot be read: {reason}")
        for match in raw.search(file, size, self.needles):
            kind = pages.kind(match.start)
            if kind in (sqlite.ROW, sqlite.OTHER) and tally.met(match):
                continue  # the bytes of a row that was seen as a row
            tally.add(match, sqlite.UNUSED if kind in (sqlite.ROW, sqlite.OTHER) else kind)


class _Tally:
    """The sightings in one file, added up by needle, form and place."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: dict[tuple[str, str, str, bool], tuple[int, int, float | None]] = {}
        self._rows: dict[tuple[str, str, bool], int | None] = {}

    def add(self, match: Match, place: str, *, row: bool = False) -> None:
        """row: found in a value, so its offset in the file is not known yet."""
        near = match.nearness is not None
        key = (match.fact, match.form, place, near)
        count, offset, nearness = self._seen.get(key, (0, match.start, match.nearness))
        nearest = max(nearness or 0, match.nearness or 0) if near else None
        self._seen[key] = (count + 1, min(offset, match.start), nearest)
        if row:
            self._rows.setdefault((match.fact, match.form, near), None)

    def met(self, match: Match) -> bool:
        """Whether a row shows this; the first such byte is then where its rows begin to show it."""
        key = (match.fact, match.form, match.nearness is not None)
        if key not in self._rows:
            return False
        first = self._rows[key]
        self._rows[key] = match.start if first is None else min(first, match.start)
        return True

    def sightings(self) -> list[Sighting]:
        """In order of name, form and place. Of rows, the offset is that of the first row that holds it in one piece."""
        found = []
        for (fact, form, place, near), (count, first, nearness) in sorted(self._seen.items()):
            at = self._rows.get((fact, form, near)) or 0 if place.startswith("rows ") else first
            found.append(
                Sighting(fact=fact, path=self._path, form=form, count=count, offset=at, place=place, nearness=nearness)
            )
        return found
