"""A trial as bytes: what is in it, and what comes out again."""

from __future__ import annotations

from pathlib import Path

from harness.log import parcel
from harness.log.blobs import Blobs
from harness.model.backend import Fault
from tests.support.logs import Tape

KEY = "0" * 64


def test_the_traceback_that_a_reason_names_goes_along(tmp_path: Path) -> None:
    tape = Tape(tmp_path).probe("tool-before", "alphadeploy")
    name = tape.blobs.put(b"Traceback (most recent call last)\n").blob
    fault = Fault(kind="harness", op="play", message=f"OSError: x; its traceback is blobs/{name[:2]}/{name}")
    made = parcel.unpack(KEY, parcel.pack(KEY, tape.log("failed", fault)))
    assert bytes(made.blobs[name]) == b"Traceback (most recent call last)\n"
    other = Blobs(tmp_path / "other")
    made.place(tmp_path / "log.jsonl", other)
    assert other.get(other.find(name)) == b"Traceback (most recent call last)\n"
