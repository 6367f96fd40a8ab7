"""A run as one file: what was observed and its results, as a tar archive compressed by xz. Equal runs, equal bytes."""

from __future__ import annotations

import lzma
import os
import re
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO, cast

from harness.machine import leftovers, shortage
from harness.machine.files import open_draft, open_regular

SUFFIX = ".tar.xz"
FILES = ("run.json", "gates.toml", "baseline.json", "results.json")
FOLDERS = ("logs", "drills", "blobs", "environments")
MOST_BYTES, MOST_FILES = 16 * 2**30, 2_000_000
"""Of an archive that is read: beyond them it is refused before it fills the disk."""
RATIO, LEAST_BYTES = 500, 2**28
"""How much larger than the archive its contents may be; what a small one may hold in any case."""
_MEMORY = 2**27
"""Bytes that the decompressor may take: twice what its largest preset needs."""
_FILTER = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}
"""The most that a text can be compressed: a run is packed once, and kept and sent often."""
_LEAST_WINDOW, _MOST_WINDOW = 2**23, 2**26
"""Bytes that the compressor looks back, for a small run and a large one. It takes eleven times as much memory."""
_HEADS, _PIECE = 2**20, 2**16
_unpacked: dict[str, str] = {}
"""The folders of what this process unpacked, and the file of each."""
_DIGEST = re.compile(rb"[0-9a-f]{64}")
# no part of a path begins with a dot, so `..` cannot lead out of the folder
_NAME = re.compile(rf"({'|'.join(map(re.escape, FILES))})|({'|'.join(FOLDERS)})(/(?!\.)[^/\\\0]+){{1,2}}")


class PackError(Exception):
    """A file that is no packed run, or a folder that cannot become one: where and why, one line."""


def pack(run: Path, target: Path) -> None:
    """Writes the run in folder `run` to `target`, whole or not at all. What a report derives is left out, but for the
    results, which `compare` reads. Raises PackError for what is no run, and OSError if it cannot be written."""
    contents = list(_list_contents(run))
    window = _choose_window(sum(path.stat().st_size for path in contents))
    with (
        open_draft(target) as draft,
        lzma.open(draft, "wb", filters=[_FILTER | {"dict_size": window}]) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in _place_blobs(contents):
            # not recursive, as every file is named by itself
            archive.add(path, str(path.relative_to(run)), recursive=False, filter=_strip_member)


def unpack(file: Path) -> Path:
    """A folder with the contents of a packed run, which is removed when this process ends. Raises PackError; OSError,
    which names the temporary folder, if that is full."""
    folder = Path(tempfile.mkdtemp(dir=leftovers.process_folder()))
    _unpacked[str(folder)] = str(file)
    try:
        with open_regular(file, links=True) as plain, os.fdopen(plain, "rb", closefd=False) as packed:
            most = min(MOST_BYTES, max(LEAST_BYTES, os.fstat(plain).st_size * RATIO))
            stream = _Unpacked(packed)
            # "r:": it comes unpacked already, and tarfile is not to try other compressions
            with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:") as archive:
                _extract(archive, stream, file, folder, most)
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise PackError(f"{file}: not a packed run: {error}") from None
    except OSError as error:
        if shortage.explain_error(error):
            raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from None
        raise PackError(f"{file}: cannot be read: {error.strerror or error}") from None
    return folder


def name_files(message: str) -> str:
    """The message, with the packed file in place of the folder that it was unpacked to: nobody can look there."""
    for folder, file in _unpacked.items():
        message = message.replace(folder, file)
    return message


def _extract(archive: tarfile.TarFile, stream: _Unpacked, file: Path, folder: Path, most: int) -> None:
    left, files = most, 0
    for member in archive:
        archive.members = []  # type: ignore[attr-defined]  # else all of them are kept in memory
        # a head takes a block of the archive even where the file is empty
        left, files = left - tarfile.BLOCKSIZE - member.size, files + 1
        if not member.isreg() or member.issparse() or not _NAME.fullmatch(member.name):
            raise PackError(f"{file}: not a packed run: it holds '{member.name[:200]}'")
        if left < 0 or files > MOST_FILES:
            raise PackError(f"{file}: a packed run of more than {most:,} bytes or {MOST_FILES:,} files")
        # of two files with one name, the last would win without a word
        if (folder / member.name).exists():
            raise PackError(f"{file}: not a packed run: it holds '{member.name[:200]}' twice")
        stream.allow(member.size)
        archive.extract(member, folder, filter="data")
        stream.allow()


class _Unpacked:
    """A compressed archive as `tarfile` reads one, from the front to its end. No more comes of it than is allowed:
    a head of the archive may announce gigabytes, which would be read into memory before anybody could refuse them."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed, self._at = packed, 0
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
        self._rest = bytearray()
        self.allow()

    def allow(self, size: int = 0) -> None:
        """So many bytes of a file, and the heads beside it."""
        self._until = self._at + size + _HEADS

    def tell(self) -> int:
        return self._at

    def seek(self, place: int) -> int:
        if place < self._at:
            raise tarfile.ReadError("it leads back to where it began")
        while self._at < place and self.read(min(place - self._at, _PIECE)):
            pass
        return self._at

    def read(self, size: int) -> bytes:
        if self._at + size > self._until:
            raise tarfile.ReadError("a head in it is longer than any of a run")
        while len(self._rest) < size and not self._decompressor.eof:
            data = self._packed.read(_PIECE) if self._decompressor.needs_input else b""
            if not data and self._decompressor.needs_input:
                raise EOFError("it was cut off")
            self._rest += self._decompressor.decompress(data, _PIECE)
        taken = bytes(self._rest[:size])
        del self._rest[:size]
        self._at += len(taken)
        return taken


def is_packed(path: Path) -> bool:
    """Whether this is meant as a packed run; a JSON file is not."""
    return path.name.endswith(SUFFIX) and path.is_file()


def _list_contents(run: Path) -> Iterator[Path]:
    """Files only, in one order. Raises PackError for what `unpack` would refuse: left out, it would be missed later."""
    # lexists, so that a link to nowhere is refused below and not left out
    found = [each for name in FILES if os.path.lexists(each := run / name)]
    found += [path for name in FOLDERS for path in sorted((run / name).rglob("*"), key=_sort_alike)]
    for path in found:
        kind = path.lstat().st_mode
        # blobs lie in folders by their first two digits; no other folder of a run has any
        if stat.S_ISDIR(kind) and path.parent == run / "blobs":
            continue
        if not stat.S_ISREG(kind) or not _NAME.fullmatch(str(path.relative_to(run))):
            raise PackError(f"{path}: no file of a run: remove it, or restore what it stands for")
        yield path


def _sort_alike(path: Path) -> tuple[list[str], str]:
    """Logs of one story beside each other, whatever the backend, which a log's name begins with: they say nearly the
    same, and a compressor finds what is near."""
    # the last part of a log's name is a digest, which differs for every trial
    return path.name.split("-")[-2::-1], str(path)


def _place_blobs(contents: Sequence[Path]) -> Iterable[Path]:
    """Each blob behind the first log that names it, for the same reason."""
    named = {os.fsencode(path.name): path for path in contents}
    placed = dict[Path, None]()
    for path in contents:
        placed.setdefault(path)
        if path.suffix == ".jsonl":
            placed |= dict.fromkeys(named[name] for name in _DIGEST.findall(path.read_bytes()) if name in named)
    return placed


def _choose_window(size: int) -> int:
    """A power of two that holds all of a run, if it may be so large."""
    return min(max(1 << size.bit_length(), _LEAST_WINDOW), _MOST_WINDOW)


def _strip_member(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without what differs from machine to machine: owner, time, mode."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member
