"""The words of a measure live with it: those who compare, judge and report ask for them and name no measure."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from harness import metrics
from harness.machine.modules import find_defining
from harness.metrics import trust
from harness.metrics.words import WORDLESS
from harness.model.trial import Selection
from harness.play import drills, plan

HARNESS = Path(metrics.__file__).parents[1]
ROOMS = ("report", "compare", "regress", "cli")
ALLOWED = {
    ("report/charts/cost.py", "recall"), ("report/charts/growth.py", "recall"),
    ("report/model/evidence.py", "recall"), ("report/model/contrasts.py", "recall"),
    ("cli/demo.py", "deletion"), ("report/words.py", "poison"), ("report/model/needs.py", "deletion"),
    ("report/model/needs.py", "sharing"), ("report/model/needs.py", "poison"), ("cli/doctor.py", "embedder"),
}  # fmt: skip
"""Where the same word is what a backend is asked to do, a part of the program or a question; what a command plays."""


def literals(source: str, names: Collection[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            yield node.value


def test_a_literal_is_found_wherever_it_stands() -> None:
    source = "a = {'recall': ('help',)}[f(x='net')]  # harm"
    assert {*literals(source, metrics.DEFINITIONS)} == {"recall", "help", "net"}


@pytest.mark.parametrize("room", ROOMS)
def test_no_measure_or_drill_is_named_where_they_are_shown_compared_or_judged(room: str) -> None:
    """A view that is about one of them imports its name from where it is defined."""
    names = {*metrics.DEFINITIONS, *trust.DEFINITIONS, *trust.DRILLS}
    files = sorted((HARNESS / room).rglob("*.py"))
    found = {
        (file.relative_to(HARNESS).as_posix(), name)
        for file in files
        for name in literals(file.read_text("utf-8"), names)
    }
    assert files and found <= ALLOWED


def test_a_measure_that_is_no_more_has_no_words_and_stands_with_the_others() -> None:
    assert metrics.words_of("gone_since") == WORDLESS


def test_each_list_has_its_order_and_no_two_measures_at_one_place() -> None:
    for places in (
        [each.between.place for each in metrics.WORDS.values() if each.between],
        [each.case.place for each in metrics.WORDS.values() if each.case],
        [each.contrasted for each in metrics.WORDS.values() if each.contrasted is not None],
        [each.decisive for each in metrics.WORDS.values() if each.decisive is not None],
        [each.progress.place for each in metrics.WORDS.values() if each.progress],
    ):
        assert places and len(places) == len(set(places))


def test_a_topic_is_answered_by_one_measure() -> None:
    shown = [each.topic for each in metrics.WORDS.values() if each.answers]
    assert shown and len(shown) == len(set(shown))


def test_what_is_said_of_a_side_has_a_place_for_more_or_fewer() -> None:
    assert all(each.did.count("{}") == 1 for each in metrics.WORDS.values() if each.did)


# --- drills -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_drill_that_is_played_has_measures_and_words_in_the_same_order() -> None:
    assert tuple(drills.ALL) == tuple(trust.DRILLS)
    assert {metric.drill for metric in trust.METRICS} == set(trust.DRILLS)


def test_every_measure_of_a_module_beside_the_drills_is_one_of_a_drill() -> None:
    """A drill's measures may stand in several modules: the one with its words names the others."""
    made = [each for module in find_defining("METRICS", trust.__name__, trust.__path__) for each in module.METRICS]
    assert {each.definition.name for each in made} == set(trust.DEFINITIONS)


def test_a_drill_that_is_not_there_is_named_with_those_that_are() -> None:
    assert drills.choose_drills(["sharing", "keeping"]) == ("keeping", "sharing")
    assert drills.choose_drills(["all"]) == tuple(drills.ALL) and drills.choose_drills([]) == ()
    with pytest.raises(drills.DrillError, match=r"^flood is not one of keeping, .*, all$"):
        plan.list_drills(Selection(backends=(), drills=("flood",)), ["x"])
