"""What a newer release makes of an older one's store, from transcripts made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Item, Scope, Source, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Handled, Op
from harness.metrics.trust.upgrade import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, NotMeasured
from tests.support.drill_player import measured
from tests.support.measures import counts, unanswered, value
from tests.support.transcripts import transcript

HOME = Scope("shop", "acme")
FAULT = Fault(kind="crashed", op="recall", message="no such column")
ROLES = {"one": "kept", "two": "kept", "old": "dropped before", "off": "dropped after", "new": "new", "next": "new"}
FIRST, TAKEN, LEFT = ("one", "two", "old", "off"), ("one", "two", "off"), ("one", "two", "new", "next")


def piece(name: str, role: str) -> Piece:
    item = Item(f"Rule cw{name}", HOME, "2026-01-02T09:00:00Z", "project", Source("c" * 40, f"docs/{name}.md", 1))
    return Piece(name=name, role=role, item=item, canary=f"cw{name}")


PLAN = Plan(pieces=tuple(piece(name, role) for name, role in ROLES.items()))


class Play:
    """One pass after the other; the first event is line 2. Whatever is not named goes well.

    taken, left: what is there when the store is taken over, and in a fresh process after the changes.
    acknowledged: of what is written then; None: nothing is handed over.
    said: the answers to the deletions before and after.
    undated, reworded: the call whose hits come without their date, or with other words around their canary.
    """

    def __init__(self, **upgrade: Any) -> None:
        self.events: list[Event] = []
        self.go("control")
        self.go("upgrade", **upgrade)

    def go(
        self,
        turn: str,
        *,
        taken: Sequence[str] = TAKEN,
        left: Sequence[str] = LEFT,
        acknowledged: Sequence[str] | None = ("new", "next"),
        said: tuple[Sequence[bool], Sequence[bool]] = ([True], [True]),
        undated: str = "",
        reworded: str = "",
        failing: str = "",
    ) -> None:
        self.turn, self.undated, self.reworded, self.failing = turn, undated, reworded, failing
        self.call("written", "remember", FIRST, [{"ids": [f"id-{name}"]} for name in FIRST])
        self.look("written", "recall", ["old"], ["old"])
        self.call("written", "forget", ["old"], said[0])
        self.events.append(Handled(step=f"{turn} taken over", who=turn, what="opened", took=0.5))
        self.looks("taken over", taken)
        if acknowledged is not None:
            acks = [{"ids": [f"id-{name}"] if name in acknowledged else []} for name in ("new", "next")]
            self.call("changed", "remember", ["new", "next"], acks)
        self.call("changed", "forget", ["off"], said[1])
        self.looks("reopened", left)

    def call(self, step: str, op: Op, about: Sequence[str], answer: Any) -> None:
        fault = FAULT if self.failing in (f"{step} {op}", op) else None
        self.events.append(
            Called(
                step=f"{self.turn} {step}", who=self.turn, op=op, about=tuple(about), request={"scope": to_wire(HOME)},
                answer=None if fault else answer, fault=fault, took=0.25,
            )
        )  # fmt: skip

    def look(self, step: str, op: Op, about: Sequence[str], shown: Sequence[str]) -> None:
        self.call(step, op, about, [to_wire(self.hit(op, name)) for name in shown])

    def looks(self, step: str, there: Sequence[str]) -> None:
        """A listing, and a question for each."""
        self.look(step, "entries", list(ROLES), there)
        for name in ROLES:
            self.look(step, "recall", [name], [name] if name in there else [])

    def hit(self, op: Op, name: str) -> Hit:
        item = PLAN.by_name[name].item
        hit = Hit(f"id-{name}", item.text, 0.5, item.source, item.at, item.scope)
        hit = replace(hit, text=f"cw{name} Rule") if op == self.reworded else hit
        return replace(hit, created=None) if op == self.undated else hit

    def line(self, step: str, op: Op, *about: str) -> str:
        lines = (
            f"L{at}"
            for at, event in enumerate(self.events, 2)
            if isinstance(event, Called)
            and (event.step, event.op, event.about) == (f"upgrade {step}", op, about or tuple(ROLES))
        )
        return next(lines)

    def measures(self, folder: Path, lacks: Mapping[str, str] = {}) -> dict[str, Measure]:
        return measured(METRICS, transcript(folder, PLAN, self.events, drill="upgrade", lacks=lacks))


Told = tuple[float | None, int | None, int | None]
SOUND: Mapping[str, Told] = {
    "kept_after_upgrade": (2, 2, None),
    "found_after_upgrade": (2, 2, None),
    "text_kept_after_upgrade": (2, 2, None),
    "source_kept_after_upgrade": (2, 2, None),
    "date_kept_after_upgrade": (2, 2, None),
    "scope_kept_after_upgrade": (2, 2, None),
    "deleted_stays_deleted_after_upgrade": (1, 1, None),
    "written_after_upgrade": (2, 2, None),
    "deleted_after_upgrade": (1, 1, None),
    "silently_wrong_after_upgrade": (0, 16, None),
}


def told(play: Play, folder: Path, lacks: Mapping[str, str] = {}) -> dict[str, Told]:
    found = play.measures(folder, lacks)
    return {name: unanswered(each) for name, each in found.items() if name in SOUND and each.status == "measured"}


def test_a_sound_release_keeps_all(tmp_path: Path) -> None:
    play = Play()
    assert told(play, tmp_path) == SOUND
    assert value(play.measures(tmp_path / "seconds")["upgrade_seconds"]) == 0.75, "the opening and the first look"


@pytest.mark.parametrize(
    ("wrong", "moved"),
    [
        ({"taken": ("one", "off")},
         {"kept_after_upgrade": (1, 2, None), "found_after_upgrade": (1, 2, None),
          **{f"{field}_kept_after_upgrade": (1, 1, None) for field in ("text", "source", "date", "scope")},
          "silently_wrong_after_upgrade": (2, 12, None)}),
        ({"left": ("one", "new", "next")},
         {"kept_after_upgrade": (1, 2, None), "silently_wrong_after_upgrade": (1, 16, None)}),
        ({"undated": "recall"},
         {"date_kept_after_upgrade": (0, 2, None), "silently_wrong_after_upgrade": (2, 16, None)}),
        ({"reworded": "entries"},
         {"text_kept_after_upgrade": (0, 2, None), "silently_wrong_after_upgrade": (2, 16, None)}),
        ({"taken": (*TAKEN, "old")},
         {"deleted_stays_deleted_after_upgrade": (0, 1, None), "silently_wrong_after_upgrade": (1, 16, None)}),
        ({"left": (*LEFT, "off")},
         {"deleted_after_upgrade": (0, 1, None), "silently_wrong_after_upgrade": (1, 16, None)}),
        ({"left": ("one", "two", "new")},
         {"written_after_upgrade": (1, 2, None), "silently_wrong_after_upgrade": (1, 16, None)}),
    ],
)  # fmt: skip
def test_what_is_answered_wrongly_is_wrong_in_silence(
    tmp_path: Path, wrong: Mapping[str, Any], moved: Mapping[str, Told]
) -> None:
    """A date that one of two answers lacks is lost."""
    assert told(Play(**wrong), tmp_path) == {**SOUND, **moved}


@pytest.mark.parametrize(
    ("refused", "moved"),
    [
        ({"acknowledged": ("new",), "left": ("one", "two", "new")}, {"written_after_upgrade": (1, 2, 1)}),
        ({"said": ([True], [True, False])}, {"deleted_after_upgrade": None}),
        ({"said": ([True, False], [True])}, {"deleted_stays_deleted_after_upgrade": None}),
        ({"acknowledged": None, "left": ("one", "two")}, {"written_after_upgrade": None}),
    ],
)
def test_what_was_refused_or_never_handed_over_is_not_wrong_in_silence(
    tmp_path: Path, refused: Mapping[str, Any], moved: Mapping[str, Told | None]
) -> None:
    """Of a deletion of several ids one was refused. None: the measure has failed, as there is no other case."""
    expected = {name: each for name, each in {**SOUND, **moved}.items() if each is not None}
    assert told(Play(**refused), tmp_path) == expected


def test_a_memory_that_was_refused_and_then_taken_is_acknowledged(tmp_path: Path) -> None:
    play = Play(acknowledged=("next",))
    play.call("changed", "remember", ["new"], [{"ids": ["id-new"]}])
    assert told(play, tmp_path) == SOUND


@pytest.mark.parametrize(
    ("lack", "names"),
    [
        ("source", {"source_kept_after_upgrade"}),
        ("created", {"date_kept_after_upgrade"}),
        ("scope_repo", {"scope_kept_after_upgrade"}),
        ("forget", {"deleted_stays_deleted_after_upgrade", "deleted_after_upgrade"}),
    ],
)
def test_what_the_newer_release_does_not_offer_is_unsupported_and_not_wrong(
    tmp_path: Path, lack: str, names: set[str]
) -> None:
    play = Play(taken=("two", "off"))
    found = play.measures(tmp_path, {lack: "never was"})
    refused = {name: each for name, each in found.items() if each.status == "unsupported"}
    assert set(refused) == names
    assert {each.reason for each in refused.values() if isinstance(each, NotMeasured)} == {f"{lack}: never was"}
    silent = "silently_wrong_after_upgrade"
    above = [counts(found[name])[1] or 0 for name in SOUND if name != silent and name not in names]
    assert counts(found[silent])[1] == sum(above), "its cases are theirs"


def test_a_receipt_is_of_the_newer_release_first_what_failed(tmp_path: Path) -> None:
    play = Play(taken=("one", "off"))
    assert play.measures(tmp_path / "wrong")["found_after_upgrade"].receipts == (
        f"{play.line('taken over', 'entries')} two stored at L2",
    )
    play = Play(failing="taken over recall")
    found = play.measures(tmp_path / "failed")
    assert found["found_after_upgrade"].receipts == tuple(
        f"{play.line('taken over', 'recall', name)} {name} stored at L2" for name in ("one", "two")
    )
    assert found["upgrade_seconds"].status == "measured"


SHELF = ("ended", "changed", "kept", "new")
UPKEEP = ("ends_kept_after_upgrade", "history_kept_after_upgrade", "restored_after_upgrade")


def play_upkeep(turn: str, **wrong: Any) -> list[Event]:
    """What a release makes of ends, of an updated memory and of a snapshot. Whatever is not named goes well."""
    shown = {
        "until": ["ended"], "since": [], "taken over": ["changed"], "listed": ["kept"], "brought": [], **wrong,
    }  # fmt: skip
    failing = wrong.get("failing")

    def call(step: str, op: Op, about: Sequence[str], answer: Any) -> Event:
        fault = FAULT if failing == op else None
        request = {"scope": to_wire(HOME)}
        return Called(step=f"{turn} {step}", who=turn, op=op, about=tuple(about), request=request, took=0.1,
                      answer=None if fault else answer, fault=fault)  # fmt: skip

    def hits(names: Sequence[str]) -> list[Any]:
        return [to_wire(Hit(name, f"Rule cw{name}", superseded=name in wrong.get("marked", ()))) for name in names]

    return [
        call("until", "recall", ["ended"], hits(shown["until"])),
        call("since", "recall", ["ended"], hits(shown["since"])),
        call("taken over", "history", ["changed"], [f"Rule cw{name}" for name in shown["taken over"]]),
        call("changed", "remember", ["new"], [{"ids": ["new"]}]),
        call("restored", "restore", [], None),
        call("restored", "entries", ["kept"], hits(shown["listed"])),
        call("restored", "recall", ["new"], hits(shown["brought"])),
    ]


@pytest.mark.parametrize(
    ("wrong", "moved"),
    [
        ({}, {}),
        ({"since": ["ended"]}, {"ends_kept_after_upgrade": (0, 1, None)}),
        ({"since": ["ended"], "marked": ["ended"]}, {}),
        ({"until": []}, {"ends_kept_after_upgrade": (0, 1, None)}),
        ({"taken over": []}, {"history_kept_after_upgrade": (0, 1, None)}),
        ({"listed": []}, {"restored_after_upgrade": (1, 2, None)}),
        ({"brought": ["new"]}, {"restored_after_upgrade": (1, 2, None)}),
    ],
)
def test_what_the_older_release_ended_updated_and_saved_outlasts_the_upgrade(
    tmp_path: Path, wrong: Mapping[str, Any], moved: Mapping[str, Told]
) -> None:
    plan = Plan(pieces=tuple(piece(name, name) for name in SHELF))
    events = [*play_upkeep("control"), *play_upkeep("upgrade", **wrong)]
    found = measured(METRICS, transcript(tmp_path, plan, events, drill="upgrade"))
    sound = {UPKEEP[0]: (1, 1, None), UPKEEP[1]: (1, 1, None), UPKEEP[2]: (2, 2, None)}
    assert {name: unanswered(found[name]) for name in UPKEEP} == {**sound, **moved}
    assert counts(found["silently_wrong_after_upgrade"]) == (len(moved), 4)


@pytest.mark.parametrize(("op", "measure"), [("history", UPKEEP[1]), ("restore", UPKEEP[2])])
def test_what_a_newer_release_refuses_of_the_older_ones_upkeep_is_no_silence(
    tmp_path: Path, op: str, measure: str
) -> None:
    plan = Plan(pieces=tuple(piece(name, name) for name in SHELF))
    events = [*play_upkeep("control"), *play_upkeep("upgrade", failing=op)]
    found = measured(METRICS, transcript(tmp_path, plan, events, drill="upgrade"))
    assert found[measure].status == "failed"
    assert counts(found["silently_wrong_after_upgrade"]) == (0, 4)


@pytest.mark.parametrize("wrong", [{"since": ["ended"]}, {"taken over": []}, {"listed": [], "brought": ["new"]}])
def test_what_the_older_release_got_wrong_itself_is_no_case(tmp_path: Path, wrong: Mapping[str, Any]) -> None:
    plan = Plan(pieces=tuple(piece(name, name) for name in SHELF))
    events = [*play_upkeep("control", **wrong), *play_upkeep("upgrade", **wrong)]
    found = measured(METRICS, transcript(tmp_path, plan, events, drill="upgrade"))
    assert sum(isinstance(found[name], NotMeasured) for name in UPKEEP) == 1
