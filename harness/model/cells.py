"""One row of what a run says: a story's trial, or a drill, with all its measures, and the calls of one that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from harness.model.backend import FaultKind
from harness.model.drill import DrillName
from harness.model.scenario import Kind
from harness.model.trial import Arm, Measure, Model, ReadPolicy, WritePolicy

Status = Literal["complete", "failed", "unsupported", "incomplete", "not-run"]
LookStage = Literal["before", "after", "closed", "reopened", "killed", "churned", "compacted"]


class Cell(Model):
    """One reported row: a trial, its arm, how its memory was read, and all measures.

    Attributes:
        pool: Memories at the end.
    """

    id: str
    trial: str
    backend: str | None
    scenario: str
    kind: Kind
    arm: Arm
    write_policy: WritePolicy | None
    read_policy: ReadPolicy | None
    noise: int
    seed: int
    reader: str
    k: int
    pool: int
    status: Status
    reason: str = ""
    log: str
    log_sha256: str
    measures: Mapping[str, Measure]
    folder: ClassVar[str] = "logs"

    @property
    def played(self) -> str:
        """The trial."""
        return self.trial

    @property
    def file(self) -> str:
        return self.log


class LayerLook(Model):
    """One look at a route, a layer or a place in it.

    Attributes:
        seen: How many of the deleted memories it showed.
        reason: What could not be looked at.
        receipt: The line of the look; for a route, of a call that shows the worst.
    """

    stage: LookStage
    verdict: Literal["gone", "present", "not-computable", "not-seen-before"]
    seen: int
    reason: str = ""
    receipt: str | None = None


class LayerRow(Model):
    """Where deleted memories were: a route of the interface, or a place in a declared layer (`""`: just its files).

    Attributes:
        targets: Memories that were asked to be deleted and that were sought there.
    """

    layer: str
    place: str = ""
    kind: Literal["route", "text", "vector"]
    targets: int
    looks: tuple[LayerLook, ...]


class BrokenPromise(Model):
    """The shortest sequence of operations that one backend answered otherwise than the contract says.

    Attributes:
        short, says: In a few words; what was expected and seen.
        steps: One line each.
        random: What it said when it was played again; empty: the same.
        program: The same against the backend's own SDK alone; empty: its adapter prints none.
    """

    short: str
    says: str
    steps: tuple[str, ...]
    random: str = ""
    shrunk: bool = True
    program: str = ""


class TrustCell(Model):
    """One drill against one backend, with the measures of that drill. Receipts are lines of its transcript.

    Attributes:
        version: Of the backend as it was played; None in results from before they said so, and where nothing was
            played.
        older: Of the release whose store it took over, in a drill of that.
        layers: Of the drill `deletion`, where what was deleted could be found, from the interface down to the bytes.
        promise: Of the drill `promises`, the one that is broken.
    """

    id: str
    backend: str
    drill: DrillName
    size: int
    seed: int
    k: int
    status: Status
    reason: str = ""
    transcript: str
    transcript_sha256: str
    version: str | None = None
    # left out where there is none, so that the rows of other drills stay what they were
    older: str | None = Field(None, exclude_if=lambda value: value is None)
    measures: Mapping[str, Measure]
    layers: tuple[LayerRow, ...] = ()
    promise: BrokenPromise | None = Field(None, exclude_if=lambda value: value is None)
    folder: ClassVar[str] = "drills"

    @property
    def played(self) -> str:
        """The trial, which is the drill's."""
        return self.id

    @property
    def file(self) -> str:
        return self.transcript


AnyCell: TypeAlias = Cell | TrustCell
"""What is asked of both has one name in both; no base has their fields, as each has an order in `results.json`."""


class Faults(Model):
    """Calls of one operation in one trial or drill that raised, crashed, timed out, broke the contract, or
    were refused although declared: `count` of `calls`.

    Attributes:
        message, receipt: Of the first of them.
        provoked: A drill asked for them on purpose, as by an awkward scope name; its measures say what that means, and
            no allowance is touched.
    """

    backend: str
    trial: str
    op: str
    kind: FaultKind
    count: int
    calls: int
    message: str
    receipt: str
    provoked: bool = False
