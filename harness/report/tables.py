"""The tables that console, summary and page share: rows in one order, figures with the words that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from harness import metrics
from harness.compare.statements import COLD, DOMINANCE, DUMP, ENOUGH, find_dominated, headline
from harness.metrics.completion import GUESSED_RIGHT
from harness.metrics.recall import CHANCE, RECALL
from harness.metrics.words import Column as AskedColumn
from harness.model.results import Cell, Pooled, Results, Row
from harness.model.trial import SCRIPTED, Definition, Measured, NotMeasured, WritePolicy
from harness.report import words
from harness.report.worst import MARK, Worst, worst

Group = Literal["ranked", "control", "cold"]
GROUPS: tuple[Group, ...] = ("ranked", "control", "cold")


@dataclass(frozen=True)
class Column:
    """A question of the findings table, as the words of its measure ask it."""

    measure: str
    asks: AskedColumn

    @property
    def head(self) -> str:
        return self.asks.head

    @property
    def write(self) -> WritePolicy | None:
        return self.asks.write


COLUMNS = tuple(
    sorted(
        (Column(name, column) for name, each in metrics.WORDS.items() for column in each.column),
        key=lambda column: (column.asks.place, column.measure),
    )
)
"""The findings: one column a question, no grade over them. The measure leads the family that the head's word covers."""
MARKED = frozenset(metrics.DEFINITIONS[name].column for name, each in metrics.WORDS.items() if each.fault)
"""Headlines of trust, in which anything but the best is a fault; of the others more or less is the answer."""


@dataclass(frozen=True)
class Figure:
    """A number as it is shown, what stands beside it (`short`: without the interval), and whether there is one.

    Attributes:
        name: Which measure of a headline it is, where it is not the one that leads it or is bad.
    """

    text: str
    note: str = ""
    measured: bool = True
    why: str = ""
    cells: tuple[str, ...] = ()
    short: str = ""
    name: str = ""


@dataclass(frozen=True)
class TableLine:
    """One row: a backend, a control, or the cold arm. `name` is `key` made harmless."""

    key: str
    name: str
    version: str
    group: Group
    figures: tuple[Figure, ...]


def figure(name: str, pooled: Pooled | None, recall: Pooled | None = None) -> Figure:
    """`recall` of the same row: a clean zero is no merit where nothing was recalled."""
    if pooled is None:
        return Figure(words.NOT_MEASURED["not-run"], measured=False, why="not a measure of this version")
    note = words.beside(pooled)
    if metrics.words_of(name).clean_if_zero and pooled.value == 0 and recall is not None and not recall.value:
        note = f"{words.NO_MERIT}, {note}" if note else words.NO_MERIT
    why = "; ".join(words.visible(reason, 200) for reason in pooled.reasons)
    return Figure(
        words.value(pooled), note, pooled.value is not None, why, pooled.cells, words.describe_left_out(pooled)
    )


def show_family(definitions: Mapping[str, Definition], measures: Mapping[str, Pooled], lead: str) -> Worst | None:
    """What stands under the headline that a measure leads."""
    family = definitions[lead].column
    assert family is not None, f"{lead} leads a headline"
    return worst(definitions, measures, family, lead)


def show_headline(definitions: Mapping[str, Definition], measures: Mapping[str, Pooled], lead: str) -> Figure:
    """The worst of what a headline covers; in those of trust, with a mark if it is below a perfect score."""
    found, family = show_family(definitions, measures, lead), definitions[lead].column
    if found is None:
        return figure(lead, None)
    made = figure(found.measure, found.counted, measures.get(RECALL))
    mark = f"{MARK} " if found.bad and family in MARKED else ""
    name = found.name if family in MARKED or found.measure != lead else ""
    note = ", ".join(filter(None, [name, made.note, *found.lacking]))
    short = ", ".join(filter(None, [made.short, *found.lacking]))
    return replace(made, text=mark + made.text, note=note, short=short, name=name)


def group(results: Results, name: str) -> Group:
    return "cold" if name == COLD else "control" if results.backends[name].control else "ranked"


def names(results: Results) -> list[str]:
    """The rows in the order of every table: backends by name, controls by name, cold. Never by a measure."""
    return sorted(results.backends, key=lambda name: (GROUPS.index(group(results, name)), name))


def lines(results: Results) -> list[TableLine]:
    """The findings in one table."""
    return rows(results, lambda name: tuple(_figure(results, name, column) for column in COLUMNS), len(COLUMNS))


def rows(results: Results, figures: Callable[[str], tuple[Figure, ...]], columns: int) -> list[TableLine]:
    """In the order of every table. A backend that was asked for and could not run keeps its row."""
    found = [
        TableLine(
            name, show_name(results, name), show_version(results.backends[name]), group(results, name), figures(name)
        )
        for name in names(results)
    ]
    absent = [
        TableLine(each.backend, words.visible(each.backend, 60), "", "ranked", (_absent(each.reason),) * columns)
        for each in results.run.unplayed
        if each.backend not in results.backends
    ]
    return sorted(found + absent, key=lambda line: (GROUPS.index(line.group), line.name))


def show_version(row: Row) -> str:
    return words.visible(row.backend.version, 60) if row.backend and not row.control else ""


def _absent(reason: str) -> Figure:
    return Figure(words.NOT_MEASURED["not-run"], measured=False, why=words.visible(reason, 200))


def _figure(results: Results, name: str, column: Column) -> Figure:
    row = results.backends[name]
    if column.write is not None and not row.backend:
        return Figure(words.NOT_MEASURED["not-applicable"], measured=False, why="the cold arm writes nothing")
    measures = row.measures if column.write is None else contrast(results, name, column.write)
    return show_headline(results.definitions, measures or {}, column.measure)


def contrast(results: Results, name: str, write: WritePolicy) -> Mapping[str, Pooled] | None:
    """What a backend did under another write policy, all else as in its row; None if that was not played."""
    conditions = results.run.conditions
    wanted = (name, write, conditions.headline_read, conditions.headline_noise)
    for each in results.contrasts:
        if (each.backend, each.write_policy, each.read_policy, each.noise) == wanted:
            return each.measures
    return None


STAND_IN = "\u2021"
"""Stands beside the name of a backend whose chat calls nobody's model answered in earnest."""


def show_name(results: Results, name: str) -> str:
    """A row's name as every table has it, marked where a model inside it was stood in for."""
    row = results.backends.get(name)
    inside = row is not None and row.backend is not None and row.backend.supports("extracts")
    mark = f" {STAND_IN}" if inside and results.run.conditions.chat else ""
    return f"{words.visible(name, 60)}{mark}"


def name_row(results: Results, name: str) -> str:
    """A row as sentences call it."""
    return "no memory" if name == COLD else show_name(results, name)


def stand_in(results: Results) -> str:
    """Who answered the chat calls of the marked rows; empty if no row is marked."""
    marked = [name for name in results.backends if show_name(results, name).endswith(STAND_IN)]
    inside = words.join_words([words.visible(name, 60) for name in marked])
    return (
        f"{STAND_IN} Chat calls inside {inside} were answered by "
        f"{words.visible(results.run.conditions.chat, 120)}: these rows show the wiring, not what another model would "
        "extract."
        if marked
        else ""
    )


def cold(results: Results, measure: str) -> str:
    """What the cold arm reached, to stand beside the warm figures; empty if it was not played."""
    row = results.backends.get(COLD)
    known = row.measures.get(measure) if row else None
    return words.value(known) if known else ""


def chance(results: Results) -> str:
    """Chance and pool, without which recall says little; per backend, as its own store has its own size."""
    told: dict[str, list[str]] = {}
    for name in names(results):
        at_random = results.backends[name].measures.get(CHANCE)
        pools = [cell.pool for cell in pool_cells(results, name)]
        if group(results, name) == "ranked" and at_random and at_random.value is not None and pools:
            size = f"{min(pools)} to {max(pools)}" if min(pools) < max(pools) else f"{pools[0]}"
            told.setdefault(f"{words.share(at_random.value)} of {size} memories", []).append(words.visible(name, 60))
    if not told:
        return ""
    said = "; ".join(f"{words.join_words(held)} {what}" for what, held in told.items())
    return f"Chance of a recall at k {results.run.conditions.k} by drawing blindly: {said}."


def pool_cells(results: Results, name: str) -> list[Cell]:
    """The cells that a row pools, in their order."""
    pooled = next(iter(results.backends[name].measures.values()), None)
    chosen = set(pooled.cells) if pooled else set()
    return [cell for cell in results.cells if cell.id in chosen]


@dataclass(frozen=True)
class Missing:
    """What was not measured under one word for one reason."""

    word: str
    reason: str
    measures: tuple[str, ...]
    backends: tuple[str, ...]
    cells: int


def list_unanswered(results: Results) -> list[Missing]:
    """Why questions of the findings have no number: of what leads a column, and of what of its family was tried."""
    leads = {column.measure for column in COLUMNS}
    families = {results.definitions[lead].column for lead in leads}
    members = tuple(
        sorted(name for name, each in results.definitions.items() if name in leads or each.column in families)
    )
    tried = (words.NOT_MEASURED["failed"], words.NOT_MEASURED["not-run"])
    found = []
    for each in list_missing(results, members):
        names = tuple(name for name in each.measures if name in leads or name == "all" or each.word in tried)
        found += [replace(each, measures=names)] if names else []
    return found


def list_missing(results: Results, chosen: tuple[str, ...] | None = None) -> list[Missing]:
    """Everything that has no number under the primary conditions, grouped by word, reason and backends."""
    reasons: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    for cell in results.cells:
        if headline(cell, results.run.conditions):
            for name, measure in sorted(cell.measures.items()):
                if isinstance(measure, NotMeasured) and (chosen is None or name in chosen):
                    key = words.NOT_MEASURED[measure.status], measure.reason
                    reasons.setdefault(key, {}).setdefault(name, []).append(cell)
    merged: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, int]]] = {}
    for (word, reason), by_measure in reasons.items():
        for name, cells in by_measure.items():
            backends = tuple(sorted({words.visible(cell.backend or COLD, 60) for cell in cells}))
            merged.setdefault((word, reason, backends), []).append((name, len(cells)))
    order = list(words.NOT_MEASURED.values())
    found = [
        Missing(word, words.visible(reason, 300), tuple(name for name, _ in held), backends, sum(n for _, n in held))
        for (word, reason, backends), held in merged.items()
    ]
    absent = [
        Missing("not run", words.visible(each.reason, 300), ("all",), (words.visible(each.backend, 60),), 0)
        for each in results.run.unplayed
    ]
    return sorted(absent + found, key=lambda each: (order.index(each.word), each.reason, each.backends))


def group_of(results: Results, cell: Cell) -> Group:
    name = cell.backend or COLD
    return group(results, name) if name in results.backends else "ranked"


def suite(results: Results) -> str:
    """Which suite the run played, and which split of it; empty for a run from before runs said so."""
    said = results.run.suite
    return f"suite {words.visible(said.version, 40)}, split {said.split}" if said else ""


def _tell_guesses(results: Results) -> list[str]:
    """What a model decides right without a memory, where only a memory can know, was guessed."""
    if results.run.conditions.reader == SCRIPTED:
        return []
    cold = [cell.measures.get(GUESSED_RIGHT) for cell in results.cells if cell.arm == "cold"]
    measured = [each for each in cold if isinstance(each, Measured) and each.of]
    hits, of = sum(each.hits or 0 for each in measured), sum(each.of or 0 for each in measured)
    return (
        [f"Guessed: without a memory, {hits:g} of {of} decisions that only a memory can know came out right."]
        if of
        else []
    )


def cannot_say(results: Results) -> list[str]:
    """What a reader must not take from this run."""
    if not results.stories:
        return [words.CANNOT_SAY_OF_DRILLS]
    reader = results.run.conditions.reader
    first = words.CANNOT_SAY if reader == SCRIPTED else words.CANNOT_SAY_OF_ONE.format(reader=words.visible(reader, 60))
    said = [first, *([words.CANNOT_SAY_OF_DRILLS] if results.trust else []), *_tell_guesses(results)]
    scenarios = len(results.stories)
    if scenarios < ENOUGH:
        said.append(
            f"How sure a number is: with {words.plural(scenarios, 'scenario')}, fewer than {ENOUGH}, no interval is "
            "given and no difference can be shown."
        )
    if too_easy := find_dominated(results.list_comparisons()):
        things = words.join_words([words.measure_name(measure) for measure in DOMINANCE])
        said.append(
            f"What it is worth to be selective: at noise {results.run.conditions.headline_noise} {DUMP}, which gives "
            f"back everything, is as good as {words.join_words([words.visible(name, 40) for name in too_easy])} in "
            f"{things}, and better in at least one of them. These stories are too easy."
        )
    return said + [line[0].upper() + line[1:] for line in words.power(results)]
