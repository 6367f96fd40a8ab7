"""`report.html`: one file, no network, complete without script.

Every figure leads to its cells, a cell to its timeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness import metrics
from harness.compare.rows import COLD
from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report import (
    answers,
    beside,
    charts,
    costed,
    demanded,
    evidence,
    faulted,
    findings,
    glossary,
    growth,
    links,
    parts,
    scoreboard,
    tables,
    templating,
    trust,
    verdict,
    words,
)
from harness.report.evidence import DrillEvidence, StoryEvidence
from harness.report.timeline import Timelines
from harness.report.worst import LEGEND

STYLES, SCRIPTS = ("style.css", "first.css", "timeline.css"), ("page.js", "unpack.js")
GATES = ("broken", "not-measured", "held")
FAULTS = {each.topic.id: each.case.called for each in metrics.WORDS.values() if each.case and each.case.example}
"""Questions of which one bad case is an example, and what a timeline calls it."""
_STARTED = re.compile(r"(\d{4})(\d\d)(\d\d)-\d{6}-")


def page(results: Results, parts: Iterable[StoryEvidence | DrillEvidence] = ()) -> str:
    """The whole file, with what was made of each story and drill when it was scored."""
    return render(results, evidence.gather(results, parts))


def render(results: Results, seen: evidence.Evidence) -> str:
    """Its policy names the hashes of its own style and script, so nothing else can style or run."""
    style, script = templating.read(STYLES), templating.read(SCRIPTS)
    pools = list(parts.pools(results))
    names = tables.names(results)
    anchors = {cell.id: pool.anchor for pool in pools for cell in pool.cells}
    board = scoreboard.collect(results)
    drilled = trust.collect(results, seen.receipts, links.wanted(results, board)) if results.trust else None
    leads = links.places(results, board, anchors, drilled.links if drilled else {}, seen.timelines)
    said = verdict.judge(results, board)
    held = [tables.pool_cells(results, name) for name in names]
    return (
        templating.environment()
        .get_template("report.html.j2")
        .render(
            results=results,
            style=style,
            style_hash=templating.digest(style),
            script=script,
            script_hash=templating.digest(script),
            started=_day_of(results),
            faults=faulted.statements(results),
            failing=results.beyond(),
            findings=findings.collect(results),
            answers=answers.answers(results),
            gates=_gates(results),
            demanded=demanded.collect(results),
            names=names,
            shown={
                name: tables.show_name(results, name)
                for name in {*names, *(cell.backend or COLD for cell in results.cells)}
            },
            stand_in=tables.stand_in(results),
            groups={name: tables.group(results, name) for name in names},
            anchors=anchors,
            chance=tables.chance(results),
            cannot_say=tables.cannot_say(results),
            conditions=words.conditions(results),
            suite=tables.suite(results),
            told_in_cells=parts.list_told_in_cells(results),
            missing=tables.list_missing(results),
            lacking=findings.list_lacking(results),
            meaning=words.MEANING,
            charts=charts.charts(results, seen.samples),
            levels=growth.list_levels(results, seen.samples),
            sections=list(parts.sections(results, [anchors[cells[0].id] if cells else "cells" for cells in held])),
            layers=list(parts.layers(seen.layers)),
            contrasted=list(results.contrasts[0].measures) if results.contrasts else [],
            contrasts=list(beside.contrasts(results)),
            comparisons=list(beside.comparisons(results)),
            changes=list(beside.changes(results)),
            pools=pools,
            told=seen.timelines,
            example={topic: found for topic, fault in FAULTS.items() if (found := _example(seen.timelines, fault))},
            supports=list(parts.supports(results)),
            trust=drilled,
            board=board,
            verdict=said,
            pieces=[links.split(line, leads) for line in said],
            links=leads,
            linked={*leads.values(), *(gate.cells[0] for gate in results.gates if gate.cells)},
            means={name: each.formula for name, each in {**results.definitions, **results.trust_definitions}.items()},
            units={name: each.unit for name, each in {**results.definitions, **results.trust_definitions}.items()},
            cost=costed.on_page(seen.costs, results.run.prices),
            glossary=glossary.WORDS,
            arrow=parts.ARROW,
            legend=LEGEND,
        )
    )


def _example(told: Timelines, fault: str) -> str | None:
    """The first timeline in full in which this went wrong."""
    return next((each.id for each in told.shown if fault in each.said), None)


def _day_of(results: Results) -> str:
    """The day on which the run began, as its id says it; results hold no clock."""
    found = _STARTED.match(results.run.id)
    return "-".join(found.groups()) if found else ""


def _gates(results: Results) -> list[tuple[str, list[GateVerdict]]]:
    """Verdict -> its gates, the broken first."""
    return [(verdict, [gate for gate in results.gates if gate.verdict == verdict]) for verdict in GATES]
