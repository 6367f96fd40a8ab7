"""Our own error rates: how often a run says what is not so, and how often it finds what is, by simulation.

`python -m benchmarks.errors` writes `benchmarks/results/errors.json` and the tables of `docs/statistics.md` (minutes).
A simulated story is one of the suite as `reports/baseline.json` has it: so many decisions, and the share of them that
rows take right. A row without an effect decides as if without a memory. Where two of its decisions are drawn, one is
often the other: half of them are the very decision of the cold arm, and half are the same under two policies.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from harness import paths
from harness.compare import stats
from harness.model.trial import SCRIPTED_READS

SEED = 20_260_101
STORIES, ROWS, GAINS = (12, 31), (1, 4, 12, 28), (0.1, 0.2, 0.3)
WRITES, READS = 2, len(SCRIPTED_READS)
SAME = 0.5
"""Share of decisions that are the very one of the cold arm, or of the row under its other policies."""
CLOSEST = 8
RUNS = {1: 4000, 4: 1000, 12: 400, 28: 250}
"""Simulated runs by the number of rows; a run of many rows holds many tests."""
FILE = Path(__file__).parent / "results" / "errors.json"
PAGE = paths.ROOT / "docs" / "statistics.md"
HEAD, FOOT = "<!-- error rates, written by python -m benchmarks.errors -->", "<!-- end of error rates -->"
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class StoryShare(NamedTuple):
    """Decisions of a story, and the share that rows take right."""

    decisions: int
    right: float


class SimulatedRun(NamedTuple):
    """Shares of right decisions: of the cold arm by story, of rows by row, write policy, read policy and story."""

    cold: Array
    rows: Array

    def read_alike(self) -> SimulatedRun:
        """The same run of rows that every read policy reads alike, as files without dates and sources are read."""
        return SimulatedRun(self.cold, np.broadcast_to(self.rows[:, :, :1], self.rows.shape))


def read_suite(file: Path = paths.ROOT / "reports" / "baseline.json") -> list[StoryShare]:
    rows = [row["points"] for row in json.loads(file.read_text())["rows"] if row["measure"] == "decisions_right"]
    return [StoryShare(own[0][1], statistics.fmean(hits / of for hits, of in own)) for own in zip(*rows, strict=True)]


def draw_run(
    suite: Sequence[StoryShare], stories: int, gains: Sequence[float], rng: np.random.Generator
) -> SimulatedRun:
    """A run whose rows gain so much on the average over stories, under every policy."""
    drawn = [suite[at] for at in rng.integers(0, len(suite), stories)]
    wrong = 1 - statistics.fmean(each.right for each in suite)
    cold, rows = np.empty(stories), np.empty((len(gains), WRITES, READS, stories))
    for at, (decisions, right) in enumerate(drawn):
        own = rng.random(decisions) < right
        shape = (len(gains), WRITES, READS, decisions)

        def anew(*shape: int, own: Array = own, right: float = right) -> Array:
            return np.where(rng.random(shape) < SAME, own, rng.random(shape) < right)

        row = anew(len(gains), 1, 1, decisions)
        taken = np.where(rng.random(shape) < SAME, row, anew(*shape))
        helped = rng.random((len(gains), 1, 1, decisions)) < np.array(gains)[:, None, None, None] / wrong
        cold[at], rows[:, :, :, at] = own.mean(), (taken | helped).mean(axis=-1)
    return SimulatedRun(cold, rows)


# --- what a run says --------------------------------------------------------------------------------------------------


def judge(differences: Sequence[Array]) -> list[int]:
    """Of one family which are shown: 1 better, -1 worse, 0 no difference."""
    adjusted = stats.holm([find_p(each) for each in differences])
    shown = zip(differences, adjusted, strict=True)
    return [int(np.sign(each.mean())) if p <= stats.ALPHA else 0 for each, p in shown]


def find_p(differences: Array) -> float:
    """Of the sign-flip test; 1 where t is so small that p is far above ALPHA, as most of the time goes into these."""
    spread = differences.std() / len(differences) ** 0.5
    return stats.sign_flip(differences.tolist()) if abs(differences.mean()) > 1.5 * spread else 1.0


def judge_row(made: SimulatedRun, row: int) -> Array:
    """Against no memory: a verdict for each write and read policy, as `comparisons` has the family `cold`."""
    own = made.rows[row]
    return np.array([judge([own[write, read] - made.cold for write in range(WRITES)]) for read in range(READS)]).T


def is_robust(verdicts: Array) -> bool:
    """Whether under some write policy every read policy says the same, and that there is a difference."""
    return any(own[0] and (own == own[0]).all() for own in verdicts)


def is_pair_shown(made: SimulatedRun) -> bool:
    """Whether any pair of rows is shown to differ under one write and one read policy."""
    own = made.rows[:, 0, 0]
    pairs = [own[right] - own[left] for left, right in combinations(range(len(own)), 2)]
    # Holm shows a pair only if it shows the one of the smallest p, which is among those of the largest t.
    pairs.sort(key=lambda each: -abs(each.mean()) / (each.std() or np.inf))
    raw = [find_p(each) for each in pairs[:CLOSEST]]
    return bool(raw) and len(pairs) * min(raw) <= stats.ALPHA


# --- rates ------------------------------------------------------------------------------------------------------------


def count_false_alarms(suite: Sequence[StoryShare], stories: int, rows: int, runs: int) -> dict[str, float]:
    """Of rows that are all as good as no memory."""
    rng = np.random.default_rng((SEED, stories, rows))
    found = [_alarm(draw_run(suite, stories, [0.0] * rows, rng)) for _ in range(runs)]
    return {name: statistics.fmean(each[name] for each in found) for name in found[0]}


def _alarm(made: SimulatedRun) -> dict[str, float]:
    verdicts = [judge_row(made, row) for row in range(len(made.rows))]
    robust = [is_robust(each) for each in verdicts]
    alike = [is_robust(judge_row(made.read_alike(), row)) for row in range(len(made.rows))]
    return {
        "condition": statistics.fmean(float(np.abs(each).mean()) for each in verdicts),
        "row": statistics.fmean(robust),
        "run": float(any(robust)),
        "row, read alike": statistics.fmean(alike),
        "run, read alike": float(any(alike)),
        "pair": float(is_pair_shown(made)),
    }


def count_found(suite: Sequence[StoryShare], stories: int, gain: float, runs: int) -> dict[str, float]:
    """Of a row that gains so much: against no memory under one policy and under all, and against a row without gain
    among so many rows."""
    rng = np.random.default_rng((SEED, stories, int(100 * gain)))
    found = []
    for _ in range(runs):
        made = draw_run(suite, stories, [gain, 0.0], rng)
        verdicts, p = judge_row(made, 0), find_p(made.rows[0, 0, 0] - made.rows[1, 0, 0])
        pairs = {f"pair of {rows}": float(p * rows * (rows - 1) / 2 <= stats.ALPHA) for rows in ROWS[1:]}
        found.append({"condition": float(verdicts[0, 0] > 0), "row": float(is_robust(verdicts)), **pairs})
    return {name: statistics.fmean(each[name] for each in found) for name in found[0]}


def count_covered(suite: Sequence[StoryShare], stories: int, runs: int) -> dict[str, float]:
    """How often an interval holds the true value: of a row's share, and of what it gains over no memory."""
    rng = np.random.default_rng((SEED, stories))
    right = statistics.fmean(each.right for each in suite)
    found = []
    for _ in range(runs):
        made = draw_run(suite, stories, [0.2], rng)
        for name, values, true in (
            ("share", made.cold, right),
            ("difference", made.rows[0, 0, 0] - made.cold, 0.2),
        ):
            bounds = {"": stats.bound_mean(values.tolist()), " by percentile bootstrap": _resample(values, rng)}
            found += [(f"{name}{by}", own[0] <= true <= own[1]) for by, own in bounds.items() if own]
    return {name: statistics.fmean(held for own, held in found if own == name) for name in dict(found)}


def _resample(values: Array, rng: np.random.Generator) -> tuple[float, float]:
    """What coldwarm used before; beside it, to show why it does no more."""
    means = values[rng.integers(0, len(values), (1000, len(values)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def simulate(suite: Sequence[StoryShare], runs: Callable[[int], int]) -> dict[str, Any]:
    return {
        "stories in the suite": len(suite),
        "false alarms": {
            str(n): {str(rows): count_false_alarms(suite, n, rows, runs(rows)) for rows in ROWS} for n in STORIES
        },
        "found": {str(n): {f"{g:g}": count_found(suite, n, g, runs(4)) for g in GAINS} for n in STORIES},
        "covered": {str(n): count_covered(suite, n, runs(4)) for n in STORIES},
        "runs": {str(rows): runs(rows) for rows in ROWS},
    }


# --- the page ---------------------------------------------------------------------------------------------------------


def render(found: Mapping[str, Any]) -> str:
    """The tables of docs/statistics.md."""
    return "\n\n".join("\n".join(own) for own in (_alarms(found), _power(found), _coverage(found)))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---', *['---:'] * (len(head) - 1)])} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _alarms(found: Mapping[str, Any]) -> Iterator[str]:
    yield "**False alarms**, where no row differs from no memory or from another:\n"
    head = ["", "one row, one policy", "one row, its sentence", "its sentence, all read policies alike",
            "some row of the run, its sentence", "some row, all read policies alike", "some pair"]  # fmt: skip
    yield from _table(head, [
        [f"{stories} stories, {rows} {'row' if rows == '1' else 'rows'}",
         *(f"{100 * own[name]:.1f} %" for name in ("condition", "row", "row, read alike", "run", "run, read alike")),
         f"{100 * own['pair']:.1f} %" if rows != "1" else "-"]
        for stories, table in found["false alarms"].items() for rows, own in table.items()
    ])  # fmt: skip


def _power(found: Mapping[str, Any]) -> Iterator[str]:
    yield "**Found**, where a row takes so many more of 100 decisions right:\n"
    head = ["", "against no memory, one policy", "its sentence", *(f"a pair of {rows} rows" for rows in ROWS[1:])]
    yield from _table(head, [
        [f"{stories} stories, {100 * float(gain):.0f} more", *(f"{100 * rate:.0f} %" for rate in own.values())]
        for stories, table in found["found"].items() for gain, own in table.items()
    ])  # fmt: skip


def _coverage(found: Mapping[str, Any]) -> Iterator[str]:
    yield "**Intervals** that hold the true value, of 95 % meant:\n"
    names = list(next(iter(found["covered"].values())))
    yield from _table(["", *names], [
        [f"{stories} stories", *(f"{100 * own[name]:.1f} %" for name in names)]
        for stories, own in found["covered"].items()
    ])  # fmt: skip


def insert(page: str, tables: str) -> str:
    """The page with these tables between its marks."""
    before, _, rest = page.partition(HEAD)
    _, _, after = rest.partition(FOOT)
    return f"{before}{HEAD}\n\n{tables}\n\n{FOOT}{after}"


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    found = simulate(read_suite(), lambda rows: max(2, round(share * RUNS[rows])))
    if share == 1:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(insert(PAGE.read_text(), render(found)))
    print(render(found))


if __name__ == "__main__":
    main()
