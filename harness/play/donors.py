"""Sentences for noise: what the facts of other stories say, told of this story's repository.

Noise has to read as facts do, so it is made of facts. A donor comes from another organisation and another repository.
Its sentence is told of the story's own repository only if it is about another topic; else it keeps its repository's
name, and is a look-alike that holds elsewhere.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from harness import paths
from harness.adapter import Scope
from harness.model.facts import Fact, Stratum, Text
from harness.model.job import Job
from harness.model.scenario import Probe, Scenario
from tasks import loader

SHARED = 2
"""So many words in common with a fact, a question or a decision of the story make a sentence one about its topic."""
TOPICS = (
    "deploy ship launch release rollout platform lane train delivery publish",
    "rollback undo revert backwards",
    "approver approve permission sign reviewer review",
    "announce channel call phone alarm alert ring",
    "attempt retry tries try repeat",
    "timeout wait pause interval delay",
    "branch", "test", "import package module", "indent spaces", "database", "page", "batch", "error", "queue",
)  # fmt: skip
"""Words for one topic; one of them in common is enough."""
COMMON = (
    "about after again also been before both comes done down each else every first from goes have here hold into just "
    "kept know long made make more most much must need never only other over said same says should some stand still "
    "such take than that their them then there these they thing this those time under used uses value want wants what "
    "when where which while whoever whose will with without would"
)
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset(COMMON.split())
_ENDING = re.compile(r"(?:ments?|ings?|ers?|ed|es|e|s)$")
_RUN = re.compile(r"[A-Za-z]+|\d+")


class Donor(NamedTuple):
    """A fact of the suite that comes with coldwarm, and where its story stores it."""

    story: str
    fact: Fact
    home: Scope

    def text(self, stratum: Stratum) -> str:
        text: Text = getattr(self.fact, stratum)
        return text.text


MANY = 50
"""Facts of other stories below which a suite has too few words of its own to make noise of."""


@cache
def list_facts(tasks: Path) -> tuple[Donor, ...]:
    """All facts of a suite that comes with coldwarm, read once a process."""
    stories = [loader.read(file) for file in loader.find(tasks)]
    return tuple(Donor(story.id, fact, story.home(fact)) for story in stories for fact in story.facts)


def list_strangers(scenario: Scenario) -> tuple[Donor, ...]:
    """The donors that have neither a repository nor an organisation in common with a story; worded as its facts are,
    where there are enough of these."""
    deep = _find_strangers(scenario, paths.DEEP) if scenario.spoken else ()
    return deep if len(deep) >= MANY else _find_strangers(scenario, paths.TASKS)


def _find_strangers(scenario: Scenario, tasks: Path) -> tuple[Donor, ...]:
    own = {scenario.scope, *(scenario.home(fact) for fact in scenario.facts)}
    # two places without an organisation have none in common
    repos, orgs = {scope.repo for scope in own}, {scope.org for scope in own} - {None}
    return tuple(each for each in list_facts(tasks) if each.home.repo not in repos and each.home.org not in orgs)


# --- topics ----------------------------------------------------------------------------------------------------------


def list_topics(scenario: Scenario) -> list[frozenset[str]]:
    """The words of each fact, probe and decision of a story."""
    names = split_words(" ".join(str(scope.repo) for scope in {scenario.scope, *map(scenario.home, scenario.facts)}))
    return [found - names for said in _list_said(scenario) if (found := split_words(" ".join(said)))]


def _list_said(scenario: Scenario) -> Iterator[Iterable[str]]:
    for fact in scenario.facts:
        yield [text.text for text in fact.own_texts()]
    for _, step in scenario.steps():
        if isinstance(step, Probe):
            yield [text for _, text in step.ask.phrasings()]
        elif isinstance(step, Job):
            yield from ([decision.question] for decision in step.decisions)


@lru_cache(4096)  # a sentence is drawn again and again
def split_words(text: str) -> frozenset[str]:
    """The words that tell what a text is about, without their endings; those of one topic are one."""
    found = (_ENDING.sub("", word) for word in _WORD.findall(text.lower()) if word not in _COMMON)
    return frozenset(_SAME.get(word, word) for word in found if len(word) > 2)


_SAME = {_ENDING.sub("", word): f"#{number}" for number, same in enumerate(TOPICS) for word in same.split()}


def is_related(topic_words: frozenset[str], about: Iterable[frozenset[str]]) -> bool:
    """Whether what these words say may be about a topic of the story."""
    return any(
        len(common) >= SHARED or any(word.startswith("#") for word in common)
        for topic in about
        if (common := topic_words & topic)
    )


# --- words of another place ------------------------------------------------------------------------------------------


def mentions(text: str, name: str | None) -> bool:
    return name is not None and _name_pattern(name).search(text) is not None


@lru_cache(4096)
def rename(text: str, here: Scope, there: Scope) -> str:
    """A text about one place as if it were about another one."""
    for part in ("repo", "org", "branch", "user"):
        old, new = getattr(here, part), getattr(there, part)
        if old and new:
            text = _name_pattern(old).sub(partial(_match_case, new), text)
    return text


def _match_case(new: str, found: re.Match[str]) -> str:
    """A name with a capital where the one that it replaces has one."""
    return new.capitalize() if found[0][0].isupper() else new


@cache
def _name_pattern(name: str) -> re.Pattern[str]:
    # a hyphen belongs to a name: `shop` is not mentioned by `shop-api`
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)


def vary(text: str, fact: Fact, draw: random.Random) -> str:
    """A sentence with other values: digits are drawn anew, words come from values of the same shape."""
    for part in fact.forms:
        for form in part:
            if form in text:
                text = text.replace(form, _value(form, draw))
                break
    return text


def _value(form: str, draw: random.Random) -> str:
    runs = _RUN.findall(form)
    if any(run.isdigit() for run in runs):
        return re.sub(r"\d+", lambda found: str(draw.randrange(1, 10 ** min(len(found[0]) + 1, 9))), form)
    alike = _group_values().get(_shape(form), [runs])
    drawn = iter([draw.choice(alike)[at] for at in range(len(runs))])
    return _RUN.sub(lambda _: next(drawn), form)


@cache
def _group_values() -> Mapping[str, list[list[str]]]:
    """Shape -> the runs of letters and digits of each value that has it."""
    found: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for each in list_facts(paths.TASKS):
        for form in (form for part in each.fact.forms for form in part):
            found[_shape(form)][form] = _RUN.findall(form)
    return {shape: list(values.values()) for shape, values in found.items()}


def _shape(form: str) -> str:
    return re.sub(r"\d+", "0", re.sub(r"[A-Za-z]+", lambda run: "A" if run[0].isupper() else "a", form))
