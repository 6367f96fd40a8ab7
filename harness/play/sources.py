"""What decides how something is played, as digests: our sources, what is installed, the machine."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import distributions
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any

from harness import paths
from harness.backend.staging import ALLOW
from harness.machine import bubblewrap, containment
from harness.model.trial import digest
from harness.play.trial import describe_machine

OURS = ("adapters", "harness", "tasks")
PLAYS = (
    "harness/__init__.py", "harness/paths.py", "harness/adapter", "harness/backend", "harness/gateway", "harness/log",
    "harness/machine", "harness/model", "harness/play", "harness/promises", "harness/repo", "harness/scan",
    "harness/text", "tasks/files.py", "tasks/loader.py", "tasks/proofs.py", "tasks/short.py", "tasks/spoken.py",
)  # fmt: skip
"""What of our sources decides how a trial is played. Scores and reports are made of logs, reused ones too."""
DRILLS = "harness/play/drills"
"""Their modules play no other trial, unless that drill imports them."""
STAGE = (f"{DRILLS}/__init__.py", f"{DRILLS}/stage.py")
"""Those that every trial is played with."""


def digest_conditions(code: str | None = None) -> str | None:
    """The digest of the code that plays, the installed packages and the machine. None: something here cannot be
    digested.

    Args:
        code: The digest of the code, where not all of what plays trials decides.
    """
    installed = digest_installed()
    # children read what COLDWARM_ALLOW_READ names, and no digest here covers that
    if installed is None or os.environ.get(ALLOW):
        return None
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout
    facts: list[Any] = [
        code or digest_code(), installed, dict(describe_machine()), platform.machine(),
        platform.python_implementation(), git, containment.describe(), bubblewrap.describe_containment(),
    ]  # fmt: skip
    return digest(facts)


def digest_code() -> str:
    """The digest of those of our sources that decide how a trial is played."""
    return digest_files(each for name in PLAYS for each in list_sources(name))


def digest_common_code() -> str:
    """The digest of those that decide how every trial is played: of drills only the stage."""
    files = (file for name in PLAYS for _, file in list_sources(name) if paths.ROOT / DRILLS not in file.parents)
    return digest_files((paths.ROOT, file) for file in (*files, *(paths.ROOT / name for name in STAGE)))


def digest_drill(module: str) -> str:
    """The digest of the module that plays a drill, with all of that room which it imports."""
    return digest_files((paths.ROOT, file) for file in find_imported(module, DRILLS))


@cache
def digest_installed(places: tuple[str, ...] | None = None) -> str | None:
    """What is installed, with the digests of its files; None: a package that may be edited in place.

    Args:
        places: Folders with packages; None: those of this Python.
    """
    told = set[tuple[str, str, str]]()
    for each in distributions() if places is None else distributions(path=list(places)):
        # parsed each time that anything of it is asked for
        metadata = each.metadata
        # its sources are digested by `digest_code`
        if metadata["Name"] == "coldwarm":
            continue
        # PEP 610 marks what is installed in place so; its RECORD lists none of the modules
        if '"editable"' in (each.read_text("direct_url.json") or ""):
            return None
        record = (each.read_text("RECORD") or "").splitlines()
        # scripts name the folder of the environment, and .dist-info who installed it: neither is code of the package
        inside = sorted(line for line in record if not line.startswith("../") and ".dist-info/" not in line)
        told.add((metadata["Name"], metadata["Version"], digest(inside)))
    return digest(sorted(told))


def digest_module(name: str) -> str:
    """The digest of one of our modules, with all of ours that it imports."""
    return digest_files((paths.ROOT, file) for file in find_imported(name))


def find_imported(name: str, room: str = "") -> tuple[Path, ...]:
    """The files of one of our modules and of all of ours that it imports, at its top or later, directly or not.

    Args:
        room: The folder of those that are looked for and through; all of ours unless said.
    """
    found, seen, waiting = set[Path](), set[str](), [name]
    while waiting:
        # the packages around a module are imported before it
        new = {*accumulate(waiting.pop().split("."), "{}.{}".format)} - seen
        seen |= new
        for file in (file for module in new for file in _find_files(module)):
            if file.is_relative_to(paths.ROOT / room):
                found.add(file)
                package = ".".join(file.relative_to(paths.ROOT).parent.parts)
                waiting += _list_imports(package, file.read_bytes())
    return tuple(sorted(found))


def _find_files(module: str) -> Iterator[Path]:
    """The file of a module or package; none if it is not ours."""
    parts = module.split(".")
    if parts[0] in OURS:
        place = paths.ROOT.joinpath(*parts)
        yield from filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py")))


@cache
def _list_imports(package: str, source: bytes) -> tuple[str, ...]:
    """The names of modules in the import statements of a file; `from a import b` may mean a module a.b."""
    found = list[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            found += [f"{module}.{each.name}" for each in node.names]
    return tuple(found)


def list_sources(name: str) -> list[tuple[Path, Path]]:
    """A file, or the modules below a folder, of our own packages."""
    found = paths.ROOT / name
    return [(paths.ROOT, each) for each in ([found] if found.is_file() else sorted(found.rglob("*.py")))]


def digest_files(files: Iterable[tuple[Path, Path]]) -> str:
    """The digest of files: of their paths below the folder that stands before each, and of what they hold."""
    return digest(
        [[str(each.relative_to(root)), hashlib.sha256(each.read_bytes()).hexdigest()] for root, each in files]
    )


def stamp(files: Sequence[Path]) -> list[tuple[int, int]]:
    """Sizes and times of files, by which an edit is noticed."""
    found = []
    for each in files:
        # one that is gone makes the list shorter, so that it differs as well
        with suppress(OSError):
            stat = each.stat()
            found.append((stat.st_size, stat.st_mtime_ns))
    return found
