"""What readers call measures: words, and never the name of a file."""

from __future__ import annotations

import re

from harness import metrics
from harness.metrics import trust
from harness.metrics.called import CALLED
from harness.report import words

NAMES = {*metrics.DEFINITIONS, *trust.DEFINITIONS}


def test_whoever_is_called_something_is_a_measure() -> None:
    assert not CALLED.keys() - NAMES


def test_a_measure_is_called_by_words_that_fit_a_table() -> None:
    odd = {name for name in NAMES if not re.fullmatch(r"[a-zA-Z][\w ,:()-]{2,50}", words.label(name))}
    assert not {name for name in odd | NAMES if "_" in words.label(name)} | odd


def test_two_measures_of_one_table_are_not_called_the_same() -> None:
    tables = [list(metrics.DEFINITIONS)]
    tables += [[each.definition.name for each in trust.METRICS if each.drill == drill] for drill in trust.DRILLS]
    for names in tables:
        assert len({words.label(name) for name in names}) == len(names)
