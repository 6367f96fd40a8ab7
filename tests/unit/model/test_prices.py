"""A table of prices: what it costs by it, and what a table may not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import paths
from harness.cli.common import read_prices
from harness.gateway.chat.standin import STANDING_IN
from harness.model.prices import Price, PricesError


def test_a_cached_token_costs_what_it_says_and_else_as_any_other() -> None:
    assert Price(prompt=2, completion=10, cached=0.5).cost(1_000_000, 100_000, 400_000) == 1.2 + 0.2 + 1.0
    assert Price(prompt=2, completion=10).cost(1_000_000, 100_000, 400_000) == 3.0
    assert Price(prompt=2, completion=10, cached=0).cost(1_000_000, 0, 1_000_000) == 0


def test_the_shipped_table_knows_the_stand_ins_and_is_dated() -> None:
    shipped = read_prices(paths.ROOT / "reports" / "prices.toml")
    assert {*STANDING_IN.values()} <= {*shipped.models} and str(shipped.day) in str(shipped)
    assert all(each.cost(10**9, 10**9) == 0 for each in shipped.models.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "date: field required"),
        ("date = 2026-01-01", "currency: field required"),
        ('date = 2026-01-01\ncurrency = "USD"\n[models]\nm = {prompt = 1}', "models.m.completion: field required"),
        (
            'date = 2026-01-01\ncurrency = "USD"\n[models]\nm = {prompt = -1, completion = 1}',
            "greater than or equal to 0",
        ),
        ('date = 2026-01-01\ncurrency = "USD"\n[models]\nm = {prompt = nan, completion = 1}', "models.m.prompt: "),
        ('date = 2026-01-01\ncurrency = "USD"\n[models]\nm = {promt = 1, completion = 1}', "models.m."),
        ("date = ", "Invalid value"),
        ("\udcff", "not UTF-8 text"),
    ],
)
def test_a_table_that_is_none_is_one_line_with_the_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(PricesError) as caught:
        read_prices(file)
    assert said in str(caught.value) and str(caught.value).startswith(str(file))
    assert len(str(caught.value).splitlines()) == 1


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PricesError, match=r"none\.toml: cannot be read: No such file"):
        read_prices(tmp_path / "none.toml")
