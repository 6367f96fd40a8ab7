"""The commands that read somebody else's repository."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from harness.cli.suite import new_scenario


def run(command: click.Command, *words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(command, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def write_story(named: Path, tmp_path: Path, between: str = "HEAD~4..") -> tuple[int, str]:
    return run(new_scenario, "migration/first", "--from", between, "--repo", named, "--suite", tmp_path / "own")
