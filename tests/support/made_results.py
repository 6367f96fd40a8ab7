"""Results made of numbers alone: backends x measures x scenarios, and drills, for what is computed from results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import metrics
from harness.adapter import Scope
from harness.compare.comparisons import compare_rows
from harness.compare.rows import COLD, GOLD, Way, pool_cells, tabulate
from harness.compare.twins import find_like_oracle
from harness.metrics import trust
from harness.model.backend import Backend
from harness.model.cells import Cell, TrustCell
from harness.model.results import Conditions, Contrast, Results, Row, Run, Story, TwinGroup
from harness.model.trial import Measure, Measured, NotMeasured

Said = Measure | tuple[int, int] | float | str | None
"""A measure; hits and cases; a number; a word for there being none; or None where no cell is."""


def measure(said: Said) -> Measure:
    if isinstance(said, tuple):
        return Measured(value=said[0] / said[1], hits=said[0], of=said[1])
    if isinstance(said, (int, float)):
        return Measured(value=said)
    if isinstance(said, str):
        return NotMeasured.model_validate({"status": said, "reason": f"why it is {said}"})
    assert said is not None
    return said


def results(
    rows: Mapping[str, Mapping[str, Sequence[Said]]],
    drills: Mapping[str, Mapping[str, Said]] | None = None,
    *,
    run: str = "a-run",
    version: str = "1",
    digests: Mapping[int, str] | None = None,
    size: int = 20,
    **conditions: Any,
) -> Results:
    """rows: backend -> measure -> one for each scenario. drills: backend -> measure, each in a cell of its drill."""
    cells = [_cell(name, at, own) for name, own in rows.items() for at in range(_stories(own)) if _has(own, at)]
    held = Conditions.model_validate(
        {
            "k": 5, "budget": 800, "reader": "scripted", "embedder": "e", "tokens": "t", "seeds": (1,), "noise": (0,),
            "headline_noise": 0, **conditions,
        }
    )  # fmt: skip
    stories = range(max(map(_stories, rows.values()), default=0))
    return Results(
        run=Run(id=run, version="9", commit=None, dirty=None, command="c", logs="0", conditions=held),
        definitions=dict(metrics.DEFINITIONS),
        stories=tuple(_story(at, (digests or {}).get(at, "d")) for at in stories),
        backends={
            name: Row(
                backend=Backend(name=name, version=version, support={}),
                control=False,
                measures={each: pool_cells(each, [cell for cell in cells if cell.backend == name]) for each in own},
            )
            for name, own in rows.items()
        },
        contrasts=(),
        cells=tuple(cells),
        comparisons=(),
        trust_definitions=dict(trust.DEFINITIONS),
        trust=tuple(cell for name, own in (drills or {}).items() for cell in _drills(name, own, size)),
    )  # fmt: skip


Played = Mapping[Way, Mapping[str, Sequence[Said]]]
"""Write and read policy -> measure -> one for each scenario."""
HEADLINE = Way("append", "trusting")


def play(
    rows: Mapping[str, Played],
    cold: Mapping[str, Sequence[Said]] | None = None,
    oracle: Mapping[str, Sequence[Said]] | None = None,
    drills: Mapping[str, Mapping[str, Said]] | None = None,
    twins: Sequence[TwinGroup] = (),
) -> Results:
    """Rows under many policies beside no memory and the best possible one, compared as a run's are."""
    headlines = {name: own.get(HEADLINE, {}) for name, own in rows.items()}
    beside = {name: own for name, own in ((COLD, cold), (GOLD[0], oracle)) if own}
    played = results({name: own for name, own in {**headlines, **beside}.items() if own}, drills)
    held = played.run.conditions
    cells = [
        ((name, way), _place(_cell(name, at, own), way))
        for name, ways in ({**rows, **{name: {HEADLINE: own} for name, own in beside.items()}}).items()
        for way, own in ways.items()
        for at in range(_stories(own))
        if _has(own, at)
    ]
    every = [cell for _, cell in cells]
    ranked = sorted(name for name in rows if name in played.backends)
    backends = {
        name: row.model_copy(update={"control": name in beside, "backend": None if name == COLD else row.backend})
        for name, row in played.backends.items()
    }
    contrasts = [
        Contrast(
            backend=name, write_policy=way.write, read_policy=way.read, noise=0, primary=way == HEADLINE,
            measures={each: pool_cells(each, [c for known, c in cells if known == (name, way)]) for each in own},
        )
        for name in ranked
        for way, own in rows[name].items()
    ]  # fmt: skip
    return played.model_copy(
        update={
            "cells": tuple(every), "contrasts": tuple(contrasts), "backends": backends, "twins": tuple(twins),
            "comparisons": tuple(compare_rows(tabulate(every, held), ranked, twins)),
            "like_oracle": tuple(find_like_oracle(every, ranked)),
        }
    )  # fmt: skip


def _place(cell: Cell, way: Way) -> Cell:
    """The cell under other policies than the headline's; of no memory, under none."""
    if cell.backend == COLD:
        none = {"backend": None, "arm": "cold", "write_policy": None, "read_policy": None}
        return cell.model_copy(update=none)
    name = cell.id if way == HEADLINE else f"{cell.id}-{way.write}-{way.read}"
    return cell.model_copy(update={"id": name, "trial": name, "write_policy": way.write, "read_policy": way.read})


def _stories(own: Mapping[str, Sequence[Said]]) -> int:
    return max(map(len, own.values()), default=0)


def _has(own: Mapping[str, Sequence[Said]], at: int) -> bool:
    return any(said[at] is not None for said in own.values())


def _cell(backend: str, at: int, own: Mapping[str, Sequence[Said]]) -> Cell:
    return Cell(
        id=f"{backend}-{at}", trial=f"{backend}-{at}", backend=backend, scenario=f"rename/story-{at:02}", kind="rename",
        arm="warm", write_policy="append", read_policy="trusting", noise=0, seed=1, reader="scripted", k=5, pool=9,
        status="complete", log="l", log_sha256="0",
        measures={name: measure(said[at]) for name, said in own.items() if said[at] is not None},
    )  # fmt: skip


def _story(at: int, digest: str) -> Story:
    return Story(
        id=f"rename/story-{at:02}", kind="rename", version=1, title="t", digest=digest, fixture="f",
        scope=Scope(repo="r"), facts=1, sessions=1, probes=1, jobs=1, decisions=1,
    )  # fmt: skip


def _drills(backend: str, own: Mapping[str, Said], size: int) -> Iterator[TrustCell]:
    """The measures of a drill in one cell."""
    drills = {each.definition.name: each.drill for each in trust.METRICS}
    for drill in dict.fromkeys(drills[name] for name in own):
        yield TrustCell(
            id=f"{backend}-{drill}-{size}", backend=backend, drill=drill, size=size, seed=1, k=5, status="complete",
            transcript="t", transcript_sha256="0",
            measures={name: measure(said) for name, said in own.items() if drills[name] == drill},
        )  # fmt: skip
