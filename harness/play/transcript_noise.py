"""Noise beside transcripts: pieces of what was said in other stories, about other repositories."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

from harness import paths
from harness.adapter import Item, Message, Scope, Source
from harness.log.parts import Written
from harness.model import canary
from harness.model.scenario import Scenario
from harness.model.trial import Feed
from harness.play.noise import list_batches, share_out
from harness.text.chunks import cut_transcript
from harness.text.classify import Classifier
from tasks import loader

MOST = 300
"""Pieces that surely are there for each story; more noise than this is not to be had."""


class Overheard(NamedTuple):
    """A piece of a session of another story, and the message with which it begins."""

    home: Scope
    session: str
    first: int
    text: str
    said: tuple[Message, ...]


@cache
def _list_pieces() -> tuple[Overheard, ...]:
    """Pieces of all transcripts that come with coldwarm, read once a process; their canaries are
    strings of no trial.
    """
    found = list[Overheard]()
    for scenario in (loader.read(file) for file in loader.find(paths.DEEP)):
        canaries = {fact.id: canary.make(scenario.id, "noise", fact.id) for fact in scenario.facts if fact.erasable}
        found += [
            Overheard(scenario.scope, session.id, chunk.first, chunk.text, chunk.messages)
            for session in scenario.sessions
            for chunk in cut_transcript(session, scenario.facts, canaries)
        ]
    return tuple(found)


def generate(scenario: Scenario, classifier: Classifier, amount: int, seed: int, feed: Feed) -> list[Written]:
    """`amount` distinct pieces in story order, which tell none of its facts; the same for the same seed. Where backends
    capture sessions, each is a short one of its own.
    """
    draw = random.Random(f"{scenario.id} {seed} sessions")  # noqa: S311  reproducible on purpose
    batches = list_batches(scenario)
    own = {scenario.scope, *(scenario.home(fact) for fact in scenario.facts)}
    # without None: stories that name no organisation share none, and would leave each other out
    repos, orgs = {scope.repo for scope in own}, {scope.org for scope in own} - {None}
    strange = [
        each
        for each in _list_pieces()
        if each.home.repo not in repos and each.home.org not in orgs and not classifier.by_rules(each.text).named
    ]
    drawn = iter(draw.sample(strange, amount))
    found = list[Written]()
    # without a batch there is none to which `share_out` could give anything
    for batch, share in zip(batches, share_out(scenario, amount, draw) if batches else (), strict=True):
        for _ in range(share):
            each, place = next(drawn), scenario.place(batch.session)
            source = Source(session=f"{each.session}#{each.first}")
            item = Item(each.text, place, batch.session.at.isoformat(), "episodic", source)
            said = each.said if feed == "native" else ()
            found.append(Written(name=f"noise:{batch.number}:{len(found)}", item=item, said=said))
    return found
