"""Every exported task is one that Harbor's own loader takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli

HARBOR = ("harbor==0.25.0", "toml==0.10.2", "pathspec==1.1.1")
LOAD = """
import sys, typing, typing_extensions
typing.override = typing_extensions.override  # harbor wants Python 3.12; this is all of it that its loader uses
from harbor.models.task.task import Task
for place in sys.argv[1:]:
    assert Task.is_valid_dir(place), place
    task = Task(place)
    assert task.instruction.strip() and task.config.metadata["arm"] in ("cold", "warm"), place
print(len(sys.argv) - 1)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Harbor and what its loader imports, beside the packages of this environment."""
    target = tmp_path / "harbor"
    words = ("pip", "install", "--quiet", "--no-deps", "--python-version", "3.12", "--only-binary", ":all:", "--target")
    done = subprocess.run(
        [sys.executable, "-m", "uv", *words, target, *HARBOR], capture_output=True, text=True, check=False, timeout=110
    )
    if done.returncode:
        why = f"harbor cannot be installed here: {done.stderr.strip()[-300:]}"
        if os.environ.get("COLDWARM_INDEX") == "required":
            pytest.fail(f"{why} (COLDWARM_INDEX=required)")
        pytest.skip(why)
    return target


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_harbors_own_loader_takes_every_task(cli: Cli, installed: Path, tmp_path: Path) -> None:
    tasks = list[Path]()
    for name, words in (("usual", ()), ("deep", ("--suite", "deep"))):
        done = cli("export", "harbor", str(tmp_path / name), *words)
        assert done.returncode == 0, done.stderr
        own = sorted((tmp_path / name).iterdir())
        assert f"{len(own)} tasks of {len(own) // 2} jobs" in done.stdout and len(own) > 70
        tasks += own
    env = {**os.environ, "PYTHONPATH": str(installed)}
    loaded = subprocess.run([sys.executable, "-c", LOAD, *tasks], env=env, capture_output=True, text=True, check=False)
    assert loaded.stdout.strip() == str(len(tasks)), loaded.stderr[-2000:]


@pytest.mark.slow
def test_a_folder_in_use_is_bad_usage(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = cli("export", "harbor", str(tmp_path), "-s", "forgotten-runbook")
    assert done.returncode == 2 and "not an empty folder" in done.stderr
