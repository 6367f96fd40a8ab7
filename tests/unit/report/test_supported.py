"""Which ways of working a backend supports, as the page says it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from harness.adapter import CAPABILITIES
from harness.model.backend import Backend, Declared
from harness.model.results import Row
from harness.model.trial import Clock
from harness.report.model.sections import SUPPORT_HEADS, list_supported

ALL = dict.fromkeys((each for each in CAPABILITIES if each != "extracts"), Declared(level="native"))


def tell(clock: Clock = "wall", /, **lacks: Declared) -> Mapping[str, tuple[str, str]]:
    """Way -> how far, and why, of a backend that has all but this."""
    backend = Backend(name="store", version="1", support={**ALL, **lacks})
    row = Row(backend=backend, clock=clock, control=False, measures={})
    control = row.model_copy(update={"control": True})
    results: Any = SimpleNamespace(backends={"store": row, "oracle": control})
    ((_, found),) = list_supported(results)
    return {head: (each.level, each.why) for head, each in zip(SUPPORT_HEADS, found, strict=True)}


def lacking(why: str) -> Declared:
    return Declared(level="unsupported", note=why)


def test_each_way_goes_as_far_as_the_least_that_it_takes() -> None:
    assert {level for level, _ in tell().values()} == {"native"}
    told = tell(supersede=Declared(level="emulated", note="delete and add"), deprecate=lacking("no filter"))
    assert told["look up"] == ("emulated", "supersede: delete and add")
    assert told["mark as ended"] == told["mark, follow commits"] == ("unsupported", "deprecate: no filter")
    assert told["follow commits"] == ("emulated", "supersede: delete and add")


def test_a_lifetime_of_its_own_is_native_and_else_the_agent_deletes() -> None:
    assert tell()["expire"][0] == "native" and "wall clock" in tell()["expire"][1]
    assert tell(expiry=lacking("no dates"))["expire"] == (
        "emulated",
        "the agent deletes; of its own lifetime: no dates",
    )
    assert tell(forget=lacking("it keeps all"))["expire"] == ("unsupported", "forget: it keeps all")


def test_a_lifetime_by_the_clock_of_the_story_is_told_at_the_write_so_that_no_update_is_needed() -> None:
    level, why = tell("story", update=lacking("nothing changes"))["expire"]
    assert level == "native" and "clock of the story" in why
    assert tell(update=lacking("nothing changes"))["expire"][0] == "emulated"


def test_a_filter_says_what_it_lacks() -> None:
    assert tell(filter_confidence=lacking("equality only"))["filtered"] == ("native", "confidence: equality only")
    kind = Declared(level="emulated", note="one search a kind")
    assert tell(filter_kind=kind)["filtered"] == ("emulated", "kind: one search a kind")
    none = dict.fromkeys(("filter_kind", "filter_path", "filter_confidence"), lacking("a whole file"))
    assert tell("wall", **none)["filtered"] == ("unsupported", "a whole file")
