"""The transcript of a drill: what was written comes back typed, and what was cut off is incomplete, never wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Layer, Scope, to_wire
from harness.log.blobs import Blobs
from harness.log.lines import LogError, Unbegun
from harness.log.parts import Sighting
from harness.log.transcript import Called, Ended, Looked, Transcript, read
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from tests.support.transcripts import transcript

SHOP = Scope(repo="shop")
PIECES = tuple(Piece(name=f"p{i}", role="kept", item=Item(f"text {i}", SHOP, "2026-01-01", "project")) for i in (1, 2))
PLAN = Plan(pieces=PIECES)
EVENTS = (
    Called(step="write", op="remember", about=("p1", "p2"), answer=[{"ids": ["a"]}, {"ids": []}]),
    Called(step="write", op="update", about=("p2",), request={"memory_id": "a"}, answer={"ids": ["a"]}),
    Called(step="ask", op="recall", request={"query": "text"}, answer=to_wire([Hit("a", "text 1", 0.5)])),
    Called(step="ask", op="get", who="b", request={"memory_id": "a"}, answer=to_wire(Hit("a", "text 1"))),
    Called(step="ask", op="get", request={"memory_id": "x"}),
    Called(step="ask", op="recall", fault=Fault(kind="crashed", op="recall", message="gone\nbad")),
    Looked(step="end", layer=Layer("file", "f", "file"), files=1, bytes=9,
           sightings=(Sighting(fact="p1", path="f", form="utf-8", count=2, offset=7, place="free page 3"),)),
)  # fmt: skip


@pytest.fixture
def told(tmp_path: Path) -> Transcript:
    return transcript(tmp_path, PLAN, EVENTS, drill="keeping", lacks={"history": "none kept"})


def test_answers_come_back_as_they_went_over_the_wire(told: Transcript) -> None:
    calls = [call for _, call in told.calls("remember")]
    assert [told.ids(call) for call in calls] == [(("a",), ())]
    assert [told.ids(call) for _, call in told.calls("update")] == [(("a",),)]
    (line, asked), (_, broken) = told.calls("recall")
    assert line == 4 and told.hits(asked) == (Hit("a", "text 1", 0.5),) and told.hits(broken) == ()
    assert [told.hits(call) for _, call in told.calls("get", who="b")] == [(Hit("a", "text 1"),)]
    assert [told.hits(call) for _, call in told.calls("get", "ask", "a")] == [()]
    assert not list(told.calls("recall", "write"))
    ((at, look),) = told.looks("end")
    assert at == 8 and told.sightings(look)[0].place == "free page 3"


def test_of_large_answers_the_last_one_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.log.transcript.LARGE", 5000)
    listed = [[Hit(f"{name}{i}", "text") for i in range(200)] for name in "ab"]
    blobs = Blobs(tmp_path / "blobs")
    answers = [to_wire(listed[0]), to_wire(listed[1]), to_wire([Hit("c", "text")])]
    events = [
        Called(step="look", op="entries", answer=blobs.put(json.dumps(each).encode()) if len(each) > 1 else each)
        for each in answers
    ]
    told = transcript(tmp_path, PLAN, events, drill="keeping")
    first, second, small = (call for _, call in told.calls("entries"))
    assert told.hits(first) == (*listed[0],) and told.hits(first) is told.hits(first)
    kept = told.hits(small)
    assert told.hits(second) == (*listed[1],) and told.hits(first) == (*listed[0],)
    assert told.hits(small) is kept
    assert len(told._large) == 1 and len(told._hits) == 1


def test_it_knows_its_plan_and_what_the_backend_declares(told: Transcript) -> None:
    assert told.plan == PLAN and told.plan.by_name["p2"].item.text == "text 2" and told.plan.of("kept") == PIECES
    assert told.supports("get") and not told.supports("history")
    assert told.ended is not None and told.reason == ""


def test_a_transcript_that_was_cut_is_incomplete(told: Transcript) -> None:
    data = told.path.read_bytes()
    told.path.write_bytes(data[:-10])
    cut = read(told.path, told.blobs)
    assert cut.ended is None and cut.events == told.events[:-1] and "incomplete" in cut.reason
    told.path.write_bytes(data[:20])
    with pytest.raises(Unbegun):
        read(told.path, told.blobs)


def test_the_fault_that_ended_it_is_one_line(tmp_path: Path) -> None:
    fault = Fault(kind="timed-out", op="recall", message="no answer\nwithin 2 s")
    assert transcript(tmp_path, PLAN, (), drill="keeping", ended=Ended(status="failed", fault=fault)).reason == (
        "recall: no answer within 2 s"
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b'"kind":"drilled"', b'"kind":"opened"', ":1: not an event"),
        (b'"log_schema":2', b'"log_schema":99', "log schema 99"),
        (b'"op":"update"', b'"op":"upgrade"', ":3: not an event"),
        (b'"step":"ask"', b'"stoop":"ask"', ":4: not an event"),
    ],
)
def test_what_is_no_transcript_is_one_line_that_names_the_file(
    told: Transcript, old: bytes, new: bytes, says: str
) -> None:
    told.path.write_bytes(told.path.read_bytes().replace(old, new, 1))
    with pytest.raises(LogError) as caught:
        read(told.path, told.blobs)
    assert says in str(caught.value) and str(told.path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_plan_is_one_line(told: Transcript, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r":1: blob [0-9a-f]{64} is missing"):
        read(told.path, Blobs(tmp_path / "elsewhere"))


def test_a_plan_of_another_form_is_one_line(told: Transcript) -> None:
    other = told.blobs.put(b'{"pieces":"none"}')
    data = told.path.read_bytes().replace(told.drilled.plan.blob.encode(), other.blob.encode(), 1)
    told.path.write_bytes(b"".join(data.splitlines(keepends=True)[:-1]))  # without its seal
    with pytest.raises(LogError, match="its plan cannot be read"):
        read(told.path, told.blobs)
