"""What `coldwarm compare` prints: regressions first, in 80 columns, and no backend's name steers the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from harness.model.results import Results
from harness.regress import baseline, comparison_table, pairing
from tests.support.made_results import Said, results

GOOD, BAD = (20, 20), (5, 20)
HOSTILE = "\x1b[31mred\u202e[bold]"


def printed(old: Results, new: Results) -> str:
    before, now = baseline.make_baseline(old), baseline.make_baseline(new)
    out = io.StringIO()
    console = Console(file=out, width=80, color_system=None)
    comparison_table.show(pairing.judge_comparability(before, now), now.run, pairing.list_changes(before, now), console)
    assert max(map(len, out.getvalue().splitlines())) <= 80
    return out.getvalue()


def rows(x: Said, y: Said, z: Said) -> Results:
    said = {"x": x, "y": y, "z": z}
    return results({name: {"recall": [each] * 12} for name, each in said.items() if each}, version="1")


def test_regressions_come_first_and_what_did_not_move_is_counted() -> None:
    out = printed(rows(GOOD, BAD, GOOD), rows(BAD, GOOD, None))
    heads = [line for line in out.splitlines() if line.isupper() or line.split(":")[0].isupper()]
    assert heads == ["WORSE", "VANISHED: had a number and has none", "BETTER"]
    assert ["x", "recall", "240/240", "60/240", "-0.75", "0.00098"] in [line.split() for line in out.splitlines()]
    assert "- x, recall: see x-0 and 11 more" in out and "- z, recall: not played in the new run; see z-0" in out
    assert "z 1 -> absent" in out
    same = printed(rows(GOOD, BAD, GOOD), rows(GOOD, BAD, GOOD))
    assert "3 measures of x, y and z did not change." in same and "WORSE" not in same
    assert "Over 12 scenarios this comparison could have shown any change in one direction in 7 of 12" in " ".join(
        same.split()
    )


def test_other_conditions_and_other_stories_are_said_first() -> None:
    old = results({"x": {"recall": [GOOD] * 3}})
    assert "Not comparable: k 5 then, 7 now." in printed(old, results({"x": {"recall": [GOOD] * 3}}, k=7))
    told = printed(old, results({"x": {"recall": [BAD] * 3}}, digests={1: "new"}))
    assert "as their stories changed: 1 scenario (rename/story-01)" in " ".join(told.split())


def test_a_drill_shows_both_counts_with_their_intervals() -> None:
    old, new = (results({"x": {"recall": [GOOD]}}, {"x": {"writes_kept": said}}) for said in (GOOD, BAD))
    out = [line.split() for line in printed(old, new).splitlines()]
    at = next(i for i, line in enumerate(out) if "20/20" in line)
    assert out[at][:4] == ["x", "writes_kept", "(keeping)", "20/20"] and "5/20" in out[at]
    assert " ".join(out[at + 1]) == "(.84 to 1) (.11 to .47)"


def test_a_hostile_name_is_visible_and_harmless() -> None:
    out = printed(results({HOSTILE: {"recall": [GOOD] * 12}}), results({HOSTILE: {"recall": [BAD] * 12}}))
    assert "\x1b" not in out and "\u202e" not in out and "U+001B" in out and "[bold]" in out


def test_a_new_failure_of_a_drill_is_said_first_and_what_varies_says_why() -> None:
    then = {"forgotten_by_every_route": (12, 12), "text_gone_after_churn": (1, 32)}
    now = {"forgotten_by_every_route": (7, 12), "text_gone_after_churn": (0, 32)}
    old, new = (results({"x": {"recall": [GOOD]}}, {"x": said}) for said in (then, now))
    out = " ".join(printed(old, new).split())
    assert "WORSE" in out and "5 failures where there were 0, with the same inputs; see x-deletion-20" in out
    assert "MOVED, and varies by run" in out and "text_gone_after_churn: varies by run (which free pages" in out


def test_a_version_that_nobody_recorded_is_never_the_same() -> None:
    old = results({"x": {"recall": [GOOD]}}, version="")
    assert "Backend versions: x not recorded -> not recorded." in printed(old, old)


def played_by(*programs: str) -> Results:
    made = results({"x": {"recall": [GOOD] * 12}}, version="1.0")
    return made.model_copy(update={"run": made.run.model_copy(update={"programs": programs})})


def test_the_release_of_an_agent_program_that_moved_is_told() -> None:
    said = " ".join(printed(played_by("codex 0.1"), played_by("codex 0.2")).split())
    assert "Backend versions: the same. Agent programs: codex 0.1 -> codex 0.2." in said
    assert "Agent programs: none recorded -> codex 0.2." in printed(played_by(), played_by("codex 0.2"))
    assert "Agent programs: codex 0.1 -> codex 0.1 and codex 0.2." in printed(
        played_by("codex 0.1"), played_by("codex 0.1", "codex 0.2")
    )
    for same in ((), ("codex 0.2",)):
        assert "Agent programs" not in printed(played_by(*same), played_by(*same))
