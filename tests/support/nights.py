"""Cases of a test of which a submission plays some, and each night all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

CASE = type(pytest.param())


def leave_to_night(cases: Iterable[Any], one_in: int) -> list[Any]:
    """Marks all but the first of each `one_in` cases as `nightly`; a tuple has one value for each argument."""
    return [case if at % one_in == 0 else _mark(case) for at, case in enumerate(cases)]


def _mark(case: Any) -> Any:
    if isinstance(case, CASE):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.nightly])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.nightly)
