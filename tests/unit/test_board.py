"""README and the documents say what the packed run says: its board, or until there is one the sample."""

from __future__ import annotations

import json
import shlex
import shutil
import tarfile
from pathlib import Path

import pytest

from benchmarks import board
from benchmarks.board import Summary
from benchmarks.results.__main__ import read_tables
from harness import paths
from harness.model.results import Unplayed
from tests.support.made_results import HEADLINE, Said, play

RUN = board.find_run()


def read() -> Summary:
    made: Summary = json.loads(board.MADE.read_text("utf-8"))
    return made


def test_the_documents_hold_what_was_made_of_the_committed_run() -> None:
    made = read()
    assert (made["run"], made["sha256"]) == (str(RUN.relative_to(paths.ROOT)), board.digest(RUN)), "make board"
    assert board.read_block(board.README) == board.write_readme(made), "make board"
    assert len({len(row) for row in (made["columns"], *made["rows"])}) == 1
    assert read_tables()["board"]["rows"] == made["rows"], "it is a table as the others are"


@pytest.mark.parametrize("packed", [board.BOARD, board.NATIVE, board.SAMPLE], ids=lambda packed: packed.name)
def test_a_committed_run_names_no_folder_of_a_machine(packed: Path) -> None:
    with tarfile.open(packed) as members:
        kept = members.extractfile("run.json")
        assert kept
        command = json.loads(kept.read())["command"]
    assert not [word for word in shlex.split(command) if "=/" in word or word.startswith("/")]


@pytest.mark.slow
@pytest.mark.timeout(600)  # a board has ten times as many rows as the sample
def test_the_committed_run_still_says_what_was_made_of_it_and_its_page_too(tmp_path: Path) -> None:
    """If it differs because the page or a sentence has changed: `make board`, and look at it."""
    again = tmp_path / RUN.name
    shutil.copy(RUN, again)
    assert {**board.summarize(again, board.report(again)), "run": ""} == {**read(), "run": ""}
    assert is_page_committed(RUN, tmp_path), "make board"


@pytest.mark.slow
def test_the_page_of_captured_sessions_is_that_of_its_committed_run(tmp_path: Path) -> None:
    shutil.copy(board.NATIVE, tmp_path)
    board.report(tmp_path / board.NATIVE.name)
    assert is_page_committed(board.NATIVE, tmp_path), "make board"


def is_page_committed(run: Path, made: Path) -> bool:
    """As pytest would compare four megabytes line by line for minutes."""
    name = run.name.removesuffix(".tar.xz")
    return (made / name / "report.html").read_bytes() == (run.with_name(name) / "report.html").read_bytes()


def test_rows_that_a_reader_asks_for_first_are_named_as_people_call_them_and_each_fault_is_told(tmp_path: Path) -> None:
    right: list[Said] = [(3, 4)]
    rows = {name: {HEADLINE: {"decisions_right": right}} for name in ("letta", "langgraph@3.1.2", "mem0+infer=true")}
    drills = {"letta": {"text_gone_after_closing": (1, 4), "left_after_undo": (0, 3), "self_reachability": (3, 3)}}
    made = play(rows, drills=drills)
    absent = Unplayed(backend="gone", reason="no server", allowed=True)
    run = made.run.model_copy(update={"id": "20261126-101112-abcd", "unplayed": (absent,)})
    (packed := tmp_path / "run.tar.xz").write_bytes(b"a run")
    said = board.summarize(packed, made.model_copy(update={"run": run}))
    assert said["told"].startswith("2026-11-26, commit unknown: 1 story with ")
    first = {row[0]: row for row in said["first"]}
    assert list(first) == ["LangGraph 1", "Letta 1"], "settings make another row"
    assert first["Letta 1"][1] == "3 of 4" and "(3 of 4)" in first["Letta 1"][-1]
    assert first["LangGraph 1"][-1] == "nothing was tested"
    assert [row[0] for row in said["rows"]] == ["`langgraph@3.1.2`", "`letta`", "`mem0,infer=true`", "`gone`"]
    assert "not run" in said["rows"][-1]


def test_a_block_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (document := tmp_path / "page.md").write_text(
        "# Page\n<!-- made by make board -->\nold\n<!-- end of what make board makes -->\nrest\n"
    )
    board.replace_block(document, "| new \\1 |\n")
    assert board.read_block(document) == "| new \\1 |\n"
    assert document.read_text().startswith("# Page\n") and document.read_text().endswith("-->\nrest\n")
