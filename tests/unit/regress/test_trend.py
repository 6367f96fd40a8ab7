"""Measures over runs: in order of date, a word for no number, and no line between runs that were not played alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import commands
from harness.model.results import Results
from harness.regress import baseline, baseline_files, releases, trend, trend_page
from harness.regress.baseline import Baseline
from harness.regress.trend import Trend
from tests.support.made_results import Said, results


def made(run: str, *said: Said, **more: Any) -> Results:
    return results({"x": {"recall": said}}, run=run, **more)


def collect(*runs: Results, measure: str = "recall") -> Trend:
    return trend.collect(trend.order([baseline.make_baseline(each) for each in runs]), measure)


def test_runs_stand_in_the_order_of_the_dates_in_their_names() -> None:
    newer, older, undated = (made(run, (1, 2)) for run in ("20261125-080000-aaaa", "20260102-230000-ffff", "a-run"))
    (line,) = collect(newer, undated, older).lines
    assert [point.run for point in line.points] == ["a-run", "20260102-230000-ffff", "20261125-080000-aaaa"]


def test_a_line_shows_its_curve_and_both_ends() -> None:
    told = list(
        trend.describe(collect(made("1", (0, 4), (0, 4)), made("2", (2, 4), (2, 4)), made("3", (4, 4), (4, 4))))
    )
    assert told == ["answers recalled (more is better)", f"  {'x':24}  \u2581\u2585\u2588  0/8 -> 8/8"]


def test_a_measure_that_falls_below_none_has_a_scale_around_none() -> None:
    found = collect(*(made(str(at), value) for at, value in enumerate((0.1, -0.5, -0.2))), measure="recall")
    found = Trend("net", found.lines, found.gaps)
    (curve,) = (line.split()[1] for line in list(trend.describe(found))[1:])
    assert found.ends == (-0.5, 0.1) and curve[1] == "\u2581" and curve[0] == "\u2588"
    assert "upper line: 0.10; lower line: -0.50" in trend_page.chart(found).svg


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"k": 7}, "k 5 then, 7 now"),
        ({"budget": 99}, "budget 800 then, 99 now"),
        ({"digests": {0: "another"}}, "other stories, or stories that changed"),
    ],
)
def test_runs_that_were_not_played_alike_are_said_and_not_joined(other: dict[str, Any], why: str) -> None:
    found = collect(made("1", (1, 4)), made("2", (1, 4)), made("3", (4, 4), **other))
    (line,) = found.lines
    assert [point.joined for point in line.points] == [False, True, False]
    assert found.gaps == (f"2 and 3: {why}",)
    assert f"  not joined: 2 and 3: {why}" in trend.describe(found)


def test_another_formula_or_another_story_breaks_a_line_and_a_hole_says_its_word() -> None:
    then = made("1", (1, 4))
    changed = then.definitions["recall"].model_copy(update={"version": 99})
    other = then.model_copy(update={"definitions": {**then.definitions, "recall": changed}})
    assert "its formula changed" in collect(then, other).gaps[0]
    assert "other stories" in collect(then, made("2", (1, 4), (1, 4))).gaps[0]
    holed = collect(made("1", (1, 4)), made("2", "failed"), made("3", (1, 4)))
    assert [point.shown for point in holed.lines[0].points] == ["1/4", "failed", "1/4"]
    assert "\u2583\u00b7\u2583" in list(trend.describe(holed))[1]


def test_drills_are_joined_where_they_were_played_alike() -> None:
    runs = [results({}, {"x": {"writes_kept": (at, 9)}}, run=str(at), size=20 + 5 * (at > 1)) for at in range(3)]
    found = collect(*runs, measure="writes_kept")
    assert [point.joined for point in found.lines[0].points] == [False, True, False]
    assert found.gaps == ("1 and 2: drilled with another size, seed, k or older release",)


def test_the_page_draws_a_panel_a_backend_and_shows_every_number() -> None:
    runs: list[Baseline] = [
        baseline.make_baseline(results({name: {"recall": [(at, 9)]} for name in ("<b>x", "y")}, run=f"r{at}"))
        for at in (3, 7)
    ]
    page = trend_page.write_page(runs, [trend.collect(runs, "recall")])
    assert page == trend_page.write_page(runs, [trend.collect(runs, "recall")]) and "<b>x" not in page
    assert re.findall(r'<td class="n">(\d/9)', page) == ["3/9", "7/9", "3/9", "7/9"]
    assert page.count("<svg") == 1 and "In the first and in the last run: " in page


@pytest.mark.slow
def test_one_run_is_shown_over_the_releases_that_it_played(tmp_path: Path) -> None:
    fields: dict[str, Said] = {"x@1.10": (9, 9), "x@1.9": (3, 9), "x@2.0": "failed"}
    fields |= {"y@1+store=a": (1, 9), "y@2+store=a": (1, 9), "z": (5, 9)}
    played = results({}, {name: {"writes_kept": said} for name, said in fields.items()}, run="20261125-080000-aaaa")
    ladders = releases.list_ladders(baseline_files.Side(baseline.make_baseline(played), played))
    assert {name: [step.baseline.run for step in steps] for name, steps in ladders.items()} == {
        "x": ["x@1.9", "x@1.10", "x@2.0"],
        "y+store=a": ["y@1+store=a", "y@2+store=a"],
    }
    steps = [[step.baseline for step in each] for each in ladders.values()]
    first, second = steps[0][:2], steps[1]
    found = trend.collect_releases([first, second], "writes_kept", trend.compare_ends([first, second]))
    assert [line.verdict for line in found.lines] == ["better", ""] and found.over == "release"
    assert list(trend.describe(found))[1].endswith("3/9 -> 9/9  better")
    file = tmp_path / "results.json"
    file.write_text(played.model_dump_json(by_alias=True))
    done = CliRunner().invoke(
        commands, ["trend", str(file), "--measure", "writes_kept", "--html", str(tmp_path / "t.html")]
    )
    assert done.exit_code == 0 and "5 releases, x@1.9 to y@2+store=a" in done.stdout, done.output
    page = (tmp_path / "t.html").read_text()
    assert "What changed over 5 releases?" in page and "In the first and in the last release: " in page


def test_the_command_reads_baselines_and_refuses_what_says_nothing(tmp_path: Path) -> None:
    files = [tmp_path / f"{at}.json" for at in (1, 2)]
    for at, file in enumerate(files):
        file.write_text(baseline_files.write_text(baseline.make_baseline(made(f"run-{at}", (at, 2)))))
    words = ["trend", *map(str, files)]
    done = CliRunner().invoke(commands, [*words, "--html", str(tmp_path / "t.html")])
    assert done.exit_code == 0 and "0/2 -> 1/2" in done.stdout and (tmp_path / "t.html").exists()
    for more, code, said in (
        (["--measure", "recal"], 2, "there is no such measure; did you mean recall?"),
        (["--measure", "writes_kept"], 3, "no run has a number of writes_kept"),
    ):
        refused = CliRunner().invoke(commands, [*words, *more])
        assert (refused.exit_code, refused.stdout) == (code, "") and said in refused.stderr
    alone = CliRunner().invoke(commands, words[:2])
    assert alone.exit_code == 2 and "takes two runs or more" in alone.stderr
