"""From cells to statements: rows under the primary conditions, paired comparisons, what the run cannot show.

The unit is the scenario. Within a scenario cells (seeds) are averaged; two rows are compared on the scenarios that
both measured, by a sign-flip test of the mean difference. Holm adjusts within one measure and write policy over all
their pairs.
"""

from __future__ import annotations

import hashlib
import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import fsum
from typing import TypeVar

from harness import metrics
from harness.compare import stats
from harness.compare.scoring import Frame, LogSummary, Part, Show, TranscriptSummary, score_part, show_nothing
from harness.log.events import PROTOCOL
from harness.log.folder import Folder, RunFile
from harness.machine.processes import map_parts
from harness.metrics import broken, trust
from harness.metrics.metric import wilson
from harness.model.backend import Backend
from harness.model.results import (
    Cell,
    Comparison,
    Conditions,
    Contrast,
    Faults,
    Pooled,
    Results,
    Row,
    Run,
    Story,
)
from harness.model.scenario import Job, Probe
from harness.model.trial import Interval, Measured, NotMeasured, ReadPolicy, WritePolicy, list_policies

S = TypeVar("S")
WORTH = 10_000_000
"""Bytes of logs from which on other processes are worth their start of half a second."""
LARGE = 5000
"""Memories of a trial or a drill whose scoring takes more memory than is left beside what has played them."""
COLD = "cold"
ENOUGH = 10
"""Scenarios below which a row carries no interval."""
ALPHA = 0.05
BETWEEN = metrics.list_placed(lambda words: words.between.place if words.between else None)
"""Measures on which backends are compared with each other. Whether a source is right or bytes are gone is no draw: such
facts are counted, and have no p."""
CONTRASTED = metrics.list_placed(lambda words: words.contrasted)
"""Measures that are shown for every policy."""
LOOKED_UP = metrics.list_placed(
    lambda words: words.between.place if words.between and words.between.looked_up else None
)
"""Measures on which backends are compared under every other write policy, too."""
DUMP = "full_context"
"""The one control that is compared: knowing everything is what a backend is bought to do better than."""
DOMINANCE = metrics.list_placed(lambda words: words.decisive)
"""Measures on one of which knowing everything must lose against each backend, else the stories tell nothing of it. All
of the budget counts, as it does for what is stale: whoever reads a whole file reads more than its first k lines."""
GOLD = ("oracle", "stale_oracle")
"""Controls that play once a scenario, without noise and by one policy."""
AGAINST_COLD = metrics.list_placed(lambda words: words.between.place if words.between and words.between.cold else None)
"""Measures that the cold arm has too."""


def results(folder: Folder, processes: int = 1) -> Results:
    """Everything that the logs of a run say. Equal logs give equal results, byte for byte.

    Args:
        processes: Score stories and drills side by side; a small run is scored here, unless it has many memories.
    """
    return results_and(folder, show_nothing, processes)[0]


def results_and(folder: Folder, show: Show[S], processes: int = 1) -> tuple[Results, list[S]]:
    """The same, and what `show` makes of each story, then of each drill, in their order, from the one time that its
    logs are read. It is called in other processes."""
    file = folder.read()
    told, drills = folder.list_stories(), folder.list_drills()
    worth = sum(each.path.stat().st_size for own in (*told, *drills) for each in own) >= WORTH
    parts = [*(("story", own) for own in told), *(("drill", own) for own in drills)]
    conditions = _conditions(file)
    frame = Frame(conditions, _list_rows(file, conditions), len(told))
    score = partial(score_part, folder.root, frame, show)
    scored, shown = list[Part](), list[S]()
    large = any(trial.noise >= LARGE for trial in file.trials) or any(drill.size >= LARGE for drill in file.drills)
    for part, own in map_parts(score, parts, processes if worth else 1, apart=large):
        scored.append(part)
        shown += own
    cells, played = [cell for each in scored for cell in each.cells], _merge(each.played for each in scored)
    drilled = _merge(each.drilled for each in scored)
    problems = sorted(line for each in scored[: len(told)] for line in each.problems)
    unread = [line for each in scored[len(told) :] for line in each.problems]
    del scored
    cells += [metrics.make_unscored(trial, "no readable log") for trial in file.trials if trial.id not in played]
    cells.sort(key=lambda cell: cell.id)
    rows = _rows(cells, played.values(), conditions)
    names = "".join(played[name].sha256 for name in sorted(played))
    # As a resumed run plays again what another protocol left, the newest is that of all; until then of some.
    protocols = [log.opened.protocol for log in played.values()] + [each.protocol for each in drilled.values()]
    made = Results(
        run=Run(
            id=file.id,
            version=file.version,
            commit=file.commit,
            dirty=file.dirty,
            command=file.command,
            conditions=conditions,
            protocol=max(protocols, default=PROTOCOL),
            suite=file.suite,
            shard=file.shard,
            missing=file.missing,
            logs=hashlib.sha256(names.encode()).hexdigest(),
            unplayed=file.unplayed,
            allowed_faults=file.allowed_faults,
            backends_contained=file.backends_contained,
            checks_contained=file.checks_contained,
            reused=file.reused,
            prices=file.prices,
            unsealed=sum(log.unsealed for log in played.values()) + sum(each.unsealed for each in drilled.values()),
            problems=(*problems, *unread, *broken.problems([*cells, *(each.cell for each in drilled.values())])),
        ),
        definitions=dict(sorted(metrics.DEFINITIONS.items())),
        stories=tuple(_stories(played.values())),
        backends=rows,
        contrasts=tuple(_contrasts(cells, conditions)),
        cells=tuple(cells),
        comparisons=tuple(comparisons(cells, rows, conditions)),
        trust_definitions=dict(sorted(trust.DEFINITIONS.items())) if file.drills else {},
        trust=tuple(
            drilled[trial.id].cell if trial.id in drilled else trust.make_unscored(trial, "no readable transcript")
            for trial in file.drills
        ),
        faults=tuple(_faults([*played.values(), *drilled.values()])),
    )
    return made, shown


def _list_rows(file: RunFile, conditions: Conditions) -> frozenset[str]:
    """The backends of which a trial is headlined, as planned."""
    return frozenset(
        trial.backend
        for trial in file.trials
        if trial.backend
        and trial.write_policy == conditions.headline_write
        and (trial.noise == conditions.headline_noise or trial.backend in GOLD)
    )


def _faults(each: Iterable[LogSummary | TranscriptSummary]) -> list[Faults]:
    """By backend, and in it by trial; of those that were planned or played."""
    return sorted((fault for own in each for fault in own.faults), key=lambda fault: (fault.backend, fault.trial))


def _merge(parts: Iterable[Mapping[str, S]]) -> dict[str, S]:
    return {name: each for part in parts for name, each in part.items()}


def _conditions(file: RunFile) -> Conditions:
    selection, reader = file.selection, file.trials[0].reader if file.trials else ""
    return Conditions(
        k=selection.k,
        budget=selection.budget,
        reader=reader,
        embedder=file.embedder,
        tokens=file.tokens,
        chat=file.chat,
        seeds=selection.seeds,
        noise=selection.noise,
        headline_noise=selection.headline_noise,
        headline_read=list_policies(reader)[0],
        undated=selection.undated,
        writer=selection.writer,
    )


def _stories(logs: Iterable[LogSummary]) -> Iterator[Story]:
    by_id = {log.scenario.id: log for log in logs}
    for name in sorted(by_id):
        log, scenario = by_id[name], by_id[name].scenario
        jobs = [step for _, step in scenario.steps() if isinstance(step, Job)]
        yield Story(
            id=scenario.id,
            kind=scenario.kind,
            version=scenario.version,
            title=scenario.title,
            digest=log.opened.digests["scenario"],
            fixture=str(scenario.fixture),
            scope=scenario.scope,
            facts=len(scenario.facts),
            sessions=len(scenario.sessions),
            probes=sum(isinstance(step, Probe) for _, step in scenario.steps()),
            jobs=len(jobs),
            decisions=sum(len(job.decisions) for job in jobs),
        )


# --- rows ---------------------------------------------------------------------------------------------------------


def headline(cell: Cell, conditions: Conditions) -> bool:
    """Whether a cell counts for its row: one noise level, append, trusting. Controls with gold play without noise."""
    if cell.arm == "cold":
        return True
    at_noise = cell.noise == conditions.headline_noise or cell.backend in GOLD
    return at_noise and (cell.write_policy, cell.read_policy) == (conditions.headline_write, conditions.headline_read)


def _rows(cells: Sequence[Cell], logs: Iterable[LogSummary], conditions: Conditions) -> dict[str, Row]:
    cards: dict[str, Backend] = {
        log.opened.trial.backend: log.opened.backend for log in logs if log.opened.trial.backend and log.opened.backend
    }
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if headline(cell, conditions):
            groups[cell.backend or COLD].append(cell)
    return {
        name: Row(
            backend=cards.get(name),
            control=name == COLD or (name in cards and cards[name].control),
            measures={measure: pool_cells(measure, groups[name]) for measure in sorted(metrics.DEFINITIONS)},
        )
        for name in sorted(groups)
    }


def _contrasts(cells: Sequence[Cell], conditions: Conditions) -> Iterator[Contrast]:
    """How each backend fares under every policy and noise level that was played."""
    groups: dict[tuple[str, WritePolicy, ReadPolicy, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.backend and cell.write_policy and cell.read_policy and cell.backend not in GOLD:
            groups[cell.backend, cell.write_policy, cell.read_policy, cell.noise].append(cell)
    for (backend, write, read, noise), chosen in sorted(groups.items()):
        yield Contrast(
            backend=backend,
            write_policy=write,
            read_policy=read,
            noise=noise,
            primary=headline(chosen[0], conditions),
            measures={name: pool_cells(name, chosen) for name in CONTRASTED},
        )


def pool_cells(name: str, cells: Sequence[Cell]) -> Pooled:
    """One measure over scenarios; what was not measured is counted by word and says why."""
    # Where no job was done, tokens were spent all the same: a ratio is of the sums.
    if name in metrics.RATIOS and (ratio := _ratio(*metrics.RATIOS[name], cells)):
        return ratio
    measured = {cell.id: m for cell in cells if isinstance(m := cell.measures.get(name), Measured)}
    missed = [m for cell in cells if isinstance(m := cell.measures.get(name), NotMeasured)]
    words = Counter(m.status for m in missed)
    values = list(_by_scenario(name, cells).values())
    counted = [m for m in measured.values() if m.hits is not None and m.of is not None]
    return Pooled(
        value=statistics.fmean(values) if values else None,
        hits=sum(m.hits or 0 for m in counted) if counted else None,
        of=sum(m.of or 0 for m in counted) if counted else None,
        scenarios=len(values),
        at_least=any(m.known == "at-least" for m in measured.values()),
        interval=_interval(values, share=bool(counted)) if len(values) >= ENOUGH else None,
        unsupported=words["unsupported"],
        not_applicable=words["not-applicable"],
        failed=words["failed"],
        not_run=words["not-run"],
        reasons=tuple(dict.fromkeys(m.reason for m in missed)),
        cells=tuple(cell.id for cell in cells),
    )


def _ratio(top: str, bottom: str, cells: Sequence[Cell]) -> Pooled | None:
    """The sum of one measure over the hits of another, of cells that have both; None if there are no hits."""
    parts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    least = False
    for cell in cells:
        above, below = cell.measures.get(top), cell.measures.get(bottom)
        if isinstance(above, Measured) and isinstance(below, Measured) and below.hits is not None:
            parts[cell.scenario].append((above.value, below.hits))
            least = least or above.known == "at-least"
    sums = [(fsum(a for a, _ in own), fsum(b for _, b in own)) for own in parts.values()]
    total, hits = fsum(a for a, _ in sums), fsum(b for _, b in sums)
    if not hits:
        return None
    # Resampled upside down, as a resample may hold no hit; then the upper end is open, and no interval is given.
    low, high = stats.bootstrap_ratio([b for _, b in sums], [a for a, _ in sums]) if len(sums) >= ENOUGH else (0.0, 0.0)
    return Pooled(
        value=total / hits,
        of=int(hits),
        scenarios=len(sums),
        at_least=least,
        interval=Interval(low=1 / high, high=1 / low, method="bootstrap-95 over scenarios") if low else None,
        not_run=len(cells) - sum(map(len, parts.values())),
        cells=tuple(cell.id for cell in cells),
    )


def _interval(values: Sequence[float], *, share: bool) -> Interval:
    """Resampled over scenarios; where all of them agree on none or all, resampling would claim to be certain."""
    if share and set(values) in ({0.0}, {1.0}):
        bound = wilson(round(sum(values)), len(values))
        return bound.model_copy(update={"method": "wilson-95 over scenarios"})
    low, high = stats.bootstrap(values)
    return Interval(low=low, high=high, method="bootstrap-95 over scenarios")


def _by_scenario(name: str, cells: Iterable[Cell]) -> dict[str, float]:
    """Scenario -> the mean of its measured cells."""
    found: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        if isinstance(measure := cell.measures.get(name), Measured):
            found[cell.scenario].append(measure.value)
    return {scenario: statistics.fmean(values) for scenario, values in sorted(found.items())}


# --- comparisons --------------------------------------------------------------------------------------------------


def comparisons(cells: Sequence[Cell], rows: Mapping[str, Row], conditions: Conditions) -> Iterator[Comparison]:
    """Of every pair of rows under the primary conditions; of decisions under each other write policy, too."""
    ranked = [name for name, row in rows.items() if not row.control or name == DUMP]
    primary = conditions.headline_write
    for write in sorted({cell.write_policy or primary for cell in cells}, key=lambda each: (each != primary, each)):
        alike = conditions.model_copy(update={"headline_write": write})
        counted = [cell for cell in cells if headline(cell, alike)]
        for measure in dict.fromkeys((*BETWEEN, *DOMINANCE)) if write == primary else LOOKED_UP:
            pairs = [pair for pair in itertools.combinations(ranked, 2) if measure in BETWEEN or DUMP in pair]
            if measure in AGAINST_COLD and COLD in rows:
                pairs += [(COLD, name) for name in ranked]
            yield from (each.model_copy(update={"write_policy": write}) for each in family(measure, pairs, counted))


def family(measure: str, pairs: Sequence[tuple[str, str]], cells: Sequence[Cell]) -> list[Comparison]:
    """All pairs of one measure, adjusted together. A pair without a common scenario is left out."""
    values = {
        name: _by_scenario(measure, [c for c in cells if (c.backend or COLD) == name]) for name in {*sum(pairs, ())}
    }
    paired = []
    for left, right in pairs:
        common = sorted(values[left].keys() & values[right].keys())
        if common:
            paired.append((left, right, [(values[left][each], values[right][each]) for each in common]))
    raw = [stats.sign_flip([b - a for a, b in rows]) for _, _, rows in paired]
    return [
        _comparison(measure, left, right, rows, p, adjusted, len(paired))
        for (left, right, rows), p, adjusted in zip(paired, raw, stats.holm(raw), strict=True)
    ]


def _comparison(
    measure: str, left: str, right: str, rows: Sequence[tuple[float, float]], p: float, adjusted: float, family: int
) -> Comparison:
    sign = -1 if metrics.DEFINITIONS[measure].better == "lower" else 1
    difference = statistics.fmean(sign * (b - a) for a, b in rows)
    shown = adjusted <= ALPHA
    return Comparison(
        measure=measure,
        left=left,
        right=right,
        scenarios=len(rows),
        left_value=statistics.fmean(a for a, _ in rows),
        right_value=statistics.fmean(b for _, b in rows),
        left_better=sum(sign * (b - a) < 0 for a, b in rows),
        right_better=sum(sign * (b - a) > 0 for a, b in rows),
        p=p,
        adjusted_p=adjusted,
        verdict="no-difference-shown" if not shown else "right-better" if difference > 0 else "left-better",
        detectable=_detectable(len(rows), family),
        able=stats.sweep(family, ALPHA) <= len(rows),
        interval=_interval([b - a for a, b in rows], share=False) if len(rows) >= ENOUGH else None,
    )


def find_dominated(comparisons: Iterable[Comparison]) -> list[str]:
    """The backends that `full_context` dominates, by name: on every measure of `DOMINANCE` its mean is as good over
    the scenarios that both measured, and on one it is better. Where one of these was not compared, nothing is said.
    """
    leads: dict[str, list[float]] = defaultdict(list)
    for each in comparisons:
        if each.measure in DOMINANCE and DUMP in (each.left, each.right):
            lead = each.left_value - each.right_value if each.left == DUMP else each.right_value - each.left_value
            better = metrics.DEFINITIONS[each.measure].better
            leads[each.right if each.left == DUMP else each.left].append(-lead if better == "lower" else lead)
    return sorted(name for name, own in leads.items() if len(own) == len(DOMINANCE) and min(own) >= 0 < max(own))


def _detectable(pairs: int, family: int) -> str:
    """What this many scenarios could have shown at all, after adjusting for the family."""
    needed = stats.sweep(family, ALPHA)
    if needed > pairs:
        least = min(1.0, family * stats.smallest_p(pairs))
        return f"nothing: with {pairs} scenarios the adjusted p cannot fall below {least:.2g}"
    return f"a difference in one direction in {needed} of {pairs} scenarios, and none in the other"
