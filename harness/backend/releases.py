"""Which releases of a package there are, as far as uv and npm can tell: none that was withdrawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from packaging.requirements import Requirement
from packaging.version import Version

from harness.machine import npm, uv
from harness.machine.installers import Refused

PLAIN = ("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
SHOWN = 5
"""Releases that are named where the one that was asked for does not exist."""


def is_unknown(requirement: str, complaint: str) -> bool:
    """Whether uv or npm said that there is no such release, and nothing else."""
    name, _, release = requirement.removeprefix(npm.PREFIX).partition("==")
    plain, wanted = re.escape(name.partition("[")[0]), re.escape(release)
    pattern = rf"no version of {plain}(\[.*\])?=={wanted}|version found for {plain}@{wanted}"
    return re.search(pattern, complaint) is not None


def offer(requirement: str, python: str) -> str:
    """The newest releases that a requirement allows, in words."""
    try:
        found = list(islice(descend(requirement, python), SHOWN))
    except Refused as error:
        return f"which releases there are cannot be asked: {error}"
    return f"its newest releases are {', '.join(found)}" if found else "no release of it can be had"


def descend(requirement: str, python: str, above: str = "", below: str = "") -> Iterator[str]:
    """The releases that a requirement allows, the newest first. Raises Refused where they cannot be asked.

    Args:
        python: The interpreter that is to run them.
    """
    if requirement.startswith(npm.PREFIX):
        yield from _descend_node(requirement, above, below)
        return
    own = Requirement(requirement)
    # uv lists no releases: each is the newest below the last one
    while True:
        bounds = [f">{above}" if above else "", f"<{below}" if below else "", str(own.specifier)]
        newest = own.name + ",".join(filter(None, bounds))
        try:
            printed = uv.ask("pip", "compile", "--no-deps", *PLAIN, "--python", python, "-", told=newest)
        except Refused as error:
            if "Because " in str(error):  # there is none
                return
            raise
        below = printed.strip().partition("==")[2].partition(" ")[0]
        yield below


def _descend_node(requirement: str, above: str, below: str) -> Iterator[str]:
    name, allowed = npm.read_requirement(requirement)
    for each in reversed(npm.list_releases(name)):
        inside = (not above or Version(above) < each) and (not below or each < Version(below))
        if inside and allowed.contains(each):
            yield str(each)
