"""What is installed: everything that a run and its page need, at the places where the program looks for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from harness import paths
from harness.machine import extras

LOOKS = """
import json
from harness import paths
names = ("ROOT", "TASKS", "FIXTURES", "TEMPLATES", "RUNS")
print(json.dumps({name: str(getattr(paths, name)) for name in names} | {"cache": str(paths.cache_root())}))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages as a wheel holds them; nothing is written into the checkout."""
    place = tmp_path_factory.mktemp("built")
    told, target = place / "told", place / "lib"
    told.mkdir()
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", str(told), "build_py", "-d", str(target)]
    subprocess.run(command, cwd=paths.ROOT, check=True, capture_output=True, timeout=100)
    return target


@pytest.mark.parametrize(
    ("folder", "pattern", "inside"),
    [
        ("tasks", "*/*.toml", "tasks"),
        ("fixtures", "repos/*/*.patch", "harness/fixtures"),
        ("reports/templates", "*.*", "harness/report/templates"),
        ("adapters", "*.py", "adapters"),
        ("adapters", "mcp_servers/*.toml", "adapters"),
    ],
)
def test_a_wheel_holds_every_file_of(folder: str, pattern: str, inside: str, built: Path) -> None:
    known = {file.relative_to(paths.ROOT / folder): file for file in (paths.ROOT / folder).glob(pattern)}
    assert known
    for name, file in known.items():
        assert (built / inside / name).read_bytes() == file.read_bytes()


def test_a_wheel_holds_no_example(built: Path) -> None:
    """Whose licence is not declared: docs/examples/deeplake_memory.py."""
    examples = [*(paths.ROOT / "docs" / "examples").glob("*.py")]
    assert examples and all(len(each.read_text("utf-8").splitlines()) <= 100 for each in examples)
    assert not {each.name for each in built.rglob("*.py")} & {each.name for each in examples}


def test_what_is_installed_looks_into_itself_and_writes_elsewhere(built: Path, tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "COLDWARM_CACHE": ""}
    done = subprocess.run(
        [sys.executable, "-c", LOOKS], env={**os.environ, **cache, "PYTHONPATH": str(built)}, cwd=tmp_path,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    found = {name: Path(path) for name, path in json.loads(done.stdout).items()}
    assert found["ROOT"] == built
    assert all(found[name].is_dir() and built in found[name].parents for name in ("TASKS", "FIXTURES", "TEMPLATES"))
    assert found["RUNS"] == tmp_path / "coldwarm-runs" and found["cache"] == tmp_path / "cache" / "coldwarm"


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        ("{}", "'coldwarm[report]'"),
        ('{"url": "file:///home/me/coldwarm", "dir_info": {"editable": true}}', "-e '/home/me/coldwarm[report]'"),
        ('{"url": "file:///tmp/c.whl", "archive_info": {}}', "'/tmp/c.whl[report]'"),
        (
            '{"url": "https://example.com/c.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}}',
            "'coldwarm[report] @ git+https://example.com/c.git@v1'",
        ),
    ],
)
def test_what_is_missing_is_one_command(origin: str, requirement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        def read_text(self, name: str) -> str:
            return origin

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    said = extras.explain_lack("scipy", "a comparison")
    assert said.startswith("a comparison needs scipy, which is not installed: ") and said.endswith(f" {requirement}")
    assert sys.executable in said


def test_an_adapter_that_lacks_its_sdk_is_told_the_command() -> None:
    assert "[chroma]" in extras.spell_out("chromadb is not installed; install coldwarm[chroma]").partition("pip")[2]
    assert extras.spell_out("anything else") == "anything else"


def test_every_extra_that_is_named_exists() -> None:
    declared = metadata.distribution("coldwarm").metadata.get_all("Provides-Extra") or []
    assert {*extras.EXTRAS.values()} <= {*declared}
