"""What a run says beside another one: changes against a baseline, and the gates that judge them."""

from __future__ import annotations

from typing import Literal

from harness.model.drill import DrillName
from harness.model.trial import Interval, Model


class Change(Model):
    """One measure of one backend against the baseline: of stories under the primary conditions, or of a `drill`.

    Stories are paired: `old`, `new` and `difference` (new minus old, in the measure's unit) are means over the
    `scenarios` that both measured, `p` is of the sign-flip test. A drill is one cell: `scenarios` is 0, and as its
    inputs are fixed a difference is a change and has no `p`; only of a measure that varies by run, it is of Fisher's
    exact test. Counts are hits and cases.

    Attributes:
        interval: Of the difference; for stories from ten scenarios on.
        vanished: What had a number and has none.
        broken, mended: Cells that became worse or better.
    """

    backend: str
    measure: str
    drill: DrillName | None = None
    scenarios: int = 0
    old: float | None = None
    new: float | None = None
    old_count: tuple[float, int] | None = None
    new_count: tuple[float, int] | None = None
    difference: float | None = None
    interval: Interval | None = None
    p: float | None = None
    adjusted_p: float | None = None
    detectable: str = ""
    verdict: Literal["better", "worse", "no-difference-shown", "vanished", "appeared", "not-comparable"]
    reason: str = ""
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()


class GateVerdict(Model):
    """One gate of a team's file judged for one backend.

    Attributes:
        file: The file as the run's command names it.
        line: Where it stands there.
        says: One line for people.
        relative: It only compares with the baseline, and demands nothing of the number itself.
    """

    gate: str
    backend: str
    measure: str
    line: int
    file: str = "gates.toml"
    verdict: Literal["held", "broken", "not-measured"]
    says: str
    cells: tuple[str, ...] = ()
    relative: bool = False
