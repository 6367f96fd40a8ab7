"""Node packages by npm: `npm:NAME>=1,<2` among what an adapter needs, resolved to a lock and installed from one.

A lock holds the integrity of every package and no address. Scripts of packages are never run. Peers that packages ask
for are not installed: with them, npm did not resolve claude-mem within six minutes. Nor is what is optional and not in
the registry. Engines are those of the machine's Node, unless a package brings one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from harness.machine import leftovers
from harness.machine.installers import Refused, run

PREFIX = "npm:"
WANTED, LOCK = "package.json", "package-lock.json"
PLAIN = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--no-update-notifier", "--no-color",
         "--loglevel=error")  # fmt: skip
NODE = "node-linux-"
"""A package whose name begins so is Node itself."""
_NAME = re.compile(r"npm:((?:@[\w.-]+/)?[\w.-]+)\s*(.*)")
_TAG = re.compile(r"npm error ?(?:[a-z]\w* )?")
_NO_CAUSE = ("npm error code ", "npm error errno ", "npm error syscall ", "npm error path ")


def read_requirement(text: str) -> tuple[str, SpecifierSet]:
    """Name and releases of `npm:NAME>=1,<2`. Raises InvalidRequirement."""
    if not (parts := _NAME.fullmatch(text)):
        raise InvalidRequirement(text)
    try:
        return parts[1], SpecifierSet(parts[2])
    except InvalidSpecifier as error:
        raise InvalidRequirement(text) from error


def resolve(needed: Iterable[str]) -> str:
    """The lock of packages, each as `npm:NAME==1` or with a range. Raises Refused, also where there is no npm."""
    wanted = {name: " ".join(sorted(map(_spell, allowed))) for name, allowed in map(read_requirement, needed)}
    with leftovers.make_temporary() as folder:
        (folder / WANTED).write_text(json.dumps({"dependencies": wanted}))
        _ask(folder, "install", "--package-lock-only", "--omit-lockfile-registry-resolved", *_check_engines(wanted))
        found = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    found.pop("name", None)  # that of the folder
    there = {_name(place) for place in found["packages"]}
    for each in found["packages"].values():
        if optional := each.get("optionalDependencies"):  # npm leaves out what it did not find, and misses it then
            each["optionalDependencies"] = {name: limit for name, limit in optional.items() if name in there}
    return json.dumps(found, indent=1) + "\n"


def _spell(limit: Specifier) -> str:
    # npm writes one exact version without a sign
    return str(limit).removeprefix("==")


def is_lock(text: str) -> bool:
    """Whether it is a lock of ours, not one of uv's."""
    return text.startswith("{")


def install(lock: str, folder: Path) -> tuple[str, ...]:
    """Fills `node_modules` of the folder, and says what is in it then, as npm:NAME==VERSION. Raises Refused."""
    packages = json.loads(lock)["packages"]
    # `npm ci` refuses a lock that does not fit the package beside it
    (folder / WANTED).write_text(json.dumps(packages[""]))
    (folder / LOCK).write_text(lock, encoding="utf-8")
    _ask(folder, "ci", *_check_engines(map(_name, packages)))
    # a link has no version of its own, and the empty place is the folder itself
    names = ((_name(place), each) for place, each in packages.items() if place)
    return tuple(sorted({f"{PREFIX}{name}=={each['version']}" for name, each in names if not each.get("link")}))


def _name(place: str) -> str:
    return place.rpartition("node_modules/")[2]


def _check_engines(names: Iterable[str]) -> tuple[str, ...]:
    return () if any(each.startswith(NODE) for each in names) else ("--engine-strict",)


def list_releases(name: str) -> list[Version]:
    """All that the registry has, but for those before a release, the oldest first. Raises Refused."""
    with leftovers.make_temporary() as folder:
        releases = json.loads(_ask(folder, "view", name, "versions", "--json"))
    found = list[Version]()
    # npm prints the version of a package that has only one as a string
    for each in [releases] if isinstance(releases, str) else releases:
        # not every version of npm is one by the rules of Python's packages
        with suppress(InvalidVersion):
            found.append(Version(each))
    return sorted(each for each in found if not each.is_prerelease)


def _ask(folder: Path, *command: str) -> str:
    program = shutil.which("npm")
    if program is None or shutil.which("node") is None:
        raise Refused("it takes Node.js with npm, which are not on PATH: install Node.js 20 or newer")
    code, printed, complaint = run(program, *command, *PLAIN, cwd=folder)
    if code:
        raise Refused(_shorten(complaint) or f"npm ended with {code}")
    return printed


def _shorten(complaint: str) -> str:
    """Its first two lines that name a cause."""
    lines = [line for line in complaint.splitlines() if line.startswith("npm error") and not line.startswith(_NO_CAUSE)]
    return " ".join(_TAG.sub("", line, count=1).strip() for line in lines[:2])[:400]
