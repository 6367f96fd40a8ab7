"""What is said of bytes where they outlive no process, or nobody got to look at them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.transcript import Ended
from tests.support.deletion_drill import FAULT, Play, ready, reason, sound

BYTES = ("queries_kept_on_disk", "text_gone_after_closing", "vector_gone_after_closing", "text_gone_after_kill")


@pytest.mark.parametrize("name", BYTES)
def test_what_keeps_nothing_beyond_its_process_leaves_no_bytes_to_look_at(tmp_path: Path, name: str) -> None:
    assert reason(sound().measures(tmp_path, lacks=["persistent"])[name], "unsupported") == "persistent: why"


def test_what_deletes_nothing_leaves_nothing_astray(tmp_path: Path) -> None:
    found = sound().looked("closed", "pin", layer="elsewhere").measures(tmp_path, lacks=["forget", "forget_scope"])
    told = reason(found["seen_in_undeclared_places"], "unsupported")
    assert told == "forget: why; forget_scope: why"


@pytest.mark.parametrize("name", BYTES)
def test_of_bytes_that_nobody_got_to_look_at_nothing_is_said(tmp_path: Path, name: str) -> None:
    play: Play = ready().sought("after")
    found = play.measures(tmp_path, ended=Ended(status="failed", fault=FAULT))[name]
    assert reason(found, "failed").startswith("the drill did not get past '")
