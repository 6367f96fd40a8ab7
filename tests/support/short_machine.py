"""Backends that fail as on a machine that lacks something, or only say so. Faults for tests, as faulty_backends."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.adapter import Hit
from tests.support.faulty_backends import recalling


def _raise(error: BaseException) -> Any:
    def recall(*_: object) -> list[Hit]:
        try:
            raise error
        except type(error) as cause:
            raise LookupError("the index cannot be written") from cause

    return recall


NoRoom = recalling(_raise(OSError(28, "No space left on device")), "Fault: says that the disk is full.")
FullSqlite = recalling(_raise(sqlite3.OperationalError("database or disk is full")), "Fault: the same, by sqlite.")
LargeFile = recalling(_raise(OSError(27, "File too large")), "Fault: says that a file is too large.")
ManyFiles = recalling(_raise(OSError(24, "Too many open files")), "Fault: says that too many files are open.")
NoThreads = recalling(_raise(RuntimeError("can't start new thread")), "Fault: says that it may start no thread.")
NoMemory = recalling(_raise(MemoryError()), "Fault: says that there is no memory.")


def _grow(self: Any, *_: object) -> list[Hit]:
    with Path(self.space.root, "large").open("wb") as file:
        file.writelines(bytes(2**20) for _megabyte in range(64))
    return []


Grows = recalling(_grow, "No fault: its store has a file of 64 MiB.")


def _hide(self: Any, *_: object) -> list[Hit]:
    with suppress(OSError):
        _grow(self)
    raise LookupError("the index cannot be written")


HidesWhy = recalling(_hide, "No fault but the words: it says nothing of the file that could not grow.")


def _hang(self: Any, *_: object) -> list[Hit]:
    with suppress(OSError):
        _grow(self)
    time.sleep(60)
    return []


Hangs = recalling(_hang, "No fault but the wait: it tries for ever to write what can be written nowhere.")


def _limit(self: Any, *_: object) -> list[Hit]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    return _grow(self)


LimitsItself = recalling(_limit, "Fault: gives itself the limit that it comes to.")


def _leak(self: Any, *_: object) -> list[Hit]:
    self.leaked = []
    while True:
        self.leaked.append(os.open("/dev/null", os.O_RDONLY))


Leaks = recalling(_leak, "Fault: opens files until it may open no more.")


def _wait(*_: object) -> list[Hit]:
    time.sleep(1.5)
    return []


Slow = recalling(_wait, "No fault: it takes a second and a half.")
Patient = recalling(_wait, "No fault: the same, and says that it is slow.", call_seconds=20)
StopsItself = recalling(lambda *_: os.kill(os.getpid(), signal.SIGSTOP), "Fault: stops itself.")
EndsItself = recalling(lambda *_: os.kill(os.getpid(), signal.SIGTERM), "Fault: ends itself.")
HangsUpItself = recalling(lambda *_: os.kill(os.getpid(), signal.SIGHUP), "Fault: ends itself as if hung up.")
TimesItselfOut = recalling(lambda *_: os.kill(os.getpid(), signal.SIGXCPU), "Fault: ends as by the limit of its time.")
KillsItself = recalling(lambda *_: os.kill(os.getpid(), signal.SIGKILL), "Fault: kills itself.")


class _Odd(Exception):  # noqa: N818  its fault is not its name
    def __str__(self) -> str:
        return "half \ud83d"

    def __repr__(self) -> str:
        raise SystemExit(3)

    @property
    def __class__(self) -> Any:
        raise ValueError("nobody's")

    @__class__.setter
    def __class__(self, _: Any) -> None: ...


Odd = recalling(_raise(_Odd()), "Fault: raises an error that cannot be looked at.")


class _Exits(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise SystemExit(3)


Exiting = recalling(_raise(_Exits()), "Fault: raises an error whose text ends the process.")
