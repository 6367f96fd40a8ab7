"""Stores that say what cannot be."""

from __future__ import annotations

from typing import ClassVar

from harness.adapter import Usage
from harness.selftest.planted.base import Planted, ReferenceMemory


class TokensBelowZero(Planted):
    """Reports that models inside used less than nothing, which would make it the cheapest of all."""

    must: ClassVar = ("tokens_backend",)

    class Memory(ReferenceMemory):
        def usage(self) -> Usage:
            return Usage(-1_000_000, 0, 1)


class TokensBeyondCounting(Planted):
    """Reports more tokens than a number can hold, after which no sum with them means anything."""

    must: ClassVar = ("tokens_backend",)

    class Memory(ReferenceMemory):
        def usage(self) -> Usage:
            return Usage(0, 2**53 + 1, 1)
