"""What a process leaves behind, and who may clear it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from filelock import BaseFileLock

from harness import paths
from harness.machine import leftovers

MAKES_ONE = """
import sys
from harness.machine import leftovers
with leftovers.make_temporary() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def started(places: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", MAKES_ONE], cwd=paths.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_process_removes_its_own(places: Path) -> None:
    process, folder = started(places)
    assert folder.is_relative_to(places) and folder.is_dir()
    process.communicate()
    assert not list(places.iterdir())


@pytest.mark.slow
def test_what_a_kill_left_is_swept_and_what_is_in_use_stays(places: Path) -> None:
    killed, left = started(places)
    killed.kill()
    killed.communicate()
    at_work, used = started(places)  # it sweeps before it makes its own
    assert not left.exists() and used.is_dir()
    third, _ = started(places)
    assert used.is_dir()
    for process in (at_work, third):
        process.communicate()
    assert not list(places.iterdir())


def test_what_was_never_locked_or_is_a_link_is_not_touched(tmp_path: Path) -> None:
    unlocked, real = tmp_path / "coldwarm-a", tmp_path / "elsewhere"
    for folder in (unlocked, real):
        folder.mkdir()
    (real / leftovers.LOCK).touch()
    link = tmp_path / "coldwarm-b"
    link.symlink_to(real)
    leftovers.sweep([unlocked, link, tmp_path / "nowhere"])
    assert unlocked.is_dir() and real.is_dir()


def test_only_processes_that_live_below_are_ended(tmp_path: Path) -> None:
    inside, beside = tmp_path / "run", tmp_path / "run-2"
    for folder in (inside, beside):
        folder.mkdir()
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    by_home = subprocess.Popen(sleep, env={**os.environ, "HOME": str(inside / "home")}, start_new_session=True)
    by_place = subprocess.Popen(sleep, cwd=inside)
    others = subprocess.Popen(sleep, env={**os.environ, "HOME": str(beside)}, cwd=beside)
    try:
        leftovers.end_processes(inside)
        assert (by_home.wait(10), by_place.wait(10)) == (-9, -9) and others.poll() is None
    finally:
        for each in (by_home, by_place, others):
            each.kill()
            each.wait()


def test_a_folder_that_another_process_swept_before_it_was_locked_is_made_anew(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment between making the folder and locking it, in which a sweep finds a lock file that nobody holds."""
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    real, made = leftovers._lock, list[Path]()

    def lock_late(folder: Path) -> BaseFileLock:
        made.append(folder)
        if len(made) == 1:  # the sweep holds it
            real(folder)
            raise leftovers.InUse(str(folder))
        if len(made) == 2:  # the sweep has cleared it
            lock = real(folder)
            leftovers.remove(folder)
            return lock
        return real(folder)

    monkeypatch.setattr(leftovers, "_lock", lock_late)
    root, lock = leftovers._make_folder()
    assert made[-1] == root and len(made) == 3 and lock.is_locked and (root / leftovers.LOCK).exists()
    lock.release()


def test_sockets_and_pipes_go_and_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "below").mkdir()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("below/socket")
    (tmp_path / "below" / "items").write_text("text")
    (tmp_path / "link").symlink_to("pipe")
    leftovers.remove_channels(tmp_path)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["below", "items", "link"]


@pytest.mark.skipif(os.geteuid() != 0, reason="plays an ordinary user, as root alone can")
def test_a_folder_from_which_an_ordinary_user_has_shut_itself_out_is_removed(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "store" / "shut" / "out").mkdir(parents=True)
    (folder / "store" / "shut" / "out" / "file").touch()
    (folder / "store" / "shut").chmod(0)
    for each in (folder, *folder.rglob("*")):
        os.chown(each, 65534, 65534)
    if (pid := os.fork()) == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        leftovers.remove(folder / "store")
        os._exit(0)
    os.waitpid(pid, 0)
    assert not (folder / "store").exists()
    leftovers.remove(folder)


def test_who_asks_whether_a_folder_is_claimed_takes_it_from_nobody(tmp_path: Path) -> None:
    assert not leftovers.is_claimed(tmp_path) and not (tmp_path / leftovers.LOCK).exists()
    with leftovers.claim(tmp_path):
        assert leftovers.is_claimed(tmp_path)
    assert not leftovers.is_claimed(tmp_path)
    with leftovers.claim(tmp_path):
        pass
