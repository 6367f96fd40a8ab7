"""`filtered` reading: the filter that an agent asks with when it does a job, as far as the backend has it.

It knows what it looks for: a rule, a fact of the project or a preference, and nothing that somebody doubted. The file
that it works on is not asked for: a story's rules stand in documents or were only said, and no right one cites the file
that a job edits.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.adapter import Filter
from harness.model.backend import Backend
from harness.model.facts import MemoryType
from harness.model.trial import ReadPolicy, Trial
from harness.play.writing.reviewed import SURE

RULES: tuple[MemoryType, ...] = ("procedural", "project", "user")
"""All but what happened once."""


def choose_filter(trial: Trial, backend: Backend) -> Filter | None:
    """None: it has none of these, or is told whole sessions, which have no kind of their own."""
    if trial.feed != "facts":
        return None
    kinds = RULES if backend.supports("filter_kind") else ()
    chosen = Filter(kinds, confidence=SURE if backend.supports("filter_confidence") else None)
    # an empty filter is no filter, and would be played as a way of its own
    return chosen if chosen != Filter() else None


def list_played(policies: Sequence[ReadPolicy], trial: Trial, backend: Backend) -> tuple[ReadPolicy, ...]:
    """The ways in which a reader can read this backend."""
    can_filter = choose_filter(trial, backend) is not None
    return tuple(policy for policy in policies if policy != "filtered" or can_filter)
