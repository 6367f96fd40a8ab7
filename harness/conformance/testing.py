"""The checks of the contract as pytest tests, for authors of adapters outside this repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from harness.backend import registry
from harness.conformance import CHECKS, ContractCheck, Setting, open_setting
from harness.gateway.embedder import Encoder


class AdapterContract:
    """`class TestMine(AdapterContract): adapter = "my.module:Adapter"` runs every check as a test.

    Attributes:
        exceptions: Check -> why this adapter need not keep it; an exception that is no longer needed fails.
        embedder: Instead of the one that runs use.
    """

    adapter: ClassVar[str]
    exceptions: ClassVar[Mapping[str, str]] = {}
    embedder: ClassVar[Encoder | None] = None

    @pytest.fixture(scope="class")
    @classmethod
    # for a whole class, as each check gets a store of its own
    def place(cls) -> Iterator[Setting]:
        with open_setting(registry.parse(cls.adapter), cls.embedder) as place:
            yield place

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_keeps_the_contract(self, check: ContractCheck, place: Setting) -> None:
        outcome = place.judge(check)
        if outcome.status in ("unsupported", "not-applicable"):
            pytest.skip(outcome.why)
        if check.name in self.exceptions:
            assert outcome.status == "broken", f"{check.name}: the exception is not needed any more"
            pytest.xfail(self.exceptions[check.name])
        assert outcome.status == "kept", f"{check.says}: {outcome.why}"
