"""Every adapter keeps the contract, through child processes as in a run; the references that must not may say why."""

from __future__ import annotations

from typing import ClassVar

import pytest

from harness import registry
from harness.conformance import CHECKS, setting
from harness.conformance.testing import AdapterContract
from tests.unit.adapters.conftest import Words

DRAWS = dict.fromkeys(("finds_what_it_was_told", "scores_fall"), "draws at random")


class Quick(AdapterContract):
    embedder: ClassVar = Words()


class TestBm25(Quick):
    adapter = "bm25"


class TestNotes(Quick):
    adapter = "notes"


class TestVectorFile(Quick):
    adapter = "vector_file"


class TestReference(Quick):
    adapter = "reference"


class TestNone(Quick):
    adapter = "none"


class TestFullContext(Quick):
    adapter = "full_context"


@pytest.mark.slow
@pytest.mark.backend
class TestChroma(Quick):
    adapter = "chroma"


@pytest.mark.slow
@pytest.mark.backend
class TestMem0(Quick):
    adapter = "mem0"


def test_there_are_enough_checks_and_each_has_a_line() -> None:
    assert len(CHECKS) >= 40 and len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.says and "\n" not in check.says for check in CHECKS)


def broken(adapter: str) -> set[str]:
    with setting(registry.parse(adapter), Words()) as place:
        return {check.name for check in CHECKS if place.judge(check).status == "broken"}


def test_a_constant_answer_breaks_the_contract() -> None:
    assert "knows_nothing_when_new" in broken("refusal")
