"""The sets that can be read, by name."""

from __future__ import annotations

from collections.abc import Mapping

from harness.published.devmembench import DEVMEMBENCH
from harness.published.forgeteval import FORGETEVAL
from harness.published.locomo import LOCOMO
from harness.published.longmemeval import LONGMEMEVAL
from harness.published.memorycode import MEMORYCODE
from harness.published.personamem import PERSONAMEM
from harness.published.sets import Format

SETS: Mapping[str, Format] = {
    form.name: form for form in (DEVMEMBENCH, FORGETEVAL, LOCOMO, LONGMEMEVAL, MEMORYCODE, PERSONAMEM)
}
