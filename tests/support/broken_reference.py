"""The reference with one operation broken in one way, named as `tests.support.broken_reference:recall_and_raises`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters._base import sdk
from adapters.reference import Reference, ReferenceMemory
from harness.adapter import Memory, Space


def _raises(*_: Any, **__: Any) -> Any:
    raise RuntimeError("it is broken")


def _takes_nothing() -> None:
    """Called with arguments, that is an error of Python's own."""


KINDS: dict[str, Callable[..., Any]] = {
    "raises": _raises,
    "answers_in_another_form": lambda *_: {"what": "is this"},
    "takes_other_arguments": _takes_nothing,
    "answers_nothing": lambda *_: None,
}


def __getattr__(name: str) -> type[Reference]:
    op, _, kind = name.partition("_and_")
    if kind not in KINDS or not hasattr(ReferenceMemory, op):
        raise AttributeError(name)
    memory: type[ReferenceMemory] = type("Broken", (ReferenceMemory,), {op: KINDS[kind]})

    def open_(self: Reference, space: Space) -> Memory:
        return memory(self.path(space), space, sdk("numpy", "coldwarm"))

    return type(name, (Reference,), {"open": open_})
