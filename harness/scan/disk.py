"""What is left on disk of strings and vectors, layer by layer, and where in a file it lies if its format tells."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.adapter import Layer
from harness.log.parts import Sighting, Weight
from harness.machine import files
from harness.scan import postgres, raw, sqlite
from harness.scan.needles import Match, Needles
from harness.scan.packed import Unpacking

__all__ = ["Needles", "Scan", "Survey", "scan", "scan_layers"]

MOST = 4 << 30
"""Bytes of one folder that are searched, holes of sparse files not counted."""
FILES = 100_000
"""Files of one folder that are opened."""
SHOWN = 5
"""Problems told in full; the rest is counted."""
UNDECLARED = Layer("undeclared places", "..", "file")
"""A trial's folder without its declared layers: homes, temporary folders, output, files in and beside the root."""


@dataclass
class Scan:
    """What a look at one layer found.

    Attributes:
        bytes: The size of the files.
        dark: Bytes that look like no text, in files in which nothing was recognised.
        vectorless: The same, in files in which no vector was recognised.
        sightings: One per name, form, file and place.
        weights: One per column of a SQLite file, and per other file.
    """

    files: int = 0
    bytes: int = 0
    dark: int = 0
    vectorless: int = 0
    sightings: list[Sighting] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def problem(self) -> str | None:
        """What could not be looked at, in one line: never a pass."""
        more = len(self.problems) - SHOWN
        told = [*self.problems[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        return " ".join("; ".join(told).split()) or None


_OPAQUE: tuple[tuple[str, bytes, bytes], ...] = (
    ("Parquet", b"PAR1", b"PAR1"),
    ("an Arrow file", b"ARROW1", b"ARROW1"),
    ("Avro", b"Obj\x01", b""),
    ("a Lance file", b"", b"LANC"),
    ("a table of LevelDB", b"", b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"),
    ("a table of RocksDB", b"", b"\xf7\xcf\xf4\x85\xb7\x41\xe2\x88"),
    ("an archive of 7-Zip", b"7z\xbc\xaf\x27\x1c", b""),
    ("an archive of RAR", b"Rar!\x1a\x07", b""),
    ("a file of lzip", b"LZIP\x01", b""),
    ("a file of lzop", b"\x89LZO\0\r\n", b""),
    ("a file of compress", b"\x1f\x9d\x90", b""),
    ("a file of bare LZMA", b"\x5d\0\0", b""),
)
"""Formats that are not unpacked here, or whose pages may be bare compressed blocks, which nothing marks; how such
a file begins and ends."""


def _name_opaque(opened: int, size: int) -> str:
    """What holds pages that are not searched; "" for any other file."""
    if size < 12:
        return ""
    head, tail = os.pread(opened, 8, 0), os.pread(opened, 8, size - 8)
    name = next((name for name, begin, end in _OPAQUE if head.startswith(begin) and tail.endswith(end)), "")
    # other files may begin and end like Parquet: the length of its footer has to fit, too
    return name if name != "Parquet" or 0 < int.from_bytes(tail[:4], "little") <= size - 12 else ""


class Survey:
    """Every file below a folder, read once, before anybody is asked where data lie: nobody can tidy up for the look.

    Places: in a SQLite file `rows table.column`, `index`, `free page`, `unused part of a page`, `write-ahead log`,
    `journal`; in a PostgreSQL folder `live tuple`, `dead tuple`, `index entry`, `dead index entry`, `free space of a
    page`, `write-ahead log`, or the folder of any other file.

    Attributes:
        root: What the paths of layers and sightings are relative to.
        skip: Folders of ours. Never raises for what it meets.
    """

    def __init__(self, folder: Path, root: Path, needles: Needles, skip: Collection[Path] = ()) -> None:
        self._top, self._root, self._needles = folder.resolve(), root.resolve(), needles
        self._clusters: dict[Path, postgres.Cluster | None] = {}
        self._files: dict[Path, _File] = {}
        self._problems: list[tuple[Path, str]] = []
        self._taken: set[Path] = set()
        self._cut = ""
        self._left = MOST
        for number, path in enumerate(raw.list_files(self._top, self._problem, {each.resolve() for each in skip})):
            if number == FILES:
                self._cut = f"only the first {FILES:,} files were searched"
                break
            self._read(path)

    def layer(self, layer: Layer) -> Scan:
        """What lies where an adapter says that data may lie."""
        found = Scan()
        if layer.format == "remote":
            found.problems.append("remote: its bytes cannot be read from here")
            return found
        try:
            place = self._place(layer.path)
            if place is None:
                found.problems.append(f"{layer.path[:200]!a} lies outside the space")
                return found
            self._take(found, [place, *self._logs(place, layer)])
        except (OSError, ValueError, RuntimeError) as error:  # an adapter may name anything: a null, a loop of links
            reason = getattr(error, "strerror", None) or error
            found.problems.append(f"{layer.path[:200]!a} cannot be read: {reason}")
            return found
        self._unlike(found, place, layer)
        if not found.files and not found.problems:
            found.problems.append(f"{layer.path} holds no file")
        return found

    def rest(self) -> Scan:
        """What lies where no layer that was asked for covers it."""
        found = Scan()
        # a copy: `_take` adds each path that it takes, whose problems it would then leave out
        self._take(found, [self._top], but=frozenset(self._taken))
        return found

    def _place(self, named: str) -> Path | None:
        """Where a layer lies; None if that is outside of the space."""
        path = self._root / named
        # the link itself, so that it is told that nobody followed it
        if path.is_symlink():
            inside = path.resolve().is_relative_to(self._root)
            return path.parent.resolve() / path.name if inside else None
        place = path.resolve()
        return place if not Path(named).is_absolute() and place.is_relative_to(self._root) else None

    def _logs(self, place: Path, layer: Layer) -> list[Path]:
        """Files that belong to a database in one file."""
        return [place.with_name(place.name + end) for end in sqlite.BESIDE] if layer.format == "sqlite" else []

    def _take(self, found: Scan, places: Sequence[Path], but: Collection[Path] = ()) -> None:
        def within(path: Path) -> bool:
            return path not in but and any(path.is_relative_to(place) for place in places)

        for path, file in self._files.items():
            if within(path):
                found.files += file.read
                found.bytes += file.size
                found.dark += 0 if file.sightings else file.dark
                # all forms of vectors have this in their name, and no form of a text has
                found.vectorless += 0 if any("float" in each.form for each in file.sightings) else file.dark
                found.sightings += file.sightings
                found.weights += file.weights
                found.problems += file.problems
                self._taken.add(path)
        for path, problem in self._problems:
            if within(path):
                found.problems.append(f"{raw.show_path(self._name(path))} {problem}")
                self._taken.add(path)
        # of each layer, as what was not searched may lie in any
        found.problems += [self._cut] if self._cut else []
        found.problems += [
            f"{raw.show_path(self._name(place))} is not a regular file and was not followed"
            for place in places
            if place.is_symlink() and place not in dict(self._problems)
        ]

    def _unlike(self, found: Scan, place: Path, layer: Layer) -> None:
        """A format that was declared and is not met."""
        met = [file for path, file in self._files.items() if path.is_relative_to(place) and file.read]
        if layer.format == "sqlite" and met and not any(file.database for file in met):
            found.problems.append(f"{place.name[:200]!a} is not a SQLite database: only its raw bytes were searched")
        if layer.format == "postgres" and met and not postgres.Cluster(place).valid:
            found.problems.append(
                f"{place.name[:200]!a} is not a PostgreSQL data folder: only its raw bytes were searched"
            )

    # --- reading ---

    def _problem(self, path: Path, what: str) -> None:
        self._problems.append((path, what))

    def _name(self, path: Path) -> Path:
        return Path(os.path.relpath(path, self._root))

    def _read(self, path: Path) -> None:
        """One file of a store that may still be at work: what vanishes meanwhile was not there."""
        tally, file = _Tally(raw.show_path(self._name(path))), _File()
        try:
            with files.open_regular(path) as opened:
                file.size = os.fstat(opened).st_size
                searched = self._allow(path, opened, file)
                self._search(path, opened, searched, file, tally)
                held, file.dark = raw.weigh_file(opened, searched)
                if not file.database:
                    file.weigh(tally.path, "", held, file.dark)
                file.read = 1
        except FileNotFoundError:
            pass
        except OSError as error:
            # what cannot be read is not among the bytes that were looked at
            file.size = 0
            file.problems.append(f"{path.name[:200]!a} cannot be read: {error.strerror}")
        file.sightings = tally.sightings()
        self._files[path] = file

    def _allow(self, path: Path, opened: int, file: _File) -> int:
        """How much of a file is searched: what is left of the folder's share. What is not searched is told."""
        for start, end in raw.find_written(opened, file.size):
            if end - start > self._left:
                most, self._left = start + self._left, 0
                told = f"{path.name[:200]!a} was searched in its first {most:,} of {file.size:,} bytes only"
                file.problems.append(told)
                return most
            self._left -= end - start
        return file.size

    def _search(self, path: Path, opened: int, size: int, file: _File, tally: _Tally) -> None:
        cluster = self._cluster(path.parent)
        pages = sqlite.Pages(opened, size)
        log = next((what for end, what in sqlite.LOGS.items() if path.name.endswith(end)), "")
        if cluster is not None:
            place = "" if cluster.relation(path) else cluster.folder(path)
            for match in self._matches(path, opened, size, file):
                tally.add(match, cluster.kind(opened, match.start) if cluster.relation(path) else place)
        elif log or not pages.valid:
            file.database = not file.size  # what is empty is an empty database
            for match in self._matches(path, opened, size, file):
                tally.add(match, log)
        else:
            file.database = True
            self._database(path, opened, size, file, tally, pages)

    def _matches(self, path: Path, opened: int, size: int, file: _File) -> Iterator[Match]:
        """Matches in the bytes as they stand, then in what they unpack to."""
        yield from raw.search(opened, size, self._needles)
        unpacking = Unpacking(self._needles)
        yield from raw.find_unpacked(opened, size, unpacking)
        if unpacking.unread:
            file.problems.append(f"{path.name[:200]!a} holds {unpacking.unread}")
        if opaque := _name_opaque(opened, size):
            file.problems.append(f"{path.name[:200]!a} is {opaque}, whose compressed parts are not searched")

    def _cluster(self, folder: Path) -> postgres.Cluster | None:
        """The PostgreSQL data folder that a folder belongs to."""
        if folder not in self._clusters:
            own = postgres.Cluster(folder)
            inside = folder != self._top and folder.is_relative_to(self._top)
            self._clusters[folder] = own if own.valid else self._cluster(folder.parent) if inside else None
        return self._clusters[folder]

    def _database(self, path: Path, opened: int, size: int, file: _File, tally: _Tally, pages: sqlite.Pages) -> None:
        try:
            weights: dict[str, tuple[int, int]] = {}
            # rows first: `met` tells by them which of the file's bytes were seen already
            for place, match in sqlite.find_in_rows(path, self._needles, weights):
                tally.add(match, place, row=True)
            for place, (held, dark) in weights.items():
                file.weigh(tally.path, place, held, dark)
        except sqlite.Unreadable as reason:
            file.problems.append(f"{path.name[:200]!a} its rows cannot be read: {reason}")
        for match in self._matches(path, opened, size, file):
            kind = pages.kind(match.start)
            if kind in (sqlite.ROW, sqlite.OTHER) and tally.met(match):
                continue  # the bytes of a row that was seen as a row
            tally.add(match, sqlite.UNUSED if kind in (sqlite.ROW, sqlite.OTHER) else kind)


@dataclass
class _File:
    """One file as it was read; `read` is 1 if it could be."""

    size: int = 0
    dark: int = 0
    read: int = 0
    database: bool = False
    sightings: list[Sighting] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def weigh(self, path: str, place: str, held: int, dark: int) -> None:
        self.weights += [Weight(path=path, place=place, bytes=held, dark=dark)] if held else []


def scan(root: Path, layer: Layer, needles: Needles) -> Scan:
    """Looks for every needle in one layer below `root`."""
    return Survey(root, root, needles).layer(layer)


def scan_layers(survey: Survey, layers: Sequence[Layer]) -> Iterator[tuple[Layer, bool, Scan]]:
    """Each layer that was declared, then everything else: (layer, whether it was declared, what was found there)."""
    for layer in layers:
        yield layer, True, survey.layer(layer)
    yield UNDECLARED, False, survey.rest()


class _Tally:
    """The sightings in one file, added up by needle, form and place."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen: dict[tuple[str, str, str, bool], tuple[int, int, float | None]] = {}
        self._rows: dict[tuple[str, str, bool], int | None] = {}

    def add(self, match: Match, place: str, *, row: bool = False) -> None:
        """Counts one match.

        Args:
            row: Found in a value, so its offset in the file is not known yet.
        """
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
        """Sightings in order of name, form and place. Of rows, the offset is that of the first row that holds it in one
        piece.
        """
        found = []
        for (fact, form, place, near), (count, first, nearness) in sorted(self._seen.items()):
            # `or` binds closer than `if`: 0 where no row holds it in one piece
            at = self._rows.get((fact, form, near)) or 0 if place.startswith("rows ") else first
            found.append(
                Sighting(fact=fact, path=self.path, form=form, count=count, offset=at, place=place, nearness=nearness)
            )
        return found
