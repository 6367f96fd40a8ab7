"""Backends with one believable bug each, to prove that the measures see it: `coldwarm selftest measures` plays them.

Every class of a module here is a fault (`harness/selftest/faults.py` finds it), but for those that begin with an
underscore. It says in its docstring what is wrong, and in `must` which measures have to flag it.
"""
