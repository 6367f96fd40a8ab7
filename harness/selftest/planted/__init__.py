"""Backends with one believable bug each, to prove that the measures see it: `coldwarm selftest measures` plays them.

Every class below is a fault that says in its docstring what is wrong, and in `must` which measures have to flag it.
"""
