"""No measure of a drill takes a look that failed for a good one.

A look that could have convicted must not acquit by failing: where another answer to some looks would have made a
measure worse, the same looks failed never leave it as good as it was, of as many cases, all answered. Nor do they if
half of them are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.adapter import to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Looked, Transcript
from harness.metrics import trust
from harness.model.backend import Fault
from harness.model.trial import Measure, Measured
from harness.play.drills import keeping, rollback
from tests.support import golden_drills
from tests.support.drill_player import drilled

LOOKS = ("entries", "recall", "get", "history")
HALF = "half of the looks"
SHOWN = 100
"""Hits of an answer that shows too much."""
SPEAKING = {
    "silently_unfound_with_another_embedder": "it counts what is not said: a call that fails says it",
    "silently_unfound_with_shorter_vectors": "it counts what is not said: a call that fails says it",
}
UNSEEN = {"empty_name_forgets_others": "it counts deletions, by the places around that were looked at"}
LARGE = {"deletion", "isolation", "keeping"}
Change = Callable[[Event], Event | None]


@cache
def golden() -> dict[str, Transcript]:
    """Drills of a sound store."""
    found = (each for file in golden_drills.packed() for each in golden_drills.transcripts(file))
    sound = (each for each in found if each.trial.backend == "reference" and each.status == "complete")
    return {each.trial.drill: each for each in sound if each.trial.drill != "promises"}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Transcript]:
    """What has grown since the golden ones were played."""
    drills = (keeping.DRILL, rollback.DRILL)
    folders = {each.name: tmp_path_factory.mktemp(each.name) for each in drills}
    return {each.name: drilled(folders[each.name], each, "adapters.reference:Reference", each.least) for each in drills}


@pytest.mark.parametrize(
    "drill", [pytest.param(each, marks=pytest.mark.slow if each in LARGE else ()) for each in sorted(golden())]
)
def test_a_look_that_could_convict_does_not_acquit_by_failing(drill: str) -> None:
    assert list(acquitted(golden()[drill])) == []


@pytest.mark.slow
@pytest.mark.parametrize("drill", ["keeping", "rollback"])
def test_nor_does_one_of_what_is_asked_again(played: dict[str, Transcript], drill: str) -> None:
    assert list(acquitted(played[drill])) == []


@pytest.mark.slow
def test_a_measure_that_believes_a_failing_look_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that counts hits only: an answer that failed has none."""
    found, whole = golden()["detour"], next(each for each in trust.METRICS if each.drill == "detour")

    def believe(transcript: Transcript) -> Measure:
        calls = [call for _, call in transcript.calls("recall")]
        wrong = sum(len(transcript.hits(call)) > 20 for call in calls)
        return Measured(value=wrong / len(calls), hits=wrong, of=len(calls))

    lower = whole.definition.model_copy(update={"better": "lower"})
    trusting = replace(whole, measure=believe, definition=lower)
    monkeypatch.setattr(trust, "METRICS", (trusting,))
    monkeypatch.setattr(trust, "DEFINITIONS", {lower.name: lower})
    assert list(acquitted(found))


def acquitted(found: Transcript) -> Iterator[str]:
    """Measures that say as well of looks that failed as of good ones, though the looks could tell."""
    sound = score(found)
    everything = [
        to_wire(hit) for op in ("entries", "recall") for _, call in found.calls(op) for hit in found.hits(call)
    ]
    shown, texts = everything[:: max(1, len(everything) // SHOWN)], [piece.item.text for piece in found.plan.pieces]
    for name, lines in choices(found):

        def silent(call: Called) -> Any:
            return None if call.op == "get" else []

        def talkative(call: Called) -> Any:
            return shown[0] if call.op == "get" and shown else texts if call.op == "history" else shown

        told = [score(changed(found, lines, answered(each))) for each in (silent, talkative)]
        ways: dict[str, tuple[Change, Collection[str]]] = {"failed": (fail, SPEAKING)}
        if name == HALF:  # of what is never called at all, nothing was promised
            ways["missing"] = (drop, UNSEEN)
        for how, (change, spared) in ways.items():
            now = score(changed(found, lines, change))
            for measure, was in sound.items():
                convicts = any(is_worse(measure, was, each[measure]) for each in told)
                if measure not in spared and convicts and is_as_good(measure, was, now[measure]):
                    yield f"{measure}: {name} {how}"


def choices(found: Transcript) -> Iterator[tuple[str, Collection[int]]]:
    """By chance half of all looks, and all of one operation."""
    looks = [line for line, event in enumerate(found.events) if isinstance(event, Called) and event.op in LOOKS]
    draw = Random(found.trial.drill)
    yield HALF, {line for line in looks if draw.random() < 0.5}
    for op in LOOKS:
        if lines := {line for line in looks if getattr(found.events[line], "op", "") == op}:
            yield f"each {op}", lines


def changed(found: Transcript, lines: Collection[int], change: Change) -> Transcript:
    events = [change(event) if line in lines else event for line, event in enumerate(found.events)]
    return replace(found, events=tuple(each for each in events if each is not None), _hits={})


def answered(answer: Callable[[Called], Any]) -> Change:
    def other(event: Event) -> Event:
        assert isinstance(event, Called)
        return event.model_copy(update={"answer": answer(event)})

    return other


def fail(event: Event) -> Event:
    fault = Fault(kind="raised", op=getattr(event, "op", "look"), message="no more")
    return event.model_copy(update={"fault": fault, "answer": None})


def drop(event: Event) -> None:
    """Nothing is there any more."""


def score(found: Transcript) -> dict[str, Measure]:
    return dict(trust.score([found])[0].measures)


def is_worse(name: str, was: Measure, now: Measure) -> bool:
    """Than it was, in the direction of the measure; only proportions are compared."""
    definition = trust.DEFINITIONS[name]
    if definition.unit != "proportion" or definition.better == "neither":
        return False
    if not isinstance(was, Measured) or not isinstance(now, Measured):
        return False
    return now.value < was.value if definition.better == "higher" else now.value > was.value


def is_as_good(name: str, was: Measure, now: Measure) -> bool:
    """As good or better, of as many cases, all of them answered."""
    if not isinstance(was, Measured) or not isinstance(now, Measured) or is_worse(name, was, now):
        return False
    return is_worse(name, now, was) or (not now.unanswered and (now.of or 0) >= (was.of or 0))


@pytest.mark.slow
def test_bytes_that_cannot_be_read_are_not_taken_for_gone() -> None:
    """Half of the looks at the disk found a file that could not be read, and nothing else."""
    found = golden()["deletion"]
    looks = [line for line, event in enumerate(found.events) if isinstance(event, Looked)]
    for seed in range(6):
        lines = {line for line in looks if Random(f"{seed} {line}").random() < 0.5}
        blind = changed(found, lines, lambda event: event.model_copy(update={"problem": "no right", "sightings": ()}))
        kept, now = score(found), score(blind)
        for name in (name for name in kept if "_gone_after_" in name and name.split("_")[0] in ("text", "vector")):
            step = {"closing": "closed", "churn": "churned", "compaction": "compacted", "kill": "killed"}
            unread = {getattr(found.events[line], "step", "") for line in lines} & {
                "before",
                step[name.rsplit("_")[-1]],
            }
            assert not unread or not is_as_good(name, kept[name], now[name]), (name, seed)
