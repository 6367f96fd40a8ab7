"""The programs that commands of a suite find beside the work tree, and what they may read for it."""

from __future__ import annotations

import os
import re
import shutil
import sys
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


def find_missing(scenario: Scenario) -> list[str]:
    """The programs that a story needs and that its commands would not find here. Raises ProgramsError."""
    path = list_path()
    return [name for name in scenario.needs if shutil.which(name, path=path) is None]
