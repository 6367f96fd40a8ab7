"""The lines of a log: whatever is changed in a closed one is seen, and nobody but its writer can close it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from harness.adapter import Item, Scope
from harness.log import lines, reader, transcript
from harness.log.blobs import BlobError, Blobs
from harness.log.events import Closed, Listed, Settled
from harness.log.lines import LogError, Writer
from harness.log.reader import Log, Outline, Played, read, read_outline
from harness.log.transcript import Called, Op
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from tests.support import transcripts
from tests.support.logs import Tape

PLAN = Plan(pieces=(Piece(name="p1", role="kept", item=Item("text 1", Scope(), "2026-01-01", "project")),))
OURS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Tape(tmp_path_factory.mktemp("story")).played().jobs("betadeploy").forget("pin").log().path


def closed(path: Path, data: bytes) -> bool:
    """Whether this reads as the log of a trial that came to its end; a LogError is one line that names the file."""
    other, blobs = path.with_name("changed.jsonl"), Blobs(path.parent / "blobs")
    other.write_bytes(data)
    told = [_is_closed(partial(load, other, blobs), other) for load in (read, read_outline)]
    assert told[0] == told[1], "in outline as in full"
    return told[0]


def _is_closed(load: Callable[[], Played | Outline], path: Path) -> bool:
    try:
        return load().end is not None
    except LogError as error:
        assert str(path) in str(error) and len(str(error).splitlines()) == 1
        return False


def test_the_log_itself_reads(story: Path) -> None:
    assert closed(story, story.read_bytes())


@pytest.mark.slow
@OURS
@given(at=st.floats(0, 1, exclude_max=True), by=st.integers(1, 255))
def test_no_byte_of_a_closed_log_changes_unseen(story: Path, at: float, by: int) -> None:
    data = bytearray(story.read_bytes())
    data[int(at * len(data))] ^= by
    assert not closed(story, bytes(data))


@pytest.mark.slow
def test_no_byte_of_the_first_and_last_line_changes_unseen(story: Path) -> None:
    """The two lines that say what the others are, byte by byte."""
    data = story.read_bytes()
    first, last = data.index(b"\n"), data[:-1].rindex(b"\n")
    for at in (*range(0, first + 1, 7), *range(last, len(data))):
        changed = bytearray(data)
        changed[at] ^= 1
        assert not closed(story, bytes(changed)), data[at - 20 : at + 20]


@pytest.mark.slow
@OURS
@given(data=st.data())
def test_no_line_is_taken_away_doubled_or_moved_unseen(story: Path, data: st.DataObject) -> None:
    lines = story.read_bytes().splitlines(keepends=True)
    one, other = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    assert not closed(story, b"".join(lines[:one] + lines[one + 1 :]))
    assert not closed(story, b"".join([*lines[:one], lines[other], *lines[one:]]))
    if one != other:
        lines[one], lines[other] = lines[other], lines[one]
        assert not closed(story, b"".join(lines))


@pytest.mark.slow
@OURS
@given(more=st.binary(min_size=1, max_size=40))
def test_nothing_follows_the_last_line_unseen(story: Path, more: bytes) -> None:
    assert not closed(story, story.read_bytes() + more)


@pytest.mark.slow
@OURS
@given(at=st.floats(0, 1, exclude_max=True), by=st.integers(1, 255), data=st.data())
def test_a_drill_is_as_safe(tmp_path: Path, at: float, by: int, data: st.DataObject) -> None:
    path = tmp_path / "drill.jsonl"
    if not path.exists():
        told = [Called(step="ask", op="get", about=("p1",), answer={"memory_id": "a", "text": "text 1"})] * 3
        transcripts.transcript(tmp_path, PLAN, told, drill="keeping").path.rename(path)
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[int(at * len(whole))] ^= by
    lines = whole.splitlines(keepends=True)
    one = data.draw(st.integers(0, len(lines) - 1))
    other = path.with_name("changed.jsonl")
    for each in (bytes(changed), b"".join(lines[:one] + lines[one + 1 :]), b"".join(lines[:one] + lines[one - 1 :])):
        other.write_bytes(each)
        for load in (transcript.read, transcript.read_outline):
            assert _is_closed(partial(load, other, Blobs(tmp_path / "blobs")), other) == (each == whole)


# --- what the first and the last line say ---------------------------------------------------------------------------


def _told(tmp_path: Path) -> Log:
    """A log with a blob that only its middle names, and with three kinds of trouble."""
    tape = Tape(tmp_path).probe("tool-before", "alphadeploy").add(Settled(session="first", ok=False))
    for kind in ("refused", "crashed", "refused"):
        tape.add(Settled(session="first", ok=False, fault=Fault(kind=kind, op="settle", message='"blob":"')))
    return tape.add(Listed(stage="end", scope=Scope(), hits=tape.blobs.put(b"[]"))).log()


def test_a_whole_log_is_not_read_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _told(tmp_path)
    monkeypatch.setattr(reader, "read", None)
    assert read_outline(log.path, Blobs(tmp_path / "blobs")) == log.outline, "which has looked at none of its blobs"
    assert log.outline.troubles == {"late", "refused", "crashed"} and log.outline.final and log.outline.sealed


def test_a_log_that_says_nothing_of_troubles_is_read_through(tmp_path: Path) -> None:
    log = _told(tmp_path)
    head, _, last = log.path.read_bytes()[:-1].rpartition(b"\n")
    last = head + b"\n" + last.partition(b',"troubles"')[0]
    log.path.write_bytes(last + b',"sha256":"%s"}\n' % hashlib.sha256(last).hexdigest().encode())
    assert lines.load_ends(log.path) is None
    assert read_outline(log.path, Blobs(tmp_path / "blobs")) == log.outline


@pytest.mark.parametrize("harm", [Path.unlink, lambda blob: blob.write_bytes(b"[ ]")], ids=["gone", "changed"])
def test_a_blob_that_the_middle_of_a_log_names_is_missed(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    log = _told(tmp_path)
    name = hashlib.sha256(b"[]").hexdigest()
    harm(tmp_path / "blobs" / name[:2] / name)
    with pytest.raises(LogError, match=rf":7: blob {name}"):
        read_outline(log.path, Blobs(tmp_path / "blobs"))


def test_a_story_is_no_drill_in_outline_either(story: Path) -> None:
    with pytest.raises(LogError):
        transcript.read_outline(story, Blobs(story.parent / "blobs"))


def test_a_log_that_a_newer_coldwarm_wrote_is_refused_though_its_seal_holds(tmp_path: Path) -> None:
    log = _told(tmp_path)
    data = log.path.read_bytes().replace(b'"log_schema":2', b'"log_schema":3')
    at = data.rindex(b',"sha256"')
    log.path.write_bytes(data[:at] + b',"sha256":"%s"}\n' % hashlib.sha256(data[:at]).hexdigest().encode())
    with pytest.raises(LogError, match="update coldwarm"):
        read_outline(log.path, log.blobs)


# --- logs that were cut off -----------------------------------------------------------------------------------------


def test_a_gap_in_a_log_that_was_cut_off_is_seen(story: Path, tmp_path: Path) -> None:
    lines = story.read_bytes().splitlines(keepends=True)[:-1]
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(LogError, match=r"torn\.jsonl:4: line 5 stands here: lines were removed, added or moved"):
        read(torn, Blobs(story.parent / "blobs"))


@pytest.mark.parametrize(
    ("op", "answer"),
    [
        ("remember", [{"idz": ["a"]}]),
        ("recall_where", [{"memory_id": "a"}]),
        ("history", "text"),
        ("forget", [1]),
        ("deprecate", {"a": True}),
    ],
)
def test_an_answer_of_another_form_in_a_drill_without_a_seal_is_one_line(
    op: Op, answer: JsonValue, tmp_path: Path
) -> None:
    told = [Called(step="ask", op=op, about=("p1",), answer=answer)]
    path = transcripts.transcript(tmp_path, PLAN, told, drill="keeping").path
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(LogError, match=rf":2: not the answer to {op}: "):
        transcript.read(path, Blobs(tmp_path / "blobs"))


# --- a backend that reaches its log --------------------------------------------------------------------------------


def _appends(path: Path) -> None:
    """As well as it can be forged: the next number, and a seal over all before it."""
    with Writer(path.with_name("forger")) as writer:
        writer.append(Closed(status="complete"))
    with path.open("ab") as file:
        file.write(path.with_name("forger").read_bytes().replace(b'"n":1', b'"n":3'))


def _replaces(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def _links(path: Path) -> None:
    other = path.with_name("elsewhere")
    path.rename(other)
    path.symlink_to(other)


def _pipes(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _is_a_folder(path: Path) -> None:
    path.unlink()
    (path / "in").mkdir(parents=True)


@pytest.mark.parametrize(
    "forge",
    [
        _appends,
        _replaces,
        _links,
        _pipes,
        _is_a_folder,
        lambda path: path.open("ab").write(b"\0"),
        lambda path: os.truncate(path, path.stat().st_size - 9),
        lambda path: path.write_bytes(path.read_bytes().replace(b"alphadeploy", b"omegadeploy")),
    ],
)
def test_a_log_that_something_else_wrote_to_is_a_failed_trial(tmp_path: Path, forge: Callable[[Path], object]) -> None:
    tape = Tape(tmp_path).probe("tool-before", "alphadeploy")
    path = tmp_path / "one.1.jsonl"
    with Writer(path) as writer:
        for event in tape.events:
            writer.append(event)
        forge(path)
        writer.append(Closed(status="complete"))
    log = read(path, tape.blobs)
    assert log.closed is not None and log.closed.status == "failed" and len(log.events) == 2 and log.sealed
    assert log.closed.fault is not None and (log.closed.fault.kind, log.closed.fault.op) == ("breach", "log")
    assert "something else wrote to its log" in log.closed.fault.message
    assert os.path.lexists(path.with_suffix(".forged"))


@pytest.mark.parametrize("remove", [Path.unlink, lambda path: shutil.rmtree(path.parent)])
def test_a_log_that_was_removed_is_nobodys_fault_and_played_again(
    tmp_path: Path, remove: Callable[[Path], object]
) -> None:
    tape, path = Tape(tmp_path), tmp_path / "logs" / "one.1.jsonl"
    with Writer(path) as writer:
        writer.append(tape.events[0])
        remove(path)
        writer.append(Closed(status="complete"))
    log = read(path, tape.blobs)
    assert log.sealed and not log.final and log.closed and log.closed.fault and log.closed.fault.kind == "machine"
    assert log.closed.fault.message == "its log was removed while it was played; --resume plays it again"
    assert not path.with_suffix(".forged").exists()


def test_a_blob_whose_place_holds_something_else_is_written_again(tmp_path: Path) -> None:
    ref = Blobs(tmp_path).put(b"what was seen")
    place = tmp_path / ref.blob[:2] / ref.blob
    place.write_bytes(b"what was SEEN")
    assert Blobs(tmp_path).get(Blobs(tmp_path).put(b"what was seen")) == b"what was seen"


def test_a_blob_or_log_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    ref = Blobs(tmp_path).put(b"")
    place = tmp_path / ref.blob[:2] / ref.blob
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(BlobError, match="not a regular file"):
        Blobs(tmp_path).get(ref)
    with pytest.raises(LogError, match="cannot be read: not a regular file"):
        read(place, Blobs(tmp_path))
    Blobs(tmp_path).put(b"")
    assert place.read_bytes() == b""
