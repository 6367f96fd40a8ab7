"""What is said of a backend that cannot be had, and how environments are named."""

from __future__ import annotations

from typing import Any, cast

import pytest

from harness.backend import interpreters
from harness.backend.client import MemoryFault
from harness.cli import env
from harness.model.backend import Fault
from harness.model.trial import Spec


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("RuntimeError: server-x is not installed; ask for a release", "server-x is not installed; ask for a release"),
        ("RuntimeError: the index is broken", "raised in describe: RuntimeError: the index is broken"),
        ("ValueError: x is not installed; y", "raised in describe: ValueError: x is not installed; y"),
    ],
)
def test_what_is_not_installed_is_no_fault(message: str, said: str) -> None:
    fault = MemoryFault(Fault(kind="raised", op="describe", message=message), alive=True)
    assert interpreters.explain_missing(Spec(adapter="mcp"), fault) == said


@pytest.mark.parametrize("name", ["mcp", "mcp@3.11.0", "mcp@3.11.0+server=mempalace"])
def test_an_environment_is_found_by_its_name_with_and_without_settings(name: str) -> None:
    class Made:
        names = ("mcp@3.11.0+server=mempalace",)

    class Found:
        made = Made()

    assert env._is_of(cast(Any, Found()), name)
    assert not env._is_of(cast(Any, Found()), "mcp@3.1")
