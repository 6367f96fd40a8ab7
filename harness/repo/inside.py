"""Files of a work tree, and of nothing else: no part of a path is a link, leads up, or belongs to git."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

# HFS+ ignores these in the names of files
_UNSEEN = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
# Windows drops dots and blanks at the end of a name, and NTFS gives `.git` the short name `git~1`
_GIT = re.compile(r"\.git[. ]*(?:[:/\\].*)?|git~\d+", re.IGNORECASE)


def split(path: str) -> list[str]:
    """The parts of a path inside a work tree; none of them: the tree itself. OSError if it is no such path.

    What some file system takes for `.git` is refused on all of them.
    """
    parts = [part for part in PurePosixPath(path).parts if part != "."]
    if PurePosixPath(path).is_absolute() or ".." in parts or "\0" in path or "\\" in path:
        raise OSError(f"'{path}' is not a plain path inside the work tree")
    for part in parts:
        if _GIT.fullmatch(_UNSEEN.sub("", unicodedata.normalize("NFKC", part)).strip()):
            raise OSError(f"'{path}' belongs to git, and is not for you")
    return parts


def open_folder(tree: Path, parts: list[str], *, create: bool = False) -> int:
    """The descriptor of a folder of the tree, to be closed by the caller. OSError behind a link."""
    at = os.open(tree, os.O_DIRECTORY)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
            # part by part, as O_NOFOLLOW holds for the last part of a path only
            above, at = at, os.open(part, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
    except (OSError, ValueError):
        os.close(at)
        raise
    return at


def open_file(tree: Path, path: str, how: int) -> BinaryIO:
    """A plain file of the tree, its folders made if it may be. OSError for anything else.

    Args:
        how: The flags of os.open.
    """
    parts = split(path)
    if not parts:
        raise OSError(f"'{path}' is a folder")
    at = open_folder(tree, parts[:-1], create=bool(how & os.O_CREAT))
    try:
        # Not blocking, so that a pipe in the place of a file is refused and not waited for.
        flags = (how & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(parts[-1], flags, 0o644, dir_fd=at)
    finally:
        os.close(at)
    facts = os.fstat(file)
    # a hard link may be a second name of a file outside of the tree
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
        os.close(file)
        raise OSError(f"'{path}' is no plain file of its own")
    # cut only now that it is known to be a file of the tree
    if how & os.O_TRUNC:
        os.ftruncate(file, 0)
    if how & os.O_RDWR:
        return os.fdopen(file, "r+b")
    return os.fdopen(file, "wb") if how & os.O_WRONLY else os.fdopen(file, "rb")
