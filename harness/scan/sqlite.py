"""Where in a SQLite database a byte lies, and what its live rows hold. The store itself is never changed."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from harness.machine import leftovers
from harness.scan import raw
from harness.scan.needles import Match, Needles
from harness.scan.packed import Unpacking

MAGIC = b"SQLite format 3\0"
LOGS = {"-wal": "write-ahead log", "-journal": "journal"}
"""Files beside a database, by the end of their name, and what they are."""
BESIDE = (*LOGS, "-shm")
Weights = dict[str, tuple[int, int]]
"""`rows table.column` -> bytes that are not zero, and those of them that are no text."""
SMALLEST = 16
"""Bytes of a value that may hold what it is searched for in fewer, compressed."""
SHORT, KNOWN = 2048, 10_000
"""Bytes of a value that is kept in mind if it held nothing, and how many of those are."""
BATCH = 1 << 20
"""Bytes of values that are searched together."""
COPIED = 1 << 30
"""Bytes of the largest database that is copied, to be read with its log."""
SECONDS = 60.0
"""For reading all rows of one database; those of a sound one of 1 GB take a tenth of it."""
FREE, UNUSED, INDEX, ROW, OTHER = "free page", "unused part of a page", "index", "row", "other"


class Unreadable(Exception):  # noqa: N818  a finding, not an error: the raw bytes are searched all the same
    """Why rows cannot be read, in one line."""


# --- live rows --------------------------------------------------------------------------------------------------------


def find_in_rows(path: Path, needles: Needles, weights: Weights | None = None) -> Iterator[tuple[str, Match]]:
    """(`rows table.column`, match within the value) for every live row of every stored table.

    Stored are shadow tables too, as those of a full-text index. Raises Unreadable at the end if any table was.

    Args:
        weights: Takes what each column holds, as `raw.weigh`.
    """
    weights = {} if weights is None else weights
    with _make_scratch() as folder:
        # immutable: SQLite takes no lock and makes no file beside the store
        database = f"file:{quote(os.fsencode(path.absolute()))}?immutable=1"
        if any(_size(path, end) for end in LOGS):
            database = f"file:{quote(str(_copy(path, folder)))}"  # the log belongs to what is live
        try:
            with closing(sqlite3.connect(database, uri=True)) as link:
                _bound_time(link)
                yield from _find_in_rows(link, needles, weights)
        except (sqlite3.Error, ValueError) as error:  # ValueError: a column whose name is no text
            raise Unreadable(str(error)) from None


def _bound_time(link: sqlite3.Connection) -> None:
    """What never ends is ended."""
    until = time.monotonic() + SECONDS
    link.set_progress_handler(lambda: time.monotonic() > until, 10_000)


@contextmanager
def _make_scratch() -> Iterator[Path]:
    """No room is no reason to take the file for one that is gone."""
    try:
        with leftovers.make_temporary() as folder:
            yield folder
    except OSError as error:
        raise Unreadable(f"no room for a copy: {error.strerror}") from None


def _size(path: Path, end: str) -> int:
    try:
        return path.with_name(path.name + end).stat().st_size
    except OSError:
        return 0


def _copy(path: Path, folder: Path) -> Path:
    try:
        # without -shm, which SQLite makes anew from the log
        for end in ("", *LOGS):
            if _size(path, end) > COPIED:
                raise Unreadable(f"{_size(path, end):,} bytes are too many to copy, so its log cannot be read with it")
            if not end or _size(path, end):
                shutil.copyfile(path.with_name(path.name + end), folder / f"copy{end}")
    except OSError as error:
        raise Unreadable(f"no copy to read the log with: {error.strerror}") from None
    return folder / "copy"


def _find_in_rows(link: sqlite3.Connection, needles: Needles, weights: Weights) -> Iterator[tuple[str, Match]]:
    # a value of type text may hold any bytes
    link.text_factory = bytes
    wide = link.execute("pragma encoding").fetchone()[0] != b"UTF-8"
    # a virtual table has no root page: what it shows is stored in its shadow tables
    listed = link.execute("select name from sqlite_master where type = 'table' and rootpage > 0 order by name")
    problem, unpacking = None, Unpacking(needles)
    for table in ["sqlite_master", *(name.decode("utf-8", "replace") for (name,) in listed.fetchall())]:
        try:
            yield from _find_in_table(link, table, needles, wide, unpacking, weights)
        except sqlite3.Error as error:
            problem = problem or f"table {table}: {error}"
    if problem or unpacking.unread:
        raise Unreadable(problem or f"they hold {unpacking.unread}")


def _find_in_table(
    link: sqlite3.Connection, table: str, needles: Needles, wide: bool, unpacking: Unpacking, weights: Weights
) -> Iterator[tuple[str, Match]]:
    """Matches in a table, also in what three characters a row add up to, as in an index of trigrams."""
    grams: dict[str, set[bytes]] = {}
    waiting: list[tuple[str, bytes]] = []
    held, floor = 0, min(needles.shortest, SMALLEST)
    cursor = link.execute(f"select {_list_stored(link, table)} from {_quote(table)}")  # noqa: S608  quoted
    places = [f"rows {_quote_name(table)}.{_quote_name(column[0])}" for column in cursor.description]
    for row in cursor:
        for place, value in zip(places, row, strict=True):
            if type(value) is not bytes:
                continue
            size, dark = raw.weigh(value)
            before = weights.get(place, (0, 0))
            weights[place] = before[0] + size, before[1] + dark
            if len(value) == 3:
                grams.setdefault(place, set()).add(value.lower())
            elif len(value) >= floor and value not in needles.plain:
                waiting.append((place, value))
                held += len(value)
                if wide:  # as it stands in the file
                    waiting.append((place, value.decode("utf-8", "replace").encode("utf-16-le")))
        if held > BATCH:
            yield from _find(waiting, needles, unpacking)
            waiting, held = [], 0
    yield from _find(waiting, needles, unpacking)
    for place, seen in grams.items():
        yield from ((place, Match(name, "trigrams", 0)) for name in needles.find_spelled(seen))


def _find(values: Sequence[tuple[str, bytes]], needles: Needles, unpacking: Unpacking) -> Iterator[tuple[str, Match]]:
    """Matches in the values as they stand and in what they unpack to. Those of them that hold nothing are plain from
    now on.
    """
    holding = set[int]()
    for number, match in needles.find_each([value for _, value in values]):
        holding.add(number)
        yield values[number][0], match
    unpacked: dict[bytes, list[Match]] = {}  # columns repeat their values
    for number, (place, value) in enumerate(values):
        if value not in unpacked:
            unpacked[value] = list(unpacking.value(value))
        for match in unpacked[value]:
            holding.add(number)
            yield place, match
    # what was not unpacked to its end may hold something
    if not unpacking.unread:
        short = (value for number, (_, value) in enumerate(values) if len(value) <= SHORT and number not in holding)
        needles.plain.update(islice(short, max(0, KNOWN - len(needles.plain))))


def _list_stored(link: sqlite3.Connection, table: str) -> str:
    """The columns whose values lie in the file; a virtual one is computed when it is read, and may be of any size."""
    told = link.execute(f"pragma table_xinfo({_quote(table)})").fetchall()
    # 2: computed when it is read; 3: computed when it is written, and stored
    virtual = [name for _, name, _, _, _, _, hidden in told if hidden == 2]
    kept = [name.decode("utf-8", "strict") for _, name, *_ in told if name not in virtual]
    return ", ".join(map(_quote, kept)) if virtual else "*"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quote_name(name: str) -> str:
    """A name as it is, quoted if it is not a plain word, so that table and column can be told apart."""
    return name if re.fullmatch(r"\w+", name) else _quote(name)


# --- pages ------------------------------------------------------------------------------------------------------------


class Pages:
    """The pages of an open database file. Bytes that break the format are "other", never an error."""

    def __init__(self, file: int, size: int) -> None:
        self._file, self._size = file, size
        head = os.pread(file, 100, 0)
        self.valid = head.startswith(MAGIC) and len(head) == 100
        page = int.from_bytes(head[16:18], "big")
        # 65536 has no room in two bytes, and is written as 1
        self._page = 65536 if page == 1 else page
        self.valid = self.valid and self._page >= 512 and self._page & (self._page - 1) == 0
        # byte 20: how much at the end of each page is kept for extensions
        self._usable = self._page - (head[20] if self.valid else 0)
        self._free = self._list_freed(int.from_bytes(head[32:36], "big")) if self.valid else frozenset()
        self._known: tuple[int, list[range], str] = (0, [], OTHER)

    def _list_freed(self, trunk: int) -> frozenset[int]:
        """Page numbers of the free list: its trunks and their leaves."""
        free: set[int] = set()
        # a damaged list may lead back to itself
        while trunk and trunk not in free and (data := self._read(trunk)):
            free.add(trunk)
            leaves = min(_read_number(data, 4, 4), self._usable // 4 - 2)
            free.update(_read_number(data, 8 + 4 * leaf, 4) for leaf in range(leaves))
            trunk = _read_number(data, 0, 4)
        return frozenset(free)

    def _read(self, number: int) -> bytes:
        return os.pread(self._file, self._page, (number - 1) * self._page)

    def kind(self, offset: int) -> str:
        """What the byte at `offset` of the file belongs to; OTHER: an overflow page, which rows share with nobody."""
        number, within = offset // self._page + 1, offset % self._page
        if number in self._free:
            return FREE
        if number != self._known[0]:
            self._known = (number, *_list_cells(self._read(number), 100 if number == 1 else 0, self._usable))
        _, cells, kind = self._known
        return kind if kind == OTHER or any(within in cell for cell in cells) else UNUSED


def _read_number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The value, and where it ends."""
    value = 0
    for position in range(at, min(at + 8, len(data))):
        value = value << 7 | data[position] & 0x7F
        if data[position] < 0x80:
            return value, position + 1
    # the ninth byte counts with all of its bits
    return value << 8 | _read_number(data, at + 8, 1), at + 9


def _list_cells(data: bytes, start: int, usable: int) -> tuple[list[range], str]:
    """The extent of every live cell of a b-tree page (header at `start`), and whether they are rows or an index."""
    kind = {0x0D: ROW, 0x05: ROW, 0x0A: INDEX, 0x02: INDEX}.get(_read_number(data, start, 1), OTHER)
    if kind == OTHER or len(data) < usable:
        return [], OTHER
    inner = data[start] in (0x02, 0x05)
    pointers = start + (12 if inner else 8)
    cells = []
    for pointer in range(pointers, min(pointers + 2 * _read_number(data, start + 3, 2), usable - 1), 2):
        begin = _read_number(data, pointer, 2)
        at = begin + (4 if inner else 0)
        payload, at = _read_varint(data, at)
        if data[start] == 0x05:  # the number just read is the row id, and there is no payload
            payload = 0
        elif data[start] == 0x0D:
            _, at = _read_varint(data, at)
        cells.append(range(begin, at + _count_local(payload, usable, kind)))
    return cells, kind


def _count_local(payload: int, usable: int, kind: str) -> int:
    """Bytes of a payload that are kept in the cell, with the number of the first overflow page if there is one."""
    # formulas of SQLite's file format, by which what does not fit fills whole overflow pages
    most = usable - 35 if kind == ROW else (usable - 12) * 64 // 255 - 23
    if payload <= most:
        return payload
    least = (usable - 12) * 32 // 255 - 23
    kept = least + (payload - least) % (usable - 4)
    return (kept if kept <= most else least) + 4
