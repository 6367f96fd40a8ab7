"""A story whose programs are not installed here, as whoever lists, proves or plays a suite meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result

from harness.backend import client
from harness.backend.client import MemoryFault
from harness.cli import commands
from harness.cli.common import BAD, COULD_NOT_RUN, GOOD
from harness.model.backend import Fault, FaultKind
from harness.repo import programs
from tests.unit.conftest import House

Ask = Callable[..., Result]
STORY = "stale-deploy-rule/move"
LACKS = {
    "declared": ('fixture = "shop"', 'fixture = "shop"\nneeds = ["python3", "no-such-node"]'),
    "a check": ('check = ["cat", "ops/new.txt"]', 'check = ["no-such-node", "ops/new.txt"]'),
    "a command": ('relevant = ["ops/order.toml"]', 'relevant = ["ops/order.toml"]\nrun = [["no-such-node", "-v"]]'),
    "a test": ('relevant = ["ops/order.toml"]', 'relevant = ["ops/order.toml"]\nvisible = [["no-such-node"]]'),
}


@pytest.fixture
def ask(house: House, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a command on the suite of the house, with nothing but the usual folders of programs."""
    monkeypatch.delenv(programs.VARIABLE, raising=False)

    def run(*words: str) -> Result:
        suite = ["--suite", str(house.file.parent.parent), "--fixtures", str(house.fixtures)]
        environment = {"COLDWARM_CACHE": str(house.cache), "COLUMNS": "200", "NO_COLOR": "1"}
        return CliRunner(env=environment).invoke(commands, [*words, *suite])

    return run


@pytest.mark.parametrize("name", LACKS)
def test_a_proof_that_had_to_leave_out_its_only_story_could_not_run(house: House, ask: Ask, name: str) -> None:
    house.write(house.changed(*LACKS[name]))
    done = ask("selftest", "suite", "-s", "move")
    assert done.exit_code == COULD_NOT_RUN, done.output
    assert done.stdout.endswith(f"0 scenarios, 0 breaches, 1 left out: {STORY} (no-such-node is missing)\n")


def test_a_list_marks_what_cannot_run_here(house: House, ask: Ask) -> None:
    house.write(house.story)
    assert "cannot run here" not in ask("list").output
    house.write(house.changed('fixture = "shop"', 'fixture = "shop"\nneeds = ["no-such-node", "no-such-go"]'))
    done = ask("list")
    assert done.exit_code == GOOD
    assert f"cannot run here: {STORY} (no-such-node and no-such-go are missing)" in done.stdout.splitlines()


def test_a_check_whose_program_is_nowhere_is_no_wrong_decision(house: House, ask: Ask, tmp_path: Path) -> None:
    house.write(house.changed(*LACKS["a check"]))
    done = ask("run", "-b", "none", "-n", "0", "-d", "none", "--out", str(tmp_path / "runs"))
    assert done.exit_code == COULD_NOT_RUN and not (tmp_path / "runs").exists(), done.output
    assert f"{STORY} is left out: its tests need no-such-node, not installed here" in done.stderr


@pytest.mark.parametrize(("kind", "says"), [("machine", "run it again"), ("crashed", "leave it out with -b, or")])
def test_a_backend_that_the_machine_keeps_from_saying_what_it_is_may_do_so_later(
    house: House, ask: Ask, monkeypatch: pytest.MonkeyPatch, kind: FaultKind, says: str
) -> None:
    def fail(*_: object) -> NoReturn:
        raise MemoryFault(Fault(kind=kind, op="describe", message="its process was killed"), alive=False)

    house.write(house.story)
    monkeypatch.setattr(client, "describe", fail)
    done = ask("run", "-b", "notes", "-n", "0", "-d", "none")
    *_, last = done.stderr.splitlines()
    assert done.exit_code == COULD_NOT_RUN and f"its process was killed; nothing was played; {says}" in last
    assert ("--allow" in last) == (kind == "crashed")


def test_a_program_of_the_repository_is_for_the_job_to_make(house: House, ask: Ask) -> None:
    house.write(house.changed('check = ["cat", "ops/new.txt"]', 'check = ["./ops/new.txt"]'))
    assert "cannot run here" not in ask("list").output


def test_a_folder_that_lends_no_programs_is_one_line(house: House, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    house.write(house.story)
    monkeypatch.setenv(programs.VARIABLE, str(house.cache))
    done = ask("selftest", "suite", "-s", "move")
    assert done.exit_code == BAD and done.stderr.startswith(f"coldwarm: {programs.VARIABLE}: "), done.output
    assert len(done.stderr.splitlines()) == 1
