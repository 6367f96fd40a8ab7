"""Streams that whoever starts the program has closed, as some services do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import paths

MAIN = "from harness.cli import main; main()"


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_leads_nowhere(closed: str) -> None:
    words = ["sh", "-c", f'"$0" -c "$1" list {closed}', sys.executable, MAIN]
    done = subprocess.run(words, cwd=paths.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("forgotten-runbook" in done.stdout) is (closed == "2>&-")


@pytest.mark.slow
def test_a_full_output_is_named_with_what_to_do() -> None:
    words = ["sh", "-c", '"$0" -c "$1" --version >/dev/full', sys.executable, MAIN]
    done = subprocess.run(words, cwd=paths.ROOT, capture_output=True, text=True, check=False)
    said = "coldwarm: standard output or a file: no room is left on a disk of this machine: make room\n"
    assert (done.returncode, done.stderr) == (3, said)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["score nowhere", "list --nonsuch"])
def test_an_error_that_can_be_told_nowhere_keeps_its_exit_code(words: str) -> None:
    command = ["sh", "-c", f'"$0" -c "$1" {words} 2>/dev/full', sys.executable, MAIN]
    done = subprocess.run(command, cwd=paths.ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.slow
def test_a_working_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    command = ["sh", "-c", 'rmdir "$PWD"; "$0" -c "$1" list', sys.executable, MAIN]
    env = {**os.environ, "PYTHONPATH": str(paths.ROOT), "TMPDIR": "tmp"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    said = "coldwarm: the working folder is no longer there: change to another one\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.slow
def test_a_limit_of_our_own_files_is_said_with_what_to_do(tmp_path: Path) -> None:
    short = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (262144, 262144))"
    run = ["run", "-s", "forgotten-runbook", "-b", "none", "-n", "0", "-d", "none", "--out", str(tmp_path)]
    words = [sys.executable, "-c", f"{short}; from harness.__main__ import main; main()", *run]
    env = {name: told for name, told in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")
    done = subprocess.run(words, cwd=paths.ROOT, env=env, capture_output=True, text=True, check=False)
    *_, line = done.stderr.splitlines()
    assert done.returncode == 3 and "a file has come to the limit of its size: ulimit -f unlimited" in line
    ours = tmp_path / "compiled" / paths.ROOT.relative_to("/")
    assert 262144 not in {each.stat().st_size for each in ours.rglob("*.pyc")}, "a module was cut"


@pytest.mark.slow
def test_what_an_encoding_lacks_is_printed_as_an_escape() -> None:
    program = (
        "import click; from harness.cli import commands, main; commands.add_command(click.Command('dash', callback="
        "lambda: print('1 \\u2013 2'))); main()"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program, "dash"], cwd=paths.ROOT, env=env, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1 \\u2013 2\n", b"")


@pytest.mark.slow
@pytest.mark.parametrize(("end", "why"), [(">/dev/full", "no room is left"), ("| true", "Broken pipe")])
@pytest.mark.parametrize("quiet", ["-q --json", "-q"])
def test_a_run_whose_end_cannot_be_printed_is_named(tmp_path: Path, end: str, why: str, quiet: str) -> None:
    command = f'{{ "$0" -c "$1" run {quiet} -s forgotten-runbook -b none -n 0 -d none --out "$2"; echo $? >&2; }} {end}'
    words = ["sh", "-c", command, sys.executable, MAIN, str(tmp_path)]
    done = subprocess.run(words, cwd=paths.ROOT, capture_output=True, text=True, check=False)
    said, code = done.stderr.splitlines()[-2:]
    (run,) = (each for each in tmp_path.iterdir() if each.is_dir() and not each.is_symlink())
    assert code == "3" and why in said and said.endswith(f"the run is kept, and shown by: coldwarm report {run}")
    assert (run / "report.html").exists()
