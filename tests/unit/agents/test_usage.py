"""What programs count themselves: wherever it stands, and whatever they wrote there instead."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.agents.profile import Usage
from harness.agents.usage import read_usage
from harness.log.calls import OwnCount

PLACES = Usage(prompt=("steps.*.in", "total.in"), completion=("steps.*.out",))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"steps": [{"in": 5, "out": 1}, {"in": 7}, {}, 3]}, (12, 1)),
        ({"total": {"in": 4}, "steps": {"in": 9}}, (4, 0)),
        ({"steps": [{"in": -1, "out": "2"}, {"in": True, "out": 1e30}, {"in": 10**30, "out": None}]}, None),
        ([{"steps": []}], None),
    ],
)
def test_numbers_are_summed_up_and_nothing_else_is_one(said: Any, told: tuple[int, int] | None) -> None:
    found = read_usage(PLACES, json.dumps(said, indent=1).encode())
    assert found == (OwnCount(prompt=told[0], completion=told[1]) if told else None)


def test_a_text_with_a_line_separator_of_unicode_is_one_line() -> None:
    said = {"steps": [{"in": 1, "out": 2}], "text": "one\u2028two\x85three"}
    told = json.dumps(said, ensure_ascii=False)
    assert read_usage(PLACES, f"{told}\r\n{told}\n".encode()) == OwnCount(prompt=2, completion=4)


def test_lines_are_read_one_by_one_and_those_that_are_no_json_are_passed_over() -> None:
    lines = ['{"steps": [{"in": 1}]}', "warning: \ud800".encode("utf-8", "replace").decode(), "[" * 100_000, '{"st']
    lines += ['{"steps": [{"in": 2, "out": 3}]}']
    assert read_usage(PLACES, "\n".join(lines).encode()) == OwnCount(prompt=3, completion=3)
    assert read_usage(PLACES, b"\xff\xfe") is None and read_usage(None, lines[0].encode()) is None
