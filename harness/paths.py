"""Where things lie: in a checkout, or where a wheel was installed."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds our packages."""
_FIXTURES = ROOT / "harness" / "fixtures"
INSTALLED = _FIXTURES.is_dir()
"""Whether we came in a wheel, which holds apart what a checkout keeps beside the packages (setup.py)."""
TASKS = ROOT / "tasks"
DEEP = TASKS / "deep"
SUITES = {"deep": DEEP}
"""Suites that come with coldwarm beside the usual one, by the name that `--suite` takes."""
FIXTURES = (_FIXTURES if INSTALLED else ROOT / "fixtures") / "repos"
TEMPLATES = ROOT / "harness" / "report" / "templates" if INSTALLED else ROOT / "reports" / "templates"
# absolute from the start, so that no later change of the working folder moves it
RUNS = Path("coldwarm-runs").absolute() if INSTALLED else ROOT / "reports" / "out"
"""Where runs are written unless --out names another folder."""
CASES = RUNS.parent / "promises"
"""Where broken promises are kept unless --cases names another folder."""
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coldwarm" if INSTALLED else ROOT / ".cache"
SERVERS = _CACHE
"""Where `make` installs the servers of backends: SERVER/venv."""
PLACES = "COLDWARM_ADAPTER_PATH"


def find_suite(name: str | Path) -> Path:
    """A folder of scenarios, or a suite of ours by its name, unless a folder is called so."""
    return Path(name) if Path(name).exists() else SUITES.get(str(name), Path(name))


def list_paths(variable: str) -> list[Path]:
    """The paths that an environment variable names, with the separator of PATH between them."""
    return [Path(each).absolute() for each in os.environ.get(variable, "").split(os.pathsep) if each]


def cache_root() -> Path:
    """Where what can be rebuilt is kept between runs: COLDWARM_CACHE, else `.cache` in the checkout or the user's."""
    return Path(os.environ.get("COLDWARM_CACHE") or _CACHE).absolute()


def find_memories() -> Path:
    """Where the memories of `coldwarm mcp` are kept, for good: below XDG_DATA_HOME."""
    return (
        Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share").absolute() / "coldwarm" / "memories"
    )


def find_trials() -> Path:
    """Where finished trials are kept for other runs."""
    return cache_root() / "trials"


def find_proofs(cache: Path) -> Path:
    """Where plays of proofs are kept for later ones: COLDWARM_PROOFS, which may outlive a checkout, else the cache."""
    return Path(os.environ.get("COLDWARM_PROOFS") or cache / "proofs").absolute()
