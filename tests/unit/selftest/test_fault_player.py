"""Plays of planted faults that an earlier self-test left: taken whole or not at all, and never by a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.log.reader import Outline
from harness.log.transcript import Ended
from harness.log.trial_cache import TrialCache
from harness.machine import leftovers
from harness.machine.processes import Killed
from harness.model.backend import SOUND, Fault
from harness.model.drill import Plan
from harness.model.trial import Measured
from harness.play import drills
from harness.play.reuse import Reuse
from harness.play.story import Story
from harness.selftest import fault_player, measures
from harness.selftest.fault_player import STORY, FaultPlayer, Play, is_repeatable
from harness.selftest.faults import FaultRow, PlantedFault
from harness.selftest.local import require_whole
from harness.selftest.measures import Bench, Contender, Reached
from harness.selftest.proof import Breach
from tests.support.transcripts import transcript

REFERENCE = "adapters.reference:Reference"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return fault_player.load_story(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with closing(EmbeddingCache(None, Embedder())) as embeddings, Gateway(embeddings, StandIn()) as gateway:
        yield gateway


class SelfTests:
    """Self-tests of the reference with one short drill, each in a folder of its own, which share a cache."""

    def __init__(self, story: Story, gateway: Gateway, root: Path) -> None:
        self._story, self._gateway, self._root, self._count = story, gateway, root, 0
        self.cache = TrialCache(root / "cache")

    def open(self, *, fresh: bool = False) -> FaultPlayer:
        self._count += 1
        playables = {SOUND: fault_player.describe(SOUND, REFERENCE)}
        root = self._root / str(self._count)
        return FaultPlayer(self._story, root, self._gateway, playables, kept=self.cache, fresh=fresh)


@pytest.fixture
def tests(story: Story, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SelfTests:
    monkeypatch.setattr(drills, "ALL", {"embedder": drills.ALL["embedder"]})
    return SelfTests(story, gateway, tmp_path)


def played(plays: list[Play]) -> list[bool]:
    """Of each, whether it was played now."""
    return [each.day is None for each in plays]


@pytest.mark.slow
def test_what_was_played_before_is_taken_byte_for_byte_unless_its_entry_is_damaged(tests: SelfTests) -> None:
    player = tests.open()
    first, controls = player.play(SOUND), player.controls
    assert played(first) == [True, True] and played(controls) == [True] * 3

    player = tests.open()
    again = player.play(SOUND)
    assert played(again) == [False, False] and played(player.controls) == [False] * 3
    assert [each.log.sha256 for each in again] == [each.log.sha256 for each in first]
    assert measures.score(again, controls) == measures.score(first, controls)

    entry = tests.cache.find_path(str(first[0].key))
    entry.write_bytes(entry.read_bytes()[:-1])
    assert played(tests.open().play(SOUND)) == [True, False]
    assert played(tests.open().play(SOUND)) == [False, False]
    assert played(tests.open(fresh=True).play(SOUND)) == [True, True]


@pytest.mark.slow
def test_a_play_on_paper_is_none_of_a_run(tests: SelfTests) -> None:
    player = tests.open()
    (play, *_) = player.controls
    run = Reuse(tests.cache, player._settings)
    assert play.key and run.key(play.log.trial) not in (None, play.key)
    assert run.find([play.log.trial]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verdicts:_Warning", "citing:_Citing"])
def test_a_store_that_warns_of_what_was_superseded_or_is_gone_alone_is_not_blamed(
    story: Story, gateway: Gateway, tmp_path: Path, name: str
) -> None:
    warns = fault_player.describe("warns", f"harness.selftest.planted.{name}")
    player = FaultPlayer(story, tmp_path, gateway, {"warns": warns})
    found = measures.score(player.play("warns", families={STORY}), [])
    stale, *rest = (
        found[name] for name in ("stale_warned", "current_warned", "moved_warned", "verdicts_naming_nothing")
    )
    assert isinstance(stale, Measured) and stale.value == 1
    assert [each.value for each in rest if isinstance(each, Measured) and each.of] == [0, 0, 0]


@pytest.mark.parametrize(("kind", "kept"), [("crashed", True), ("timed-out", True), ("harness", False)])
def test_a_fault_that_was_planted_may_be_kept_and_one_of_ours_may_not(tmp_path: Path, kind: str, kept: bool) -> None:
    fault = Fault.model_validate({"kind": kind, "op": "recall", "message": ""})
    found = transcript(tmp_path, Plan(pieces=()), [], drill="keeping", ended=Ended(status="failed", fault=fault))
    assert is_repeatable(found.outline) is kept
    unfinished: Outline = found.outline._replace(end=None)
    assert not is_repeatable(unfinished)


def test_what_led_to_a_breach_is_played_again_with_that_of_the_reference(tmp_path: Path) -> None:
    cache = TrialCache(tmp_path)
    keys = {
        name: {family: hashlib.sha256(f"{name} {family}".encode()).hexdigest() for family in ("keeping", "isolation")}
        for name in (SOUND, "Loses", "Leaks")
    }
    for each in keys.values():
        for key in each.values():
            cache.write(key, b"an entry")
    fault = PlantedFault("Loses", "m:C", "Loses.", ("writes_kept",), ())
    breaches = (Breach("Loses", "writes_kept", "must flag it"), Breach("Loses", "must", "no measure"))
    rows = [FaultRow(fault, {}, breaches), FaultRow(PlantedFault("Leaks", "m:C", "Leaks.", (), ()), {}, ())]
    found = {name: Reached({"writes_kept": Measured(value=1)}, each, {}) for name, each in keys.items()}
    measures._forget_breaches(cache, rows, found)
    left = {path.path.stem for path in cache.list_entries()}
    assert left == {key for each in keys.values() for key in each.values()} - {
        keys[SOUND]["keeping"], keys["Loses"]["keeping"]
    }  # fmt: skip


def test_drills_alone_play_no_controls_of_a_story(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Player:
        def play(self, *_: object) -> list[Play]:
            ended = Ended(status="complete")
            return [Play(transcript(tmp_path, Plan(pieces=()), [], drill="keeping", ended=ended), None, None)]

        @property
        def controls(self) -> list[Play]:
            raise AssertionError("no story is compared with them")

    monkeypatch.setattr(measures, "_open_player", lambda *_: Player())
    contender = Contender(SOUND, REFERENCE, "", frozenset({"keeping"}))
    reached = measures._measure(Bench((contender,), tmp_path, fresh=False), contender)
    assert reached.days == {"keeping": None}


def test_a_play_whose_process_somebody_killed_is_the_machine_s_trouble(tmp_path: Path) -> None:
    fault = Fault(kind="machine", op="remember", message="its process was killed by signal 9; --resume plays it again")
    log = transcript(tmp_path, Plan(pieces=()), [], drill="keeping", ended=Ended(status="failed", fault=fault))
    with pytest.raises(Killed, match="its process was killed by signal 9; nothing is proven: run it again"):
        require_whole(log)


def test_what_a_killed_process_left_in_memory_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    left = tmp_path / f"{leftovers.PREFIX}left"

    def be_killed(*_: object, **__: object) -> None:
        left.mkdir()
        (left / leftovers.LOCK).touch()
        raise Killed("one of 2 processes was killed")

    monkeypatch.setattr(measures, "MEMORY", tmp_path)
    monkeypatch.setattr(measures, "map_parts", be_killed)
    with pytest.raises(Killed):
        measures.prove([], tmp_path / "cache")
    assert not left.exists()
