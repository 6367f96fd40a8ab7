"""A team's recorded sessions as sessions of a mined story, so that a memory can be fed what was really said.

A session that told the oldest value of a chain while it held stands in the story at its own time, with all of its
messages, and is where that value is learnt. What commits changed is told by one message for each value.
"""

from __future__ import annotations

import bisect
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from harness.mine.candidates import Candidate
from harness.mine.stories import HASH, MinedStory
from harness.mine.told import Spoken, Telling
from harness.model.facts import Fact
from harness.model.scenario import MINED, Scenario
from harness.model.transcript import MARKED, Message
from harness.repo.changes import Commit, read_texts
from harness.repo.checkout import Repo
from harness.text.classify import holds
from tasks import short

RECORDED = "said-"
"""What the name of a recorded session begins with in a story."""
REDACTED = "[redacted]"
"""Where a secret stood. Its mark would be taken for the canary of a fact."""
ASKING, WORKING = "What is known by now?", "Go on with the work."
"""What is said in a session that learns nothing."""
_LONGEST = 60
"""Characters of a name in a story."""


@dataclass(frozen=True)
class Recorded:
    """What sessions said, as an import has them.

    Attributes:
        list_spoken: The name of a repository -> what was said in its sessions.
        read: The name of a session -> its messages, each with the time at which it was said.
    """

    list_spoken: Callable[[str], Iterable[Spoken]]
    read: Callable[[str], Sequence[Message]]


@dataclass
class _Heard:
    """A recorded session in the making as one of a story.

    Attributes:
        name: In the story.
        until: When the first of what it told was changed: it has to stand before that.
        told: Fact -> the messages, by number from 0, that together tell it.
        sources: Fact -> where the file said it at that time.
    """

    name: str
    at: datetime
    until: datetime
    commit: str
    messages: Sequence[Message]
    told: dict[str, set[int]] = field(default_factory=dict)
    sources: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class StorySessions:
    """What was recorded, for the stories of one repository.

    Args:
        commits: Of its first-parent history, oldest first.
    """

    def __init__(
        self, repo: Repo, commits: Sequence[Commit], recorded: Recorded, tellings: Mapping[str, Sequence[Telling]]
    ) -> None:
        self._repo, self._commits, self._recorded, self._tellings = repo, commits, recorded, tellings

    def add(self, story: MinedStory, candidates: Sequence[Candidate]) -> MinedStory:
        """The story with a transcript for each of its sessions, recorded ones among them.

        Args:
            candidates: All that were found; the story names those that it uses.

        Raises ValidationError for what no story may hold.
        """
        scenario = Scenario.model_validate({**short.expand(dict(story.data)), "id": f"{MINED}/{story.name}"})
        by_id = {each.id: each for each in candidates}
        oldest = [fact for fact in scenario.facts if fact.supersedes is None]  # one a chain, in their order
        heard = dict[str, _Heard]()
        for name, fact in zip(story.used, oldest, strict=True):
            self._hear(by_id[name], fact, scenario, heard)
        data = _move(story.data, heard)
        # the dates of facts decide what a message tells, and those that moved have other ones now
        own_scenario = Scenario.model_validate({**short.expand(data), "id": scenario.id})
        transcripts = {each.name: _anchor(own_scenario, each) for each in heard.values()}
        for session in data["sessions"]:
            if session["id"] not in transcripts:
                transcripts[session["id"]] = list(_make_up(own_scenario, session))
        return replace(story, data=data, transcripts=transcripts)

    def _hear(self, candidate: Candidate, fact: Fact, scenario: Scenario, heard: dict[str, _Heard]) -> None:
        """The first session that told a fact, and from which on it is known, becomes one of the story."""
        value = fact.forms[-1][0]
        until = scenario.successor[fact.id].since
        for telling in self._tellings.get(candidate.id, ()):
            if telling.value != value:
                continue
            messages = self._recorded.read(telling.session)
            at = messages[telling.message - 1].at
            assert at is not None
            numbers = _find_telling(fact, messages, telling.message - 1)
            known = heard.get(telling.session)
            commit = self._find_commit(max(at, known.at) if known else at)
            source = commit and fact.source and self._find_source(fact, commit)
            if not (numbers and commit and source) or (known and max(at, known.at) >= min(until, known.until)):
                continue
            if known is None:
                name = f"{RECORDED}{telling.session}"
                # a name that is cut is numbered, as two long ones may begin alike
                name = (
                    name
                    if len(name) <= _LONGEST
                    else f"{RECORDED}{len(heard)}-{telling.session}"[:_LONGEST].rstrip("-")
                )
                known = heard[telling.session] = _Heard(name, at, until, commit, messages)
            # a session stands at one time in a story, so at the last of what it tells
            known.at, known.until, known.commit = max(at, known.at), min(until, known.until), commit
            known.told[fact.id], known.sources[fact.id] = numbers, source
            return

    def _find_commit(self, at: datetime) -> str | None:
        """The newest that there was at that time."""
        # list_commits makes each commit later than the one before, whatever the clocks said
        place = bisect.bisect_right(self._commits, at, key=lambda each: each.at)
        return self._commits[place - 1].hash if place else None

    def _find_source(self, fact: Fact, commit: str) -> Mapping[str, Any] | None:
        """Where its line stood at a commit; None: the file did not say it then."""
        source = fact.source
        assert source is not None and source.commit and source.path and source.line
        line = self._repo.line(self._repo.resolve(source.commit), source.path, source.line)
        (text,) = read_texts(self._repo, [(commit, source.path)])
        if line is None or text is None:
            return None
        lines = [each.strip() for each in text.split("\n")]
        if line.strip() not in lines:
            return None
        return {"commit": commit[:HASH], "path": source.path, "line": lines.index(line.strip()) + 1}


def _find_telling(fact: Fact, messages: Sequence[Message], number: int) -> set[int]:
    """The message of that number, and the nearest before it that say what it leaves out; none: it stays unsaid."""
    numbers = {number}
    for part in fact.forms:
        at = next((each for each in range(number, -1, -1) if holds(messages[each].text, [part])), None)
        if at is None:
            return set()
        numbers.add(at)
    return numbers


def _move(data: Mapping[str, Any], heard: Mapping[str, _Heard]) -> dict[str, Any]:
    """The story in which what recorded sessions told is learnt in them, in order of time, and not from a commit."""
    moved = {fact: each for each in heard.values() for fact in each.told}
    facts = [
        {**fact, "since": min(fact["since"], moved[fact["id"]].at), "source": moved[fact["id"]].sources[fact["id"]]}
        if fact["id"] in moved
        else fact
        for fact in data["facts"]
    ]
    sessions = [
        {
            "id": each.name, "at": each.at, "by": "team", "commit": each.commit[:HASH],
            "steps": [{"do": "learn", "facts": sorted(each.told)}],
        }
        for each in heard.values()
    ]  # fmt: skip
    sessions_left = [{**session, "steps": list(_leave(session["steps"], moved))} for session in data["sessions"]]
    sessions += [session for session in sessions_left if session["steps"]]
    return {**data, "facts": facts, "sessions": sorted(sessions, key=lambda session: session["at"])}


def _leave(steps: Iterable[Mapping[str, Any]], moved: Mapping[str, _Heard]) -> Iterator[Mapping[str, Any]]:
    """Steps without what is learnt elsewhere."""
    for step in steps:
        if step["do"] != "learn":
            yield step
        elif facts := [fact for fact in step["facts"] if fact not in moved]:
            yield {**step, "facts": facts}


def _anchor(scenario: Scenario, heard: _Heard) -> list[Message]:
    """The messages of a recorded session, as a story may have them, each with the facts that it speaks of."""
    messages = []
    for number, message in enumerate(map(_clean, heard.messages)):
        facts_told = {name for name, numbers in heard.told.items() if number in numbers}
        carried = {fact.id for fact in scenario.facts if holds(message.text, fact.forms)}
        facts_told |= {name for name in carried if _is_held(scenario, scenario.by_id[name], heard.at)}
        messages.append(
            message.model_copy(
                update={"tells": tuple(sorted(facts_told)), "mentions": tuple(sorted(carried - facts_told))}
            )
        )
    return messages


def _is_held(scenario: Scenario, fact: Fact, at: datetime) -> bool:
    later = scenario.successor.get(fact.id)
    return fact.since <= at and (later is None or at < later.since)


def _clean(message: Message) -> Message:
    """Without marks of secrets, and without a time; arguments that were cut are a text."""
    calls = []
    for call in message.tool_calls:
        arguments = MARKED.sub(REDACTED, call.function.arguments)
        function = call.function.model_copy(update={"arguments": arguments})
        if function.explain_broken():
            function = function.model_copy(update={"arguments": json.dumps({"cut": arguments}, ensure_ascii=False)})
        calls.append(call.model_copy(update={"function": function}))
    content = MARKED.sub(REDACTED, message.content)
    return message.model_copy(update={"content": content, "tool_calls": tuple(calls), "at": None})


def _make_up(scenario: Scenario, session: Mapping[str, Any]) -> Iterator[Message]:
    """What is said in a session that nobody recorded: a message for each fact that a commit brought."""
    learnt = itertools.chain.from_iterable(step.get("facts", ()) for step in session["steps"])
    messages = [Message(role="user", content=scenario.by_id[name].plain.text, tells=(name,)) for name in learnt]
    for message in messages:
        carried = {fact.id for fact in scenario.facts if holds(message.text, fact.forms)}
        yield message.model_copy(update={"mentions": tuple(sorted(carried - {*message.tells}))})
    if not messages:
        works = any(step["do"] == "job" for step in session["steps"])
        yield Message(role="user", content=WORKING if works else ASKING)
