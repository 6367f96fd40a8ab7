"""Adapters that work, and say something false of what they need."""

from __future__ import annotations

from dataclasses import replace

from adapters.reference import Reference
from adapters.vector_file import VectorFile
from harness.adapter import Memory, Space


class Undeclared(VectorFile):
    """Asks for vectors, and does not say that it needs them."""

    embeds = False


class Overdeclared(Reference):
    """Says that it needs vectors, and asks for none."""

    embeds = True

    def open(self, space: Space) -> Memory:
        return super().open(replace(space, dims=0))
