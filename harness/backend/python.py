"""Interpreters of this machine: where one is, its version, and what is installed for it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.backend.registry import RegistryError

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
        # not resolved: only by its link is it the Python of a virtual environment;
        # -I leaves out the working folder, and variables such as PYTHONPATH
        done = subprocess.run(
            [Path(command).absolute(), "-I", "-c", PROBE], capture_output=True, text=True, timeout=SECONDS, check=True
        )
        # a .pth file or sitecustomize of its may print before
        facts = json.loads(done.stdout.splitlines()[-1])
        version, path = str(facts["version"]), str(facts["path"])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        raise RegistryError(f"python={python}: it does not run as a Python") from None
    if tuple(map(int, version.split(".")))[:2] < MINIMUM:
        needed = ".".join(map(str, MINIMUM))
        raise RegistryError(f"python={python}: it is Python {version}; a backend needs {needed} or newer")
    told = json.dumps([facts["kind"], version, facts["packages"]])
    return Interpreter(path, version, hashlib.sha256(told.encode()).hexdigest())
