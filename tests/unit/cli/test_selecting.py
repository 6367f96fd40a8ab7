"""What comes along with what was asked for, and what cannot be had."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from harness.cli import commands, doctor
from harness.cli.common import BAD, COULD_NOT_RUN
from harness.cli.playing import _add_placebos
from harness.machine import story_clock


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


@pytest.mark.parametrize(
    ("lack", "scenario", "code", "says"),
    [
        (
            "libfaketime is not installed: get it",
            "forgotten-runbook",
            COULD_NOT_RUN,
            "--clock story: libfaketime is not",
        ),
        ("", "none", BAD, "--clock story is for stories, and -s none plays none"),
    ],
)
def test_the_clock_of_a_story_that_nobody_can_have_plays_nothing(
    lack: str, scenario: str, code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_clock, "explain_missing", lambda: lack)
    words = ["run", "--clock", "story", "-b", "bm25", "-s", scenario]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(commands, words)
    assert done.exit_code == code and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_doctor_says_whether_a_story_can_have_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_clock, "find_library", lambda: "/usr/lib/faketime/libfaketimeMT.so.1")
    for lack, seen in (("not here", "not here"), ("", "of a story: /usr/lib/faketime/libfaketimeMT.so.1")):
        monkeypatch.setattr(story_clock, "explain_missing", lambda lack=lack: lack)
        examined = doctor._examine_clock()
        assert (examined.seen, examined.absent, examined.good) == (seen, bool(lack), True)
