"""The rows of a run in the one order of every table: their names, figures and scores, and which calls failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness import metrics
from harness.compare.rows import COLD
from harness.metrics.recall import CHANCE
from harness.model.cells import Cell, Faults
from harness.model.results import Pooled, Results, Row
from harness.model.trial import CANNOT_TELL, FED
from harness.report import words

Group = Literal["ranked", "control", "cold"]
GROUPS: tuple[Group, ...] = ("ranked", "control", "cold")
MODEL_INSIDE, STOOD_IN = "\u2021", "stand-in "
"""Stands beside the name of a backend with a chat model inside; and how a run calls what answers in its place."""


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
    """A row's name as every table has it, marked if a chat model is inside."""
    row = results.backends.get(name)
    inside = row is not None and row.backend is not None and row.backend.supports("extracts")
    mark = f" {MODEL_INSIDE}" if inside and results.run.conditions.chat else ""
    return f"{words.make_visible(name, 60)}{mark}"


def name_row(results: Results, name: str) -> str:
    """A row as sentences call it."""
    return "no memory" if name == COLD else show_name(results, name)


def explain_model_inside(results: Results) -> str:
    """Who answered the chat calls of the marked rows; empty if no row is marked."""
    marked = [name for name in results.backends if show_name(results, name).endswith(MODEL_INSIDE)]
    if not marked:
        return ""
    inside = words.join_words([words.make_visible(name, 60) for name in marked])
    chat = results.run.conditions.chat
    shown = (
        "these rows show the wiring, not what a model would extract"
        if STOOD_IN in chat
        else "these rows show what that model made of its prompts; another may do better or worse"
    )
    return f"{MODEL_INSIDE} Chat calls inside {inside} were answered by {words.make_visible(chat, 120)}: {shown}."


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
    chances = "; ".join(f"{words.join_words(held)} {what}" for what, held in rows_by_reason.items())
    return f"Chance of a recall at k {results.run.conditions.k} by drawing blindly: {chances}."


def list_cells(results: Results, name: str) -> list[Cell]:
    """The cells that a row pools, in their order."""
    # Every measure of a row pools the same cells, so any of them names all.
    pooled = next(iter(results.backends[name].measures.values()), None)
    chosen = set(pooled.cells) if pooled else set()
    return [cell for cell in results.cells if cell.id in chosen]


def describe_suite(results: Results) -> str:
    """Which suite the run played, and which split of it if not all; empty for a run from before runs said so."""
    suite = results.run.suite
    split = f", split {suite.split}" if suite and suite.split != "all" else ""
    fed = FED[results.run.conditions.feed]
    return f"suite {words.make_visible(suite.version, 40)}{split}{fed and f' {fed}'}" if suite else ""


# --- one cell of the scoreboard ---------------------------------------------------------------------------------------

Judgement = Literal["good", "middling", "bad", "open"]
"""open: nothing was measured, or nothing is there to judge it against."""
SHAPES: dict[Judgement, str] = {"good": "\u25cf", "middling": "\u25d0", "bad": "\u25b2", "open": "\u2013"}
"""Each judgement has a shape and a colour, so that it can be read without colours."""
MEANING: dict[Judgement, str] = {
    "good": "good", "middling": "in between", "bad": "bad", "open": "nothing to judge",
}  # fmt: skip
"""What a legend says of each."""


class Case(NamedTuple):
    """What one measure of a column found.

    Attributes:
        fault: What went wrong, in words; in how many of the cases: `wrong`.
        cells, drill: Of stories, the cells that it pools; of a drill, its cell.
    """

    measure: str
    fault: str
    wrong: float
    of: int
    cells: tuple[str, ...] = ()
    drill: str = ""

    @property
    def counted(self) -> str:
        return f"{words.format_number(self.wrong)} of {self.of:,}"

    @property
    def told(self) -> str:
        """`deleted memories that a history still tells (12 of 12)`, for a sentence."""
        return f"{self.fault} ({self.counted})" if self.of else self.fault


class Number(NamedTuple):
    """A number in words, and the cells of stories that it pools."""

    text: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoreboardCell:
    """One cell.

    Attributes:
        lines: The number, then what stands beneath it, smaller: the same under the other write policy.
        word: What the judgement means here.
        why: Why there is no number, or more about it.
        drill: The cell of the drill that it is of, and `measure` which of its measures.
        cases: What went wrong, the gravest first.
        rests: How many cases the number rests on, in words, where it does not say so itself.
        bars: What a bar shows: the lowest and the highest share under each write policy, append first.
        value: What a column is sorted by: of a range its worse end.
    """

    lines: tuple[Number, ...]
    judgement: Judgement = "open"
    word: str = ""
    why: str = ""
    drill: str = ""
    measure: str = ""
    cases: tuple[Case, ...] = ()
    rests: str = ""
    bars: tuple[tuple[float, float], ...] = ()
    value: float | None = None

    @property
    def text(self) -> str:
        return self.lines[0].text

    @property
    def cells(self) -> tuple[str, ...]:
        return self.lines[0].cells

    @property
    def shape(self) -> str:
        return SHAPES[self.judgement]

    @property
    def measured(self) -> bool:
        return bool(self.measure)


DASH = ScoreboardCell((Number(SHAPES["open"]),))


def explain_none(pooled: Pooled | None) -> ScoreboardCell:
    """The word for no number, which is neither good nor bad; what broke is bad."""
    if pooled is None:
        return DASH
    why = "; ".join(words.make_visible(reason, 160) for reason in pooled.reasons)
    missed = " + ".join(word for word, _ in words.count_missed(pooled)) or words.NOT_MEASURED["not-run"]
    # That it broke says more than that nobody could look.
    text = CANNOT_TELL if is_hidden(pooled) and not pooled.failed else missed
    return ScoreboardCell((Number(text, pooled.cells),), "bad" if pooled.failed else "open", why=why)


def is_hidden(pooled: Pooled) -> bool:
    """Whether there was something to look at, and nobody could."""
    return any(reason.startswith(CANNOT_TELL) for reason in pooled.reasons)


# --- which calls failed: one statement a backend, the same in every output --------------------------------------------

MESSAGE = 160


@dataclass(frozen=True)
class FailingOperation:
    """One operation of one backend: `count` of `calls` of the trials in which it failed, and the first of them."""

    op: str
    count: int
    calls: int
    trials: int
    kinds: str
    first: Faults

    @property
    def says(self) -> str:
        where = f"{self.first.trial} {self.first.receipt}"
        trials = words.format_count(self.trials, "trial")
        sentence = f"{self.op} {words.count(self.count, self.calls)} in {trials} ({self.kinds})"
        return f"{sentence}, first {where}: {words.make_visible(self.first.message, MESSAGE)}"


@dataclass(frozen=True)
class Statement:
    """A backend whose calls failed.

    Attributes:
        bad: More of them than were allowed by name, or any that no allowance names.
    """

    backend: str
    head: str
    bad: bool
    failing: tuple[FailingOperation, ...]

    @property
    def line(self) -> str:
        return f"{self.head}: {'; '.join(each.says for each in self.failing)}"


def state_faults(results: Results) -> list[Statement]:
    """What failed of each backend; then, for each, what a drill provoked, which is no fault."""
    beyond = results.beyond()
    lines = [
        _state_faults(name, own, results.run.allowed_faults.get(name), bad=name in beyond)
        for name, own in results.group_faults().items()
    ]
    provoked: dict[str, list[Faults]] = {}
    for each in results.faults:
        if each.provoked:
            provoked.setdefault(each.backend, []).append(each)
    return lines + [_state_faults(name, own, None, bad=False, provoked=True) for name, own in provoked.items()]


def _state_faults(
    name: str, own: Sequence[Faults], allowed: int | None, *, bad: bool, provoked: bool = False
) -> Statement:
    many = sum(each.count for each in own)
    sentence = words.format_count(many, "call")
    refused = f"{'was' if many == 1 else 'were'} refused where a drill provoked it, which counts as no fault"
    how = refused if provoked else "failed"
    beside = f" ({allowed:,} allowed)" if allowed is not None else ""
    by_op: dict[str, list[Faults]] = {}
    for each in own:
        by_op.setdefault(each.op, []).append(each)
    ops = sorted((_find_failing(op, each) for op, each in by_op.items()), key=lambda failing: -failing.count)
    return Statement(name, f"{words.make_visible(name, 60)}: {sentence} {how}{beside}", bad, tuple(ops))


def _find_failing(op: str, own: Sequence[Faults]) -> FailingOperation:
    # Every kind of fault in a trial carries all calls of the operation, which count once.
    calls = {each.trial: each.calls for each in own}
    kinds = words.join_words(list(dict.fromkeys(each.kind.replace("-", " ") for each in own)))
    return FailingOperation(op, sum(each.count for each in own), sum(calls.values()), len(calls), kinds, own[0])
