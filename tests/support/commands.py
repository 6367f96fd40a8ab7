"""Commands of a page as a reader copies them: what each stands beside, and which trials it would play."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

from harness.cli import playing
from harness.cli.play import run
from harness.model.backend import SOUND
from harness.model.drill import DrillTrial
from harness.model.scenario import Scenario
from harness.model.trial import Selection, Trial
from harness.play import plan
from tasks import loader
from tests.support.trees import unpacked

BLOCK = re.compile(r'[">](H4sI[A-Za-z0-9+/=]{200,})["<]')


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Each line of a `pre` that begins with `coldwarm`, with the anchor that it stands in, packed timelines too."""
    reader = _Reader()
    reader.feed(page)
    lines = list(reader.found)
    for block in BLOCK.findall(page):
        lines += [(trial, line) for trial, tree in unpacked(block).items() for line in _lines(tree)]
    yield from dict.fromkeys((anchor, line) for anchor, line in lines if line.startswith("coldwarm "))


def _lines(tree: list[Any]) -> Iterator[str]:
    tag, _, *children = tree
    for child in children:
        if isinstance(child, list):
            yield from _lines(child)
        elif tag == "pre":
            yield from child.splitlines()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._anchor, self._pre = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._anchor = dict(attrs).get("id") or self._anchor
        self._pre = self._pre or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._pre = self._pre and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._pre:
            self.found += [(self._anchor, line) for line in data.splitlines()]


def select_options(command: str) -> Selection:
    """What the options of a `coldwarm run ...` ask for."""
    return _select(_parse(command))


def planned(command: str) -> list[Trial | DrillTrial]:
    """What a `coldwarm run ...` would play, without playing or loading anything."""
    asked = _parse(command)
    selection = _select(asked)
    files = [] if selection.scenarios == ("none",) else loader.find(asked["tasks"], selection.scenarios)
    stories = [cast(Scenario, SimpleNamespace(id=f"{file.parent.name}/{file.stem}")) for file in files]
    labels = [spec.label for spec in selection.backends]
    drills = plan.list_drills(selection, [*labels, SOUND], dict(zip(labels[1:], labels, strict=False)))
    found: list[Trial | DrillTrial] = [*plan.list_trials(selection, stories), *drills]
    return [trial for trial in dict.fromkeys(found) if trial.id.startswith(asked["only"] or "")]


def _parse(command: str) -> dict[str, Any]:
    program, name, *words = shlex.split(command)
    assert (program, name) == ("coldwarm", "run")
    return run.make_context("run", words).params


def _select(options: dict[str, Any]) -> Selection:
    return playing.select(**{name: options[name] for name in inspect.signature(playing.select).parameters})
