"""Namespaces of a child's own (Linux): nobody's sockets in common folders, and a mark that nothing it starts can shed.

Standard library only, as a child enters them before it imports the adapter. Where the machine does not let it, a child
goes on without; `coldwarm doctor` says so.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

# CLONE_NEW* of linux/sched.h, then MS_* of linux/mount.h, CAP_* of linux/capability.h
_MOUNTS, _IPC, _USERS = 0x20000, 0x08000000, 0x10000000
_RECURSIVE, _PRIVATE, _BIND, _NO_SETUID, _NO_DEVICES = 0x4000, 1 << 18, 0x1000, 2, 4
_CAPABILITIES = 0x20080522
"""The version of the structures of capset."""
_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _SETGID, _SETUID, _SYS_ADMIN = 0, 1, 3, 4, 6, 7, 21
FILES = (_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _SETGID, _SETUID)
"""Capabilities that root keeps: those of its own files."""


def isolate(covers: Iterable[str], kept: Collection[str]) -> bool:
    """For this process and all that it starts; False where the machine does not let it.

    Args:
        covers: Folders that are empty from here on.
        kept: Files and folders that stay where they are, also below those.
    """
    if not _unshare():
        return False
    where, covers = Path.cwd(), [each for each in covers if each not in kept]
    within = [each for each in kept if any(each.startswith(f"{cover}/") for cover in covers) and Path(each).exists()]
    # opened first, as a cover hides what lies below it
    held = {each: os.open(each, os.O_PATH | os.O_CLOEXEC) for each in within}
    # else mounts may spread to the namespace that this process came from
    _mount("", "/", "", _RECURSIVE | _PRIVATE)
    for cover in covers:
        _mount("tmpfs", cover, "tmpfs", _NO_SETUID | _NO_DEVICES, "mode=755")
    for place, descriptor in held.items():
        source = Path(f"/proc/self/fd/{descriptor}")
        _make_place(Path(place), folder=source.is_dir())
        _mount(str(source), place, "", _BIND | _RECURSIVE)
        os.close(descriptor)
    os.chdir(where)  # else it stands below the cover
    return True


def mark() -> None:
    """Makes a process that an isolated one has forked a namespace, by which `leftovers` finds all that it starts."""
    with suppress(OSError):
        _call("unshare", _IPC)


def _unshare() -> bool:
    """As root, or as a user in a namespace where it has root's rights, and stays itself as to files."""
    with suppress(OSError):
        _call("unshare", _MOUNTS | _IPC)
        return True
    user, group = os.geteuid(), os.getegid()
    with suppress(OSError):
        _call("unshare", _USERS | _MOUNTS | _IPC)
        # the kernel lets an ordinary user map groups only once setgroups is denied
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_text(text)
        return True
    return False


def drop_rights(*, forks: bool) -> None:
    """Gives up every capability but root's over its own files. One that `forks` can still mark what it forks."""
    kept = sum(1 << each for each in (*FILES, *((_SYS_ADMIN,) if forks else ())))
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    held = (ctypes.c_uint32 * 6)()
    if load_library().capget(header, held):
        raise OSError(ctypes.get_errno(), "a child cannot read its capabilities")
    # two structures of effective, permitted and inheritable; the second has capabilities from 32 on
    for at, mask in ((0, kept & 0xFFFFFFFF), (3, kept >> 32)):
        held[at] &= mask
        held[at + 1] &= mask
        held[at + 2] = 0
    if load_library().capset(header, held):
        raise OSError(ctypes.get_errno(), "a child cannot give up its capabilities")


def _make_place(place: Path, *, folder: bool) -> None:
    """Where something is to be mounted."""
    if not place.exists():
        (place if folder else place.parent).mkdir(parents=True, exist_ok=True)
        if not folder:
            place.touch()


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _call("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())


def _call(name: str, *args: object) -> None:
    if getattr(load_library(), name)(*args):
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


@cache
def load_library() -> ctypes.CDLL:
    """The C library, which says why a call failed."""
    return ctypes.CDLL(None, use_errno=True)
