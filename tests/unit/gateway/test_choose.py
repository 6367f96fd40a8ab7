"""How the stand-in takes one of some options, and when it keeps out."""

from __future__ import annotations

from typing import Any

import pytest

from harness.gateway.chat import standin_reader
from harness.gateway.chat.standin_reader import UNKNOWN

OPTIONS = ["harborline", "kestrelway", "kestrelway-2"]


def prompt(*notes: str) -> str:
    told = "\n".join(f"- {note}" for note in notes)
    return f"Task: ship it to harborline\n\nNotes:\n{told}\n\nQuestion: Which of kestrelway?\n\nOptions:\n* harborline"


@pytest.mark.parametrize(
    ("notes", "takes"),
    [
        (["Lunch is at noon", "We deploy to harborline", "We deploy to kestrelway"], "harborline"),
        (["We deploy to KESTRELWAY (docs/a.md:3, 2025-04-28)"], "kestrelway"),
        (["We deploy to kestrelway-2"], "kestrelway-2"),
        (["kestrelway instead of harborline"], "kestrelway"),
        (["moved from `harborline` to kestrelway"], "kestrelway"),
        (["no longer harborline"], UNKNOWN),
        (["harborline or kestrelway, who knows"], UNKNOWN),
        (["the harborliner sails"], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_the_first_note_that_names_one_option_decides(notes: list[str], takes: str) -> None:
    assert standin_reader.decide(prompt(*notes), OPTIONS) == takes


def test_only_a_schema_with_choices_asks_for_one() -> None:
    schema: dict[str, Any] = {"properties": {"choice": {"enum": ["a", "b", UNKNOWN]}}}
    body: dict[str, Any] = {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
    assert standin_reader.list_options(body) == ["a", "b"]
    for other in ({}, {"response_format": None}, {"response_format": {"type": "json_object"}}):
        assert standin_reader.list_options(other) is None
    schema["properties"]["choice"]["enum"] = ["a", 1]
    assert standin_reader.list_options(body) is None
