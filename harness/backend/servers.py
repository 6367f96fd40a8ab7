"""A backend's server with its lifetime: folder, ports, start, health, logs, a fresh store for each trial, teardown.

The programs belong to a supervisor process (harness/backend/supervisor.py): they end by their ids when the block
ends, and also when this process is killed. A running server that the environment names is used as it is, and left
running.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

from harness.adapter import Program, Server
from harness.backend.forkserver import NO_TELEMETRY
from harness.backend.supervised import PortTakenError, ServiceError, Supervised
from harness.backend.supervisor import NOBODY
from harness.machine import ports, processes, shortage
from harness.machine.patience import BUSY, Patience, Rivals

READY_SECONDS = 180.0
"""From the start of the first program to the health of the last, but for what other programs kept them from running."""
TOLD_EVERY = 5.0
"""Seconds between two words of progress."""
DEATHS = 5
"""How often a server may die in one run; then it is not started again."""
Progress = Callable[[str], None]


def find_named(server: Server) -> str | None:
    """The running server that the environment names instead: its data are not within reach."""
    return os.environ.get(server.variable, "").rstrip("/") or None


def explain_missing(server: Server) -> str | None:
    """Why it cannot be had, in one line that says what to do; None if it is installed, or named and healthy."""
    if url := find_named(server):
        # the last is up only when those before it are
        healthy = ports.is_answered(url, server.programs[-1].health)
        return None if healthy else f"{server.variable} names {url}, where no healthy server answers"
    for program in server.programs:
        if any(not shutil.which(command[0]) for command in (program.argv, *program.setup)):
            return (
                f"{program.name} is not installed: {server.install} installs it, "
                f"or {server.variable} names a running server"
            )
    return None


class Service:
    """A server, started when it is entered or first asked for a fresh store, and ended at the end of the block.

    `url` is what a space's `service` is; `root` takes its logs and, while it runs, its other files.

    Attributes:
        progress: Hears one line now and then while it starts.
        seconds: How long that may take. Not for use by two threads at once.
    """

    url: str

    def __init__(
        self, server: Server, root: Path, progress: Progress = lambda _: None, seconds: float = READY_SECONDS
    ) -> None:
        self.server, self._top, self._progress, self._seconds = server, root, progress, seconds
        self._deaths = 0
        self._ports: Mapping[str, int] = {}
        self._supervisor: Supervised | None = None
        self._failed: ServiceError | None = None
        self._ill: ServiceError | None = None

    @property
    def key(self) -> str:
        """What it sends to the gateway."""
        return self.server.key

    def __enter__(self) -> Self:
        """Raises ServiceError."""
        self._up()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def fresh(self, store: Path) -> str:
        """Gives the next trial an empty store, with its data below `store`, and the URL, which changes if it has died.

        Raises ServiceError. A named server is asked for nothing: it keeps what other trials have written.
        """
        self._up()
        if find_named(self.server) is None:
            try:
                self._supply(store)
            except ServiceError as error:
                self._end_dead(error)
                raise
        return self.url

    def flush(self) -> None:
        """Brings all memories to the files of the store, so that they can be looked at. Raises ServiceError."""
        if self._supervisor is not None:
            self.check()
            for program in self.server.programs:
                if program.flush:
                    self._run(f"{program.name}-flush", program.flush, program, self._allow())

    def release(self) -> None:
        """Ends the programs that hold memories, as their folder goes with the trial and whatever lives there with it.

        Whether the others answer can be seen only now, as one of those that depend on it says that it is ill then.
        """
        if self._supervisor is not None:
            try:
                self._require_health()
                # those that depend on others first
                for name in reversed([program.name for program in self.server.programs if program.data]):
                    self._ask("end", name)
            except ServiceError as error:
                self._ill = error

    def check(self) -> None:
        """Raises ServiceError if a program has ended that nobody stopped, or a named server no longer answers."""
        if find_named(self.server) is not None and (reason := explain_missing(self.server)):
            raise ServiceError(reason)
        if self._supervisor is not None:
            self._check(self._ask("codes"))
            if any(processes.look(pid).stopped for pid in self._ask("look")["pids"]):
                raise ServiceError("the server does not run", "something outside of the run has stopped it")

    def _check(self, codes: Mapping[str, int | None], left: Sequence[str] = ()) -> None:
        for name, code in codes.items():
            if code is not None and name not in left:
                raise self._describe_end(name, code)

    @property
    def ports(self) -> tuple[int, ...]:
        """Where its programs listen, if it was started here."""
        return tuple(self._ports.values())

    # --- starting and ending ---------------------------------------------------------------------------------------

    def _up(self) -> None:
        """Whatever it takes to have it running; what could not be started is not tried for every trial."""
        if reason := explain_missing(self.server):
            raise ServiceError(reason)
        if url := find_named(self.server):
            self.url = url
            return
        if self._failed is not None:
            raise self._failed
        if self._supervisor is not None:
            try:
                self._require_health()
            except ServiceError as error:
                self._end_dead(error)
                if self._failed is not None:
                    raise self._failed from None
                self._progress(f"{error}; starting it again")
        if self._supervisor is None:
            self._begin()

    def _end_dead(self, error: ServiceError) -> None:
        """Ends what is left of it."""
        self._end()
        self._deaths += 1
        if self._deaths == DEATHS:
            self._failed = ServiceError(f"{error}; it has died {DEATHS} times and is not started again", error.lack)

    def _require_health(self) -> None:
        """Raises ServiceError also if a program runs but answers nobody. Those that hold memories get fresh ones.

        One of those was ended with the last trial, or has ended in good order, as PostgreSQL does where its folder is
        gone. Who depends on it may say that it is ill then, and is waited for once it has a fresh one.
        """
        if self._ill is not None:
            raise self._ill
        codes = self._ask("codes")
        left = [program.name for program in self.server.programs if program.data and codes.get(program.name, 0) == 0]
        self._check(codes, left)
        for program in self.server.programs:
            if not program.data and not left and not self._answers(program):
                raise ServiceError(f"{program.name} no longer answers{self._last_words(program.name)}")

    def _begin(self) -> None:
        """Starts; what fails, as it does if another took a port meanwhile, is tried once more, and never again."""
        try:
            self._attempt()
        except ServiceError as error:
            self._progress(f"{error}; trying once more")
            try:
                self._attempt()
            except ServiceError as again:
                self._failed = again
                raise

    def _attempt(self) -> None:
        try:
            self._start_all()
        except BaseException:
            self._end()
            raise

    def _supply(self, store: Path) -> None:
        """A fresh store, on other ports if one was taken while nobody of ours listened there: between two trials."""
        try:
            self._swap(store)
        except PortTakenError as taken:
            self._progress(f"{taken}; starting all on other ports")
            self._end()
            self._begin()
            self._swap(store)

    def _swap(self, store: Path) -> None:
        """Lets the programs that hold memories hold them below `store`."""
        held = [(program, program.data) for program in self.server.programs if program.data]
        # those that depend on others first
        for program, _ in reversed(held):
            self._ask("end", program.name)
        for program, data in held:
            try:
                _copy(self._first / data, store / data, program.unprivileged)
            except OSError as error:
                first = error.args[0][0][2] if isinstance(error, shutil.Error) else error  # it lists every file
                lack = shortage.find(str(first), store.parent)
                raise ServiceError(f"{program.name} cannot get a fresh store: {first}", lack) from None
        self._store = store
        patience = self._allow()
        for program, _ in held:
            self._start(program, patience)
        # who depends on a fresh one may be ill until it has seen it
        for program in self.server.programs:
            if not program.data:
                self._wait(program, patience)

    def _start_all(self) -> None:
        """Every program in order, each after its setup. The first store is never played in: later ones are copies."""
        # a new folder for each start: the logs of earlier ones stay
        self._root = next(each for at in count(1) if not (each := self._top / f"start-{at}").exists())
        self._first = self._root / "first"
        self._store = self._first
        for folder in (self._first, self._root / "home" / "tmp"):
            folder.mkdir(parents=True)
        if (chosen := ports.free(program.name for program in self.server.programs)) is None:
            raise ServiceError(f"no free port between {ports.PORTS.start} and {ports.PORTS.stop}")
        self._ports = chosen
        self.url = self._fill(self.server.url)
        self._supervisor = Supervised(self._root)
        patience = self._allow()
        for program in self.server.programs:
            begun = time.monotonic()
            self._prepare(program, patience)
            self._start(program, patience)
            self._progress(f"{program.name}: ready after {time.monotonic() - begun:.1f} s")

    def _end(self) -> None:
        """Cuts the line; the supervisor ends the programs and itself. What they printed stays."""
        supervisor, self._supervisor, self._ill = self._supervisor, None, None
        if supervisor is not None:
            supervisor.end()
            for folder in (self._first, self._root / "home"):
                shutil.rmtree(folder, ignore_errors=True)

    def _prepare(self, program: Program, patience: Patience) -> None:
        """Runs each command of its setup to the end."""
        if program.setup:
            self._progress(f"{program.name}: preparing")
        if program.data and program.unprivileged:
            _give(self._store)
        for at, command in enumerate(program.setup, 1):
            self._run(f"{program.name}-setup-{at}", command, program, patience)

    def _run(self, name: str, command: Iterable[str], program: Program, patience: Patience) -> None:
        """One command of a program, to its end."""
        self._launch(name, command, program)
        try:
            self._await(name, patience, lambda: self._ask("codes")[name] is not None, 0.02)
        finally:
            # also of one that is late: left in the list, its end would be taken for a death
            code = self._ask("end", name)
        if code != 0:
            raise self._describe_end(name, code)

    def _start(self, program: Program, patience: Patience) -> None:
        """Until it answers."""
        port = self._ports[program.name]
        if not ports.is_free(port):
            raise PortTakenError(program.name, port)
        self._launch(program.name, program.argv, program)
        time.sleep(0.05)
        self._wait(program, patience)

    def _wait(self, program: Program, patience: Patience) -> None:
        """Until it answers; says now and then how long that has taken.

        Whether it still runs is asked first, so that who took its port meanwhile is not mistaken for it.
        """
        begun = told = time.monotonic()

        def answers() -> bool:
            nonlocal told
            if (now := time.monotonic()) - told > TOLD_EVERY:
                told = now
                self._progress(f"{program.name}: starting, {now - begun:.0f} s")
            self.check()
            return self._answers(program)

        self._await(program.name, patience, answers, 0.05)

    def _allow(self) -> Patience:
        """The time that it has to get ready, but for what other programs keep it from running."""
        rivals = Rivals(lambda: self._ask("look")["pids"])
        return Patience(self._seconds, lambda: BUSY if rivals.keep() else "")

    def _await(self, name: str, patience: Patience, done: Callable[[], bool], pause: float) -> None:
        """Until it is done, which is looked at after each pause. Raises ServiceError when the time is over."""

        def look(seconds: float) -> bool:
            until = time.monotonic() + seconds
            # asked before the time is looked at: what is ready at the last moment is not late
            while not (found := done()) and time.monotonic() < until:
                time.sleep(pause)
            return found

        try:
            while not patience.wait(look):
                pass
        except TimeoutError:
            late = f"{name} was not ready within {self._seconds:g} s{self._last_words(name)}"
            raise ServiceError(late, patience.used_excuse) from None

    def _ask(self, op: str, *args: Any) -> Any:
        assert self._supervisor is not None
        return self._supervisor.ask(op, *args)

    def _answers(self, program: Program) -> bool:
        return ports.is_answered(f"http://127.0.0.1:{self._ports[program.name]}", program.health)

    def _launch(self, name: str, argv: Iterable[str], program: Program) -> None:
        home = self._root / "home"
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "LD_LIBRARY_PATH") if key in os.environ}
        own = {key: self._fill(value) for key, value in program.env.items()}
        env = {**kept, **NO_TELEMETRY, "HOME": str(home), "TMPDIR": str(home / "tmp"), **own}
        words = [self._fill(word) for word in argv]
        self._ask("start", name, words, env, str(self._log(name)), program.stop, program.unprivileged)

    # --- words -----------------------------------------------------------------------------------------------------

    def _fill(self, text: str) -> str:
        words = {"root": str(self._root), "store": str(self._store), **self._ports}
        for name, value in words.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def _log(self, name: str) -> Path:
        return self._root / f"{name}.log"

    def _describe_end(self, name: str, code: int) -> ServiceError:
        """A kill is the machine's doing, as nobody here has sent it, unless it filled the memory."""
        last_words = self._last_words(name)
        if -code in shortage.KILLS and not shortage.holds_most(self._ask("look")["held"]):
            killed = shortage.tell_kill(-code)
            return ServiceError(f"{name} was {killed}{last_words}", killed)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        return ServiceError(f"{name} {how}{last_words}", shortage.find(last_words, self._store))

    def _last_words(self, name: str) -> str:
        lines: list[str] = []
        with suppress(OSError):
            lines = self._log(name).read_text("utf-8", "replace").strip().splitlines()
        words = f"; it last printed: {' '.join(lines[-1].split())[:300]}" if lines else ""
        return f"{words}; its output is in {self._log(name)}"


def _copy(source: Path, target: Path, unprivileged: bool) -> None:
    shutil.rmtree(target, ignore_errors=True)
    # a link stays a link: what it leads to would be copied into every trial
    shutil.copytree(source, target, symlinks=True)
    if unprivileged:
        _give(target)


def _give(folder: Path) -> None:
    """The folder and all in it to the user of unprivileged programs, if we are root."""
    if os.geteuid() == 0:
        for each in (folder, *folder.rglob("*")):
            # a link must not give away what lies elsewhere
            os.chown(each, NOBODY, NOBODY, follow_symlinks=False)
