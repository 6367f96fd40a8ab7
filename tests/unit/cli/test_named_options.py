"""An option that a message tells of is one of the command that prints it, or stands behind the name of its command."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from harness import cli
from harness.cli import commands

SAYS = {"stop", "say", "tell", "fail", "UsageError", "BadParameter"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
ANOTHER = re.compile(r"coldwarm [a-z].*")
"""What stands behind the name of a command is told of that one."""
MODULES = {path.stem: path.read_text("utf-8") for path in Path(cli.__file__).parent.glob("*.py")}


def list_options(module: str, group: click.Group = commands) -> Iterator[str]:
    """Those of the commands of a module."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from list_options(module, command)
        elif command.callback and command.callback.__module__ == f"harness.cli.{module}":
            yield from (name for each in command.params for name in each.opts)


def list_told(function: ast.AST) -> Iterator[str]:
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and SAYS & {getattr(call.func, "id", ""), getattr(call.func, "attr", "")}:
            texts = (each.value for each in ast.walk(call) if isinstance(each, ast.Constant))
            yield from OPTION.findall(ANOTHER.sub("", " ".join(each for each in texts if isinstance(each, str))))


def list_users(module: str, function: str) -> Iterator[str]:
    """It, if it has commands; else those that import the function of it."""
    if any(list_options(module)):
        yield module
        return
    for name, code in MODULES.items():
        taken = (each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.ImportFrom))
        if any(
            each.module == f"harness.cli.{module}" and function in {one.name for one in each.names} for each in taken
        ):
            yield name


@pytest.mark.parametrize("module", sorted(MODULES))
def test_an_option_that_is_told_of_is_there(module: str) -> None:
    """In each module with commands that uses the function which tells of it."""
    for function in ast.parse(MODULES[module]).body:
        if isinstance(function, ast.FunctionDef) and (told := {*list_told(function)}):
            for user in list_users(module, function.name):
                known = {*list_options(user)}
                assert not known or told <= known, f"{function.name} as {user} uses it"
