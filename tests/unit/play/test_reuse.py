"""A trial that an earlier run finished: found by its key, believed only if its log says the same, else played."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness import paths
from harness.adapter import Server
from harness.backend.child import Deadlines
from harness.backend.registry import ORACLES, AdapterEntry
from harness.log.events import Closed, Recalled, Settled
from harness.log.folder import Folder
from harness.log.reader import Log, read
from harness.log.transcript import Called
from harness.log.trial_cache import TrialCache
from harness.model.backend import Fault, FaultKind
from harness.model.drill import DrillName, DrillTrial, Plan
from harness.model.trial import Chat, Selection, Spec, Trial
from harness.play import controls, plan, reuse, sources
from harness.play.backends import Playable
from harness.play.environment import Environment, Settings
from harness.play.reuse import Reuse
from harness.play.sources import PLAYS
from harness.play.story import Story
from harness.play.trial import play_trial
from tasks import loader
from tests.support.fakes import FakeEmbedder
from tests.support.transcripts import transcript
from tests.unit.conftest import House

Forge = Callable[[bytes, bytes], bytes]


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test puts before the standard library is gone from the module path with it."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture(scope="module")
def settings(lasting: House, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    playables = {
        name: Playable(AdapterEntry(name, None, control=True), Spec(adapter=name), controls.describe(name))
        for name in ORACLES
    }
    shipped = AdapterEntry("notes", "adapters.notes:Notes", control=False)
    notes = Playable(shipped, Spec(adapter="notes"), controls.describe(ORACLES[0]), "source")
    return Settings(
        tmp_path_factory.mktemp("run"),
        {**playables, "notes": notes},
        {scenario.id: Story(scenario, repo)},
        FakeEmbedder,
    )


def trial(settings: Settings, backend: str | None) -> Trial:
    (scenario,) = settings.stories
    return Trial(
        backend=backend, scenario=scenario, write_policy="append" if backend else None, noise=0, seed=1,
        reader="scripted", k=5, budget=800,
    )  # fmt: skip


@pytest.fixture(scope="module")
def played(settings: Settings) -> dict[str | None, Log]:
    with Environment(settings) as environment:
        return {
            name: read(play_trial(trial(settings, name), environment), environment.blobs) for name in (None, *ORACLES)
        }


@pytest.fixture
def cache(tmp_path: Path) -> TrialCache:
    return TrialCache(tmp_path / "trials")


@pytest.fixture
def kept(settings: Settings, played: dict[str | None, Log], cache: TrialCache) -> Reuse:
    """Of a run that has kept what it played."""
    own = Reuse(cache, settings)
    for log in played.values():
        own.keep(log.trial, log)
    return own


def entry(cache: TrialCache, key: str | None) -> Path:
    (path,) = cache.root.glob(f"??/{key}.trial")
    return path


# --- what is kept, and taken again ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("kept")
def test_a_finished_trial_comes_into_another_folder_as_it_was(
    settings: Settings, played: dict[str | None, Log], cache: TrialCache, tmp_path: Path
) -> None:
    again, folder = Reuse(cache, settings), Folder(tmp_path / "again")
    wanted = [log.trial for log in played.values()]
    assert {*again.find(wanted)} == {each.id for each in wanted}
    for log in played.values():
        assert again.restore(log.trial, folder)
    logs, problems = folder.logs()
    assert not problems and {name: log.sha256 for name, log in logs.items()} == {
        log.trial.id: log.sha256 for log in played.values()
    }


@pytest.mark.usefixtures("kept")
def test_a_fresh_run_finds_nothing_and_keeps_what_it_plays(
    settings: Settings, played: dict[str | None, Log], cache: TrialCache
) -> None:
    fresh = Reuse(cache, settings, fresh=True)
    assert fresh.find([log.trial for log in played.values()]) == {}
    cache.prune(0)
    fresh.keep(played[None].trial, played[None])
    assert len(cache.list_entries()) == 1


FORGERIES: dict[str, Forge] = {
    "empty": lambda own, other: b"",
    "no head": lambda own, other: own.partition(b"\n")[2],
    "cut in the head": lambda own, other: own[:100],
    "cut in the body": lambda own, other: own[:-10],
    "longer": lambda own, other: own + b"x",
    "a byte of the body": lambda own, other: own[:-10] + bytes([own[-10] ^ 1]) + own[-9:],
    "of another trial": lambda own, other: other,
    "of another trial, renamed in its head": lambda own, other: other.replace(other[17:81], own[17:81], 1),
    "another size of the log": lambda own, other: own.replace(b'"log":', b'"log":1', 1),
    "a newer form": lambda own, other: own.replace(b'"form":1', b'"form":2', 1),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_an_entry_that_is_damaged_or_forged_is_refused_and_removed(
    forge: Forge, kept: Reuse, settings: Settings, cache: TrialCache, tmp_path: Path
) -> None:
    own, other = (entry(cache, kept.key(trial(settings, name))) for name in (None, "oracle"))
    assert own.read_bytes()[17:81].decode() == own.stem
    own.write_bytes(forge(own.read_bytes(), other.read_bytes()))
    folder = Folder(tmp_path / "again")
    assert not Reuse(cache, settings).restore(trial(settings, None), folder)
    assert not own.exists() and other.exists()
    assert not [each for each in folder.root.rglob("*") if each.suffix in (".jsonl", ".part")]


def test_a_log_whose_line_was_changed_is_refused_though_its_entry_was_written_anew(
    kept: Reuse, settings: Settings, played: dict[str | None, Log], cache: TrialCache, tmp_path: Path
) -> None:
    log = played[None]
    key = kept.key(log.trial)
    assert key is not None
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(log.path.read_bytes().replace(b'"prompt":', b'"prompt":1', 1))
    assert changed.read_bytes() != log.path.read_bytes()
    cache.keep(key, replace(log, path=changed, sha256=hashlib.sha256(changed.read_bytes()).hexdigest()))
    assert not kept.restore(log.trial, Folder(tmp_path / "again"))


def test_a_log_of_another_machine_or_another_scenario_is_refused(
    kept: Reuse, settings: Settings, cache: TrialCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = trial(settings, None)
    assert kept.key(asked)
    monkeypatch.setattr(reuse, "describe_machine", lambda: {"python": "another"})
    assert not kept.restore(asked, Folder(tmp_path / "again"))


@pytest.mark.slow
def test_writers_at_the_same_time_leave_one_whole_entry(
    settings: Settings, played: dict[str | None, Log], cache: TrialCache, tmp_path: Path
) -> None:
    log = played["oracle"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: Reuse(cache, settings).keep(log.trial, log), range(16)))
    assert [each.suffix for each in cache.root.glob("??/*")] == [".trial"]
    assert Reuse(cache, settings).restore(log.trial, Folder(tmp_path / "again"))


def test_what_a_kill_left_of_an_entry_is_none(kept: Reuse, settings: Settings, cache: TrialCache) -> None:
    own = entry(cache, kept.key(trial(settings, None)))
    half = own.with_name(f"{own.stem}.1.1.part")
    half.write_bytes(own.read_bytes()[:200])
    own.unlink()
    assert trial(settings, None).id not in Reuse(cache, settings).find([trial(settings, None)])
    os.utime(half, (0, 0))
    cache.prune()
    assert not half.exists()


# --- what is not kept ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["harness", "timed-out", "crashed", "raised"])
def test_what_the_machine_may_have_done_is_not_kept(
    kind: str, settings: Settings, played: dict[str | None, Log], cache: TrialCache
) -> None:
    log = played["oracle"]
    fault = Fault.model_validate({"kind": kind, "op": "recall", "message": ""})
    events = tuple(
        each.model_copy(update={"fault": fault}) if isinstance(each, Recalled) else each for each in log.events
    )
    Reuse(cache, settings).keep(log.trial, replace(log, events=events))
    waited = tuple(each.model_copy(update={"ok": False}) if isinstance(each, Settled) else each for each in log.events)
    Reuse(cache, settings).keep(log.trial, replace(log, events=waited))
    ended = Closed(status="failed", fault=fault)
    Reuse(cache, settings).keep(log.trial, replace(log, closed=ended))
    Reuse(cache, settings).keep(log.trial, replace(log, closed=None))
    Reuse(cache, settings).keep(log.trial, replace(log, sealed=False))
    assert not cache.list_entries()


@pytest.mark.parametrize(("drill", "kind", "kept"), [
    ("embedder", "raised", 1), ("embedder", "crashed", 0), ("embedder", "timed-out", 0), ("sharing", "raised", 0),
])  # fmt: skip
def test_what_a_drill_provokes_is_kept(
    drill: DrillName, kind: FaultKind, kept: int, settings: Settings, cache: TrialCache, tmp_path: Path
) -> None:
    call = Called(step="shorter", op="recall", fault=Fault(kind=kind, op="recall", message="192 numbers, not 384"))
    found = transcript(tmp_path, Plan(pieces=()), [call], drill=drill, backend="notes")
    Reuse(cache, settings).keep(found.trial, found)
    assert len(cache.list_entries()) == kept


def test_nothing_is_kept_once_a_source_was_edited(
    settings: Settings,
    played: dict[str | None, Log],
    cache: TrialCache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "own"
    place.mkdir()
    (place / "own_store.py").write_text("one = 1\n")
    monkeypatch.setenv(paths.PLACES, str(place))
    own = Reuse(cache, settings)
    assert own.find([played[None].trial]) == {}
    (place / "own_store.py").write_text("one = 11\n")
    own.keep(played[None].trial, played[None])
    assert not cache.list_entries()


# --- keys ----------------------------------------------------------------------------------------------------------


def key(settings: Settings, cache: TrialCache, backend: str | None = "notes") -> str | None:
    return Reuse(cache, settings).key(trial(settings, backend))


def with_notes(settings: Settings, **changed: object) -> Settings:
    notes = replace(settings.playables["notes"], **changed)  # type: ignore[arg-type]
    return replace(settings, playables={**settings.playables, "notes": notes})


@pytest.mark.slow
def test_the_key_is_the_same_in_every_folder_and_tells_what_changed(
    settings: Settings, cache: TrialCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = key(settings, cache)
    assert own == key(replace(settings, root=tmp_path), cache)
    keys = [
        own,
        key(settings, cache, None),
        key(with_notes(settings, source="edited"), cache),
        key(replace(settings, deadlines=Deadlines(call=1.0)), cache),
    ]
    assert key(with_notes(settings, source="edited"), cache, "oracle") == key(settings, cache, "oracle")
    for name in ("digest_common_code", "digest_installed"):
        with monkeypatch.context() as patched:
            patched.setattr(sources, name, lambda: "another")
            keys.append(key(settings, cache))
    assert None not in keys and len({*keys}) == len(keys)


@pytest.mark.slow
def test_an_edit_of_what_plays_a_drill_voids_its_plays_alone(
    settings: Settings, cache: TrialCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = plan.list_drills(Selection(backends=(), drills=("embedder", "keeping")), ["notes"], {})
    trials: list[Trial | DrillTrial] = [*asked, trial(settings, "notes")]
    keys = list[list[str | None]]()
    for text in ("as it was", "edited"):
        code = {"harness.play.drills.embedder": text}
        monkeypatch.setattr(sources, "digest_drill", lambda module, code=code: code.get(module, "as it was"))
        reuse = Reuse(cache, settings)
        keys.append([reuse.key(each) for each in trials])
    assert None not in keys[0]
    assert {each.id for each, *own in zip(trials, *keys, strict=True) if len({*own}) == 2} == {
        each.id for each in asked if each.drill == "embedder"
    }  # fmt: skip


def test_a_drill_of_upgrades_is_another_trial_with_another_older_release(settings: Settings, cache: TrialCache) -> None:
    rows = {f"notes@{at}": replace(settings.playables["notes"], source=f"release {at}") for at in (1, 2, 3)}
    own = Reuse(cache, replace(settings, playables={**settings.playables, **rows}))
    asked = Selection(backends=(), drills=("upgrade",))
    found = [plan.list_drills(asked, ["notes@3"], {"notes@3": f"notes@{at}"})[0] for at in (1, 2)]
    assert len({own.key(each) for each in found} | {None}) == 3 and len({each.id for each in found}) == 2


@pytest.mark.slow
def test_what_something_else_decides_has_no_key(
    settings: Settings, cache: TrialCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = AdapterEntry("own", "own_store:Own", control=False)
    for changed in (
        replace(settings, keep=True),
        replace(settings, chat=Chat(answers="model")),
        replace(settings, chat=Chat(answers="recordings", folder="somewhere")),
        with_notes(settings, server=Server((), "http://here", "URL", "key", "make it")),
        with_notes(settings, withheld=("a secret",)),
        with_notes(settings, spec=Spec(adapter="notes", python="python3")),
        with_notes(settings, entry=outside),
    ):
        assert key(changed, cache) is None
    assert key(replace(settings, chat=Chat(answers="stand-in")), cache)
    asked = trial(settings, None).model_copy(update={"reader": "my.module:Reader"})
    assert Reuse(cache, settings).key(asked) is None
    monkeypatch.setattr(sources, "digest_installed", lambda: None)
    assert key(settings, cache, None) is None
    monkeypatch.undo()
    monkeypatch.setenv("COLDWARM_ALLOW_READ", str(tmp_path))
    assert key(settings, cache, None) is None


def test_an_adapter_of_somebodys_own_counts_with_all_that_lies_beside_it(
    settings: Settings, cache: TrialCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "own"
    (place / "beside").mkdir(parents=True)
    (place / "own_store.py").write_text("one = 1\n")
    monkeypatch.setenv(paths.PLACES, str(place))
    own = with_notes(settings, entry=AdapterEntry("own", "own_store:Own", control=False))
    keys, shipped = [key(own, cache)], key(settings, cache)
    (place / "beside" / "data.txt").write_text("data\n")
    keys.append(key(own, cache))
    assert None not in keys and len({*keys}) == 2 and shipped == key(settings, cache) is not None
    (place / "beside" / "link").symlink_to(tmp_path)
    assert key(own, cache) is None
    (place / "beside" / "link").unlink()
    (place / "json.py").write_text("")  # every adapter would import this one
    assert key(own, cache) is key(settings, cache) is None


@pytest.mark.slow
def test_the_code_that_plays_imports_nothing_of_ours_that_no_key_tells() -> None:
    told = {name.removesuffix(".py").replace("/", ".") for name in PLAYS} | {"harness.__init__"}
    for name in PLAYS:
        place = paths.ROOT / name
        for file in [place] if place.is_file() else place.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                modules = (
                    [f"{node.module}.{each.name}" for each in node.names]
                    if isinstance(node, ast.ImportFrom)
                    else [each.name for each in node.names]
                    if isinstance(node, ast.Import)
                    else []
                )
                for module in modules:
                    if module.partition(".")[0] in ("harness", "adapters", "tasks"):
                        assert ".".join(module.split(".")[:2]) in told, f"{file}: {module}"


# --- the folder ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("kept")
def test_entries_go_by_age_and_by_size(cache: TrialCache) -> None:
    first, second, last = (each.path for each in cache.list_entries())
    now = time.time()
    for at, path in enumerate((first, second, last)):
        os.utime(path, (now - 1000 + at, now - 1000 + at))
    assert cache.prune() == 0
    assert cache.prune(second.stat().st_size + last.stat().st_size) == 1 and not first.exists()
    os.utime(last, (now, now))
    assert cache.prune(most_seconds=500) == 1 and not second.exists()
    assert cache.prune(0) == 1 and not cache.list_entries()


def test_a_cache_that_cannot_be_written_loses_nothing_else(
    settings: Settings, played: dict[str | None, Log], tmp_path: Path
) -> None:
    (tmp_path / "trials").write_text("a file")
    own = Reuse(TrialCache(tmp_path / "trials"), settings)
    own.keep(played[None].trial, played[None])
    own.end()
    assert own.find([played[None].trial]) == {} and not own.restore(played[None].trial, Folder(tmp_path / "again"))
