"""The scripted reader: turns memory into decisions by fixed rules, and knows which fact a text asserts in any words.

Where a memory holds is what the backend says of it. It ranks memories under controlled reading; it does not predict
what a live agent would do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Literal

from harness.log.parts import Choice, Read
from harness.model.dates import parse_moment
from harness.model.job import Decision, Job
from harness.model.trial import SCRIPTED_READS, ReadPolicy
from harness.play.readers import AskMemory, Context, Outcome, ReadEntry, is_for
from harness.play.readers.explore import CAP
from harness.play.readers.job_commands import find_option, match_option, run_commands
from harness.repo.traces import split_lines

SourceStanding = Literal["verified", "unverifiable", "contradicted"]
UNDATED = datetime.min.replace(tzinfo=UTC)
"""Memories without a date are the oldest of all."""
TRUST: tuple[SourceStanding, ...] = ("verified", "unverifiable", "contradicted")


class Scripted:
    """Decides from memory where an entry is usable, else from the repository, else not at all; heeds what the job's
    commands refuse.
    """

    policies: Sequence[ReadPolicy] = SCRIPTED_READS

    def work(self, job: Job, context: Context, ask: AskMemory) -> Outcome:
        outcome = Outcome(prompt=context.count(job.goal))
        opened: set[str] = set()
        known: dict[str, Sequence[Choice]] = {}

        def decide(decision: Decision, refused: AbstractSet[str] = frozenset()) -> Choice:
            told = (choice for choice in known[decision.id] if choice.value not in refused)
            return next(told, None) or explore(context, job, decision, opened, outcome, refused)

        for decision in job.decisions:
            outcome.prompt += context.count(decision.question)
            known[decision.id] = _read_memory(context, decision, ask(decision.question, decision), outcome)
            outcome.choices.append(decide(decision))
        run_commands(context, job, outcome, decide)
        outcome.completion += sum(context.count(choice.value) for choice in outcome.choices if choice.value)
        outcome.prompt += sum(read.tokens for read in outcome.reads)
        return outcome


def _read_memory(
    context: Context, decision: Decision, entries: Sequence[ReadEntry], outcome: Outcome
) -> Sequence[Choice]:
    """What the usable entries lead to, best first."""
    # `hear` and not `read`, as a memory may bring what was said in a session
    usable = [
        (entry, option)
        for entry in entries
        if is_for(entry, context.place)
        and not (entry.hit.warned if context.policy == "careful" else entry.hit.superseded)
        and (option := find_option(context.classifier.hear, decision, entry.text))
    ]
    if not usable or context.policy is None:
        return ()
    standings: dict[int, SourceStanding] = {}
    if context.policy in ("verifying", "careful"):
        standings = {entry.position: _verify(context, decision, entry, outcome) for entry, _ in usable}
    # Sorted by what counts least first: what is equal stays as the backend ranked it.
    if context.policy == "careful":
        usable.sort(key=lambda pair: pair[0].hit.confidence or 0.0, reverse=True)
    if context.policy in ("newest", "careful"):
        usable.sort(key=lambda pair: parse_moment(pair[0].hit.created) or UNDATED, reverse=True)
    if context.policy == "verifying":
        usable.sort(key=lambda pair: TRUST.index(standings[pair[0].position]))
    elif context.policy == "careful":  # a note that cites nothing may still be newer than one whose line stands
        usable.sort(key=lambda pair: standings[pair[0].position] == "contradicted")
    undated = sum(parse_moment(entry.hit.created) is None for entry, _ in usable)
    return [
        Choice(
            decision=decision.id,
            value=option.value,
            origin="memory",
            fact=option.fact,
            entry=entry.position,
            memory_id=entry.hit.memory_id,
            usable=len(usable),
            undated=undated,
            standing=standings.get(entry.position),
        )
        for entry, option in usable
    ]


def _verify(context: Context, decision: Decision, entry: ReadEntry, outcome: Outcome) -> SourceStanding:
    """Looks up the cited line at HEAD: still there, gone, or nothing to look up."""
    source = entry.hit.source
    if source is None or source.commit is None or source.path is None or source.line is None:
        return "unverifiable"
    says = context.repo.line(source.commit, source.path, source.line)
    trace = context.repo.trace(source.commit, source.path, source.line, context.commit)
    outcome.reads.append(_read(context, decision, source.path, says or "", source.line))
    if trace.state == "gone":
        return "contradicted"
    return "unverifiable" if trace.state == "dangling" else "verified"


def explore(
    context: Context,
    job: Job,
    decision: Decision,
    opened: set[str],
    outcome: Outcome,
    refused: AbstractSet[str] = frozenset(),
) -> Choice:
    """Opens whole files in BM25 order until a line decides, for nothing that was refused, or the cap is reached.

    Open files are not paid again.
    """
    files, spent = context.repo.files(context.commit), 0
    for path in context.explorer.rank(context.commit, f"{job.goal} {decision.question}"):
        if path not in opened:
            read = _read(context, decision, path, files[path])
            if spent + read.tokens > CAP:
                break
            spent += read.tokens
            opened.add(path)
            outcome.reads.append(read)
        for number, line in enumerate(split_lines(files[path]), 1):
            option = match_option(context, decision, line)
            if option is not None and option.value not in refused:
                return Choice(
                    decision=decision.id, value=option.value, origin="repo", fact=option.fact, path=path, line=number
                )
    return Choice(decision=decision.id, value=None, origin="nowhere")


def _read(context: Context, decision: Decision, path: str, text: str, line: int | None = None) -> Read:
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Read(decision=decision.id, path=path, line=line, digest=name, tokens=context.count(text))
