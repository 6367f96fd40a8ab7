"""Workers: processes that call one function, for one part of the work after another.

An executor of the standard library has one queue of results for all. A process that is killed while it puts a large
one there, or while another one is being started, leaves it waiting for ever: here each worker has a connection of its
own, which breaks with it.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from traceback import format_exception
from typing import Any, TypeVar

from harness.machine import leftovers
from harness.machine.processes import Killed

P = TypeVar("P")
R = TypeVar("R")
ADDRESS = 107
"""Bytes that the path of a socket may have: `sun_path` of unix(7), without its end."""
SOCKET = len("/listener-12345678")
"""Bytes of a name as the library draws it for a socket."""


def map_parts(
    function: Callable[[P], R],
    parts: Sequence[P],
    processes: int,
    *,
    apart: bool = False,
    anew: bool = False,
    ahead: int = 0,
) -> Iterator[R]:
    """What the function makes of each part, in their order. With one process it is this one, part by part as asked for,
    or, `apart`, one whose memory is given back.

    The processes come from a server that has no threads, so that this one may have any. The function, the parts and
    what is made of them are sent to and fro. Raises Killed, and what the function raises, with a note of where.

    Args:
        anew: Each process is started by itself, and ends as a program does, with what it has registered for that.
        ahead: Parts that are begun before what is made of an earlier one was taken, if more than two for each process:
            where one may take as long as many others, and all results find room.
    """
    count = min(processes, len(parts))
    if count < (1 if apart else 2):
        yield from map(function, parts)
        return
    context = get_context("spawn") if anew else _choose_context()
    context.set_forkserver_preload([getattr(function, "func", function).__module__])  # imported once for all
    with ExitStack() as stack:
        workers = [stack.enter_context(_start(context, function)) for _ in range(count)]
        yield from _share(workers, parts, max(ahead, 2 * count))


def _choose_context() -> BaseContext:
    """How processes are started: by a server, or anew where no path to its socket is short enough for the system.

    The library makes its sockets where the next process clears them, if this one is killed: it has no call for that,
    and a folder of its own would stay for ever.
    """
    settings: dict[str, Any] = getattr(current_process(), "_config", {})
    folder = settings.setdefault("tempdir", str(leftovers.process_folder()))
    return get_context("forkserver" if len(os.fsencode(folder)) + SOCKET <= ADDRESS else "spawn")


@contextmanager
def _start(context: Any, function: Callable[[Any], object]) -> Iterator[Connection]:  # it lists no `Process`
    """A worker, to which parts are sent, each in a tuple. It has ended after that: at once if it still works."""
    ours, theirs = context.Pipe()
    with ours:
        # only the process is to hold this end, so that the connection breaks with it
        with theirs:
            # thresholds go along, as a new process begins with Python's own
            process = context.Process(target=_work, args=(theirs, function, gc.get_threshold()))
            with _notice_kill():  # of the server that starts it
                process.start()
        try:
            yield ours
            with suppress(ConnectionError):
                ours.send(None)
        except BaseException:
            # a worker that is still busy ends once this end is closed
            ours.close()
            process.join()
            leftovers.sweep_temporary()  # it had no time to clear its folder
            raise
        finally:
            process.join()


def _share(workers: list[Connection], parts: Sequence[P], ahead: int) -> Iterator[Any]:
    """Each worker has one part at a time, so that neither side sends while the other one does."""
    idle, busy, done = deque(workers), dict[Connection, int](), dict[int, Any]()
    begun = 0
    for number in range(len(parts)):
        while number not in done:
            while idle and begun < min(len(parts), number + ahead):
                worker = idle.popleft()
                with _notice_kill():
                    # in a tuple, as a part may be falsy and None ends the worker
                    worker.send((parts[begun],))
                busy[worker] = begun
                begun += 1
            ready = wait(busy)
            # a list, as `busy` gets smaller in the loop
            for worker in [each for each in busy if each in ready]:
                with _notice_kill():
                    made, error = worker.recv()
                if error is not None:
                    raise error
                done[busy.pop(worker)] = made
                idle.append(worker)
        yield done.pop(number)


@contextmanager
def _notice_kill() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError):
        why = "a process of coldwarm was killed from outside, perhaps for lack of memory"
        raise Killed(f"{why}; try again on a quieter machine") from None


def _work(parts: Connection, function: Callable[[Any], object], thresholds: tuple[int, int, int]) -> None:
    """An interrupt from the terminal meets all processes: the one that shares the work is to end this one, without its
    traceback. If that one was killed, this one ends by itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*thresholds)
    with suppress(ImportError):  # its bars share a semaphore, of which the system warns if this process ends at once
        from tqdm import tqdm

        tqdm.set_lock(threading.RLock())
    threading.Thread(target=_end_with, args=(parts,), daemon=True).start()
    try:
        while given := parts.recv():
            parts.send_bytes(_attempt(function, *given))
    except (EOFError, ConnectionError):
        os._exit(1)


def _attempt(function: Callable[[P], R], part: P) -> bytes:
    """What is sent: what was made, and what was raised."""
    try:
        # pickled here, so that what cannot be pickled is told like any other error
        return bytes(ForkingPickler.dumps((function(part), None)))
    except Exception as error:  # it is raised where the work is shared
        # its traceback is not sent with it
        error.add_note("".join(format_exception(error)))
        return bytes(ForkingPickler.dumps((None, error)))


def _end_with(parts: Connection) -> None:
    """Ends this process, whatever it does, when the other end of its connection is closed."""
    poll = select.poll()
    poll.register(parts, 0)  # a hang-up needs no asking, and parts are not ours to see
    poll.poll()
    os._exit(1)
