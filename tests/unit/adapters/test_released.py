"""Backends that are in no environment of ours: each adapter is held to the contract in the one made for a release."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner

from harness.cli import commands


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.backend
@pytest.mark.parametrize("asked", ["langgraph@3.1.2", "mcp@2026.8.31"])
def test_it_keeps_the_contract(asked: str) -> None:
    """Skipped where there is no index, or no npm: then nothing was tried."""
    if asked.startswith("mcp") and not shutil.which("npm"):
        pytest.skip("npm is not installed")
    done = CliRunner().invoke(commands, ["conform", asked])
    if done.exit_code == 3 and "no environment can be made" in done.output:
        pytest.skip(done.output)
    assert done.exit_code == 0 and " 0 broken" in done.output, done.output
