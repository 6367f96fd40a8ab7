"""Backends with one believable bug each, to prove that the measures see it: `coldwarm selftest measures` plays them.

Every class below is a fault that says in its docstring what is wrong, and in `must` which measures have to flag it.
"""

from tests.planted import deletion, isolation, keeping, lasting, recall
from tests.planted.base import Planted

FAULTS: tuple[type[Planted], ...] = tuple(
    fault
    for module in (keeping, recall, deletion, isolation, lasting)
    for fault in vars(module).values()
    if isinstance(fault, type) and issubclass(fault, Planted) and fault is not Planted
)
"""In the order of their modules."""
