"""A run as one file: what was observed and its results, as a tar archive compressed by xz. Equal runs, equal bytes."""

from __future__ import annotations

import lzma
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.machine import leftovers

SUFFIX = ".tar.xz"
FILES = ("run.json", "gates.toml", "baseline.json", "results.json")
FOLDERS = ("logs", "drills", "blobs", "environments")
MOST_BYTES, MOST_FILES = 16 * 2**30, 2_000_000
"""Of an archive that is read: beyond them it is refused before it fills the disk."""
_NAME = re.compile(rf"({'|'.join(map(re.escape, FILES))})|({'|'.join(FOLDERS)})(/(?!\.)[^/\\\0]+){{1,2}}")


class PackError(Exception):
    """A file that is no packed run, or one that cannot be written: where and why, one line."""


def pack(run: Path, target: Path) -> None:
    """Writes the run in folder `run` to `target`, whole or not at all. What a report derives is left out, but for the
    results, which `compare` reads. Raises PackError."""
    draft = target.with_name(f".{target.name}.part")
    try:
        with tarfile.open(draft, "w:xz", format=tarfile.PAX_FORMAT, preset=6) as archive:
            for path in _contents(run):
                archive.add(path, str(path.relative_to(run)), recursive=False, filter=_plain)
        draft.replace(target)
    except OSError as error:
        raise PackError(f"{target}: cannot be written: {error.strerror}; choose another with -o") from None
    finally:
        draft.unlink(missing_ok=True)


def unpack(file: Path) -> Path:
    """A folder with the contents of a packed run, which is removed when this process ends. Raises PackError."""
    folder = Path(tempfile.mkdtemp(dir=leftovers.process_folder()))
    try:
        with tarfile.open(file, "r:xz") as archive:
            left, files = MOST_BYTES, 0
            for member in archive:
                left, files = left - member.size, files + 1
                if not member.isreg() or not _NAME.fullmatch(member.name):
                    raise PackError(f"{file}: not a packed run: it holds '{member.name}'")
                if left < 0 or files > MOST_FILES:
                    raise PackError(f"{file}: a packed run of more than {MOST_BYTES:,} bytes or {MOST_FILES:,} files")
                archive.extract(member, folder, filter="data")
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise PackError(f"{file}: not a packed run: {error}") from None
    except OSError as error:
        raise PackError(f"{file}: cannot be read: {error.strerror or error}") from None
    return folder


def is_packed(path: Path) -> bool:
    """Whether this is meant as a packed run; a JSON file is not."""
    return path.name.endswith(SUFFIX) and path.is_file()


def _contents(run: Path) -> Iterator[Path]:
    """Files only, in one order; a link or a pipe that somebody left there stays there."""
    found = [run / name for name in FILES]
    found += [path for name in FOLDERS for path in sorted((run / name).rglob("*"))]
    return (path for path in found if path.is_file() and not path.is_symlink())


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without what differs from machine to machine: owner, time, mode."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member
