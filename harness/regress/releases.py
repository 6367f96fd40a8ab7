"""Releases of one backend that one run played side by side: each as a run of its own, so that two can be compared."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

from packaging.version import InvalidVersion, Version

from harness.model.cells import AnyCell, TrustCell
from harness.model.drill import DrillTrial
from harness.regress import baseline
from harness.regress.baseline import WORDS, Baseline, StoredValue
from harness.regress.baseline_files import Side
from harness.report import words

RELEASE = re.compile(r"@[^,+]*")
"""That of a row's label: `mem0@2.0.4+store=faiss`."""


def make_side(run: Side, label: str, name: str) -> Side:
    """What a run measured of one row, `mem0@2.0.4`, as a run of that name in which the row is called as `name` says."""
    results = run.results
    assert results is not None, "a baseline file holds no cells"
    row = results.backends.get(label)
    own_results = results.model_copy(
        update={
            "run": results.run.model_copy(update={"id": label}),
            "cells": tuple(_rename(cell, name) for cell in results.cells if cell.backend == label),
            "trust": tuple(_rename(cell, name) for cell in results.trust if cell.backend == label),
            "backends": {name: row} if row else {},
        }
    )
    return Side(baseline.make_baseline(own_results), own_results, run.root)


def list_ladders(run: Side) -> dict[str, list[Side]]:
    """Backends of which a run played two releases or more: their releases, the oldest first, by the name without one.

    A baseline file, which holds no cells, has none.
    """
    labels_by_name = defaultdict[str, list[str]](list)
    for label in run.results.list_tested() if run.results else ():
        labels_by_name[RELEASE.sub("", label)].append(label)
    return {
        name: [make_side(run, label, name) for label in sorted(labels, key=_read_release)]
        for name, labels in sorted(labels_by_name.items())
        if len(labels) > 1
    }


def _read_release(label: str) -> tuple[Version, str]:
    """What releases are ordered by; one that is no version stands first."""
    release = RELEASE.search(label)
    try:
        # the label, too, as 1.0 and 1.0.0 are equal versions
        return Version(release[0][1:] if release else "0"), label
    except InvalidVersion:
        return Version("0"), label


def _rename(cell: AnyCell, name: str) -> AnyCell:
    """The id of a drill's cell names its backend, and equal ids say that both were played alike.

    So are two upgrades, each from the rung before: which release that was is what tells the rungs apart.
    """
    if not isinstance(cell, TrustCell):
        return cell.model_copy(update={"backend": name})
    older = "the rung before" if cell.older else ""
    played = DrillTrial(backend=name, drill=cell.drill, size=cell.size, seed=cell.seed, k=cell.k, older=older)
    return cell.model_copy(update={"backend": name, "id": played.id})


@dataclass(frozen=True)
class Reading:
    """What a row has of one measure: a number, or the word that stands for none.

    Attributes:
        reason: Why there is none.
    """

    value: float | None
    word: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return self.word
        # three digits, but no power of ten
        return f"{self.value:.3g}" if abs(self.value) < 100 else words.format_number(self.value)

    def is_like(self, other: Reading, than: Reading) -> bool | None:
        """Whether a reading is nearer to one than to another; None: it is like neither."""
        if self.value is None:
            same_words = [each.word for each in (other, than)].count(self.word)
            return None if same_words != 1 else self.word == other.word
        # a number is on one side at the most: on neither, it is like neither
        if other.value is None or than.value is None:
            return None if other.value is than.value else other.value is not None
        return abs(self.value - other.value) < abs(self.value - than.value)


def read_value(source: Baseline, measure: str) -> Reading:
    """The mean over stories, or what the drill says. A failure counts before a number."""
    points, reasons = list[StoredValue](), dict[str, str]()
    for row in source.rows:
        if row.measure == measure:
            points += row.points
            reasons |= row.reasons
    for trust_row in source.trust:
        if trust_row.measure == measure:
            points.append(trust_row.point)
            reasons |= trust_row.reasons
    if "failed" in points:
        return Reading(None, "failed", reasons.get("failed", ""))
    values = [found for point in points if (found := baseline.value(point)) is not None]
    if values:
        return Reading(fmean(values))
    word = next((word for word in WORDS if word in points), "not-run")
    return Reading(None, word, reasons.get(word, "nothing of it was played"))
