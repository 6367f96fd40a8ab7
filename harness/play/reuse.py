"""Which trials need not be played again, as one that must have the same outcome was finished by an earlier run.

A trial's key digests its identity, the code that plays, what is installed, and the facts of the machine. A trial that
something else may decide has no key: a server, a real model, another interpreter, code that lies where we cannot see
all of it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import cache, cached_property
from importlib.metadata import distributions
from pathlib import Path

from harness import paths
from harness.backend.staging import ALLOW
from harness.log.folder import DRILLS, LOGS, Folder
from harness.log.lines import LogError
from harness.log.reader import Log, Outline
from harness.log.transcript import Transcript
from harness.log.trial_cache import TrialCache
from harness.machine import bubblewrap, sandbox
from harness.model.drill import DrillTrial
from harness.model.trial import Trial, digest, split_reader
from harness.play import drills, plan
from harness.play.backends import Playable
from harness.play.environment import Settings
from harness.play.readers import SHIPPED
from harness.play.trial import describe_machine, identity, outline

FORM = 1
PLAYS = (
    *(f"harness/{name}.py" for name in ("__init__", "adapter", "paths")),
    *(
        f"harness/{name}"
        for name in ("backend", "gateway", "log", "machine", "model", "play", "promises", "repo", "scan", "text")
    ),
    "tasks/loader.py",
    "tasks/proofs.py",
    "tasks/short.py",
)
"""What of our sources decides how a trial is played. Scores and reports are made of logs, reused ones too."""
REPEATABLE = ("refused", "breach")
"""Faults of a backend that are its own doing. What it raises may be the machine's doing unless a drill provokes it, and
a crash or a timeout wherever it happens."""
MOST_FILES, MOST_BYTES = 2_000, 64_000_000
"""Of the folders with adapters of somebody's own: what holds more is not read through."""


class Reuse:
    """The finished trials of other runs, as one run may use them.

    Args:
        fresh: Everything is played, and kept for the next run.
    """

    def __init__(self, kept: TrialCache, settings: Settings, *, fresh: bool = False) -> None:
        self._cache, self._settings, self._fresh = kept, settings, fresh
        self._keys: dict[str, str | None] = {}

    def find(self, trials: Iterable[Trial | DrillTrial]) -> dict[str, date]:
        """Those that have an entry: its id -> the day on which it was played."""
        if self._fresh:
            return {}
        keyed = ((trial.id, self.key(trial)) for trial in trials)
        days = ((name, self._cache.find_day(key)) for name, key in keyed if key)
        return {name: day for name, day in days if day}

    def restore(self, trial: Trial | DrillTrial, folder: Folder) -> bool:
        """Puts what was played into the folder of this run; False: nothing is there that can be believed."""
        key = self.key(trial)
        target = folder.new_log(trial.id, DRILLS if isinstance(trial, DrillTrial) else LOGS)
        return bool(key) and self._cache.restore(
            str(key), target, folder.blobs, lambda draft: self._is_wanted(trial, draft, folder)
        )

    def keep(self, trial: Trial | DrillTrial, played: Log | Transcript) -> None:
        """Keeps a trial that was played, if another run may believe it and no source was edited meanwhile."""
        key = self.key(trial)
        if key and _is_repeatable(played.outline) and self._sources == _stamp(self._watched):
            self._cache.keep(key, played)

    def end(self) -> None:
        self._cache.prune()

    def key(self, trial: Trial | DrillTrial) -> str | None:
        """Equal for two trials that must have the same outcome in any run; None: who knows."""
        if trial.id not in self._keys:
            self._keys[trial.id] = self._make_key(trial)
        return self._keys[trial.id]

    def _make_key(self, trial: Trial | DrillTrial) -> str | None:
        settings = self._settings
        if self._common is None or settings.keep or (settings.chat and settings.chat.answers != "stand-in"):
            return None
        if isinstance(trial, Trial) and split_reader(trial.reader)[0] not in SHIPPED:
            return None
        adapter = self._digest_adapter(settings.playables[trial.backend]) if trial.backend else ""
        older = trial.older if isinstance(trial, DrillTrial) else ""
        if older and self._digest_adapter(settings.playables[older]) is None:
            return None
        return adapter if adapter is None else digest([self._common, identity(trial, settings), adapter])

    @cached_property
    def _common(self) -> str | None:
        """What all trials of this run depend on; None: something that cannot be told."""
        _ = self._sources  # as they are before anything is played
        installed = _digest_installed()
        if installed is None or os.environ.get(ALLOW):
            return None
        git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout
        facts = [
            FORM, digest_code(), installed, dict(describe_machine()), platform.machine(),
            platform.python_implementation(), git, sandbox.degree(), bubblewrap.degree(),
            repr(self._settings.deadlines),
        ]  # fmt: skip
        return digest(facts)

    @cached_property
    def _lent(self) -> str | None:
        """The digest of all files in the folders of COLDWARM_ADAPTER_PATH; None: too many, or links lead elsewhere."""
        files = [(place, each) for place in paths.list_paths(paths.PLACES) for each in _walk(place)]
        if len(files) > MOST_FILES or any(each.is_symlink() for _, each in files):
            return None
        if sum(each.stat().st_size for _, each in files) > MOST_BYTES:
            return None
        return _digest_files(files)

    def _digest_adapter(self, playable: Playable) -> str | None:
        """Beyond what the identity says of an adapter. One of the checkout says it all, unless a module is hidden."""
        if playable.served or playable.withheld or (playable.spec.python and not playable.spec.pinned):
            return None
        if playable.entry.reference is None:
            return ""
        top = playable.entry.reference.partition(":")[0].partition(".")[0]
        places = paths.list_paths(paths.PLACES)
        if any(_hides(place) for place in places):
            return None
        if top == "adapters":
            return digest(sorted(each.name for place in places if place.is_dir() for each in place.iterdir()))
        if any((place / name).exists() for place in places for name in (top, f"{top}.py")):
            return self._lent and digest([self._lent, _digest_files(_list_sources("adapters"))])
        return None

    def _is_wanted(self, trial: Trial | DrillTrial, path: Path, folder: Folder) -> bool:
        """Whether a log is that of this trial, with the identity that our own plan gives it, and may be repeated."""
        try:
            log = outline(trial, path, folder.blobs)
        except LogError:
            return False
        same = log.trial == trial and plan.identity(log.trial, log.opening.digests) == identity(trial, self._settings)
        return same and dict(log.opening.host) == dict(describe_machine()) and _is_repeatable(log)

    @cached_property
    def _watched(self) -> list[Path]:
        ours = [file for name in ("harness", "adapters", "tasks") for _, file in _list_sources(name)]
        return ours + [file for place in paths.list_paths(paths.PLACES) for file in _walk(place)]

    @cached_property
    def _sources(self) -> list[tuple[int, int]]:
        return _stamp(self._watched)


def _is_repeatable(log: Outline) -> bool:
    """Whether it came to its end, and nothing in it may have been the doing of the machine."""
    ended = log.end is not None and log.end.status in ("complete", "unsupported")
    provoked = isinstance(log.trial, DrillTrial) and drills.ALL[log.trial.drill].provokes
    return log.sealed and ended and log.troubles <= {*REPEATABLE, *(["raised"] if provoked else [])}


def digest_code() -> str:
    """Of what of our sources decides how a trial is played."""
    return _digest_files(each for name in PLAYS for each in _list_sources(name))


def _list_sources(name: str) -> list[tuple[Path, Path]]:
    """A file, or the modules below a folder, of our own packages."""
    found = paths.ROOT / name
    return [(paths.ROOT, each) for each in ([found] if found.is_file() else sorted(found.rglob("*.py")))]


def _digest_files(files: Iterable[tuple[Path, Path]]) -> str:
    """Of their paths below the folder that stands before each, and of what they hold."""
    return digest(
        [[str(each.relative_to(root)), hashlib.sha256(each.read_bytes()).hexdigest()] for root, each in files]
    )


def _walk(place: Path) -> Iterator[Path]:
    """Every file below a folder of adapters, and every link; not what Python compiles there."""
    for each in sorted(place.rglob("*")):
        if "__pycache__" not in each.parts and (each.is_symlink() or each.is_file()):
            yield each


def _hides(place: Path) -> bool:
    """Whether a folder of adapters holds a module that is installed, too: then it is part of every other adapter."""
    installed = {each.stem for root in sys.path if root and Path(root) != place for each in _list_dir(Path(root))}
    return bool({each.stem for each in _list_dir(place)} & (installed | sys.stdlib_module_names) - {"__pycache__"})


def _list_dir(place: Path) -> list[Path]:
    return [each for each in place.iterdir() if each.suffix in ("", ".py", ".so")] if place.is_dir() else []


@cache
def _digest_installed() -> str | None:
    """What is installed for this Python, with the digests of its files; None: a package that may be edited in place."""
    told = set[tuple[str, str, str]]()
    for each in distributions():
        if each.name == "coldwarm":
            continue
        if '"editable"' in (each.read_text("direct_url.json") or ""):
            return None
        record = (each.read_text("RECORD") or "").splitlines()
        inside = sorted(line for line in record if not line.startswith("../") and ".dist-info/" not in line)
        told.add((each.name, each.version, digest(inside)))
    return digest(sorted(told))


def _stamp(files: Sequence[Path]) -> list[tuple[int, int]]:
    """Sizes and times of files, by which an edit is noticed."""
    found = []
    for each in files:
        with suppress(OSError):
            stat = each.stat()
            found.append((stat.st_size, stat.st_mtime_ns))
    return found
