"""What proofs of a story did in work trees, kept for later self-tests: each way to do its jobs, each repeated test.

What is judged of it is judged anew, and all that is played in this process is played anew. What led to a breach is not
kept, so that no flaw of a moment stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from harness.machine.sealed import SealedEntries, SealedEntry
from harness.model.trial import digest
from harness.play import sources
from harness.repo import checks, programs
from harness.repo.checks import Work
from harness.repo.clone import Clone
from harness.selftest.proof import ScenarioProof

# part of the key: a higher one leaves entries of an earlier form unread
FORM = 1


class StoryWork(SealedEntry):
    """An entry: the work of one story.

    Attributes:
        done: As `WorkTrees` has it, all of a proof.
    """

    story: str
    done: Mapping[str, Work]


class WorkCache(SealedEntries):
    """A folder of entries, one a story."""

    suffix = ".work"

    def find(self, key: str | None) -> StoryWork | None:
        """None: the work is to be done."""
        return self.find_entry(key, StoryWork) if key else None

    def keep(self, key: str | None, proof: ScenarioProof, done: Mapping[str, Work]) -> None:
        """Keeps the work of a proof that is whole, unless it found a breach, or what decides it was edited meanwhile.

        Args:
            key: As it was before the proof.
        """
        if key and proof.breaches:
            self.forget(key)
        elif key and key == make_key(proof):
            self.keep_entry(StoryWork(key=key, story=proof.scenario.id, done=done))


def make_key(proof: ScenarioProof) -> str | None:
    """Equal for two proofs whose work must have the same outcome; None: who knows."""
    # a folder of somebody's own, or the tests of another repository: nothing here digests what they run
    if programs.find_environment() or isinstance(proof.repo.origin, Clone):
        return None
    conditions = sources.digest_conditions(sources.digest_module(checks.__name__))
    found = {name: path and _digest_program(path) for name, path in programs.find_programs(proof.scenario).items()}
    scenario = proof.scenario.model_dump(mode="json")
    return conditions and digest([FORM, conditions, found, scenario, proof.repo.digest])


@cache
def _digest_program(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
