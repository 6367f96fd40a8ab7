"""Do questions lean: share a rare word with the rule that holds alone, or with the one that it replaced alone?

Whoever compares words then finds one of the two first, whatever they say. A single question may lean, as people's
questions do; all of them together may not lean to one side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from harness.model.scenario import Learn, Remember, Session
from harness.selftest.proof import ScenarioProof

WORD = re.compile(r"[a-z][a-z-]{3,}")
ASKING = frozenset(
    ["does", "from", "have", "that", "then", "they", "this", "what", "when", "where", "which", "whose", "with"]
)
"""Words of questions, which say nothing of what is asked."""
RARE = 0.25
"""The largest share of a story's texts in which a word stands that tells one text from another."""
COIN = 0.10
"""How far from a coin a reader that only counts words may be, over as many questions as MANY or more."""
MANY = 50
BOUND = 0.05
"""How much more often questions may lean to one side than to the other, of all questions about a replaced rule."""


class Leaning(NamedTuple):
    """Questions about a rule that replaced another one, both of which were told.

    Attributes:
        current, superseded: Those that share a rare word with this side only.
        picked: Those of which a reader that counts words in common takes the current rule; a tie is half of one.
    """

    current: int
    superseded: int
    of: int
    picked: float = 0.0

    @property
    def excess(self) -> float:
        """The share of questions by which more lean to the superseded rule; below 0, to the current one."""
        return (self.superseded - self.current) / self.of if self.of else 0.0


def add(several: Iterable[Leaning]) -> Leaning:
    found = [*several]
    return Leaning(
        sum(each.current for each in found),
        sum(each.superseded for each in found),
        sum(each.of for each in found),
        sum(each.picked for each in found),
    )


def judge(rows: Iterable[Leaning]) -> Iterator[str]:
    """Why the questions of a suite lean too much, if they do."""
    found = add(rows)
    if abs(found.excess) > BOUND:
        side = "superseded" if found.excess > 0 else "current"
        yield f"{abs(found.excess):.0%} more lean to the {side} rule than to the other; at most {BOUND:.0%} may"
    if found.of >= MANY and abs(found.picked / found.of - 0.5) > COIN:
        yield (
            f"a reader that counts words in common takes the current rule in {found.picked / found.of:.0%}; it may be "
            f"{COIN:.0%} more or less than half"
        )


def measure_leaning(proof: ScenarioProof) -> Leaning:
    """One story; a question that leans is noted where it has no counterpart that leans to the other side."""
    texts = _list_texts(proof)
    rare = find_rare([text for own in texts.values() for text in own])
    sides = {"current": list[str](), "superseded": list[str]()}
    of, picked = 0, 0.0
    for _, key, question, fact, before in list_questions(proof):
        if fact not in texts or before not in texts:
            continue
        of += 1
        picked += _pick(split_words(question), texts[fact], texts[before])
        rare_words = split_words(question) & rare
        now, then = (
            rare_words & {word for text in texts[name] for word in split_words(text)} for name in (fact, before)
        )
        # a word on each side draws to both, and the question leans to neither
        if bool(now - then) is not bool(then - now):
            sides["current" if now - then else "superseded"].append(f"{key} ({', '.join(sorted(now ^ then))})")
    found = Leaning(len(sides["current"]), len(sides["superseded"]), of, picked)
    if proof.scenario.spoken:  # here no question has an excuse
        for side, own in sides.items():
            for each in own:
                proof.breach("questions", f"{each} shares a rare word with the {side} rule only")
        return found
    for side, other in (("current", "superseded"), ("superseded", "current")):
        if len(sides[side]) > 1 and not sides[other]:
            proof.note("questions", f"all that lean share a word with the {side} rule only: {'; '.join(sides[side])}")
    return found


def _pick(asked: set[str], now: Iterable[str], then: Iterable[str]) -> float:
    """1 where the current rule has more of the words for its length, 0 where the one before has, else a half."""
    current, before = (max(len(asked & words) / len(words) ** 0.5 if words else 0.0
                           for words in map(split_words, texts)) for texts in (now, then))  # fmt: skip
    return 1.0 if current > before else 0.5 if current == before else 0.0


def _list_texts(proof: ScenarioProof) -> Mapping[str, list[str]]:
    """Fact -> the texts in which the story tells it: where none of its steps does, the messages."""
    found: dict[str, list[str]] = {}
    for _, step in proof.scenario.steps():
        if isinstance(step, Learn):
            for name in step.facts:
                found.setdefault(name, []).append(proof.scenario.by_id[name].phrase(step.stratum).text)
        elif isinstance(step, Remember):
            for text in step.texts:
                for name in text.asserts:
                    found.setdefault(name, []).append(text.text)
    spoken: dict[str, list[str]] = {}
    for session in proof.scenario.sessions:
        for message in session.transcript:
            for name in message.tells:
                spoken.setdefault(name, []).append(message.text)
    return {**spoken, **found}


def list_questions(proof: ScenarioProof) -> Iterator[tuple[Session, str, str, str, str]]:
    """Session, key, question, the fact that answers it, and the one that this replaced."""
    facts = proof.scenario.by_id
    for session, probe in proof.scenario.probes():
        for name in probe.gold:
            if before := facts[name].supersedes:
                yield from (
                    (session, f"{probe.id}.{stratum}", text, name, before) for stratum, text in probe.ask.phrasings()
                )
    for session, job in proof.scenario.jobs():
        for decision in job.decisions:
            if (fact := decision.right.fact) and (before := facts[fact].supersedes):
                yield session, f"{job.id}.{decision.id}", decision.question, fact, before


def find_rare(texts: Iterable[str]) -> set[str]:
    every = [split_words(text) for text in texts]
    seen = Counter(word for words in every for word in words)
    # at least 1: in a story of three texts or fewer, no word would be rare
    return {word for word, times in seen.items() if times <= max(1, RARE * len(every))}


def split_words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold())) - ASKING
