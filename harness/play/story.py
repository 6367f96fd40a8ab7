"""A story with all that its trials share."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple

from harness.log.parts import Written
from harness.model.scenario import Scenario
from harness.model.trial import Feed, digest, digest_each
from harness.play import noise, transcript_noise
from harness.play.readers.explore import Explorer
from harness.play.salt import salt
from harness.repo.checkout import Repo
from harness.text.classify import Classifier


class Noise(NamedTuple):
    """What is told beside a story, and its digest."""

    memories: Sequence[Written]
    digest: str


class Story:
    """One scenario and its repository. What is derived from them is made once, and anew where the story is sent to."""

    def __init__(self, scenario: Scenario, repo: Repo, explorer: Explorer | None = None) -> None:
        self.scenario, self.repo = scenario, repo
        self._explorer = explorer
        self._noises: dict[tuple[int, int, Feed], Noise] = {}
        self._salted: dict[int, Story] = {}
        self._classifiers: dict[tuple[tuple[str, str], ...], Classifier] = {}
        # trials of one story are played in several threads, and the noise is drawn by one of them
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # the lock cannot be pickled, and what is derived is made anew on the other side
        return Story, (self.scenario, self.repo)

    @cached_property
    def classifier(self) -> Classifier:
        """Knows no trial's canaries."""
        return Classifier(self.scenario)

    def find_classifier(self, canaries: Mapping[str, str]) -> Classifier:
        """One for all trials with these canaries, until `let_go`: they read the same files and memories."""
        key = tuple(canaries.items())
        with self._lock:
            if key not in self._classifiers:
                self._classifiers[key] = Classifier(self.scenario, canaries)
            return self._classifiers[key]

    @cached_property
    def explorer(self) -> Explorer:
        return self._explorer or Explorer(self.repo)

    @cached_property
    def digest(self) -> str:
        return digest(self.scenario)

    def noise(self, amount: int, seed: int, feed: Feed = "facts") -> Noise:
        """Made once for all trials, until `let_go`."""
        with self._lock:
            if (amount, seed, feed) not in self._noises:
                made = (
                    noise.generate(self.scenario, self.repo, self.classifier, amount, seed)
                    if feed == "facts"
                    else transcript_noise.generate(self.scenario, self.classifier, amount, seed, feed)
                )
                memories = tuple(made)
                drawn = Noise(memories, digest_each(asdict(each.item) for each in memories))
                self._noises[amount, seed, feed] = drawn
            return self._noises[amount, seed, feed]

    def salt(self, seed: int) -> Story:
        """This story with names of its own for this seed, where only a memory can know them."""
        with self._lock:
            if seed not in self._salted:
                scenario = salt(self.scenario, self.repo, seed)
                # the repository is not salted, so both share one index of it
                self._salted[seed] = self if scenario is self.scenario else Story(scenario, self.repo, self.explorer)
            return self._salted[seed]

    def let_go(self) -> None:
        """Lets go of the noise of the story, once its last trial has ended: 100,000 memories take 240 MB."""
        with self._lock:
            self._noises.clear()
            self._classifiers.clear()
            self._salted.clear()
