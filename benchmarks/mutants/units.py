"""Mutants of a room against its tests: each is put into a fork of a process that has collected them, cheapest first.

A mutant of a function is told to the tests that run its lines. One of what runs on import (constants, defaults, the
definitions of measures) gets a process that imports all of ours anew.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Self

import hypothesis
import numpy  # noqa: F401  the processes that import ours anew share what is not
import pydantic  # noqa: F401
import pytest

from benchmarks.mutants import forks
from benchmarks.mutants.changes import Module, Mutant
from benchmarks.mutants.forks import Over, Task

ROOT = Path(__file__).parents[2]
OPTIONS = (
    "-q", "--assert=plain", "--tb=no", "--timeout=0", "--no-header", "--no-summary", "-p", "no:randomly", "-p",
    "no:cacheprovider", "-p", "no:xdist", "-m", "not browser and not backend",
)  # fmt: skip
BUSY, CLOCK = 8.0, 90.0
"""Seconds that each test, and all of them by the clock, have beside some times what they take without a change."""
SLOWER = 4
PRIOR = 0.05
"""Kills that every test is thought to have had: first comes what kills most in a second."""
IMPORTED = 120.0
"""Processor seconds of a mutant that is imported anew."""
UNREACHED = "no test runs this line"
Lines = set[tuple[str, int]]
Heard = Callable[[Mutant, str | None], None]
"""Told of each mutant as soon as it is judged, in whatever process that is."""


class Broken(Exception):  # noqa: N818  told to users
    """The tests fail without any change."""


class _Failures:
    """The first test that failed, as a plugin of pytest."""

    def __init__(self) -> None:
        self.first = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.first:
            self.first = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.first:
            self.first = report.nodeid


class _Watch:
    """Which lines of our files run."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files, self.lines = files, Lines()

    def __enter__(self) -> Self:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.files else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.lines.add((self.files[frame.f_code.co_filename], frame.f_lineno))
        return self._line


class _Judge:
    """Plugin that takes the place of pytest's loop: the collected tests against one mutant after the other."""

    def __init__(self, modules: Mapping[str, Module], mutants: Sequence[Mutant], jobs: int, notify: Heard) -> None:
        self.modules, self.mutants, self.jobs, self.heard = modules, mutants, jobs, notify
        self.later: list[int] = []
        self.files: list[str] = []
        self.problem = ""
        self.watch = _Watch({str(module.path): file for file, module in modules.items()})
        self._kills: dict[str, Counter[int]] = defaultdict(Counter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.watch.__exit__()
        try:
            self._all(session.items)
        except Broken as error:
            self.problem = str(error)
        return True

    def _all(self, items: Sequence[pytest.Item]) -> None:
        gc.collect()
        gc.freeze()
        self._live = _live(self.watch.files)
        seen = self._run_each(items)
        costs = [cost for cost, _ in seen]
        touching: dict[tuple[str, int], set[int]] = defaultdict(set)
        for at, (_, lines) in enumerate(seen):
            for file, line in lines:
                touching[file, line].add(at)
        cheapest = sorted(range(len(items)), key=costs.__getitem__)
        self.files = list(dict.fromkeys(os.path.relpath(items[at].path) for at in cheapest))

        def tasks() -> Iterator[tuple[int, Task]]:
            for number, mutant in enumerate(self.mutants):
                if (functions := self._patched(mutant)) is None:
                    self.later.append(number)
                    continue
                file, (first, last) = mutant.key.file, mutant.rows
                reached = set().union(*(touching[file, line] for line in range(first, last + 1)))
                if not reached:
                    self.heard(mutant, UNREACHED)
                    continue
                kills = self._kills[f"{file}:{mutant.key.place}"]
                order = sorted(reached, key=lambda at: -(kills[at] + PRIOR) / costs[at])
                put, took = [items[at] for at in order], [costs[at] for at in order]
                spent = sum(took) * SLOWER
                work = _put_to(mutant, self.modules[file], functions, put, took)
                yield number, Task(work, BUSY + spent, CLOCK + spent * 3)

        places = {item.nodeid: at for at, item in enumerate(items)}
        for number, answer in forks.each(tasks(), self.jobs):
            mutant = self.mutants[number]
            if answer in places:
                self._kills[f"{mutant.key.file}:{mutant.key.place}"][places[answer]] += 1
            self.heard(mutant, answer.why if isinstance(answer, Over) else answer)

    def _run_each(self, items: Sequence[pytest.Item]) -> list[tuple[float, list[tuple[str, int]]]]:
        """What each test costs, and the lines that it runs, in a process of its own: nothing is cached for the next."""

        def run(item: pytest.Item) -> Any:
            began = time.process_time()
            with self.watch:
                failed = _run([item])
            return failed, time.process_time() - began, sorted(self.watch.lines)

        self._imported, self.watch.lines = self.watch.lines, Lines()
        tasks = ((at, Task(lambda item=item: run(item), 300, 600)) for at, item in enumerate(items))  # type: ignore[misc]
        found = dict(forks.each(tasks, self.jobs))
        broken = [items[at].nodeid for at, answer in sorted(found.items()) if isinstance(answer, Over) or answer[0]]
        if broken:
            raise Broken(f"without any change these tests fail: {', '.join(broken[:5])}")
        return [(found[at][1], [(file, line) for file, line in found[at][2]]) for at in range(len(items))]

    def _patched(self, mutant: Mutant) -> list[FunctionType] | None:
        """The live functions that a mutant changes; None: it has to be imported."""
        if mutant.function is None:
            return None
        module, (name, first) = self.modules[mutant.key.file], mutant.function
        code = _find(compile(module.tree, str(module.path), "exec", dont_inherit=True), name, first)
        rows = {line for inner in _within(code) for *_, line in inner.co_lines() if line and line > code.co_firstlineno}
        if any((mutant.key.file, line) in self._imported for line in rows - _heads(code)):
            return None
        return self._live.get((mutant.key.file, name, first)) or None


def _heads(code: CodeType) -> set[int]:
    """A decorated function begins above its `def`, which runs when it is defined."""
    return {line for *_, line in code.co_lines() if line and line == code.co_firstlineno}


def _live(files: Mapping[str, str]) -> Mapping[tuple[str, str, int], list[FunctionType]]:
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            code = each.__code__
            found[files[code.co_filename], code.co_qualname, code.co_firstlineno].append(each)
    gc.freeze()
    return found


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _within(each)


def _find(module: CodeType, name: str, first: int) -> CodeType:
    return next(each for each in _within(module) if (each.co_qualname, each.co_firstlineno) == (name, first))


def _put_to(
    mutant: Mutant, module: Module, functions: Sequence[FunctionType], items: Sequence[pytest.Item], costs: list[float]
) -> Any:
    def work() -> str | None:
        assert mutant.function is not None
        try:
            code = _find(module.compile(mutant), *mutant.function)
            for each in functions:
                each.__code__ = code
        except (SyntaxError, ValueError) as error:
            return f"cannot be: {error}"
        return _run(items, costs)

    return work


def _run(items: Sequence[pytest.Item], costs: Sequence[float] = ()) -> str | None:
    """The first test that fails.

    Args:
        costs: Processor seconds of each without a change; some times that, and what never ends is ended.
    """
    failures = _Failures()
    manager = items[0].config.pluginmanager
    manager.register(failures)
    for at, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
        if costs:
            forks.bound(BUSY + costs[at] * SLOWER)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.first:
            return failures.first
    return None


# --- what runs on import ---


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module changed."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        places = [str(self._path.parent)] if self._path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, self._path, loader=self, submodule_search_locations=places)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def _imported(mutant: Mutant | None, module: Module, files: Sequence[str]) -> Any:
    def work() -> str | None:
        name = module.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        try:
            code = module.compile(mutant)
        except (SyntaxError, ValueError) as error:
            return f"cannot be: {error}"
        sys.meta_path.insert(0, _Changed(name, module.path, code))
        for file in files:
            failures = _Failures()
            with _quiet():
                status = pytest.main([*OPTIONS, "-x", file], plugins=[failures])
            if failures.first or status not in (0, 5):
                return failures.first or file
        return None

    return work


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        yield


def judge(
    modules: Mapping[str, Module],
    mutants: Sequence[Mutant],
    tests: Sequence[str],
    left_out: Iterable[str],
    jobs: int,
    notify: Heard,
) -> None:
    """Tells of each mutant what told it apart: a test, `time` or `died`; None, or `UNREACHED`, where nothing did.

    Those of functions come first, then what has to be imported, after the module itself was. Raises Broken.
    """
    assert not any(name.partition(".")[0] == "harness" for name in sys.modules), "ours has to be imported anew"
    options = [*OPTIONS, *(f"--ignore={each}" for each in left_out)]

    def work() -> Any:
        plugin = _Judge(modules, mutants, jobs, notify)
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), plugin.watch:  # noqa: PTH123
            status = pytest.main([*options, *tests], plugins=[plugin])  # it imports some of ours before it collects
        problem = plugin.problem or ("" if plugin.files else f"pytest ends with {int(status)}")
        return problem, plugin.later, plugin.files

    ((_, answer),) = forks.each([("all", Task(work, 10**6, 10**6))], 1)
    if isinstance(answer, Over) or answer[0]:
        raise Broken(answer.why if isinstance(answer, Over) else answer[0])
    _, later, files = answer
    if later:
        unchanged = Task(_imported(None, modules[mutants[later[0]].key.file], files), IMPORTED, 600)
        ((_, failed),) = forks.each([("unchanged", unchanged)], 1)
        if failed is not None:
            raise Broken(f"without any change, but imported anew, this fails: {getattr(failed, 'why', failed)}")
    kills = Counter[str]()

    def tasks() -> Iterator[tuple[Mutant, Task]]:
        for mutant in (mutants[number] for number in later):
            order = sorted(files, key=lambda file: -kills[file])
            yield mutant, Task(_imported(mutant, modules[mutant.key.file], order), IMPORTED, 600)

    for mutant, found in forks.each(tasks(), jobs):
        killer = found.why if isinstance(found, Over) else found
        kills[str(killer).partition("::")[0]] += 1
        notify(mutant, killer)
