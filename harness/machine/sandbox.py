"""What a child can reach, held by Linux for it and all that it starts: files by folder, TCP by port (Landlock),
system calls (seccomp), sockets in common folders (namespaces).

Standard library only: a child enters its sandbox before it imports the adapter, and nothing lets it out again. What is
not held stands in docs/containment.md.
"""

from __future__ import annotations

import base64
import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.machine import crowds, namespaces
from harness.machine.namespaces import load_library

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""System calls, by the same numbers on all platforms that Python names Linux and we know."""
_VERSION, _BENEATH, _PORT = 1, 1, 2
_NO_NEW_PRIVILEGES, _FILTER = 38, 22
_BY_PROGRAM = 2
# bits of LANDLOCK_ACCESS_FS_* in linux/landlock.h
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REFER, _TRUNCATE = (1 << at for at in (0, 1, 2, 3, 13, 14))
_MAKE_AND_REMOVE = sum(1 << at for at in range(4, 13))
_CONNECT = 1 << 1
_SCOPES = 0b11  # abstract sockets and signals stay among those of one sandbox
FILES, PORTS, SCOPED = 2, 4, 6
"""The versions from which on moving files is not forbidden altogether, ports are held, and signals are."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SYSTEM = (
    "/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr", "/run/systemd/resolve",
    "/sys/devices/system", "/sys/fs/cgroup", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo",
    "/proc/self", "/proc/stat", "/proc/sys", "/proc/uptime", "/proc/version",
)  # fmt: skip
"""What programs need of the machine. Of /proc no other process: its command line would tell what is played."""


@dataclass(frozen=True)
class Sandbox:
    """What a process may read, change and connect to.

    Attributes:
        reads: Files and folders with all below, beside those of the system.
        writes: What may be changed as well.
        ports: Those of this or any machine that may be connected to, None for all.
        covers: Folders that are empty, but for what is read or written below them.
        scratch: Folders that are empty as well, and may be changed: nobody else sees what is there.
        filter: Of system calls, as base64 (harness/machine/syscalls.py); empty: none.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    ports: tuple[int, ...] | None
    covers: tuple[str, ...] = ()
    filter: str = ""
    scratch: tuple[str, ...] = ()

    def enter(self, *, forks: bool = False) -> None:
        """For this process and all that it starts, for good. Does nothing where Linux cannot; OSError if it refuses.

        Args:
            forks: Whether others are forked from it, which enter a narrower one.
        """
        if sys.platform == "linux":
            # before Landlock, which forbids mounts and the files of control groups
            crowds.enter()
            namespaces.isolate((*self.covers, *self.scratch), (*SYSTEM, *self.reads, *self.writes))
            self._hold(forks=forks)

    def narrow(self) -> None:
        """The same of a process that was forked from one that has entered."""
        namespaces.mark()
        self._hold(forks=False)

    def _hold(self, *, forks: bool) -> None:
        # first, as Linux takes neither rules nor filter from an ordinary user without it
        _control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        self._restrict()
        namespaces.drop_rights(forks=forks)
        if program := base64.b64decode(self.filter):
            # in a name of its own, as an address alone keeps no buffer alive
            held = ctypes.create_string_buffer(program, len(program))
            # struct sock_fprog: how many instructions of eight bytes, and where they are.
            _control(_FILTER, _BY_PROGRAM, struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held)))

    def _restrict(self) -> None:
        """Files and ports."""
        version = find_abi()
        if version < FILES:
            return
        # a right that this version does not know is refused: truncating came with the one after FILES
        changed = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | (_TRUNCATE if version > FILES else 0)
        read = _EXECUTE | _READ_FILE | _READ_DIR
        net = _CONNECT if self.ports is not None and version >= PORTS else 0
        asked = struct.pack("QQQ", read | changed, net, _SCOPES if version >= SCOPED else 0)
        # older versions know only the beginning of the structure
        held = asked[: 24 if version >= SCOPED else 16 if version >= PORTS else 8]
        rules = _call(_CREATE, held, len(held), 0)
        try:
            for paths, rights in (
                ((*SYSTEM, *self.reads), read),
                ((*self.writes, *self.scratch), read | changed),
                (DEVICES, _READ_FILE | _WRITE_FILE),
            ):
                for path in paths:
                    _allow(rules, path, rights)
            for port in self.ports or () if net else ():
                _call(_ADD, rules, _PORT, struct.pack("QQ", _CONNECT, port), 0)
            _call(_RESTRICT, rules, 0)
        finally:
            os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """What is not there needs no rule; a file has no entries."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
        # "=": the structure is packed, without padding
        _call(_ADD, rules, _BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


@cache
def find_abi() -> int:
    """Landlock's version here; 0: there is none, or it is switched off."""
    if sys.platform != "linux":
        return 0
    return max(0, int(load_library().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION))))


def list_beside(folder: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """The folder, or, if something hidden lies below it, what is beside that."""
    below = [each for each in hidden if each == folder or folder in each.parents]
    if not below:
        yield folder
    elif folder not in below:
        for entry in sorted(folder.iterdir()):
            yield from list_beside(entry, below)


def _control(*args: int | bytes) -> None:
    """prctl. OSError if it fails."""
    if load_library().prctl(*args):
        raise OSError(ctypes.get_errno(), "a child cannot give up its privileges")


def _call(number: int, *args: int | bytes) -> int:
    """A system call of Landlock. OSError if it fails."""
    # `syscall` takes longs, and ctypes would pass an int of 32 bits
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    done = int(load_library().syscall(ctypes.c_long(number), *wide))
    if done < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the sandbox of a child cannot be made: {os.strerror(error)}")
    return done
