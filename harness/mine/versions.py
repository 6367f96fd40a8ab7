"""Releases that are no facts: which one of a package it is, not what the project runs on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

RELEASE = re.compile(
    r"^(?:chore|build|release)?[(:\s\w)]*\b(?:bump(?:ed|s)?|release[ds]?|prepare)\b|^v?\d+\.\d+", re.IGNORECASE
)
VERSION = re.compile(r"[\^~<>=v! ]*\d+(?:\.(?:\d+|x|\*))+[\w.+-]*")
_RELEASED = re.compile(r"\d+\.\d+\.\d+")
_ACTION = re.compile(r"[\w.-]+(?:/[\w.-]+)+@\S+")
"""A step of a CI file, whatever it is called: not what the project runs on."""
PIN = re.compile(r"(?P<name>[\w./@:-]+?)(?:[=~<>!]=|@v?|:v?)[\w.*^~-]+")
RUNTIME = re.compile(
    r"python|node|ruby|php|(?<![a-z])java(?!format|script|doc)|jdk|rust|msrv|edition|golang|\bgo\b|ubuntu|debian|alpine|macos|windows|engines|"
    r"runs-on|\bos\b|\bfrom\b|protocol|schema|(?<![a-z])(?:open)?api|minimum|require[sd]|target",
    re.IGNORECASE,
)
"""What of a version is a decision of the project: what it runs on and speaks, not which release of it this is."""
_PACKAGE = re.compile(r"([\w.-]+)\.version")
"""A property of a build that names the release of a package, whatever the package is called."""
_MAJORS = re.compile(r"node|jdk|jre|java(?!script)", re.IGNORECASE)
"""What is told apart by the first number of its release."""
_RUNS = re.compile(r"(?:^|[.-])(?:java|jdk|node|npm|python|go|ruby|php|rust|kotlin|scala|gradle|maven)$", re.IGNORECASE)
_PATCH = re.compile(r"(\d+\.\d+)\.\d+")
_NUMBERED = re.compile(r"_*(?:[a-z]+_)?version(?:_(?:info|name|code))?_*", re.IGNORECASE)
"""What holds the number of the next release."""
_REQUIREMENT = re.compile(r"[=<>~^]=?\s*\d")
_LOOSE = ("latest", "next", "*")


def skip_version(old: str, new: str, what: str, subject: str) -> str | None:
    """Why nobody needs to know which release of something it is."""
    if _is_listed(old, new, what):
        return "pin of a dependency"
    if _NUMBERED.fullmatch(what) or _is_small(old, new) or _is_own_image(what, old, new):
        return "version bump"
    if (package := _PACKAGE.fullmatch(what)) and not _RUNS.search(package[1]):
        return "pin of a dependency"
    if RUNTIME.search(what) and not re.search("dependenc", what, re.IGNORECASE):
        return "version bump" if _MAJORS.search(what) and _is_same_major(old, new) else None
    if VERSION.fullmatch(old) and VERSION.fullmatch(new):
        return "version bump" if RELEASE.search(subject) or "version" in what.lower() else "pin of a dependency"
    pinned = _find_pinned(old, new)
    if (pinned and not RUNTIME.search(pinned)) or (VERSION.fullmatch(old) and new in _LOOSE):
        return "pin of a dependency"
    return "version bump" if _RELEASED.search(old) and _RELEASED.sub("", old) == _RELEASED.sub("", new) else None


def _find_pinned(old: str, new: str) -> str:
    """What two pins have in common; empty: nothing."""
    pins = PIN.fullmatch(old), PIN.fullmatch(new)
    return pins[0]["name"] if pins[0] and pins[1] and pins[0]["name"] == pins[1]["name"] else ""


def _is_listed(old: str, new: str, what: str) -> bool:
    """Whether it is a step of a CI file, or what a list of packages requires."""
    if _ACTION.fullmatch(old) and _ACTION.fullmatch(new):
        return what == "uses" or old.split("@")[0] == new.split("@")[0]
    required = "[" in new and _REQUIREMENT.search(new)
    return bool(("[" in old and _REQUIREMENT.search(old)) or (VERSION.fullmatch(old) and required))


def _is_small(old: str, new: str) -> bool:
    """Whether two releases of one thing differ beyond the second number only."""
    if _is_patch(old, new) or (PIN.fullmatch(old) and _PATCH.sub(r"\1", old) == _PATCH.sub(r"\1", new)):
        return True
    return bool(_find_pinned(old, new)) and _is_patch(old.rpartition(":")[2], new.rpartition(":")[2])


def _is_same_major(old: str, new: str) -> bool:
    """Whether two whole versions begin with the same number."""
    whole = (_RELEASED.search(old), _RELEASED.search(new))
    return all(whole) and len({each[0].split(".")[0] for each in whole if each}) == 1


def _is_own_image(what: str, old: str, new: str) -> bool:
    """Whether it is a release of an image that is neither a system nor a language."""
    image = _find_pinned(old, new).rpartition("/")[2]
    tags = [each.rpartition(":")[2] for each in (old, new)]
    released = all(re.search(r"\d+\.\d+", tag) for tag in tags)
    return what.upper() == "FROM" and bool(image) and released and not RUNTIME.search(image)


def _is_patch(old: str, new: str) -> bool:
    """Whether two versions differ beyond the second number only, or one of them ends there."""
    if old.removesuffix(".x") == new.removesuffix(".x"):
        return True
    a, b = (re.fullmatch(r"[\^~<>=v! ]*(\d+\.\d+)(?:\.\d[\w.+-]*)?", each) for each in (old, new))
    return a is not None and b is not None and a[1] == b[1]


def is_counted(what: str, values: Sequence[str]) -> bool:
    """Whether something is numbered anew with each change, as a schema: three numbers in a row, one up each."""
    # what a project runs on goes up by one as well
    if len(values) < 3 or not re.search("version|revision", what, re.IGNORECASE) or _RUNS.search(what):
        return False
    return all(a.isdecimal() and b.isdecimal() and int(b) - int(a) == 1 for a, b in itertools.pairwise(values))
