"""What the logs of a run say: its rows, comparisons, twins and drills, and what could not be read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from harness import metrics
from harness.compare.comparisons import compare_rows
from harness.compare.rows import is_headline_trial, list_ranked, make_contrasts, make_rows, tabulate
from harness.compare.scoring import Frame, LogSummary, Part, Show, TranscriptSummary, score_part, show_nothing
from harness.compare.twins import find_like_oracle, find_twins
from harness.log.events import PROTOCOL
from harness.log.folder import Folder, RunFile
from harness.machine.workers import map_parts
from harness.metrics import broken, trust
from harness.model.cells import Faults
from harness.model.job import Job
from harness.model.results import Conditions, Results, Run, Story
from harness.model.scenario import MINED, Probe
from harness.model.trial import list_policies

S = TypeVar("S")
WORTH = 10_000_000
"""Bytes of logs from which on other processes are worth their start of half a second."""
LARGE = 5000
"""Memories of a trial or a drill whose scoring takes more memory than is left beside what has played them."""


def compute_results(folder: Folder, processes: int = 1) -> Results:
    """Everything that the logs of a run say. Equal logs give equal results, byte for byte.

    Args:
        processes: Score stories and drills side by side; a small run is scored here, unless it has many memories.
    """
    return score_run(folder, show_nothing, processes)[0]


def score_run(folder: Folder, show: Show[S], processes: int = 1) -> tuple[Results, list[S]]:
    """The results of a run, and what `show` makes of each story, then of each drill, in their order, from the one time
    that its logs are read. It is called in other processes.
    """
    file = folder.read()
    stories, drills = folder.list_stories(), folder.list_drills()
    worth = sum(each.path.stat().st_size for own in (*stories, *drills) for each in own) >= WORTH
    parts = [*(("story", own) for own in stories), *(("drill", own) for own in drills)]
    conditions = _read_conditions(file)
    frame = Frame(conditions, _list_rows(file, conditions), len(stories))
    score = partial(score_part, folder.root, frame, show)
    scored, shown = list[Part](), list[S]()
    large = any(trial.noise >= LARGE for trial in file.trials) or any(drill.size >= LARGE for drill in file.drills)
    for part, own in map_parts(score, parts, processes if worth else 1, apart=large):
        scored.append(part)
        shown += own
    cells, played = [cell for each in scored for cell in each.cells], _merge(each.played for each in scored)
    drilled = _merge(each.drilled for each in scored)
    # parts come back in their order: the stories, then the drills
    problems = sorted(line for each in scored[: len(stories)] for line in each.problems)
    unread = [line for each in scored[len(stories) :] for line in each.problems]
    del scored
    cells += [
        metrics.make_unscored(trial, file.unbegun.get(trial.id, "no readable log"))
        for trial in file.trials
        if trial.id not in played
    ]
    cells.sort(key=lambda cell: cell.id)
    rows = make_rows(cells, (log.opened for log in played.values()), conditions)
    ranked = list_ranked(rows)
    twins = find_twins(((log.opened.trial, log.fingerprint) for log in played.values()), ranked)
    # By name, as the digest must not depend on the order of play.
    names = "".join(played[name].sha256 for name in sorted(played))
    # As a resumed run plays again what another protocol left, the newest is that of all; until then of some.
    protocols = [log.opened.protocol for log in played.values()] + [each.protocol for each in drilled.values()]
    results = Results(
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
            programs=tuple(sorted({log.opened.digests.get("program", "") for log in played.values()} - {""})),
            unsealed=sum(log.unsealed for log in played.values()) + sum(each.unsealed for each in drilled.values()),
            problems=(*problems, *unread, *broken.problems([*cells, *(each.cell for each in drilled.values())])),
        ),
        definitions=dict(sorted(metrics.DEFINITIONS.items())),
        stories=tuple(_list_stories(played.values())),
        backends=rows,
        contrasts=tuple(make_contrasts(cells, conditions)),
        cells=tuple(cells),
        comparisons=tuple(compare_rows(tabulate(cells, conditions), ranked, twins)),
        twins=tuple(twins),
        like_oracle=tuple(find_like_oracle(cells, ranked)),
        trust_definitions=dict(sorted(trust.DEFINITIONS.items())) if file.drills else {},
        trust=tuple(
            drilled[trial.id].cell
            if trial.id in drilled
            else trust.make_unscored(trial, file.unbegun.get(trial.id, "no readable transcript"))
            for trial in file.drills
        ),
        faults=tuple(_list_faults([*played.values(), *drilled.values()])),
        calls=_count_calls([*played.values(), *drilled.values()]),
    )
    return results, shown


def _list_rows(file: RunFile, conditions: Conditions) -> frozenset[str]:
    """The backends of which a trial is headlined, as planned."""
    return frozenset(
        trial.backend
        for trial in file.trials
        if trial.backend and is_headline_trial(trial.backend, trial.write_policy, trial.noise, conditions)
    )


def _list_faults(each: Iterable[LogSummary | TranscriptSummary]) -> list[Faults]:
    """Faults by backend, and in it by trial; of those that were planned or played."""
    return sorted((fault for own in each for fault in own.faults), key=lambda fault: (fault.backend, fault.trial))


def _count_calls(each: Iterable[LogSummary | TranscriptSummary]) -> dict[str, int]:
    """Calls of the backends of which some call failed: of the others nobody asks."""
    total, failed = Counter[str](), set[str]()
    for own in each:
        total += own.calls
        failed |= {fault.backend for fault in own.faults if not fault.provoked}
    return {name: total[name] for name in sorted(failed)}


def _merge(parts: Iterable[Mapping[str, S]]) -> dict[str, S]:
    return {name: each for part in parts for name, each in part.items()}


def _read_conditions(file: RunFile) -> Conditions:
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
        headline_write=selection.headline_write,
        headline_read=list_policies(reader)[0],
        undated=selection.undated,
        writer=selection.writer,
        feed=selection.feed,
        clock=selection.clock,
        rounds=selection.rounds,
    )


def _list_stories(logs: Iterable[LogSummary]) -> Iterator[Story]:
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
            commits=len(scenario.changes) if scenario.kind == MINED else 0,
        )
