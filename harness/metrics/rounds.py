"""Rounds until a job is done, if a reviewer names the failing checks after each; their cost; repeated corrections.

All other measures of work take the first round, so that they mean the same however many rounds are allowed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from harness.log.events import Corrected, Round
from harness.metrics.completion import NO_JOB
from harness.metrics.metric import StoryMetric, amount, metric, not_applicable, proportion
from harness.metrics.tokens import tokens_total
from harness.metrics.view import View
from harness.metrics.words import COST, WORK, Words
from harness.model.job import Job
from harness.model.trial import Measure, Measured

UNTIL_DONE = "rounds_until_done"
DONE_CORRECTED = "jobs_done_corrected"
REPEATED = "repeated_corrections"
ROUND_TOKENS = "tokens_of_rounds"

ONE = "each job was one round: nobody was corrected (--rounds)"
Rounds = Sequence[tuple[int, Round]]


def list_rounds(view: View) -> Mapping[str, Rounds]:
    """Job -> its rounds, the first one first."""
    found = defaultdict[str, list[tuple[int, Round]]](list)
    # the first round of a job is logged as `Worked`, each later one as `Corrected`
    for line, event in (*view.record.works(view.read_policy), *view.record.of(Corrected)):
        if event.read_policy == view.read_policy:
            found[event.job].append((line, event))
    return found


def list_wrong(job: Job, event: Round) -> list[str]:
    """The decisions of a job whose checks do not see what is right after a round."""
    seen = {check.decision: (check.exit, check.value) for check in event.checks}
    return [each.id for each in job.decisions if each.id not in seen or each.judge(*seen[each.id]) != "right"]


def find_done(view: View) -> Mapping[str, int]:
    """Job -> the round that was ended, after which all of its checks see what is right and its visible tests pass."""
    played = list_rounds(view)
    green = {
        job.id: [
            number
            for number, (_, event) in enumerate(played.get(job.id, ()), 1)
            if view.record.is_ended(event) and not (list_wrong(job, event) or any(test.exit for test in event.visible))
        ]
        for _, job in view.scenario.jobs()
    }
    return {name: numbers[0] for name, numbers in green.items() if numbers}


def _cite_undone(view: View) -> list[str]:
    """The last rounds of jobs that were not done."""
    done = find_done(view)
    return [f"L{rounds[-1][0]}" for name, rounds in list_rounds(view).items() if name not in done]


def rounds_until_done(view: View) -> Measure:
    """A job that was not done would have taken one round more at the least."""
    limit, jobs, done = view.log.trial.rounds, view.scenario.jobs(), find_done(view)
    if limit == 1 or not jobs:
        return not_applicable(ONE if jobs else NO_JOB)
    taken = [done.get(job.id, limit + 1) for _, job in jobs]
    return amount(
        sum(taken) / len(jobs), len(jobs), "exact" if len(done) == len(jobs) else "at-least", _cite_undone(view)
    )


def jobs_done_corrected(view: View) -> Measure:
    if view.log.trial.rounds == 1:
        return not_applicable(ONE)
    return proportion(len(find_done(view)), len(view.scenario.jobs()), _cite_undone(view), none=NO_JOB)


def tokens_of_rounds(view: View) -> Measure:
    first = tokens_total(view)
    if view.log.trial.rounds == 1 or not isinstance(first, Measured):
        return not_applicable(ONE)
    later = [event for rounds in list_rounds(view).values() for _, event in rounds[1:]]
    asked = [event for _, event in view.record.recalls("correction")]
    spent = sum(each.prompt + each.completion for each in later) + sum(each.asking + each.tokens for each in asked)
    complete = not any(each.fault for each in asked)
    return amount(first.value + spent, first.of, first.known if complete else "at-least")


def reached_model(view: View, event: Round) -> bool:
    """Whether its model answered at all; who asks none has none to reach. The end of a program is no answer."""
    calls = view.log.calls(event)
    return not calls or any(call.prompt_tokens and call.outcome not in ("failed", "timed-out") for call in calls)


def repeated_corrections(view: View) -> Measure:
    """A correction is about a fact: that which leads to what is right. Where no model was reached, nobody heard it, and
    nobody repeats it."""
    if view.log.trial.rounds == 1:
        return not_applicable(ONE)
    played, told = list_rounds(view), dict[str, str]()
    again: list[str] = []
    chances = 0
    for session, job in view.scenario.jobs():
        rounds = played.get(job.id, ())
        wrong = [list_wrong(job, event) for _, event in rounds]
        reached = [reached_model(view, event) for _, event in rounds]
        for decision in job.decisions:
            fact = decision.right.fact
            # in an earlier session, as what its own session was told needs no memory
            # scored where the log is whole alone: each job then has a first round
            if told.get(fact, session.id) != session.id and reached[0]:
                chances += 1
                again += [f"L{rounds[0][0]}"] if decision.id in wrong[0] else []
        # what a round got wrong is told before the next one: after the last round nobody hears it
        corrected = {name for names, heard in zip(wrong, reached[1:], strict=False) if heard for name in names}
        for decision in job.decisions:
            if decision.id in corrected:
                told.setdefault(decision.right.fact, session.id)
    return proportion(len(again), chances, again, none="no later session needs what a correction was about")


_MANY = "with --rounds alone; "
METRICS: tuple[StoryMetric, ...] = (
    metric(
        UNTIL_DONE, "lower", "rounds",
        "rounds until one is ended in which every check sees what is right and the visible tests pass, mean over the "
        "jobs; a job that was not done counts as one round more than were allowed, and the mean as at least; of: jobs",
        rounds_until_done, reads=True, cold=True, whole=True,
        aside=f"{_MANY}the columns are of the first round", words=Words(WORK, place=26),
        label="rounds until a job is done",
    ),
    metric(
        DONE_CORRECTED, "higher", "proportion",
        "jobs of which every check sees what is right and the visible tests pass after one of the allowed rounds, "
        "which no fault, limit or kill ended / jobs of the story", jobs_done_corrected, reads=True, cold=True,
        aside=f"{_MANY}the columns are of the first round", words=Words(WORK, place=27),
        label="jobs completed with corrections",
    ),
    metric(
        REPEATED, "lower", "proportion",
        "decisions wrong in the first round of their job although an earlier session was corrected on the same fact / "
        "decisions whose right fact an earlier session was corrected on; rounds in which a program never reached its "
        "model count for neither", repeated_corrections, version=2,
        reads=True, cold=True, whole=True,
        aside=f"{_MANY}the columns are of the first round", words=Words(WORK, place=28),
        label="corrections repeated",
    ),
    metric(
        ROUND_TOKENS, "lower", "tokens",
        "tokens_total + what the later rounds of all jobs ask the memory, read and write; of: jobs", tokens_of_rounds,
        reads=True, cold=True, whole=True,
        aside=f"{_MANY}the column of cost is of the first round", words=Words(COST, place=12),
        label="tokens with all corrections",
    ),
)  # fmt: skip
