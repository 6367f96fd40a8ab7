"""The table on the terminal and the summary: same rows, same words, harmless whatever a backend is called."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from harness.compare import rows, statements
from harness.compare.rows import Way
from harness.model.regression import Change, GateVerdict
from harness.model.results import Comparison, Results, Suite, Unplayed
from harness.report import words
from harness.report.model import board, table
from harness.report.outputs import markdown
from harness.report.outputs import page as html
from harness.report.outputs import terminal as console
from harness.report.text import points
from tests.support.made_results import play
from tests.support.runs import run

HOSTILE = "[red]x[/]\x1b[2J|`@you`<b>"
COMMAND = "aaaaaaaaaaaa::error::x ##[group]y ::set-output name=z::w"
"""Folded at the width of a name, its second line would begin with a command."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return statements.compute_results(run(tmp_path_factory.mktemp("hostile"), label=HOSTILE))


def shown(results: Results, width: int = 80, **how: Any) -> str:
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False, **how)
    console.show(results, out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_table_fits_eighty_columns(results: Results, snapshot: SnapshotAssertion) -> None:
    text = "\n".join(line.rstrip() for line in shown(results).splitlines())
    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot


def test_the_summary(results: Results, snapshot: SnapshotAssertion) -> None:
    assert markdown.write_summary(results) == snapshot


def test_nothing_of_a_name_reaches_the_terminal_alive(hostile: Results) -> None:
    text = shown(hostile, width=120, force_terminal=True, no_color=True)
    assert "\x1b[2J" not in text
    assert "[red]x[/]" in text.replace("\n", "")


def test_without_colour_no_colour_is_sent(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(results, force_terminal=True)
    assert not [code for code in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m") if code in text]


def test_no_line_tells_a_ci_server_anything(tmp_path: Path) -> None:
    absent = Unplayed(backend=COMMAND, reason=COMMAND, allowed=True)
    told = statements.compute_results(run(tmp_path, label=COMMAND, unplayed=(absent,)))
    for width in (80, 200):
        lines = shown(told, width=width).splitlines()
        assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]
    assert "aaaaaaaaaaaa" in shown(told)


def test_words_are_whole_at_every_width_and_the_verdict_is_last(results: Results) -> None:
    heads = [head.head for head in board.collect(results).columns]
    for width in (80, 120, 200):
        lines = shown(results, width).splitlines()
        assert max(map(len, lines)) <= width
        assert all(any(head in line for line in lines) for head in heads)
        assert "how a live agent would decide" in " ".join(" ".join(lines[lines.index("Verdict") :]).split())


# --- how it ended -----------------------------------------------------------------------------------------------------


def test_the_last_line_counts_what_came_to_its_end(results: Results) -> None:
    ended, failed = results.cells[0], results.cells[-1].model_copy(update={"status": "failed", "trial": "another"})
    told = results.model_copy(update={"cells": (ended, failed), "trust": ()})
    assert console.describe_end(told) == "1 of 2 trials complete, 1 failed"
    gates = tuple(
        GateVerdict(gate="g", backend="b", measure="recall", line=1, verdict=verdict, says="")
        for verdict in ("held", "broken", "not-measured")
    )
    changes = tuple(Change(backend="b", measure="recall", verdict=word) for word in ("worse", "worse", "better"))
    judged = told.model_copy(update={"gates": gates, "changes": changes})
    assert console.describe_end(judged) == (
        "1 of 2 trials complete, 1 failed; against the baseline 1 better, 2 worse; 1 of 3 gates held; "
        "\u25b2 tests failed in 3 columns that no gate covers"
    )
    assert console.describe_end(results.model_copy(update={"cells": (), "trust": ()})) == "nothing was played"


def test_names_break_no_table_and_mention_nobody(hostile: Results) -> None:
    text = markdown.write_summary(hostile)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {len(board.collect(hostile).columns) + 2}
    assert not [mark for mark in ("@you", "<b>", "`@", "\x1b") if mark in text]


def test_rows_stand_by_name_behind_no_memory_and_who_could_not_run_keeps_one(results: Results) -> None:
    made = board.collect(results)
    assert [row.key for row in made.rows] == ["cold", "keeper", "store", "absent"]
    assert {score.text for score in made.rows[-1].scores} == {"not run"}
    assert table.list_rows(results) == ["keeper", "store", "none", "oracle", "stale_oracle", "cold"]


def test_remembering_nothing_never_reads_as_clean(results: Results) -> None:
    none = results.backends["none"].measures
    stale = table.figure("stale_use", none["stale_use"], none["recall"])
    assert not stale.measured or "recalled nothing" in stale.note
    deleted = table.figure("deleted_from_bytes", none["deleted_from_bytes"], none["recall"])
    assert (deleted.text, deleted.measured) == ("unsupported", False)


def test_every_reason_for_a_missing_number_is_told_once(results: Results) -> None:
    found = board.list_missing(results)
    assert len({(each.word, each.reason, each.backends, each.measures) for each in found}) == len(found)
    told = {(name, backend) for each in found for name in each.measures for backend in each.backends}
    for name, row in results.backends.items():
        for measure, pooled in row.measures.items():
            assert ((measure, name) in told) == bool(pooled.reasons)


def test_what_a_run_cannot_say_is_always_said(results: Results) -> None:
    text = " ".join(points.explain_limits(results))
    assert "the scripted reader follows fixed rules" in text and "with fewer than 10 stories, no interval" in text
    assert points.tell_reach(results) == "With 2 stories, no difference in decisions can be proven."
    assert points.tell_reach(results) in text and points.tell_reach(results) in " ".join(shown(results).split())


# --- which suite ------------------------------------------------------------------------------------------------------


def test_console_and_summary_name_the_suite_of_the_run_and_its_split(results: Results) -> None:
    """Not that of today: the suite is what the run file says."""
    played = with_suite(results, Suite(version="7", digest="d1" * 32, split="dev"))
    assert shown(played).splitlines()[0].rstrip() == "coldwarm 9.9: 2 stories of suite 7, split dev"
    assert markdown.write_summary(played).splitlines()[2].startswith("coldwarm 9.9, suite 7, split dev, 2 stories, ")
    hostile = with_suite(results, Suite(version="\x1b[2J|<b>@you", digest="d1" * 32, split="all"))
    assert "\x1b[2J" not in shown(hostile, force_terminal=True)
    assert not [mark for mark in ("<b>", "@you", "\x1b") if mark in markdown.write_summary(hostile)]


def test_a_run_from_before_runs_named_their_suite_says_nothing_of_it(results: Results) -> None:
    assert results.run.suite is None and table.describe_suite(results) == ""
    assert not [
        text for text in (shown(results), markdown.write_summary(results)) if "suite" in text or "split" in text
    ]


def with_suite(results: Results, suite: Suite) -> Results:
    return results.model_copy(update={"run": results.run.model_copy(update={"suite": suite})})


# --- stories that are too easy ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_where_full_context_dominates_page_and_summary_say_that_the_stories_are_too_easy(results: Results) -> None:
    things = words.join_words([words.label(measure) for measure in rows.DOMINANCE])
    said = (
        "What it is worth to be selective: at noise 0 full_context, which gives back everything, is as good as "
        f"keeper in {things}, and better in at least "
        "one of them. These stories are too easy."
    )
    recall, stale, tokens = (
        Comparison(
            measure=measure, left="full_context", right="keeper", scenarios=2, left_value=0.5, right_value=theirs,
            left_better=0, right_better=0, p=1, adjusted_p=1, verdict="no-difference-shown", detectable="nothing",
        )
        for measure, theirs in zip(rows.DOMINANCE, (0.5, 0.6, 0.5), strict=True)
    )  # fmt: skip
    names = {"full_context": results.backends["none"], "keeper": results.backends["keeper"]}

    def outputs(*compared: Comparison) -> list[str]:
        changed = results.model_copy(update={"comparisons": compared, "backends": names})
        return [" ".join(text.split()) for text in (markdown.write_summary(changed), html.write_page(changed))]

    assert [text.count(said) for text in outputs(recall, stale, tokens)] == [1, 1]
    cheaper = tokens.model_copy(update={"right_value": 0.4})
    assert not [text for text in outputs(recall, stale, cheaper) if "too easy" in text]


PROVEN = (
    "a difference is proven only if at least 6 of them show it and clearly outweigh those that show the opposite."
)  # fmt: skip


def test_a_mined_run_says_how_many_clusters_its_statistics_count(results: Results) -> None:
    assert not any("cluster" in line for line in points.explain_limits(results))
    mined = tuple(story.model_copy(update={"commits": 4}) for story in results.stories)
    said = " ".join(points.explain_limits(results.model_copy(update={"stories": mined})))
    assert "2 stories that 8 commits made. No two tell of one commit" in said and "statistics count 2 clusters" in said


@pytest.mark.parametrize(
    ("stories", "rest"),
    [
        (5, "no difference in decisions can be proven."),
        (6, PROVEN),
        (12, PROVEN),
    ],
)  # fmt: skip
def test_how_many_stories_have_to_show_a_difference_is_said(stories: int, rest: str) -> None:
    rows = {"store": {Way("append", "trusting"): {"decisions_right": [(4, 4)] * stories}}}
    told = points.tell_reach(play(rows, {"decisions_right": [(1, 4)] * stories}))
    assert told == f"With {stories} stories, {rest}"
