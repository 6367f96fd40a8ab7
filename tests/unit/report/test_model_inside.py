"""What a page says of rows with a chat model inside: who answered it, and what that shows."""

from __future__ import annotations

import pytest

from harness.compare.rows import Way
from harness.model.backend import Declared
from harness.model.results import Results
from harness.report.model import table
from tests.support.made_results import play


def answered(chat: str) -> Results:
    found = play(
        {"told": {Way("append", "trusting"): {"decisions_right": [(5, 10)] * 8}}}, {"decisions_right": [(2, 10)] * 8}
    )
    row = found.backends["told"]
    assert row.backend is not None
    backend = row.backend.model_copy(update={"support": {"extracts": Declared(level="native")}})
    conditions = found.run.conditions.model_copy(update={"chat": chat})
    return found.model_copy(
        update={
            "backends": {**found.backends, "told": row.model_copy(update={"backend": backend})},
            "run": found.run.model_copy(update={"conditions": conditions}),
        }
    )


@pytest.mark.parametrize(
    ("chat", "shows"),
    [
        ("stand-in extractor", "the wiring, not what a model would extract"),
        ("replay of stand-in extractor", "the wiring, not what a model would extract"),
        ("model at 127.0.0.1", "what that model made of its prompts; another may do better or worse"),
        ("replay of model at 127.0.0.1", "what that model made of its prompts; another may do better or worse"),
    ],
)
def test_only_a_stand_in_shows_the_wiring_alone(chat: str, shows: str) -> None:
    said = table.explain_model_inside(answered(chat))
    assert said == f"\u2021 Chat calls inside told were answered by {chat}: these rows show {shows}."
    assert table.show_name(answered(chat), "told") == "told \u2021"


def test_a_row_without_a_model_inside_has_no_mark() -> None:
    found = answered("")
    assert (table.explain_model_inside(found), table.show_name(found, "told")) == ("", "told")
