"""A backend as it describes itself, and what a call to one can come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from harness.model.trial import Model

SOUND = "reference"
"""The control that does all that the protocol asks for, so that drills show what a sound backend looks like."""

FaultKind = Literal["raised", "crashed", "timed-out", "breach", "refused", "limit", "harness", "machine"]
"""limit: the answer was beyond a limit of ours (harness/backend/bounds.py). harness: we broke, not the backend.
machine: the computer lacked room, memory or files, or killed or stopped the process."""
NOBODYS = ("harness", "machine")
"""Kinds that say nothing of a backend: nothing is measured of a trial that ended so, and it is played again."""


EmbedderName = Literal["own", "another", "shorter"]
"""Who answers behind the endpoint: the run's own embedder, another one, or another with vectors of half the length."""


class Fault(Model):
    """A call that did not do what the protocol promises. `kind` says whose fault it is and what may have happened.

    Attributes:
        at: Where in the adapter it was raised, as FILE:LINE below the folder that its module was imported from.
    """

    kind: FaultKind
    op: str
    message: str
    at: str = Field("", exclude_if=lambda at: not at)

    @property
    def line(self) -> str:
        """What it says, in one line."""
        return " ".join((f"{self.at}: {self.message}" if self.at else self.message or self.kind).split())


class Declared(Model):
    """A capability as the adapter declares it."""

    level: Literal["native", "emulated", "unsupported"]
    note: str = ""

    @property
    def supported(self) -> bool:
        return self.level != "unsupported"


class Backend(Model):
    """Who was played: the adapter's own words, and the settings with secrets redacted.

    Attributes:
        served: It keeps its memories in a server that has to run.
        clients: Languages in which an agent can use these memories; `any` for files and protocols. Empty: not declared.
    """

    name: str
    version: str
    support: Mapping[str, Declared]
    settings: Mapping[str, str] = {}
    control: bool = False
    # both left out at their defaults, so that the logs of other backends keep their bytes
    served: bool = Field(False, exclude_if=lambda served: not served)
    clients: tuple[str, ...] = Field((), exclude_if=lambda clients: not clients)

    @property
    def words_its_own(self) -> bool:
        """True for a backend that may bring what nobody stored: a control (`placebo` does), or one
        with a model inside.
        """
        return self.control or self.supports("extracts")

    def find_support(self, capability: str) -> Declared:
        """What it declares; what it says nothing of it does not have."""
        return self.support.get(capability, Declared(level="unsupported", note="not declared when it was played"))

    def supports(self, capability: str) -> bool:
        """Whether it declares the capability, native or emulated."""
        return self.find_support(capability).supported
