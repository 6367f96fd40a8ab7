"""Answers as sequences read them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.adapter import Hit, Scope, Source, Verdict, VerdictKind, to_wire
from harness.promises.memory_model import normalise_moment, read_hit


def test_a_hit_is_read_with_all_its_parts() -> None:
    kinds: tuple[VerdictKind, ...] = ("superseded", "unverified")
    for kind in kinds:
        hit = Hit(
            "m1", "a text", 0.5, Source("c1", "a.py", 3), scope=Scope("api"), verdict=Verdict(kind, "m2", "it changed")
        )
        assert read_hit(to_wire(hit)) == hit


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_east")
@pytest.mark.parametrize("at", ["2026-01-01T10:00:00Z", "2026-01-01T12:00:00+02:00", "2026-01-01T10:00:00"])
def test_a_moment_is_the_same_however_it_is_written_and_wherever_it_is_read(at: str) -> None:
    assert normalise_moment(at) == "2026-01-01T10:00:00+00:00"


@pytest.mark.parametrize("at", ["yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_what_is_no_moment_in_utc_stays_as_it_came(at: str) -> None:
    assert normalise_moment(at) == at
