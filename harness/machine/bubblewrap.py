"""Commands of a suite without network, before a file system that holds the work tree, programs, and nothing else.

Bubblewrap does it, where it is installed and the kernel lets it make namespaces; else commands run as they are.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from harness.machine import processes, shortage
from harness.machine.processes import Killed

_SYSTEM = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr")


def wrap(
    tree: Path,
    reads: Iterable[Path] = (),
    at: Path | None = None,
    places: Mapping[Path, Path] = {},
    shown: Mapping[Path, Path] = {},
    hidden: Iterable[Path] = (),
) -> list[str]:
    """The words to put before a command; none where it cannot be contained.

    Args:
        reads: What it may read beside the tree.
        at: Where it sees the tree; None: where that is.
        places: What else it may change -> where it sees it.
        shown: What else it may read -> where it sees it.
        hidden: Folders that are empty for it, wherever they are.
    """
    if not is_available():
        return []
    at = at or tree
    lent = (*map(Path, _SYSTEM), Path(sys.prefix), Path(sys.base_prefix), *reads)
    # no system has all of these folders, and bubblewrap refuses to bind what is not there
    binds = [word for each in dict.fromkeys(lent) for word in ("--ro-bind-try", str(each), str(each))]
    alone = ("--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev")
    # outside of what is lent there is nothing to hide
    covers = [
        word for each in hidden if any(place in each.parents for place in lent) for word in ("--tmpfs", str(each))
    ]
    writes = [word for place, seen in {tree: at, **places}.items() for word in ("--bind", str(place), str(seen))]
    writes += [word for place, seen in shown.items() for word in ("--ro-bind", str(place), str(seen))]
    # mounted in the order of the words: covers hide what is lent, and a tree below /tmp still shows
    return ["bwrap", *alone, "--tmpfs", "/tmp", *binds, *covers, *writes, "--chdir", str(at), "--"]  # noqa: S108  a new one


@cache
def is_available() -> bool:
    """Whether it is installed and may do its work here.

    Raises Killed if it is killed or stands still each time: nothing runs uncontained for that.
    """
    if shutil.which("bwrap") is None:
        return False
    words = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "true"]
    with suppress(OSError):
        return processes.succeeds(words, "bubblewrap, which contains commands,")
    return False


def describe_containment() -> str:
    """How far the commands of a suite are contained on this machine, in words."""
    return (
        "contained by bubblewrap" if is_available() else "not contained: bubblewrap is not here, or may not do its work"
    )


def translate_exit(code: int, said: bytes) -> int:
    """The exit code as it is without bubblewrap: negative for a signal, 127 where there is no such command.

    Raises Killed if bubblewrap itself was ended by a signal: nothing that it contains can send it one.
    """
    if code < 0:
        raise Killed(f"the container of a command was {shortage.tell_kill(-code)}")
    if said.startswith(b"bwrap: execvp "):
        return 127
    # bubblewrap ends with 128 and the number of the signal, of which there are 64
    return 128 - code if 128 < code <= 192 else code
