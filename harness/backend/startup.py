"""What a child does before it imports an adapter: leaves the checkout, enters its sandbox, loads its clock.

Standard library only.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path

from harness.machine.sandbox import Sandbox


def forget_checkout() -> None:
    """An editable installation leads there, whatever the module path says: its finders, hooks and places go."""
    for finder in list(sys.meta_path):
        name = str(getattr(finder, "__module__", ""))
        with suppress(Exception):
            if not name.startswith("_frozen_importlib") and finder.find_spec("harness", None) is not None:
                sys.meta_path.remove(finder)
                sys.path_hooks[:] = [hook for hook in sys.path_hooks if hook.__module__ != name]
                sys.modules.pop(name)
    ours = str(Path(__file__).parents[2])
    sys.path[:] = [each for each in sys.path if each == ours or not Path(each, "harness", "adapter").exists()]
    sys.path_importer_cache.clear()  # it remembers the finders that those hooks made


def enter_sandbox(*, forks: bool) -> None:
    """Enters what the parent says, and starts anew in it where that names a clock to be loaded."""
    if sandbox := os.environ.pop("COLDWARM_SANDBOX"):
        Sandbox(**json.loads(sandbox)).enter(forks=forks)
    if library := os.environ.pop("COLDWARM_PRELOAD", ""):
        # what the library shares with its children lies in a folder that the sandbox has made this process's own
        os.environ |= {"LD_PRELOAD": library, "COLDWARM_SANDBOX": ""}
        os.execv(sys.executable, [sys.executable, "-m", "harness.backend.worker", *sys.argv[1:]])  # noqa: S606  no shell
    if "LD_PRELOAD" in os.environ:
        _mend_sleep()


def _mend_sleep() -> None:
    """libfaketime before 0.9.11 refuses Python's sleep, which ends at a time of the monotonic clock."""
    try:
        time.sleep(1e-9)
    except OSError:
        time.sleep = _sleep  # type: ignore[assignment]


def _sleep(seconds: float, /) -> None:
    select.select((), (), (), seconds)
