"""Jobs are done for real: edits, commands and checks in a work tree, once for equal work."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.machine import bubblewrap, command, shortage
from harness.machine.processes import Killed
from harness.model.job import Edit, Job
from harness.repo import checks
from harness.repo.checkout import Repo, build
from harness.repo.checks import WorkTrees
from tests.unit.conftest import House


@pytest.fixture(scope="module")
def repo(lasting: House) -> Repo:
    return build(lasting.fixtures / "shop", lasting.cache)


def job(check: Sequence[str] = ("cat", "ops/new.txt"), **more: Any) -> Job:
    return Job.model_validate(
        {
            "do": "job", "id": "ship", "goal": "Ship it", "relevant": ["ops/order.toml"],
            "decisions": [
                {
                    "id": "target",
                    "question": "Which target?",
                    "edits": [
                        {"path": "ops/order.toml", "old": 'target = ""', "new": 'target = "{value}"'},
                        {"path": "ops/new.txt", "new": "{value}"},
                    ],
                    "check": list(check),
                    "options": [
                        {"value": "kestrelway", "verdict": "right", "fact": "new"},
                        {"value": "harborline", "verdict": "stale", "fact": "old"},
                    ],
                }
            ],
            **more,
        }
    )  # fmt: skip


def done(repo: Repo, work: Job, value: str | None = "kestrelway") -> checks.Work:
    return WorkTrees().do(repo, repo.resolve("0003"), work, {"target": value})


def verdict(repo: Repo, work: Job, value: str | None = "kestrelway") -> str:
    (check,) = done(repo, work, value).checks
    return work.decisions[0].judge(check.exit, check.value)


def test_a_decided_value_is_edited_in_checked_and_shown_as_a_diff(repo: Repo) -> None:
    made = done(repo, job(run=[["cat", "ops/order.toml"]]))
    assert [check.value for check in made.checks] == ["kestrelway"]
    assert [(check.decision, check.value) for check in made.ran] == [("run", 'target = "kestrelway"')]
    assert '-target = ""\n+target = "kestrelway"\n' in made.diff and "+++ b/ops/new.txt" in made.diff
    assert "/tmp" not in made.diff + str(made)


@pytest.mark.parametrize(("value", "said"), [("kestrelway", "right"), ("harborline", "stale"), ("elsewhere", "other")])
def test_the_verdict_is_what_the_check_saw(repo: Repo, value: str, said: str) -> None:
    assert verdict(repo, job(), value) == said


def test_what_is_not_decided_is_not_edited(repo: Repo) -> None:
    made = done(repo, job(["cat", "ops/order.toml"]), None)
    assert made.diff == "" and made.checks[0].value == 'target = ""'
    assert verdict(repo, job(["true"]), None) == "unresolved"


@pytest.mark.parametrize(
    ("check", "exit_", "said"),
    [
        (["false"], 1, "failed"),
        (["no-such-command-here"], 127, "failed"),
        (["sh", "-c", "echo kestrelway; exit 3"], 3, "failed"),
        (["sh", "-c", "kill -9 $$"], -9, "failed"),
        (["true"], 0, "unresolved"),
        (["printf", r" \n \n"], 0, "unresolved"),
        (["printf", r"noise\nkestrelway\n\n"], 0, "right"),
        (["printf", r"\377\376"], 0, "other"),
        (["sh", "-c", "echo kestrelway >&2"], 0, "unresolved"),
        (["sh", "-c", "cat; echo kestrelway"], 0, "right"),
    ],
)
def test_a_check_that_goes_wrong_is_failed_and_never_right(repo: Repo, check: list[str], exit_: int, said: str) -> None:
    made = done(repo, job(check))
    assert made.checks[0].exit == exit_ and verdict(repo, job(check)) == said
    if exit_:
        assert made.checks[0].value is None


def test_a_check_that_hangs_is_ended(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SECONDS", 0.3)
    (check,) = done(repo, job(["sleep", "60"])).checks
    assert (check.exit, check.value) == (124, None) and "no end within 0.3 s" in check.output


def test_a_check_sees_nothing_of_our_environment(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "leaked-from-the-parent")
    (check,) = done(repo, job(["env"])).checks
    assert "leaked" not in check.output and "HOME=." in check.output.splitlines()


def test_very_long_output_is_cut(repo: Repo) -> None:
    (check,) = done(repo, job(["sh", "-c", "yes | head -c 300000"])).checks
    assert len(check.output) == checks.OUTPUT_LIMIT


def test_equal_work_is_done_once_also_at_the_same_time(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    work, shop, start = job(["sleep", "0.1"]), WorkTrees(), threading.Barrier(6)
    count: list[str] = []
    real = checks._work

    def counted(*args: Any) -> checks.Work:
        count.append("x")
        return real(*args)

    monkeypatch.setattr(checks, "_work", counted)

    def do(value: str) -> checks.Work:
        start.wait()
        return shop.do(repo, repo.resolve("0003"), work, {"target": value})

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(do, ["kestrelway"] * 5 + ["harborline"]))
    assert len(count) == 2
    assert made[0] is made[4] and made[0] != made[5]


def test_work_in_which_a_command_was_killed_is_done_again(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else's choice is judged by what the machine did."""
    code = 137 if bubblewrap.is_available() else -9
    killed, real = [command.Finished(code, b"", b"")], command.run
    monkeypatch.setattr(command, "run", lambda *args, **more: killed.pop() if killed else real(*args, **more))
    (check,) = done(repo, job()).checks
    assert not killed and (check.exit, check.value) == (0, "kestrelway")


@pytest.mark.slow
@pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap cannot work here")
def test_a_container_that_is_killed_is_the_machines_doing(repo: Repo) -> None:
    shop = WorkTrees()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(shop.do, repo, repo.resolve("0003"), job(["sleep", "50"]), {"target": "kestrelway"})
        while not (containers := _find_containers(b"sleep\x0050")) and not asked.done():
            pass
        os.kill(containers[0], signal.SIGKILL)
        error = asked.exception(30)
    assert isinstance(error, Killed)
    assert shortage.explain_error(error).startswith("the container of a command was killed by signal 9")


def _find_containers(words: bytes) -> list[int]:
    """Those that this process started, by the end of their command."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            told = stat.with_name("cmdline").read_bytes()
            if int(parent) == os.getpid() and told.startswith(b"bwrap\0") and words in told:
                found.append(int(stat.parent.name))
    return found


def test_a_check_without_room_is_the_machines_doing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    full = job(["sh", "-c", "echo No space left on device; exit 1"])
    assert verdict(repo, full) == "failed"
    monkeypatch.setattr(shortage, "ROOM", 2**80)
    with pytest.raises(Killed, match=r"^no room is left on the disk .*: make room; sh failed$"):
        done(repo, full)


def test_a_check_that_cannot_be_started_for_want_of_files_is_the_machines_doing(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> command.Finished:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(command, "run", run)
    with pytest.raises(Killed, match="too many files are open: ulimit -n 1024"):
        done(repo, job())


def test_what_failed_is_tried_anew_for_who_asks_next(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, real, failures = WorkTrees(), checks._work, [OSError(28, "No space left on device")]

    def work(*args: Any) -> checks.Work:
        if failures:
            raise failures.pop()
        return real(*args)

    monkeypatch.setattr(checks, "_work", work)
    with pytest.raises(OSError, match="No space left"):
        shop.do(repo, repo.resolve("0003"), job(), {"target": "kestrelway"})
    assert shop.do(repo, repo.resolve("0003"), job(), {"target": "kestrelway"}).checks[0].value == "kestrelway"


def test_a_failure_of_the_workshop_reaches_everyone_who_waits(repo: Repo) -> None:
    shop = WorkTrees()
    for _ in range(2):
        with pytest.raises(Exception, match="0" * 40):
            shop.do(repo, "0" * 40, job(), {"target": "kestrelway"})


def test_the_work_tree_is_gone_afterwards(repo: Repo) -> None:
    (check,) = done(repo, job(["sh", "-c", "pwd -P | tr / :"])).checks
    assert check.value is not None and not os.path.lexists(check.value.replace(":", "/"))


@pytest.mark.parametrize("harm", ["rm -rf .git", "rm -rf .git; mkfifo .git", "truncate -s5 .git/index"])
def test_a_job_that_harms_its_repository_is_one_line(repo: Repo, harm: str) -> None:
    with pytest.raises(checks.WorkError, match="the job left a work tree in which git add fails: ") as caught:
        done(repo, job(run=[["sh", "-c", harm]]))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("path", ["up/new.txt", "up", "../new.txt", "/tmp/coldwarm-never", "ops/../../new.txt"])
def test_an_edit_follows_no_link_and_leads_nowhere_else(tmp_path: Path, path: str) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    (tree / "up").symlink_to(outside)
    with pytest.raises(OSError):
        checks._apply(tree, Edit(path=path, new="text"))
    assert list(outside.iterdir()) == [] and not (tmp_path / "new.txt").exists()


@pytest.mark.slow
@pytest.mark.skipif(not bubblewrap.is_available(), reason="no bubblewrap")
def test_a_check_sees_its_work_tree_and_no_network(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("text")
    for words in (
        f"cat {tmp_path}/secret",
        f"touch {tmp_path}/new",
        "touch /etc/new",
        f"ls {paths.TASKS}",
    ):
        made = done(repo, job(["bash", "-c", f"{words} && echo kestrelway"]))
        assert made.checks[0].exit != 0, words
    with socket.create_server(("127.0.0.1", 0)) as server:
        check = ["bash", "-c", f"echo > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"]
        assert done(repo, job(check)).checks[0].exit != 0
    assert done(repo, job(["git", "log", "--oneline"])).checks[0].exit == 0
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(not bubblewrap.is_available(), reason="no bubblewrap")
def test_what_a_job_tells_git_to_run_is_contained_too(repo: Repo, tmp_path: Path) -> None:
    for name in ("core.fsmonitor", "diff.external"):
        done(repo, job(run=[["git", "config", name, f"touch {tmp_path}/new; touch ran; true"]]))
        assert not (tmp_path / "new").exists(), name
