"""Checks that cannot be fooled: nothing before the job, then the right value, or the wrong one for a wrong choice."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.scenario import Decision, Job, Session
from harness.repo.checks import Work, WorkTrees
from harness.selftest.proof import Count, Told

Values = Mapping[str, str | None]


def checks(told: Told, work_trees: WorkTrees) -> Count:
    """How many checks hold in every way in which their job can be done with at most one wrong decision."""
    good = [_job(told, work_trees, session, job) for session, job in told.scenario.jobs()]
    return Count(sum(good), sum(len(job.decisions) for _, job in told.scenario.jobs()))


def try_out(told: Told, work_trees: WorkTrees) -> Count:
    """As `checks`, each job done once: with all right options, every check has to print the right one."""
    good = 0
    for session, job in told.scenario.jobs():
        done = work_trees.do(told.repo, session.commit, job, {each.id: each.right.value for each in job.decisions})
        good += sum(
            _prints(told, job, each, "after all right options", done, each.right.value) for each in job.decisions
        )
        _runs(told, job, done)
    return Count(good, sum(len(job.decisions) for _, job in told.scenario.jobs()))


def _prints(told: Told, job: Job, decision: Decision, when: str, work: Work, wanted: str | None) -> bool:
    check = next(check for check in work.checks if check.decision == decision.id)
    if check.value == wanted:
        return True
    said = f"prints '{check.value}'" if check.value is not None else f"prints nothing (exit {check.exit})"
    told.breach(f"jobs.{job.id}.{decision.id}.check", f"{said} {when}, not {wanted or 'nothing'}")
    return False


def _runs(told: Told, job: Job, work: Work) -> None:
    for ran in work.ran:
        if ran.exit:
            told.breach(f"jobs.{job.id}.run", f"'{' '.join(ran.command)}' exits {ran.exit} after all right options")


def _job(told: Told, work_trees: WorkTrees, session: Session, job: Job) -> int:
    """The decisions of a job whose checks hold."""

    def do(values: Values) -> Work:
        return work_trees.do(told.repo, session.commit, job, values)

    def wrong(decision: Decision, when: str, work: Work, wanted: str | None) -> bool:
        return not _prints(told, job, decision, when, work, wanted)

    right: Values = {decision.id: decision.right.value for decision in job.decisions}
    before, after = do(dict.fromkeys(right)), do(right)
    _runs(told, job, after)
    bad = set()
    for decision in job.decisions:
        failed = [
            wrong(decision, "before the job", before, None),
            wrong(decision, "after all right options", after, decision.right.value),
        ]
        failed += [
            wrong(decision, f"after the one wrong option '{option.value}'", do({**right, decision.id: option.value}),
                  option.value)
            for option in decision.options if option.verdict != "right"
        ]  # fmt: skip
        bad |= {decision.id} if any(failed) else set()
    return len(job.decisions) - len(bad)
