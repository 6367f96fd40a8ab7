"""The help of commands: every option is explained, and those of `run` stand under headings."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from harness.cli import commands
from harness.cli.play import GROUPS


def _all(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for word, each in command.commands.items():
            yield from _all(each, f"{name} {word}")
    else:
        yield name, command


COMMANDS = dict(_all(commands, "coldwarm"))


@pytest.mark.parametrize(("processors", "jobs"), [(96, 64), (8, 8), (None, 1)])
def test_any_number_of_processors_is_a_number_of_jobs(
    processors: int | None, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    assert COMMANDS["coldwarm score"].make_context("score", ["RUN"]).params["jobs"] == jobs


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_explained(name: str) -> None:
    assert COMMANDS[name].help
    bare = [each.name for each in COMMANDS[name].params if isinstance(each, click.Option) and not each.help]
    assert not bare


@pytest.mark.parametrize("words", [(), ("export",), ("new",), ("selftest",), ("baseline",), ("env",), ("import",)])
def test_no_summary_is_cut_at_eighty_columns(words: tuple[str, ...]) -> None:
    said = CliRunner(env={"COLUMNS": "80"}).invoke(commands, [*words, "--help"]).stdout
    _, head, listed = said.partition("\nCommands:\n")
    assert head and listed and "..." not in listed
    assert all(line.rstrip().endswith(".") for line in listed.splitlines()), listed


def test_each_option_of_run_stands_under_one_heading() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(str(each.name) for each in COMMANDS["coldwarm run"].params)
    said = CliRunner().invoke(commands, ["run", "--help"]).stdout
    assert [said.index(f"\n{heading}:\n") for heading in GROUPS] == sorted(
        said.index(f"\n{heading}:\n") for heading in GROUPS
    )
    assert said.count("--") > len(grouped) and "coldwarm run -b notes" in said
