"""What a text says: a table of hand-written cases, and properties that hold for any text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from harness.adapter import Scope
from harness.model.scenario import Scenario
from harness.text import classify
from harness.text.classify import Classifier, KnownTexts, Reading, cut, find, holds, normalise
from harness.text.clauses import ClauseSpan, Role, unite
from tests.support.classify_cases import CANARY, FORMS, SCENARIO, TABLE, TEXTS, anything, fillers, prose

CLASSIFIER = Classifier(SCENARIO, {"token": CANARY})
SETS = ("asserted", "denied", "mentioned", "partial")
HERE, LATER = Scope(repo="storefront"), datetime(2025, 5, 1, tzinfo=UTC)


def said(reading: Reading) -> dict[str, set[str]]:
    return {key: set(getattr(reading, key)) for key in SETS}


@pytest.mark.parametrize("case", TABLE["case"], ids=lambda case: case["text"][:50] or "empty")
def test_case(case: dict[str, Any]) -> None:
    reading = CLASSIFIER.read(case["text"])
    assert said(reading) == {key: set(case.get(key, ())) for key in SETS}
    assert (reading.unclear, reading.exact) == (case.get("unclear", False), case.get("exact", False))


def test_table_is_large_and_without_repetition() -> None:
    assert len(TEXTS) >= 60
    assert len(set(TEXTS)) == len(TEXTS)


# --- equality with a harness text ---


def test_harness_texts_read_as_annotated() -> None:
    texts = CLASSIFIER.texts()
    assert len(texts) == len(SCENARIO.facts) * 6 + 2
    for fact in SCENARIO.facts:
        for text in fact.own_texts():
            reading = CLASSIFIER.read(text.text.replace("{canary}", CANARY))
            assert reading is texts[normalise(text.text.replace("{canary}", CANARY))]
            assert reading == Reading(frozenset({fact.id}), mentioned=frozenset(text.mentions), exact=True)


@pytest.mark.parametrize("canaries", [{}, {"token": "other"}, {"api": CANARY}])
def test_another_canary_is_another_text(canaries: dict[str, str]) -> None:
    text = f"The staging token is {CANARY}."
    assert CLASSIFIER.read(text).asserted == {"token"}
    assert "token" not in Classifier(SCENARIO, canaries).read(text).asserted


def test_equal_texts_of_two_facts_say_what_both_say() -> None:
    data = {**TABLE["scenario"], "facts": [dict(fact) for fact in TABLE["scenario"]["facts"]]}
    data["facts"][6]["plain"] = data["facts"][5]["plain"]
    classifier = Classifier(Scenario.model_validate_json(to_json(data)))
    assert classifier.read("The health check asks the api service.").asserted == {"api", "lure"}


def test_rules_do_without_equality() -> None:
    reading = CLASSIFIER.by_rules("Atlas is not ready for us.")
    assert not reading.exact
    assert said(reading)["asserted"] == {"atlas"}  # a negation behind the form, of no word of use
    assert CLASSIFIER.read("Atlas is not ready for us.").denied == {"atlas"}


# --- forms ---


@pytest.mark.parametrize(
    "text", ["api", "api.", "(api)", "the api, too", "api's", '"api"', "api - the", "/api", "api/", "=api"]
)
def test_whole_identifiers_are_found(text: str) -> None:
    assert holds(text, (("api",),))


@pytest.mark.parametrize(
    "text", ["api-internal", "api_v2", "myapi", "apis", "api.internal", "api/v2", "v1/api", "a@api", "-api", "api-"]
)
def test_parts_of_identifiers_are_not(text: str) -> None:
    assert not holds(text, (("api",),))


def test_every_part_needs_an_alternative() -> None:
    forms = (("deploy branch", "deploys"), ("main",))
    assert holds("Deploys go out from `Main`.", forms)
    assert not holds("Deploys go out.", forms)
    assert not holds("main", forms)


def test_find_gives_every_place_and_none_for_an_empty_form() -> None:
    assert find("api api-x api", "api") == [(0, 3), (10, 13)]
    assert find("api", "") == []


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@given(before=st.sampled_from(["x", "é", "7", "_", "-", "v.", "a/", "b:", "c@"]), text=fillers)
def test_a_form_inside_a_longer_identifier_is_never_found(form: str, before: str, text: str) -> None:
    assert not find(normalise(f"{text} {before}{form} {text}"), form)
    if before[-1] in "./:@":
        assert not find(normalise(f"{text} {form}{before[-1]}x {text}"), form)
    else:
        assert not find(normalise(f"{text} {form}{before} {text}"), form)


# --- standings and verdicts ---


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Run atlas", "current"),
        ("Run atlas instead of scripts/ship", "current"),
        ("Run scripts/ship to get it out", "superseded"),
        ("Run scripts/ship and ask api", "superseded"),
        ("Ask api-internal", "out-of-scope"),
        ("Ask api-internal, and api", "out-of-scope"),
        (f"Token {CANARY}", "retracted"),
        ("Run atlas. Run scripts/ship.", "unclear"),
        ("We used to run scripts/ship", "mentioned"),
        ("Don't run scripts/ship, ever", "mentioned"),
        ("The deploy branch is protected", "partial"),
        ("The lamp is green", "other"),
    ],
)
def test_verdict(text: str, verdict: str) -> None:
    assert CLASSIFIER.verdict(CLASSIFIER.read(text), LATER, HERE) == verdict


def test_a_standing_depends_on_time_and_place() -> None:
    reading = CLASSIFIER.read("Ask api-internal, run scripts/ship to do it")
    early = datetime(2024, 7, 1, tzinfo=UTC)
    assert CLASSIFIER.standings(reading, early, HERE) == {"lure": "out-of-scope", "ship": "current"}
    assert CLASSIFIER.standings(reading, LATER, Scope(repo="billing")) == {"lure": "current", "ship": "out-of-scope"}
    assert CLASSIFIER.standings(reading, LATER, HERE)["ship"] == "superseded"


def test_demoted_asserts_nothing_and_forgets_nothing() -> None:
    reading = CLASSIFIER.read("Run atlas. Run scripts/ship.").demote()
    assert said(reading) == {"asserted": set(), "denied": set(), "mentioned": {"atlas", "ship"}, "partial": set()}
    assert not reading.unclear


# --- properties ---


@pytest.mark.parametrize("quote", ['"', "'", "`", "\N{LEFT DOUBLE QUOTATION MARK}"])
def test_quotes_of_any_one_kind_go(quote: str) -> None:
    assert normalise(f"run {quote}ship{quote} twice") == "run ship twice"


@given(anything)
def test_normalise_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(anything)
def test_a_reading_is_disjoint_and_repeatable(text: str) -> None:
    reading = CLASSIFIER.read(text)
    assert sum(len(getattr(reading, key)) for key in SETS) == len(set().union(*said(reading).values()))
    assert Classifier(SCENARIO, {"token": CANARY}).read(text) == reading


@given(anything)
def test_other_if_and_only_if_no_form_occurs(text: str) -> None:
    reading = CLASSIFIER.by_rules(text)
    other = CLASSIFIER.verdict(reading, LATER, HERE) == "other"
    assert other == (not any(find(normalise(text), normalise(form)) for form in FORMS))


@given(
    prose, st.sampled_from([str.upper, str.title, lambda text: text.replace(" ", " \n\t "), lambda text: f"  {text} "])
)
def test_case_and_white_space_do_not_matter(text: str, change: Any) -> None:
    changed = change(text)
    if changed.casefold().split() == text.casefold().split():  # some letters have no way back
        assert CLASSIFIER.read(changed) == CLASSIFIER.read(text)


@pytest.mark.slow
@given(
    st.sampled_from(FORMS),
    st.sampled_from(["``", '""', "''", "“”", "‘’", "«»"]),
    st.sampled_from(["", ",", ".", ":"]),
    fillers,
)
def test_quotes_around_a_form_do_not_matter(form: str, quotes: str, mark: str, text: str) -> None:
    quoted = quotes[0] + form + quotes[1]
    assert CLASSIFIER.read(f"{text} {quoted}{mark} {text}") == CLASSIFIER.read(f"{text} {form}{mark} {text}")


@given(st.sampled_from(TEXTS) | prose, fillers)
def test_another_sentence_does_not_change_what_is_asserted(text: str, more: str) -> None:
    assert CLASSIFIER.by_rules(f"{text}. The {more}.").asserted == CLASSIFIER.by_rules(f"{text}.").asserted


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "atlas ",
        "never ",
        "(",
        "(never atlas) ",
        "from atlas ",
        "was, ",
        "instead of ",
        "`",
        "a.b:",
        "- ",
        "atlas->",
        "\x1b[",
        "1",
        "[",
    ],
)
def test_long_hostile_texts_are_read_and_cut(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    assert CLASSIFIER.read(text).asserted <= {"atlas"}
    assert all(start < end <= len(text) for start, end in cut(text, KnownTexts([unit * 3])))


# --- roles, spans and what is kept ---


@pytest.mark.parametrize(
    ("roles", "joint"),
    [
        ([{"asserted"}, {"asserted", "denied"}], "asserted"),
        ([{"asserted"}, {"denied"}], "denied"),
        ([{"asserted"}, {"mentioned"}], "mentioned"),
        ([{"asserted", "denied"}, {"mentioned"}], "mentioned"),
        ([{"mentioned"}, {"denied", "mentioned"}], "denied"),
    ],
)
def test_a_fact_is_asserted_if_each_telling_part_is_somewhere(roles: list[set[Role]], joint: str) -> None:
    assert classify._join_roles(roles) == joint


def test_a_fact_of_two_telling_parts_of_which_one_is_denied_beside_is_unclear() -> None:
    reading = CLASSIFIER.by_rules("No releases on Fridays. No releases, but not on Fridays.")
    assert set(reading.asserted) == {"fridays"} and reading.unclear


@pytest.mark.parametrize(
    ("text", "role", "name"),
    [
        ("Never the tall lamp atlas.", "denied", "atlas"),
        ("Never the tall green lamp atlas.", "asserted", "atlas"),
        ("The gate is green. Never the tall green lamp atlas.", "asserted", "atlas"),
        ("Never the half-made green tall-ish atlas.", "asserted", "atlas"),
        ("The old green lamp atlas.", "mentioned", "atlas"),
        ("The old green tall lamp atlas.", "asserted", "atlas"),
        ("Deploy the gate from scripts/ship to atlas.", "asserted", "ship"),
        ("Deploy the tall gate from scripts/ship to atlas.", "mentioned", "ship"),
        ("The lamp (a green gate) scripts/ship is gone.", "mentioned", "ship"),
        ("Replaced by the lamp was scripts/ship.", "mentioned", "ship"),
        ("scripts/ship\u2192atlas", "mentioned", "ship"),
        ("It was scripts/ship\u2192atlas.", "asserted", "atlas"),
        ("It was\u2192atlas.", "asserted", "atlas"),
    ],
)
def test_how_far_a_word_tells(text: str, role: str, name: str) -> None:
    assert getattr(CLASSIFIER.by_rules(text), role) >= {name}


def test_named_is_every_fact_of_which_a_part_is_told() -> None:
    assert Reading(frozenset("a"), frozenset("b"), frozenset("c"), frozenset("d")).named == {*"abcd"}


def test_spans_that_overlap_are_one_and_those_that_touch_are_two() -> None:
    assert unite(map(ClauseSpan._make, [(4, 6), (0, 3), (1, 2), (2, 4)])) == [(0, 4), (4, 6)]


def test_a_reading_is_kept_until_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "CACHED", 2)
    classifier = Classifier(SCENARIO)
    first = classifier.read("Ask the lamp.")
    assert classifier.read("Ask the lamp.") is first
    sizes = [(classifier.read(text), len(classifier._cache))[1] for text in ("b", "c", "d", "e")]
    assert sizes == [2, 1, 2, 1]
