"""Names -> adapters, by entry points or `module:Class`. Nothing of an adapter is imported here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points

from packaging.version import InvalidVersion, Version

from harness.model.trial import SECRET, Spec

PYTHON = "python"
"""The setting that no adapter reads: the interpreter that its child runs in."""
MAPPED = "mcp"
"""The adapter of every server that a mapping file describes: the row may be called as the server is."""
ADAPTERS, CONTROLS = "coldwarm.adapters", "coldwarm.controls"
ORACLES = ("oracle", "stale_oracle")
"""The controls that need gold: they live in the harness, and no adapter stands behind their names."""


class RegistryError(Exception):
    """A backend that nobody knows: which, and what was probably meant."""


@dataclass(frozen=True)
class AdapterEntry:
    """An adapter: where it is found, and whether it is a control. `reference` is None for a control with gold."""

    name: str
    reference: str | None
    control: bool


def list_adapters() -> Mapping[str, AdapterEntry]:
    """All registered names, the controls with gold included."""
    found = {name: AdapterEntry(name, None, control=True) for name in ORACLES}
    for group in (ADAPTERS, CONTROLS):
        for point in entry_points(group=group):
            found[point.name] = AdapterEntry(point.name, point.value, control=group == CONTROLS)
    return dict(sorted(found.items()))


def find(spec: Spec) -> AdapterEntry:
    """The entry that a spec names; `module:Class` needs no registration."""
    name, _, reference = spec.adapter.rpartition("=")
    if ":" in reference:
        return AdapterEntry(name or reference, reference, control=False)
    entries = list_adapters()
    if name and reference == MAPPED in entries:
        return replace(entries[reference], name=name)
    if spec.adapter not in entries:
        near = difflib.get_close_matches(reference, entries, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(entries)}"
        raise RegistryError(f"backend '{spec.adapter}' is not known; {hint} (module:Class works too)")
    return entries[spec.adapter]


def parse(text: str) -> Spec:
    """`mem0`, `mem0@2.0.4`, `mem0,store=faiss`, `mine=module:Class` or `mine=mcp@1.2`: a name, the release for which an
    environment is made, then settings that differ from the defaults; `python` is the interpreter, for every backend."""
    name, *settings = text.split(",")
    name, pinned, release = name.partition("@")
    pairs = [setting.partition("=") for setting in settings]
    if not name or any(not key or not equals for key, equals, _ in pairs):
        raise RegistryError(f"backend '{text}' is not of the form NAME, NAME@VERSION or NAME,key=value,...")
    try:
        # spelt in one way, as v2.0.4 and 2.0.4 are one release
        release = str(Version(release)) if pinned else ""
    except InvalidVersion:
        raise RegistryError(f"backend '{text}': '{release}' is no version, as 2.0.4 is") from None
    alias, equals, reference = name.partition("=")
    if equals and (not alias or (":" not in reference and reference != MAPPED)):
        raise RegistryError(
            f"backend '{text}' is not of the form NAME=module:Class: only that and {MAPPED} get another name"
        )
    if equals and alias in list_adapters():
        raise RegistryError(f"backend '{text}': a backend is called '{alias}' already; choose another name")
    given = {key: value for key, _, value in pairs}
    keys = [key for key, _, _ in pairs]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise RegistryError(f"backend '{name}': the setting {twice[0]} is given twice; give it once")
    if given.get(PYTHON) == "":
        raise RegistryError(f"backend '{text}': python= names no interpreter: give a path, or leave it out")
    return Spec(adapter=name, python=given.pop(PYTHON, None), settings=given, release=release, pinned=bool(pinned))


def parse_allowance(text: str) -> tuple[str, int]:
    """Backend and how many of its calls may fail; a label may hold an equal sign itself. Raises ValueError."""
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal():
        raise ValueError(f"--allow-faults {text}: say NAME=COUNT, as in mem0=12")
    return name, int(count)


def redact(argument: str) -> str:
    """A command line argument as it may be written down: no secret of a backend's settings stands in it."""
    parts = [part.partition("=") for part in argument.split(",")]
    return ",".join(
        f"{key}=[redacted]" if equals and SECRET.search(key) else key + equals + value for key, equals, value in parts
    )


def check_settings(spec: Spec, known: Sequence[str], problem: str = "") -> None:
    """A setting that the adapter does not read would only change its label.

    Args:
        problem: A value that it does not know.
    """
    for name in sorted(set(spec.settings) - set(known)):
        raise RegistryError(f"backend '{spec.adapter}' has no setting '{name}'; known: {', '.join(known) or 'none'}")
    if problem:
        raise RegistryError(f"backend '{spec.adapter}': {problem}")
