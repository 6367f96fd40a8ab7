"""One adapter in a process of its own: a question, a deadline, an answer; what it says holds no secret."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.adapter import encode
from harness.backend import bounds
from harness.backend.forkserver import Launcher, spawn
from harness.backend.replies import OWES, Error, Reply
from harness.backend.worker import SENT, NoAdapter
from harness.log.redaction import INSTEAD, Redactor
from harness.machine import files, leftovers, processes, shortage
from harness.machine.containment import Ports
from harness.machine.patience import BUSY, Patience, Rivals
from harness.model.backend import Fault, FaultKind
from harness.model.trial import DEFAULT_CALL_SECONDS

T = TypeVar("T")

# the worker writes n and more first: whose answer a line is must be known before it is parsed
_NUMBERED = re.compile(rb'\{"n": ?(\d{1,15}),( ?"more": ?true,)?')
PAUSED = 10.0
"""Seconds for which we may stand still in a call whose failure counts."""
STOPPED = "something outside of the run has stopped its process"
HALF = "a text holds half a pair of surrogates, which is no character"
PRINTED = 64 * 2**20
"""Bytes of what a child printed that are kept if they had to be searched for secrets."""


class MemoryFault(Exception):  # noqa: N818  a fault is an outcome that is logged, see events.Fault
    """A call that failed.

    Attributes:
        alive: Whether the child can still be asked.
    """

    def __init__(self, fault: Fault, *, alive: bool, trace: str = "") -> None:
        plain = fault.message.removeprefix(f"{NoAdapter.__name__}: ")
        super().__init__(plain if plain != fault.message else f"{fault.kind} in {fault.op}: {fault.message}")
        self.fault, self.alive, self.trace = fault, alive, trace

    def __reduce__(self) -> tuple[Callable[[], MemoryFault], tuple[()]]:
        """It crosses processes: exceptions are copied by their message alone."""
        return partial(MemoryFault, self.fault, alive=self.alive, trace=self.trace), ()


@dataclass(frozen=True)
class Deadlines:
    """Seconds that a call may take: opening (an SDK is imported), any call, and more for each item it handles.

    Attributes:
        rewrite: More for each item that a chat model inside rewrites.
    """

    open: float = 120.0
    call: float = DEFAULT_CALL_SECONDS
    item: float = 0.5
    rewrite: float = 60.0
    exit: float = 15.0

    def allow(self, call: float | None) -> Deadlines:
        """These, with what somebody asked for a call; None: as they are. What is slow to answer is slow to open."""
        return self if call is None else replace(self, call=call, open=max(self.open, call))


class Child:
    """One adapter in a process group of its own, with its own HOME and TMPDIR. Not for use by two threads at once."""

    def __init__(
        self, adapter: str, home: Path, deadlines: Deadlines, launch: Launcher = spawn, ports: Ports = ()
    ) -> None:
        self.adapter, self.deadlines, self.took = adapter, deadlines, 0.0
        self._secrets: tuple[str, ...] = ()
        self._redactor = Redactor()
        self._asked = 0
        self._held, self._noted, self._killed = 0, False, False
        self._home = home
        self._output = home / "output.txt"
        ours, theirs = socket.socketpair()
        with theirs, self._prepare(home).open("ab") as output:
            self._process = launch(adapter, theirs.fileno(), home, output.fileno(), ports)
        # all waiting is done in `_wait`, which keeps the deadline
        ours.setblocking(False)
        self._link, self._rest = ours, bytearray()
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(ours, select.POLLIN)
        self._writable.register(ours, select.POLLOUT)

    def _prepare(self, home: Path) -> Path:
        """An adapter knows where its next home will be: what it has put there is in nobody's way."""
        if home.is_symlink() or not (home.is_dir() or not os.path.lexists(home)):
            home.unlink()
        for place, fits in ((self._output, Path.is_file), (home / "tmp", Path.is_dir)):
            if os.path.lexists(place) and (place.is_symlink() or not fits(place)):
                leftovers.remove(place)
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        return self._output

    @property
    def pid(self) -> int:
        return self._process.pid

    def measure_work(self) -> float | None:
        """Processor seconds that it and what it has started have taken; None: not known."""
        return processes.measure_work(self.pid)

    def call(self, reply: TypeAdapter[Reply[T]], op: str, *args: Any, seconds: float) -> T | None:
        """Asks and waits. Raises MemoryFault; what does not fit `reply` is a breach."""
        pages: list[T | None] = []
        self._ask(reply, op, args, seconds, pages.append)
        if len(pages) > 1:
            raise self._fault("breach", op, "answered in pages what is no list", alive=True)
        return pages[0]

    def gather(
        self, reply: TypeAdapter[Reply[list[T]]], op: str, *args: Any, seconds: float, take: Callable[[list[T]], object]
    ) -> bool:
        """Makes a call that answers a list, which may come in pages: `take` gets each. False: no list came.

        Where it raises, some pages were taken.
        """
        whole = True

        def hear(page: list[T] | None) -> None:
            nonlocal whole
            if page is None:
                whole = False
            else:
                take(page)

        self._ask(reply, op, args, seconds, hear)
        return whole

    def _ask(
        self,
        reply: TypeAdapter[Reply[T]],
        op: str,
        args: Sequence[Any],
        seconds: float,
        take: Callable[[T | None], object],
    ) -> None:
        """An answer, page by page. After a wrong one the rest is read past, so that the child can be asked again."""
        began = time.monotonic()
        lines = self._lines(op, self._request(op, args), seconds)
        values = 0
        for line, more in lines:
            if not self._noted:  # it is in its sandbox when it answers
                self._noted = True
                leftovers.note(self._home.parent, self.pid)
            try:
                answer = reply.validate_json(line)
            except ValidationError as error:
                deque(lines, maxlen=0)
                raise self._invalid(op, line, error) from None
            # told twice, in what the pattern sees and in the JSON, where a key may stand twice
            if answer.more is not more:
                self.kill()
                raise self._fault("breach", op, f"a page that is not marked as one: {line[:80]!r}; it was killed")
            values += len(answer.ok) if isinstance(answer.ok, list) else 1
            # told by the child: no more is believed than has passed here
            self.took = min(max(answer.took, 0.0), time.monotonic() - began)
            if answer.error is not None:
                deque(lines, maxlen=0)
                self.check_machine(op, answer.error)
                raise self._read_fault(op, answer.error)
            if values > bounds.LISTED:
                deque(lines, maxlen=0)
                raise self._fault("limit", op, f"more than {bounds.LISTED:,} values, which are not read", alive=True)
            take(answer.ok)

    def _lines(self, op: str, request: bytes, seconds: float) -> Iterator[tuple[bytes, bool]]:
        """What answers a request: one line, or several; each with whether more come."""
        self._patience, self._rivals = Patience(seconds, self._find_excuse), Rivals(lambda: [self.pid])
        read, more = 0, True
        try:
            self._send(request)
            while more:
                line = self._line()
                read += len(line or b"")
                if line is None or read > bounds.TOTAL:
                    self.kill()
                    most = bounds.REPLY if line is None else bounds.TOTAL
                    complaint = f"an answer of more than {most:,} bytes, which is not read; the process was killed"
                    raise self._fault("limit", op, complaint)
                # before anything of it is quoted in a complaint
                line = self._redactor.data(line)
                numbered = _NUMBERED.match(line)
                if numbered is None or numbered[1] != b"%d" % self._asked:
                    self.kill()
                    complaint = f"something else spoke on its channel: {line[:80]!r}; it was killed"
                    raise self._fault("breach", op, complaint)
                more = numbered[2] is not None
                yield line, more
        except TimeoutError:
            raise self._late(op, seconds) from None
        except (OSError, EOFError):
            raise self._gone(op) from None

    def post(self, op: str, *args: Any) -> None:
        """Asks without waiting; nothing else can be asked after it. What a dead child did not hear is not told."""
        with contextlib.suppress(OSError, TimeoutError):
            self._patience = Patience(self.deadlines.call)
            self._send(self._request(op, args))

    def _request(self, op: str, args: Sequence[Any]) -> bytes:
        self._asked += 1
        return encode({"n": self._asked, "op": op, "args": args}).encode() + b"\n"

    def _invalid(self, op: str, line: bytes, error: ValidationError) -> MemoryFault:
        """A wrong value from a sound adapter process is a breach that leaves it alive."""
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the answer"
        why = HALF if first["type"] == "json_invalid" and "hex escape" in first["msg"] else first["msg"]
        complaint = "; ".join(filter(None, [f"{where}: {why}", OWES.get(op)]))
        return self._fault("breach", op, complaint, alive=True, trace=repr(line[:500]))

    # --- whose doing it was ---

    def check_machine(self, op: str, error: Error) -> None:
        """Kills it and raises MemoryFault if what it raised is the machine's doing."""
        message = " ".join([error.message, *error.causes])
        self._look()
        if error.kind == "raised" and (lack := self._lacks(message) or self._explain_pause()):
            self.kill()
            raise self._fault("machine", op, f"{lack}; it raised {error.message[:120]}")

    def _read_fault(self, op: str, error: Error) -> MemoryFault:
        return self._fault(error.kind, op, error.message, alive=True, trace=error.trace, at=error.at)

    def _late(self, op: str, seconds: float) -> MemoryFault:
        """The fault of a call whose time is over; the child is killed."""
        lack = self._patience.used_excuse
        lack = lack or shortage.explain_memory(self._held) or shortage.explain_full_file(self._home.parent)
        self.kill()
        if lack:
            return self._fault("machine", op, f"{lack}; no answer within {seconds:g} s")
        more = "a slow backend gets more time by --call-seconds"
        return self._fault("timed-out", op, f"no answer within {seconds:g} s; the process was killed; {more}")

    def _gone(self, op: str) -> MemoryFault:
        """The fault of a child that is no longer there."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        # before `_last_words` kills what has closed its channel and stays: that signal is ours
        code = self._process.poll()
        last_words, sent = self._last_words(code), -(code or 0)
        if sent in shortage.KILLS and not self._owns_up(sent) and not shortage.holds_most(self._held):
            return self._fault("machine", op, f"its process was {shortage.tell_kill(sent)}")
        # A mapped file without room beneath it ends whoever writes to it by SIGBUS.
        room = shortage.is_short_of_room(self._home.parent) if sent == signal.SIGBUS else ""
        time_up = shortage.explain_processor() if sent == signal.SIGXCPU else ""
        if lack := room or time_up or self._lacks(last_words) or self._explain_pause():
            return self._fault("machine", op, f"{lack}; {last_words}")
        return self._fault("crashed", op, last_words)

    def _lacks(self, last_words: str) -> str:
        place = self._home.parent
        lack = shortage.find(last_words, place, self._held) or shortage.explain_full_file(place)
        return lack or leftovers.explain_removal()

    def _explain_pause(self) -> str:
        """Says how long this process was stopped during a call: the child's own clocks went on meanwhile."""
        paused = self._patience.paused
        return f"coldwarm itself stood still for {paused:.0f} s during the call" if paused > PAUSED else ""

    def _find_excuse(self) -> str:
        """Why it did not run in the span that has just passed, if that is not its own doing."""
        starved = self._rivals.keep()
        if self._look():
            return "" if self._owns_up(signal.SIGSTOP) else STOPPED
        return BUSY if starved else ""

    def _look(self) -> bool:
        """Takes note of the memory that it holds; whether it is stopped."""
        seen = processes.look(self._process.pid)
        self._held = max(self._held, seen.held)
        return seen.stopped

    def _owns_up(self, sent: int) -> bool:
        return f"{SENT}{int(sent)}\n" in self.output(1024)

    # --- its channel ---

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._link.send(view) :]
            except BlockingIOError:
                self._wait(self._writable)

    def _wait(self, poll: select.poll) -> None:
        while not self._patience.wait(lambda seconds: poll.poll(seconds * 1000)):
            pass

    def _line(self) -> bytes | None:
        """The next answer, or None if it is too long."""
        while (end := self._rest.find(b"\n")) < 0:
            if len(self._rest) > bounds.REPLY:
                return None
            self._wait(self._readable)
            data = self._link.recv(2**20)
            if not data:
                raise EOFError
            self._rest += data
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    def _fault(
        self, kind: FaultKind, op: str, message: str, *, alive: bool = False, trace: str = "", at: str = ""
    ) -> MemoryFault:
        fault = Fault(kind=kind, op=op, message=self.redact(message), at=self.redact(at))
        return MemoryFault(fault, alive=alive, trace=self.redact(trace))

    def withhold(self, *secrets: str) -> None:
        """What it is lent, and what nothing that it says may hold."""
        self._secrets += tuple(filter(None, secrets))
        self._redactor = Redactor(self._secrets)

    def redact(self, text: str) -> str:
        """Says nothing of a secret, whatever the adapter quotes, in a message not even of a short one."""
        # the longest first: a short one within it would be cut out of it, and leave the rest
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, INSTEAD)
        return self._redactor.text(text)

    def _last_words(self, code: int | None) -> str:
        how = (
            "closed its channel"
            if code is None
            else f"was ended by signal {-code}"
            if code < 0
            else f"exited with {code}"
        )
        self.kill()
        lines = [line for line in self.output().strip().splitlines() if not line.startswith(SENT)]
        return f"the process {how}" + (f"; it last printed: {lines[-1][:300]}" if lines else "")

    def output(self, limit: int = 65536) -> str:
        """The end of what the adapter printed."""
        try:
            return files.read_tail(self._output, limit).decode("utf-8", "replace")
        except OSError:  # the adapter may have put anything in its place
            return ""

    def kill(self) -> None:
        """Ends the whole process group at once (SIGKILL). Later its id may be another's: only once."""
        if not self._killed:
            self._killed = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._link.close()
        self._clean_output()

    def _clean_output(self) -> None:
        """What it printed may be kept: without secrets, and of too much the end only."""
        if not self._secrets:
            return
        with contextlib.suppress(OSError):
            printed = files.read_tail(self._output, PRINTED)
            clean = self._redactor.data(printed)
            # what lies before that end was not searched
            if clean != printed or self._output.stat().st_size > PRINTED:
                self._output.unlink()
                self._output.write_bytes(clean)

    def exit(self) -> None:
        """Lets the child end by itself: it reads the end of its line. What outlives the deadline is killed."""
        self._link.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self.deadlines.exit)
        self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Who is told to stop waits for no child."""
        if kind is None or issubclass(kind, Exception):
            self.exit()
        else:
            self.kill()
