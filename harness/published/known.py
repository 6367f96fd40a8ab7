"""The sets that can be read, by name."""

from __future__ import annotations

from collections.abc import Mapping

from harness.published.locomo import LOCOMO
from harness.published.memorycode import MEMORYCODE
from harness.published.sets import Format

SETS: Mapping[str, Format] = {form.name: form for form in (LOCOMO, MEMORYCODE)}
