"""Checks that cannot be fooled: nothing before the job, then the right value, or the wrong one for a wrong choice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from harness.log.parts import Check
from harness.machine import command
from harness.model.job import Decision, Job
from harness.model.scenario import Session
from harness.repo.checks import Work, WorkTrees
from harness.selftest.proof import Count, ScenarioProof, Tried

Values = Mapping[str, str | None]
_ERROR = re.compile(r"\w(Error|Exception)\b|\berror:|^(FAILED|ERROR|FAIL) |not found|no such", re.IGNORECASE)
TIMES, TIMES_WRONG = 20, 5
"""How often a hidden test is run to see whether it is flaky: over the right solution, and over a wrong one."""


def judge_checks(proof: ScenarioProof, work_trees: WorkTrees) -> Count:
    """How many checks hold in every way in which their job can be done with one wrong decision, or with all wrong."""
    good = [_check_job(proof, work_trees, session, job) for session, job in proof.scenario.jobs()]
    return Count(sum(good), sum(len(job.decisions) for _, job in proof.scenario.jobs()))


def try_out(proof: ScenarioProof, work_trees: WorkTrees) -> Count:
    """Tries checks as `judge_checks` does, each job done once: with all right options, every check has to print the
    right one.
    """
    good = 0
    for session, job in proof.scenario.jobs():
        done = work_trees.do(proof.repo, session.commit, job, {each.id: each.right.value for each in job.decisions})
        good += sum(
            _prints_wanted(proof, job, each, "after all right options", done, each.right.value)
            for each in job.decisions
        )
        _note_failing(proof, job, done)
    return Count(good, sum(len(job.decisions) for _, job in proof.scenario.jobs()))


def _prints_wanted(
    proof: ScenarioProof, job: Job, decision: Decision, when: str, work: Work, wanted: str | None
) -> bool:
    check = next(check for check in work.checks if check.decision == decision.id)
    if check.value == wanted:
        return True
    last = f": {line}" if check.exit and (line := find_reason(check)) else ""
    outcome = f"prints '{check.value}'" if check.value is not None else f"prints nothing (exit {check.exit}{last})"
    proof.breach(f"jobs.{job.id}.{decision.id}.check", f"{outcome} {when}, not {wanted or 'nothing'}")
    return False


def find_reason(ran: Check) -> str:
    """What a command said of why it failed: the last line that names an error, else the last one."""
    lines = [line.strip() for line in ran.output.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if _ERROR.search(line)), lines[-1] if lines else "")[:200]


def _note_failing(proof: ScenarioProof, job: Job, work: Work) -> None:
    """The commands of the job itself, where each decision is made as it should be."""
    for ran in work.ran:
        if ran.exit:
            proof.breach(f"jobs.{job.id}.run", f"'{' '.join(ran.command)}' exits {ran.exit} after all right options")


def _check_job(proof: ScenarioProof, work_trees: WorkTrees, session: Session, job: Job) -> int:
    """The decisions of a job whose checks hold: each way to do it, against each layer of tests."""

    def do(values: Values) -> Work:
        return work_trees.do(proof.repo, session.commit, job, values, visible=True)

    right: Values = {decision.id: decision.right.value for decision in job.decisions}
    before, after = do(dict.fromkeys(right)), do(right)
    _note_failing(proof, job, after)
    good = _passes(proof, job, "after all right options", after)
    hangs = any(check.exit == command.LATE for check in after.checks)
    # a check that hangs would do so in each of the repeated runs
    good &= not hangs and _is_steady(proof, work_trees, session, job, right, TIMES)
    bad = set()
    for kind, values in _list_all_wrong(job, right):
        good &= _is_steady(proof, work_trees, session, job, values, TIMES_WRONG)
        if sum(values[name] != right[name] for name in right) > 1:  # else it is tried below
            when, done = f"after all {kind} options", do(values)
            good &= _passes(proof, job, when, done)
            shown = [_prints_wanted(proof, job, each, when, done, values[each.id]) for each in job.decisions]
            bad |= {each.id for each, holds in zip(job.decisions, shown, strict=True) if not holds}
    for decision in job.decisions:
        _note_tried(proof, job, decision, "nothing", before)
        _note_tried(proof, job, decision, "right", after)
        # a list, as `and` would stop at the first that does not hold, and report no other
        holds = [
            _has_naive_way(proof, job, decision),
            _leaves_open(proof, job, decision, before),
            _prints_wanted(proof, job, decision, "after all right options", after, decision.right.value),
        ]
        for value in decision.list_values():
            if value != decision.right.value:
                when, done = f"after the one wrong option '{value}'", do({**right, decision.id: value})
                _note_tried(proof, job, decision, _name_way(decision, value), done)
                holds += [_prints_wanted(proof, job, decision, when, done, value), _passes(proof, job, when, done)]
        bad |= {decision.id} if not all(holds) else set()
    return len(job.decisions) - len(bad) if good else 0


def _name_way(decision: Decision, value: str) -> str:
    option = decision.option(value)
    names = [option.verdict] if option else []
    return ", ".join([*names, *(["naive"] if decision.naive and decision.naive.value == value else [])])


def _note_tried(proof: ScenarioProof, job: Job, decision: Decision, way: str, work: Work) -> None:
    visible = all(ran.exit == 0 for ran in work.visible) if job.visible else None
    seen = next(check.value for check in work.checks if check.decision == decision.id)
    proof.tried.append(Tried(job.id, decision.id, way, visible, seen))


def _list_all_wrong(job: Job, right: Values) -> Iterator[tuple[str, Values]]:
    """What an agent does that is wrong in the same way throughout; where a decision has no such way, it is right."""
    for kind in ("stale", "lure"):
        wrong = {each.id: option.value for each in job.decisions for option in each.options if option.verdict == kind}
        if wrong:
            yield kind, {**right, **wrong}
    if naive := {each.id: each.naive.value for each in job.decisions if each.naive}:
        yield "naive", {**right, **naive}


def _has_naive_way(proof: ScenarioProof, job: Job, decision: Decision) -> bool:
    """Whether it is said how whoever knows nothing goes wrong: else a memory has nothing to prevent."""
    if decision.in_code and decision.naive is None:
        proof.breach(
            f"jobs.{job.id}.{decision.id}.naive",
            "is missing: say what a sensible engineer does who knows nothing; it may be a wrong option",
        )
        return False
    return True


def _leaves_open(proof: ScenarioProof, job: Job, decision: Decision, work: Work) -> bool:
    """Whether a check of an untouched work tree leaves the decision open: code may behave as it did of old, and a blank
    has no value.
    """
    if not decision.in_code:
        return _prints_wanted(proof, job, decision, "before the job", work, None)
    check = next(check for check in work.checks if check.decision == decision.id)
    if check.exit == command.LATE:
        proof.breach(f"jobs.{job.id}.{decision.id}.check", "does not end before the job")
    elif check.value == decision.right.value:
        proof.breach(f"jobs.{job.id}.{decision.id}.check", f"prints the right value '{check.value}' before the job")
    return check.exit != command.LATE and check.value != decision.right.value


def _passes(proof: ScenarioProof, job: Job, when: str, work: Work) -> bool:
    """Whether the visible tests pass, as they have to whatever was decided: else they would tell what is right."""
    for ran in work.visible:
        if ran.exit:
            words = " ".join(ran.command)
            proof.breach(f"jobs.{job.id}.visible", f"'{words}' exits {ran.exit} {when}: {find_reason(ran)}")
            return False
    return True


def _is_steady(
    proof: ScenarioProof, work_trees: WorkTrees, session: Session, job: Job, values: Values, times: int
) -> bool:
    """Whether each hidden test says the same over and over, in the same work tree."""
    if not job.hidden:
        return True
    seen = work_trees.repeat(proof.repo, session.commit, job, values, times).checks
    flaky = [each.id for each in job.decisions if len({check.value for check in seen if check.decision == each.id}) > 1]
    for name in flaky:
        proof.breach(f"jobs.{job.id}.{name}.check", f"does not say the same in {times} runs over the same work tree")
    return not flaky
