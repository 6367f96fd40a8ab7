"""What is a name where a fact is read: its own forms and those of others, which tell nothing whatever their words."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic_core import to_json

from harness.model.scenario import Scenario
from harness.text.classify import Classifier, find, normalise
from harness.text.clauses import LONGEST

Forms = Sequence[Sequence[str]]
TABLE = tomllib.loads(Path(__file__).with_name("classify_cases.toml").read_text(encoding="utf-8"))["scenario"]


def classifier(*facts: Forms, replaced: bool = False) -> Classifier:
    """Of facts with these forms, called a, b, c; `replaced`: each supersedes the one before."""
    told = [
        {
            "id": name, "type": "project", "since": f"2024-0{at + 1}-01T00:00:00Z", "forms": forms,
            "identifier": f"{name}: {forms[0][0]}", "plain": f"Plain {name}.", "paraphrase": f"Otherwise {name}.",
            "rewrites": [f"{name} {turn}" for turn in range(3)],
            **({"supersedes": "abc"[at - 1]} if replaced and at else {}),
        }
        for at, (name, forms) in enumerate(zip("abc", facts, strict=False))
    ]  # fmt: skip
    session = {**TABLE["sessions"][0], "steps": [{"do": "remember", "texts": [{"text": "A lamp."}]}]}
    scenario = {**TABLE, "facts": told, "sessions": [session]}
    return Classifier(Scenario.model_validate_json(to_json(scenario)))


REDIS: Forms = [["redis", "valkey"]]


@pytest.mark.parametrize(
    ("other", "text", "role"),
    [
        ([["memcached"]], "Take the old redis.", "mentioned"),
        ([["old castle"]], "Take the old castle redis.", "asserted"),
        ([["old castle"], ["9090"]], "Take the old castle redis.", "asserted"),  # one of several parts is a name, too
        ([["never"]], "Never redis.", "asserted"),  # a value, however much it looks like a word that tells
        ([["never"], ["9090"]], "Never redis.", "denied"),  # of several parts it is that word again
        ([["move"]], "Move redis from valkey to 9090.", "asserted"),  # a value is no word of transport either
        ([["old redis"]], "Take the old redis.", "mentioned"),  # a longer name that holds an own one
    ],
)
def test_what_is_a_name_tells_nothing_of_its_neighbours(other: Forms, text: str, role: str) -> None:
    assert getattr(classifier(REDIS, other).by_rules(text), role) >= {"a"}


def test_a_telling_part_of_a_fact_with_a_rival_is_a_value() -> None:
    """The window is what the two differ in: "never" is then a value, not the word that denies what stands behind it."""
    window = classifier([["window"], ["never"]], [["window"], ["monday"]], REDIS, replaced=True)
    assert "c" in window.by_rules("Window: never redis.").asserted


def test_a_fact_whose_parts_all_stand_in_its_rival_is_told_by_all_of_them() -> None:
    parts = [["port"], ["9090"]]
    reading = classifier(parts, [["port"], ["9090"], ["tls"]], replaced=True).by_rules("Never port 9090.")
    assert reading.denied == {"a"} and reading.partial == {"b"}


def test_an_empty_form_stands_nowhere_even_between_blanks() -> None:
    assert find("a  b", "") == []


def test_a_clause_is_cut_where_it_is_too_long() -> None:
    """A word tells of a name in the same piece only, and the last letter of a piece is its own."""
    for behind, role in ((LONGEST - 1, "denied"), (LONGEST, "asserted")):
        text = f"never {'x' * (behind - len('never ') - 1)} redis"
        assert text.index("redis") == behind and getattr(classifier(REDIS).by_rules(text), role) == {"a"}
    assert LONGEST == 400  # the bound that the docs of the rules give


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\N{LATIN SMALL LETTER N PRECEDED BY APOSTROPHE}", "n"),  # its case folds to a quote, which then goes
        ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}x\N{EN DASH}Y", "i\u0307x - y"),
        ("Ship\N{SOFT HYPHEN}It", "shipit"),
    ],
)
def test_normal_forms_are_final(text: str, plain: str) -> None:
    assert normalise(text) == normalise(plain) == plain
