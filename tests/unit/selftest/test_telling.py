"""What gives noise away is found, what does not is not, and nothing is learnt from stories that are asked about."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from harness.adapter import Item, Scope, Source
from harness.selftest import cheats, separability
from harness.selftest.cheats import Gain
from harness.selftest.separability import Apart, ItemRow
from harness.selftest.suite import judge

AT = "2025-03-03T09:00:00+01:00"
WORDS = ("batch", "cache", "depot", "gauge", "lane", "order", "pool", "queue", "rule", "sheet")


def told(draw: random.Random, sort: Any, story: str, **more: Any) -> ItemRow:
    text = f"The {' '.join(draw.sample(WORDS, draw.randint(3, 6)))} is {draw.randrange(100, 999)}"
    source = draw.choice((Source(session="s"), Source("c" * 40, "docs/a.md", draw.randrange(1, 9), "s")))
    item = Item(text, Scope("shop", "acme"), AT, draw.choice(("project", "procedural")), source)
    origin = f"story-{draw.randrange(12)}" if sort == "noise" else story
    return ItemRow(sort, story, origin, replace(item, **more), 12, draw.random())


def suite(**noise: Any) -> list[ItemRow]:
    draw = random.Random(1)
    stories = [f"story-{at}" for at in range(12)]
    facts = [told(draw, kind, story) for story in stories for kind in ("fact",) * 15 + ("remark",) * 3]
    return facts + [told(draw, "noise", story, **noise) for story in stories for _ in range(40)]


def found(rows: list[ItemRow], kind: str) -> Apart:
    return next(each for each in separability.measure_separability(rows) if each.kind == kind)


@pytest.mark.slow
def test_what_differs_in_meaning_alone_is_not_told_apart() -> None:
    for each in separability.measure_separability(suite()):
        assert 0.4 < each.area < 0.6 and not each.open


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [{"kind": "episodic"}, {"source": None}, {"confidence": 0.5}, {"expires": AT}, {"at": AT.replace("00+", "07.5+")},
     {"scope": Scope("shop-mobile")}, {"text": "diary: somebody said over lunch that the order is late"}],
)  # fmt: skip
def test_each_thing_that_gives_noise_away_is_found(given: Any) -> None:
    each = found(suite(**given), "noise")
    assert each.area > 0.9 and each.open


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"batch": 40}, {"place": 0.0}])
def test_batch_and_place_in_it_are_looked_at(given: Any) -> None:
    rows = [each._replace(**given) if each.kind == "noise" else each for each in suite()]
    assert found(rows, "noise").open


def test_what_is_asked_about_was_not_learnt_from() -> None:
    rows = suite()
    for train, test in separability._split_folds(rows):
        held = {rows[at].story for at in test}
        assert not held & {name for at in train for name in (rows[at].story, rows[at].origin)}
        assert {rows[at].origin for at in test} <= held


@pytest.mark.slow
def test_it_says_the_same_each_time() -> None:
    assert separability.measure_separability(suite()) == separability.measure_separability(suite())


def test_without_the_classifier_the_proof_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separability, "find_spec", lambda name: None)
    with pytest.raises(separability.MissingError, match=r"pip install .*\[selftest\]'$"):
        separability.require_classifier()


# --- cheats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gain", "pays"), [(0.0, False), (cheats.BOUND, False), (cheats.BOUND + 0.01, True)])
def test_a_cheat_may_gain_as_much_as_is_said(gain: float, pays: bool) -> None:
    assert Gain("no episodic", "recall", gain).pays is pays
    assert list(judge([], None)) == []


def test_a_mined_story_is_played_to_no_cheat_and_counts_in_no_mean() -> None:
    assert [gain.gain for gain in cheats.compute_gains([{}])] == [0.0] * len(cheats.CHEATS)


def test_each_cheat_drops_something_and_keeps_something() -> None:
    draw = random.Random(1)
    items = [told(draw, "fact", "story", kind=kind).item for kind in ("episodic", "project") for _ in range(20)]
    items += [replace(items[0], text="x" * length) for length in (9, 90)]
    batches = [items[:10], items]
    for name, keeps in cheats.CHEATS.items():
        assert {keeps(item, batch) for batch in batches for item in batch} == {True, False}, name
