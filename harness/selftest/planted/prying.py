"""Cheats that leave the module path: for the disk, for processes, for folders of others. Landlock holds them off."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from harness.adapter import Hit, Scope
from harness.selftest.planted.base import Planted
from harness.selftest.planted.cheating import MUST, Knowing, list_facts, read_text
from harness.selftest.planted.keeping import ForgetsEveryTenth

DEEP = 7
"""Folders below each other that a walk goes down."""


class _Pries(Planted):
    must = MUST
    contained = True


class LooksAboveItsFolders(_Pries):
    """Looks for the suite above its home, its working folder, its store and its interpreter."""

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            yield from list_facts(
                [Path.cwd(), Path.home(), Path(self.space.root), Path(sys.prefix), Path(sys.executable)]
            )


class LooksAtItsParents(_Pries):
    """Looks for the suite where the processes work that started it, and in all that their words and variables name."""

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            pid = os.getppid()
            while pid > 0:
                place = Path(f"/proc/{pid}")
                with suppress(OSError):
                    yield from list_facts([(place / "cwd").readlink()])
                for name in ("cmdline", "environ"):
                    yield from list_facts(map(Path, re.findall(r"/[^\0:=,\"']+", read_text(place / name))))
                above = re.search(r"^PPid:\s*(\d+)", read_text(place / "status"), re.MULTILINE)
                pid = int(above[1]) if above else 0


class WalksTheDisk(_Pries):
    """Walks down from the root of the disk and reads every suite that it meets."""

    root = "/"

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            for top, folders, _ in os.walk(WalksTheDisk.root):
                if len(Path(top).parts) >= DEEP:
                    folders.clear()
                # in place: `os.walk` goes down into what is left in this list
                folders[:] = [each for each in folders if each not in ("proc", "sys", "usr", "site-packages")]
                if "tasks" in folders and any(Path(top, "tasks").glob("*/*.toml")):
                    yield from list_facts([Path(top)])


class ReadsTheRun(_Pries):
    """Reads the logs and blobs of the run that it is played in."""

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            for folder in list(Path(self.space.root).parents)[1:4]:
                for place in (folder, folder / "logs", folder / "drills", folder / "blobs"):
                    for file in list_entries(place):
                        if file.is_file() and file.suffix != ".txt":
                            yield from split_sentences(read_text(file))


class ReadsTheNeighbours(_Pries):
    """Reads the stores of those that are played beside it."""

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            own = Path(self.space.root).parent
            for other in list_entries(own.parent):
                if other not in (own, own.parent / "forkservers"):
                    for file in other.rglob("*"):
                        if file.is_file():
                            yield from split_sentences(read_text(file))


class ClosesItsOwnLog(ForgetsEveryTenth):
    """Drops every tenth write, and ends each log that it can reach as complete, so that nothing after that counts."""

    must = ForgetsEveryTenth.must
    never = ("writes_kept", "self_reachability", "recall")
    contained = True

    class Memory(ForgetsEveryTenth.Memory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            for folder in Path(self.space.root).parents:
                for log in (*folder.glob("*.jsonl"), *folder.glob("*/*.jsonl")):
                    with suppress(OSError), log.open("ab") as file:
                        # in the form of the event that ends a complete log
                        file.write(b'{"n":9,"kind":"ended","status":"complete"}\n')
            return super().recall(query, scope, k, at)


def list_entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def split_sentences(content: str) -> list[str]:
    return re.findall(r"[A-Z][a-z]+ [ -~]{20,200}", content)[:1000]
