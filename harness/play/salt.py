"""Names that only a memory can know, made anew for each seed: no model can have read them before, or guess them.

A name is salted if it is made of words joined by hyphens or slashes, a told-only fact asserts it, and no file of the
repository holds it at any commit. It is the same everywhere in the story: facts, remarks, questions, options, edits and
checks. What stays as it is: numbers, times and commands, whose form programs check; and what the repository says.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from harness.model.job import Job
from harness.model.scenario import Scenario
from harness.repo.checkout import Repo

# a dot behind it may end the sentence; one before a letter makes it a file or a host
_NAME = re.compile(r"(?<![\w./-])[a-z]{3,}(?:[-/][a-z]{2,})+(?![\w/-]|\.\w)")
# without vowels they spell no word
_LETTERS = "bcdfghjkmnpqrstvwxz"
_SALTED = re.compile(rf"(?<![\w/-])([a-z]{{3,}}(?:[-/][a-z]{{2,}})+)-([{_LETTERS}]{{4}})(?![\w/-])", re.IGNORECASE)
_KEPT = frozenset(
    {"id", "kind", "by", "commit", "fixture", "beside", "fact", "facts", "gold", "supersedes", "asserts", "denies",
     "mentions", "cites", "relevant", "source", "scope", "type", "do", "stratum", "verdict", "since", "until", "at",
     "schema"}
)  # fmt: skip
"""What names things of the story, and says nothing to anybody in it."""


def salt(scenario: Scenario, repo: Repo, seed: int) -> Scenario:
    """The story with names of its own for this seed; as it is, if it has none that could be salted."""
    names = sorted(_find_names(scenario, repo))
    if not names:
        return scenario
    salted = {name: f"{name}-{_draw(f'{scenario.id} {seed} {name}')}" for name in names}
    # the look-arounds keep a name from being found inside a longer one that begins with it
    pattern = re.compile(rf"(?<![\w/-])(?:{'|'.join(map(re.escape, names))})(?![\w/-])", re.IGNORECASE)

    def change(text: str) -> str:
        # adds the letters alone, so that the name keeps the case in which it is written
        return pattern.sub(lambda found: found[0] + salted[found[0].lower()][len(found[0]) :], text)

    return _rewrite(scenario, change)


def unsalt(scenario: Scenario, seed: int) -> Scenario:
    """The story that was salted with this seed; an equal one, if it was not."""
    return _rewrite(scenario, lambda text: unsalt_text(text, scenario.id, seed))


def unsalt_text(text: str, story: str, seed: int) -> str:
    """A text with the names that the story has without salt."""

    def change(found: re.Match[str]) -> str:
        name, letters = found.groups()
        return name if letters == _draw(f"{story} {seed} {name.lower()}") else found[0]

    return _SALTED.sub(change, text)


def _rewrite(scenario: Scenario, change: Callable[[str], str]) -> Scenario:
    """The story with each of its texts changed; what names things of the story stays."""

    def each(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [each(one) for one in value]
        if isinstance(value, dict):
            kept = {key for key in _KEPT & {*value} if not _is_list_of_objects(value[key])}
            return {key: one if key in kept else each(one) for key, one in value.items()}
        return value

    return Scenario.model_validate(each(scenario.model_dump(mode="json", by_alias=True)))


def _find_names(scenario: Scenario, repo: Repo) -> Iterator[str]:
    told = {fact.id: fact for fact in scenario.facts if fact.source is None}
    values = {
        name
        for _, job in scenario.jobs()
        for option in _list_options(job)
        if option[1] in told
        for name in _NAME.findall(option[0])
    }
    values = {
        name for name in values if any(name in form for fact in told.values() for part in fact.forms for form in part)
    }
    for name in values:
        if not any(name in text.casefold() for commit in repo.commits for text in repo.files(commit).values()):
            yield name


def _list_options(job: Job) -> Iterator[tuple[str, str]]:
    return ((option.value, option.fact) for decision in job.decisions for option in decision.options)


def _is_list_of_objects(value: Any) -> bool:
    """The facts of a story, and not the names of some of them."""
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def _draw(seed: str) -> str:
    return "".join(random.Random(seed).choices(_LETTERS, k=4))  # noqa: S311  reproducible on purpose
