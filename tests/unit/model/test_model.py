"""The nouns: closed, frozen, and named so that a file, a test and an anchor can carry the name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.model.trial import CellKey, Measured, Selection, Spec, Trial, digest, digest_each

BASE: dict[str, Any] = {
    "backend": "bm25", "scenario": "kind/story", "write_policy": "append", "noise": 3, "seed": 1,
    "reader": "scripted", "k": 5, "budget": 800,
}  # fmt: skip


def trial(**changes: Any) -> Trial:
    return Trial.model_validate({**BASE, **changes})


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_an_id_is_a_safe_file_name_whatever_the_backend_is_called(backend: str) -> None:
    made = trial(backend=backend)
    assert re.fullmatch(r"[a-z0-9-]+", made.id) and len(made.id) <= 200
    assert made.id == trial(backend=backend).id


def test_an_id_can_be_read_and_is_no_other_trials() -> None:
    assert re.fullmatch(r"bm25-story-append-n3-s1-[0-9a-f]{8}", trial().id)
    assert trial(backend=None, write_policy=None, noise=0).id.startswith("cold-story-n0-s1-")
    changes: list[dict[str, Any]] = [
        {}, {"backend": "BM25"}, {"backend": "bm25 "}, {"backend": None}, {"scenario": "other/story"}, {"noise": 4},
        {"seed": -1}, {"k": 6}, {"budget": 801}, {"write_policy": "curated"}, {"reader": "chat"},
    ]  # fmt: skip
    assert len({trial(**change).id for change in changes}) == len(changes)


def test_a_very_long_name_still_makes_a_file(tmp_path: Any) -> None:
    made = trial(backend="mem0+" + "x" * 1000)
    (tmp_path / f"{made.id}.1.jsonl").touch()
    assert made.id != trial(backend="mem0+" + "x" * 1001).id


def test_a_cell_is_a_trial_and_how_it_was_read() -> None:
    keys = [CellKey(trial=trial(), arm="warm", read_policy=policy) for policy in ("trusting", "newest", "verifying")]
    cold = CellKey(trial=trial(backend=None), arm="cold")
    assert len({key.id for key in [*keys, cold]}) == 4 and cold.id.endswith("-cold")


@pytest.mark.parametrize(
    "change",
    [{"noise": -1}, {"k": 0}, {"budget": 0}, {"write_policy": "sideways"}, {"gold": 1}, {"seed": "one"}, {"seed": 1.5}],
)
def test_what_is_no_trial_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        trial(**change)


def test_nothing_can_be_changed_afterwards() -> None:
    with pytest.raises(ValidationError):
        trial().seed = 2  # type: ignore[misc]  # what the test is about


def test_a_number_that_is_none_is_refused() -> None:
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValidationError):
            Measured(value=value)


@pytest.mark.slow
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers()))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))
    assert digest({**value, "one more": 1.5}) != digest(value)


def test_the_headline_is_at_the_highest_noise() -> None:
    assert Selection(backends=(Spec(adapter="none"),), noise=(0, 500, 10)).headline_noise == 500


@pytest.mark.nightly
@pytest.mark.slow
@given(st.lists(st.recursive(st.none() | st.text() | st.integers(), lambda each: st.dictionaries(st.text(), each))))
def test_the_digest_of_a_list_needs_no_list(values: list[object]) -> None:
    assert digest_each(iter(values)) == digest(values)
