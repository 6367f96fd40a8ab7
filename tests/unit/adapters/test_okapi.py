from __future__ import annotations

from math import log

import numpy
import pytest

from adapters import _okapi
from adapters.bm25 import Bm25


def test_a_rare_word_weighs_what_the_formula_says() -> None:
    index = _okapi.Index(numpy, [["red", "boat"], ["red", "house"], ["red", "tree"]])
    rare, common = log((3 - 1 + 0.5) / 1.5), log((3 - 3 + 0.5) / 3.5)
    mean = (3 * rare + common) / 4
    assert index.get_scores(["boat"]).tolist() == pytest.approx([rare, 0, 0])  # all are as long as the mean
    assert index.get_scores(["red"]).tolist() == pytest.approx([0.25 * mean] * 3)
    assert index.get_scores(["boat", "boat"])[0] == pytest.approx(2 * rare)
    assert not index.get_scores(["unknown"]).any() and not len(_okapi.Index(numpy, []).get_scores(["red"]))


def test_words_are_runs_of_letters_digits_and_underscores() -> None:
    assert _okapi.split("It's A snake_case, 2x!") == ["it", "s", "a", "snake_case", "2x"]


def test_the_variant_is_known_or_refused() -> None:
    plain = Bm25()
    assert plain.configured({"variant": "okapi"}).variant == "okapi" and plain.variant == "lucene"
    with pytest.raises(ValueError, match="variant cannot be 'tfidf'; known: lucene, okapi"):
        plain.configured({"variant": "tfidf"})
