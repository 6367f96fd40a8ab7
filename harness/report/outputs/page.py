"""`report.html`: one file, no network, complete without script.

Every figure leads to its cells, a cell to its timeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.compare.rows import COLD
from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report import charts, words
from harness.report.model import board, contrasts, drills, evidence, needs, sections, table, ways
from harness.report.model.evidence import DrillEvidence, StoryEvidence
from harness.report.outputs import links, templating
from harness.report.text import points, verdict

STYLES = ("style.css", "first.css", "timeline.css")
SCRIPTS = ("fragment.js", "sorting.js", "board.js", "needs.js", "cells.js", "unpack.js", "search.js", "page.js")
GATES = ("broken", "not-measured", "held")
_STARTED = re.compile(r"(\d{4})(\d\d)(\d\d)-\d{6}-")


def write_page(results: Results, parts: Iterable[StoryEvidence | DrillEvidence] = ()) -> str:
    """The whole file, with what was made of each story and drill when it was scored."""
    return render(results, evidence.gather(results, parts))


def render(results: Results, seen: evidence.Evidence) -> str:
    """Its policy names the hashes of its own style and script, so nothing else can style or run."""
    style, script = templating.read(STYLES), templating.read(SCRIPTS)
    pools = list(sections.pools(results))
    names = table.list_rows(results)
    anchors = {cell.id: pool.anchor for pool in pools for cell in pool.cells}
    made = board.collect(results)
    drilled = drills.collect(results, seen.receipts, links.list_wanted(made)) if results.trust else None
    leads = links.places(results, made, anchors, drilled.links if drilled else {}, seen.timelines)
    lines = verdict.judge(results, made)
    answers = needs.answer(results, made)
    held = [table.list_cells(results, name) for name in names]
    definitions = {**results.definitions, **results.trust_definitions}
    return (
        templating.make_environment()
        .get_template("report.html.j2")
        .render(
            results=results,
            style=style,
            style_hash=templating.digest(style),
            script=script,
            script_hash=templating.digest(script),
            started=_find_day(results),
            faults=table.state_faults(results),
            failing=results.beyond(),
            gates=_group_gates(results),
            demanded=board.collect_demands(results, made),
            names=names,
            shown={
                name: table.show_name(results, name)
                for name in {*names, *(cell.backend or COLD for cell in results.cells)}
            },
            stand_in=table.explain_stand_in(results),
            groups={name: table.group(results, name) for name in names},
            primary=ways.tell_primary(results),
            in_bold=ways.explain_bold(results),
            writes=ways.explain_writes(results),
            ways_heads=sections.SUPPORT_HEADS,
            supported=list(sections.list_supported(results)),
            reads=ways.explain_range(results),
            anchors=anchors,
            chance=table.explain_chance(results),
            cannot_say=points.explain_limits(results),
            conditions=words.describe_conditions(results),
            suite=table.describe_suite(results),
            told_in_cells=sections.list_told_in_cells(results),
            missing=board.list_missing(results),
            lacking=board.explain_cells(made),
            meaning=words.MEANING,
            charts=charts.draw_charts(results, seen.samples),
            levels=contrasts.list_levels(results, seen.samples),
            sections=list(sections.sections(results, [anchors[cells[0].id] if cells else "cells" for cells in held])),
            layers=list(sections.layers(seen.layers)),
            contrasted=list(results.contrasts[0].measures) if results.contrasts else [],
            contrasts=list(contrasts.list_contrasts(results)),
            comparisons=[contrasts.describe(results, each) for each in results.comparisons],
            claims=[
                (each, contrasts.describe(results, each.comparison) if each.comparison else None)
                for each in results.claims
            ],
            parted=contrasts.collect_splits(results),
            changes=list(contrasts.list_changes(results)),
            pools=pools,
            told=seen.timelines,
            supports=list(sections.supports(results)),
            trust=drilled,
            board=made,
            failed=board.FAILED,
            needs=answers,
            choices=needs.list_choices(results, made, answers),
            verdict=lines,
            pieces=[links.split(line, leads) for line in lines],
            rests=[[contrasts.describe(results, each) for each in line.rests] for line in lines],
            links=leads,
            linked={*leads.values(), *(gate.cells[0] for gate in results.gates if gate.cells)},
            means={name: each.formula for name, each in definitions.items()},
            wrong={name: words.describe_fault(each) for name, each in results.trust_definitions.items()},
            units={name: each.unit for name, each in definitions.items()},
            cost=sections.show_costs(seen.costs, results.run.prices),
            glossary=words.GLOSSARY,
            arrow=sections.ARROW,
        )
    )


def _find_day(results: Results) -> str:
    """The day on which the run began, as its id says it; results hold no clock."""
    found = _STARTED.match(results.run.id)
    return "-".join(found.groups()) if found else ""


def _group_gates(results: Results) -> list[tuple[str, list[GateVerdict]]]:
    """Verdict -> its gates, the broken first."""
    return [(verdict, [gate for gate in results.gates if gate.verdict == verdict]) for verdict in GATES]
