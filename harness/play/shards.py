"""Makes one run of its shards: the same folder as if it had been played at once, but for its id and its command."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.log.folder import DRILLS, LOGS, Folder, FolderError, RunFile
from harness.machine import files, leftovers, shortage
from harness.model.backend import SOUND
from harness.model.drill import DrillTrial
from harness.model.trial import Trial
from harness.play import plan
from harness.play.plan import Shard

ALIKE = ("version", "commit", "dirty", "selection", "suite", "embedder", "tokens", "chat")
"""What the files of all shards must agree in."""


def merge(roots: Sequence[Path], out: Path) -> Folder:
    """A new run folder below `out` with all that the shards played; it says which shards are missing.

    Raises FolderError, one line, for what is no shard, does not fit, or is there twice.
    """
    shards: dict[Shard, Folder] = {}
    for root in roots:
        folder = Folder.open(root)
        shard = _read_shard(folder)
        if shard in shards:
            raise FolderError(f"{root}: shard {shard} is there twice: {shards[shard].root} is the same one")
        shards[shard] = folder
    # by their numbers, so that the order on the command line changes nothing
    files = {shard: shards[shard].read() for shard in sorted(shards)}
    _check(files, shards)
    merged = Folder.create(out)
    try:
        for shard in files:
            _copy(shards[shard].root, merged.root)
    except FolderError:
        leftovers.remove(merged.root)
        # `create` has pointed it at this folder
        (out / "latest").unlink(missing_ok=True)
        raise
    merged.write(_join(files, merged.root.name))
    return merged


def _read_shard(folder: Folder) -> Shard:
    said = folder.read().shard
    try:
        return Shard.parse(said or "")
    except ValueError:
        raise FolderError(f"{folder.root}: not a shard: play it with `coldwarm run --shard 1/4` and so on") from None


def _check(files: Mapping[Shard, RunFile], shards: Mapping[Shard, Folder]) -> None:
    (first, file), *others = files.items()
    for shard, other in others:
        if shard.of != first.of:
            raise FolderError(f"{shards[shard].root}: shard {shard} does not fit to shard {first}")
        for name in ALIKE:
            if getattr(file, name) != getattr(other, name):
                raise FolderError(f"{shards[shard].root}: not of one run with {shards[first].root}: its {name} differs")


def _copy(root: Path, target: Path) -> None:
    """Logs, transcripts and blobs; a blob that several shards have is one, and a damaged one replaces none."""
    for name in (LOGS, DRILLS, "blobs"):
        for path in sorted((root / name).rglob("*")):
            try:
                # a link is never followed: `read_whole` refuses it, and the merge says so
                if path.is_symlink() or not path.is_dir():
                    to = target / path.relative_to(root)
                    data = files.read_whole(path)
                    if name != "blobs" or not to.exists() or hashlib.sha256(data).hexdigest() == path.name:
                        to.parent.mkdir(parents=True, exist_ok=True)
                        to.write_bytes(data)
            except OSError as error:
                raise FolderError(f"{path}: cannot be copied: {shortage.tell(error)}") from None


def _join(files: Mapping[Shard, RunFile], name: str) -> RunFile:
    """The run file of the whole; trials and drills stand where they would, had nothing been dealt."""
    file, of = next(iter(files.values())), next(iter(files)).of
    unplayed = {each.backend: each for own in files.values() for each in own.unplayed}
    missing = [Shard(number, of) for number in range(1, of + 1) if Shard(number, of) not in files]
    return file.model_copy(
        update={
            "id": name,
            "command": f"coldwarm merge ({len(files)} of {of} shards of: {file.command})",
            "shard": None,
            "missing": tuple(map(str, missing)),
            "trials": _order_trials(files),
            "drills": _order_drills(files),
            "unplayed": tuple(unplayed.values()),
            "unbegun": {name: why for own in files.values() for name, why in own.unbegun.items()},
            "reused": {name: day for own in files.values() for name, day in own.reused.items()},
        }
    )


def _order_trials(files: Mapping[Shard, RunFile]) -> tuple[Trial, ...]:
    """Trials by the places from which scenarios were dealt in turns."""
    places = {}
    for shard, file in files.items():
        for turn, scenario in enumerate(dict.fromkeys(trial.scenario for trial in file.trials)):
            places[scenario] = turn * shard.of + shard.number
    return tuple(sorted((trial for file in files.values() for trial in file.trials), key=lambda t: places[t.scenario]))


def _order_drills(files: Mapping[Shard, RunFile]) -> tuple[DrillTrial, ...]:
    """Drills in the order of the plan: backends as they were asked for, the sound reference last."""
    selection = next(iter(files.values())).selection
    found = {drill for file in files.values() for drill in file.drills}
    labels = dict.fromkeys([*(spec.label for spec in selection.backends), SOUND])
    taking_over = {drill.backend: drill.older for drill in found if drill.older}
    return tuple(drill for drill in plan.list_drills(selection, labels, taking_over) if drill in found)
