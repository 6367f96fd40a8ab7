"""Sessions that a backend captures itself: what it is handed, what is logged of it, and what is asked to be deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from adapters._capture import by_piece, observe_with
from harness import paths
from harness.adapter import Ack, Hit, Message, Scope, applies
from harness.gateway.meter import Meter
from harness.log.blobs import unpack
from harness.log.events import Changed, Forgot, Recalled, Wrote
from harness.log.parts import HITS
from harness.metrics import capturing
from harness.metrics.invented import hits_invented
from harness.metrics.view import Record, View
from harness.model.backend import FaultKind
from harness.model.canary import memory_word
from harness.model.trial import Measured
from harness.play.noise import list_batches
from harness.text.chunks import list_said
from tasks import loader
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.story_player import Stage


def load(name: str, cache: Path) -> Stage:
    ((scenario, repo),) = loader.load(loader.find(paths.DEEP, (name,)), paths.FIXTURES, cache)
    return Stage.of(scenario, repo)


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A story with a secret that a session asks to forget."""
    return load("secret-erasure/borrowed-keyring", tmp_path_factory.mktemp("cache"))


class FakeCapturing(FakeMemory):
    """Cuts a session into pieces of its own."""

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        self._hears("observe", tuple(transcript), scope, at, session)
        return observe_with(self, by_piece, transcript, scope, at, session)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """What holds there."""
        held = [
            name for name in memory_ids if name in self._host.items and applies(self._host.items[name].scope, scope)
        ]
        gone = dict(zip(held, super().forget(scope, held), strict=True))
        return [gone.get(name, False) for name in memory_ids]


class FakeSilent(FakeCapturing):
    """Tells no id."""

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        super().observe(transcript, scope, at, session)
        return Ack(())


@pytest.fixture(params=[FakeCapturing, FakeSilent])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeHost]:
    yield FakeHost(tmp_path / "store", memory=request.param)


@pytest.mark.slow
def test_each_session_is_handed_over_once_as_it_was_spoken(keyring: Stage, host: FakeHost, tmp_path: Path) -> None:
    log = keyring.play(tmp_path, host, amount=3, feed="native")
    assert log.closed is not None and log.closed.status == "complete"
    asked = {str(args[3]): args for args in host.asked("observe")}
    canaries = keyring.part("fake", feed="native").canaries
    for session in keyring.scenario.sessions:
        place = keyring.scenario.place(session)
        assert asked[session.id] == (list_said(session, canaries), place, session.at.isoformat(), session.id)
    wrote = log.list_events(Wrote)
    assert {each.op for each in wrote} == {"observe"} and all(len(log.items(each)) == 1 for each in wrote)
    noise = sum(each.noise for event in wrote for each in log.items(event))
    assert (noise, len(wrote)) == (3 if list_batches(keyring.scenario) else 0, len(keyring.scenario.sessions) + noise)
    assert all(each.tokens or each.noise for each in wrote)


@pytest.mark.slow
def test_a_model_inside_is_told_the_day_of_the_session(
    keyring: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter, told = Meter(), list[tuple[str, str]]()

    class FakeNoting(FakeCapturing):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            told.append((at[:10], str(meter.day)))
            return super().observe(transcript, scope, at, session)

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            told.append((at[:10], str(meter.day)))
            return super().recall(query, scope, k, at)

    monkeypatch.setattr("tests.support.story_player.Meter", lambda: meter)
    keyring.play(tmp_path, FakeHost(tmp_path / "store", memory=FakeNoting), feed="native")
    assert len({day for day, _ in told}) > 3 and all(day == said for day, said in told)


@pytest.mark.slow
def test_a_hit_is_read_whole_by_the_messages_that_stand_in_it(keyring: Stage, host: FakeHost, tmp_path: Path) -> None:
    log = keyring.play(tmp_path, host, feed="native")
    record = Record(log)
    for line, event in log.of(Recalled):
        entries = record.entries(line, event)
        assert [entry.text for entry in entries] == [hit.text for hit in log.find_answer(event).hits]
    told = {name for line, event in log.of(Recalled) for each in record.entries(line, event) for name in each.asserted}
    assert len(told) > len(keyring.scenario.facts) / 2, "facts of the story came back"
    invented = hits_invented(View(record))
    assert isinstance(invented, Measured) and (invented.hits, invented.of) != (0, 0) and invented.hits == 0


@pytest.mark.slow
def test_what_holds_the_secret_is_deleted_and_the_rest_of_its_session_stays(
    keyring: Stage, host: FakeHost, tmp_path: Path
) -> None:
    log = keyring.play(tmp_path, host, feed="native")
    marks = keyring.part("fake", feed="native").canaries
    forgot = log.list_events(Forgot)
    assert forgot and all(each.ids and each.said and all(each.said) for each in forgot)
    gone = [memory_word(marks[each.fact]) for each in forgot]
    assert not any(word in item.text for word in gone for item in host.items.values())
    sessions = {
        item.source.session.partition("#")[0] for item in host.items.values() if item.source and item.source.session
    }
    assert sessions == {session.id for session in keyring.scenario.sessions}


@pytest.mark.slow
def test_after_each_capture_it_is_listed_what_changed(keyring: Stage, host: FakeHost, tmp_path: Path) -> None:
    log = keyring.play(tmp_path, host, feed="native")
    record, held = Record(log), dict[str, str]()
    places = {keyring.scenario.place(session) for session in keyring.scenario.sessions}
    for line, event in log.of(Changed):
        assert event.scope in places | {keyring.scenario.home(fact) for fact in keyring.scenario.facts}
        new = {hit.memory_id: hit.text for hit in unpack(log.blobs, HITS, event.hits)}
        assert not new.items() & held.items(), "only what is new"
        held = {name: text for name, text in held.items() if name not in event.gone} | new
        assert any(isinstance(each, Wrote) for each in log.events[:line])
    deleted = {name for event in log.list_events(Forgot) for name in event.ids}
    assert held.keys() - deleted == host.items.keys() and all(
        host.items[each].text == held[each] for each in host.items
    )
    kept = capturing.facts_kept(View(record))
    assert isinstance(kept, Measured) and (kept.hits or 0) > 0


@pytest.mark.slow
def test_facts_and_pieces_are_not_listed_after_each_session(keyring: Stage, tmp_path: Path) -> None:
    for feed in ("facts", "sessions"):
        host = FakeHost(tmp_path / feed, memory=FakeCapturing)
        assert not keyring.play(tmp_path, host, feed=feed).list_events(Changed)


@pytest.mark.slow
def test_a_capture_that_fails_is_logged_as_its_fault(keyring: Stage, tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "store", memory=FakeCapturing, faults={"observe": [("raised", True)]})
    first, *others = keyring.play(tmp_path, host, feed="native").list_events(Wrote)
    assert first.fault is not None and (first.fault.op, first.ids) == ("observe", None)
    assert all(each.ids for each in others)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["raised", "timed-out"])
def test_what_a_failed_capture_was_told_is_not_captured(kind: FaultKind, keyring: Stage, tmp_path: Path) -> None:
    """The call is the receipt."""
    host = FakeHost(tmp_path / "store", memory=FakeCapturing, faults={"observe": [(kind, True)]})
    log = keyring.play(tmp_path, host, feed="native")
    (failed, *_), view = log.of(Wrote), View(Record(log))
    told = next(each for each in capturing.find_captured(view.record) if each.line == failed[0]).told
    found = capturing.facts_kept(view)
    assert isinstance(found, Measured) and told and found.receipts.count(f"L{failed[0]}") == len(told)


@pytest.mark.slow
def test_a_session_that_is_handed_over_twice_is_no_fault(keyring: Stage, tmp_path: Path) -> None:
    class FakeForgetful(FakeCapturing):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            super().observe(transcript, scope, at, session)
            return super().observe(transcript, scope, at, session)

    host = FakeHost(tmp_path / "store", memory=FakeForgetful)
    log = keyring.play(tmp_path, host, feed="native")
    assert log.closed is not None and log.closed.status == "complete"
    once = keyring.play(tmp_path / "once", FakeHost(tmp_path / "other", memory=FakeCapturing), feed="native")
    kept, twice = (capturing.facts_kept(View(Record(each))) for each in (once, log))
    assert isinstance(kept, Measured) and isinstance(twice, Measured) and kept.hits == twice.hits


@pytest.mark.slow
def test_what_was_said_on_a_branch_is_deleted_there(tmp_path: Path) -> None:
    """Although the secret holds for the whole repository."""
    stage, host = (
        load("branch-scope/lighthouse-lts", tmp_path / "cache"),
        FakeHost(tmp_path / "s", memory=FakeCapturing),
    )
    forgot = stage.play(tmp_path, host, feed="native").list_events(Forgot)
    assert forgot and all(each.ids and each.said and all(each.said) for each in forgot)
    assert any(stage.scenario.home(stage.scenario.by_id[each.fact]).branch is None for each in forgot)
