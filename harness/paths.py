"""Where things lie in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = ROOT / "tasks"
FIXTURES = ROOT / "fixtures" / "repos"
REPORTS = ROOT / "reports"
SERVERS = ROOT / ".cache"
"""Where `make` installs the servers of backends: SERVER/venv."""
PLACES = "COLDWARM_ADAPTER_PATH"


def listed(variable: str) -> list[Path]:
    """The paths that an environment variable names, with the separator of PATH between them."""
    return [Path(each).absolute() for each in os.environ.get(variable, "").split(os.pathsep) if each]


def adapter_places() -> list[str]:
    """Where adapters are looked for: the checkout, then the folders of COLDWARM_ADAPTER_PATH."""
    return [str(ROOT), *map(str, listed(PLACES))]


def cache_root() -> Path:
    """Where what can be rebuilt is kept between runs: COLDWARM_CACHE, else `.cache` in the checkout."""
    return Path(os.environ.get("COLDWARM_CACHE") or ROOT / ".cache").absolute()
