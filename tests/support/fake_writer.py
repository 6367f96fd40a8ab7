"""Fake chat models for the chat writer: one writes down just what holds, one does all that a writer should not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from harness.model.scenario import Scenario
from harness.text.classify import Classifier

Rule = Callable[[Mapping[str, Any]], str]
"""A request -> the answer."""
_DAY = re.compile(r"^Today: (\S+)\. Place", re.MULTILINE)
_LINE = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)


def read_prompt(body: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    """The day, the known memories and the lines of the transcript that a request shows."""
    prompt = body["messages"][1]["content"]
    before, _, told = prompt.partition("\nTranscript:\n")
    found = _DAY.search(before)
    assert found is not None
    return found[1], _LINE.findall(before.partition("\nKnown memories:\n")[2]), _LINE.findall(told)


def memory(text: str, sources: Sequence[int] = (1,), replaces: Sequence[int] = ()) -> dict[str, Any]:
    return {"text": text, "from": [*sources], "replaces": [*replaces]}


def answer(*memories: Mapping[str, Any]) -> str:
    return json.dumps({"memories": [*memories]})


def write_by(wanted: Literal["perfect", "bad"], scenario: Scenario, canaries: Mapping[str, str] | None = None) -> Rule:
    """Knows the story.

    perfect: each line that asserts what holds is a memory, and replaces what it contradicts. bad: one memory tells all
    lines, what holds no longer and the password with it; a second one tells what nobody said; nothing is replaced but
    what still holds.
    """
    classifier = Classifier(scenario, canaries)

    def holds(fact: str, day: str) -> bool:
        at = next(each.at for each in scenario.sessions if f"{each.at:%Y-%m-%d}" == day)
        return scenario.find_standing(fact, at, scenario.home(scenario.by_id[fact])) == "current"

    def perfect(body: Mapping[str, Any]) -> str:
        day, known, told = read_prompt(body)
        facts = [classifier.read(line).asserted for line in told]
        kept, gone = [], set[int]()
        for number, asserted in enumerate(facts, 1):
            if asserted and all(holds(fact, day) for fact in asserted):
                old = {before for fact in asserted for before in scenario.predecessors(fact)}
                ended = [at for at, text in enumerate(known, 1) if classifier.read(text).asserted & old]
                kept.append(memory(told[number - 1], [number], [at for at in ended if at not in gone]))
                gone.update(ended)
        return answer(*kept)

    def bad(body: Mapping[str, Any]) -> str:
        day, known, told = read_prompt(body)
        named = {fact for text in (*known, *told) for fact in classifier.read(text).named}
        unsaid = [fact for fact in scenario.facts if fact.id not in named and not fact.erasable]
        sound = [
            at for at, text in enumerate(known, 1) if any(holds(each, day) for each in classifier.read(text).asserted)
        ]
        made_up = [memory(each.plain.text) for each in unsaid[:1]]
        return answer(memory("; ".join(told), range(1, len(told) + 1), sound), *made_up)

    return perfect if wanted == "perfect" else bad
