"""Folders outside of an interpreter's own in which its packages lie: those that `.pth` files and editable
installations name, and a user's own packages."""

from __future__ import annotations

import ast
import re
import site
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from harness.machine import files

MOST = 2**20
"""Bytes of a file that is read."""
_MAPPING = re.compile(r"^MAPPING\b[^=]*= *(\{.*\})$", re.MULTILINE)
"""What setuptools writes of an editable package whose folder alone is named."""


def list_outside(prefixes: Iterable[Path], *, own: bool) -> list[Path]:
    """Args: own: Whether they are of this interpreter, which may have packages of the user's, too."""
    user = [Path(site.getusersitepackages())] if own and site.ENABLE_USER_SITE else []
    folders = [*(each for prefix in prefixes for each in prefix.glob("lib*/python*/*-packages")), *user]
    found = [*user, *(place for folder in folders for place in _list_named(folder))]
    return [place for place in dict.fromkeys(found) if place.exists()]


def _list_named(folder: Path) -> Iterator[Path]:
    """What a folder of packages names elsewhere; what cannot be read names nothing."""
    for file in folder.glob("*.pth"):
        for line in _read(file).splitlines():
            # as `site` reads them: what begins with import is code
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield folder / line.rstrip()
    for file in folder.glob("__editable__*_finder.py"):
        with suppress(ValueError, SyntaxError, AttributeError):
            named = _MAPPING.search(_read(file))
            yield from map(Path, ast.literal_eval(named[1]).values() if named else ())


def _read(file: Path) -> str:
    with suppress(OSError):
        return files.read(file, MOST).decode("utf-8-sig", "replace")
    return ""
