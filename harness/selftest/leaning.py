"""Do questions lean: share a rare word with the rule that holds alone, or with the one that it replaced alone?

Whoever compares words then finds one of the two first, whatever they say. A single question may lean, as people's
questions do; all of them together may not lean to one side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from harness.model.scenario import Learn, Remember
from harness.selftest.proof import Told

WORD = re.compile(r"[a-z][a-z-]{3,}")
ASKING = frozenset(
    ["does", "from", "have", "that", "then", "they", "this", "what", "when", "where", "which", "whose", "with"]
)
"""Words of questions, which say nothing of what is asked."""
RARE = 0.25
"""The largest share of a story's texts in which a word stands that tells one text from another."""
BOUND = 0.05
"""How much more often questions may lean to one side than to the other, of all questions about a replaced rule."""


class Leaning(NamedTuple):
    """Questions about a rule that replaced another one, both of which were told.

    Attributes:
        current, superseded: Those that share a rare word with this side only.
    """

    current: int
    superseded: int
    of: int

    @property
    def excess(self) -> float:
        """By how much more of the questions lean to the superseded rule; below 0, to the current one."""
        return (self.superseded - self.current) / self.of if self.of else 0.0


def add(several: Iterable[Leaning]) -> Leaning:
    found = [*several]
    return Leaning(*(sum(each[at] for each in found) for at in range(3)))


def judge(rows: Iterable[Leaning]) -> Iterator[str]:
    """Why the questions of a suite lean too much, if they do."""
    found = add(rows)
    if abs(found.excess) > BOUND:
        side = "superseded" if found.excess > 0 else "current"
        yield f"{abs(found.excess):.0%} more lean to the {side} rule than to the other; at most {BOUND:.0%} may"


def weigh(told: Told) -> Leaning:
    """One story; a question that leans is noted where it has no counterpart that leans to the other side."""
    texts = _list_texts(told)
    rare = _find_rare([text for own in texts.values() for text in own])
    sides = {"current": list[str](), "superseded": list[str]()}
    of = 0
    for key, question, fact, before in _list_questions(told):
        if fact not in texts or before not in texts:
            continue
        of += 1
        asked = _words(question) & rare
        now, then = (asked & {word for text in texts[name] for word in _words(text)} for name in (fact, before))
        if bool(now - then) is not bool(then - now):
            sides["current" if now - then else "superseded"].append(f"{key} ({', '.join(sorted(now ^ then))})")
    found = Leaning(len(sides["current"]), len(sides["superseded"]), of)
    for side, other in (("current", "superseded"), ("superseded", "current")):
        if len(sides[side]) > 1 and not sides[other]:
            told.note("questions", f"all that lean share a word with the {side} rule only: {'; '.join(sides[side])}")
    return found


def _list_texts(told: Told) -> Mapping[str, list[str]]:
    """Fact -> the texts in which the story tells it."""
    found: dict[str, list[str]] = {}
    for _, step in told.scenario.steps():
        if isinstance(step, Learn):
            for name in step.facts:
                found.setdefault(name, []).append(told.scenario.by_id[name].phrase(step.stratum).text)
        elif isinstance(step, Remember):
            for text in step.texts:
                for name in text.asserts:
                    found.setdefault(name, []).append(text.text)
    return found


def _list_questions(told: Told) -> Iterator[tuple[str, str, str, str]]:
    """Key, question, the fact that answers it, and the one that this replaced."""
    facts = told.scenario.by_id
    for _, probe in told.scenario.probes():
        for name in probe.gold:
            if before := facts[name].supersedes:
                yield from ((f"{probe.id}.{stratum}", text, name, before) for stratum, text in probe.ask.phrasings())
    for _, job in told.scenario.jobs():
        for decision in job.decisions:
            if (fact := decision.right.fact) and (before := facts[fact].supersedes):
                yield f"{job.id}.{decision.id}", decision.question, fact, before


def _find_rare(texts: Iterable[str]) -> set[str]:
    every = [_words(text) for text in texts]
    seen = Counter(word for words in every for word in words)
    return {word for word, times in seen.items() if times <= max(1, RARE * len(every))}


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold())) - ASKING
