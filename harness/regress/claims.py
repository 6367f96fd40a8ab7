"""`claims.toml`: what was registered before a run, and what the run found of it. All else was found by looking.

[[claim]]
id = "mem0-helps"
says = "An agent with Mem0 takes more decisions right than without memory."
day = 2026-11-27
family = "cold"
measure = "decisions_right"
row = "mem0"
write = "curated"
read = "newest"
threshold = 0.05
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, model_validator

from harness.compare.rows import AGAINST_COLD, BETWEEN, COLD, DOMINANCE, DUMP
from harness.machine import documents
from harness.machine.documents import DocumentError
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import ClaimVerdict, Comparison, Family, Results
from harness.model.trial import Model, ReadPolicy, WritePolicy
from harness.regress.baseline import RegressError

MOST = 0.05
"""The largest threshold: what is called a difference on the page."""
MEASURES: Mapping[Family, Sequence[str]] = {
    "cold": AGAINST_COLD, "writes": (DECISIONS_RIGHT,), "pairs": BETWEEN, "dump": DOMINANCE,
}  # fmt: skip
"""What each family compares."""
ClaimText = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=300)]


class Claim(Model):
    """That one row is better than another in one measure, under one way of writing and of reading.

    Attributes:
        day: When it was written down. It counts in a run of a later day only.
        family: Of comparisons: with no memory (`cold`), with the row's own memory that is only added to (`writes`),
            with another row (`pairs`), or with all that there is (`dump`).
        row, than: Names as in `--backend`; `than` in `pairs` alone.
        threshold: The largest p, adjusted within the family, at which it is held.
    """

    id: ClaimText
    says: ClaimText
    day: Annotated[date, Field(strict=True)]
    family: Family
    measure: str
    row: ClaimText
    than: ClaimText | None = None
    write: WritePolicy
    read: ReadPolicy
    threshold: Annotated[float, Field(strict=True, gt=0, le=MOST)] = MOST

    @property
    def pair(self) -> tuple[str, str]:
        """The left and the right row, as comparisons have them."""
        # the label of a row has a plus where `--backend` takes a comma
        row, than = ((name or "").replace(",", "+") for name in (self.row, self.than))
        return {"cold": COLD, "dump": DUMP, "writes": row, "pairs": than}[self.family], row

    @model_validator(mode="after")
    def _sound(self) -> Claim:
        if self.measure not in (known := MEASURES[self.family]):
            raise ValueError(f"measure: the family {self.family} compares {', '.join(known)}")
        if (self.than is not None) is not (self.family == "pairs"):
            raise ValueError("than: the other row, in the family pairs and in no other")
        if self.family == "writes" and self.write == "append":
            raise ValueError("write: append is what the family writes compares with")
        return self


def read(file: Path) -> tuple[Claim, ...]:
    """All claims of a file. Raises RegressError, one line, for the first that is wrong."""
    try:
        content = documents.read_toml(file)
    except DocumentError as error:
        raise RegressError(f"{file}: {error}") from None
    tables = content.get("claim")
    if content.keys() != {"claim"} or not isinstance(tables, list) or not tables:
        raise RegressError(f"{file}: a file of claims holds [[claim]] tables only, and at least one")
    claims = tuple(_read_claim(file, number, table) for number, table in enumerate(tables, 1))
    names = [each.id for each in claims]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RegressError(f"{file}: id: two claims are called '{twice}'")
    return claims


def _read_claim(file: Path, number: int, table: Any) -> Claim:
    try:
        return Claim.model_validate(table)
    except ValidationError as error:
        # A misspelt key is what is wrong, not that the right one is missing.
        one = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key = f"{one['loc'][0]}: " if one["loc"] else ""
    complaint = "unknown key" if one["type"] == "extra_forbidden" else one["msg"].removeprefix("Value error, ")
    raise RegressError(f"{file}: claim {number}: {key}{complaint[:1].lower()}{complaint[1:]}")


def judge(claims: tuple[Claim, ...], results: Results) -> tuple[ClaimVerdict, ...]:
    """What the run found of each, in the order of the file."""
    return tuple(_judge(results, claims))


def _judge(results: Results, claims: tuple[Claim, ...]) -> Iterator[ClaimVerdict]:
    try:
        began = datetime.strptime(results.run.id[:8], "%Y%m%d").date()
    except ValueError:
        # the id is the name of the folder, which its owner may have changed
        raise RegressError(
            f"the run {results.run.id} does not say when it began, so no claim can be judged: "
            "give its folder the name back that it had, such as 20261121-101112-abcd"
        ) from None
    for claim in claims:
        comparison = _find(results, claim)
        verdict: Any = "not-measured"
        if claim.day >= began:
            verdict = "too-late"
        elif comparison is not None and comparison.able:
            shown = comparison.adjusted_p <= claim.threshold and comparison.verdict != "no-difference-shown"
            verdict = "not-shown" if not shown else "held" if comparison.verdict == "right-better" else "other-way"
        yield ClaimVerdict(
            id=claim.id, says=claim.says, day=claim.day.isoformat(), family=claim.family, measure=claim.measure,
            write=claim.write, read=claim.read, threshold=claim.threshold, verdict=verdict, comparison=comparison,
        )  # fmt: skip


def _find(results: Results, claim: Claim) -> Comparison | None:
    """The comparison that it speaks of. One between rows is turned so that its row stands on the right."""
    left, right = claim.pair
    for each in results.list_comparisons(claim.write, claim.read, claim.family):
        if each.measure == claim.measure and (each.left, each.right) == (left, right):
            return each
        # never in the family writes, where both names are one
        if each.measure == claim.measure and (each.left, each.right) == (right, left):
            return _turn(each)
    return None


def _turn(comparison: Comparison) -> Comparison:
    other = {"left-better": "right-better", "right-better": "left-better"}
    return comparison.model_copy(
        update={
            "left": comparison.right, "right": comparison.left,
            "left_value": comparison.right_value, "right_value": comparison.left_value,
            "left_better": comparison.right_better, "right_better": comparison.left_better,
            "verdict": other.get(comparison.verdict, comparison.verdict), "interval": None,
        }
    )  # fmt: skip
