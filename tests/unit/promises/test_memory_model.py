"""Answers as sequences read them."""

from __future__ import annotations

from harness.adapter import Hit, Scope, Source, Verdict, VerdictKind, to_wire
from harness.promises.memory_model import read_hit


def test_a_hit_is_read_with_all_its_parts() -> None:
    kinds: tuple[VerdictKind, ...] = ("superseded", "unverified")
    for kind in kinds:
        hit = Hit(
            "m1", "a text", 0.5, Source("c1", "a.py", 3), scope=Scope("api"), verdict=Verdict(kind, "m2", "it changed")
        )
        assert read_hit(to_wire(hit)) == hit
