"""What readers call measures, and where these stand on the scoreboard: beside the formula, and never forgotten."""

from __future__ import annotations

import re
from typing import Any

import pytest

from harness import metrics
from harness.metrics import trust
from harness.metrics.columns import COLUMNS, KEPT, Column
from harness.metrics.metric import define
from harness.model.trial import Definition

ALL = {**metrics.DEFINITIONS, **trust.DEFINITIONS}
IN_ORDER = [each for each in ALL.values() if each.column and COLUMNS[each.column].order]


def defined(**more: Any) -> Definition:
    told: dict[str, Any] = {"label": "", "otherwise": "", "column": None, "aside": "", **more}
    return define("any_one", told.pop("better", "lower"), "proportion", "A / B", "own", 1, **told)


def test_a_label_fits_a_table_and_a_sentence() -> None:
    phrases = [phrase for each in ALL.values() for phrase in (each.label, each.otherwise) if phrase]
    assert [each.name for each in ALL.values() if not each.label] == []
    assert [
        phrase for phrase in phrases if not re.fullmatch(r"[a-z\d][\w ,:()'-]{2,80}", phrase) or "_" in phrase
    ] == []


def test_two_measures_of_one_table_are_not_called_the_same() -> None:
    tables = [list(metrics.DEFINITIONS)]
    tables += [[each.definition.name for each in trust.METRICS if each.drill == drill] for drill in trust.DRILLS]
    for names in tables:
        assert len({ALL[name].label for name in names}) == len(names)


def test_what_is_counted_the_other_way_round_has_words_for_it() -> None:
    """A column counts in its own direction, and a sentence names what went wrong."""
    turned = [each for each in IN_ORDER if each.better != COLUMNS[each.column or ""].better or each.better == "higher"]
    assert turned and [each.name for each in turned if not each.otherwise and each.unit == "proportion"] == []


def test_a_measure_is_called_in_the_direction_that_is_counted() -> None:
    kept = ALL["writes_kept"]
    assert (kept.call("higher"), kept.call("lower")) == ("acknowledged writes kept", "acknowledged writes lost")
    assert defined(column=KEPT.at("lost")).call("lower") == "any one"


@pytest.mark.parametrize("column", COLUMNS.values(), ids=lambda each: each.id)
def test_a_column_is_led_by_its_own_measures_and_every_step_of_its_order_has_one(column: Column) -> None:
    assert {ALL[name].column for name in column.leads} == {column.id}
    steps = {each.gravity for each in ALL.values() if each.column == column.id}
    assert steps == set(range(max(1, len(column.order))))


def test_a_measure_with_a_direction_is_in_a_column_or_says_why_it_is_in_none() -> None:
    for wrong in ({}, {"column": KEPT.at("lost"), "aside": "a reason"}):
        with pytest.raises(ValueError, match="any_one"):
            defined(**wrong)
    assert defined(aside="a reason").column is None and defined(better="neither").gravity is None
    assert defined(column=KEPT.at("lost")).gravity == 1
    with pytest.raises(ValueError, match="heavy"):
        KEPT.at("heavy")


def test_results_of_before_the_columns_still_load() -> None:
    old = {**ALL["writes_kept"].model_dump(exclude={"label", "otherwise", "column", "gravity"}), "family": "kept"}
    read = Definition.model_validate(old)
    assert (read.column, read.gravity, read.call("higher")) == (None, None, "writes kept")
