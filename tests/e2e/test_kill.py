"""A run that is killed in the middle: what is finished stays as it is, and a resume plays the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import paths
from harness.log.folder import Folder
from harness.log.reader import Log
from tests.e2e.conftest import PLAYED, SMALL, Cli, bytes_of, environment, one_line, only, resumable
from tests.support import faulty_backends
from tests.support.fake_upstream import fake_upstream, wait_for_the_end
from tests.support.logs import canonical
from tests.support.nights import leave_to_night

pytestmark = PLAYED

ASKED = ("run", "-b", "tests.support.faulty_backends:SlowRecall", "-b", "none", *SMALL)


def _logs(folder: Path) -> dict[str, Log]:
    return {str(log.trial.backend): log for log in Folder(folder).logs()[0].values()}


def _until_slow(out: Path, process: subprocess.Popen[bytes]) -> Path:
    """Waits until the slow trial is under way; the path of its log."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        for path in out.glob("2*/logs/*slowrecall*.jsonl"):
            if path.read_bytes().count(b'"recalled"') >= 3:
                return path
        time.sleep(0.02)
    raise AssertionError("the run ended before it could be killed")


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] + [
        int(word)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for word in (task / "children").read_text().split()
    ]  # fmt: skip


@pytest.mark.slow
def test_a_killed_run_loses_the_open_trial_and_nothing_else(cli: Cli, cache: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *ASKED, "--out", str(tmp_path)],
        cwd=paths.ROOT, env=environment(cache), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    open_ = _until_slow(tmp_path, process)
    children = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert children and all(_gone(pid) for pid in children)

    folder = only(tmp_path)
    found = _logs(folder)
    assert {name for name, log in found.items() if log.closed} == {"None", "oracle", "stale_oracle"}
    assert found["tests.support.faulty_backends:SlowRecall"].path == open_ and "none" not in found
    before, torn = bytes_of(folder), open_.read_bytes()
    said = cli("score", folder)
    assert said.returncode == 3 and len(said.stderr.splitlines()) == 2
    assert all("did not get to" in line for line in said.stderr.splitlines())

    resumed = cli("run", "--resume", folder)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert "5 trials, 3 of them finished before" in resumed.stdout
    after = bytes_of(folder)
    assert {name: after[name] for name in before} == before and open_.read_bytes() == torn
    assert len(after) == len(before) + 2 and open_.name.replace(".1.jsonl", ".2.jsonl") in after
    whole = _logs(folder)["tests.support.faulty_backends:SlowRecall"]
    assert whole.closed is not None and whole.closed.status == "complete"
    lost = found["tests.support.faulty_backends:SlowRecall"].events
    assert canonical(whole.events)[: len(lost)] == canonical(lost)


@pytest.mark.slow
@pytest.mark.parametrize("number", leave_to_night([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], 3))
def test_a_signal_ends_everything_and_says_how_to_go_on(number: int, cache: Path, tmp_path: Path) -> None:
    """A call that hangs is not waited for, and a helper that left its process group ends too."""
    process = _started("tests.support.faulty_backends:HangsWithAHelper", cache, tmp_path)
    helper = int(_until(lambda: next(tmp_path.glob("2*/work/**/helper.pid"), None), process).read_text() or 0)
    children = [helper, *_children(process.pid)]
    begun = time.monotonic()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert time.monotonic() - begun < faulty_backends.FOREVER / 2, "did not wait for the call that hangs"
    folder = only(tmp_path)
    resumable(subprocess.CompletedProcess((), process.returncode, stdout, stderr), folder)
    assert all(_gone(pid) for pid in children)
    assert not (folder / "work").exists()
    assert {name for name, log in _logs(folder).items() if log.closed} == {"None", "oracle", "stale_oracle"}


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["choice", "chat"])
def test_a_signal_breaks_off_what_a_chat_model_was_asked(reader: str, cache: Path, tmp_path: Path) -> None:
    """It would go on for as long as the job has calls left."""
    with fake_upstream() as model:
        model.deeds = [wait_for_the_end] * 1000
        process = subprocess.Popen(
            [
                sys.executable, "-m", "harness", "run", "-b", "notes", *SMALL, "--out", str(tmp_path),
                "--reader", reader, "--model", "fake-chat", "--chat", "model",
            ],
            cwd=paths.ROOT, env=environment(cache, {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "fake"}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not model.requests and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=60)
        assert len(model.requests) == 1, "nobody was asked after the signal"
    resumable(subprocess.CompletedProcess((), process.returncode, stdout, stderr), only(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_breaks_off_the_proofs_of_a_suite(number: int, cache: Path, tmp_path: Path) -> None:
    """Each takes a minute or so. No work tree is left, and no library's warning of what it shared is printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "selftest", "suite", "--suite", "deep"],
        cwd=paths.ROOT, env=environment(cache, {"TMPDIR": str(tmp_path)}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed,
    )  # fmt: skip
    _until(lambda: next(tmp_path.glob("coldwarm-*/tmp*/hidden/*.py"), None), process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr.strip()) == (3, "", "coldwarm: stopped")
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_what_a_killed_run_left_is_cleared_by_the_next(cli: Cli, cache: Path, tmp_path: Path) -> None:
    process = _started("tests.support.faulty_backends:HangsWithAHelper", cache, tmp_path / "out", TMPDIR=str(tmp_path))
    helper = int(_until(lambda: next(tmp_path.glob("out/2*/work/**/helper.pid"), None), process).read_text() or 0)
    process.kill()
    process.wait(10)
    killed = only(tmp_path / "out")
    assert not _gone(helper, 0.2) and (killed / "work").exists()
    next_ = cli("run", "-b", "none", *SMALL, "--out", tmp_path / "out", env={"TMPDIR": str(tmp_path)})
    assert (next_.returncode, next_.stderr) == (0, "")
    assert _gone(helper) and not (killed / "work").exists() and (killed / "logs").exists()


@pytest.mark.slow
def test_two_processes_cannot_play_one_run(cli: Cli, cache: Path, tmp_path: Path) -> None:
    process = _started("tests.support.faulty_backends:HangsWithAHelper", cache, tmp_path)
    try:
        _until(lambda: next(tmp_path.glob("2*/work/**/helper.pid"), None), process)
        before = bytes_of(only(tmp_path))
        line = one_line(cli("run", "--resume", only(tmp_path)), 2)
        assert "another process plays this run" in line
        assert bytes_of(only(tmp_path)) == before and (only(tmp_path) / "work").exists()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def _started(backend: str, cache: Path, out: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "run", "-b", backend, *SMALL, "--out", str(out)],
        cwd=paths.ROOT, env=environment(cache, more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_heed,
    )  # fmt: skip


def _until(seen: Callable[[], Path | None], process: subprocess.Popen[str]) -> Path:
    """Waits for a file with content."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        if (path := seen()) and path.exists() and path.stat().st_size:
            return path
        time.sleep(0.02)
    raise AssertionError("the run ended, or took too long, before it could be met at work")


def _heed() -> None:
    """What a shell starts in the background is told to ignore an interrupt, and so is all that it starts."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def _gone(pid: int, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
