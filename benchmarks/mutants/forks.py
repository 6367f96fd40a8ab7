"""Work in forked processes, some side by side: what each answers, or that its time was over.

Time is that of processors, so that a busy machine condemns nobody; a bound on the clock stands behind it.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
MEMORY = 8 * 2**30
"""Bytes of address space: a change can make a loop endless."""


class Task(NamedTuple):
    """What is to be done in a process of its own.

    Attributes:
        work: Its answer goes through JSON.
        busy: Seconds of processors.
        clock: Seconds.
    """

    work: Callable[[], Any]
    busy: float
    clock: float


class Over(NamedTuple):
    """Why there is no answer: its time of processors was over, the clock ran out, or it died."""

    why: str


def each(tasks: Iterable[tuple[T, Task]], jobs: int) -> Iterator[tuple[T, Any]]:
    """The answers as they come. A task is taken from the iterator when there is room for it."""
    waiting, running = iter(tasks), dict[int, tuple[T, int, float, bytearray]]()
    late = set[int]()
    with selectors.DefaultSelector() as selector:
        more = True
        while more or running:
            while more and len(running) < jobs:
                try:
                    name, task = next(waiting)
                except StopIteration:
                    more = False
                    break
                reading, pid = _start(task)
                running[reading] = name, pid, time.monotonic() + task.clock, bytearray()
                selector.register(reading, selectors.EVENT_READ)
            for key, _ in selector.select(0.2):
                reading = key.fd
                name, pid, _, data = running[reading]
                if part := os.read(reading, 1 << 16):
                    data += part
                    continue
                selector.unregister(reading)
                os.close(reading)
                del running[reading]
                answer = _end(pid, bytes(data))
                yield name, Over("clock") if pid in late and isinstance(answer, Over) else answer
            for _, pid, ends, _ in running.values():
                if time.monotonic() > ends:
                    late.add(pid)
                    _kill(pid)


def _start(task: Task) -> tuple[int, int]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    if pid := os.fork():
        os.close(writing)
        return reading, pid
    code = 1
    try:
        os.setsid()
        seconds = int(time.process_time() + task.busy) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with os.fdopen(writing, "w") as file:
            json.dump(task.work(), file)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def bound(seconds: float) -> None:
    """Of a task, by itself: so many seconds of processors from now on, within those that it was given."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time() + seconds) + 1, hard), hard))


def _end(pid: int, data: bytes) -> Any:
    """The answer; what the process started ends with it."""
    _, status = os.waitpid(pid, 0)
    _kill(pid)
    with suppress(ValueError):
        return json.loads(data)
    ended = os.waitstatus_to_exitcode(status)
    return Over("time" if ended in (-signal.SIGXCPU, -signal.SIGKILL) else "died")


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
