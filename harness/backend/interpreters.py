"""Other interpreters in which backends run: what they are, and what a backend's label says of them."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial

from harness.backend import client, environments, registry
from harness.backend.client import MemoryFault
from harness.backend.forkserver import Launcher, spawn
from harness.backend.python import Interpreter, find
from harness.backend.registry import RegistryError
from harness.machine import extras, leftovers
from harness.model.trial import Spec

_ABSENT = re.compile(r"raised in \w+: RuntimeError: (\S+ is not installed; .*)", re.DOTALL)
"""No fault of its: the adapter says what it lacks."""
_RELEASE = re.compile(r"v?(\d[\w.!+-]*)")


def find_interpreter(spec: Spec) -> str:
    """The interpreter of a spec: that of its environment, made if need be, or the one that it names, else ours.

    Raises RegistryError, and MemoryFault for an environment that cannot be made.
    """
    if spec.pinned:
        return environments.get_environment(spec).python
    return find(spec.python).path if spec.python else sys.executable


def make_launcher(spec: Spec, launch: Launcher = spawn) -> Launcher:
    """Starts children in the interpreter of the spec. Raises as `find_interpreter` does."""
    return partial(launch, python=find_interpreter(spec)) if spec.python or spec.pinned else launch


def show(spec: Spec) -> Mapping[str, str]:
    """The settings as they may be written down, which Python it is, if not ours, and what is installed there."""
    if spec.pinned:
        found = environments.get_environment(spec)
        return {**spec.shown, registry.PYTHON: found.made.python, "lock": found.digest[:16]}
    return {**spec.shown, registry.PYTHON: find(spec.python).shown} if spec.python else spec.shown


def explain_missing(spec: Spec, fault: MemoryFault) -> str:
    """What a backend said that cannot be had: what to install here, or in which interpreter it is missing."""
    absent = _ABSENT.fullmatch(str(fault))
    reason = absent[1] if absent else str(fault)
    if spec.python and not spec.pinned:
        return f"{reason} (in its own interpreter, Python {find(spec.python).version})"
    return extras.spell_out(reason)


def name_releases(specs: Iterable[Spec]) -> tuple[Spec, ...]:
    """The specs, and of each with an interpreter of its own, which release of its backend that one has.

    The release is what the adapter says there; `py3.12.1` where it cannot say. Where different interpreters have the
    same, their own version follows it; where that is the same too, what tells their packages apart. A release that was
    asked for is what it is, and its Python follows it if one was named. Raises RegistryError, also for two
    interpreters that nothing tells apart.
    """
    unnamed = [
        (spec, find(spec.python), _release(spec))
        if spec.python and not spec.pinned
        else (_name_release(spec), None, "")
        for spec in specs
    ]
    alike: dict[str, dict[str, Interpreter]] = defaultdict(dict)
    for spec, interpreter, release in unnamed:
        if interpreter:
            # by its path, so that one that is named twice is not told from itself
            alike[_make_spec(spec, release).label][interpreter.path] = interpreter
    return tuple(
        _make_spec(
            spec, release + _distinguish(interpreter, alike[_make_spec(spec, release).label], spec), interpreter.path
        )
        if interpreter
        else spec
        for spec, interpreter, release in unnamed
    )


def restore_interpreter(spec: Spec, python: str | None) -> Spec:
    """A spec that was written down, with its interpreter where there is one. RegistryError: it has another release."""
    if not spec.release:
        return spec
    if spec.pinned:
        return spec.model_copy(update={"python": python or environments.split(spec.release)[1]})
    if not python:
        raise RegistryError(f"backend '{spec.label}' ran in an interpreter of its own: name it again with -b")
    found = spec.model_copy(update={"python": python})
    # with a dash behind both, so that 1.1 does not begin 1.10
    if not f"{spec.release}-".startswith(f"{_release(found)}-"):
        raise RegistryError(f"backend '{spec.label}': {python} has the release {_release(found)} now")
    return found


def _name_release(spec: Spec) -> Spec:
    if not spec.pinned or not spec.python:
        return spec
    version = spec.python if environments.is_version(spec.python) else find(spec.python).version
    return _make_spec(spec, f"{spec.release}-py{version}")


def _make_spec(spec: Spec, release: str, python: str | None = None) -> Spec:
    return spec.model_copy(update={"release": release, "python": python or spec.python})


def _distinguish(own: Interpreter, others: Mapping[str, Interpreter], spec: Spec) -> str:
    """What tells an interpreter from those that have the same release, itself among them."""
    versions, identities = [[getattr(each, name) for each in others.values()] for name in ("version", "identity")]
    if identities.count(own.identity) > 1:
        raise RegistryError(f"backend '{spec.adapter}': two of its interpreters have the same version and packages")
    if len(others) == 1:
        return ""
    return f"-py{own.version}" if versions.count(own.version) == 1 else f"-{own.identity[:7]}"


def _release(spec: Spec) -> str:
    entry = registry.find(spec)
    if entry.reference is None:
        raise RegistryError(f"backend '{spec.adapter}' is a control without an adapter: it has no interpreter")
    try:
        with leftovers.make_temporary() as home:
            description = client.describe(
                entry.reference, home / "home", launch=make_launcher(spec), settings=spec.settings
            )
        release = _RELEASE.match(description.version)
    except MemoryFault:  # why is told where it is to be played
        release = None
    return release[1] if release else f"py{find(spec.python or sys.executable).version}"
