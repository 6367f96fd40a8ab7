"""The first minutes of a new user: the core alone, from an index, in an empty environment far from the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import paths

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def _done(*words: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COLDWARM", "PYTHON", "VIRTUAL"))}
    return subprocess.run([*map(str, words)], cwd=cwd, env={**kept, **env}, capture_output=True, text=True, timeout=300)


def _lacking(what: str) -> None:
    """Skips for want of something; fails in CI, where an index is required."""
    if os.environ.get("COLDWARM_INDEX") == "required":
        pytest.fail(f"{what} (COLDWARM_INDEX=required)")
    pytest.skip(what)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that holds the core alone."""
    uv = shutil.which("uv", path=f"{paths.ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        _lacking("uv is not installed")
    assert uv
    place = tmp_path_factory.mktemp("wheel")
    (place / "asked.in").write_text("packaging\n")
    asked = _done(uv, "pip", "compile", "--quiet", "--no-cache", place / "asked.in", cwd=place)
    if asked.returncode:
        _lacking(f"the package index cannot be reached, so nothing can be installed: {asked.stderr.strip()[-300:]}")
    for name in ("harness", "adapters", "tasks", "fixtures", "reports/templates"):
        shutil.copytree(paths.ROOT / name, place / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(paths.ROOT / name, place / "source")
    for words in (
        ("build", "--quiet", "--wheel", "--out-dir", place / "dist", place / "source"),
        ("venv", "--quiet", place / "venv"),
        ("pip", "install", "--quiet", "--python", place / "venv" / "bin" / "python", place / "dist" / "NAME"),
    ):
        wheel = next((place / "dist").glob("*.whl"), place)
        done = _done(uv, *(str(word).replace(str(place / "dist" / "NAME"), str(wheel)) for word in words), cwd=place)
        assert done.returncode == 0, done.stderr
    return place / "venv" / "bin"


def test_the_demo_writes_a_report_from_any_folder(installed: Path, tmp_path: Path) -> None:
    done = _done(installed / "coldwarm", "demo", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stdout + done.stderr
    place = done.stdout.strip().splitlines()[-1].removeprefix("report: ")
    page = (tmp_path / place).read_text("utf-8")
    assert place.startswith("coldwarm-runs/") and "bm25" in page
    told = done.stdout
    without, gained = (int(n) for n in re.findall(r"^  with.* (\d) of 5 decisions right$", told, re.MULTILINE)[:2])
    assert "What a memory gains: more right decisions." in told and gained > without
    assert "A fault: it acts on rules that no longer hold." in told and re.search(
        r"had been replaced +[1-5] of 5 decisions$", told, re.MULTILINE
    )
    assert re.search(r"For example: .+\?\n +it took \S+, and right is \S+", told)
    assert [each.name for each in tmp_path.iterdir() if each.name != "cache"] == ["coldwarm-runs"]


def test_the_core_is_small(installed: Path) -> None:
    """In MB, as uv installs it: without the byte code that Python writes later."""
    files = [file for file in (installed.parent / "lib").rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert 10 < sum(file.stat().st_size for file in files) / 1e6 < 150


def test_an_sdk_that_is_missing_is_one_line_with_the_command(installed: Path, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ("run", "-b", "chroma", "-s", "forgotten-runbook", "-n", "0", "-d", "none")
    done = _done(installed / "coldwarm", *words, cwd=tmp_path, **env)
    assert done.returncode == 3
    assert "chromadb is not installed" in done.stderr and "[chroma]'" in done.stderr.splitlines()[-1]


def test_doctor_says_no_for_what_is_not_installed(installed: Path, tmp_path: Path) -> None:
    done = _done(installed / "coldwarm", "doctor", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stdout
    assert "no   chromadb" in done.stdout and "ok   adapter bm25" in done.stdout
