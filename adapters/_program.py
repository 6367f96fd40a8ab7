"""Sequences of operations as programs against an SDK alone: what Chroma's and Mem0's have in common."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from harness.adapter import Call

VECTORS = """
def embed(texts):
    "Stands for a model: texts that are equal but for case and spaces get equal vectors."
    lucks = [random.Random(" ".join(text.lower().split())) for text in texts]
    return [[luck.gauss(0, 1) for _ in range(384)] for luck in lucks]
"""
Write = Callable[[Call], str]


def write_program(head: str, calls: Sequence[Call], writers: Mapping[str, Write]) -> str:
    """Head and steps, the last of which is printed; "" if there is a step that nobody writes.

    Args:
        writers: By operation. Those of what brings something back write an expression.
    """
    if any(call.op not in writers for call in calls):
        return ""
    lines = [f"# {at}. {call.says}\n{writers[call.op](call)}" for at, call in enumerate(calls, 1)]
    *earlier, last = lines
    what, _, code = last.partition("\n")
    *before, final = code.split("\n")
    return "\n".join([head.strip() + "\n", *earlier, what, *before, _print_value(final)]) + "\n"


def _print_value(line: str) -> str:
    """The line, which may stand in a block; an assignment has no value to print."""
    code = line.lstrip()
    is_expression = isinstance(ast.parse(code).body[0], ast.Expr)
    return line.replace(code, f"print({code})") if is_expression else line


def number(of: int) -> str:
    """The id of a memory; of one that nobody stored, an id that nobody has."""
    return f"ids[{of}]" if of >= 0 else '"unknown"'


def numbers(of: Sequence[int]) -> str:
    return f"[{', '.join(map(number, of))}]"
