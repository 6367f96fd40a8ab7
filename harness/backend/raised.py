"""What an adapter raised, as plain values: whatever its class does when it is looked at. Standard library only."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from harness.adapter import Unsupported

E = TypeVar("E", bound=BaseException)
CAUSES = 10
"""Errors behind one error that are told."""


def describe(error: BaseException, module: str) -> dict[str, Any]:
    """What an adapter of that module raised; whatever its class does when it is looked at, this is an answer."""
    try:
        # its end, where the error itself stands
        trace = _replace_surrogates("".join(traceback.format_exception(error)))[-8000:]
    except BaseException:
        trace = ""
    return {
        "kind": "refused" if _is(error, Unsupported) else "raised",
        "message": _spell(error),
        "at": _locate(error, module.partition(".")[0]),
        "causes": [_spell(each)[:500] for each in islice(_list_causes(error), CAUSES)],
        "trace": trace,
    }


def _is(error: BaseException, kind: type[E]) -> TypeGuard[E]:
    """A test like `isinstance`, which would also ask the error what it is."""
    return issubclass(type(error), kind)


def _spell(error: BaseException) -> str:
    return f"{_replace_surrogates(type(error).__name__)}: {describe_error(error)}"[:2000]


def describe_error(error: BaseException) -> str:
    try:
        return _replace_surrogates(str(error))
    except BaseException as other:
        return f"(its text cannot be shown: its __str__ raised {_replace_surrogates(type(other).__name__)})"


def _replace_surrogates(text: str) -> str:
    """Half a pair of surrogates is no text that could be written down."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """What led to an error, the nearest first; of several at once, each."""
    # by id: causes may lead in a circle, and comparing errors would run their own code
    found, seen = [error], {id(error)}
    while found:
        last = found.pop(0)
        group = last.exceptions if _is(last, BaseExceptionGroup) else ()
        for each in (last.__cause__, last.__context__, *group):
            if each is not None and id(each) not in seen:
                seen.add(id(each))
                found.append(each)
                yield each


def _locate(error: BaseException, own: str) -> str:
    """FILE:LINE that it passed last in the package or module `own`, below where that is imported from; else empty."""
    passed = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if _is(error, SyntaxError):
        # what cannot be compiled has no frame of its own
        passed.append((str(error.filename), error.lineno or 0))
    for name, line in reversed(passed):
        for root in filter(None, sys.path):
            below = Path(name).relative_to(root).as_posix() if Path(name).is_relative_to(root) else ""
            if below.partition("/")[0].removesuffix(".py") == own:
                return f"{_replace_surrogates(below)}:{line}"
    return ""
