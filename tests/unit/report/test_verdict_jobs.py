"""What the verdict says of jobs that a model does by steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.compare.rows import COLD
from harness.model.trial import Measured
from harness.report.model import board
from harness.report.text import verdict
from tests.support.made_results import HEADLINE, Said, play

Rows = Mapping[str, Mapping[str, Sequence[Said]]]


def judge(rows: Rows, reader: str = "agent:x@m", rounds: int = 1) -> str:
    made = play({name: {HEADLINE: own} for name, own in rows.items() if name != COLD}, rows[COLD])
    held = made.run.conditions.model_copy(update={"reader": reader, "rounds": rounds})
    made = made.model_copy(update={"run": made.run.model_copy(update={"conditions": held})})
    return "\n".join(each.text for each in verdict.judge(made, board.collect(made)))


def test_rounds_until_green_are_told_of_each_row() -> None:
    own: Mapping[str, Sequence[Said]] = {
        "decisions_right": [(2, 5), (4, 5)],
        "rounds_until_done": [3, Measured(value=4, known="at-least")],
        "jobs_done_corrected": [(2, 2), (1, 2)],
        "repeated_corrections": [(1, 1), "not-applicable"],
        "tokens_of_rounds": [40_000, 20_000],
    }
    said = judge({"bm25": own, "cold": {"decisions_right": [(0, 5), (0, 5)]}}, rounds=3)
    assert (
        "Until green with bm25: at least 3.50 rounds a job, 3 of 4 jobs done, 1 of 1 corrections repeated, "
        "30,000 tokens a story." in said
    )
    assert "Until green without memory" not in said


def test_jobs_that_were_not_ended_are_told_by_arm() -> None:
    rows: Rows = {
        name: {"decisions_right": [(5, 5)], "jobs_unfinished": [(hits, 2)]}
        for name, hits in (("bm25", 0), ("chroma", 2), ("cold", 1))
    }
    told = "ended, and that so are not done: 2 of 2 with chroma, 1 of 2 without memory. What they got right counts"
    assert told in judge(rows) and "Jobs that" not in judge(rows, "scripted")
    rows = {**rows, "cold": {"decisions_right": [(5, 5)], "jobs_unfinished": [(0, 2)]}}
    assert "2 of 2 with chroma, 0 of 2 without memory." in judge(rows), "cold stands beside it"


def test_what_the_mere_presence_of_a_memory_did_stands_beside_cold() -> None:
    rows: Rows = {
        name: {"decisions_right": [(hits, 5)]}
        for name, hits in (("bm25", 5), ("placebo", 1), ("protocol", 2), ("cold", 0))
    }
    assert (
        "The mere presence of a memory: 0 of 5 decisions are right without one, 1 of 5 with notes that no story "
        "mentions (placebo) and 2 of 5 with one note on how to use an empty memory (protocol)." in judge(rows)
    )
    assert "mere presence" not in judge({name: rows[name] for name in ("bm25", "cold")})
