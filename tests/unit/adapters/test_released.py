"""Backends that are in no environment of ours: each adapter is held to the contract in the one made for a release."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner

from adapters import _postgres
from harness.cli import commands

ON_POSTGRES = "langgraph_postgres", "mem0_pgvector"
BY_NPM = "claude_mem@13.25.3", "mcp@0.9.29,server=agentmemory", "mcp@2026.8.31"
ASKED = (
    *BY_NPM, "claude_memory_tool@2.12.0", "hindsight@1.1.0", "hindsight@1.1.0,infer=true", "langgraph@3.1.2",
    "langgraph_postgres@3.2.0", "langmem@0.0.30", "mem0_pgvector@2.2.1", "memsearch@0.4.23",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.backend
@pytest.mark.parametrize("asked", ASKED)
def test_it_keeps_the_contract(asked: str) -> None:
    """Skipped where there is no index, or no npm: then nothing was tried."""
    if asked in BY_NPM and not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if asked.partition("@")[0] in ON_POSTGRES and _postgres.find_programs() == _postgres.TOP:
        pytest.skip(f"PostgreSQL is not installed: {_postgres.INSTALL}")
    done = CliRunner().invoke(commands, ["conform", asked])
    if done.exit_code == 3 and "no environment can be made" in done.output:
        pytest.skip(done.output)
    assert done.exit_code == 0 and " 0 broken" in done.output, done.output
