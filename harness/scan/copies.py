"""Copies of a store as it was at each look, for whoever wants to look again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from harness.machine import files
from harness.scan import raw

MOST = 1 << 30
"""Bytes that the copies of one store may take, holes of sparse files not counted."""
PIECE = 4 << 20
LEFT_OUT = "LEFT-OUT.txt"


class Copies:
    """One folder `at-STEP` for each look, below a folder of ours. Links are left out; so is what exceeds MOST, and
    `tell` gets one line that says so."""

    def __init__(self, below: Path, tell: Callable[[str], None]) -> None:
        self._below, self._tell, self._left = below, tell, MOST
        self.folders: list[Path] = []

    def take(self, store: Path, step: str) -> None:
        to, lacking = self._below / f"at-{step}", list[str]()
        self.folders.append(to)
        to.mkdir(parents=True, exist_ok=True)
        for path in raw.list_files(
            store, lambda path, why: lacking.append(f"{raw.show_path(path.relative_to(store))} {why}")
        ):
            if not self._copy(path, to / path.relative_to(store)):
                lacking.append(f"{raw.show_path(path.relative_to(store))} is left out")
        if lacking:
            (to / LEFT_OUT).write_text("\n".join(lacking) + "\n", encoding="utf-8")
            why = f"copies of a store take at most {MOST >> 20:,} MiB, and hold regular files only"
            self._tell(f"{to} lacks {len(lacking):,} files, listed in {LEFT_OUT}: {why}")

    def _copy(self, path: Path, to: Path) -> bool:
        """Copies a file: whether it has been copied whole; what vanishes meanwhile was not there."""
        try:
            with files.open_regular(path) as source:
                size = os.fstat(source).st_size
                parts = list(raw.find_written(source, size))
                # all of it or nothing, as half a file would pass for the whole
                if sum(end - start for start, end in parts) > self._left:
                    return False
                to.parent.mkdir(parents=True, exist_ok=True)
                with to.open("wb") as copy:
                    for start, end in parts:
                        copy.seek(start)
                        for at in range(start, end, PIECE):
                            self._left -= copy.write(os.pread(source, min(PIECE, end - at), at))
                    # a hole at the end is not written, but counts in the size
                    copy.truncate(size)
        except FileNotFoundError:
            return True
        except OSError:
            to.unlink(missing_ok=True)
            return False
        return True
