"""A headline's word covers a family of measures and shows the worst, by name; no measure is forgotten."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from harness.report.worst import MARK
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness import metrics
from harness.metrics import trust
from harness.metrics.columns import Column
from harness.model.results import Results
from harness.model.trial import Definition
from harness.report import findings, headline, words
from harness.report.model import rows as tables
from harness.report.outputs import page as html
from harness.report.outputs import summary as markdown
from harness.report.outputs import terminal as console
from tests.support.made_results import Said, results

ALL = {**metrics.DEFINITIONS, **trust.DEFINITIONS}
HEADS = {column.id: column for column in headline.COLUMNS}
MEMBERS = [
    (column, name)
    for column in headline.COLUMNS
    for name, each in trust.DEFINITIONS.items()
    if each.column == column.id
]
LEADS = {column.measure for column in tables.COLUMNS} | {question.measure for question in findings.QUESTIONS}
TOLD = [
    (lead, name)
    for lead in sorted(LEADS)
    for name, each in metrics.DEFINITIONS.items()
    if metrics.DEFINITIONS[lead].column in tables.MARKED and each.column == metrics.DEFINITIONS[lead].column
]
BACK = {"x": {"recall": [(20, 20)]}}


def good(definition: Definition) -> tuple[int, int]:
    return (20 if definition.better == "higher" else 0, 20)


def bad(definition: Definition) -> tuple[int, int]:
    return (19 if definition.better == "higher" else 1, 20)


def drilled(changed: Mapping[str, Said], rows: Mapping[str, Mapping[str, list[Said]]] | None = None) -> Results:
    """A backend that is as good as it can be, but for what is changed."""
    sound = {name: good(each) for name, each in trust.DEFINITIONS.items() if each.column}
    return results(rows or BACK, {"x": {**sound, **changed}})


def show_all(made: Results) -> dict[str, headline.HeadlineFigure]:
    """Family -> the figure under its headline."""
    columns, ((_, figures),) = headline.table(made)
    return {column.id: figure for column, figure in zip(columns, figures, strict=True)}


def shown(made: Results, column: Column) -> headline.HeadlineFigure:
    return show_all(made)[column.id]


def named(figure: headline.HeadlineFigure, column: Column, name: str) -> bool:
    """By its name, unless the head covers nothing else."""
    alone = [member for each, member in MEMBERS if each == column] == [name]
    return figure.measure == name and (alone or figure.name.startswith(name))


def outputs(made: Results) -> list[str]:
    out = Console(file=io.StringIO(), width=80, markup=False, highlight=False, emoji=False)
    console.show(made, out)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    return [" ".join(text.split()), markdown.summary(made), html.page(made)]


# --- membership ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, each in ALL.items() if each.column])
def test_what_is_in_a_family_has_a_worst_or_is_its_lead(name: str) -> None:
    """Else its badness could not be told from that of the others."""
    assert ALL[name].unit == "proportion" or name in LEADS


# --- the worst is shown -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("column", "name"), MEMBERS, ids=[name for _, name in MEMBERS])
def test_a_store_that_is_bad_in_one_member_only_is_marked_under_its_headline(column: Column, name: str) -> None:
    figures = show_all(drilled({name: bad(trust.DEFINITIONS[name])}))
    figure = figures.pop(column.id)
    assert figure.fault and figure.measured and named(figure, column, name)
    lead = trust.DEFINITIONS[headline.lead(column)]
    assert figure.text == ("19/20" if lead.better == "higher" else "1/20")  # a column counts in one direction
    assert not [other for other in figures.values() if other.fault or other.name]


@pytest.mark.parametrize("word", ["failed", "not-run"])
@pytest.mark.parametrize(("column", "name"), MEMBERS, ids=[name for _, name in MEMBERS])
def test_what_failed_or_was_not_run_stands_before_what_is_good(column: Column, name: str, word: str) -> None:
    figure = shown(drilled({name: word}), column)
    assert (figure.text, figure.measured, figure.fault) == (word.replace("-", " "), False, False)
    assert named(figure, column, name) and figure.why


@pytest.mark.slow
@given(st.data())
def test_of_several_bad_ones_the_worst_is_shown_and_none_hides_behind_it(data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(headline.COLUMNS))
    family = [name for each, name in MEMBERS if each == column]
    failures = {name: data.draw(st.integers(0, 20)) for name in family}
    lost = data.draw(st.sets(st.sampled_from(family), max_size=2))
    said: dict[str, Said] = {
        name: "failed" if name in lost else (20 - n if trust.DEFINITIONS[name].better == "higher" else n, 20)
        for name, n in failures.items()
    }
    figure = shown(drilled(said), column)
    worst = max((n for name, n in failures.items() if name not in lost), default=0)
    if worst:
        assert figure.fault and failures[figure.measure] == worst and figure.measure not in lost
        assert (len(lost) > 0) == bool(figure.lacking)
    elif lost:
        assert figure.measure in lost and not figure.measured
    else:
        assert (figure.fault, figure.measure, figure.name) == (False, headline.lead(column), "")


@pytest.mark.parametrize("word", ["unsupported", "not-applicable"])
@pytest.mark.parametrize("column", headline.COLUMNS, ids=lambda column: column.id)
def test_no_other_measure_makes_a_lead_that_was_not_measured_look_good(column: Column, word: str) -> None:
    figure = shown(drilled({headline.lead(column): word}), column)
    assert not figure.measured and figure.text in ("unsupported", "n/a")


def test_a_drill_that_was_not_played_is_no_good_column() -> None:
    made = results(BACK, {"x": {"left_after_undo": (0, 20)}})
    assert headline.table(made)[0] == ()
    assert shown(results(BACK, {"x": {"left_after_undo": (3, 20)}}), HEADS["deleted"]).fault


def test_every_output_marks_and_names_the_worst() -> None:
    story: dict[str, list[Said]] = {
        name: [good(each) if each.unit == "proportion" else 1.0] for name, each in metrics.DEFINITIONS.items()
    }
    changed: dict[str, Said] = {
        "leaks_by_case": (3, 20), "writes_not_acknowledged": (2, 20), "usable_after_kill": "failed",
    }  # fmt: skip
    made = drilled(changed, {"x": story})
    for text in outputs(made):
        plain = text.replace("&#9650;", MARK).replace("_", " ")
        called = [
            any(name in plain for name in (words.label(each), each.replace("_", " ")))
            for each in ("leaks_by_case", "usable_after_kill")
        ]
        assert f"{MARK} 3/20" in plain and all(called)
        assert f"{MARK} 18/20" in plain
        assert "writes not acknowledged 2/20" in plain or "writes without an id 2/20" in plain


# --- headlines of stories -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lead", "name"), TOLD, ids=[name for _, name in TOLD])
def test_a_story_measure_of_trust_that_is_bad_alone_is_marked_in_every_table(lead: str, name: str) -> None:
    told = {each: [good(metrics.DEFINITIONS[each])] * 2 for _, each in TOLD}
    made = results({"x": {**told, "recall": [(20, 20)] * 2, name: [bad(metrics.DEFINITIONS[name])] * 2}})
    figure = tables.show_headline(made.definitions, made.backends["x"].measures, lead)
    assert figure.text == f"{MARK} 38/40" and name in figure.note
    lost = results({"x": {**told, name: [good(metrics.DEFINITIONS[name]), "failed"]}})
    figure = tables.show_headline(lost.definitions, lost.backends["x"].measures, lead)
    assert name in figure.note and "1 cell failed" in figure.note


def test_what_has_no_best_value_is_shown_alone() -> None:
    made = results({"x": {"tokens_per_job": ["not-applicable"], "tokens_total": [500.0]}})
    figure = tables.show_headline(made.definitions, made.backends["x"].measures, "tokens_per_job")
    assert (figure.text, figure.measured) == ("n/a", False)
