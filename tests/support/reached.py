"""The files of the checkout that may decide how a test ends. What is in doubt is among them.

What plays always is: a child process, an adapter or a reader is found by a name that no import tells. Of the rooms
above it, a test reaches what it imports, at the top or later, directly or not, what a text in it imports or names like
a module (`python -m harness`), and the data beside them. Of what stands beside the packages it reaches what one of its
texts names.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

from harness.play import sources

ALWAYS = (
    *sources.PLAYS, "harness/agents", "adapters", "fixtures", "tasks", "pyproject.toml", "setup.py",
    "requirements.lock", "installer.lock", "letta.lock", "local.lock",
)  # fmt: skip
PACKAGES = ("adapters", "benchmarks", "harness", "tasks", "tests")
GOLDEN = "tests/golden"
OWN = "tests/support/reached.py"
_MODULE = re.compile(rf"(({'|'.join(PACKAGES)})(\.\w+)+|benchmarks|harness)(?=\.?(:\w*)?$)")
_IMPORT = re.compile(rf"(?:from|import) (({'|'.join(PACKAGES)})(\.\w+)*)(?: import ((?:\w+(?: as \w+)?, *)*\w+))?")
"""A line of a program that a text holds."""
_SCANS = "harness.machine.modules"
"""Whoever imports it also imports modules of its own folder that nobody names."""
_ALL = "ls-files"
"""A text with which all of the checkout is looked through."""


class Named(NamedTuple):
    """What a file names: other files of ours, and what its texts begin with."""

    files: frozenset[str]
    words: frozenset[str]


class Checkout:
    """A checkout as git knows it, with what nobody has added yet. Raises OSError or CalledProcessError without git."""

    def __init__(self, root: Path) -> None:
        self.root = root
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
        self.files = sorted(each for each in {*listed.split("\0")} if each and (root / each).is_file())
        self._paths = {*self.files, *(str(each) for file in self.files for each in Path(file).parents if each.name)}
        self._named = dict[str, Named]()

    def find_reached(self, test: str, apart: Iterable[str] = ()) -> list[str]:
        """Those of a test module.

        Args:
            apart: Folders on which it asserts nothing, though it imports or names them.
        """
        folders = [str(each) for each in Path(test).parents]
        imported = self._follow([test, *(f"{each}/conftest.py" for each in folders)])
        words = {word for each in imported for word in self._list_named(each).words}
        if any(each.startswith("harness/report/") for each in imported) and not lies_in("harness/report", apart):
            words.add("reports/templates")
        beside = [""] if _ALL in words else [each for each in words if each.partition("/")[0] in self._beside]
        kept = (*beside, *([GOLDEN] if any("golden" in word.split("/") for word in words) else []))
        able = [file for file in self.files if file == test or not lies_in(file, apart)]
        rooms = {_find_room(each) for each in imported}
        sure = imported | self._always
        return [file for file in able if file in sure or lies_in(file, kept) or _is_data(file, rooms)]

    @cached_property
    def _always(self) -> frozenset[str]:
        return frozenset(file for file in self.files if lies_in(file, ALWAYS))

    @cached_property
    def _beside(self) -> frozenset[str]:
        """What stands at the top, but the packages."""
        return frozenset({each.partition("/")[0] for each in self.files} - {*PACKAGES})

    def _follow(self, files: Iterable[str]) -> set[str]:
        """Some modules with all of ours that they reach."""
        found, waiting = set[str](), [file for file in files if (self.root / file).is_file()]
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                waiting += self._list_named(file).files
        return found

    def _list_named(self, file: str) -> Named:
        if file not in self._named:
            self._named[file] = self._read(file)
        return self._named[file]

    def _read(self, file: str) -> Named:
        place = Path(file).parent
        package, modules, wholes, words = ".".join(place.parts), set[str](), set[str](), set[str]()
        source, tests = (self.root / file).read_text("utf-8"), file.startswith("tests/") and file != OWN
        nodes = [*ast.walk(ast.parse(source))]
        said = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}  # docstrings read nothing
        pieces = {id(piece) for each in nodes if isinstance(each, ast.JoinedStr) for piece in each.values}
        for node in nodes:
            if isinstance(node, ast.Import):
                modules |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
                modules |= {f"{module}.{each.name}" for each in node.names}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                if tests:
                    words.add(self._find_path(node.value, whole=id(node) not in pieces))
                if tests and (named := _MODULE.match(node.value)):
                    wholes.add(named[0])
                for found in _IMPORT.finditer(node.value) if tests else ():
                    modules |= {found[1], *(f"{found[1]}.{each.split()[0]}" for each in (found[4] or "_").split(","))}
                    if id(node) in pieces and not found[4]:
                        wholes.add(found[1])
        scanned = (self.root / place).glob("*.py") if any(each.startswith(_SCANS) for each in modules) else ()
        files = {*scanned, *(each for name in modules | wholes for each in self._find(name))}
        files |= {each for name in wholes for each in self.root.joinpath(*name.split(".")).rglob("*.py")}
        return Named(frozenset(str(each.relative_to(self.root)) for each in files), frozenset(words))

    def _find_path(self, text: str, *, whole: bool) -> str:
        """What a text names of the checkout; of one that is a piece, or a pattern, the folder at the top."""
        path, top = text.rstrip("/"), text.partition("/")[0]
        if path in self._paths or lies_in(path, [GOLDEN]) or (whole and "*" not in text and "/" in text):
            return path
        return top

    def _find(self, module: str) -> Iterator[Path]:
        """A module's file, and those of the packages around it, which are imported before it."""
        parts = module.split(".")
        if parts[0] in PACKAGES:
            for depth in range(1, len(parts) + 1):
                place = self.root.joinpath(*parts[:depth])
                yield from filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py")))


def _is_data(file: str, rooms: Collection[str]) -> bool:
    """Whether it is no module, and lies where modules of these rooms read it."""
    ours = file.partition("/")[0] in PACKAGES and not file.startswith(GOLDEN) and not file.endswith(".py")
    return ours and _find_room(file) in rooms


def _find_room(file: str) -> str:
    """`harness/selftest` of all that lies below it, `tests/unit/report` likewise, else the folder."""
    parts = Path(file).parent.parts
    return "/".join(parts[: 3 if parts[:1] == ("tests",) else 2])


def lies_in(file: str, names: Iterable[str]) -> bool:
    return any(not name or file == name or file.startswith(f"{name}/") for name in names)
