"""`coldwarm import sessions` and what real backends, each in a process of its own, capture of what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import commands
from harness.sessions.feed import list_stand_ins
from tests.support.recorded_sessions import ASKED, KEY, WRITERS, claude_line, lines

DEAF = "deaf=tests.support.deaf_reference:Deaf"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(commands, ["import", "sessions", *map(str, words)])


def read(out: Path) -> list[dict[str, Any]]:
    [figures] = out.glob("*/captured.json")
    backends: list[dict[str, Any]] = json.loads(figures.read_text())["backends"]
    return backends


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A session of each form, and one in which somebody told a key."""
    for name, write in WRITERS.items():
        folder = tmp_path / "recorded" / name
        folder.mkdir(parents=True)
        write(folder)
    (tmp_path / "recorded" / "key.jsonl").write_text(
        lines([claude_line("user", f"The berths open with {KEY}, do tell nobody.", session="key")])
    )
    done = run(tmp_path / "recorded", "--to", tmp_path / "sessions")
    assert done.exit_code == 0, done.output
    assert "; 1 secret cut out in 1 place" in done.output
    return tmp_path / "sessions"


@pytest.mark.slow
def test_sessions_of_every_form_are_told_to_backends(imported: Path, tmp_path: Path) -> None:
    done = run(imported, "-b", "bm25", "-b", "notes", "-b", "chroma", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    first, *others = read(tmp_path / "out")
    assert len(others) == 2
    for each in (first, *others):
        sessions = len(json.loads((imported / "sessions.json").read_text())["sessions"])
        assert each["ended"] and each["told"] == each["sessions"] == sessions
        assert 0 < each["found"] <= each["asked"] and each["tokens"] > 100 and each["bytes"] > 100
        assert (each["secrets_told"], each["secrets_brought"], each["secrets_stored"]) == (1, 1, 1)
    assert first["secrets_left"] == 0
    kept = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert KEY.encode() not in kept and list_stand_ins(1)["secret-1"].encode() in kept


@pytest.mark.slow
def test_a_backend_captures_them_in_its_own_way(imported: Path, tmp_path: Path) -> None:
    done = run(imported, "-b", "bm25", "-b", DEAF, "--feed", "native", "--out", tmp_path / "out")
    assert done.exit_code == 3 and "deaf captures no session" in done.output, done.output
    [figures] = read(tmp_path / "out")
    assert figures["feed"] == "native" and figures["told"] == figures["sessions"] and figures["found"] > 0


@pytest.mark.slow
def test_what_is_read_can_be_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(lines([claude_line("user", ASKED)]))
    done = run(tmp_path / "s.jsonl", "--to", tmp_path / "to", "-b", "bm25", "--out", tmp_path / "out")
    assert done.exit_code == 0 and "sessions captured: 1 of 1; memories: 1;" in done.output, done.output
    assert "messages of users that come back among 10, asked for in their own words: 1 of 1" in done.output


@pytest.mark.slow
def test_what_one_backend_captured_is_told_though_another_cannot_be_set_up(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(lines([claude_line("user", ASKED)]))
    backends = ("-b", "bm25", "-b", "notes,colour=red")
    done = run(tmp_path / "s.jsonl", "--to", tmp_path / "to", *backends, "--out", tmp_path / "out")
    assert done.exit_code == 3 and "has no setting 'colour'" in done.output, done.output
    assert "sessions captured: 1 of 1" in done.output
    assert [each["backend"] for each in read(tmp_path / "out")] == ["bm25"]


def test_a_session_whose_time_cannot_be_read_is_dated_by_its_file_and_said_to_be(tmp_path: Path) -> None:
    said = {"messages": [{"role": "user", "content": ASKED, "timestamp": "the 40th of May"}]}
    (tmp_path / "s.json").write_text(json.dumps(said))
    done = run(tmp_path / "s.json", "--to", tmp_path / "to")
    assert done.exit_code == 0 and "1 session without a time that can be read: dated by the file" in done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "was imported already: put it to backends with -b, without --to"),
        (("-b", "bm25", "--to", "elsewhere"), 2, "was imported already"),
        (("-b", "nobody"), 2, "nobody"),
        (("-b", "bm25", "--feed", "facts"), 2, "'facts' is not one of"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(imported: Path, words: tuple[str, ...], code: int, says: str) -> None:
    done = run(imported, *words)
    assert done.exit_code == code and says in done.output, done.output


@pytest.mark.slow
def test_a_backend_that_dies_is_told_with_what_it_did_until_then(
    imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    (tmp_path / "mortal.py").write_text(MORTAL)
    done = run(imported, "-b", "mortal:Mortal", "--out", tmp_path / "out")
    assert done.exit_code == 3 and "fault: remember crashed" in done.output, done.output
    [figures] = read(tmp_path / "out")
    assert not figures["ended"] and 0 < figures["told"] < figures["sessions"]
    assert figures["secrets_stored"] is figures["bytes"] is None


MORTAL = """
import os
from adapters.reference import Reference


class Mortal(Reference):
    def open(self, space):
        memory = super().open(space)
        remember, calls = memory.remember, []

        def dying(items):
            calls.append(items)
            if len(calls) == 3:
                os._exit(9)
            return remember(items)

        memory.remember = dying
        return memory
"""
