"""The rows of a run in the one order of every table, their names, and a measure of one of them as a table shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness import metrics
from harness.compare.rows import COLD
from harness.metrics.recall import CHANCE
from harness.model.cells import Cell
from harness.model.results import Pooled, Results, Row
from harness.model.trial import FED
from harness.report import words

Group = Literal["ranked", "control", "cold"]
GROUPS: tuple[Group, ...] = ("ranked", "control", "cold")
STAND_IN = "\u2021"
"""Stands beside the name of a backend whose chat calls nobody's model answered in earnest."""


@dataclass(frozen=True)
class Figure:
    """A number as it is shown, what stands beside it, and whether there is one."""

    text: str
    note: str = ""
    measured: bool = True
    why: str = ""
    cells: tuple[str, ...] = ()


def figure(name: str, pooled: Pooled | None, recall: Pooled | None = None) -> Figure:
    """`recall` of the same row: a clean zero is no merit where nothing was recalled."""
    if pooled is None:
        return Figure(words.NOT_MEASURED["not-run"], measured=False, why="not a measure of this version")
    note = words.format_beside(pooled)
    if metrics.words_of(name).clean_if_zero and pooled.value == 0 and recall is not None and not recall.value:
        note = f"{words.NO_MERIT}, {note}" if note else words.NO_MERIT
    why = "; ".join(words.make_visible(reason, 200) for reason in pooled.reasons)
    return Figure(words.value(pooled), note, pooled.value is not None, why, pooled.cells)


def find_pooled(results: Results, name: str, measure: str) -> Pooled | None:
    """A measure of a row under the headline's conditions."""
    row = results.backends.get(name)
    return row.measures.get(measure) if row else None


def group(results: Results, name: str) -> Group:
    if name not in results.backends:
        return "cold" if name == COLD else "ranked"
    return "cold" if name == COLD else "control" if results.backends[name].control else "ranked"


def list_rows(results: Results) -> list[str]:
    """The rows in the order of every table: backends by name, controls by name, cold. Never by a measure."""
    return sorted(results.backends, key=lambda name: (GROUPS.index(group(results, name)), name))


def list_ranked(results: Results) -> list[str]:
    return [name for name in list_rows(results) if group(results, name) == "ranked"]


def show_version(row: Row) -> str:
    return words.make_visible(row.backend.version, 60) if row.backend and not row.control else ""


def show_name(results: Results, name: str) -> str:
    """A row's name as every table has it, marked where a model inside it was stood in for."""
    row = results.backends.get(name)
    inside = row is not None and row.backend is not None and row.backend.supports("extracts")
    mark = f" {STAND_IN}" if inside and results.run.conditions.chat else ""
    return f"{words.make_visible(name, 60)}{mark}"


def name_row(results: Results, name: str) -> str:
    """A row as sentences call it."""
    return "no memory" if name == COLD else show_name(results, name)


def explain_stand_in(results: Results) -> str:
    """Who answered the chat calls of the marked rows; empty if no row is marked."""
    marked = [name for name in results.backends if show_name(results, name).endswith(STAND_IN)]
    if not marked:
        return ""
    inside = words.join_words([words.make_visible(name, 60) for name in marked])
    return (
        f"{STAND_IN} Chat calls inside {inside} were answered by "
        f"{words.make_visible(results.run.conditions.chat, 120)}: "
        "these rows show the wiring, not what another model would "
        "extract."
    )


def explain_chance(results: Results) -> str:
    """Chance and pool, without which recall says little; per backend, as its own store has its own size."""
    rows_by_reason: dict[str, list[str]] = {}
    for name in list_ranked(results):
        at_random = results.backends[name].measures.get(CHANCE)
        pools = [cell.pool for cell in list_cells(results, name)]
        if at_random and at_random.value is not None and pools:
            size = f"{min(pools)} to {max(pools)}" if min(pools) < max(pools) else f"{pools[0]}"
            rows_by_reason.setdefault(f"{words.share(at_random.value)} of {size} memories", []).append(
                words.make_visible(name, 60)
            )
    if not rows_by_reason:
        return ""
    said = "; ".join(f"{words.join_words(held)} {what}" for what, held in rows_by_reason.items())
    return f"Chance of a recall at k {results.run.conditions.k} by drawing blindly: {said}."


def list_cells(results: Results, name: str) -> list[Cell]:
    """The cells that a row pools, in their order."""
    pooled = next(iter(results.backends[name].measures.values()), None)
    chosen = set(pooled.cells) if pooled else set()
    return [cell for cell in results.cells if cell.id in chosen]


def describe_suite(results: Results) -> str:
    """Which suite the run played, and which split of it if not all; empty for a run from before runs said so."""
    said = results.run.suite
    split = f", split {said.split}" if said and said.split != "all" else ""
    fed = FED[results.run.conditions.feed]
    return f"suite {words.make_visible(said.version, 40)}{split}{fed and f' {fed}'}" if said else ""
