"""Who sits at a desk may be hostile: what it asks for stays in the work tree, has an end, and is answered."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.log.parts import Check
from harness.machine import bubblewrap, command
from harness.model.job import Job
from harness.repo import checks, desk, inside
from harness.repo.checkout import Repo, build
from harness.repo.desk import LARGEST, Desk, Refusal, open_desk
from tests.unit.conftest import House

contained = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")
SECRET = "what nobody at the desk may see"
Escape = Callable[[Desk, Path, Path], Any]
"""The desk, its tree, and a folder outside of it."""


def job(*run: list[str]) -> Job:
    return Job.model_validate(
        {
            "do": "job", "id": "ship", "goal": "Ship it", "relevant": ["ops/order.toml"], "run": run,
            "decisions": [
                {
                    "id": "target", "question": "Which target?", "edits": [{"path": "ops/new.txt", "new": "{value}"}],
                    "check": ["cat", "ops/new.txt"],
                    "options": [
                        {"value": "kestrelway", "verdict": "right", "fact": "new"},
                        {"value": "harborline", "verdict": "stale", "fact": "old"},
                    ],
                }
            ],
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def repo(lasting: House) -> Repo:
    return build(lasting.fixtures / "shop", lasting.cache)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    return tmp_path


@pytest.fixture
def at(repo: Repo) -> Iterator[tuple[Desk, Path]]:
    with repo.worktree(repo.resolve("0003")) as tree:
        yield Desk(tree, job(["sh", "-c", "sh run.sh"]), repo), tree


def snap(folder: Path) -> dict[str, str]:
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*") if each.is_file()}


# --- paths ------------------------------------------------------------------------------------------------------------


def up(tree: Path, outside: Path) -> str:
    return f"{os.path.relpath(outside, tree)}/secret"


def link(tree: Path, name: str, target: Path | str) -> str:
    (tree / name).symlink_to(target)
    return name


def hard_link(tree: Path, target: Path) -> str:
    os.link(target, tree / "hard")
    return "hard"


def pipe(tree: Path) -> str:
    os.mkfifo(tree / "pipe")
    return "pipe"


PATHS: dict[str, Callable[[Path, Path], str]] = {
    "absolute": lambda tree, outside: f"{outside}/secret",
    "absolute twice": lambda tree, outside: f"//{outside}/secret",
    "up": up,
    "up behind a folder": lambda tree, outside: f"ops/../{up(tree, outside)}",
    "up behind nothing": lambda tree, outside: f"no-such/../{up(tree, outside)}",
    "up behind dots": lambda tree, outside: f"./ops/./../{up(tree, outside)}",
    "a link to a file": lambda tree, outside: link(tree, "a.txt", outside / "secret"),
    "a link to a folder": lambda tree, outside: f"{link(tree, 'away', outside)}/secret",
    "a link that leads up": lambda tree, outside: f"{link(tree, 'away', os.path.relpath(outside, tree))}/secret",
    "a link to a link": lambda tree, outside: link(tree, "b", link(tree, "a", outside / "secret")),
    "a link of the system": lambda tree, outside: f"{link(tree, 'me', '/proc/self')}/environ",
    "a second name of a file": lambda tree, outside: hard_link(tree, outside / "secret"),
    "the system": lambda tree, outside: "/proc/self/environ",
    "a device": lambda tree, outside: "/dev/zero",
    "a home": lambda tree, outside: "~/.ssh/id_rsa",
    "a variable": lambda tree, outside: "$HOME/.netrc",
    "a URL": lambda tree, outside: f"file://{outside}/secret",
    "a NUL": lambda tree, outside: f"ops/order.toml\0{outside}/secret",
    "backslashes": lambda tree, outside: f"..\\{outside}\\secret",
    "half a pair": lambda tree, outside: "ops/\ud800",
    "a very long name": lambda tree, outside: "x" * 5000,
    "a very deep path": lambda tree, outside: "x/" * 3000,
    "a pipe": lambda tree, outside: pipe(tree),
    "a folder": lambda tree, outside: "ops",
    "the tree": lambda tree, outside: ".",
    "nothing": lambda tree, outside: "",
    "git": lambda tree, outside: ".git/config",
    "git in capitals": lambda tree, outside: ".GIT/config",
    "git behind dots": lambda tree, outside: "ops/.././.git/config",
    "git with a tail": lambda tree, outside: ".git./config",
    "git with a stream": lambda tree, outside: ".git::$INDEX_ALLOCATION/config",
    "git by its short name": lambda tree, outside: "GIT~1/config",
    "git with a hidden sign": lambda tree, outside: ".g\u200bit/config",
    "git in wide letters": lambda tree, outside: ".\uff47\uff49\uff54/config",
    "git of a folder": lambda tree, outside: "ops/.git/hooks/pre-commit",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow) if each == "a very deep path" else each for each in PATHS]
)
def test_no_path_leads_out_of_the_tree_or_to_git(at: tuple[Desk, Path], outside: Path, name: str) -> None:
    sits, tree = at
    path = PATHS[name](tree, outside)
    before, config = snap(outside), (tree / ".git" / "config").read_text()
    for deed in (
        lambda: sits.read_file(path),
        lambda: (
            sits.edit_file(path, "", "planted") if not path.startswith(("~", "$", "file:")) else sits.read_file(path)
        ),
        lambda: sits.edit_file(path, SECRET, "planted"),
        lambda: sits.search_text(SECRET, path) if name != "nothing" and path != "." else sits.read_file(path),
    ):
        try:
            assert not deed(), "nothing is found"
        except Refusal as refusal:
            assert SECRET not in str(refusal) and "\n" not in str(refusal)[:300]
    assert snap(outside) == before and (tree / ".git" / "config").read_text() == config


def test_what_is_listed_and_found_is_neither_git_nor_behind_a_link(at: tuple[Desk, Path], outside: Path) -> None:
    sits, tree = at
    link(tree, "away", outside)
    link(tree, "near.txt", outside / "secret")
    os.mkfifo(tree / "pipe")
    listed = sits.list_files()
    assert "ops/order.toml" in listed
    assert not [each for each in listed if each.startswith((".git", "away", "near", "pipe"))]
    assert sits.search_text(SECRET) == [] and sits.search_text("repositoryformatversion") == []


def test_a_file_is_listed_and_searched_by_its_own_path(at: tuple[Desk, Path], outside: Path) -> None:
    """A small model asked for nothing else, and was refused thirty times."""
    sits, tree = at
    (tree / "ops" / "near.txt").write_text("one\nTwo\n")
    link(tree, "ops/away.txt", outside / "secret")
    assert sits.list_files("ops/near.txt") == ["ops/near.txt"]
    assert sits.search_text("two", "./ops/near.txt") == ["ops/near.txt:2: Two"]
    for path in ("ops/away.txt", "ops/near.txt/more", "ops/none.txt"):
        with pytest.raises(Refusal):
            sits.search_text("two", path)


def test_what_stands_far_to_the_right_of_a_line_is_found_and_shown(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    (tree / "ops" / "wide.json").write_text(f"{'x' * 5000} needle {'y' * 5000}")
    (found,) = sits.search_text("Needle")
    assert "...x" in found and " needle y" in found and len(found) < 350


def test_lines_are_counted_as_git_counts_them(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    (tree / "ops" / "fed.txt").write_text("a\x0cb\u2028c\r\nneedle\r\n", newline="")
    assert sits.search_text("needle") == ["ops/fed.txt:2: needle"]


def test_a_long_file_is_said_to_be_long_whatever_its_letters(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    (tree / "ops" / "long.txt").write_text("é" * (2 * LARGEST + 9) + "x" + "é" * 9, "utf-8")
    with pytest.raises(Refusal, match="longer than"):
        sits.read_file("ops/long.txt")


def test_a_link_that_is_put_in_the_place_of_a_folder_is_not_followed(at: tuple[Desk, Path], outside: Path) -> None:
    """As one may be while a path is looked at: each part of it is opened from the one before."""
    sits, tree = at
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (tree / "ops").rename(tree / "kept")
            (tree / "ops").symlink_to(outside)
            (tree / "ops").unlink()
            (tree / "kept").rename(tree / "ops")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(300):
            try:
                assert SECRET not in sits.read_file("ops/secret")
            except Refusal:
                continue
    finally:
        stop.set()
        swapping.join()


# --- edits ------------------------------------------------------------------------------------------------------------


def test_an_edit_fits_once_or_is_refused(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    sits.edit_file("ops/order.toml", 'target = ""', 'target = "kestrelway"')
    assert 'target = "kestrelway"' in (tree / "ops/order.toml").read_text()
    sits.edit_file("notes/new/page.md", "", "one\none\n")
    for old, why in (("one", "2 times"), ("two", "0 times"), ("", "there already")):
        with pytest.raises(Refusal, match=why):
            sits.edit_file("notes/new/page.md", old, "x")
    with pytest.raises(Refusal, match="longer than"):
        sits.edit_file("big", "", "x" * (desk.LARGEST + 1))
    sits.edit_file("large", "", "a" + "x" * (desk.LARGEST - 1))
    with pytest.raises(Refusal, match="longer than"):
        sits.edit_file("large", "a", "aa")
    assert len(sits.read_file("large")) == desk.LARGEST
    with pytest.raises(Refusal, match="UTF-8"):
        sits.edit_file("odd", "", "\ud800")
    (tree / "raw").write_bytes(b"\xff\xfe")
    with pytest.raises(Refusal, match="UTF-8"):
        sits.read_file("raw")


def test_a_file_without_end_is_refused(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    with (tree / "big").open("wb") as file:
        file.truncate(40 * desk.LARGEST)
    with pytest.raises(Refusal, match="longer than"):
        sits.read_file("big")
    assert sits.search_text("\0") == []


def test_a_file_that_is_there_is_not_made_anew_and_the_model_is_told_how_to_edit_it(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    before = (tree / "ops" / "order.toml").read_text()
    with pytest.raises(Refusal, match="there already: `old` has to be"):
        sits.edit_file("ops/order.toml", "", "anew")
    assert (tree / "ops" / "order.toml").read_text() == before and sits.edited == 0


def test_there_is_an_end_to_edits(at: tuple[Desk, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "EDITS", 2)
    for name in "ab":
        at[0].edit_file(name, "", "x")
    with pytest.raises(Refusal, match="no more"):
        at[0].edit_file("c", "", "x")


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, -1, 3, 10**9])
def test_only_commands_of_the_job_are_run(at: tuple[Desk, Path], number: int) -> None:
    with pytest.raises(Refusal, match="they are 1 to 2"):
        at[0].run_check(number)


def run(sits: Desk, tree: Path, script: str) -> Check:
    """What a script of the tree does, which the desk may run by the job's own command."""
    (tree / "run.sh").write_text(script)
    return sits.run_check(1)


HOSTILE = {
    "keys": "env",
    "the parent's environment": "cat /proc/*/environ | tr '\\0' '\\n'; echo x",
    "a file outside": "cat {outside}/secret; echo x",
    "a link to a file outside": "ln -s {outside}/secret s; cat s; echo x",
    "writing outside": "echo planted > {outside}/secret; echo planted > {outside}/new; echo x",
    "the home": "ls -a ~ ~root /home; cat ~root/.*; echo x",
    "our sources": "cat {root}/pyproject.toml {root}/tasks/*/*.toml; echo x",
    "processes outside": "kill -9 {pid}; ps aux; echo x",
    "mounting": "mount --bind / mnt; umount /proc; echo x",
    "a name space of its own": "unshare -Ur cat {outside}/secret; nsenter -t 1 -a cat {outside}/secret; echo x",
    "a device": "mknod sda b 8 0 && cat sda; cat /dev/mem /dev/sda; echo x",
    "the kernel": "echo 1 > /proc/sys/kernel/panic; cat /proc/kcore | head -c 9; dmesg; echo x",
}


@contained
@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_command_of_an_edited_tree_reaches_ends_at_the_tree(
    at: tuple[Desk, Path], outside: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    before = snap(outside)
    root = Path(desk.__file__).parents[2]
    found = run(*at, HOSTILE[name].format(outside=outside, root=root, pid=os.getpid()))
    assert SECRET not in found.output and "forgotten-runbook" not in found.output
    assert "requires-python" not in found.output
    assert snap(outside) == before


@contained
def test_the_stories_are_hidden_where_they_lie_beside_our_packages(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a wheel: their hidden tests and answers lie in a folder that commands may read else."""
    look = job(["ls", "/usr/share"])
    with open_desk(repo, repo.resolve("0003"), look) as sits:
        assert sits.run_check(1).output
    monkeypatch.setattr(paths, "TASKS", Path("/usr/share"))
    with open_desk(repo, repo.resolve("0003"), look) as sits:
        assert sits.run_check(1).exit == 0 and not sits.run_check(1).output


@contained
def test_a_command_has_no_network(at: tuple[Desk, Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        found = run(*at, f'{sys.executable} -c "{code}"')
    assert found.exit != 0 and "refused" in found.output.lower()


@pytest.mark.slow
@contained
def test_what_a_command_leaves_behind_ends_with_it(at: tuple[Desk, Path]) -> None:
    sits, tree = at
    run(sits, tree, "(setsid sh -c 'while :; do date > alive; sleep 0.05; done' >/dev/null 2>&1 &)\nsleep 0.2")
    (tree / "alive").unlink(missing_ok=True)
    threading.Event().wait(0.4)
    assert not (tree / "alive").exists()


@pytest.mark.slow
def test_a_command_that_does_not_end_is_ended(at: tuple[Desk, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SECONDS", 0.5)
    found = run(*at, "trap '' TERM INT HUP; while :; do sleep 1; done")
    assert found.exit == command.LATE and "no end within" in found.output


def test_output_has_an_end(at: tuple[Desk, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MOST", 50_000)
    found = run(*at, "yes kestrelway")
    assert found.exit == command.LOUD and len(found.output) <= checks.OUTPUT_LIMIT


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("head -c 200000000 /dev/zero > big; echo at $(wc -c < big)", str(command.FILE)),
        (f"{sys.executable} -c 'bytearray(8 << 30)'", "MemoryError"),
    ],
)
def test_files_and_memory_have_an_end(at: tuple[Desk, Path], script: str, says: str) -> None:
    assert says in run(*at, script).output


# --- what is judged ---------------------------------------------------------------------------------------------------


def test_what_was_left_is_judged_by_the_checks_of_the_job(repo: Repo) -> None:
    with open_desk(repo, repo.resolve("0003"), job()) as sits:
        sits.edit_file("ops/new.txt", "", "kestrelway\n")
        done = sits.finish()
    assert [each.value for each in done.checks] == ["kestrelway"] and "+kestrelway" in done.diff


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf .git",
        "printf '[core]\\n\\tfsmonitor = touch planted\\n' >> .git/config; rm .git/HEAD",
        "echo garbage > .git/HEAD",
        "rm -rf .git && ln -s /etc .git",
    ],
)
def test_a_tree_that_cannot_be_judged_has_failed(at: tuple[Desk, Path], script: str) -> None:
    run(*at, script)
    done = at[0].finish()
    assert [(each.decision, each.exit, each.value) for each in done.checks] == [("target", desk.SPOILT, None)]
    assert "git" in done.checks[0].output


def test_the_rules_of_paths_are_those_of_scripted_edits_too(at: tuple[Desk, Path]) -> None:
    with pytest.raises(OSError, match="belongs to git"):
        inside.open_file(at[1], ".git/config", os.O_RDONLY)
