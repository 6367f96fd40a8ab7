"""A formula cannot change without its version: the golden table says so."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from types import FunctionType

from harness.metrics import trust
from tests.support import formulas


def test_no_formula_changed_under_its_version() -> None:
    old, new = json.loads(formulas.TABLE.read_text("utf-8")), formulas.table()
    assert not formulas.changed(old, new), "raise the version of these measures"
    assert old == new, "measures or versions changed: make golden"


def test_a_helper_three_calls_away_changes_the_digest() -> None:
    formula = formulas._Formula()
    measure = trust.METRICS[0].measure
    formula.follow(measure)
    formula.close()
    assert (
        len(formula.parts) > 10
    )  # not the function alone: its helpers, their constants and the methods that they read


def test_every_formula_has_parts_and_two_unlike_ones_differ() -> None:
    table = formulas.table()
    unlike = ("recall", "abstention", "deleted_from_search", "tokens_noise")
    assert len({table[name]["formula"] for name in unlike}) == len(unlike)


def test_words_do_not_count_and_operators_and_constants_do() -> None:
    def digest(body: str) -> str:
        names: dict[str, FunctionType] = {}
        exec(f"def f(x):\n{body}", names)
        tree = ast.parse(f"def f(x):\n{body}").body[0]
        return repr(formulas._plain(tree))

    base = digest("  return x + 1")
    assert digest("  '''Words.'''\n  return x + 1  # more words") == base
    others: Sequence[str] = ("  return x - 1", "  return x + 2", "  return x")
    assert base not in {digest(body) for body in others}
