"""Every planted fault, in the order of its module."""

from __future__ import annotations

from harness.machine.containment import degree
from harness.selftest.planted import (
    ageing,
    alike,
    bounds,
    bursting,
    cheating,
    damage,
    dates,
    deletion,
    derived,
    detours,
    failing,
    fields,
    isolation,
    keeping,
    lasting,
    naming,
    prying,
    ranking,
    recall,
    repeating,
    reported,
    scopes,
    sealed,
    seeming,
    slow,
    switching,
    upgrading,
)
from harness.selftest.planted import bytes as places
from harness.selftest.planted.base import Planted

MODULES = (
    keeping,
    recall,
    deletion,
    detours,
    isolation,
    lasting,
    naming,
    reported,
    sealed,
    seeming,
    places,
    scopes,
    bounds,
    fields,
    damage,
    dates,
    alike,
    cheating,
    failing,
    upgrading,
    bursting,
    switching,
    repeating,
    ageing,
    ranking,
    slow,
    derived,
    *([prying] if degree() != "module path only" else []),
)
FAULTS: tuple[type[Planted], ...] = tuple(
    fault
    for module in MODULES
    for fault in vars(module).values()
    if isinstance(fault, type) and issubclass(fault, Planted) and fault.__module__ == module.__name__
    if not fault.__name__.startswith("_")
)
