"""Runs an agent program in a work tree: its home, its configuration, its sockets, and a sandbox around it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

from harness import paths
from harness.agents import profile as profiles
from harness.agents.inside import MISSING
from harness.agents.profile import AutoMemory, Profile, Setting
from harness.backend import environments
from harness.backend.environments import Environment
from harness.backend.python import find
from harness.machine import bubblewrap, command, leftovers, ports
from harness.machine.command import Finished
from harness.repo import programs
from harness.repo.inside import open_file

TREE, HOME, SOCKETS = Path("/srv/agent/checkout"), Path("/srv/agent/home"), Path("/srv/agent/run")
"""Where the program sees them in a sandbox: the same in every job, so that a recording is found again."""
PORT = 8199
"""Of the model, in a network of its own."""
MODEL, MEMORY = "model.sock", "memory.sock"
KEY = "none-is-needed"
SHOWN = 10_000
"""Characters that are kept of what a program printed or wrote."""
NAMED = 8
"""Files that a program left which are named; of more it is said how many."""
VISITED, DEEP = 10_000, 20
"""Files and folders that are looked at to tell what it left, and folders in each other."""
MANAGED = tuple(Path("/etc", name) for name in ("claude-code", "codex", "gemini-cli", "opencode", "qwen-code"))
"""Where a machine's administrator keeps settings and memory of agent programs: another machine has others."""
_INSIDE = Path(__file__).with_name("inside.py")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def install(profile: Profile) -> Environment | None:
    """Installs the packages of a program in an environment of their own; None: it has none. Raises EnvironmentFault."""
    return _install(
        f"agent:{profile.name}@{profile.release}",
        tuple(profiles.fill(each, {"cpu": profiles.name_processor()}) for each in profile.packages),
    )


@cache
def _install(name: str, packages: tuple[str, ...]) -> Environment | None:
    if not packages:
        return None
    package, _, _ = packages[0].partition("==")
    return environments.provide_release(name, package, packages, find(sys.executable))


def is_there(profile: Profile, environment: Environment | None) -> bool:
    """Whether what its command names can be started where jobs run. Raises OSError if nothing can."""
    with leftovers.make_temporary() as room:
        job = Job(profile, environment, room / "tree", room, goal="", model="", warm=False)
        job.tree.mkdir()
        job.sockets.mkdir()
        return job.run(threading.Event(), "find").code != MISSING


@dataclass(frozen=True)
class Job:
    """A program that is to do a job.

    Attributes:
        tree: Where it works.
        room: An empty folder, for its home and its sockets.
        warm: It has a memory, by its tools.
        auto: What switches its auto memory on; None: it is off.
        given: Path below its home -> content, of its own memory.
    """

    profile: Profile
    environment: Environment | None
    tree: Path
    room: Path
    goal: str
    model: str
    warm: bool
    auto: AutoMemory | None = None
    given: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def sockets(self) -> Path:
        return self.room / "run"

    @property
    def home(self) -> Path:
        return self.room / "home"

    def run(self, stop: threading.Event, verb: Literal["run", "find"] = "run") -> Finished:
        """To its end, or until it is to be ended; `find`: only looks whether it could be. Raises OSError
        if nothing can be started."""
        contained = bubblewrap.is_available()
        free = {} if contained else ports.free(["model"])
        if free is None:
            raise OSError("no port is free")
        tree, home, sockets = (TREE, HOME, SOCKETS) if contained else (self.tree, self.home, self.sockets)
        port = free.get("model", PORT)
        values = self._list_values(tree, home, port)
        self._write_files(values, sockets)
        settings = self._list_settings()
        words = [word for each in settings for word in each.command]
        variables = {key: text for each in settings for key, text in each.environment.items()}
        environment = {
            "PATH": os.pathsep.join(self._list_programs(home)), "HOME": str(home), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "TMPDIR": "/tmp" if contained else str(self.room),  # noqa: S108  a new one
            **{key: profiles.fill(text, values) for key, text in variables.items()},
        }  # fmt: skip
        # -I and -S: no module of the tree or of a package stands in for one of the standard library
        inner = [sys.executable, "-I", "-S", str(sockets / _INSIDE.name), verb, str(sockets / MODEL), str(port)]
        prompt_file = self.room / "stdin"
        prompt_file.write_text(profiles.fill(self.profile.stdin, values), encoding="utf-8")
        with prompt_file.open("rb") as stdin:
            # DATA, as Node reserves far more memory than it uses
            done = command.run(
                [*self._wrap(), *command.hold("DATA"), *inner, *(profiles.fill(each, values) for each in words)],
                self.tree, environment, self.profile.seconds, stdin=stdin, stop=stop,
            )  # fmt: skip
        # what was ended on purpose says nothing of the container
        if contained and not (stop and stop.is_set()):
            bubblewrap.translate_exit(done.code, done.err)
        return done

    def read_transcript(self, done: Finished) -> bytes:
        """The transcript of a program that has ended, else what it printed."""
        if not self.profile.transcript:
            return done.out
        # it is read from outside of the sandbox, where the folders have paths of their own
        values = {**self._list_values(HOME, self.home, 0), "tree": str(self.tree)}
        transcript = Path(profiles.fill(self.profile.transcript, values))
        return read_plain(transcript.parent, transcript.name) or done.out

    def tell(self, transcript: bytes, done: Finished) -> str:
        """What a program left: the ends of its transcript and of its complaints, and its files."""
        parts = (part.decode("utf-8", "replace") for part in (transcript, done.err))
        complaints = [_shorten(_COLOUR.sub("", part).strip()) for part in parts]
        if left := self.list_left():
            complaints.append(f"left in its home, which no other job sees: {name_files(left)}")
        return "\n".join(filter(None, complaints))

    def list_left(self) -> list[str]:
        """Names of files in its home that it was not given, but for its auto memory, which later jobs see."""
        given = {name for each in self._list_settings() for name in each.files} | {"bin/memory"}
        # one byte more, so that a file that was added to shows
        given |= {name for name, data in self.given.items() if read_plain(self.home, name, len(data) + 1) == data}
        auto = self.auto.folder if self.auto else None
        names = list_files(self.home)
        return sorted(name for name in names if name not in given and auto not in PurePosixPath(name).parents)

    def _list_settings(self) -> list[Setting]:
        return [self.profile, *([self.profile.memory] if self.warm else []), *([self.auto] if self.auto else [])]

    def _list_values(self, tree: Path, home: Path, port: int) -> Mapping[str, str]:
        return {
            "goal": self.goal, "url": f"http://127.0.0.1:{port}/v1", "model": self.model, "key": KEY,
            "memory": str(home / "bin" / "memory"), "home": str(home), "tree": str(tree),
            "packages": str(self.environment.folder if self.environment else ""),
            "here": str(Path(self.profile.folder).resolve()), "cpu": profiles.name_processor(),
        }  # fmt: skip

    def _write_files(self, values: Mapping[str, str], sockets: Path) -> None:
        (self.home / "bin").mkdir(parents=True)
        shutil.copy(_INSIDE, self.sockets)
        texts = {name: text for each in self._list_settings() for name, text in each.files.items()}
        filled = {name: profiles.fill(text, values).encode() for name, text in texts.items()}
        if self.auto:
            (self.home / self.auto.folder).mkdir(parents=True, exist_ok=True)
        for name, data in {**filled, **self.given}.items():  # of a memory, so no names are filled in
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        if self.warm:
            script = self.home / "bin" / "memory"
            inside, socket = sockets / _INSIDE.name, sockets / MEMORY
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{inside}" memory "{socket}" "$@"\n')
            script.chmod(0o755)

    def _list_programs(self, home: Path) -> list[str]:
        own = self.environment.folder if self.environment else None
        found = [home / "bin", *([own / "bin", own / "node_modules" / ".bin"] if own else [])]
        outside = [] if own else os.environ.get("PATH", "").split(os.pathsep)
        return [*map(str, found), *outside, programs.list_path()]

    def _wrap(self) -> list[str]:
        """Neither stories nor fixtures are there, though they may lie beside our own packages."""
        return bubblewrap.wrap(
            self.tree,
            [
                *([self.environment.folder] if self.environment else []),
                *self.profile.list_reads(),
                *programs.list_reads(),
            ],
            TREE,
            {self.home: HOME},
            {self.sockets: SOCKETS},
            [paths.TASKS, paths.FIXTURES, *(each for each in MANAGED if each.is_dir())],
        )


def list_files(home: Path, below: str = ".") -> list[str]:
    """Files that a program left below a folder of its home, by their paths there, as far as it is looked at. Links are
    not followed: behind one there is nothing."""
    top = home / below
    if Path(os.path.realpath(top)) != Path(os.path.realpath(home), below):
        return []
    return [*islice(_walk(home, top), VISITED)]


def _walk(home: Path, top: Path) -> Iterator[str]:
    for place, folders, names in islice(os.walk(top), VISITED):
        below = Path(place)
        if len(below.relative_to(top).parts) >= DEEP:
            folders.clear()  # it goes no deeper
        yield from ((below / name).relative_to(home).as_posix() for name in names)


def read_plain(home: Path, name: str, most: int = command.MOST) -> bytes | None:
    """A file below a home, up to so much; None where no plain file is, or a link on the way there."""
    try:
        with open_file(home, name, os.O_RDONLY) as opened:
            return opened.read(most)
    except OSError:
        return None


def name_files(names: Sequence[str]) -> str:
    """Some of them in one line, and how many more there are. A program may have called them anything."""
    shown = ("".join(each if each.isprintable() else "?" for each in name) for name in names[:NAMED])
    return ", ".join(shown) + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN else f"(cut: {len(text) - SHOWN:,} characters before)\n{text[-SHOWN:]}"
