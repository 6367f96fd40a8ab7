"""A sequence as calls that an adapter can print as a program against its backend's own SDK."""

from __future__ import annotations

import re

from harness.adapter import Call, Item
from harness.model.sequence import Difference, Step, Steps
from harness.promises import words
from harness.promises.oracle import make_items

RULE = re.compile(r"(rule\s+\d+) of the [a-z ]+: ask desk \d+ first", re.IGNORECASE)
"""What the numbers in a text follow from its first."""
SHOWN = 3
"""Texts that are listed one by one."""
UNPRINTED = ("kill", "snapshot", "restore", "deprecate", "recall_where")
"""A program cannot kill itself, and no SDK that is printed has versions, marks or filters of ours."""


def list_calls(steps: Steps, differs: Difference) -> list[Call]:
    """The steps up to the one that differs; [] if no single process shows it, or if fields are what differs."""
    shown = steps[: differs.at + 1]
    if differs.kind.startswith("field") or any(step.op in UNPRINTED or step.who != "a" for step in shown):
        return []
    texts: dict[int, str] = {}
    calls, made = [], 0
    for at, (step, says) in enumerate(zip(shown, words.tell(shown), strict=True)):
        items = _write_items(at, step, made, texts)
        told = _print_texts([_shorten(item.text) for item in items])
        if step.op == "recall":
            told = repr(_shorten(texts[step.of[0]]))
        texts |= {made + each: item.text for each, item in enumerate(items)} if step.stores else {}
        if step.op == "update":
            texts[step.of[0]] = items[0].text
        made += step.stores
        # a twin is named for its text alone, which is printed: the call is not about it
        of = () if step.op == "remember" else step.of[:1] if step.op == "update" else step.of
        calls.append(Call(step.op, says, step.scope, of, told, items[0].expires if len(items) == 1 else None))
    return calls


def _write_items(at: int, step: Step, made: int, texts: dict[int, str]) -> list[Item]:
    """Items as the model writes them, whatever the backend answered."""
    if step.op not in ("remember", "update", "supersede"):
        return []
    return make_items(
        at, step, range(made, made + step.stores), texts.get(step.of[-1], "") if step.of else "", step.scope
    )


def _shorten(text: str) -> str:
    return RULE.sub(lambda found: found[1], text)


def _print_texts(texts: list[str]) -> str:
    """A Python expression, short for many."""
    if len(texts) > SHOWN and len(set(texts)) == 1:
        return f"[{texts[0]!r}] * {len(texts)}"
    first = re.fullmatch(r"Rule (\d+)", texts[0]) if len(texts) > SHOWN else None
    start = int(first[1]) if first else 0
    if first and texts == [f"Rule {number}" for number in range(start, start + len(texts))]:
        return f'[f"Rule {{number}}" for number in range({start}, {start + len(texts)})]'
    return repr(texts)
