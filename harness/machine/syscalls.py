"""A filter of system calls for children (seccomp), compiled by libseccomp:
what Landlock lets through, and no backend needs.

The parent compiles it, as a child has the standard library only; `harness.machine.sandbox` installs it. A refused call
fails with EPERM, as in common container engines.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import os
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

Operator = Literal["!=", "==", ">", "&"]

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_OPERATORS: dict[Operator, int] = {"!=": 1, "==": 4, ">": 6, "&": 7}
"""Numbers of `enum scmp_compare`. `&`: of the bits of a mask, those of the value are set."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _KINDS = 1, 2, 0xF
_LAST_PROTOCOL = 17
"""UDP. What has a higher number (SCTP, MPTCP, SMC) connects to any port."""
_FAST_OPEN = 0x20000000
"""A flag of sending: TCP connects as it sends, and Landlock is not asked."""
_SET_DUMPABLE = 4
_NAMESPACES = (0x20000, *(1 << bit for bit in range(25, 31)))
"""Flags of clone: a new namespace of any kind but that of time."""

SHARED = ("shmget", "shmat", "semget", "msgget", "mq_open", "add_key", "request_key", "keyctl")
"""What two trials could leave messages in, and what outlives a run."""
PRIVILEGED = (
    "acct", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init", "finit_module",
    "fsopen", "init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "mount", "mount_setattr", "move_mount",
    "name_to_handle_at", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "quotactl", "reboot",
    "setdomainname", "sethostname", "settimeofday", "swapoff", "swapon", "syslog", "umount2", "userfaultfd", "vhangup",
)  # fmt: skip
UNSEEN = ("io_uring_setup", "io_uring_enter", "io_uring_register")
"""Calls that are made on one's behalf, past a filter."""
OF_OTHERS = (
    "ioprio_set", "prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler",
    "setpriority",
)  # fmt: skip
"""Limits and priorities, which a process may set of itself only."""
_OF_A_PROCESS = {"ioprio_set": 1, "setpriority": 0}
"""What the first argument says where the second one names a process: IOPRIO_WHO_PROCESS and PRIO_PROCESS."""


class _Compared(NamedTuple):
    """One argument of a call, and what it has to be for a rule to hold."""

    argument: int
    operator: Operator
    value: int
    mask: int = 0


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = (
        ("arg", ctypes.c_uint), ("op", ctypes.c_int), ("datum_a", ctypes.c_uint64), ("datum_b", ctypes.c_uint64)
    )  # fmt: skip


Rule = tuple[str, int, tuple[_Compared, ...]]
"""A call, the error that it fails with, and what has to hold of its arguments."""


def list_rules(*, datagrams: bool, forks: bool) -> Iterator[Rule]:
    """What is refused.

    Args:
        datagrams: Whether UDP may be used: who may connect anywhere has to find names.
        forks: Whether it makes a namespace for each process that it forks.
    """
    denied = errno.EPERM
    for name in (*SHARED, *PRIVILEGED, *UNSEEN, *(() if forks else ("unshare", "setns"))):
        yield name, denied, ()
    for name in OF_OTHERS:
        itself = _OF_A_PROCESS.get(name)
        yield name, denied, (_Compared(0 if itself is None else 1, "!=", 0),)
        if itself is not None:  # of all processes of a group or a user 0 means its own, too
            yield name, denied, (_Compared(0, "!=", itself),)
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield name, denied, (_Compared(flags, "&", _FAST_OPEN, _FAST_OPEN),)
    # Who is undumpable cannot be seen by an ordinary user, not even to end it.
    yield "prctl", denied, (_Compared(0, "==", _SET_DUMPABLE), _Compared(1, "==", 0))
    yield "clone3", errno.ENOSYS, ()  # its flags cannot be read; libraries fall back to clone
    for flag in _NAMESPACES:
        yield "clone", denied, (_Compared(0, "&", flag, flag),)
    families = (_UNIX, _INET, _INET6, _NETLINK)
    yield "socket", denied, (_Compared(0, ">", max(families)),)
    for family in set(range(max(families))) - set(families):
        yield "socket", denied, (_Compared(0, "==", family),)
    for family in (_INET, _INET6):
        yield "socket", denied, (_Compared(0, "==", family), _Compared(2, ">", _LAST_PROTOCOL))
        # the kind shares its argument with flags, so only its bits are compared
        for kind in set(range(_KINDS)) - {_STREAM, *((_DATAGRAM,) if datagrams else ())}:
            yield "socket", denied, (_Compared(0, "==", family), _Compared(1, "&", kind, _KINDS))


@cache
def compile_filter(*, datagrams: bool, forks: bool) -> str:
    """The program of the filter, as base64; empty where libseccomp is not installed."""
    library = _load()
    if library is None:
        return ""
    context = library.seccomp_init(_ALLOW)
    try:
        for name, error, compared in list_rules(datagrams=datagrams, forks=forks):
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number < 0:  # not on this platform
                continue
            made = (_Comparison * len(compared))(*(_write(each) for each in compared))
            done = library.seccomp_rule_add_array(context, _ERRNO | error, number, len(compared), made)
            if done:
                raise OSError(-done, f"the filter of system calls cannot be made: {name}: {os.strerror(-done)}")
        with os.fdopen(os.memfd_create("filter"), "w+b") as file:  # a full disk is in nobody's way
            if done := library.seccomp_export_bpf(context, file.fileno()):
                raise OSError(-done, f"the filter of system calls cannot be made: {os.strerror(-done)}")
            file.seek(0)
            return base64.b64encode(file.read()).decode()
    finally:
        library.seccomp_release(context)


def _write(compared: _Compared) -> _Comparison:
    argument, operator, value, mask = compared
    # libseccomp takes the mask of a masked comparison before the value
    data = (mask, value) if operator == "&" else (value, 0)
    return _Comparison(argument, _OPERATORS[operator], *data)


@cache
def _load() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    # else ctypes takes a pointer for an int of 32 bits
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
    ]  # fmt: skip
    return library
