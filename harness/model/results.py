"""What a run says: one model that writes `results.json` and its JSON Schema. Nothing in it is a clock or a path;
a trial that an earlier run played is marked with its day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Literal, get_args

from pydantic import Field

from harness.adapter import Scope
from harness.model.backend import SOUND, Backend
from harness.model.cells import Cell, Faults, TrustCell
from harness.model.prices import Prices
from harness.model.regression import Change, GateVerdict
from harness.model.scenario import Kind
from harness.model.trial import (
    SCRIPTED,
    Clock,
    Definition,
    Feed,
    Interval,
    Measure,
    Model,
    NotMeasured,
    ReadPolicy,
    Split,
    WritePolicy,
)


class Pooled(Model):
    """A measure over the scenarios of one backend under the primary conditions.

    Attributes:
        value: The mean of the scenarios' values; of `tokens_per_job` all tokens over all jobs done.
        hits, of: Counts summed over them. The other counts say how many cells did not measure, by word. `interval` is
            over scenarios and absent below ten of them.
    """

    value: float | None
    hits: float | None = None
    of: int | None = None
    scenarios: int = 0
    at_least: bool = False
    interval: Interval | None = None
    unsupported: int = 0
    not_applicable: int = 0
    failed: int = 0
    not_run: int = 0
    reasons: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()

    @classmethod
    def of_one(cls, measure: Measure) -> Pooled:
        """A measure of one cell, such as a drill's."""
        if isinstance(measure, NotMeasured):
            # the counts of absences are named as the statuses, but for the hyphen
            return cls(value=None, reasons=(measure.reason,), **{measure.status.replace("-", "_"): 1})
        at_least = measure.known == "at-least"
        return cls(value=measure.value, hits=measure.hits, of=measure.of, scenarios=1, at_least=at_least)


class Row(Model):
    """One backend (or the cold arm) under the primary conditions.

    Attributes:
        code: Digests of its adapter's files, one unless they were edited while the run was played.
        clock: What its processes took for now.
    """

    backend: Backend | None
    # here and below, what is usual is left out, so that other results stay what they were
    clock: Clock = Field("wall", exclude_if=lambda clock: clock == "wall")
    code: tuple[str, ...] = Field((), exclude_if=lambda code: not code)
    control: bool
    measures: Mapping[str, Pooled]


class Contrast(Model):
    """A backend under one write policy, read policy and noise level; `primary` marks the conditions of its row."""

    backend: str
    write_policy: WritePolicy
    read_policy: ReadPolicy
    noise: int
    primary: bool
    measures: Mapping[str, Pooled]


TRIFLE = 0.01
"""The share of a backend's calls that may fail before nothing is concluded from its row."""
Family = Literal["cold", "writes", "pairs", "dump"]
"""cold: a row against no memory, beside itself alone. pairs: rows with each other. dump: rows with `full_context`."""
Verdict = Literal["left-better", "right-better", "no-difference-shown"]


class Reach(Model):
    """What a comparison of so many stories, one of a family of `compared`, can show at all.

    Attributes:
        least: No difference that fewer stories have is ever shown, in whatever family.
        enough: So many stories that differ one way, and none the other way, are shown for sure, however much they
            differ.
        evenly: If all stories differ equally far, so many must differ one way; None: not even all are shown.
        able: All stories that differ one way are shown.
    """

    stories: int
    compared: int
    least: int
    enough: int
    evenly: int | None
    able: bool


class Comparison(Model):
    """Two rows on the same scenarios. `left` and `right` are values; `interval`, from ten scenarios on, is of the
    difference, right minus left, and adjusted as p is: it holds 0 exactly where no difference is shown.

    Attributes:
        write_policy, read_policy: Of whichever has a memory.
        compared: So many comparisons were adjusted together. In the families `cold` and `writes` all are of the row
            itself.
        left: In the family `writes` the same row as `right`, with memory that is only added to; `write_policy` is what
            the right side does.
        able: So many scenarios can show a difference at all; without it `p` and verdict say nothing.
    """

    family: Family = "pairs"
    measure: str
    write_policy: WritePolicy = "append"
    read_policy: ReadPolicy = "trusting"
    left: str
    right: str
    scenarios: int
    left_value: float
    right_value: float
    left_better: int
    right_better: int
    p: float
    adjusted_p: float
    compared: int = 1
    verdict: Verdict
    detectable: str
    reach: Reach | None = None
    able: bool = True
    interval: Interval | None = None


class ClaimVerdict(Model):
    """What became of a claim that was registered before the run.

    Attributes:
        verdict: too-late: it is not older than the run, and so was not registered before it.
        comparison: The one that it speaks of, its row on the right; None: the run has none.
    """

    id: str
    says: str
    day: str
    family: Family
    measure: str
    write: WritePolicy
    read: ReadPolicy
    threshold: float
    verdict: Literal["held", "not-shown", "other-way", "not-measured", "too-late"]
    comparison: Comparison | None = None


class TwinGroup(Model):
    """Ranked rows that are equal in every decision under every policy, noise level and seed, by name.

    Attributes:
        reason: Why, as far as the logs tell; empty: they do not.
    """

    rows: tuple[str, ...]
    reason: str = ""


class Conditions(Model):
    """What was held fixed, and which cells make the headline."""

    k: int
    budget: int
    reader: str
    embedder: str
    tokens: str
    chat: str = ""
    seeds: tuple[int, ...]
    noise: tuple[int, ...]
    headline_noise: int
    headline_write: WritePolicy = "append"
    headline_read: ReadPolicy = "trusting"
    undated: bool = Field(False, exclude_if=lambda undated: not undated)
    writer: str = Field(SCRIPTED, exclude_if=lambda writer: writer == SCRIPTED)
    feed: Feed = Field("facts", exclude_if=lambda feed: feed == "facts")
    clock: Clock = Field("wall", exclude_if=lambda clock: clock == "wall")
    rounds: int = Field(1, exclude_if=lambda rounds: rounds == 1)


class Unplayed(Model):
    """A backend that was asked for and could not run. It fails the run unless it was allowed by name."""

    backend: str
    reason: str
    allowed: bool


class Story(Model):
    """A scenario of the run, so that a report needs no look at the suite.

    Attributes:
        commits: Of a mined one, those that changed what it tells: no other story of its suite tells one of them.
    """

    id: str
    kind: Kind
    version: int
    title: str
    digest: str
    fixture: str
    scope: Scope
    facts: int
    sessions: int
    probes: int
    jobs: int
    decisions: int
    commits: int = Field(0, exclude_if=lambda commits: not commits)


class Suite(Model):
    """Which scenarios were asked for.

    Attributes:
        digest: Over the digests of the scenarios played, their commits included.
        version: Of the suite that comes with coldwarm, else `private`.
        held: Those played that are of the held split.
    """

    version: str
    digest: str
    split: Split
    held: tuple[str, ...] = ()


class Run(Model):
    """Identity of a run. `logs` digests every log that was scored.

    Attributes:
        shard: The share that was played (`2/4`), None for a whole run.
        missing: Shards that a merged run lacks.
        allowed_faults: Backend -> how many calls may fail without failing the run.
        unsealed: Closed logs without a seal.
        reused: Trials that an earlier run played -> the day on which it did, of which their timings are, too.
        prices: Of the tokens of chat models, as they were given to the run.
        programs: The agent programs that did the jobs, each with its release.
    """

    id: str
    version: str
    commit: str | None
    dirty: bool | None
    command: str
    protocol: int = 1
    conditions: Conditions
    suite: Suite | None = None
    shard: str | None = None
    missing: tuple[str, ...] = ()
    logs: str
    unplayed: tuple[Unplayed, ...] = ()
    allowed_faults: Mapping[str, int] = {}
    backends_contained: str = ""
    checks_contained: str = ""
    problems: tuple[str, ...] = ()
    unsealed: int = 0
    reused: Mapping[str, date] = {}
    prices: Prices | None = Field(None, exclude_if=lambda prices: prices is None)
    programs: tuple[str, ...] = Field((), exclude_if=lambda programs: not programs)


class Against(Model):
    """What this run was compared with: a saved baseline, or another run.

    Attributes:
        digest: Of the baseline's content.
        versions: Backend -> its version then and now, None if it was not there, empty if none was recorded.
        programs: The agent programs that did the jobs then and now, each with its release.
        differs: Conditions that are not the same, for which no story, and under most no drill, could be compared.
        retold: Scenarios whose story changed, and that are in no pair.
    """

    run: str
    version: str
    commit: str | None
    protocol: int
    suite: Suite | None
    digest: str
    versions: Mapping[str, tuple[str | None, str | None]] = {}
    programs: tuple[tuple[str, ...], tuple[str, ...]] = Field(((), ()), exclude_if=lambda sides: not any(sides))
    differs: tuple[str, ...] = ()
    retold: tuple[str, ...] = ()

    @property
    def moved_programs(self) -> tuple[str, ...]:
        """Agent programs then and now, in words; empty: they are the same."""
        then, now = self.programs
        return () if then == now else (" and ".join(then) or "none recorded", " and ".join(now) or "none recorded")


class Results(Model):
    """All that a run says.

    Attributes:
        like_oracle: Ranked rows that are equal to the control `oracle` in every decision and every answer.
        calls: Of each backend of which some failed, how many it was asked for in all, in stories and drills.
    """

    # the underscore, as pydantic's models have a `schema` of their own
    schema_: Literal[1] = Field(1, alias="schema")
    run: Run
    definitions: Mapping[str, Definition]
    stories: tuple[Story, ...]
    backends: Mapping[str, Row]
    contrasts: tuple[Contrast, ...]
    cells: tuple[Cell, ...]
    comparisons: tuple[Comparison, ...]
    twins: tuple[TwinGroup, ...] = ()
    like_oracle: tuple[str, ...] = ()
    calls: Mapping[str, int] = Field({}, exclude_if=lambda calls: not calls)
    trust_definitions: Mapping[str, Definition] = {}
    trust: tuple[TrustCell, ...] = ()
    faults: tuple[Faults, ...] = ()
    baseline: Against | None = None
    changes: tuple[Change, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    claims: tuple[ClaimVerdict, ...] = Field((), exclude_if=lambda claims: not claims)

    def list_tested(self) -> list[str]:
        """The backends under test by name: those with a row that is no control's, and those that were only drilled."""
        rows = {name for name, row in self.backends.items() if not row.control}
        # the reference is a control of the drills, and no backend under test
        return sorted(rows | {cell.backend for cell in self.trust if cell.backend not in self.backends} - {SOUND})

    def list_writes(self) -> list[WritePolicy]:
        """The write policies that were played, append first."""
        played = {each.write_policy for each in self.contrasts}
        return [write for write in get_args(WritePolicy) if write in played]

    def group_faults(self) -> dict[str, list[Faults]]:
        """Backend -> its calls that failed and that no drill provoked; backends without such a call are left out."""
        found: dict[str, list[Faults]] = {}
        for each in self.faults:
            if not each.provoked:
                found.setdefault(each.backend, []).append(each)
        return found

    def beyond(self) -> dict[str, list[Faults]]:
        """Of those, the backends with more than their allowance."""
        allowed = self.run.allowed_faults
        return {
            name: own for name, own in self.group_faults().items() if sum(e.count for e in own) > allowed.get(name, 0)
        }

    def doubted(self) -> dict[str, list[Faults]]:
        """Of those, the backends of which more calls failed than may pass as a trifle: what their rows say may be the
        failures' doing. Of a trifle, what the calls would have brought counts as missing."""
        return {
            name: own
            for name, own in self.beyond().items()
            if sum(each.count for each in own) > TRIFLE * self.calls.get(name, 0)
        }

    def list_comparisons(
        self, write: WritePolicy | None = None, read: ReadPolicy | None = None, family: Family | None = None
    ) -> list[Comparison]:
        """The comparisons under one write and one read policy, by default the primary ones; of one family or of all."""
        held = self.run.conditions
        way = (write or held.headline_write, read or held.headline_read)
        return [
            each
            for each in self.comparisons
            if (each.write_policy, each.read_policy) == way and family in (None, each.family)
        ]

    def against_cold(self, row: str, measure: str) -> dict[tuple[WritePolicy, ReadPolicy], Comparison]:
        """How a row compares with no memory, by write and read policy. None of it depends on another row."""
        return {
            (each.write_policy, each.read_policy): each
            for each in self.comparisons
            if (each.family, each.right, each.measure) == ("cold", row, measure)
        }

    def find_twins(self, row: str) -> tuple[str, ...]:
        """The rows that decide as this one does, itself among them."""
        return next((group.rows for group in self.twins if row in group.rows), (row,))
