"""`gates.toml`: what a team demands of a run. Read here, judged in `harness/regress/gate_verdicts.py`.

[[gate]]
name = "sources are kept"
measure = "source_coverage"
backends = ["mem0", "chroma"]
at_least = 0.95
margin = 0.02
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, model_validator

from harness.compare.rows import CONTRASTED
from harness.machine import documents
from harness.machine.documents import DocumentError
from harness.model.results import Conditions
from harness.model.trial import Model, ReadPolicy, WritePolicy
from harness.regress.baseline import DEFINITIONS, RegressError
from harness.regress.policies import Policies
from harness.repo.traces import split_lines

EVERY = "*"
COUNT = re.compile(r"^(\d+) of ([1-9]\d*)$")
EXPECTED = {
    "at_least": 'a number, or a count as "19 of 20"',
    "at_most": 'a number, or a count as "19 of 20"',
    "backends": 'a name, a list of names, or "*" alone',
}
GateText = Annotated[str, StringConstraints(strict=True, min_length=1)]
Bound = Annotated[float, Field(strict=True)] | Annotated[str, StringConstraints(strict=True, pattern=COUNT.pattern)]


class Gate(Model):
    """One demand on one measure of some backends.

    Attributes:
        name: Unique; it stands in reports and test cases.
        backends: Names as in `--backend`, or "*" for all that are under test; controls are judged only by name.
        measure: Of stories, or of a drill.
        at_least, at_most: What the value itself must reach, in the measure's unit: the same stories are played each
            time, while the interval tells of others. "19 of 20" compares shares, and demands that at least 20 cases
            were counted.
        margin: How much worse than the baseline it may become, in the measure's unit. From ten scenarios on it breaks
            if the whole interval of the difference is worse than that; below, and in drills, if the difference itself
            is. It breaks, too, if the backend was played and a number that the baseline has is gone.
        write, read, noise: The policies and the noise level, where they are not the primary ones (append, the reader's
            first way to read, the highest level); of a measure that is shown by them. A margin compares the same ones.
    """

    name: GateText
    measure: GateText
    backends: GateText | tuple[GateText, ...]
    at_least: Bound | None = None
    at_most: Bound | None = None
    margin: Annotated[float, Field(strict=True, ge=0)] | None = None
    write: WritePolicy | None = None
    read: ReadPolicy | None = None
    noise: Annotated[int, Field(strict=True, ge=0)] | None = None

    @property
    def conditioned(self) -> bool:
        return (self.write, self.read, self.noise) != (None, None, None)

    def policies(self, conditions: Conditions) -> Policies:
        """The ones that it is judged under."""
        usual = Policies.of(conditions)
        return Policies(
            self.write or usual.write, self.read or usual.read, usual.noise if self.noise is None else self.noise
        )

    @property
    def named(self) -> tuple[str, ...]:
        """The backends by name; empty for all that are under test."""
        one = (self.backends,) if isinstance(self.backends, str) else self.backends
        return () if one == (EVERY,) else one

    @property
    def lower_is_better(self) -> bool:
        return DEFINITIONS[self.measure].better == "lower"

    @model_validator(mode="after")
    def _sound(self) -> Gate:
        if self.measure not in DEFINITIONS:
            near = get_close_matches(self.measure, DEFINITIONS, n=1)
            raise ValueError(f"measure '{self.measure}' is not known{f'; did you mean {near[0]}?' if near else ''}")
        if self.at_least is None and self.at_most is None and self.margin is None:
            raise ValueError("demands nothing: give at_least, at_most or margin")
        if not isinstance(self.backends, str) and (not self.backends or EVERY in self.backends):
            raise ValueError(f"backends: {EXPECTED['backends']}")
        if self.margin is not None and DEFINITIONS[self.measure].better == "neither":
            raise ValueError(f"margin: of {self.measure} no direction is the better one")
        if self.conditioned and self.measure not in CONTRASTED:
            raise ValueError(f"write, read, noise: only with a measure that is shown by them: {', '.join(CONTRASTED)}")
        return self


@dataclass(frozen=True)
class Placed:
    """A gate and the line of its header."""

    gate: Gate
    line: int


@dataclass(frozen=True)
class Gates:
    """A file of gates, in its order.

    Attributes:
        name: What the file is called in errors and verdicts.
    """

    name: str
    placed: tuple[Placed, ...]

    @property
    def needs_baseline(self) -> Placed | None:
        return next((each for each in self.placed if each.gate.margin is not None), None)


def read(content: bytes, name: str) -> Gates:
    """All gates of a file. Raises RegressError, which names the line of the first that is wrong."""
    try:
        text = documents.decode(content)
        document = documents.parse_toml(text)
    except DocumentError as error:
        raise RegressError(f"{name}: {error}") from None
    tables = document.get("gate")
    for key in document:
        if key != "gate":
            raise RegressError(
                f"{name}:{_find_line(text, key)}: unknown key '{key}': a file of gates holds [[gate]] tables only"
            )
    if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
        raise RegressError(f"{name}: no gate in it: begin each with a line [[gate]]")
    lines = list(_find_headers(text, len(tables)))
    placed = tuple(
        Placed(_parse_gate(table, text, line, name), line) for table, line in zip(tables, lines, strict=True)
    )  # fmt: skip
    first: dict[str, int] = {}
    for each in placed:
        if each.gate.name in first:
            raise RegressError(
                f"{name}:{each.line}: name: '{each.gate.name}' is the gate of line {first[each.gate.name]}"
            )
        first[each.gate.name] = each.line
    return Gates(name, placed)


def _find_headers(text: str, gates: int) -> Iterator[int]:
    """The line on which each gate begins: the first that makes one gate more of what stands above it.

    tomllib tells no lines. What does not parse up to a line is inside a text of several lines.
    """
    rows = split_lines(text)
    known = 0
    for number, row in enumerate(rows, 1):
        # no other line begins a gate, and to parse up to each one would take the square of the file
        if not row.lstrip().startswith("[["):
            continue
        try:
            seen = len(tomllib.loads("\n".join(rows[:number])).get("gate", ()))
        except tomllib.TOMLDecodeError:
            continue
        yield from [number] * (seen - known)
        known = seen
    yield from [1] * (gates - known)  # written in one line each


def _find_line(text: str, key: str, after: int = 1) -> int:
    """The line of a key at or after a line, else that line."""
    rows = enumerate(split_lines(text)[after - 1 :], after)
    at_start = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[.=\]]")
    return next((number for number, row in rows if at_start.match(row)), after)


def _parse_gate(table: Mapping[str, Any], text: str, line: int, name: str) -> Gate:
    try:
        return Gate.model_validate(table)
    except ValidationError as error:
        # A misspelt key is what is wrong, not that the right one is missing.
        one = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key = str(one["loc"][0]) if one["loc"] else ""
    where = _find_line(text, key, line) if key in table else line
    if one["type"] == "extra_forbidden":
        near = get_close_matches(key, Gate.model_fields, n=1)
        complaint = f"unknown key{f'; did you mean {near[0]}?' if near else ''}"
    else:
        complaint = one["msg"].removeprefix("Value error, ")
    # ours are value errors; pydantic's own speak of one member of a union only
    if key in EXPECTED and one["type"] != "value_error":
        complaint = EXPECTED[key]
    raise RegressError(f"{name}:{where}: {f'{key}: ' if key else ''}{complaint[:1].lower()}{complaint[1:]}")
