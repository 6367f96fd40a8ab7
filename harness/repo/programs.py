"""The programs that commands of a suite find beside the work tree, and what they may read for it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.model.scenario import Scenario

VARIABLE = "COLDWARM_TEST_ENV"
"""Environment: a folder, such as a virtual environment, whose `bin` comes first on the PATH of such commands: what the
tests of a repository import. It is read only."""
_HOME = re.compile(r"^home *= *(.+)$", re.MULTILINE)
_USUAL = (str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")


class ProgramsError(ValueError):
    """What VARIABLE names is no such folder. One line."""


def list_path() -> str:
    """As PATH has them. Raises ProgramsError."""
    own = find_environment()
    return os.pathsep.join([*([str(own / "bin")] if own else []), *_USUAL])


def list_reads() -> list[Path]:
    """The folder, and of a virtual environment the Python that it stands upon. Raises ProgramsError."""
    own = find_environment()
    if own is None:
        return []
    try:
        named = _HOME.search((own / "pyvenv.cfg").read_text("utf-8"))
    except (OSError, ValueError):
        named = None
    # `home` is the folder of the program, whose libraries lie beside it
    return [own, *([Path(named[1].strip()).resolve().parent] if named else [])]


def find_environment() -> Path | None:
    """Raises ProgramsError."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    own = Path(named).expanduser().absolute()
    if not (own / "bin").is_dir():
        raise ProgramsError(f"{VARIABLE}: {own} has no folder `bin`; name a virtual environment, such as .venv")
    return own


def find_programs(scenario: Scenario) -> dict[str, str | None]:
    """The programs that a story needs, by what it says or by what its commands begin with, and where these would find
    each here. No job can bring one along: the PATH leads to no folder of its work tree. Raises ProgramsError.
    """
    path = list_path()
    return {name: shutil.which(name, path=path) for name in (*scenario.needs, *_list_commands(scenario))}


def find_missing(scenario: Scenario) -> list[str]:
    """Those of them that are not here. Raises ProgramsError."""
    return [name for name, place in find_programs(scenario).items() if place is None]


def _list_commands(scenario: Scenario) -> Iterator[str]:
    for _, job in scenario.jobs():
        for words in (*job.run, *job.visible, *(decision.check for decision in job.decisions)):
            if os.sep not in words[0]:  # else it is a file, which the job may have to make
                yield words[0]


def describe_missing(lacking: Mapping[str, Sequence[str]]) -> str:
    """The stories that cannot run here, each with its programs that are not there."""
    return ", ".join(
        f"{name} ({' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing)"
        for name, missing in lacking.items()
    )
