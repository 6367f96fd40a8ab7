"""Wrong is not lost: another memory in the place of one, on transcripts made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.adapter import Item, Scope
from harness.log.events import Event
from harness.log.transcript import Called, Handled, Op
from harness.metrics.trust import durability, sharing
from harness.model.backend import Fault
from harness.model.drill import DrillName, Piece, Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

NAMES = ("one", "two", "three")
FAULT = Fault(kind="raised", op="recall", message="torn line")


def text(name: str) -> str:
    return f"The pilot roster was split for {name} cw{name}"


PLAN = Plan(
    pieces=tuple(
        Piece(
            name=name,
            role="shared",
            item=Item(text(name), Scope("tidewater"), "2026-02-02T09:00:00+00:00", "project"),
            canary=f"cw{name}",
        )
        for name in NAMES
    )
)


def call(step: str, op: Op, about: Sequence[str], shown: Sequence[tuple[str, str]], *, fault: bool = False) -> Called:
    """Args: shown: Id and the memory whose text stands under it."""
    hits = [{"memory_id": f"id-{name}", "text": text(of)} for name, of in shown]
    return Called(step=step, op=op, about=tuple(about), answer=None if fault else hits, fault=FAULT if fault else None)


def own(step: str, **shown: str) -> list[Event]:
    """Each memory is asked for by its own text; what comes first then, else itself; `-`: nothing."""
    found = {name: shown.get(name, name) for name in NAMES}
    return [call(step, "recall", [name], [(of, of)] if of != "-" else []) for name, of in found.items()]


def wrote(step: str) -> list[Event]:
    return [Called(step=step, op="remember", about=NAMES, answer=[{"ids": [f"id-{name}"]} for name in NAMES])]


def killed(folder: Path, behind: Sequence[Event]) -> Measure:
    opened = Handled(step="begin", what="opened")
    listed = call("before", "entries", (), [(name, name) for name in NAMES])
    events = [opened, *wrote("begin"), listed, *own("before"), Handled(step="kill", what="killed"), opened, *behind]
    return _measure(folder, "durability", events)["wrong_after_kill"]


def _measure(folder: Path, drill: DrillName, events: Sequence[Event]) -> Mapping[str, Measure]:
    metrics = {"durability": durability.METRICS, "sharing": sharing.METRICS}[drill]
    own_folder = folder / str(len(list(folder.iterdir())))
    own_folder.mkdir()
    return measured(metrics, transcript(own_folder, PLAN, list(events), drill=drill))


def test_another_text_under_an_id_is_wrong_in_a_listing_and_in_an_answer(tmp_path: Path) -> None:
    crossed = [("one", "two"), ("two", "one"), ("three", "three")]
    measure = killed(tmp_path, [call("after", "entries", (), crossed), *own("after")])
    assert counts(measure) == (2, 3)
    assert "one stored at L3" in measure.receipts[0]


def test_what_is_only_lost_is_not_wrong(tmp_path: Path) -> None:
    lost = [call("after", "entries", (), [("two", "two"), ("three", "three")]), *own("after", one="two")]
    assert counts(killed(tmp_path, lost)) == (0, 3), "the nearest that is left comes, and comes for its own text, too"


def test_one_that_answers_for_another_and_not_for_itself_is_wrong(tmp_path: Path) -> None:
    assert counts(killed(tmp_path, own("after", one="two", two="-"))) == (1, 3)
    assert counts(killed(tmp_path, own("after", one="two", two="three", three="one"))) == (3, 3)


def test_an_id_that_was_given_twice_stands_for_both(tmp_path: Path) -> None:
    again = Called(step="after", op="remember", about=("two",), answer=[{"ids": ["id-one"]}])
    assert counts(killed(tmp_path, [again, call("after", "entries", (), [("one", "two")])])) == (0, 3)


@pytest.mark.parametrize("op", ["recall", "entries"])
def test_looks_that_all_failed_are_unanswered(tmp_path: Path, op: Op) -> None:
    failed = [call("after", op, [name] if op == "recall" else (), (), fault=True) for name in NAMES]
    assert killed(tmp_path, failed).status == "failed"


def test_agents_are_told_apart_from_what_is_late(tmp_path: Path) -> None:
    def shared(step: str, **shown: str) -> Measure:
        events = [*wrote("first writes"), *own("first writes"), *own(step, **shown)]
        return _measure(tmp_path, "sharing", events)["wrong_between_agents"]

    assert counts(shared("second reads", one="two", two="-")) == (1, 3)
    assert shared("both delete", one="two", two="-").status == "not-applicable", "others write meanwhile"
