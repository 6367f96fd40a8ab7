"""What is changed or deleted more than once, told by hand-made transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.adapter import to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Transcript
from harness.metrics.trust import deprecating, repeating, revising
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measured, NotMeasured
from harness.play.drills import deprecating as marking
from harness.play.drills import revising as drill
from tests.support.measures import counts
from tests.support.transcripts import transcript

PLAN = Plan(pieces=tuple(drill.plan(1)))
FAULT = Fault(kind="raised", op="update", message="no more")
SCOPE = to_wire(drill.SCOPE)


def read(folder: Path, events: Sequence[Event], plan: Plan = PLAN, lacks: Sequence[str] = ()) -> Transcript:
    return transcript(folder, plan, events, drill="keeping", lacks=dict.fromkeys(lacks, "not offered"))


def change(chain: str, *, refuses: str = "", fails: str = "") -> Iterator[Event]:
    """Under one id; an answer without ids, or a failure, at the piece of this name."""
    first, *later = PLAN.of(f"chain {chain}")
    yield Called(step="chained", op="remember", about=(first.name,), answer=[{"ids": [chain]}])
    for piece, (op, _) in zip(later, drill.CHAINS[chain], strict=True):
        failed = piece.name == fails
        ids = {"ids": [] if piece.name == refuses else [chain]}
        fault = FAULT if failed else None
        yield Called(step="chained", op=op, about=(piece.name,), answer=None if failed else ids, fault=fault)


def ask(chain: str, *shown: Piece, step: str = "chained", about: Piece | None = None, old: bool = False) -> Event:
    pieces = list(PLAN.of(f"chain {chain}"))
    request = {"query": (about or pieces[-1]).item.text, "scope": SCOPE}
    hits = [{"memory_id": chain, "text": each.item.text, "superseded": old} for each in shown]
    return Called(step=step, op="recall", about=tuple(p.name for p in pieces), request=request, answer=hits)


def ask_all(chain: str, shown: Piece) -> list[Event]:
    """By every text that it ever had."""
    return [ask(chain, shown, about=piece) for piece in PLAN.of(f"chain {chain}")]


@pytest.mark.parametrize("chain", drill.CHAINS)
def test_the_last_text_is_served_and_no_earlier_one(tmp_path: Path, chain: str) -> None:
    *earlier, last = PLAN.of(f"chain {chain}")
    stale = next(piece for piece in earlier if piece.item.text != last.item.text)

    def count(name: str, *events: Event) -> tuple[float | None, int | None]:
        events = (*(each for each in ask_all(chain, last) if name != "none"), *events)
        return counts(revising.last_text_served(read(tmp_path / name, [*change(chain), *events])))

    assert count("served", ask(chain, last), ask(chain, about=stale)) == (1, 1)
    assert count("both", ask(chain, last, stale)) == (0, 1)
    assert count("other", ask(chain, last), ask(chain, stale, about=stale)) == (0, 1)
    assert count("none", ask(chain)) == (0, 1)
    assert count("later", ask(chain, last), ask(chain, stale, step="chained later")) == (1, 2)
    assert count("superseded", ask(chain, last), ask(chain, stale, about=stale, old=True)) == (1, 1)


def test_a_change_that_was_refused_without_a_word_was_not_made(tmp_path: Path) -> None:
    first, then, last = PLAN.of("chain again")
    refused = [*change("again", refuses=last.name), ask("again", then)]
    assert counts(revising.last_text_served(read(tmp_path / "refused", refused))) == (0, 1)
    failed = [*change("again", fails=last.name), ask("again", then)]
    assert revising.last_text_served(read(tmp_path / "failed", failed)).status == "not-applicable"
    assert first.item.text != then.item.text


def test_who_changes_nothing_is_not_asked_and_an_older_log_says_so(tmp_path: Path) -> None:
    nothing = read(tmp_path / "nothing", [], lacks=("update", "supersede"))
    assert revising.last_text_served(nothing).status == "unsupported"
    heirs = [*change("heirs"), *ask_all("heirs", PLAN.by_name["heirs-2"])]
    some = read(tmp_path / "some", heirs, lacks=("update",))
    assert counts(revising.last_text_served(some)) == (1, 1)
    older = revising.last_text_served(read(tmp_path / "older", [], Plan(pieces=())))
    assert older == NotMeasured(status="not-applicable", reason="no text was changed")


def test_a_text_that_was_not_asked_for_leaves_it_open(tmp_path: Path) -> None:
    asked = [*change("heirs"), *ask_all("heirs", PLAN.by_name["heirs-2"])]
    whole, cut = (revising.last_text_served(read(tmp_path / str(end), asked[:end])) for end in (None, -1))
    assert (whole.status, cut.status) == ("measured", "failed")


def look(step: str, name: str, *shown: str) -> Event:
    piece = PLAN.by_name[name]
    hits = [{"memory_id": f"id-{each}", "text": PLAN.by_name[each].item.text} for each in shown]
    request = {"query": piece.item.text, "scope": to_wire(piece.item.scope)}
    return Called(step=step, op="recall", about=(name,), request=request, answer=hits)


def store_again(way: str, *, refused: bool = False, left: bool = False, kept: bool = False) -> Iterator[Event]:
    """Stored, deleted, stored again, and deleted again."""
    first, old = f"gone-{way}-1", f"gone-{way}-2"
    again, new = f"anew-{way}-1", f"anew-{way}-2"
    for step, names in (("stored", (first, old)), ("stored anew", (again, new))):
        ids = [{"ids": [f"id-{name}"]} for name in names]
        yield Called(step=step, op="remember", about=names, answer=ids)
        for name in names:
            yield look(step, name, *(() if refused and name == again else (name,)))
        if step == "stored anew":
            yield look(step, old, *((old,) if left else ()))
        done = [True, True] if way == "forget" else None
        yield Called(step=step, op=way, about=names, answer=done)
        for name in (first, old, again, new) if step == "stored" else (again, new, old):
            yield look(f"{step} since", name, *((name,) if kept and name == new and step != "stored" else ()))


@pytest.mark.parametrize("way", drill.WAYS)
@pytest.mark.parametrize(
    ("wrong", "found", "gone"),
    [({}, (2, 2), (4, 4)), ({"refused": True}, (1, 2), (3, 3)), ({"left": True}, (2, 2), (3, 4)),
     ({"kept": True}, (2, 2), (3, 4))],
)  # fmt: skip
def test_what_was_deleted_can_be_stored_and_deleted_again(
    tmp_path: Path, way: str, wrong: dict[str, bool], found: tuple[int, int], gone: tuple[int, int]
) -> None:
    played = read(tmp_path, [*store_again(way, **wrong)])
    assert counts(repeating.found_after_a_miss(played)) == found
    assert counts(repeating.changed_after_a_hit(played)) == gone


@pytest.mark.parametrize("chain", ["again", "back"])
def test_every_text_of_a_memory_goes_with_it(tmp_path: Path, chain: str) -> None:
    pieces = list(PLAN.of(f"chain {chain}"))
    gone = Called(step="chained gone", op="forget", about=tuple(each.name for each in pieces), answer=[True])
    clean = [*change(chain), gone, ask(chain, step="chained gone")]
    assert counts(repeating.changed_after_a_hit(read(tmp_path / "clean", clean))) == (3, 3)
    left = [*clean, ask(chain, pieces[1], step="chained gone", about=pieces[1])]
    assert counts(repeating.changed_after_a_hit(read(tmp_path / "left", left))) == (2, 3)


MARKS = Plan(pieces=tuple(marking.plan(1)))


@pytest.mark.parametrize(
    ("shown", "recalled", "lost"), [({}, 0, 0), ({"marked again since"}, 1, 0), ({"unmarked again"}, 0, 1)]
)
def test_a_mark_and_an_update_count_the_second_time_too(
    tmp_path: Path, shown: set[str], recalled: int, lost: int
) -> None:
    """Of `shown`, one comes that should be away, or is away that should come."""

    def look(step: str, name: str, comes: bool) -> Event:
        piece = MARKS.by_name[name]
        hits = [{"memory_id": "id", "text": piece.item.text}] if comes != (step in shown) else []
        request = {"query": piece.item.text, "scope": to_wire(piece.item.scope)}
        return Called(step=step, op="recall", about=(name,), request=request, answer=hits)

    events: list[Event] = [
        Called(step="former", op="remember", about=("marked-7",), answer=[{"ids": ["id"]}]),
        Called(step="marked", op="deprecate", about=("marked-7",), answer=[True]),
        Called(step="unmarked", op="update", about=("again",), answer={"ids": ["id"]}),
        look("unmarked", "again", True),
        Called(step="marked again", op="deprecate", about=("again",), answer=[True]),
        look("marked again since", "again", False),
        look("marked again until", "again", True),
        Called(step="unmarked again", op="update", about=("once again",), answer={"ids": ["id"]}),
        look("unmarked again", "once again", True),
    ]
    played = read(tmp_path, events, MARKS)
    assert counts(deprecating.deprecated_recalled(played)) == (recalled, 1)
    assert counts(deprecating.deprecated_lost(played)) == (lost, 3)
    assert isinstance(deprecating.deprecated_lost(played), Measured)
