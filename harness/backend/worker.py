"""The child's main: JSON lines on a private descriptor <-> one adapter. Standard library only.

`python -m harness.backend.worker FD module:Class`: reads one request a line from FD, answers one line, or, for a long
list, several: pages of it, of which all but the last are marked `more`. Ends when the line is cut, so that no child
outlives its parent. What the adapter prints goes where the parent pointed stdout and stderr. With `--fork` it imports
the adapter's SDK once and forks such a worker for each request (see
harness/backend/forkserver.py).
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import hashlib
import importlib
import inspect
import io
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from harness.adapter import (
    Adapter,
    Memory,
    Scope,
    Space,
    encode,
    find_installed,
    read_call,
    read_filter,
    read_item,
    read_message,
    to_wire,
)
from harness.backend import raised, startup
from harness.machine.sandbox import Sandbox

PDEATHSIG = 1
SENT = "coldwarm: this process sends itself signal "
PAGE, PAGE_BYTES = 1000, 2**20
"""A page of a list: values, and bytes where more than one value is in it."""
LINE = 8 * 2**20
"""Bytes of one line, which is all that the parent reads."""


def _read_scope(value: Mapping[str, Any]) -> Scope:
    return Scope(**value)


ARGUMENTS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "remember": (lambda items: [read_item(item) for item in items],),
    "observe": (lambda messages: [read_message(each) for each in messages], _read_scope, str, str),
    "settle": (float,),
    "recall": (str, _read_scope, int, str),
    "recall_where": (str, _read_scope, int, str, read_filter),
    "entries": (_read_scope,),
    "get": (_read_scope, str),
    "history": (_read_scope, str),
    "update": (_read_scope, str, read_item),
    "supersede": (_read_scope, list, read_item),
    "deprecate": (_read_scope, list, str),
    "forget": (_read_scope, list),
    "forget_scope": (_read_scope,),
    "snapshot": (),
    "restore": (str,),
    "usage": (),
}
"""Every operation of an open Memory, and how each of its arguments is read from JSON."""


class Worker:
    """One adapter and at most one open Memory."""

    def __init__(self, name: str) -> None:
        self._adapter, self._module = load(name), name.partition(":")[0]
        self._memory: Memory | None = None
        self._others: dict[str, Callable[..., Any]] = {
            "describe": self._describe,
            "declare": self._declare,
            "open": self._open,
            "close": self._close,
            "burst": self._burst,
            "serve": lambda gateway: self._adapter.serve(gateway),
            "program": self._write_program,
            "now": time.time,
        }

    def answer(self, op: str, args: list[Any]) -> Any:
        if op in ARGUMENTS:
            if self._memory is None:
                raise RuntimeError(f"{op} before open")
            read = ARGUMENTS[op]
            return getattr(self._memory, op)(*(form(value) for form, value in zip(read, args, strict=True)))
        if op in ("storage", "compact"):
            adapter, space = self._place(*args)
            return getattr(adapter, op)(space)
        if op not in self._others:
            raise RuntimeError(f"unknown operation {op!r}")
        return self._others[op](*args)

    def _open(self, space: Mapping[str, Any]) -> None:
        adapter, made = self._place(space)
        self._memory = adapter.open(made)

    def _close(self) -> Any:
        memory, self._memory = self._memory, None
        return memory.close() if memory else None

    def _burst(self, items: list[Any], at_once: bool) -> list[dict[str, Any]]:
        """Each item by a call of its own, from a thread of its own if all begin at once: what came of each."""
        memory, found = self._memory, [dict[str, Any]() for _ in items]
        if memory is None:
            raise RuntimeError("burst before open")
        gate = threading.Barrier(len(items) if at_once else 1)

        def write(at: int) -> None:
            gate.wait()
            began = time.perf_counter()
            try:
                found[at]["ack"] = to_wire(memory.remember([read_item(items[at])])[0])
            except BaseException as error:  # the result of this one
                found[at]["error"] = raised.describe(error, self._module)
            found[at]["took"] = time.perf_counter() - began

        threads = [threading.Thread(target=write, args=(at,)) for at in range(len(items))]
        for each in threads:
            each.start() if at_once else each.run()
        for each in threads if at_once else ():
            each.join()
        return found

    def _place(self, space: Mapping[str, Any]) -> tuple[Adapter, Space]:
        """The adapter as the settings of its space make it."""
        made = Space(**space)
        return self._adapter.configured(made.settings), made

    def _write_program(self, settings: Mapping[str, str], calls: list[Any]) -> str:
        adapter = self._adapter.configured(settings)
        write = getattr(adapter, "program", None)  # adapters of before it was asked
        return write([read_call(call) for call in calls]) if write else ""

    def _configure(self, settings: Mapping[str, str]) -> tuple[Adapter, str]:
        """The adapter with these settings; where it does not know a value, without them, and a line says which."""
        try:
            return self._adapter.configured(settings), ""
        except ValueError as error:
            return self._adapter, raised.describe_error(error)

    def _describe(self, settings: Mapping[str, str]) -> dict[str, Any]:
        adapter, problem = self._configure(settings)
        return {
            **self._declare(settings),
            "name": adapter.name,
            "version": "" if problem else adapter.version(),  # that of another one would not help
            "secrets": list(adapter.secrets),
            "server": to_wire(adapter.serve("http://127.0.0.1/v1")),
            "source": self._source(adapter),
        }

    def _declare(self, settings: Mapping[str, str]) -> dict[str, Any]:
        """What an adapter can say without its SDK."""
        adapter, problem = self._configure(settings)
        return {
            "support": {name: to_wire(entry) for name, entry in adapter.support.items()},
            "settings": list(adapter.settings),
            "packages": [{"requirement": each, "installed": find_installed(each)} for each in adapter.packages],
            "embeds": getattr(adapter, "embeds", False),  # adapters of before it was asked
            "clients": list(getattr(adapter, "clients", ())),
            "call_seconds": getattr(adapter, "call_seconds", 0.0),
            "problem": problem,
        }

    def _source(self, adapter: Adapter) -> str:
        """sha256 of the adapter's own modules and files: a changed one is never taken for the one in a log."""
        tops = {name.partition(".")[0] for name in (type(self._adapter).__module__, self._module)}
        files = sorted({m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] in tops and m.__file__})
        files += getattr(adapter, "files", ())  # adapters of before it was asked
        return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()


class NoAdapter(Exception):  # noqa: N818  the parent shows its line as it is
    """What `module:Class` names cannot be an adapter: why, and what to do."""


def load(name: str) -> Adapter:
    """The adapter that `module:Class` names. Raises NoAdapter, and what its module raises."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        where = "the working folder, the folders of COLDWARM_ADAPTER_PATH, installed packages"
        raise NoAdapter(f"there is no module '{error.name}' in: {where}") from None
    if not callable(found):
        raise NoAdapter(f"module '{module}' has no class '{attribute}'")
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise NoAdapter(f"{name} is no adapter, which is made without arguments: {error}") from None
    made: Adapter = found()
    if lacking := [each for each in ("name", "support", "configured", "open", "storage") if not hasattr(made, each)]:
        raise NoAdapter(
            f"{name} is no adapter, it lacks {', '.join(lacking)}: derive it from harness.adapter.BaseAdapter"
        )
    return made


def _die_with_parent() -> None:
    """Linux ends us when the parent is killed, even in the middle of a call that never returns."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)


def _own_up(event: str, args: tuple[Any, ...]) -> None:
    """A process that ends or stops itself says so before: a signal does not tell the parent who sent it."""
    if event in ("os.kill", "os.killpg") and args[1] and args[0] in (0, os.getpid(), os.getpgrp(), -os.getpgrp()):
        os.write(2, f"{SENT}{int(args[1])}\n".encode())


def main(descriptor: int, name: str) -> None:
    _die_with_parent()
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # it would seem to be the adapter's own
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    requests, answers = open(descriptor, "rb"), open(descriptor, "wb", closefd=False)  # noqa: SIM115  until the process ends
    worker, module = cache(partial(Worker, name)), name.partition(":")[0]
    sys.addaudithook(_own_up)
    for line in requests:
        for reply in _reply(json.loads(line), worker, module):
            answers.write(reply.encode())
            answers.flush()


def _reply(request: Mapping[str, Any], worker: Callable[[], Worker], module: str) -> Iterator[str]:
    """The lines that answer a request. `took` leaves out how long the parent takes to read them."""
    head, began, last = f'{{"n": {request["n"]}, ', time.perf_counter(), None
    try:
        for page in _page_answer(worker().answer(request["op"], request["args"])):
            if last is not None:
                started = time.perf_counter()
                yield f'{head}"more": true, "took": {started - began:.6f}, "ok": {last}}}\n'
                began += time.perf_counter() - started
            last = page
        kind, answer = "ok", last or "[]"
    except _EncodingRefused as error:
        kind, answer = "error", json.dumps({"kind": error.kind, "message": str(error)})
    except BaseException as error:  # an adapter may raise anything, SystemExit included: it is its result
        kind, answer = "error", json.dumps(raised.describe(error, module))
    yield f'{head}"took": {time.perf_counter() - began:.6f}, "{kind}": {answer}}}\n'


class _EncodingRefused(Exception):  # noqa: N818  what is wrong is the answer
    """An answer that cannot be told: of a wrong kind, or longer than is read."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _page_answer(answer: Any) -> Iterator[str]:
    """An answer as JSON: a list in pages, also one that is made while it is told; any other value as it is."""
    if not isinstance(answer, list | tuple | Iterator):
        yield _encode(answer)
        return
    values = iter(answer)
    while page := list(islice(values, PAGE)):
        yield from _split(page)


def _split(page: list[Any]) -> Iterator[str]:
    encoded, middle = _encode(page, LINE if len(page) == 1 else None), len(page) // 2
    if middle and len(encoded) > PAGE_BYTES:
        yield from _split(page[:middle])
        yield from _split(page[middle:])
    else:
        yield encoded


def _encode(value: Any, most: int | None = LINE) -> str:
    """Raises _EncodingRefused."""
    try:
        encoded = encode(value)
    except (TypeError, ValueError) as error:
        raise _EncodingRefused("breach", f"{type(error).__name__}: {error}"[:2000]) from None
    if most is not None and len(encoded) > most:
        raise _EncodingRefused("limit", f"an answer of {len(encoded):,} bytes; at most {most:,} are read")
    return encoded


def fork_on_request(descriptor: int, name: str) -> None:
    """Imports what the adapter names, then forks a worker for each request; refuses once there is a second thread."""
    _die_with_parent()
    link = socket.socket(fileno=descriptor)
    for module in load(name).imports:
        with suppress(ModuleNotFoundError):  # opening says what is missing, and to whom it matters
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # what was imported is shared with every child: no collection there may write to its pages
    link.sendall(json.dumps({"ready": int(_has_one_thread())}).encode())
    while True:
        data, descriptors, _, _ = socket.recv_fds(link, 65536, 2)
        if not data:
            return None
        request = json.loads(data)
        answer = dict[str, int]()  # what cannot be done, or was killed as it began
        if "ended" in request:
            answer = {"code": _read_exit_code(request["ended"])}
        elif _has_one_thread():
            seen, tells = os.pipe()
            if (pid := os.fork()) == 0:
                link.close()
                os.close(seen)
                _become_worker(request["env"], request["cwd"], descriptors[1])
                Sandbox(**request["sandbox"]).narrow()
                os.write(tells, b"1")  # its group exists from here on
                os.close(tells)
                sys.argv[1:] = [str(descriptors[0]), name]
                return main(descriptors[0], name)
            os.close(tells)
            answer = {"pid": pid} if os.read(seen, 1) else {}
            os.close(seen)
        for each in descriptors:
            os.close(each)
        link.sendall(json.dumps(answer).encode())


def leave() -> NoReturn:
    """Ends as an interpreter does, but does not take the heap apart: in a forked child that copies all shared pages.

    Threads are waited for, exit functions run, and what files hold back is written. What was imported before a fork
    is frozen, so that only this process's own objects are looked at.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls
    atexit._run_exitfuncs()
    buffered = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    held = [each for each in gc.get_objects() if issubclass(type(each), buffered)]  # isinstance would wake lazy proxies
    for file in (*held, sys.stdout, sys.stderr):
        with suppress(Exception):
            file.flush()
    ctypes.CDLL(None).fflush(None)  # what libraries in C hold back
    os._exit(0)


def _read_exit_code(pid: int) -> int:
    """The exit code of a child that has ended; never waits, as nobody else could be served meanwhile."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(status) if ended else -signal.SIGKILL


def _has_one_thread() -> bool:
    """Whether this process has one thread: a fork takes no other along, and the locks that those hold stay locked."""
    return len(list(Path("/proc/self/task").iterdir())) == 1


def _become_worker(env: Mapping[str, str], cwd: str, output: int) -> None:
    """A forked child becomes what a spawned one would be: its own session, home, output."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(cwd)
    os.environ.update(env)
    tempfile.tempdir = None  # an import may have asked for the parent's


if __name__ == "__main__":
    startup.forget_checkout()
    forks = sys.argv[1] == "--fork"
    startup.enter_sandbox(forks=forks)
    run = fork_on_request if forks else main
    run(int(sys.argv[-2]), sys.argv[-1])
    leave()
