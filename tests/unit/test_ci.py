"""CI as it is started: how it ends, what it prints, what is left when it is stopped; and the same targets on GitHub."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from harness import paths

CI = paths.ROOT / ".ci" / "run"
WORKFLOW = yaml.safe_load((paths.ROOT / ".github" / "workflows" / "ci.yml").read_text())
(STARTED,) = re.findall(r"^(make -j2 .*) </dev/null &", CI.read_text().replace("\\\n", " "), re.MULTILINE)
TARGETS = " ".join(word for word in shlex.split(STARTED)[1:] if "=" not in word and not word.startswith("-"))


def write(folder: Path, **recipes: str) -> Path:
    """A checkout whose targets do nothing but what is said here. Returns its CI."""
    (folder / ".ci").mkdir()
    (folder / ".venv").mkdir()
    made = {
        ".venv/.ready": "@true",
        "chromium": "@true",
        **dict.fromkeys(TARGETS.split(), "@echo $@ passed"),
        **recipes,
    }
    rules = "".join(f"{name}:\n\t{recipe}\n" for name, recipe in made.items())
    (folder / "Makefile").write_text(f".PHONY: {' '.join(made)}\n{rules}")
    return Path(shutil.copy(CI, folder / ".ci" / "run"))


def run(script: Path) -> subprocess.Popen[str]:
    kept = {name: os.environ[name] for name in os.environ.keys() - {"COLDWARM_PROOFS", "MAKEFLAGS", "XDG_CACHE_HOME"}}
    env = {**kept, "CI": "true", "HOME": str(script.parent)}
    return subprocess.Popen(
        ["bash", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    )


def test_it_plays_every_target_and_ends_well(tmp_path: Path) -> None:
    process = run(write(tmp_path, selftest='@echo "kept in $$COLDWARM_PROOFS"'))
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert {f"{name} passed" for name in TARGETS.split() if name != "selftest"} <= {*said.splitlines()}
    assert f"kept in {tmp_path}/.ci/.cache/coldwarm/proofs" in said


@pytest.mark.slow
def test_a_target_that_fails_is_told_whole_and_fails_it(tmp_path: Path) -> None:
    said = "@echo begins; sleep 0.3; echo goes on; sleep 0.3; echo ends; exit 3"
    process = run(write(tmp_path, static="@for at in 1 2 3 4 5 6; do echo beside; sleep 0.1; done", test=said))
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "begins\ngoes on\nends\n" in told and "Error 3" in told


@pytest.mark.slow
def test_a_ci_that_is_stopped_leaves_no_process(tmp_path: Path) -> None:
    process = run(write(tmp_path, static="@echo $$$$ >first; sleep 60 & echo $$! >second; wait"))
    files = [tmp_path / "first", tmp_path / "second"]
    until = time.monotonic() + 30
    while not all(file.exists() and file.read_text() for file in files) and time.monotonic() < until:
        time.sleep(0.02)
    ids = [int(file.read_text()) for file in files]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    while alive := [each for each in ids if Path(f"/proc/{each}").exists()]:
        assert time.monotonic() < until, alive
        time.sleep(0.02)


def test_github_runs_the_same_targets_and_each_night_all_anew() -> None:
    jobs = WORKFLOW["jobs"]
    tested = [step["run"].removeprefix("make ") for step in jobs["test"]["steps"] if "run" in step]
    assert {*tested[1:], *jobs["prove"]["strategy"]["matrix"]["target"]} == {*TARGETS.split()}
    assert WORKFLOW[True]["schedule"]  # YAML reads `on` as true
    assert jobs["prove"]["env"]["COLDWARM_FRESH"] == "${{ github.event_name == 'schedule' && '1' || '0' }}"
    (cache,) = (step for step in jobs["prove"]["steps"] if step.get("uses", "").startswith("actions/cache"))
    assert "!= 'schedule'" in cache["if"] and cache["with"]["path"] == "${{ env.COLDWARM_PROOFS }}"


@pytest.mark.parametrize("name", [*TARGETS.split(), "chromium"])
def test_every_target_is_one_of_the_makefile(name: str) -> None:
    makefile = (paths.ROOT / "Makefile").read_text()
    assert re.search(rf"^(?:[\w-]+ )*{name}(?: [\w-]+)*: ", makefile, re.MULTILINE)
