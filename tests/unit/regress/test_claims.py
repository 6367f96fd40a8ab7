"""Claims that were registered before a run: what it found of each, and files that are wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from harness import metrics, paths, regress
from harness.compare.rows import Way
from harness.model.results import Results
from harness.regress import RegressError, claims
from harness.report.outputs import page
from tests.support.made_results import Said, play

CLAIM = """
[[claim]]
id = "helps"
says = "More decisions are right with it."
day = 2026-11-20
family = "cold"
measure = "decisions_right"
row = "good"
write = "append"
read = "trusting"
threshold = 0.05
"""
PAIR = CLAIM.replace('"cold"', '"pairs"').replace('row = "good"', 'row = "good"\nthan = "poor"')
DAY = "20261121-101112-abcd"


def made(run: str = DAY) -> Results:
    """Twelve stories: one row better than no memory in all of them, one worse, one equal."""

    def of(hits: int) -> dict[str, list[Said]]:
        return {name: [(hits, 10)] * 12 for name in metrics.DEFINITIONS}

    way = Way("append", "trusting")
    found = play({"good": {way: of(9)}, "poor": {way: of(1)}, "equal": {way: of(5)}}, of(5))
    return found.model_copy(update={"run": found.run.model_copy(update={"id": run})})


def judge(tmp_path: Path, text: str, run: str = DAY) -> Results:
    (file := tmp_path / "claims.toml").write_text(text)
    return regress.judge_claims(made(run), file)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "held"),
        ({'row = "good"': 'row = "equal"'}, "not-shown"),
        ({'row = "good"': 'row = "poor"'}, "other-way"),
        ({'row = "good"': 'row = "absent"'}, "not-measured"),
        ({"threshold = 0.05": "threshold = 1e-9"}, "not-shown"),
        ({"2026-11-20": "2026-11-21"}, "too-late"),
        ({"2026-11-20": "2026-12-01"}, "too-late"),
    ],
)
def test_a_claim_says_what_was_found(tmp_path: Path, changed: dict[str, str], verdict: str) -> None:
    text = CLAIM
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    (found,) = judge(tmp_path, text).claims
    assert found.verdict == verdict


def test_a_pair_is_read_from_the_claims_side(tmp_path: Path) -> None:
    turned = PAIR.replace('row = "good"\nthan = "poor"', 'row = "poor"\nthan = "good"').replace('"helps"', '"turned"')
    (held, other) = judge(tmp_path, PAIR + turned).claims
    assert (held.verdict, other.verdict) == ("held", "other-way")
    assert held.comparison and other.comparison
    assert (held.comparison.right, held.comparison.right_better) == ("good", 12)
    assert (other.comparison.right, other.comparison.right_better) == ("poor", 0)


@pytest.mark.slow
def test_the_page_tells_each_claim_and_that_all_else_was_found_by_looking(tmp_path: Path) -> None:
    text = page.write_page(judge(tmp_path, CLAIM), ())
    told = text.partition('id="claims"')[2].partition("</ul>")[0]
    assert "held" in told and "More decisions are right with it." in told and "found by looking" in told
    assert "better in 0 and 12 of 12 stories" in told
    assert 'id="claims"' not in page.write_page(made(), ())


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("threshold = 0.05", "threshold = 0.2", "threshold: input should be less than or equal to 0.05"),
        ("threshold", "treshold", "treshold: unknown key"),
        ("day = 2026-11-20", 'day = "soon"', "day: input should be a valid date"),
        ('"decisions_right"', '"nothing"', "measure: the family cold compares jobs_done, decisions_right"),
        ('row = "good"', 'row = "good"\nthan = "poor"', "than: the other row, in the family pairs and in no other"),
        ('"append"', '"never"', "write: input should be 'append'"),
        ('family = "cold"', 'family = "writes"', "write: append is what the family writes compares with"),
        ('id = "helps"\n', "", "id: field required"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_claim(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in CLAIM
    with pytest.raises(RegressError, match=f"^[^\n]*claims.toml: claim 1: {complaint}[^\n]*$"):
        judge(tmp_path, CLAIM.replace(old, new, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds \\[\\[claim\\]\\] tables only"),
        ("[claim", "not TOML"),
        (CLAIM + "[other]\n", "holds \\[\\[claim\\]\\] tables only"),
        (CLAIM + CLAIM, "id: two claims are called 'helps'"),
    ],
)
def test_a_file_that_is_none_of_claims_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(RegressError, match=f"^[^\n]*claims.toml: [^\n]*{complaint}[^\n]*$"):
        judge(tmp_path, text)


@pytest.mark.parametrize("run", ["my-run", "20261", "20269921-101112-abcd"])
def test_a_run_that_does_not_say_when_it_began_is_no_ground_for_claims(tmp_path: Path, run: str) -> None:
    with pytest.raises(RegressError, match=f"^the run {run} does not say when it began, [^\n]*$"):
        judge(tmp_path, CLAIM, run)


def test_the_committed_claims_can_be_judged() -> None:
    found = claims.read(paths.ROOT / "reports" / "claims.toml")
    assert len({each.id for each in found}) == len(found) > 3 and all(isinstance(each.day, date) for each in found)
    verdicts: Any = {each.verdict for each in claims.judge(found, made())}
    assert verdicts <= {"too-late", "not-measured"}
