"""LangMem: which of the manager's memories are written; `make conform` holds the row to the contract."""

from __future__ import annotations

import pytest

from adapters.langmem import Langmem, changed


@pytest.mark.slow
def test_what_the_manager_left_as_it_was_is_not_written_again() -> None:
    assert changed({"a": "Ship on Mondays."}, [("a", "Ship on Mondays.")]) == {}


def test_a_memory_that_it_changed_keeps_its_id_and_a_new_one_gets_an_id_of_ours() -> None:
    rows = changed({"a": "Ship on Mondays."}, [("a", "Ship on Fridays."), ("its own", "The port is 80.")])
    assert rows.pop("a") == "Ship on Fridays."
    assert list(rows.values()) == ["The port is 80."] and "its own" not in rows


def test_nothing_blank_is_written() -> None:
    assert changed({"a": "Ship on Mondays."}, [("a", " "), ("b", "")]) == {}


def test_the_model_is_a_setting_and_the_row_says_that_it_extracts() -> None:
    assert Langmem().configured({"model": "small"}).model == "small" and Langmem.model == "local"
    assert Langmem().support["extracts"].level == "native" and Langmem().support["concurrent"].level == "unsupported"
