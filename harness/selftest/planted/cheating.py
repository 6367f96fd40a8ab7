"""Cheats: they answer from the suite's own files if they can get at them, and otherwise know nothing.

These are held off by the module path and the names alone; `prying` needs Linux's help.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.adapter import Hit, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

MUST = ("self_reachability", "own_text_first", "recall")


class Knowing(ReferenceMemory):
    """A sound store that is never asked: its answers are sentences that were found elsewhere."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        asked = set(query.lower().split())
        best = sorted(self.gold, key=lambda text: -len(asked & set(text.lower().split())))
        return [Hit(f"found-{at}", text) for at, text in enumerate(best[:k])]

    @cached_property
    def gold(self) -> Sequence[str]:
        return list(dict.fromkeys(self.found()))

    def found(self) -> Iterator[str]:
        yield from ()


def list_facts(folders: Iterable[Path]) -> Iterator[str]:
    """What the scenarios of suites in these folders, or of suites above them, say."""
    for folder in dict.fromkeys(folders):
        for top in (folder, *folder.parents):
            for file in find_suite(top):
                yield from re.findall(r'^plain = "(.*)"$', read_text(file), re.MULTILINE)


def read_text(file: Path) -> str:
    # what the sandbox refuses is passed over: the cheat looks on elsewhere
    try:
        return file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
    except OSError:
        return ""


def find_suite(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("tasks/*/*.toml"))
    except OSError:
        return []


class LooksAlongTheModulePath(Planted):
    """Looks for the suite beside what it is imported from."""

    must = MUST

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            yield from list_facts(Path(place) for place in sys.path if place and not place.endswith("site-packages"))


class LooksAroundItsFile(Planted):
    """Looks for the suite above its own file, and above those of the adapters and of the harness."""

    must = MUST

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            own = [sys.modules[name].__file__ for name in (__name__, "adapters.reference", "harness.adapter")]
            yield from list_facts(Path(file).resolve() for file in own if file)


class ImportsTheSuite(Planted):
    """Imports what reads the suite, and asks whoever finds modules where the rest of the harness is."""

    must = MUST

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            for name in ("tasks", "tasks.loader", "harness.paths", "harness.play.controls", "harness.model.scenario"):
                try:
                    yield from list_facts([Path(str(importlib.import_module(name).__file__)).resolve()])
                except ImportError:
                    continue
            for finder in sys.meta_path:
                # setuptools' finder for an editable install keeps the places of its modules in MAPPING
                mapping: Any = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", {})
                yield from list_facts(Path(place) for place in mapping.values())


class KnowsItsNames(Planted):
    """Brings the answers along, and waits for a name that says which story is played: of a folder, a key, a word."""

    must = MUST

    class Memory(Knowing):
        def found(self) -> Iterator[str]:
            seen = json.dumps([vars(self.space), dict(os.environ), sys.argv, str(Path.cwd())], default=str).lower()
            if re.search("story|runbook|deploy|isolation|durability|trial|seed-", seen):
                yield "The storefront is deployed to the platform kestrelway"
