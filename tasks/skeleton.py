"""A new scenario that holds from its first line on: two facts that were only told, one question, one job.

One as in the suite `deep` has a transcript for each of its sessions, and a job that a hidden test judges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from harness.machine import files
from harness.model.scenario import Kind
from harness.repo import series
from harness.repo.checkout import FixtureError, build
from tasks.loader import ScenarioError

NAME = re.compile(r"([a-z-]+)/([a-z0-9]+(?:-[a-z0-9]+)*)")
TEMPLATE = Path(__file__).with_name("skeleton.toml")
SPOKEN = Path(__file__).with_name("skeletons") / "deep"
"""What a story has that was spoken: the end of its job, and the files of its folder."""
_JOB = "job.toml"
_DECISION = "\n[[sessions.steps.decisions]]"


def write(name: str, tasks: Path, fixtures: Path, fixture: str, cache: Path, *, spoken: bool = False) -> Path:
    """Writes `<tasks>/<kind>/<name>.toml` on the newest commit of a fixture's main, and says where.

    Args:
        spoken: As in the suite `deep`, with the folder `<tasks>/<kind>/<name>` beside it.

    Raises ScenarioError, one line, for a name that is none, a fixture that is not there, or a file that is.
    """
    file = find_place(name, tasks)
    if not (fixtures / fixture).is_dir():
        there = ", ".join(sorted(path.name for path in fixtures.glob("*/"))) or "none"
        raise ScenarioError(f"{file}: fixture: unknown '{fixture}'; there are {there} in {fixtures}")
    try:
        repo = build(fixtures / fixture, cache)
        number = series.read(fixtures / fixture)[0].numbers[-1]
    except FixtureError as error:
        raise ScenarioError(f"{file}: fixture: {error}") from None
    known = repo.files(repo.resolve(number))
    values = {
        "KIND": file.parent.name,
        "TITLE": file.stem.replace("-", " ").capitalize(),
        "FIXTURE": fixture,
        "COMMIT": number,
        "RELEVANT": "README.md" if "README.md" in known else min(known),
    }
    text = TEMPLATE.read_text("utf-8")
    if spoken:
        text = text.partition(_DECISION)[0] + (SPOKEN / _JOB).read_text("utf-8")
        for path in sorted(each for each in SPOKEN.rglob("*.*") if each.name != _JOB and each.suffix != ".pyc"):
            put(file.with_suffix("") / path.relative_to(SPOKEN), _fill(path.read_text("utf-8"), values))
    put(file, _fill(text, values))
    return file


def _fill(text: str, values: Mapping[str, str]) -> str:
    for word, value in values.items():
        text = text.replace(f'"<{word}>"', json.dumps(value))
    return text


def find_place(name: str, tasks: Path) -> Path:
    """The file of a new scenario KIND/NAME. Raises ScenarioError, one line, for no such name, and if it is there."""
    kinds = get_args(Kind)
    match = NAME.fullmatch(name)
    if match is None or match[1] not in kinds:
        raise ScenarioError(f"{name}: scenario: must be KIND/NAME, of lower-case words; kinds are {', '.join(kinds)}")
    file = tasks / match[1] / f"{match[2]}.toml"
    for path in (file, file.with_suffix("")):
        if path.exists():
            raise ScenarioError(f"{path}: file: is there already; choose another name")
    return file


def put(file: Path, text: str) -> None:
    """Writes a new scenario. Raises ScenarioError, one line, where that is not possible."""
    try:
        files.write(file, text)
    except OSError as error:
        raise ScenarioError(f"{file}: file: cannot be written: {error.strerror}") from None
