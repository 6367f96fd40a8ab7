"""The modules of a package that define something, so that a new one is a file and a line nowhere else."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType


def find_defining(name: str, package: str, path: Iterable[str]) -> list[ModuleType]:
    """By the names of the modules; sub-packages are not looked into.

    Args:
        name: What each of them defines.
    """
    return [module for module in import_all(package, path) if hasattr(module, name)]


def import_all(package: str, path: Iterable[str]) -> list[ModuleType]:
    """The modules of a package, by their names; sub-packages are not looked into."""
    names = sorted(each.name for each in pkgutil.iter_modules(path) if not each.ispkg)
    return [import_module(f"{package}.{each}") for each in names]
