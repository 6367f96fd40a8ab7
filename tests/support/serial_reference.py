"""The reference, which says that it is told one thing after the other."""

from __future__ import annotations

from typing import ClassVar

from adapters.reference import Reference


class Serial(Reference):
    native: ClassVar[tuple[str, ...]] = tuple(each for each in Reference.native if each != "concurrent")
