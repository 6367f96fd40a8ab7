"""The page of two runs: what it says on top, in which order its rows stand, what it does without logs."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.gate import compare
from harness.log.folder import Folder
from harness.model.results import Results
from harness.regress import baseline
from harness.regress.baseline_files import Side
from harness.regress.comparison_page import write_page
from harness.report import write
from harness.report.model import evidence
from tests.support.logs import NEW, OLD
from tests.support.made_results import results
from tests.support.runs import run

HOSTILE = "a\x1b]2;<img src=x>\u202e"
GOOD, BAD = (20, 20), (5, 20)


def side(made: Results) -> Side:
    return Side(baseline.make_baseline(made), made)


def told(old: Results, new: Results) -> str:
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", write_page(side(old), side(new)), flags=re.DOTALL)
    return " ".join(unescape(text).split())


def test_the_worst_regression_stands_first() -> None:
    old = results({"x": {"recall": [GOOD] * 12, "jobs_done": [GOOD] * 12}, "y": {"recall": [BAD] * 12}})
    new = results({"x": {"recall": [BAD] * 12, "jobs_done": [GOOD] * 12}, "y": {"recall": [GOOD] * 12}})
    text = write_page(side(old), side(new))
    rows = re.findall(r'<th scope="row">(\w+)<td data-head="measure"><span[^>]*>([^<]*)', text)
    assert rows == [("x", "answers recalled"), ("y", "answers recalled")]
    said = told(old, new)
    assert "1 measure got worse, first of all answers recalled of x" in said and "1 measure got better" in said
    assert "1 measure did not change" in said and "p 0.0" in said
    assert "no case is shown: give the folders" in said


def test_seconds_are_shown_without_powers_of_ten() -> None:
    row = {"x": {"recall": [GOOD]}}
    said = told(results(row, {"x": {"recall_seconds": 0.5}}), results(row, {"x": {"recall_seconds": 3.0}}))
    assert "500 ms" in said and "3.0 s" in said and "+2.5 s" in said and "e+0" not in said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ({}, {"k": 7}, "Not comparable: k 5 then, 7 now; nothing is compared."),
        ({}, {"digests": {1: "new"}}, "Comparable only in part: 1 scenario of both tell another story now"),
    ],
)
def test_what_is_not_comparable_is_said_on_top_in_one_sentence(
    old: dict[str, object], new: dict[str, object], says: str
) -> None:
    then, now = (results({"x": {"recall": [GOOD] * 3}}, **each) for each in (old, new))  # type: ignore[arg-type]
    said = told(then, now)
    assert says in said
    assert ("Nothing could be compared." in said) == ("k" in new)


def test_stories_are_compared_across_readers_where_that_is_asked_for(tmp_path: Path) -> None:
    sides = []
    for way, hits in (("codex", BAD), ("codex+file", GOOD)):
        made = results({"x": {"decisions_right": [hits] * 8}}, reader=f"agent:{way}@m")
        (tmp_path / f"{way}.json").write_text(made.model_dump_json(by_alias=True))
        sides.append(str(tmp_path / f"{way}.json"))
    page = tmp_path / "page.html"
    alone = CliRunner().invoke(compare, sides)
    assert alone.exit_code == 3 and "(--across-readers)" in alone.output
    done = CliRunner().invoke(compare, [*sides, "--across-readers", "--html", str(page)])
    assert done.exit_code == 0 and "Readers: agent:codex@m -> agent:codex+file@m." in done.output
    assert "BETTER" in done.output and "decisions_right" in done.output
    assert "Comparable only in part: reader agent:codex@m then, agent:codex+file@m now" in page.read_text()
    other = CliRunner().invoke(compare, [*sides, "--across-readers", "--json"])
    assert json.loads(other.stdout)["readers"] == ["agent:codex@m", "agent:codex+file@m"]


def test_another_reader_leaves_the_drills_to_compare() -> None:
    drills = {"x": {"writes_kept": GOOD}}, {"x": {"writes_kept": BAD}}
    old, new = (results({"x": {"recall": [GOOD] * 3}}, each) for each in drills)
    held = new.run.conditions.model_copy(update={"reader": "another"})
    new = new.model_copy(update={"run": new.run.model_copy(update={"conditions": held})})
    said = told(old, new)
    assert "only drills are compared" in said
    assert "acknowledged writes kept (drill keeping) of x: 20/20 before, 5/20 now" in said
    assert "answers recalled of x" not in said


def test_a_hostile_name_is_harmless() -> None:
    text = write_page(
        side(results({HOSTILE: {"recall": [GOOD] * 12}})), side(results({HOSTILE: {"recall": [BAD] * 12}}))
    )
    assert "\x1b" not in text and "\u202e" not in text and "<img" not in text


@pytest.mark.slow
def test_the_command_writes_the_page_and_ends_as_before(tmp_path: Path) -> None:
    roots = [tmp_path / "then", tmp_path / "now"]
    for root, stale, tool in zip(roots, (NEW, OLD), ("betadeploy", "alphadeploy"), strict=True):
        root.mkdir()
        folder: Folder = run(root, stale=stale, tool=tool, stories=12)
        write(folder, *evidence.read(folder))
    out = tmp_path / "new" / "compare.html"
    ended = CliRunner().invoke(compare, [str(roots[0]), str(roots[1]), "--html", str(out)])
    assert ended.exit_code == 1, ended.output
    text = out.read_text("utf-8")
    assert "cited as a receipt" in text and len(text) < 3_000_000
    again = tmp_path / "again.html"
    CliRunner().invoke(compare, [str(roots[0]), str(roots[1]), "--html", str(again)])
    assert again.read_bytes() == out.read_bytes()


def test_the_release_of_an_agent_program_that_moved_is_told() -> None:
    made = results({"x": {"recall": [GOOD] * 3}})
    old, new = (
        made.model_copy(update={"run": made.run.model_copy(update={"programs": (program,)})})
        for program in ("codex 0.1", HOSTILE)
    )
    said = told(old, new)
    assert "agent programs codex 0.1 then, a" in said and "\x1b" not in said
    assert "agent programs" not in told(old, old)
