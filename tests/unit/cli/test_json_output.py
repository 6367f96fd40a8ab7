"""JSON on standard output: the same values, and nothing in it that a CI server takes for a command."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

from hypothesis import example, given
from hypothesis import strategies as st

from harness.cli.common import tell_json


@example("###[error]x")
@example(":::error::x")
@given(st.lists(st.sampled_from("#:[a\\")).map("".join))
def test_no_string_is_a_command_and_each_is_read_as_it_was(text: str) -> None:
    with redirect_stdout(io.StringIO()) as out:
        tell_json(json.dumps([text]))
    assert json.loads(out.getvalue()) == [text]
    assert "##" not in out.getvalue() and "::" not in out.getvalue()
