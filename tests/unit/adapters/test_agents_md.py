"""AGENTS.md in git: real commits, marks that are commits, and what a kill or an owner's edit leaves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from adapters.agents_md import AgentsMd, AgentsMdMemory
from harness.adapter import Space
from tests.support.items import SHOP, item


def opened(folder: Path) -> AgentsMdMemory:
    memory = AgentsMd().open(Space(str(folder), "http://127.0.0.1:1/v1", "key", 0, 1))
    assert isinstance(memory, AgentsMdMemory)
    return memory


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--reverse", "--format=%s").splitlines()


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_every_change_is_one_commit_and_no_change_is_none(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    (first,) = memory.remember([item("The queue is rabbit."), item("")])[0].ids
    memory.remember([item(" ")])
    assert memory.forget(SHOP, ["unknown"]) == [False]
    (second,) = memory.supersede(SHOP, [first], item("The queue is redis.")).ids
    assert memory.forget(SHOP, [second, second]) == [True, False]
    assert subjects(tmp_path)[1:] == ["remember", "supersede", f"forget {second}"]
    assert git(tmp_path, "status", "--porcelain") == ""


def test_blame_names_the_commit_of_a_memory(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember([item("The port is 8080.")])
    wrote = memory.snapshot()
    memory.remember([item("The port is 9090.")])
    (one, two) = (line.split()[0] for line in git(tmp_path, "blame", "-s", "-l", "AGENTS.md").splitlines())
    assert one.lstrip("^") == wrote and two == memory.snapshot()


def test_a_mark_is_restored_without_what_was_forgotten_since(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    secret, kept = (ack.ids[0] for ack in memory.remember([item("The pin is 4711."), item("Ask first.")]))
    mark = memory.snapshot()
    memory.remember([item("Never ask.")])
    memory.forget(SHOP, [secret])
    memory = opened(tmp_path)
    memory.restore(mark)
    memory.restore(mark)
    assert [hit.memory_id for hit in memory.entries(SHOP)] == [kept]
    assert "4711" not in (tmp_path / "AGENTS.md").read_text()
    assert "4711" in git(tmp_path, "log", "-p"), "git keeps what was deleted"


@pytest.mark.parametrize("mark", ["", "HEAD", "--output=x", "HEAD~1", "0" * 40])
def test_what_is_no_mark_changes_nothing(tmp_path: Path, mark: str) -> None:
    memory = opened(tmp_path)
    memory.remember([item("Ask first.")])
    before = (tmp_path / "AGENTS.md").read_text(), subjects(tmp_path)
    with pytest.raises((ValueError, RuntimeError)) as caught:
        memory.restore(mark)
    assert "\n" not in str(caught.value)
    assert ((tmp_path / "AGENTS.md").read_text(), subjects(tmp_path)) == before


def test_a_kill_in_a_commit_and_an_edit_by_hand_are_taken_over(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember([item("Ask first.")])
    (tmp_path / ".git" / "index.lock").touch()
    with (tmp_path / "AGENTS.md").open("a") as file:
        file.write("- 2026-02-04 [storefront] Ask twice.\n")
    memory = opened(tmp_path)
    assert len(memory.entries(SHOP)) == 2
    assert subjects(tmp_path)[-1] == "keep what an earlier session left"
    memory.remember([item("Ask again.")])
    assert len(opened(tmp_path).entries(SHOP)) == 3
