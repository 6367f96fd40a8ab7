"""TOML files -> scenarios that hold. Whatever is wrong with a file ends in one line: file, key, reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.model.facts import PATTERNS
from harness.model.scenario import MINED, PINNED, SERIES, Pinned, Scenario
from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.clone import Clone, locate
from harness.repo.several import join
from tasks import files, proofs, short
from tasks.files import BrokenError

_REASONS = {
    "missing": "missing",
    "extra_forbidden": "unknown key",
    "unexpected_keyword_argument": "unknown key",
    "tuple_type": "must be a list, as [...]",
    "list_type": "must be a list, as [...]",
    "string_type": 'must be a text, as "..."',
    "int_type": "must be a whole number",
    "model_type": "must be a table, as {...}",
    "dataclass_type": "must be a table, as {...}",
    "model_attributes_type": "must be a table, as {...}",
    "union_tag_not_found": "needs a key 'do'",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "datetime_type": "must be a time, as 2025-03-01T10:00:00Z",
    "datetime_from_date_parsing": "must be a time, as 2025-03-01T10:00:00Z",
    "datetime_parsing": "must be a time, as 2025-03-01T10:00:00Z",
    "timezone_aware": "needs a time zone, as in 2025-03-01T10:00:00Z",
}
_TRANSCRIPT = re.compile(r"^sessions\.([^.]+)\.transcript(?:\.(\d+))?(?=\.|$)")
_WIDTH = 500  # characters of a message; what is longer quotes a text that is too long to help


class ScenarioError(Exception):
    """A scenario that cannot be played. One line: `file: key: reason`."""


def read(path: Path) -> Scenario:
    """A scenario as its file says it: its id from folder and file name, its commits still as the file names them."""
    try:
        return _read(path)
    except BrokenError as problems:
        raise _error(path, problems.found[0]) from None


def resolve(scenario: Scenario, repo: Repo, file: Path) -> Scenario:
    """The scenario with the hashes of its commits, once everything that needs the fixture is proven."""
    try:
        return _resolve(scenario, repo)
    except BrokenError as problems:
        raise _error(file, problems.found[0]) from None


def load(paths: Iterable[Path], fixtures: Path, cache: Path) -> list[tuple[Scenario, Repo]]:
    """The scenarios of these files with their repositories, sorted by id. No two mined ones share a commit: what one
    commit did is one case, and statistics take each story for one."""
    loaded: dict[str, tuple[Scenario, Repo]] = {}
    told: dict[str, str] = {}
    for path in paths:
        scenario = read(path)
        if scenario.id in loaded:
            raise _error(path, f"id: another file is '{scenario.id}' as well")
        try:
            repo = _fixture(scenario, path, fixtures, cache)
        except BrokenError as problems:
            raise _error(path, problems.found[0]) from None
        if loaded and (scenario.kind == MINED) != (next(iter(loaded.values()))[0].kind == MINED):
            raise _error(path, "kind: mined stories and those of authors are no one suite; play them apart")
        resolved = resolve(scenario, repo, path)
        for commit in sorted(resolved.changes) if scenario.kind == MINED else ():
            if (other := told.setdefault(commit, scenario.id)) != scenario.id:
                raise _error(path, f"facts: commit {commit[:12]} is told by '{other}', too, and would count twice; "
                             "mine both stories at once")  # fmt: skip
        loaded[scenario.id] = resolved, repo
    return [loaded[name] for name in sorted(loaded)]


def find(tasks: Path, names: Sequence[str] = ()) -> list[Path]:
    """The files of all scenarios, or of those with one of these ids, kinds or file names; a path names itself."""
    known = sorted(tasks.glob("*/*.toml"))
    if not names:
        if not known:
            raise _error(tasks, "scenarios: none; a scenario is a file <kind>/<name>.toml")
        return known
    found: dict[Path, None] = {}
    for name in names:
        named = [
            path
            for path in known
            if name in (f"{path.parent.name}/{path.stem}", path.parent.name, path.stem, path.name)
        ]
        if not named and name.endswith(".toml") and os.path.lexists(name):
            named = [Path(name)]
        if not named:
            words = sorted(
                {word for path in known for word in (f"{path.parent.name}/{path.stem}", path.parent.name, path.stem)}
            )
            near = get_close_matches(name, words, n=3)
            kinds = sorted({path.parent.name for path in known})
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are the kinds {', '.join(kinds) or 'none'}"
            raise _error(name, f"scenario: no id, kind or file has this name; {hint}")
        found.update(dict.fromkeys(named))
    return list(found)


def validate(path: Path, fixtures: Path, cache: Path) -> list[str]:
    """Every problem of a file, one line each; what rests on something broken is not looked at."""
    try:
        scenario = _read(path)
        _resolve(scenario, _fixture(scenario, path, fixtures, cache))
    except BrokenError as problems:
        return [str(_error(path, problem)) for problem in problems.found]
    return []


def _error(file: Path | str, problem: str) -> ScenarioError:
    """One line, whatever the file was named or said."""
    line = " ".join(f"{file}: {problem}".split())
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    return ScenarioError(shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 3]}...")


def _read(path: Path) -> Scenario:
    data = files.parse(files.read(path))
    if "id" in data:
        raise BrokenError(["id: unknown key; folder and file name are the id"])
    try:
        data = files.attach(short.expand(data), path.with_suffix(""))
    except short.ShortError as error:
        raise BrokenError([str(error)]) from None
    place = path.absolute()
    try:
        return Scenario.model_validate({**data, "id": f"{place.parent.name}/{place.stem}"})
    except ValidationError as error:
        raise BrokenError(
            [
                _flatten_error(one["loc"], _word_reason(one["type"], one["msg"], one.get("ctx", {})), data)
                for one in error.errors()
            ]
        ) from None


def _word_reason(kind: str, message: str, known: Mapping[str, Any]) -> str:
    """The reason in the words of a TOML file."""
    if kind in ("too_short", "too_long"):
        bound = "at least" if kind == "too_short" else "at most"
        return f"needs {bound} {known.get('min_length', known.get('max_length'))} entries, has {known['actual_length']}"
    if kind == "union_tag_invalid":
        return f"do: unknown '{known['tag']}'; there are {known['expected_tags'].replace(chr(39), '')}"
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(known["pattern"], "has a form that is not allowed")
    plain = message.removeprefix("Value error, ").replace("Input should be", "must be")
    return _REASONS.get(kind, plain.replace("String should", "the text must"))


def _flatten_error(where: tuple[int | str, ...], reason: str, data: Any) -> str:
    """`key: reason` of one error, with ids in place of positions where the data has them."""
    key: list[str] = []
    node = data
    for part in where:
        if isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
            name = node.get("id") if isinstance(node, dict) else None
            key.append(name if isinstance(name, str) and name else str(part))
        elif isinstance(node, dict) and part not in node and part == node.get("do"):
            continue  # the tag of a union, which is no key of the file
        elif part in (SERIES, PINNED):
            continue  # the same
        else:
            node = node.get(part) if isinstance(node, dict) else None
            key.append(str(part))
    return ": ".join(filter(None, [_TRANSCRIPT.sub(_name_message, ".".join(key)), reason]))


def _name_message(found: re.Match[str]) -> str:
    """As the file of a transcript has it, with messages counted from 1."""
    number = "" if found[2] is None else f".{int(found[2]) + 1}"
    return f"transcripts.{found[1]}.messages{number}"


def _fixture(scenario: Scenario, file: Path, fixtures: Path, cache: Path) -> Repo:
    """Where a story plays: in series among the fixtures, or in a pinned repository, from the file's folder on."""
    if isinstance(scenario.fixture, Pinned):
        location = locate(scenario.fixture.git, file.absolute().parent)
        return _build(Clone(location, scenario.fixture.commit), cache)
    folders = [_locate("fixture", scenario.fixture, fixtures)]
    folders += [_locate("beside", each, fixtures) for each in scenario.beside]
    parts = [_build(folder, cache) for folder in folders]
    try:
        return join(*parts)
    except FixtureError as error:
        raise BrokenError([f"beside: {error}"]) from None


def _locate(key: str, name: str, fixtures: Path) -> Path:
    if not (fixtures / name).is_dir():
        there = sorted(path.name for path in fixtures.glob("*/"))
        raise BrokenError([f"{key}: unknown '{name}'; there are {', '.join(there) or 'none'} in {fixtures}"])
    return fixtures / name


def _build(origin: Path | Clone, cache: Path) -> Repo:
    try:
        return build(origin, cache)
    except FixtureError as error:
        raise BrokenError([f"fixture: {error}"]) from None


def _resolve(scenario: Scenario, repo: Repo) -> Scenario:
    try:
        resolved, found = proofs.add_hashes(scenario, repo)
        found = found or list(proofs.problems(resolved, repo))
    except FixtureError as error:  # damaged since it was built
        raise BrokenError([f"fixture: {error}"]) from None
    if found:
        raise BrokenError(found)
    return resolved
