"""What was measured, by name: for assertions. Whatever is not there is a LookupError of one line, never a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from harness.compare.rows import is_headline, pool_cells
from harness.metrics import trust
from harness.model.cells import AnyCell, Cell, TrustCell
from harness.model.results import Results
from harness.model.trial import Measure, Measured, NotMeasured
from harness.report.words import make_plain


def find_cells(results: Results, where: Mapping[str, object]) -> list[AnyCell]:
    """The cells of stories and drills whose fields are as in `where`."""
    every: list[AnyCell] = [*results.cells, *results.trust]
    fields = {*Cell.model_fields, *TrustCell.model_fields}
    if unknown := sorted(where.keys() - fields):
        raise LookupError(f"a cell has no field {', '.join(unknown)}; it has {', '.join(sorted(fields))}")
    # `...` stands for a field that is not there, as None is the cold arm's backend
    cells = [cell for cell in every if all(getattr(cell, key, ...) == value for key, value in where.items())]
    if not cells:
        missing = [f"{each.backend} could not run: {each.reason}" for each in results.run.unplayed]
        there = f"backends: {', '.join(dict.fromkeys(repr(cell.backend) for cell in every))}"
        raise LookupError(make_plain("; ".join([f"nothing was played with {_format(where)}", *missing, there])))
    return cells


def measure(results: Results, name: str, where: Mapping[str, object]) -> Measured:
    """One measure of the backend that `where` names; None is the cold arm.

    Of a story, unless `where` says otherwise: under the conditions of the report's first table. Over several scenarios:
    the mean of their values, the sum of their hits and cases. Every one of them must have come to its end.
    """
    if name in trust.DEFINITIONS and not results.trust:
        raise LookupError(f"{name} is measured by a drill, and none was played")
    if name not in results.definitions and name not in results.trust_definitions:
        known = sorted({*results.definitions, *results.trust_definitions})
        near = get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
        raise LookupError(make_plain(f"what was played has no measure {name}; {hint}"))
    if "backend" not in where:
        raise LookupError(f"{name} of which backend? Say backend=..., or backend=None for the cold arm")
    if name in results.trust_definitions:
        return _find_drill(results, name, where)
    conditions = results.run.conditions
    usual = {
        "write_policy": conditions.headline_write,
        "read_policy": conditions.headline_read,
        "noise": conditions.headline_noise,
    }
    # who names one of the three means the usual value of the others
    if usual.keys() & where.keys():
        cells = find_cells(results, {**usual, **where})
    else:
        cells = [
            cell for cell in find_cells(results, where) if isinstance(cell, Cell) and is_headline(cell, conditions)
        ]
    stories = [cell for cell in cells if isinstance(cell, Cell)]
    first = _find_number(name, stories, where)
    pool = pool_cells(name, stories)
    # a single cell keeps its own interval and receipts
    if len(stories) == 1 or pool.value is None:
        return first
    return Measured(
        value=pool.value,
        hits=pool.hits,
        of=pool.of,
        interval=pool.interval,
        known="at-least" if pool.at_least else "exact",
    )


def _find_drill(results: Results, name: str, where: Mapping[str, object]) -> Measured:
    cells = [cell for cell in find_cells(results, where) if name in cell.measures]
    if len(cells) > 1:
        raise LookupError(f"{name}: {_format(where)} means several: {', '.join(cell.id for cell in cells)}")
    return _find_number(name, cells, where)


def _find_number(name: str, chosen: Sequence[AnyCell], where: Mapping[str, object]) -> Measured:
    """The first number there is, if every cell came to its end: what broke off early looks clean."""
    unended = [cell for cell in chosen if cell.status not in ("complete", "unsupported")]
    if unended:
        reason = f"{unended[0].status}: {unended[0].reason} ({unended[0].id})"
        raise LookupError(make_plain(f"{name} was not measured with {_format(where)}: {reason}"))
    measures: list[Measure] = [cell.measures[name] for cell in chosen]
    missed = [each for each in measures if isinstance(each, NotMeasured)]
    broken = [each for each in missed if each.status in ("failed", "not-run")]
    numbers = [each for each in measures if isinstance(each, Measured)]
    if broken or not numbers:
        whys = "; ".join(dict.fromkeys(f"{each.status}: {each.reason}" for each in broken or missed))
        raise LookupError(make_plain(f"{name} was not measured with {_format(where)}: {whys or 'it was not played'}"))
    return numbers[0]


def _format(where: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in where.items()) or "no condition"
