from __future__ import annotations

from math import log

import pytest

from adapters import _okapi
from adapters.bm25 import Bm25


def test_a_rare_word_weighs_what_the_formula_says() -> None:
    rows = {"a": ["red", "boat"], "b": ["red", "house"], "c": ["red", "tree"]}
    index = _okapi.weigh(rows)
    rare, common = log((3 - 1 + 0.5) / 1.5), log((3 - 3 + 0.5) / 3.5)
    mean = (3 * rare + common) / 4
    assert _okapi.score(index, ["boat"]) == {"a": pytest.approx(rare)}  # all are as long as the mean
    assert _okapi.score(index, ["red"]) == dict.fromkeys("abc", pytest.approx(0.25 * mean))
    assert _okapi.score(index, ["boat", "boat"])["a"] == pytest.approx(2 * rare)
    assert _okapi.score(index, ["unknown"]) == {} and _okapi.weigh({}) == {}


def test_words_are_runs_of_letters_digits_and_underscores() -> None:
    assert _okapi.split("It's A snake_case, 2x!") == ["it", "s", "a", "snake_case", "2x"]


def test_the_variant_is_known_or_refused() -> None:
    plain = Bm25()
    assert plain.configured({"variant": "okapi"}).variant == "okapi" and plain.variant == "lucene"
    with pytest.raises(ValueError, match="variant cannot be 'tfidf'; known: lucene, okapi"):
        plain.configured({"variant": "tfidf"})
