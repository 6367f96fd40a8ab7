"""Can what a store is told be told apart without understanding it? A classifier tries, on metadata and style alone.

It sees all that `remember` hands over: fields, batches and letters. It is trained on some stories and asked about
others, and about sentences that it has not seen: noise is made of facts of other stories, so that a sentence which is
noise here stands elsewhere as a fact, and a split by stories alone would show it both ways. What it cannot see is what
came before: a trap comes after the rule that it restates, which is what a memory is there to find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np

from harness.adapter import Item
from harness.log.parts import Written
from harness.machine import extras
from harness.play import noise
from harness.selftest.control_plays import list_batches
from harness.selftest.proof import SEED, ScenarioProof

ItemKind = Literal["fact", "remark", "noise"]
AMOUNT = 100
"""Noise beside each story, as a run has it by default."""
BOUNDS: Mapping[ItemKind, float] = {"noise": 0.60, "remark": 0.65}
"""The largest area under the curve that the better of two classifiers may reach. 0.5 is a coin, 1 an open book."""
FOLDS, ROUNDS = 4, 2
PARTS = ("repo", "org", "branch", "user")


class MissingError(Exception):
    """The classifier comes with an extra that is not installed."""


class ItemRow(NamedTuple):
    """One item as a store is handed it.

    Attributes:
        origin: The story that its sentence comes from.
    """

    kind: ItemKind
    story: str
    origin: str
    item: Item
    batch: int
    place: float


class Apart(NamedTuple):
    """How well a kind was told from facts, by the better of the two classifiers."""

    kind: ItemKind
    area: float
    cases: int
    facts: int

    @property
    def open(self) -> bool:
        return self.area > BOUNDS[self.kind]


def require_classifier() -> None:
    """MissingError if the classifier is not installed."""
    if find_spec("sklearn") is None:
        raise MissingError(extras.explain_lack("sklearn", "the proof of a suite"))


def list_items(proof: ScenarioProof, amount: int = AMOUNT) -> list[ItemRow]:
    """All that is written in one story by appending, batch by batch."""
    made = noise.draw_with_donors(proof.scenario, proof.repo, proof.classifier, amount, SEED)
    homes = {written.name: story for written, story in made}
    return [
        ItemRow(_read_kind(written), proof.scenario.id, homes.get(written.name, proof.scenario.id), written.item,
            len(batch), at / max(1, len(batch) - 1))
        for batch in list_batches(proof, amount)
        for at, written in enumerate(batch)
    ]  # fmt: skip


def _read_kind(written: Written) -> ItemKind:
    word = written.name.partition(":")[0]
    return "noise" if word == "noise" else "remark" if word == "remark" else "fact"


def measure_separability(found: Sequence[ItemRow]) -> list[Apart]:
    """How well noise and remarks are told from facts."""
    return [_measure_kind(kind, [row for row in found if row.kind in (kind, "fact")]) for kind in BOUNDS]


def _measure_kind(kind: ItemKind, found: Sequence[ItemRow]) -> Apart:
    # here: it comes with an extra that may not be installed
    from sklearn.metrics import roc_auc_score

    labels = np.array([row.kind == kind for row in found])
    from threadpoolctl import threadpool_limits

    areas: dict[str, list[float]] = {"metadata and style": [], "letters": []}
    plain = np.array([list_features(row) for row in found])
    for train, test in _split_folds(found):
        with threadpool_limits(1):  # more threads are slower on so little, and add up in another order
            # with one kind alone there is nothing to learn, and no area under a curve
            if len(set(labels[test])) < 2 or len(set(labels[train])) < 2:
                continue
            for name, scores in _score_fold(found, plain, labels, train, test):
                areas[name].append(float(roc_auc_score(labels[test], scores)))
    cases = int(labels.sum())
    best = max(sum(each) / len(each) if each else 0.5 for each in areas.values())
    return Apart(kind, best, cases, len(found) - cases)


def _split_folds(found: Sequence[ItemRow]) -> Iterator[tuple[Any, Any]]:
    """Stories are held out; no sentence of a story that is held out is learnt from, nor asked about if it was."""
    # sorted, as the order of a set differs from process to process
    stories = sorted({row.story for row in found})
    for seed in range(ROUNDS):
        order = np.random.default_rng(seed).permutation(len(stories))
        for part in np.array_split(order, FOLDS):
            held = {stories[at] for at in part}
            inside = np.array([(row.story in held, row.origin in held) for row in found])
            yield np.flatnonzero(~inside.any(axis=1)), np.flatnonzero(inside.all(axis=1))


def _score_fold(found: Sequence[ItemRow], plain: Any, labels: Any, train: Any, test: Any) -> Iterator[tuple[str, Any]]:
    from scipy.sparse import hstack
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    trees = HistGradientBoostingClassifier(
        max_iter=40, max_bins=32, max_leaf_nodes=8, class_weight="balanced", random_state=0, early_stopping=False
    ).fit(plain[train], labels[train])
    yield "metadata and style", trees.predict_proba(plain[test])[:, 1]
    # capitals are a part of the style
    grams = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), sublinear_tf=True, min_df=3, lowercase=False)
    scale = StandardScaler()
    letters = grams.fit_transform([style(found[at].item.text) for at in train])
    both = hstack([letters, scale.fit_transform(plain[train])]).tocsr()
    line = LogisticRegression(max_iter=300, class_weight="balanced", C=0.3).fit(both, labels[train])
    unseen = hstack([grams.transform([style(found[at].item.text) for at in test]), scale.transform(plain[test])])
    yield "letters", line.decision_function(unseen.tocsr())


def style(text: str) -> str:
    """A text without what no two stories share: the words of canaries and the digits."""
    return re.sub(r"\d", "0", re.sub(r"\bcw[0-9a-f]{20}\b", "cw", text))


def list_features(row: ItemRow) -> list[float]:
    """What is seen of an item without reading it."""
    item, text = row.item, row.item.text
    source, at = item.source, datetime.fromisoformat(item.at)
    words = text.split()
    named = item.scope.repo is not None and re.search(rf"(?<![\w-]){re.escape(item.scope.repo)}(?![\w-])", text)
    numbers: list[Any] = [
        *(item.kind == kind for kind in ("project", "procedural", "user", "episodic")),
        *(getattr(item.scope, part) is not None for part in PARTS),
        source is not None,
        *(getattr(source, part, None) is not None for part in ("commit", "path", "line", "session")),
        (source.line or 0) if source else 0,
        len(source.path or "") if source else 0,
        item.confidence is not None,
        item.confidence or 0,
        item.expires is not None,
        at.second + at.microsecond + at.minute % 5,
        len(item.at),
        row.batch,
        row.place,
        len(text),
        len(words),
        max(map(len, words)),
        text[:1].isupper(),
        text[-1:].isalnum(),
        text.endswith("."),
        named is not None and bool(named),
        *(text.count(sign) for sign in ",:;.`'\"-_/()[]#@"),
        sum(letter.isdigit() for letter in text),
        sum(letter.isupper() for letter in text),
        bool(re.search(r"\bcw[0-9a-f]{20}\b", text)),
    ]
    return [float(number) for number in numbers]
