"""What a suite proves about itself before anybody believes a run of it: one row a scenario, one line a breach."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness import paths
from harness.compare.comparisons import find_dominated
from harness.compare.rows import DUMP
from harness.machine.workers import map_parts
from harness.model.cells import Cell
from harness.model.dates import count_reused
from harness.model.scenario import MINED
from harness.model.trial import READ_POLICIES
from harness.repo.checks import WorkTrees
from harness.repo.programs import find_missing
from harness.selftest import (
    bounds,
    capture_faults,
    cheats,
    control_plays,
    job_checks,
    overlap,
    pool_baselines,
    separability,
    text_checks,
    transcripts,
)
from harness.selftest.local import PaperWorkTrees
from harness.selftest.proof import Breach, Count, ScenarioProof, Tried
from harness.selftest.work_cache import WorkCache, make_key
from tasks import loader

SOLVED = 0.75
"""The largest share of decisions that one read policy may solve from the full pool."""
MISLED = 0.25
"""The smallest share of decisions of which the newest entry must be wrong."""
ENOUGH = 10
"""Scenarios below which shares are printed, not judged: a few stories are no suite."""


@dataclass(frozen=True)
class ScenarioRow:
    """What was proven of one scenario."""

    scenario: str
    spoken: bool
    checks: Count
    oracle: Count
    stale: Count
    none: Count
    refusal: Count
    texts: Count
    names: Count
    noise: Count
    leaning: overlap.Leaning
    """To which side the questions are worded."""
    heard: transcripts.Heard | None
    """How its transcripts are worded; None: it has none."""
    cold: Count
    open_: pool_baselines.PoolBaseline
    """The full pool of a store that heeds no scopes."""
    scoped: pool_baselines.PoolBaseline
    """The full pool of a store that keeps apart what holds elsewhere."""
    noisy: tuple[Cell, ...]
    """What a run would report of `full_context` and some real backends."""
    told: tuple[separability.ItemRow, ...]
    """All that is written, as a backend is handed it."""
    cheated: cheats.CheatPlayed
    """What stores that drop by kind, source, batch or length reach, and the same store that drops nothing."""
    captured: Mapping[str, capture_faults.Lost]
    """Where each faulty capture loses decisions, if sessions are handed over as they were spoken."""
    tried: Sequence[Tried]
    """Each way to take each decision."""
    unaided: control_plays.DecisionEnds
    """How the decisions end without a memory."""


@dataclass(frozen=True)
class SelfTest:
    """All rows, what must be mended, and what is worth knowing.

    Attributes:
        left_out: Story that was not proven -> the programs that it needs and that are not installed here.
        days: Story -> when an earlier self-test did all of its work; None: some was done now.
    """

    rows: tuple[ScenarioRow, ...]
    breaches: tuple[Breach, ...]
    notes: tuple[Breach, ...]
    chance: pool_baselines.Chance | None
    apart: tuple[separability.Apart, ...] = ()
    gains: tuple[cheats.Gain, ...] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    days: Mapping[str, date | None] = field(default_factory=dict)

    def describe_reused(self) -> str:
        """How many stories had all work done by earlier self-tests, and on which day; empty if none."""
        return count_reused({story: day for story, day in self.days.items() if day}, len(self.days), "stories")


class _Proven(NamedTuple):
    """One scenario, and what its proofs found."""

    row: ScenarioRow
    breaches: tuple[Breach, ...]
    notes: tuple[Breach, ...]
    day: date | None


def prove(
    files: Sequence[Path], fixtures: Path, cache: Path, workers: int | None = None, *, fresh: bool = False
) -> SelfTest:
    """Proves the scenarios of these files, side by side.

    Args:
        fresh: All work is done anew.
    """
    # before the proofs, which take long, though only their results are classified
    if len(files) >= ENOUGH and not all(file.absolute().parent.name == MINED for file in files):
        separability.require_classifier()
    breaches, proofs, left_out = list[Breach](), list[ScenarioProof](), dict[str, Sequence[str]]()
    for file in files:
        if problems := loader.validate(file, fixtures, cache):
            breaches += [_report_broken(file, line) for line in problems]
        else:
            ((scenario, repo),) = loader.load([file], fixtures, cache)
            if missing := find_missing(scenario):
                left_out[scenario.id] = missing
            else:
                proofs.append(ScenarioProof(file, scenario, repo))
    kept = WorkCache(paths.find_proofs(cache) / "stories")
    prove_one = partial(_prove, kept=kept, fresh=fresh)
    proven = list(map_parts(prove_one, proofs, workers or os.cpu_count() or 1, ahead=len(proofs)))
    kept.prune()
    rows = [each.row for each in proven]
    many = len([each for each in rows if each.told]) >= ENOUGH
    apart = separability.measure_separability([each for row in rows for each in row.told]) if many else []
    gains = cheats.compute_gains([row.cheated for row in rows]) if many else []
    drawn = next((found for each in proofs if (found := pool_baselines.estimate_chance(each)) is not None), None)
    breaches += [breach for each in proven for breach in each.breaches]
    breaches += [*judge(rows, drawn), *_check_alike(apart, gains)]
    notes = tuple(note for each in proven for note in each.notes)
    days = {each.row.scenario: each.day for each in proven}
    return SelfTest(tuple(rows), tuple(breaches), notes, drawn, tuple(apart), tuple(gains), left_out, days)


def _prove(proof: ScenarioProof, kept: WorkCache, *, fresh: bool) -> _Proven:
    """Asked for in processes, which end at an interrupt: threads would go on until their scenarios are proven."""
    key = make_key(proof)
    before = None if fresh else kept.find(key)
    work_trees = WorkTrees(before.done if before else {})
    row = prove_scenario(proof, work_trees)
    whole = before is not None and work_trees.done.keys() == before.done.keys()
    if proof.breaches or not whole:
        kept.keep(key, proof, work_trees.done)
    return _Proven(row, tuple(proof.breaches), tuple(proof.notes), before.made if before and whole else None)


def validate(files: Sequence[Path], fixtures: Path, cache: Path) -> list[str]:
    """One line a problem: what the files say, how the rules read their texts, and each check after the right job."""
    find = partial(_find_problems, fixtures=fixtures, cache=cache)
    found = map_parts(find, files, os.cpu_count() or 1, ahead=len(files))
    return [line for lines in found for line in lines]


def _find_problems(file: Path, fixtures: Path, cache: Path) -> list[str]:
    if found := loader.validate(file, fixtures, cache):
        return found
    ((scenario, repo),) = loader.load([file], fixtures, cache)
    if missing := find_missing(scenario):
        return [str(_report_missing(file, missing))]
    proof = ScenarioProof(file, scenario, repo)
    text_checks.check_texts(proof)
    job_checks.try_out(proof, WorkTrees())
    return [str(breach) for breach in proof.breaches]


def _report_missing(file: Path, missing: Sequence[str]) -> Breach:
    return Breach(file, "needs", f"not proven: its tests need {' and '.join(missing)}, not installed here")


def _report_broken(file: Path, line: str) -> Breach:
    key, _, reason = line.removeprefix(f"{file}: ").partition(": ")
    return Breach(file, key, reason)


def prove_scenario(proof: ScenarioProof, work_trees: WorkTrees) -> ScenarioRow:
    """All proofs of one scenario; what does not hold is added to its breaches."""
    # work is believed where it was proven: `judge_checks` looks at the checks themselves
    paper, mined = PaperWorkTrees(), proof.scenario.kind == MINED
    cold = control_plays.play_scenario(proof, None, work_trees)
    right = [end.outcome == "right" for end in cold.ends[None].values()]
    return ScenarioRow(
        proof.scenario.id,
        proof.scenario.spoken,
        checks=job_checks.judge_checks(proof, work_trees),
        oracle=control_plays.check_oracle(proof, work_trees),
        stale=control_plays.check_stale_oracle(proof, work_trees),
        none=control_plays.check_nothing(proof, work_trees, cold),
        refusal=control_plays.check_nothing(proof, work_trees, cold, "refusal"),
        texts=text_checks.check_texts(proof),
        names=text_checks.check_names(proof),
        noise=text_checks.check_noise(proof),
        leaning=overlap.measure_leaning(proof),
        heard=transcripts.measure(proof),
        cold=Count(sum(right), len(right)),
        open_=pool_baselines.measure_pool(proof, paper, scoped=False),
        scoped=pool_baselines.measure_pool(proof, paper, scoped=True),
        noisy=() if mined else tuple(bounds.score_bounds(proof)),
        told=() if mined else tuple(separability.list_items(proof)),
        cheated={} if mined else cheats.score_cheats(proof),
        captured=capture_faults.list_all_lost(proof) if proof.scenario.spoken else {},
        tried=proof.tried,
        unaided=cold.ends[None],
    )


def judge(rows: Sequence[ScenarioRow], drawn: pool_baselines.Chance | None) -> Iterator[Breach]:
    """What must hold of the suite as a whole."""
    if drawn is not None and not drawn.fair:
        yield Breach(
            "suite", "random", f"an answer was drawn {drawn.drawn} times; {drawn.k} of {drawn.n} by chance are "
            f"{drawn.expected:.0%}",
        )  # fmt: skip
    spoken = [row.captured for row in rows if row.captured and not row.scenario.startswith(f"{MINED}/")]
    yield from (Breach("suite", name, why) for name, why in capture_faults.judge(spoken, len(spoken) >= ENOUGH))
    if len(rows) < ENOUGH or all(each.scenario.startswith(f"{MINED}/") for each in rows):
        return  # nobody wrote traps into a history
    for name, pools in (("full pool", [each.open_ for each in rows]), ("scoped pool", [each.scoped for each in rows])):
        for policy in READ_POLICIES:
            solved = sum_counts(pool.solved[policy] for pool in pools)
            if share(solved) > SOLVED:
                yield Breach("suite", policy, f"solves {share(solved):.0%} of the decisions from the {name}; "
                             f"at most {SOLVED:.0%} may be")  # fmt: skip
        wrong = sum_counts(pool.newest_wrong for pool in pools)
        if share(wrong) < MISLED:
            yield Breach("suite", "newest", f"the newest entry of the {name} is wrong in {share(wrong):.0%} of the "
                         f"decisions; at least {MISLED:.0%} are needed")  # fmt: skip
    yield from (Breach("suite", "questions", why) for why in overlap.judge(each.leaning for each in rows))
    heard = [each.heard for each in rows if each.heard]
    yield from (Breach("suite", f"transcripts.{key}", why) for key, why in transcripts.judge(heard))
    for key, what in (("head_misleads", "the source at HEAD misleads"), ("only_memory", "only memory knows")):
        if not any(getattr(each.open_, key).hits for each in rows):
            yield Breach("suite", key, f"there is no decision in which {what}")
    dominated = find_dominated(bounds.compare_dominance([cell for each in rows for cell in each.noisy]))
    judged = (bounds.RANKED,) if any(each.spoken for each in rows) else bounds.REAL
    for name in (each for each in dominated if each in judged):
        yield Breach("suite", DUMP, f"is as good as {name} or better in recall within the budget, stale "
                     f"exposure and tokens at noise {bounds.NOISE}; it must lose in one of them")  # fmt: skip


def _check_alike(apart: Iterable[separability.Apart], gains: Iterable[cheats.Gain]) -> Iterator[Breach]:
    """What may not be told apart by how it is told, and who may not gain by trying."""
    for each in apart:
        if each.open:
            yield Breach("suite", each.kind, f"is told from facts by metadata and style alone, area under the curve "
                         f"{each.area:.2f}; at most {separability.BOUNDS[each.kind]:.2f} may be")  # fmt: skip
    for gain in gains:
        if gain.pays:
            yield Breach("suite", gain.cheat, f"a store that keeps no more gains {gain.gain:.2f} in {gain.measure}; "
                         f"at most {cheats.BOUND:.2f} may be")  # fmt: skip


def sum_counts(counts: Iterable[Count]) -> Count:
    """Cases of several counts, put together."""
    pairs = list(counts)
    return Count(sum(each.hits for each in pairs), sum(each.of for each in pairs))


def share(count: Count) -> float:
    """0 where there are no cases."""
    return count.hits / count.of if count.of else 0.0
