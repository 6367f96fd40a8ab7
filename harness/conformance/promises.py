"""Hunts for broken promises of one adapter: what is found is kept as a file and played first later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from harness.backend.client import Deadlines
from harness.backend.store import ChildStore
from harness.conformance import Setting, open_setting
from harness.log import transcript
from harness.log.blobs import unpack
from harness.log.folder import Folder
from harness.log.lines import LogError
from harness.machine import documents, files
from harness.machine.documents import DocumentError
from harness.model.sequence import VERSION, Case, SequenceError, read_case
from harness.model.trial import Spec, digest
from harness.play.sequences import SequencePlayer, print_program
from harness.promises.hunt import Hunted, Play, hunt

DEADLINES = Deadlines(open=60.0, call=10.0, item=0.3)
"""Of a hunt of `PATIENT` seconds or less: a backend that hangs must leave time to make its sequence shorter."""
PATIENT = 600.0
OPERATIONS = 10**9
"""No bound but the time."""
# just beyond the usual limits of one call, 1,000 and 1,024
LARGEST = 1030


@contextmanager
def open_ground(
    spec: Spec, cache: Path, seconds: float = PATIENT, call_seconds: float | None = None
) -> Iterator[Setting]:
    """Where sequences are played; the backend was opened once. Raises RegistryError and MemoryFault.

    Args:
        seconds: Of the hunt. Beyond `PATIENT` deadlines grow with it: who has hours, waits longer for a busy machine.
        call_seconds: What a call may take, if somebody asked for it.
    """
    cache.mkdir(parents=True, exist_ok=True)
    more = max(1.0, seconds / PATIENT)
    deadlines = replace(DEADLINES, open=DEADLINES.open * more, call=DEADLINES.call * more, item=DEADLINES.item * more)
    with open_setting(spec, None, deadlines.allow(call_seconds), cache / "embeddings.sqlite") as place:
        place.try_open()
        yield place


def search(
    setting: Setting, seed: int, seconds: float, operations: int, cases: Path, notify: Callable[[str], None]
) -> tuple[Hunted, Path | None]:
    """How the hunt ended, and where its finding was kept. Raises SequenceError for a kept one that cannot be read."""
    label = setting.playable.spec.label
    sequences = [read_file(path).steps for path in sorted(_name_folder(cases, label).glob("*.json"))]
    with setting.lend() as (store, _):
        search_end = hunt(
            make_player(setting, store), store.backend, seed, operations, seconds, LARGEST, sequences, notify
        )
    if search_end.verdict != "broken" or search_end.shortest is None or search_end.shortest.differs is None:
        return search_end, None
    case = Case(
        version=VERSION,
        backend=label,
        release=setting.playable.backend.version,
        seed=seed,
        says=search_end.shortest.differs.says,
        steps=search_end.shortest.steps,
    )
    # by its steps, so that the same finding is kept once
    path = _name_folder(cases, label) / f"{digest(case.model_dump(mode='json')['steps'])[:12]}.json"
    files.write(path, case.model_dump_json(indent=1, exclude_defaults=True, by_alias=True) + "\n")
    return search_end, path


def show_program(setting: Setting, played: Play) -> str:
    """What the play shows as a program against the backend's own SDK; "" if its adapter prints none."""
    with setting.lend() as (store, _):
        return print_program(store, played)


def replay(setting: Setting, case: Case) -> Play:
    """Plays exactly this sequence."""
    with setting.lend() as (store, _):
        return make_player(setting, store)(case.steps)


def read_file(path: Path) -> Case:
    """A kept sequence, or the one in the log of a drill. Raises SequenceError."""
    if path.suffix == ".jsonl":
        return _read_log(path)
    try:
        data = documents.read_bytes(path)
        # refuses what pydantic lets pass, as a key that stands twice
        documents.parse_json(data)
    except DocumentError as error:
        raise SequenceError(f"{path}: {error}") from None
    return read_case(path, data)


def _read_log(path: Path) -> Case:
    try:
        log = transcript.read(path, Folder(path.resolve().parents[1]).blobs)
    except LogError as error:
        raise SequenceError(str(error)) from None
    for _, event in log.of(transcript.Broke):
        steps = unpack(log.blobs, transcript.STEPS, event.steps)
        return Case(version=VERSION, backend=log.trial.backend, release=log.drilled.backend.version, steps=steps)
    raise SequenceError(f"{path}: no promise was broken there")


def make_player(setting: Setting, store: ChildStore) -> SequencePlayer:
    return SequencePlayer(store, lambda texts: setting.children.warm(texts, store.backend.name))


def _name_folder(cases: Path, label: str) -> Path:
    # labels hold colons and slashes, as in module:Class and python=PATH
    return cases / re.sub(r"[^A-Za-z0-9_.=,-]+", "-", label)
