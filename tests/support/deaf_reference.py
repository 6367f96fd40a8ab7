"""The reference, which captures no session."""

from __future__ import annotations

from typing import ClassVar

from adapters.reference import Reference


class Deaf(Reference):
    name = "deaf"
    native: ClassVar[tuple[str, ...]] = tuple(each for each in Reference.native if each != "observe")
