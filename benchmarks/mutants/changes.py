"""Small changes of a module's syntax that its tests should notice, one at a time.

A change is one that a slip of a hand makes: a comparison or its bound, a condition the other way round, `and` for `or`,
a number, a flag, a sign, a step left out, nothing returned. Of SQL: a condition left out, the order, a number.
Not changed: annotations, decorators, docstrings, assertions (`strict=` of a zip is one), messages of errors, and
strings that nothing is compared with. Nothing is not returned in place of False: True is.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
REVERSED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitXor: ast.BitAnd,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE)\b")
SQL_CHANGES = (
    (re.compile(r"\(:\w+ IS NULL OR \w+ = :\w+\) AND |\w+ (?:IS|=) (?::\w+|\?|\d+) AND "), ""),
    (re.compile(r"\s+AND (?:\(\w+ IS NULL OR \w+ = :\w+\)|\w+ (?:IS|=) (?::\w+|\?|\d+))"), ""),
    (re.compile(r"\w+ IS NULL OR "), ""),
    (re.compile(r"\s+WHERE .*", re.DOTALL), ""),
    (re.compile(r"\s+ORDER BY seq"), " ORDER BY seq DESC"),
    (re.compile(r"(?<= = )\d+|(?<=VALUES \()\d+"), "7"),
)
"""What is found once or more in a statement, and what each of them becomes."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Key(NamedTuple):
    """What a mutant is called as long as its line stays as it is.

    Attributes:
        place: Function or class; empty: the module.
        line: The source line, without its indentation.
        change: How it is changed, and which of several equal ones it is.
    """

    file: str
    place: str
    line: str
    change: str

    def __str__(self) -> str:
        return f"{self.file}: {self.place or 'module'}: {self.line}  [{self.change}]"


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Attributes:
        rows: The lines that have to run for it to matter, the first and the last.
        function: The outermost function around it, by its qualified name and its line; None: it runs on import.
    """

    key: Key
    rows: tuple[int, int]
    function: tuple[str, int] | None
    apply: Callable[[], Callable[[], None]]
    """Changes the tree that all mutants of the module share; what it returns changes it back."""


class Module:
    """A module's syntax and all its mutants."""

    def __init__(self, file: str, path: Path) -> None:
        self.file, self.path = file, path
        source = path.read_text("utf-8")
        self.lines, self.tree = source.splitlines(), ast.parse(source)
        self._seen: Counter[tuple[str, ...]] = Counter()
        self.mutants = list(self._body(self.tree, ""))

    def compile(self, mutant: Mutant | None) -> CodeType:
        """The whole module with this change, or with none. SyntaxError and the like: it cannot be one."""
        back = mutant.apply() if mutant else None
        try:
            return compile(self.tree, str(self.path), "exec", dont_inherit=True)
        finally:
            if back:
                back()

    def text(self, mutant: Mutant) -> str:
        back = mutant.apply()
        try:
            return ast.unparse(self.tree)
        finally:
            back()

    # --- where changes are made ---

    def _body(self, node: ast.AST, place: str, function: tuple[str, int] | None = None) -> Iterator[Mutant]:
        """All of a module, a class or a function, statement by statement."""
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            for at, statement in enumerate(getattr(node, name, [])):
                yield from self._statement(statement, getattr(node, name), at, place, function)

    def _statement(
        self, node: ast.AST, siblings: list[Any], at: int, place: str, function: tuple[str, int] | None
    ) -> Iterator[Mutant]:
        if isinstance(node, ast.ClassDef | Function):
            name = f"{place}.{node.name}".lstrip(".")
            if isinstance(node, Function):
                for field in ("defaults", "kw_defaults"):
                    yield from self._expressions(node.args, field, node, name, function)
                function = function or (name, _first_row(node))
            yield from self._body(node, name, function)
            return
        where = (place, function, _rows(node))
        for change, made in _instead_of_statement(node):
            yield self._mutant(node, change, *where, _put(siblings, at, made))
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
            return
        for field in node._fields if not _is_text(node) else ():
            if field not in ("body", "orelse", "handlers", "finalbody", "cases", "annotation"):
                yield from self._expressions(node, field, node, place, function)
        yield from self._body(node, place, function)

    def _expressions(
        self, parent: ast.AST, field: str, statement: ast.AST, place: str, function: tuple[str, int] | None
    ) -> Iterator[Mutant]:
        rows = _rows(statement)
        for above, name, at, node in _walk(parent, field):
            for change, made in _instead_of(node, above, name):
                put = _put(getattr(above, name), at, made) if at is not None else _set(above, name, made)
                yield self._mutant(node, change, place, function, rows, put)

    def _mutant(
        self,
        node: ast.AST,
        change: str,
        place: str,
        function: tuple[str, int] | None,
        rows: tuple[int, int],
        apply: Callable[[], Callable[[], None]],
    ) -> Mutant:
        line = self.lines[node.lineno - 1].strip()  # type: ignore[attr-defined]
        self._seen[place, line, change] += 1
        turn = self._seen[place, line, change]
        key = Key(self.file, place, line, change if turn == 1 else f"{change} (no. {turn})")
        return Mutant(key, rows, function, apply)


def _first_row(node: Function) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _rows(node: Any) -> tuple[int, int]:
    """Of a statement with a body, those of its head."""
    node = getattr(node, "pattern", node)
    if body := getattr(node, "body", getattr(node, "cases", None)):
        first = getattr(body[0], "pattern", body[0]).lineno
        return node.lineno, max(node.lineno, first - 1)
    return node.lineno, node.end_lineno


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _walk(above: ast.AST, field: str) -> Iterator[tuple[Any, str, int | None, ast.AST]]:
    """Every expression in a field of a node, and below it, with the place that it stands in."""
    for place in _standing(above, field):
        yield place
        waiting = [place[3]]
        while waiting:
            parent = waiting.pop()
            for name in parent._fields if not isinstance(parent, ast.JoinedStr) else ():
                for each in _standing(parent, name):
                    yield each
                    waiting.append(each[3])


def _standing(parent: ast.AST, field: str) -> Iterator[tuple[Any, str, int | None, ast.AST]]:
    value = getattr(parent, field, None)
    listed: Iterable[tuple[int | None, Any]] = enumerate(value) if isinstance(value, list) else [(None, value)]
    for at, each in listed:
        if getattr(each, "arg", None) == "strict":  # of a zip: an assertion
            continue
        if isinstance(each, ast.expr | ast.comprehension | ast.keyword | ast.arguments | ast.withitem | ast.pattern):
            yield parent, field, at, each


def _put(siblings: list[Any], at: int, made: Any) -> Callable[[], Callable[[], None]]:
    def apply() -> Callable[[], None]:
        old, siblings[at] = siblings[at], made
        return lambda: siblings.__setitem__(at, old)

    return apply


def _set(parent: Any, field: str, made: Any) -> Callable[[], Callable[[], None]]:
    def apply() -> Callable[[], None]:
        old = getattr(parent, field)
        setattr(parent, field, made)
        return lambda: setattr(parent, field, old)

    return apply


# --- what stands there instead ---


def _instead_of_statement(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    left_out: ast.stmt = ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield "left out", _at(node, left_out)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.YieldFrom):
        nothing = ast.YieldFrom(ast.Tuple([], ast.Load()))
        yield "yields nothing", _at(node, ast.Expr(nothing))
    elif isinstance(node, ast.Raise | ast.Delete | ast.AugAssign) or (
        isinstance(node, ast.Assign) and all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
    ):
        yield "left out", _at(node, left_out)
    elif isinstance(node, ast.Continue):
        yield "break", _at(node, ast.Break())
    elif isinstance(node, ast.Break):
        yield "continue", _at(node, ast.Continue())
    if isinstance(node, ast.AugAssign) and (swapped := _reversed(node.op, node.value)):
        yield f"{_sign(node.op)}= -> {_sign(swapped)}=", _at(node, ast.AugAssign(node.target, swapped, node.value))


def _instead_of(node: ast.AST, parent: ast.AST, field: str) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare):
        for at in range(len(node.ops)):
            ops = [COMPARED[type(old)]() if at == each else old for each, old in enumerate(node.ops)]
            yield _says(node, _at(node, ast.Compare(node.left, ops, node.comparators)))
    elif isinstance(node, ast.BoolOp):
        yield _says(node, _at(node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield _says(node, node.operand)
    elif isinstance(node, ast.BinOp) and (op := _reversed(node.op, node.left, node.right)):
        yield _says(node, _at(node, ast.BinOp(node.left, op, node.right)))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLED:
        other = ast.copy_location(ast.Name(CALLED[node.func.id], ast.Load()), node)
        yield _says(node, _at(node, ast.Call(other, node.args, node.keywords)))
    elif isinstance(node, ast.Constant):
        yield from _constants(node, parent)
    condition = field in ("test", "ifs") or isinstance(parent, ast.BoolOp)
    if condition and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
        yield _says(node, _at(node, ast.UnaryOp(ast.Not(), node)))  # type: ignore[arg-type]
    returned = isinstance(parent, ast.Return | ast.Yield | ast.Lambda) and field in ("value", "body")
    if returned and not (isinstance(node, ast.Constant) and (node.value is None or node.value is False)):
        word = {ast.Return: "return", ast.Yield: "yield", ast.Lambda: "lambda:"}[type(parent)]
        yield f"{word} None", _at(node, ast.Constant(None))


def _constants(node: ast.Constant, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    value = node.value
    if isinstance(value, bool):
        yield _says(node, _at(node, ast.Constant(not value)))
    elif isinstance(value, int | float):
        yield _says(node, _at(node, ast.Constant(value + 1)))
    elif isinstance(value, str) and SQL.match(value):
        for found, instead in SQL_CHANGES:
            for each in found.finditer(value):
                shown = " ".join(f"{each.group()} -> {instead}".split())
                yield f"SQL: {shown}", _at(node, ast.Constant(value[: each.start()] + instead + value[each.end() :]))
    elif isinstance(value, str) and isinstance(parent, ast.Compare):
        yield _says(node, _at(node, ast.Constant(value + "?")))


def _reversed(op: ast.operator, *operands: ast.AST) -> ast.operator | None:
    """None where text is joined: there is no other way round."""
    texts = ast.JoinedStr | ast.Constant
    if any(isinstance(each, texts) and isinstance(getattr(each, "value", ""), str | bytes) for each in operands):
        return None
    return REVERSED[type(op)]() if type(op) in REVERSED else None


def _sign(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b"))).split()[1]


def _at(node: ast.AST, made: ast.AST) -> ast.AST:
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _says(old: ast.AST, new: ast.AST) -> tuple[str, ast.AST]:
    return f"{_short(old)} -> {_short(new)}", new


def _short(node: ast.AST, most: int = 60) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 + 3 :]}"
