"""What the transcripts of a story prove: each fact is told by messages that carry it, and none is told unnoticed."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.facts import Fact
from harness.model.scenario import Learn, Remember, Scenario, Session
from harness.model.transcript import Message, find_problems
from harness.text.classify import holds


def problems(scenario: Scenario) -> Iterator[str]:
    """`key: reason` of everything that does not hold; nothing of a story without transcripts."""
    if not scenario.spoken:
        return
    for session in scenario.sessions:
        key = f"transcripts.{session.id}"
        if not session.transcript:
            yield f"{key}: is missing or empty; each session of this story has one, or none has"
            continue
        yield from (f"{key}.{problem}" for problem in find_problems(session.transcript))
        for at, message in enumerate(session.transcript, 1):
            yield from (f"{key}.messages.{at}: {problem}" for problem in _find_slips(scenario, message))
        yield from (f"{key}: {problem}" for problem in _find_untold(scenario, session))
    yield from _find_early(scenario)
    yield from _find_unknowable(scenario)


def _find_slips(scenario: Scenario, message: Message) -> Iterator[str]:
    """Facts that a message carries without an anchor, canaries of no fact, and what is no message as it was sent."""
    for call in message.tool_calls:
        if why := call.function.explain_broken():
            yield f"the arguments of tool call '{call.id}' are not JSON: {why}"
    for name in sorted({*message.tells} & {*message.retracts}):
        yield f"tells and retracts fact '{name}'; what holds after it is the one or the other"
    for name in sorted(message.marked):
        if name not in scenario.by_id or not scenario.by_id[name].erasable:
            yield f"holds the canary of '{name}', which is no fact with a canary"
    for fact in scenario.facts:
        if fact.id not in message.anchored and _carries(fact, [message]):
            yield f"holds all forms of fact '{fact.id}' and has no anchor to it: tells, retracts or mentions"


def _find_untold(scenario: Scenario, session: Session) -> Iterator[str]:
    """What a session is said to have learnt or remarked, and no message of it says."""
    learnt = {name for step in session.steps if isinstance(step, Learn) for name in step.facts}
    for name in sorted(learnt | {name for message in session.transcript for name in message.tells}):
        telling = [message for message in session.transcript if name in message.tells]
        if not telling:
            yield f"no message tells fact '{name}', which the session learns"
        elif not _carries(scenario.by_id[name], telling):
            yield f"the messages that tell fact '{name}' hold not all of its forms"
    spoken = frozenset(name for message in session.transcript for name in message.anchored)
    for step in session.steps:
        for text in step.texts if isinstance(step, Remember) else ():
            for name in text.asserts:
                if name not in spoken:
                    yield f"no message speaks of fact '{name}', which a remark of the session asserts"


def _find_early(scenario: Scenario) -> Iterator[str]:
    """Messages that tell a fact before it holds, or take back what is first told later.

    A message may deny what somebody mentioned, and what the repository says: then the fact may be told afterwards.
    """
    told = {name for session in scenario.sessions for message in session.transcript for name in message.tells}
    known = {fact.id for fact in scenario.facts if fact.source is not None}
    for session in scenario.sessions:
        for at, message in enumerate(session.transcript, 1):
            key = f"transcripts.{session.id}.messages.{at}"
            for name in message.tells:
                if session.at < (since := scenario.by_id[name].since):
                    yield f"{key}: tells fact '{name}', which holds only since {since}"
            for name in message.retracts:
                if name in told - known - {*message.tells}:
                    yield f"{key}: retracts fact '{name}', which is first told later"
            known |= message.anchored


def _find_unknowable(scenario: Scenario) -> Iterator[str]:
    """Facts that answer a question or lead astray, and that nobody can know: neither a message nor the repository says
    them. Of those that a session learns `_find_untold` says it, of those that nothing asks for the loader.
    """
    told = {name for session in scenario.sessions for message in session.transcript for name in message.tells}
    spoken = {name for session in scenario.sessions for message in session.transcript for name in message.anchored}
    learnt = {name for _, step in scenario.steps() if isinstance(step, Learn) for name in step.facts}
    wanted, led = dict(_list_wanted(scenario)), dict(_list_leading(scenario))
    for fact in scenario.facts:
        if fact.source is not None or fact.id in learnt:
            continue
        if fact.id in wanted and fact.id not in told:
            yield f"facts.{fact.id}: no message tells it and it has no source, but it is {wanted[fact.id]}"
        elif fact.id in led and fact.id not in spoken:
            yield f"facts.{fact.id}: no message speaks of it and it has no source, but it is {led[fact.id]}"


def _list_wanted(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for _, probe in scenario.probes():
        yield from ((name, f"gold of probe '{probe.id}'") for name in probe.gold)
    for _, job in scenario.jobs():
        yield from ((each.right.fact, f"behind the right option of {job.id}.{each.id}") for each in job.decisions)


def _list_leading(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for _, job in scenario.jobs():
        for each in job.decisions:
            yield from ((one.fact, f"behind option '{one.value}' of {job.id}.{each.id}") for one in each.options)


def _carries(fact: Fact, messages: list[Message]) -> bool:
    if fact.erasable:
        return any(fact.id in message.marked for message in messages)
    return holds("\n".join(message.text for message in messages), fact.forms)
