"""The workflow and the action of the repository: their commands, run as a job runs them, stopped by a broken gate."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import paths
from harness.cli import commands
from harness.regress import gates, unanswerable
from tests.support.commands import select_options
from tests.support.nights import leave_to_night

pytestmark = pytest.mark.slow

ACTION = paths.ROOT / ".github" / "actions" / "coldwarm"
WORKFLOW = paths.ROOT / ".github" / "workflows" / "memory.yml"
SMALL = "-s forgotten-runbook -n 0 --write append --drill none"
GATE = '[[gate]]\nname = "recalls"\nmeasure = "recall"\nbackends = "bm25"\nat_least = {}\n'


def steps() -> dict[str, dict[str, Any]]:
    found = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    return {step.get("name", ""): step for step in found}


def job(step: str, folder: Path, cache: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """One step of the action, in a checkout of somebody else, with the shell and the options of a runner."""
    asked = dict.fromkeys(steps()[step].get("env", {}), "")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[step]["run"]],
        cwd=folder, capture_output=True, text=True, timeout=110, check=False,
        env={**os.environ, "GITHUB_ACTION_PATH": str(ACTION), "COLDWARM_CACHE": str(cache), **asked, **env},
    )  # fmt: skip


@pytest.mark.skipif(not (paths.ROOT / ".venv" / "bin" / "coldwarm").exists(), reason="make has not set up .venv")
@pytest.mark.parametrize(("least", "code"), leave_to_night([(0.99, 1), (0.1, 0)], 2))
def test_a_gate_decides_how_the_job_ends(tmp_path: Path, cache: Path, least: float, code: int) -> None:
    (tmp_path / "gates.toml").write_text(GATE.format(least))
    summary = tmp_path / "summary.md"
    played = job("Play", tmp_path, cache, BACKENDS="bm25", ARGUMENTS=SMALL, GATES="gates.toml")
    assert played.returncode == code, played.stderr
    pause, *_, resumed = played.stdout.splitlines()
    assert pause.startswith("::stop-commands::") and resumed == f"::{pause.rpartition('::')[2]}::"
    told = job("Tell", tmp_path, cache, GATES="gates.toml", GITHUB_STEP_SUMMARY=str(summary))
    assert told.returncode == 0, told.stderr
    lines = [line for line in told.stdout.splitlines() if line.startswith("::error")]
    assert len(lines) == code and all("file=gates.toml,line=1,title=recalls is broken::" in line for line in lines)
    assert "bm25" in summary.read_text()
    assert (tmp_path / "coldwarm-runs" / "latest" / "junit.xml").read_text().count("<failure") == code


def test_what_the_workflow_asks_of_the_action_is_there() -> None:
    inputs = yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    used = [step for step in jobs["play"]["steps"] if step.get("uses", "").endswith("actions/coldwarm")]
    assert [set(step["with"]) - set(inputs) for step in used] == [set()]
    env = yaml.safe_load(WORKFLOW.read_text())["env"]
    assert all((paths.ROOT / env[name]).is_file() for name in ("GATES", "BASELINE"))


def test_the_workflow_to_copy_is_whole() -> None:
    """Its commands parse, what it installs is what it checks out, and the gates beside it can be judged by its run."""
    text = (paths.ROOT / "docs" / "ci.md").read_text("utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    workflow = yaml.safe_load(block)
    (job,) = workflow["jobs"].values()
    placed = [step["with"]["path"] for step in job["steps"] if "repository" in step.get("with", {})]
    lines = [step["run"] for step in job["steps"] if "run" in step]
    install, *played = (shlex.split(line) for line in lines)
    extras = paths.ROOT.joinpath("pyproject.toml").read_text("utf-8")
    place, _, named = install[-1].rstrip("]").partition("[")
    assert [place] == [f"./{path}" for path in placed] and install[1:4] == ["-m", "pip", "install"]
    assert all(f"\n{extra} = [" in extras for extra in named.split(","))
    assert [words[:2] for words in played] == [["coldwarm", "run"], ["coldwarm", "github"]]
    for _, name, *words in played:
        commands.commands[name].make_context(name, words)
    for toml in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        unanswerable.check(gates.read(toml.encode(), "gates.toml"), select_options(lines[1]))


def test_every_key_of_a_gate_is_documented() -> None:
    text = (paths.ROOT / "docs" / "ci.md").read_text("utf-8")
    rows = "".join(re.findall(r"^\| `.*$", text, re.MULTILINE))
    for key in gates.Gate.model_fields:
        assert f"`{key}`" in rows and (key in (gates.Gate.__doc__ or "")), key
