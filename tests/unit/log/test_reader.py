"""Logs: what was written comes back; what a kill, a newer version or a flipped byte leaves ends in one line."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Hit, Item, Scope, Source
from harness.log import reader
from harness.log.blobs import INLINE, Blobs, Ref, pack, unpack
from harness.log.events import EVENT, SCHEMA, Closed, Event, Listed, Recalled, Sought, Wrote
from harness.log.lines import LogError, Unbegun, Writer
from harness.log.listing import HitsPacker
from harness.log.parts import FOUND, HITS, WRITTEN, Found, Span, Written
from harness.log.reader import read
from harness.model.backend import Fault
from tests.support.logs import Tape, canonical

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NAME = st.none() | TEXT
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
WHEN = st.datetimes(datetime(2000, 1, 1), datetime(2999, 1, 1), timezones=st.just(UTC))
SCOPE = st.builds(Scope, NAME, NAME, NAME, NAME)
SOURCE = st.none() | st.builds(Source, NAME, NAME, st.none() | st.integers(1, 10**6), NAME)
HIT = st.builds(Hit, TEXT, TEXT, NUMBER, SOURCE, NAME, st.none() | SCOPE, st.none() | st.booleans(), NUMBER)
FOUNDS = st.builds(
    Found,
    hits=st.lists(HIT, max_size=4).map(tuple),
    entries=st.lists(st.builds(Span, hit=st.integers(0, 3), start=st.just(0), end=st.just(1), tokens=st.integers(0)))
    .map(tuple),
)  # fmt: skip
FAULT = st.none() | st.builds(
    Fault, kind=st.sampled_from(["crashed", "timed-out", "breach", "refused"]), op=TEXT, message=TEXT
)
ITEM = st.builds(Item, TEXT, SCOPE, TEXT, TEXT, SOURCE, NUMBER, NAME)
EVENTS = st.lists(
    st.one_of(
        st.builds(
            Recalled, purpose=st.just("probe"), ref=TEXT, session=TEXT, at=WHEN, query=TEXT, scope=SCOPE,
            k=st.integers(1, 9), pool=st.integers(0), found=FOUNDS, fault=FAULT, took=NUMBER,
        ),
        st.builds(
            Wrote, op=st.just("remember"), purpose=st.just("learn"), session=TEXT,
            items=st.lists(st.builds(Written, name=TEXT, item=ITEM), max_size=3).map(tuple),
            ids=st.none() | st.lists(st.lists(TEXT, max_size=2).map(tuple), max_size=3).map(tuple),
            fault=FAULT, took=NUMBER,
        ),
        st.builds(
            Sought, stage=st.just("after"), route=st.just("get"), fact=TEXT, found=st.none() | st.booleans(),
            where=TEXT, fault=FAULT,
        ),
    ),
    max_size=6,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS)
def test_what_was_written_comes_back(tmp_path: Path, events: list[Event]) -> None:
    tape = Tape(tmp_path)
    for event in events:
        tape.add(event)
    log = tape.log()
    assert log.events[:-1] == tuple(tape.events)
    assert log.closed == Closed(status="complete") and log.trial == tape.trial and log.scenario == tape.scenario
    assert canonical(log.events[1:-1]) == canonical(events)


def test_a_large_payload_is_a_blob_and_comes_back(tmp_path: Path) -> None:
    tape = Tape(tmp_path)
    found = Found(hits=(Hit("m1", "x" * INLINE),), entries=(Span(hit=0, start=0, end=1, tokens=1),))
    items = tuple(Written(name=f"noise:{i}", item=Item("y" * 99, Scope(), "2025", "project")) for i in range(60))
    tape.probe("nothing", found=pack(tape.blobs, FOUND, found))
    tape.add(Wrote(op="remember", purpose="noise", session="first", items=pack(tape.blobs, WRITTEN, items)))
    log = tape.log()
    (recalled,), (wrote,) = log.list_events(Recalled), log.list_events(Wrote)
    assert isinstance(recalled.found, Ref) and isinstance(wrote.items, Ref)
    assert (log.find_answer(recalled), log.items(wrote)) == (found, items)
    assert log.path.stat().st_size < 3000


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pages=st.lists(st.lists(HIT, max_size=12), max_size=6))
def test_hits_that_come_in_pages_are_packed_as_the_whole_of_them(tmp_path: Path, pages: list[list[Hit]]) -> None:
    blobs, hits = Blobs(tmp_path / "blobs"), tuple(hit for page in pages for hit in page)
    packer, at_once = HitsPacker(blobs), HitsPacker(blobs)
    for page in pages:
        packer.add(page)
    at_once.add(hits)
    packed = packer.finish()
    assert packed == at_once.finish() and unpack(blobs, HITS, packed) == hits


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hits=st.lists(HIT, min_size=12, max_size=60), size=st.integers(0, 3000))
def test_a_long_listing_is_read_page_by_page(tmp_path: Path, hits: list[Hit], size: int) -> None:
    hits = [Hit("nested", '},{"memory_id":"' + "x" * INLINE), *hits, Hit("last", "]")]
    log = Tape(tmp_path).log()
    listed = Listed(stage="end", scope=Scope(), hits=pack(log.blobs, HITS, tuple(hits)))
    assert isinstance(listed.hits, Ref)
    before, reader._PAGE_BYTES = reader._PAGE_BYTES, size
    try:
        assert [*log.hits(listed)] == hits
    finally:
        reader._PAGE_BYTES = before


@pytest.mark.slow
def test_every_cut_leaves_the_whole_events_before_it(tmp_path: Path) -> None:
    log = Tape(tmp_path).probe("tool-before", "a hit with a line\nand a ü", fault=None).log()
    data, blobs = log.path.read_bytes(), Blobs(tmp_path / "blobs")
    torn = tmp_path / "torn.jsonl"
    for end in range(len(data)):
        torn.write_bytes(data[:end])
        whole = data[:end].count(b"\n")
        if whole:
            kept = read(torn, blobs)
            assert kept.events == log.events[:whole] and kept.closed is None
        else:
            with pytest.raises(Unbegun, match=r"torn\.jsonl: was cut off before the trial began"):
                read(torn, blobs)
    torn.write_bytes(data)
    assert read(torn, blobs).closed is not None


Lines = list[bytes]


def _with(line: bytes, **more: object) -> bytes:
    return json.dumps({**json.loads(line), **more}, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [_with(lines[0], log_schema=99), *lines[1:]], "log schema 99; this coldwarm reads schema"),
        (lambda lines: [_with(lines[0], log_schema=99, brand_new={"a": 1}), b"?"], "update coldwarm"),
        (lambda lines: [_with(lines[0], gold=[1]), *lines[1:]], ":1: not an event"),
        (lambda lines: [lines[0], _with(lines[1], gold=[1]), lines[2]], ":2: not an event of schema 2: recalled.gold"),
        (lambda lines: [lines[0], _with(lines[1], kind="guessed"), lines[2]], ":2: not an event"),
        (lambda lines: [lines[0], lines[1][:40], lines[2]], ":2: not an event"),
        (lambda lines: [lines[0], b"", lines[2]], ":2: not a numbered event"),
        (lambda lines: [lines[0], b"\xff\xfe\x00", lines[2]], ":2: not a numbered event"),
        (lambda lines: [lines[0], lines[2]], ":2: line 3 stands here: lines were removed, added or moved"),
        (lambda lines: [lines[0], lines[1], lines[1], lines[2]], ":3: line 2 stands here"),
        (lambda lines: [lines[0], _with(lines[1], query="another"), lines[2]], ":3: its seal is broken"),
        (lambda lines: [lines[0], lines[1], _with(lines[2], status="failed")], ":3: its seal is broken"),
        (lambda lines: [*lines[:2], re.sub(rb',"troubles".*', b"}", lines[2])], ":3: closes the log, and is not its"),
        (lambda lines: [*lines[:2], lines[2].replace(b"closed", b"settled")], ":3: not an event"),
        (lambda lines: [*lines, lines[2].replace(b'"n":3', b'"n":4')], ":3: not an event of schema 2: closed."),
        (lambda lines: [_with(lines[0], log_schema=1), *lines[1:]], ":1: not an event of schema 2: opened.n"),
        (lambda lines: lines[1:], ":1: not an opening event"),
        (lambda lines: [b"[]"], ":1: not an opening event"),
        (lambda lines: [b"null"], ":1: not an opening event"),
        (lambda lines: [b"not json"], ":1: not an opening event"),
        (lambda lines: [b"[" * 100_000], ":1: not an opening event"),
        (lambda lines: [b"\x89PNG\r", b"\x00" * 50], ":1: not an opening event"),
        (lambda lines: [_with(lines[0], scenario={"blob": "../../../etc/passwd", "bytes": 1})], "scenario.blob"),
        (lambda lines: [_with(lines[0], scenario={"blob": "0" * 64, "bytes": 1})], "is missing below"),
    ],
)  # fmt: skip
def test_a_damaged_log_ends_in_one_line(tmp_path: Path, change: Callable[[Lines], Lines], words: str) -> None:
    log = Tape(tmp_path).probe("tool-before", "a hit").log()
    log.path.write_bytes(b"".join(line + b"\n" for line in change(log.path.read_bytes().splitlines())))
    with pytest.raises(LogError) as caught:
        read(log.path, log.blobs)
    said = str(caught.value)
    assert words in said and str(log.path) in said and len(said.splitlines()) == 1 and len(said) < 600


def test_a_log_that_is_no_file_ends_in_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere.jsonl", tmp_path / ("x" * 300)):
        with pytest.raises(LogError, match="cannot be read: "):
            read(path, Blobs(tmp_path / "blobs"))


def test_a_scenario_blob_with_flipped_bytes_is_one_line(tmp_path: Path) -> None:
    log = Tape(tmp_path).log()
    name = log.opened.scenario.blob
    place = tmp_path / "blobs" / name[:2] / name
    place.write_bytes(place.read_bytes().replace(b"alphadeploy", b"omegadeploy"))
    with pytest.raises(LogError, match="does not hold the bytes that its name promises"):
        read(log.path, log.blobs)


def test_a_log_is_appended_to_and_never_written_twice(tmp_path: Path) -> None:
    path, events = tmp_path / "log.jsonl", Tape(tmp_path).played().events
    before = b""
    with Writer(path) as writer:
        for event in events:
            writer.append(event)
            now = path.read_bytes()
            assert now.startswith(before) and now.count(b"\n") == before.count(b"\n") + 1
            before = now
        with pytest.raises(FileExistsError):
            Writer(path)
    assert path.read_bytes() == before


def test_a_full_disk_is_an_error_and_not_half_an_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, room = os.write, [20, 0]

    def write(file: int, data: bytes) -> int:
        if left := room.pop(0):
            return whole(file, data[:left])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Writer(tmp_path / "log.jsonl") as writer:
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space left"):
            writer.append(Closed(status="complete"))


def test_timings_are_in_no_comparison(tmp_path: Path) -> None:
    slow, fast = (Sought(stage="after", route="get", fact="pin", found=True, took=took) for took in (9.0, 0.1))
    assert canonical([slow]) == canonical([fast])
    assert slow != fast


# --- the golden log --------------------------------------------------------------------------------------------------


def test_the_golden_log_loads_for_ever() -> None:
    """Written by the first version of the log's schema. If this fails, write a migration; never a new golden log."""
    (path,) = sorted((GOLDEN / "logs").glob("*.jsonl"))
    log = read(path, Blobs(GOLDEN / "blobs"))
    assert log.closed == Closed(status="complete") and log.opened.log_schema == 1 <= SCHEMA
    wanted = json.loads((GOLDEN / "events.json").read_text("utf-8"))
    assert canonical(log.events) == canonical(EVENT.validate_json(json.dumps(event)) for event in wanted)
    kinds = {event["kind"] for event in wanted}
    assert kinds >= {
        "opened",
        "began",
        "wrote",
        "recalled",
        "resolved",
        "worked",
        "forgot",
        "sought",
        "scanned",
        "closed",
    }
    for event in log.list_events(Recalled):
        log.find_answer(event)
    for wrote in log.list_events(Wrote):
        log.items(wrote)


def test_every_blob_of_the_golden_log_is_there_and_no_other() -> None:
    names = {path.name for path in (GOLDEN / "blobs").glob("*/*")}
    text = "".join(path.read_text() for path in (GOLDEN / "logs").glob("*.jsonl"))
    assert names and all(f'"{name}"' in text for name in names)
    for name in names:
        Blobs(GOLDEN / "blobs").get(Ref(blob=name, bytes=2**20))
