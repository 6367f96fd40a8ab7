"""What commands of a suite find: the usual programs, and an environment that the user lends them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harness.log.parts import Check
from harness.machine import bubblewrap
from harness.repo import checks, programs
from harness.repo.checkout import Repo, build
from harness.repo.programs import VARIABLE, ProgramsError
from tests.unit.conftest import House


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a program of its own, which reads a file beside it."""
    own = tmp_path / "env"
    (own / "bin").mkdir(parents=True)
    (own / "word.txt").write_text("kestrelway\n")
    (own / "bin" / "tell-word").write_text(f"#!/bin/sh\ncat {own}/word.txt\n")
    (own / "bin" / "spoil-word").write_text(f"#!/bin/sh\necho other > {own}/word.txt\n")
    for each in (own / "bin").iterdir():
        each.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(own))
    return own


@pytest.fixture(scope="module")
def repo(lasting: House) -> Repo:
    return build(lasting.fixtures / "shop", lasting.cache)


def run(repo: Repo, *words: str) -> Check:
    with repo.worktree(repo.resolve("0003")) as tree:
        return checks.run(tree, "target", words, checks.wrap(tree, repo))


def test_an_environment_that_is_lent_comes_first(environment: Path, repo: Repo) -> None:
    assert programs.list_path().split(os.pathsep)[0] == str(environment / "bin")
    assert run(repo, "tell-word").value == "kestrelway"


@pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here")
def test_it_is_read_only_and_nothing_beside_it_is_seen(environment: Path, repo: Repo) -> None:
    (environment.parent / "secret.txt").write_text("a key")
    assert run(repo, "spoil-word").exit
    assert (environment / "word.txt").read_text() == "kestrelway\n"
    assert run(repo, "cat", str(environment.parent / "secret.txt")).exit


def test_without_it_its_programs_are_not_there(environment: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    assert (programs.find_environment(), programs.list_reads()) == (None, [])
    assert run(repo, "tell-word").exit == 127


def test_the_python_that_a_virtual_environment_stands_upon_is_read_too(environment: Path) -> None:
    (environment / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\nversion = 3.11\n")
    assert programs.list_reads() == [environment, Path(sys.base_prefix).resolve()]
    (environment / "pyvenv.cfg").write_bytes(b"home = \xff")
    assert programs.list_reads() == [environment]


def test_a_folder_without_programs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(ProgramsError, match=f"{VARIABLE}: {tmp_path} has no folder `bin`; name a virtual environment"):
        programs.list_path()
