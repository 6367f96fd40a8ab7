"""Where things lie in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = ROOT / "tasks"
FIXTURES = ROOT / "fixtures" / "repos"
REPORTS = ROOT / "reports"


def adapter_places() -> list[str]:
    """Where a child looks for adapters first: the checkout, then the folders of COLDWARM_ADAPTER_PATH."""
    return [str(ROOT), *filter(None, os.environ.get("COLDWARM_ADAPTER_PATH", "").split(os.pathsep))]


def cache_root() -> Path:
    """Where what can be rebuilt is kept between runs: COLDWARM_CACHE, else `.cache` in the checkout."""
    return Path(os.environ.get("COLDWARM_CACHE") or ROOT / ".cache").absolute()
