"""Constants and default arguments of a Python file, by their names: what its syntax tree says, not its lines."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from harness.mine.shapes import ChangeKind


class Literal(NamedTuple):
    """A value that is written down in one line.

    Attributes:
        key: The constant or the argument.
        owner: The function of a default argument.
        before, after: What stands around the value in its line, without the white space at the ends.
    """

    kind: ChangeKind
    key: str
    owner: str
    line: int
    before: str
    after: str
    value: str


def list_literals(text: str) -> Mapping[str, Literal]:
    """Qualified name -> value. ValueError: it is no Python of today."""
    with warnings.catch_warnings():
        # the parser warns of what it finds odd, as a backslash that escapes nothing, in somebody else's file
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(str(error)) from None
    # not splitlines(): that also ends lines at form feeds, where ast counts none
    lines = text.split("\n")
    found: dict[str, Literal] = {}
    for name, kind, key, owner, node in _walk(tree, ""):
        literal = _read(lines, kind, key, owner, node)
        if literal is not None:
            found[name] = literal
    return found


def _walk(node: ast.AST, within: str) -> Iterator[tuple[str, ChangeKind, str, str, ast.expr]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _walk(child, f"{within}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            known = child.args
            plain = [*known.posonlyargs, *known.args]
            # defaults belong to the last of the arguments
            pairs = [*zip(plain[len(plain) - len(known.defaults) :], known.defaults, strict=True)]
            # ast has None where a keyword-only argument has no default
            pairs += [(arg, each) for arg, each in zip(known.kwonlyargs, known.kw_defaults, strict=True) if each]
            # what is called is the class, not its __init__
            owner = within.split(".")[-2] if child.name == "__init__" and within else child.name
            for arg, default in pairs:
                yield f"{within}{child.name}({arg.arg})", "default", arg.arg, owner, default
        elif isinstance(child, ast.Assign) and len(child.targets) == 1 and isinstance(child.targets[0], ast.Name):
            yield f"{within}{child.targets[0].id}", "constant", child.targets[0].id, "", child.value
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name) and child.value is not None:
            yield f"{within}{child.target.id}", "constant", child.target.id, "", child.value


def _read(lines: list[str], kind: ChangeKind, key: str, owner: str, node: ast.expr) -> Literal | None:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if not isinstance(node, ast.BinOp):  # 60 * 60
            return None
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return None
    # ast counts bytes of UTF-8 in a line, not characters
    row = lines[node.lineno - 1].encode()
    start, end = node.col_offset, node.end_col_offset
    if row[start : start + 1] == row[end - 1 : end] and row[start : start + 1] in b"\"'" and end - start > 2:
        start, end = start + 1, end - 1
    before, value, after = (part.decode("utf-8", "replace") for part in (row[:start], row[start:end], row[end:]))
    return Literal(kind, key, owner, node.lineno, before.lstrip(), after.rstrip(), value)
