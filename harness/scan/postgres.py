"""Where in a PostgreSQL data folder a byte lies: live or dead tuple, index entry, free space of a page, or which log.

Read from the page layout that has held since PostgreSQL 8.3 (8 KiB pages, little-endian machines) and from the commit
log. A value that PostgreSQL compressed (from about 2 kB on) is not found by its bytes.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

PAGE = 8192
LIVE, DEAD, ENTRY, DEAD_ENTRY, FREE = (
    "live tuple", "dead tuple", "index entry", "dead index entry", "free space of a page",
)  # fmt: skip
# pg_xlog, like pg_clog below, is the name before PostgreSQL 10
FOLDERS = {"pg_wal": "write-ahead log", "pg_xlog": "write-ahead log"}
_RELATION = re.compile(r"(?:.*/)?(?:base|global|pg_tblspc/[^/]+/[^/]+)/(?:\d+/)?(?:t\d+_)?\d+(?:_init)?(?:\.\d+)?")
"""The main forks of tables and indexes; free space and visibility maps hold no values."""

_NORMAL, _DEAD = 1, 3  # flags of a line pointer
_XMIN_COMMITTED, _XMIN_INVALID, _XMIN_FROZEN = 0x0100, 0x0200, 0x0300
_XMAX_LOCK_ONLY, _XMAX_COMMITTED, _XMAX_INVALID, _XMAX_IS_MULTI = 0x0080, 0x0400, 0x0800, 0x1000
_COMMITTED = 1
_XACTS = 4 * PAGE * 32  # transactions in one file of the commit log


class Cluster:
    """A data folder; `valid` if it looks like one."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self.valid = (top / "PG_VERSION").is_file() and (top / "base").is_dir()

    def relation(self, path: Path) -> bool:
        """Whether a file holds the pages of a table or an index."""
        return self.valid and _RELATION.fullmatch(path.relative_to(self._top).as_posix()) is not None

    def folder(self, path: Path) -> str:
        """What any other file is, by the folder that it lies in."""
        parent = path.relative_to(self._top).parent.as_posix()
        return FOLDERS.get(parent.split("/")[0], parent if parent != "." else "")

    def kind(self, file: int, offset: int) -> str:
        """What the byte at `offset` of an open relation belongs to."""
        page, within = os.pread(file, PAGE, offset // PAGE * PAGE), offset % PAGE
        if len(page) < PAGE:
            return FREE
        # Its header says where line pointers end (four bytes each, from 24 on), and where the special space begins.
        lower, _, special = struct.unpack_from("<3H", page, 12)
        for at in range(24, min(lower, PAGE), 4):
            pointer = struct.unpack_from("<I", page, at)[0]
            start, flags, length = pointer & 0x7FFF, pointer >> 15 & 3, pointer >> 17
            if start <= within < start + length and flags in (_NORMAL, _DEAD):
                if special < PAGE:  # only indexes keep a special space
                    return ENTRY if flags == _NORMAL else DEAD_ENTRY
                return LIVE if flags == _NORMAL and self._lives(page[start : start + 24]) else DEAD
        return FREE

    def _lives(self, header: bytes) -> bool:
        """Whether a transaction that begins now sees the tuple. A transaction that has not ended did not happen."""
        if len(header) < 24:
            return False
        xmin, xmax = struct.unpack_from("<2I", header)  # of a heap tuple's header; t_infomask stands at 20
        mask = struct.unpack_from("<H", header, 20)[0]
        # frozen is both bits, so invalid is this one alone
        if mask & _XMIN_FROZEN == _XMIN_INVALID:
            return False
        if not mask & _XMIN_COMMITTED and not self._committed(xmin):
            return False
        if mask & (_XMAX_INVALID | _XMAX_LOCK_ONLY | _XMAX_IS_MULTI) or not xmax:
            return True  # a multixact is several lockers, at times with an updater: called live until it is hinted
        return not (mask & _XMAX_COMMITTED or self._committed(xmax))

    def _committed(self, xid: int) -> bool:
        """Whether the commit log says that a transaction happened; one that is not known did not."""
        if xid in (1, 2):  # of the first start, and frozen
            return True
        for name in ("pg_xact", "pg_clog"):
            try:
                with (self._top / name / f"{xid // _XACTS:04X}").open("rb") as log:
                    log.seek(xid % _XACTS // 4)
                    return (log.read(1) or b"\0")[0] >> 2 * (xid % 4) & 3 == _COMMITTED
            except OSError:
                continue
        return False
