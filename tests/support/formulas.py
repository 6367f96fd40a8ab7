"""What the value of a measure is computed by, as a digest.

`make golden` writes the table anew.

A digest is over the syntax of a measure's function and of everything of ours that it names: functions, constants, the
fields of classes, and their methods by the names of the attributes that are read. Docstrings, annotations, comments,
formatting and the module that something stands in do not count.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache, cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from harness import metrics
from harness.metrics import trust
from harness.metrics.metric import Metric

_SHOWN = {"definition", "words"}
"""How a measure is called and shown, which computes nothing."""
_IDLE = {"annotation", "ctx", "decorator_list", "kind", "name", "returns", "type_comment", "type_params"}
TABLE = Path(__file__).parents[1] / "golden" / "formulas.json"
Table = dict[str, dict[str, Any]]


@cache
def table() -> Table:
    """Measure -> its version and the digest of its formula."""
    known: list[Metric[Any]] = [*metrics.METRICS, *trust.METRICS]
    return {
        each.definition.name: {"version": each.definition.version, "formula": digest(_computing(each))}
        for each in sorted(known, key=lambda each: each.definition.name)
    }


def changed(old: Table, new: Table) -> list[str]:
    """Measures whose formula is another one under the same version."""
    return [
        name
        for name, entry in new.items()
        if name in old and entry["version"] == old[name]["version"] and entry["formula"] != old[name]["formula"]
    ]


def _computing(measure: Metric[Any]) -> tuple[Any, ...]:
    """The function, and what decides whether it is asked."""
    return tuple(getattr(measure, field.name) for field in fields(measure) if field.name not in _SHOWN)


def digest(measure: Any) -> str:
    formula = _Formula()
    formula.follow(measure)
    formula.close()
    return hashlib.sha256(json.dumps(sorted(formula.parts)).encode()).hexdigest()[:16]


class _Formula:
    """The syntax and the constants that a function is made of, as far as they are ours."""

    def __init__(self) -> None:
        self.parts: set[str] = set()
        self._functions: set[FunctionType] = set()
        self._classes: set[type] = set()
        self._read: set[str] = set()

    def follow(self, thing: Any) -> None:
        thing = _unwrapped(thing)
        if isinstance(thing, FunctionType | type):
            if (thing.__module__ or "").partition(".")[0] != "harness":
                return
            if isinstance(thing, FunctionType) and thing not in self._functions:
                self._functions.add(thing)
                self._function(thing)
            elif isinstance(thing, type) and thing not in self._classes:
                self._classes.add(thing)
                self._class(thing)
        elif isinstance(thing, partial | Mapping | tuple):
            for part in _split(thing):
                self.follow(part)
        elif isinstance(thing, str | int | float | bytes | frozenset | None):
            self.parts.add(repr(sorted(map(repr, thing)) if isinstance(thing, frozenset) else thing))

    def close(self) -> None:
        """Adds the methods of the classes that were met, by the attributes that are read."""
        before = -1
        while before != len(self.parts):
            before = len(self.parts)
            for kind in list(self._classes):
                for name in self._read & vars(kind).keys():
                    self.follow(vars(kind)[name])

    def _class(self, kind: type) -> None:
        annotated = vars(kind).get("__annotations__", {})
        self.parts.add(f"{kind.__qualname__}: {sorted(annotated)}")
        self._annotated(annotated, vars(sys.modules[kind.__module__]))

    def _function(self, function: FunctionType) -> None:
        self.parts.add(_syntax(sys.modules[function.__module__], function.__code__))
        self.follow(function.__defaults__ or ())
        self.follow(tuple(cell.cell_contents for cell in function.__closure__ or ()))
        self._annotated(function.__annotations__, function.__globals__)
        for name in _names(function.__code__):
            self._read.add(name)
            if name in function.__globals__:
                self.follow(function.__globals__[name])

    def _annotated(self, annotations: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        for words in annotations.values():
            for name in re.findall(r"\w+", words if isinstance(words, str) else getattr(words, "__name__", "")):
                if isinstance(names.get(name), type):
                    self.follow(names[name])


def _unwrapped(thing: Any) -> Any:
    if isinstance(thing, property | cached_property):
        thing = thing.fget if isinstance(thing, property) else thing.func
    return inspect.unwrap(thing) if callable(thing) else thing


def _split(thing: partial[Any] | Mapping[Any, Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    if isinstance(thing, partial):
        return thing.func, thing.args, thing.keywords
    return tuple(thing.items()) if isinstance(thing, Mapping) else thing


def _names(code: CodeType) -> Iterator[str]:
    """Every name that is read, as a global or as an attribute, nested functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@cache
def _nodes(module: ModuleType) -> Mapping[int, list[ast.AST]]:
    """Functions and lambdas by their first line; decorators belong to a function."""
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            decorators = getattr(node, "decorator_list", [])
            found.setdefault(min([node.lineno, *(each.lineno for each in decorators)]), []).append(node)
    return found


@cache
def _syntax(module: ModuleType, code: CodeType) -> str:
    found = [node for node in _nodes(module)[code.co_firstlineno] if getattr(node, "name", "<lambda>") == code.co_name]
    return repr([_plain(node) for node in found])


def _plain(node: Any) -> Any:
    """As tuples, equal in every version of Python; without docstrings and annotations, which compute nothing."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = {name: value for name, value in ast.iter_fields(node) if name not in _IDLE and value not in (None, [])}
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
        parts["body"] = node.body[1:]
    return type(node).__name__, [(name, _plain(value)) for name, value in parts.items()]


def write() -> int:
    old: Table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    new = table()
    if (moved := changed(old, new)) and "--same-values" not in sys.argv[1:]:
        sys.stderr.write("the formula changed and the version did not: " + ", ".join(moved) + "\n")
        sys.stderr.write("raise the version; where every value stays what it was, say so: --same-values\n")
        return 1
    TABLE.write_text(json.dumps(new, indent=1) + "\n", "utf-8")
    return 0
