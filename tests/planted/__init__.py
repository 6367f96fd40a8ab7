"""Backends with one believable bug each, to prove that the measures see it: `coldwarm selftest measures` plays them.

Every class below is a fault that says in its docstring what is wrong, and in `must` which measures have to flag it.
"""

from harness.machine.sandbox import degree
from tests.planted import (
    alike,
    bounds,
    cheating,
    deletion,
    failing,
    fields,
    isolation,
    keeping,
    lasting,
    prying,
    recall,
    scopes,
    seeming,
)
from tests.planted import bytes as places
from tests.planted.base import Planted

MODULES = (
    keeping,
    recall,
    deletion,
    isolation,
    lasting,
    seeming,
    places,
    scopes,
    bounds,
    fields,
    alike,
    cheating,
    failing,
    *([prying] if degree() != "module path only" else []),
)
FAULTS: tuple[type[Planted], ...] = tuple(
    fault
    for module in MODULES
    for fault in vars(module).values()
    if isinstance(fault, type) and issubclass(fault, Planted) and fault.__module__ == module.__name__
)
"""In the order of their modules."""
