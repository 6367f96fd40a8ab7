"""Is the work done? Judged by what the checks see in the work tree, in both arms alike."""

from __future__ import annotations

from harness.metrics import columns
from harness.metrics.metric import metric, proportion
from harness.metrics.seen import Decided
from harness.metrics.view import View
from harness.metrics.words import WORK, Between, Progress, Words
from harness.model.trial import Measure

NO_JOB = "the scenario has no job"


def _right(taken: Decided | None) -> bool:
    return taken is not None and taken.verdict == "right"


def decisions_right(view: View) -> Measure:
    right = sum(_right(taken) for _, _, taken in view.decisions)
    wrong = [taken.receipt for _, _, taken in view.decisions if taken is not None and not _right(taken)]
    return proportion(right, len(view.decisions), wrong, none=NO_JOB)


def find_unfinished(view: View) -> list[str]:
    """The jobs that were not ended, or not reached."""
    ended = {event.job for _, event in view.record.works(view.read_policy) if view.record.is_ended(event)}
    return [job.id for _, job in view.scenario.jobs() if job.id not in ended]


def jobs_unfinished(view: View) -> Measure:
    unfinished, jobs = find_unfinished(view), view.scenario.jobs()
    lines = {event.job: f"L{line}" for line, event in view.record.works(view.read_policy)}
    cited = [lines.get(name, f"L{len(view.log.events)}") for name in unfinished]
    return proportion(len(unfinished), len(jobs), cited, none=NO_JOB)


def done(view: View) -> list[str]:
    """The jobs of which every decision is right, so that they were ended."""
    open_ = {key[0] for key, _, taken in view.decisions if not _right(taken)}
    return [job.id for _, job in view.scenario.jobs() if job.id not in open_]


def jobs_done(view: View) -> Measure:
    finished, jobs = done(view), view.scenario.jobs()
    open_ = [f"L{line}" for line, event in view.record.works(view.read_policy) if event.job not in finished]
    return proportion(len(finished), len(jobs), open_, none=NO_JOB)


def checks_failed(view: View) -> Measure:
    broken = [taken.receipt for _, _, taken in view.decisions if taken is not None and taken.verdict == "failed"]
    lost = [f"L{len(view.log.events)}" for _, _, taken in view.decisions if taken is None]
    return proportion(len(broken) + len(lost), len(view.decisions), broken + lost, none=NO_JOB)


def guessed_right(view: View) -> Measure:
    """Where only a memory can know, and none of its entries is behind it, a right value is luck or a model's guess."""
    # a fact without a source stands nowhere in the repository
    told = [
        taken
        for _, decision, taken in view.decisions
        if any(each.verdict == "right" and view.scenario.by_id[each.fact].source is None for each in decision.options)
    ]
    lucky = [taken.receipt for taken in told if taken is not None and _right(taken) and taken.origin != "memory"]
    return proportion(len(lucky), len(told), lucky, none="no decision is about what only a memory can know")


UNFINISHED = "jobs_unfinished"
DECISIONS_RIGHT, JOBS_DONE, GUESSED_RIGHT = "decisions_right", "jobs_done", "guessed_right"
METRICS = (
    metric(
        DECISIONS_RIGHT, "higher", "proportion",
        "decisions whose check sees the right value / decisions of the story; one not reached is not right, nor one "
        "of a job that a fault, a limit or a kill ended", decisions_right, reads=True, cold=True, version=2,
        words=Words(
            WORK, 10, thing="right decisions", did="took {} right decisions",
            answers=True, cells="decided right",
            between=Between(30, cold=True, looked_up=True), contrasted=30, progress=Progress(20, "decided right"),
        ),
        label="right decisions", column=columns.DECISIONS.at(),
    ),
    metric(
        JOBS_DONE, "higher", "proportion",
        "jobs of which every decision is right, and which no fault, limit or kill ended / jobs of the story", jobs_done,
        reads=True, cold=True, aside="the cost of each job done stands in the column of cost", version=2,
        words=Words(
            WORK, place=20, thing="jobs done", did="got {} jobs done", between=Between(20, cold=True), contrasted=35
        ),
        label="jobs completed",
    ),
    metric(
        UNFINISHED, "lower", "proportion",
        "jobs that a fault, a limit or a kill ended, or that were not reached / jobs of the story", jobs_unfinished,
        reads=True, cold=True, aside="none of them is done: `jobs_done`", words=Words(WORK, place=21),
        label="jobs not finished",
    ),
    metric(
        GUESSED_RIGHT, "lower", "proportion",
        "decisions that only a memory can know and that are right without an entry of it / such decisions",
        guessed_right, reads=True, cold=True, version=2,
        aside="a part of `decisions_right` that is no merit of a memory",
        words=Words(WORK, place=25),
        label="decisions guessed right",
    ),
    metric(
        "checks_failed", "lower", "proportion",
        "decisions whose check did not run to its end, or that were not reached / decisions of the story",
        checks_failed, reads=True, cold=True, aside="a part of `decisions_right`: each of these is not right",
        words=Words(WORK, place=60),
        label="checks that did not finish",
    ),
)  # fmt: skip
