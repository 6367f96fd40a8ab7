"""Other interpreters in which backends run: what they are, and what a backend's label says of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from harness.backend import client, registry
from harness.backend.client import MemoryFault
from harness.backend.forkserver import Launcher, spawn
from harness.backend.registry import RegistryError
from harness.machine import extras, leftovers
from harness.model.trial import Spec

MINIMUM = (3, 11)
"""What a worker needs."""
SECONDS = 60.0
PROBE = """
import json, sys
said = {"version": ".".join(map(str, sys.version_info[:3])), "path": sys.executable, "packages": []}
if sys.version_info >= (3, 11):
    from importlib.metadata import distributions
    said["packages"] = sorted(set("%s==%s" % (each.name, each.version) for each in distributions()))
    said["kind"] = sys.implementation.cache_tag
print(json.dumps(said))
"""
"""Any Python can run it: one that is too old says so itself."""
_RELEASE = re.compile(r"v?(\d[\w.!+-]*)")


@dataclass(frozen=True)
class Interpreter:
    """A Python with what is installed for it.

    Attributes:
        identity: Equal wherever version and packages are.
    """

    path: str
    version: str
    identity: str

    @property
    def shown(self) -> str:
        """What logs and digests say of it: no path."""
        return f"{self.version} ({self.identity[:16]})"


@cache
def find(python: str) -> Interpreter:
    """The interpreter at a path, by its name on PATH, or of a virtual environment. Raises RegistryError, one line."""
    place = Path(python).expanduser()
    place = place / "bin" / "python" if place.is_dir() else place
    if not (command := shutil.which(place)):
        raise RegistryError(f"python={python}: no such interpreter")
    try:
        done = subprocess.run(
            [Path(command).absolute(), "-I", "-c", PROBE], capture_output=True, text=True, timeout=SECONDS, check=True
        )
        said = json.loads(done.stdout.splitlines()[-1])
        version, path = str(said["version"]), str(said["path"])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        raise RegistryError(f"python={python}: it does not run as a Python") from None
    if tuple(map(int, version.split(".")))[:2] < MINIMUM:
        needed = ".".join(map(str, MINIMUM))
        raise RegistryError(f"python={python}: it is Python {version}; a backend needs {needed} or newer")
    told = json.dumps([said["kind"], version, said["packages"]])
    return Interpreter(path, version, hashlib.sha256(told.encode()).hexdigest())


def path(spec: Spec) -> str:
    """The interpreter that a spec names, else ours. Raises RegistryError."""
    return find(spec.python).path if spec.python else sys.executable


def launcher(spec: Spec, launch: Launcher = spawn) -> Launcher:
    """Starts children in the interpreter that the spec names. Raises RegistryError."""
    return partial(launch, python=path(spec)) if spec.python else launch


def shown(spec: Spec) -> Mapping[str, str]:
    """The settings as they may be written down, and which Python it is, if not ours."""
    return {**spec.shown, registry.PYTHON: find(spec.python).shown} if spec.python else spec.shown


def explain_missing(spec: Spec, fault: MemoryFault) -> str:
    """What a backend said that cannot be had: what to install here, or in which interpreter it is missing."""
    if spec.python:
        return f"{fault} (in its own interpreter, Python {find(spec.python).version})"
    return extras.spell_out(str(fault))


def name_releases(specs: Iterable[Spec]) -> tuple[Spec, ...]:
    """The specs, and of each with an interpreter of its own, which release of its backend that one has.

    The release is what the adapter says there; `py3.12.1` where it cannot say. Where different interpreters have the
    same, their own version follows it; where that is the same too, what tells their packages apart. Raises
    RegistryError, also for two interpreters that nothing tells apart.
    """
    asked = [(spec, find(spec.python), _release(spec)) if spec.python else (spec, None, "") for spec in specs]
    alike: dict[str, dict[str, Interpreter]] = defaultdict(dict)
    for spec, interpreter, release in asked:
        if interpreter:
            alike[_as(spec, release).label][interpreter.path] = interpreter
    return tuple(
        _as(spec, release + _apart(interpreter, alike[_as(spec, release).label], spec), interpreter.path)
        if interpreter
        else spec
        for spec, interpreter, release in asked
    )


def again(spec: Spec, python: str | None) -> Spec:
    """A spec that was written down, with its interpreter where there is one. RegistryError: it has another release."""
    if not spec.release:
        return spec
    if not python:
        raise RegistryError(f"backend '{spec.label}' ran in an interpreter of its own: name it again with -b")
    found = spec.model_copy(update={"python": python})
    if not f"{spec.release}-".startswith(f"{_release(found)}-"):
        raise RegistryError(f"backend '{spec.label}': {python} has the release {_release(found)} now")
    return found


def _as(spec: Spec, release: str, python: str | None = None) -> Spec:
    return spec.model_copy(update={"release": release, "python": python or spec.python})


def _apart(own: Interpreter, others: Mapping[str, Interpreter], spec: Spec) -> str:
    """What tells an interpreter from those that have the same release, itself among them."""
    versions, identities = [[getattr(each, name) for each in others.values()] for name in ("version", "identity")]
    if identities.count(own.identity) > 1:
        raise RegistryError(f"backend '{spec.adapter}': two of its interpreters have the same version and packages")
    if len(others) == 1:
        return ""
    return f"-py{own.version}" if versions.count(own.version) == 1 else f"-{own.identity[:7]}"


def _release(spec: Spec) -> str:
    entry = registry.find(spec)
    if entry.reference is None:
        raise RegistryError(f"backend '{spec.adapter}' is a control without an adapter: it has no interpreter")
    try:
        with leftovers.temporary() as home:
            said = client.describe(entry.reference, home / "home", launch=launcher(spec), settings=spec.settings)
        release = _RELEASE.match(said.version)
    except MemoryFault:  # why is told where it is to be played
        release = None
    return release[1] if release else f"py{find(spec.python or sys.executable).version}"
