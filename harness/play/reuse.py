"""Which trials need not be played again, as one that must have the same outcome was finished by an earlier run.

A trial's key digests its identity, the code that plays, what is installed, and the facts of the machine. A trial that
something else may decide has no key: a server, a real model, another interpreter, code that lies where we cannot see
all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import cache, cached_property
from pathlib import Path

from harness import paths
from harness.log.folder import DRILLS, LOGS, Folder
from harness.log.lines import LogError
from harness.log.reader import Log, Outline
from harness.log.transcript import Transcript
from harness.log.trial_cache import TrialCache
from harness.model.drill import DrillTrial
from harness.model.trial import Trial, digest, split_reader
from harness.play import drills, plan, sources
from harness.play.backends import Playable
from harness.play.environment import Settings
from harness.play.readers import SHIPPED
from harness.play.trial import compute_identity, describe_machine, read_outline

FORM = 1
REPEATABLE = ("refused", "breach")
"""Faults of a backend that are its own doing. What it raises may be the machine's doing unless a drill provokes it, and
a crash or a timeout wherever it happens."""
MOST_FILES, MOST_BYTES = 2_000, 64_000_000
"""Of the folders with adapters of somebody's own: what holds more is not read through."""


class Reuse:
    """The finished trials of other runs, as one run may use them.

    Args:
        fresh: Everything is played, and kept for the next run.
        player: The digest of what plays beside the code of a run.
        repeatable: Whether a finished trial may be kept; None: nothing in it may have been the doing of the machine.
    """

    def __init__(
        self,
        kept: TrialCache,
        settings: Settings,
        *,
        fresh: bool = False,
        player: str = "",
        repeatable: Callable[[Outline], bool] | None = None,
    ) -> None:
        self._cache, self._settings, self._fresh = kept, settings, fresh
        self._player, self._is_repeatable = player, repeatable or is_repeatable
        self._keys: dict[str, str | None] = {}
        # once a run, which puts many backends to a few drills
        self._digest_module, self._digest_drill = cache(sources.digest_module), cache(sources.digest_drill)

    def find(self, trials: Iterable[Trial | DrillTrial]) -> dict[str, date]:
        """Trials that have an entry: the id -> the day on which it was played."""
        if self._fresh:
            return {}
        keyed = ((trial.id, self.key(trial)) for trial in trials)
        days = ((name, self._cache.find_day(key)) for name, key in keyed if key)
        return {name: day for name, day in days if day}

    def restore(self, trial: Trial | DrillTrial, folder: Folder) -> Path | None:
        """Puts what was played into the folder of this run; None: nothing is there that can be believed."""
        key = self.key(trial)
        target = folder.new_log(trial.id, DRILLS if isinstance(trial, DrillTrial) else LOGS)
        if not key or self._fresh:
            return None
        found = self._cache.restore(key, target, folder.blobs, lambda draft: self._is_wanted(trial, draft, folder))
        return target if found else None

    def keep(self, trial: Trial | DrillTrial, played: Log | Transcript) -> None:
        """Keeps a trial that was played, if another run may believe it and no source was edited meanwhile."""
        key = self.key(trial)
        if key and self._is_repeatable(played.outline) and self._sources == sources.stamp(self._watched_paths):
            self._cache.keep(key, played)

    def forget(self, trial: Trial | DrillTrial) -> None:
        """Drops the entry of a trial, so that it is played again the next time."""
        if key := self.key(trial):
            self._cache.forget(key)

    def end(self) -> None:
        self._cache.prune()

    def key(self, trial: Trial | DrillTrial) -> str | None:
        """Equal for two trials that must have the same outcome in any run; None: who knows."""
        if trial.id not in self._keys:
            self._keys[trial.id] = self._make_key(trial)
        return self._keys[trial.id]

    def _make_key(self, trial: Trial | DrillTrial) -> str | None:
        settings = self._settings
        # an entry holds no store to keep, and other models than the stand-in may answer otherwise next time
        if self._common is None or settings.keep or (settings.chat and settings.chat.answers != "stand-in"):
            return None
        # a reader of somebody's own may import what no digest here covers
        if isinstance(trial, Trial) and split_reader(trial.reader)[0] not in SHIPPED:
            return None
        adapter = self._digest_adapter(settings.playables[trial.backend]) if trial.backend else ""
        release = trial.older if isinstance(trial, DrillTrial) else ""
        older = self._digest_adapter(settings.playables[release]) if release else ""
        if adapter is None or older is None:
            return None
        # what plays a drill beside the code that all trials have in common; nothing else of a story
        module = drills.ALL[trial.drill].play.__module__ if isinstance(trial, DrillTrial) else ""
        drill = self._digest_drill(module) if module else ""
        return digest([self._common, drill, compute_identity(trial, settings), adapter, older])

    @cached_property
    def _common(self) -> str | None:
        """What all trials of this run depend on; None: something that cannot be told."""
        _ = self._sources  # as they are before anything is played
        conditions = sources.digest_conditions(sources.digest_common_code())
        return conditions and digest([FORM, conditions, self._player, repr(self._settings.deadlines)])

    @cached_property
    def _lent(self) -> str | None:
        """The digest of all files in the folders of COLDWARM_ADAPTER_PATH; None: too many, or links lead elsewhere."""
        files = [(place, each) for place in paths.list_paths(paths.PLACES) for each in _walk(place)]
        if len(files) > MOST_FILES or any(each.is_symlink() for _, each in files):
            return None
        if sum(each.stat().st_size for _, each in files) > MOST_BYTES:
            return None
        return sources.digest_files(files)

    def _digest_adapter(self, playable: Playable) -> str | None:
        """Beyond what the identity says of an adapter; None: something that it imports may not be seen here."""
        # a server or a service keeps a state of its own, and an interpreter that is not pinned may hold anything
        if playable.served or playable.withheld or (playable.spec.python and not playable.spec.pinned):
            return None
        if playable.entry.reference is None:
            return ""
        module = playable.entry.reference.partition(":")[0]
        top = module.partition(".")[0]
        places = paths.list_paths(paths.PLACES)
        if any(_hides(place) for place in places):
            return None
        if top in sources.OURS:
            beside = sorted(each.name for place in places if place.is_dir() for each in place.iterdir())
            return digest([beside, self._digest_module(module)])
        if any((place / name).exists() for place in places for name in (top, f"{top}.py")):
            # an adapter of somebody's own may import any of ours
            return self._lent and digest([self._lent, sources.digest_files(sources.list_sources("adapters"))])
        return None

    def _is_wanted(self, trial: Trial | DrillTrial, path: Path, folder: Folder) -> bool:
        """Whether a log is that of this trial, with the identity that our own plan gives it, and may be repeated."""
        try:
            log = read_outline(trial, path, folder.blobs)
        except LogError:
            return False
        same = log.trial == trial and plan.compute_identity(log.trial, log.opening.digests) == compute_identity(
            trial, self._settings
        )
        return same and dict(log.opening.host) == dict(describe_machine()) and self._is_repeatable(log)

    @cached_property
    def _watched_paths(self) -> list[Path]:
        ours = [file for name in ("harness", "adapters", "tasks") for _, file in sources.list_sources(name)]
        return ours + [file for place in paths.list_paths(paths.PLACES) for file in _walk(place)]

    @cached_property
    def _sources(self) -> list[tuple[int, int]]:
        return sources.stamp(self._watched_paths)


def is_repeatable(log: Outline) -> bool:
    """Whether a trial came to its end, and nothing in it may have been the doing of the machine."""
    ended = log.end is not None and log.end.status in ("complete", "unsupported")
    provoked = isinstance(log.trial, DrillTrial) and drills.ALL[log.trial.drill].provokes
    return log.sealed and ended and log.troubles <= {*REPEATABLE, *(["raised"] if provoked else [])}


def _walk(place: Path) -> Iterator[Path]:
    """Every file below a folder of adapters, and every link; not what Python compiles there."""
    for each in sorted(place.rglob("*")):
        if "__pycache__" not in each.parts and (each.is_symlink() or each.is_file()):
            yield each


def _hides(place: Path) -> bool:
    """Whether a folder of adapters holds a module that is installed, too: then it is part of every other adapter."""
    installed = {name for root in sys.path if root and Path(root) != place for name in _list_modules(Path(root))}
    return bool(_list_modules(place) & (installed | sys.stdlib_module_names))


def _list_modules(place: Path) -> set[str]:
    """What can be imported from a folder. An extension is called `NAME.cpython-311-x86_64-linux-gnu.so`."""
    found = [each for each in place.iterdir() if each.suffix in ("", ".py", ".so")] if place.is_dir() else []
    return {each.name.partition(".")[0] for each in found} - {"", "__pycache__"}
