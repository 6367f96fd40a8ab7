"""The folder of a run: `run.json`, `logs/`, `drills/`, `blobs/`, `environments/`, and what is derived from them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import count, groupby, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import Field, ValidationError

from harness import paths
from harness.log import pack, reader, transcript
from harness.log.blobs import Blobs
from harness.log.lines import LogError, Unbegun
from harness.log.reader import Log, Outline, find_story, read
from harness.log.transcript import Transcript
from harness.log.transcript import read as read_transcript
from harness.machine import documents, files, leftovers, shortage
from harness.machine.documents import DocumentError
from harness.model.dates import count_reused
from harness.model.drill import DrillTrial
from harness.model.prices import Prices
from harness.model.results import Suite, Unplayed
from harness.model.trial import Model, Selection, Trial, digest

T = TypeVar("T", Log, Transcript, Outline)
LOGS, DRILLS, ENVIRONMENTS = "logs", "drills", "environments"
ATTEMPT = re.compile(r"^(?P<trial>.+)\.(?P<number>\d+)\.jsonl$")


def find_option(command: str, *names: str) -> str | None:
    """What a run's command gives an option that has these names; None: it does not name it."""
    try:
        words = shlex.split(command)
    except ValueError:  # an older run did not quote its words
        words = command.split()
    follows = (after for word, after in pairwise(words) if word in names)
    joined = (word.partition("=")[2] for word in words if word.partition("=")[0] in names)
    return next(filter(None, (*joined, *follows)), None)


def join_command(words: Sequence[str]) -> str:
    """One line for a shell, without the folder that runs are written to: it is no condition of a run, and nobody who is
    shown the run need know where somebody keeps it.
    """
    left_out = {at + step for at, word in enumerate(words) if word == "--out" for step in (0, 1)}
    return shlex.join(word for at, word in enumerate(words) if at not in left_out and not word.startswith("--out="))


class FolderError(Exception):
    """A run folder that cannot be made or read: where, why, what to do."""


class RunFile(Model):
    """`run.json`: what was asked for, by which coldwarm, and what that means in trials. Holds no secrets.

    Attributes:
        suite: None in a run of a version that named none.
        shard: The share that was played (`2/4`), None for the whole.
        missing: Shards that a merged run lacks.
        chat: Who answered models inside backends; empty: nobody.
        only: The trials that were asked for begin so; empty: all.
        call_seconds: What a call of a backend may take; None: as usual.
        keep: Stores stay below the folder.
        interpreters: Backend -> where its own Python was on the machine that began.
        allowed_faults: Backend -> how many of its calls may fail without failing the run.
        reused: Trials that an earlier run played -> the day on which it did.
        unbegun: Trials and drills that left no log when they were played last -> why.
        prices: Of the tokens of chat models, as they were given last.
        backends_contained, checks_contained: How far, on the machine that played last; empty: not recorded.
    """

    id: str
    version: str
    commit: str | None
    dirty: bool | None
    command: str
    selection: Selection
    suite: Suite | None = None
    shard: str | None = None
    missing: tuple[str, ...] = ()
    embedder: str
    tokens: str
    chat: str = ""
    only: tuple[str, ...] = ()
    call_seconds: float | None = Field(None, exclude_if=lambda seconds: seconds is None)
    keep: bool = False
    trials: tuple[Trial, ...]
    drills: tuple[DrillTrial, ...] = ()
    unplayed: tuple[Unplayed, ...] = ()
    interpreters: Mapping[str, str] = {}
    allowed_faults: Mapping[str, int] = {}
    reused: Mapping[str, date] = {}
    unbegun: Mapping[str, str] = Field({}, exclude_if=lambda trials: not trials)
    backends_contained: str = ""
    checks_contained: str = ""
    prices: Prices | None = Field(None, exclude_if=lambda prices: prices is None)

    def describe_reused(self) -> str:
        """One line; empty if all of it was played in this run."""
        return count_reused(self.reused, len(self.trials) + len(self.drills))


class Attempt(NamedTuple):
    """The log of one time that a trial or a drill was played."""

    trial: str
    number: int
    path: Path


class Folder:
    """A run's folder. Logs are `<trial>.<attempt>.jsonl`; an attempt is never overwritten by the next."""

    def __init__(self, root: Path) -> None:
        root = root.absolute()  # children have working folders of their own
        self.root = root
        self.blobs = Blobs(root / "blobs")
        self.work = root / "work"
        self._attempted: dict[str, dict[str, int]] = {}

    def lock(self, label: str) -> Path:
        """Where the lock of a backend's own environment is."""
        plain = re.sub(r"[^\w.@+=-]", "_", label)
        return self.root / ENVIRONMENTS / f"{plain}.lock"

    @property
    def file(self) -> Path:
        return self.root / "run.json"

    @classmethod
    def create(cls, out: Path) -> Folder:
        """A new folder below `out`, and `out/latest` pointing to it."""
        # two runs may begin in one second
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{digest([os.getpid(), time.time_ns()])[:4]}"
        try:
            made = files.make_folder(out, name)
            (made / LOGS).mkdir()
            # made beside it and renamed, as a link cannot be made where one is
            link = out / f".latest-{made.name}"
            link.symlink_to(made.name)
            link.replace(out / "latest")
        except OSError as error:
            raise FolderError(
                f"{out}: cannot write a run there: {shortage.tell(error)}; choose another with --out"
            ) from None
        return cls(made)

    @classmethod
    def open(cls, root: Path) -> Folder:
        """The folder of an earlier run; of a packed one, a copy that lasts as long as this process."""
        try:
            folder = cls(pack.unpack(root) if pack.is_packed(root) else root.resolve())
        except pack.PackError as error:
            raise FolderError(str(error)) from None
        folder.read()
        for below in (LOGS, DRILLS):
            folder._attempts(below)  # whoever cannot read them is told now, whatever the command
        return folder

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Nobody else plays into this folder meanwhile; what killed runs beside it left in use is cleared first."""
        leftovers.sweep(
            (each.root for each in self._beside() if each.work.exists() and not each.keeps()), self.work.name
        )
        try:
            with leftovers.claim(self.root):
                yield
        except leftovers.InUse:
            raise FolderError(f"{self.root}: another process plays this run: wait until it has ended") from None

    def _beside(self) -> Iterator[Folder]:
        return (Folder(file.parent) for file in self.root.parent.glob("*/run.json"))

    def keeps(self) -> bool:
        """Whether its stores were asked to stay; one that cannot be read is left as it is."""
        try:
            return self.read().keep
        except FolderError:
            return True

    def earlier(self) -> RunFile | None:
        """What was played into it before; None: nothing."""
        return self.read() if self.file.exists() else None

    def read(self) -> RunFile:
        try:
            return RunFile.model_validate_json(documents.read_bytes(self.file))
        except DocumentError as error:
            raise FolderError(f"{self.root}: not the folder of a run: run.json: {error}") from None
        except ValidationError as error:
            raise FolderError(f"{self.file}: {documents.tell_first(error)}") from None

    def write(self, file: RunFile) -> None:
        files.write(self.file, file.model_dump_json(indent=2) + "\n")

    def new_log(self, trial: str, below: str = LOGS) -> Path:
        """The path of the next attempt at a trial or drill. The folder is listed once: a run asks for each trial."""
        if below not in self._attempted:
            self._attempted[below] = {each.trial: each.number for each in self._attempts(below)}  # the last one counts
        # attempts that were made since the folder was listed are not among the known ones
        for number in count(self._attempted[below].get(trial, 0) + 1):
            path = self.root / below / f"{trial}.{number}.jsonl"
            # lexists, as a log is never opened in the place of a link either, even one to nowhere
            if not os.path.lexists(path):
                break
        return path

    def logs(self) -> tuple[dict[str, Log], list[str]]:
        """Trial id -> its newest closed attempt, else its newest one; and a line for each log that cannot be read."""
        return _join(self.stories())

    def stories(self) -> Iterator[tuple[dict[str, Log], list[str]]]:
        """`logs`, those that play one story at a time: as they are large, no others need be in memory."""
        return map(self.read_story, self.list_stories())

    def whole_stories(self) -> Iterator[dict[str, Log]]:
        """`stories`, for what has no place to name a log that cannot be read. Raises FolderError for one."""
        for logs, problems in self.stories():
            if problems:
                raise FolderError(f"{problems[0]}; restore it from a copy of the run")
            yield logs

    def list_stories(self) -> list[list[Attempt]]:
        """What was played of each story, for `read_story`."""
        grouped: dict[str, list[Attempt]] = {}
        # groupby joins neighbours only: attempts come sorted by trial
        for _, attempts in groupby(self._attempts(LOGS), lambda attempt: attempt.trial):
            own = list(attempts)
            told = [story for each in own if (story := find_story(each.path))]
            # logs that tell no story are read as well, so that each is named as a problem
            grouped.setdefault(told[-1] if told else "", []).extend(own)
        return list(grouped.values())

    def read_story(self, attempts: Iterable[Attempt]) -> tuple[dict[str, Log], list[str]]:
        return self._best(attempts, read)

    def transcripts(self) -> tuple[dict[str, Transcript], list[str]]:
        """The transcripts of drills by name, and what is wrong with others, as `logs` has it."""
        return _join(self.drills())

    def drills(self) -> Iterator[tuple[dict[str, Transcript], list[str]]]:
        """`transcripts`, one drill of one backend at a time."""
        return map(self.read_drill, self.list_drills())

    def list_drills(self) -> list[list[Attempt]]:
        """What was played of each drill of each backend, for `read_drill`."""
        return [list(own) for _, own in groupby(self._attempts(DRILLS), lambda attempt: attempt.trial)]

    def read_drill(self, attempts: Iterable[Attempt]) -> tuple[dict[str, Transcript], list[str]]:
        return self._best(attempts, read_transcript)

    def outlines(self) -> Iterator[Outline]:
        """What `logs` and `transcripts` bring, in outline and one at a time."""
        for below, load in ((LOGS, reader.read_outline), (DRILLS, transcript.read_outline)):
            for _, own in groupby(self._attempts(below), lambda attempt: attempt.trial):
                yield from self._best(own, load)[0].values()

    def _best(self, attempts: Iterable[Attempt], load: Callable[[Path, Blobs], T]) -> tuple[dict[str, T], list[str]]:
        """A log that cannot be read is no problem any more once a later attempt came to its end."""
        best: dict[str, T] = {}
        problems: dict[str, list[str]] = {}
        for name, _, path in attempts:
            try:
                found = load(path, self.blobs)
                if found.trial.id != name:
                    raise LogError(f"{path}:1: the log of {found.trial.id}, not of {name}: it was renamed")
            # nothing was played in it, so it is no problem
            except Unbegun:
                continue
            except LogError as error:
                problems.setdefault(name, []).append(str(error))
                continue
            if found.end is not None:
                problems.pop(name, None)
            if found.end is not None or name not in best or best[name].end is None:
                best[name] = found
        return best, [line for lines in problems.values() for line in lines]

    def _attempts(self, below: str) -> list[Attempt]:
        """Raises FolderError for a folder that is there and cannot be read: it would pass for an empty one."""
        try:
            paths = list((self.root / below).iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FolderError(f"{self.root / below}: its logs cannot be read: {error.strerror}; mend that") from None
        matches = ((ATTEMPT.fullmatch(path.name), path) for path in paths)
        return sorted(Attempt(match["trial"], int(match["number"]), path) for match, path in matches if match)


def _join(parts: Iterable[tuple[dict[str, T], list[str]]]) -> tuple[dict[str, T], list[str]]:
    found, problems = dict[str, T](), list[str]()
    for best, unread in parts:
        found |= best
        problems += unread
    return found, problems


def commit() -> tuple[str | None, bool | None]:
    """The checkout's commit and whether it was changed since; None outside of one."""
    if paths.INSTALLED:  # what surrounds us then is a repository of somebody else
        return None, None
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=paths.ROOT, capture_output=True, text=True, check=True, timeout=20
        )
        status = subprocess.run(
            ["git", "status", "--porcelain"], cwd=paths.ROOT, capture_output=True, text=True, check=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None, None
    return head.stdout.strip(), bool(status.stdout.strip())
