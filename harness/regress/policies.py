"""Write policy, read policy and level of noise: what distinguishes a contrast from the row of its backend."""

from __future__ import annotations

from typing import NamedTuple

from harness.model.results import Conditions
from harness.model.trial import ReadPolicy, WritePolicy


class Policies(NamedTuple):
    """One way to play a backend's stories."""

    write: WritePolicy
    read: ReadPolicy
    noise: int

    @classmethod
    def of(cls, conditions: Conditions) -> Policies:
        """The primary ones."""
        return cls(conditions.headline_write, conditions.headline_read, conditions.headline_noise)

    def hold(self, conditions: Conditions) -> Conditions:
        """These conditions, as if these policies were the primary ones."""
        return conditions.model_copy(update={f"headline_{name}": each for name, each in self._asdict().items()})
