"""BM25 as rank_bm25 computes it (Okapi), with which published baselines were made. It needs no library.

Every word counts, also the most frequent ones. Where more than half of the texts hold a word, its weight would be
negative; it gets a quarter of the mean weight instead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log

WORD = re.compile(r"[a-z0-9_]+")
K1, B, FLOOR = 1.5, 0.75, 0.25
Index = Mapping[str, Sequence[tuple[str, float]]]
"""Word -> the texts that hold it, and what it adds to the score of each."""


def split(text: str) -> list[str]:
    return WORD.findall(text.lower())


def weigh(rows: Mapping[str, Sequence[str]]) -> Index:
    """The index of texts by name, each as its words."""
    counts = {name: Counter(words) for name, words in rows.items()}
    held = Counter(word for words in counts.values() for word in words)
    weights = {word: log((len(rows) - n + 0.5) / (n + 0.5)) for word, n in held.items()}
    least = FLOOR * sum(weights.values()) / max(1, len(weights))
    mean = sum(map(len, rows.values())) / max(1, len(rows))
    index: dict[str, list[tuple[str, float]]] = {}
    for name, words in counts.items():
        long = K1 * (1 - B + B * len(rows[name]) / mean) if mean else 0.0
        for word, times in words.items():
            weight = weights[word] if weights[word] >= 0 else least
            index.setdefault(word, []).append((name, weight * times * (K1 + 1) / (times + long)))
    return index


def score(index: Index, words: Sequence[str]) -> Mapping[str, float]:
    """What each text that holds one of the words scores."""
    scores: defaultdict[str, float] = defaultdict(float)
    for word in words:
        for name, adds in index.get(word, ()):
            scores[name] += adds
    return scores
