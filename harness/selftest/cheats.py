"""Stores that understand nothing and keep only what looks like an answer: by kind, source, batch or length.

If one of them recalls or decides better than the same store that keeps all, each with the reader that suits it best,
then how something is told gives away what it is worth. A trusting reader alone is no judge: it gains by any store that
forgets, even blindly, as it then asks the repository. A store that drops what cites a line is not among the cheats: it
does gain in decisions, as the repository still knows what it dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from harness.adapter import Item
from harness.model.cells import Cell
from harness.model.trial import Measured
from harness.selftest import control_plays
from harness.selftest.local import Keeps, PaperWorkTrees
from harness.selftest.proof import ScenarioProof

STORE, NOISE = "bm25", 100
BOUND = 0.05
"""The most that a cheat may gain in the mean over the stories."""
MEASURES = ("recall", "decisions_right")
POLICIES = ("trusting", "newest")


def is_cited(item: Item) -> bool:
    return item.source is not None and item.source.path is not None


CHEATS: Mapping[str, Keeps] = {
    "no episodic": lambda item, batch: item.kind != "episodic",
    "cited only": lambda item, batch: is_cited(item),
    "small batches": lambda item, batch: len(batch) <= 15,
    "large batches": lambda item, batch: len(batch) > 15,
    "short texts": lambda item, batch: len(item.text) <= 55,
    "long texts": lambda item, batch: len(item.text) > 55,
}
"""What each keeps of a call of `remember`: an item and its batch."""


class Gain(NamedTuple):
    """What a cheat reaches beyond the honest store, in the measure in which it gains most."""

    cheat: str
    measure: str
    gain: float

    @property
    def pays(self) -> bool:
        return self.gain > BOUND


CheatPlayed = Mapping[str, Sequence[Cell]]
"""By name of the store: the cells of one story; empty for a mined one, which is played to none."""


def score_cheats(proof: ScenarioProof) -> dict[str, list[Cell]]:
    """One story, played to the honest store and to each cheat."""
    paper = PaperWorkTrees()
    asked: dict[str, Keeps | None] = {STORE: None, **CHEATS}
    return {name: control_plays.score_scenario(proof, STORE, paper, NOISE, keeps) for name, keeps in asked.items()}


def compute_gains(stories: Sequence[CheatPlayed]) -> list[Gain]:
    """The gains of each cheat where it gains most, over all stories."""
    found = []
    for name in CHEATS:
        each = [
            Gain(name, measure, _find_best(stories, name, measure) - _find_best(stories, STORE, measure))
            for measure in MEASURES
        ]
        found.append(max(each, key=lambda gain: gain.gain))
    return found


def _find_best(stories: Sequence[CheatPlayed], name: str, measure: str) -> float:
    """The mean over the stories, with the reader that reaches most."""
    return max(_mean(stories, name, measure, policy) for policy in POLICIES)


def _mean(stories: Iterable[CheatPlayed], name: str, measure: str, policy: str) -> float:
    cells = (cell for story in stories for cell in story.get(name, ()) if cell.read_policy == policy)
    values = [found.value for cell in cells if isinstance(found := cell.measures[measure], Measured)]
    return sum(values) / len(values) if values else 0.0
