"""What comes along with what was asked for."""

from __future__ import annotations

import pytest

from harness.cli.playing import _add_placebos


@pytest.mark.parametrize(
    ("backends", "reader", "added"),
    [
        (("bm25",), "agent:codex", ("placebo", "protocol")),
        (("none", "mine=my_store:Mine"), "agent:codex+file", ("placebo", "protocol")),
        (("bm25", "placebo"), "agent:codex", ("protocol",)),
        (("none", "oracle", "full_context"), "agent:codex", ()),
        (("bm25",), "scripted", ()),
        (("bm25",), "chat", ()),
    ],
)
def test_agent_programs_play_the_controls_that_hold_nothing_too(
    backends: tuple[str, ...], reader: str, added: tuple[str, ...]
) -> None:
    assert _add_placebos(backends, reader) == (*backends, *added)
