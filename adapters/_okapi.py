"""BM25 as rank_bm25 computes it (Okapi), with which published baselines were made.

Every word counts, also the most frequent ones. Where more than half of the texts hold a word, its weight would be
negative; it gets a quarter of the mean weight instead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log
from typing import Any

WORD = re.compile(r"[a-z0-9_]+")
# the defaults of rank_bm25, which calls the last one epsilon
K1, B, FLOOR = 1.5, 0.75, 0.25


def split(text: str) -> list[str]:
    return WORD.findall(text.lower())


class Index:
    """Of texts, each as its words."""

    def __init__(self, numpy: Any, texts: Sequence[Sequence[str]]) -> None:
        self._zeros, self._size = numpy.zeros, len(texts)
        counts = [Counter(words) for words in texts]
        weights = _weigh(counts)
        mean = sum(map(len, texts)) / max(1, len(texts))
        holders, adds = defaultdict[str, list[int]](list), defaultdict[str, list[float]](list)
        for at, words in enumerate(counts):
            long = K1 * (1 - B + B * len(texts[at]) / mean) if mean else 0.0
            for word, times in words.items():
                holders[word].append(at)
                adds[word].append(weights[word] * times * (K1 + 1) / (times + long))
        self._postings = {word: (numpy.array(holders[word]), numpy.array(adds[word])) for word in holders}

    def get_scores(self, words: Sequence[str]) -> Any:
        """What each text scores: the sum over the words."""
        scores = self._zeros(self._size)
        # a word that is asked twice counts twice, as in rank_bm25
        for word in words:
            if word in self._postings:
                holders, adds = self._postings[word]
                # a text stands once among the holders: numpy adds only one of several equal indexes
                scores[holders] += adds
        return scores


def _weigh(counts: Sequence[Counter[str]]) -> dict[str, float]:
    held = Counter(word for words in counts for word in words)
    weights = {word: log((len(counts) - n + 0.5) / (n + 0.5)) for word, n in held.items()}
    least = FLOOR * sum(weights.values()) / max(1, len(weights))
    return {word: weight if weight >= 0 else least for word, weight in weights.items()}
