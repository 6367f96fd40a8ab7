"""A drill: a scripted test of trust without a story. What is written and asked is data here; nothing is judged.

A drill is played by `harness/play/drills/`, its transcript is read by `harness/log/transcript.py`, and what the
transcript means is said by `harness/metrics/trust/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field, TypeAdapter

from harness.adapter import CLOSED, Item
from harness.model.trial import Model, digest, digest_each

DrillName = Annotated[str, Field(pattern=r"^[a-z][a-z_]{1,30}$")]
"""Of a module in each of the two packages; that such a drill is there is checked where it is asked for."""


class DrillTrial(Model):
    """One drill against one backend: what is played, logged and resumed.

    Attributes:
        size: Memories in the store.
        older: The release that hands its store over, in a drill of that; empty: none does.
    """

    backend: str
    drill: DrillName
    size: int = Field(ge=1)
    seed: int
    k: int = Field(ge=1)
    older: str = Field("", exclude_if=lambda older: not older)  # so that other trials keep their ids

    @cached_property
    def id(self) -> str:
        """Names the transcript, the test and the anchor; readable, and unique by its tail."""
        backend = re.sub(r"[^a-z0-9]+", "-", self.backend.lower()).strip("-")
        # cut short, as it is part of the names of files
        return f"{backend[:100]}-{self.drill}-{self.size}-s{self.seed}-{digest(self)[:8]}"


@dataclass(frozen=True, slots=True)
class Piece:
    """One memory of a drill, of which there may be 300,000. `role` is the drill's own word for its part in the test.

    Attributes:
        canary: A string found in this memory's text only.
        query: A question in other words whose answer this memory is.
        twin: The name of the piece that it replaces, contradicts or mirrors.
    """

    name: str
    role: str
    item: Item
    canary: str | None = None
    query: str | None = None
    twin: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


_PIECE: TypeAdapter[Piece] = TypeAdapter(Piece)


class Plan(Model):
    """Everything that a drill writes, in order of writing."""

    pieces: tuple[Piece, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Piece]:
        return {piece.name: piece for piece in self.pieces}

    @cached_property
    def digest(self) -> str:
        """The digest of a plan, made as `trial.digest` makes one, a piece at a time."""
        return digest_each(map(_PIECE.dump_python, self.pieces), "pieces")

    def of(self, *roles: str) -> tuple[Piece, ...]:
        return tuple(piece for piece in self.pieces if piece.role in roles)
