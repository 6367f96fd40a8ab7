"""The scripted reader's credibility: a model's decisions beside its own, on the same cells.

For a reader that is asked for each decision, a decision counts if it was asked and both readers were shown the same
entries. Where it was not asked (nothing came back), both decide in one way, which would look like agreement. A reader
that does whole jobs asks the memory in its own words, so all of its decisions count, cold ones too; its stories are
compared without salt.
"""

from __future__ import annotations

import statistics as means
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness.compare import stats
from harness.compare.rows import COLD, METHOD
from harness.log.events import Recalled, Worked
from harness.log.folder import Folder
from harness.log.reader import Log
from harness.metrics.seen import UNFINISHED, Key
from harness.metrics.view import Record
from harness.model.job import DecisionOutcome
from harness.model.trial import (
    READ_POLICIES,
    SCRIPTED,
    Interval,
    ReadPolicy,
    Trial,
    WritePolicy,
    digest,
    list_policies,
    split_reader,
)
from harness.play.salt import unsalt, unsalt_text

LEAST_STORIES, LEAST_CONDITIONS = 10, 3
"""Below them no interval, no order."""
Nearness = Literal["alike", "otherwise", "cannot-say"]


class Condition(NamedTuple):
    """What one row of a calibration is about; cold writes nothing."""

    backend: str
    write: WritePolicy | None
    noise: int
    control: bool

    @property
    def ranked(self) -> bool:
        """Whether this row is a memory, and no control."""
        return self.write is not None and not self.control


class Taken(NamedTuple):
    """A decision as one reader took it; no value: left open. A call that came to nothing has failed."""

    value: str | None
    outcome: DecisionOutcome


@dataclass(frozen=True)
class PairedDecision:
    """One decision by the model, and by the scripted reader under each policy."""

    reader: str
    condition: Condition
    scenario: str
    model: Taken
    scripted: Mapping[ReadPolicy, Taken]


@dataclass(frozen=True)
class Row:
    """One condition.

    Attributes:
        model, scripted: Outcome -> decisions; the scripted ones by policy.
        equal: Policy -> decisions in which both took the same value, or both none.
    """

    condition: Condition
    decisions: int
    model: Mapping[DecisionOutcome, int]
    scripted: Mapping[ReadPolicy, Mapping[DecisionOutcome, int]]
    equal: Mapping[ReadPolicy, int]


@dataclass(frozen=True)
class PolicyFit:
    """How near one policy is to the model.

    Attributes:
        share: Of decisions that are equal, a mean over scenarios.
        interval: Of that, over scenarios; None below ten of them.
        tau: Kendall's tau-b of the conditions' shares of right decisions under both readers; None where all are tied,
            or there are too few conditions.
        tau_interval: The middle of tau in resampled scenarios, of which only the side of 0 tells: it is no interval of
            95 % where both readers rank alike, as ties by chance pull tau towards 0.
        why: Why nothing is said of the order; empty if something is.
    """

    policy: ReadPolicy
    equal: int
    of: int
    share: float
    interval: Interval | None
    tau: float | None
    tau_interval: Interval | None
    ranks: Nearness
    why: str = ""


@dataclass(frozen=True)
class Calibration:
    """One model beside the scripted reader.

    Attributes:
        jobs: The reader does whole jobs.
        unasked: Decisions without a call, as nothing came back. otherwise: of which the two were shown other entries.
        unpaired: Trials that no scripted run has.
        nearest: The policy that is equal most often, if it is so beyond doubt against each other one; None: cannot say.
    """

    reader: str
    jobs: bool
    rows: tuple[Row, ...]
    fits: tuple[PolicyFit, ...]
    scenarios: int
    conditions: int
    unasked: int
    otherwise: int
    unpaired: int
    nearest: ReadPolicy | None


class CalibrationError(ValueError):
    """Runs that have nothing in common to compare. One line."""


def calibrate(folders: Sequence[Folder]) -> list[Calibration]:
    """One calibration for each reader with a model. Raises CalibrationError, FolderError and BlobError."""
    logs = [log for folder in folders for best in folder.whole_stories() for log in best.values()]
    scripted = {_identify(log): log for log in logs if log.trial.reader == SCRIPTED}
    chat_logs = [log for log in logs if split_reader(log.trial.reader)[1]]
    if not chat_logs or not scripted:
        lacking = "a reader with a model" if not chat_logs else "the scripted reader"
        raise CalibrationError(f"none of these runs is by {lacking}: name runs of both, of the same cells")
    if any(set(READ_POLICIES) - {*log.opened.reads} for log in scripted.values() if log.trial.backend):
        raise CalibrationError(f"the scripted run does not read in all of {len(READ_POLICIES)} ways: play it again")
    calibrations = []
    for reader in sorted({log.trial.reader for log in chat_logs}):
        own = [log for log in chat_logs if log.trial.reader == reader]
        pairs = [(log, scripted[key]) for log in own if (key := _identify(log)) in scripted]
        if not pairs:
            raise CalibrationError(
                f"{reader} and the scripted reader have no cell in common: same -b, -s, -n and seeds?"
            )
        calibrations.append(_compare(reader, pairs, len(own) - len(pairs)))
    return calibrations


def _identify(log: Log) -> tuple[Trial, str, str, str]:
    """Equal for two logs that differ in their reader alone, and in the salt of their names.

    Noise is compared by its amount: part of it says names of the story, so that salt draws other sentences.
    """
    digests, story = log.opened.digests, digest(unsalt(log.scenario, log.trial.seed))
    fixture, backend = (digests.get(name, "") for name in ("fixture", "backend"))
    return log.trial.model_copy(update={"reader": ""}), story, fixture, backend


# --- pairing ----------------------------------------------------------------------------------------------------------


def _compare(reader: str, pairs: Sequence[tuple[Log, Log]], unpaired: int) -> Calibration:
    decisions, left_out, jobs = list[PairedDecision](), Counter[str](), any(_does_jobs(log) for log, _ in pairs)
    for log, other in pairs:
        for each in _pair(Record(log), Record(other), jobs):
            if isinstance(each, PairedDecision):
                decisions.append(each)
            else:
                left_out[each] += 1
    ranked = [each for each in decisions if each.condition.ranked]
    fits = tuple(_fit(policy, ranked) for policy in READ_POLICIES)
    return Calibration(
        reader=reader,
        jobs=jobs,
        rows=tuple(_list_rows(decisions)),
        fits=fits,
        scenarios=len({each.scenario for each in ranked}),
        conditions=len({each.condition for each in ranked}),
        unasked=left_out["unasked"],
        otherwise=left_out["otherwise"],
        unpaired=unpaired,
        nearest=_find_nearest(ranked),
    )


def _does_jobs(log: Log) -> bool:
    """Whether its reader asked its model for steps of a job; else for decisions."""
    return any(not call.decision for event in log.list_events(Worked) for call in log.calls(event))


def _pair(by_model: Record, scripted: Record, jobs: bool) -> Iterator[PairedDecision | Literal["unasked", "otherwise"]]:
    """Every decision that the model's log came to; of the cold arm, if it did the jobs there, too."""
    trial, backend = by_model.log.trial, by_model.log.opened.backend
    condition = Condition(trial.backend or COLD, trial.write_policy, trial.noise, bool(backend and backend.control))
    if not (trial.backend or jobs):
        return
    # a reader with a model reads in one way only
    (policy,) = list_policies(trial.reader) if trial.backend else (None,)
    taken = _list_taken(by_model, policy)
    others = {each: _list_taken(scripted, each if trial.backend else None) for each in READ_POLICIES}
    for key, decision in by_model.find_decided(policy).items():
        if decision.call is None and not jobs:
            yield "unasked"
        elif not (jobs or _show(by_model, key) == _show(scripted, key)) or any(
            key not in each for each in others.values()
        ):
            yield "otherwise"
        else:
            own = taken[key] if decision.call is None or decision.call.answered else Taken(None, "failed")
            beside = {each: others[each][key] for each in READ_POLICIES}
            yield PairedDecision(trial.reader, condition, trial.scenario, own, beside)


def _list_taken(record: Record, policy: ReadPolicy | None) -> dict[Key, Taken]:
    """Values as the story has them without salt."""
    trial = record.log.trial
    values = {
        (event.job, choice.decision): choice.value and unsalt_text(choice.value, trial.scenario, trial.seed)
        for _, event in record.works(policy)
        for choice in event.choices
    }
    return {
        key: Taken(values.get(key), _classify_outcome(found.verdict))
        for key, found in record.find_decided(policy).items()
    }


def _classify_outcome(verdict: str) -> DecisionOutcome:
    """What its check saw: the model decided so, whether or not it ended its job."""
    known: tuple[DecisionOutcome, ...] = ("right", "stale", "lure", "other", "unresolved", "failed")
    return next(each for each in known if each == ("right" if verdict == UNFINISHED else verdict))


def _show(record: Record, key: Key) -> list[str] | None:
    """The texts that were shown for a decision, in their order; None: it was not asked for."""
    line = record.decision_lines.get(key)
    event = record.log.events[line - 1] if line else None
    return [each.text for each in record.entries(line, event)] if line and isinstance(event, Recalled) else None


# --- counting ---------------------------------------------------------------------------------------------------------


def _list_rows(decisions: Sequence[PairedDecision]) -> Iterator[Row]:
    groups: dict[Condition, list[PairedDecision]] = defaultdict(list)
    for each in decisions:
        groups[each.condition].append(each)
    # the cold arm is told apart first: its policy is None, which cannot be compared with a name
    for condition in sorted(groups, key=lambda each: (each.control, each.write is not None, each)):
        own = groups[condition]
        yield Row(
            condition=condition,
            decisions=len(own),
            model=Counter(each.model.outcome for each in own),
            scripted={policy: Counter(each.scripted[policy].outcome for each in own) for policy in READ_POLICIES},
            equal={policy: sum(_is_equal(each, policy) for each in own) for policy in READ_POLICIES},
        )


def _is_equal(each: PairedDecision, policy: ReadPolicy) -> bool:
    """What failed was left open by no choice: it agrees with nobody."""
    other = each.scripted[policy]
    return each.model.value == other.value and "failed" not in (each.model.outcome, other.outcome)


def _fit(policy: ReadPolicy, decisions: Sequence[PairedDecision]) -> PolicyFit:
    equal = _average_by_scenario([(each.scenario, _is_equal(each, policy)) for each in decisions])
    shares = list(equal.values())
    tau, interval, why = _rank(policy, decisions)
    nearness: Nearness = "cannot-say"
    if interval is not None and not why:
        nearness = "alike" if interval.low > 0 else "otherwise" if interval.high < 0 else "cannot-say"
        why = "" if nearness != "cannot-say" else "the interval holds 0"
    return PolicyFit(
        policy=policy,
        equal=sum(_is_equal(each, policy) for each in decisions),
        of=len(decisions),
        share=means.fmean(shares) if shares else 0.0,
        interval=_bound(shares),
        tau=tau,
        tau_interval=interval,
        ranks=nearness,
        why=why,
    )


def _find_nearest(decisions: Sequence[PairedDecision]) -> ReadPolicy | None:
    """The policy whose lead over each other one is above 0 in resamples of the scenarios."""
    shares = {
        policy: _average_by_scenario([(each.scenario, _is_equal(each, policy)) for each in decisions])
        for policy in READ_POLICIES
    }
    for policy in READ_POLICIES:
        leads = (
            [shares[policy][name] - shares[other][name] for name in shares[policy]]
            for other in READ_POLICIES
            if other != policy
        )
        if all((bound := _bound(lead)) is not None and bound.low > 0 for lead in leads):
            return policy
    return None


def _average_by_scenario(values: Iterable[tuple[str, bool]]) -> dict[str, float]:
    groups: dict[str, list[bool]] = defaultdict(list)
    for name, value in values:
        groups[name].append(value)
    return {name: means.fmean(own) for name, own in sorted(groups.items())}


def _bound(values: Sequence[float]) -> Interval | None:
    if len(values) < LEAST_STORIES:
        return None
    bounds = stats.bound_mean(values)
    return Interval(low=bounds[0], high=bounds[1], method=METHOD) if bounds else None


def _rank(policy: ReadPolicy, decisions: Sequence[PairedDecision]) -> tuple[float | None, Interval | None, str]:
    """Tau of the conditions by right decisions, over the scenarios that all conditions have; and why not."""
    right: dict[Condition, dict[str, list[tuple[bool, bool]]]] = defaultdict(lambda: defaultdict(list))
    for each in decisions:
        pair = (each.model.outcome == "right", each.scripted[policy].outcome == "right")
        right[each.condition][each.scenario].append(pair)
    if len(right) < LEAST_CONDITIONS:
        return None, None, f"an order needs {LEAST_CONDITIONS} conditions, here is no more than {len(right)}"
    # the same scenarios for all, as a condition with easier ones would seem to be the better one
    common = sorted(set.intersection(*(set(own) for own in right.values())))
    if not common:
        return None, None, "no scenario has decisions under every condition"
    one, other = (
        [[means.fmean(pair[at] for pair in own[name]) for name in common] for own in right.values()] for at in (0, 1)
    )
    tau = stats.kendall(one, other)
    if tau is None:
        return None, None, "all conditions are tied under one of the readers"
    if len(common) < LEAST_STORIES:
        return tau, None, f"an interval needs {LEAST_STORIES} scenarios, every condition has {len(common)}"
    bounds = stats.bootstrap_kendall(one, other)
    if bounds is None:
        return tau, None, "in many resamples all conditions are tied"
    return tau, Interval(low=bounds[0], high=bounds[1], method="middle 95 % over resampled scenarios"), ""
