"""An installed coldwarm works without the checkout that its wheel was built from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from harness import paths

UV = (sys.executable, "-m", "uv")
LEFT_OUT = ("harness/fixtures/chat/", "tests/", "benchmarks/")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what git knows of the checkout, by way of a source distribution."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    known = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":!reports/sample*"]
    listed = subprocess.run(known, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (paths.ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(paths.ROOT / name, source / name)
    command = [*UV, "build", "--quiet", "--offline", "--no-build-isolation", "--out-dir", str(built), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an environment that has the wheel, and what the wheel needs from this one's packages."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    say = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", say], capture_output=True, text=True, check=True).stdout.strip())
    words = ("pip", "install", "--quiet", "--no-deps", "--offline", "--python", str(python), str(wheel))
    subprocess.run([*UV, *words], check=True)
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "coldwarm"


def run(program: Path, folder: Path, cache: Path, *words: str) -> str:
    """What a command says that ends well, in a folder that holds nothing of ours."""
    lent = {"COLDWARM_ALLOW_READ": sysconfig.get_path("purelib"), "COLDWARM_CACHE": str(cache), "COLUMNS": "200"}
    done = subprocess.run(
        [program, *words], cwd=folder, env={**os.environ, **lent}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_holds_suite_fixtures_and_templates_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as held:
        names = set(held.namelist())
    beside = {
        paths.FIXTURES: "harness/fixtures/repos",
        paths.TEMPLATES: "harness/report/templates",
        paths.TASKS: "tasks",
    }
    for folder, place in beside.items():
        files = [file.relative_to(folder) for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]
        assert files and not {f"{place}/{file.as_posix()}" for file in files} - names
    assert not [name for name in names if name.startswith(LEFT_OUT)]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_an_installed_coldwarm_proves_its_measures_and_its_suite(installed: Path, cache: Path, tmp_path: Path) -> None:
    """One fault of a store, and one that looks for the suite, which now lies beside the packages."""
    told = run(installed, tmp_path, cache, "selftest", "measures", "SoftDeletes", "LooksAboveItsFolders", "-j", "2")
    assert told.splitlines()[-1] == "2 planted faults, 0 breaches"
    told = run(installed, tmp_path, cache, "selftest", "suite", "-s", "forgotten-runbook")
    assert told.splitlines()[-1] == "1 scenario, 0 breaches"


@pytest.mark.slow
def test_an_installed_coldwarm_plays_and_reports_where_it_is_called(
    installed: Path, cache: Path, tmp_path: Path
) -> None:
    words = (
        "run",
        "-b",
        "notes",
        "-b",
        "none",
        "-s",
        "forgotten-runbook",
        "-n",
        "0",
        "-d",
        "none",
        "--write",
        "append",
    )
    run(installed, tmp_path, cache, *words)
    assert (tmp_path / "coldwarm-runs" / "latest" / "report.html").stat().st_size > 100_000
