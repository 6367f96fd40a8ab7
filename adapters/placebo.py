"""Control: k notes of the usual length that no story speaks of. What a chat model decides by guessing, with notes in
its prompt that tell it nothing.
"""

from __future__ import annotations

import random
from hashlib import sha256
from typing import ClassVar

from adapters.none import Nothing, NothingMemory
from harness.adapter import Hit, Memory, Scope, Space

NOTES = (
    "The plants on the third floor are watered by whoever opens the windows in the morning",
    "Lunch on Thursdays is ordered together; the list hangs beside the coffee machine until ten",
    "The projector of the large room needs a minute before it finds the cable on the left",
    "Visitors sign in at the front desk and are met at the lift by the person they came to see",
    "Bicycles stand in the yard behind the house; the gate is shut from eight in the evening",
    "The quiet room is for calls of up to half an hour, longer ones go to the room with the map",
    "The window by the kitchen jams in wet weather and opens again after a push at the top",
    "Chairs are put back after every meeting, and the blackboard is wiped by who wrote on it last",
    "The summer party was held at the lake again, with a rowing race that nobody finished",
    "Parcels for colleagues are kept beside the copier and are not opened by anybody else",
    "The lamp above the sofa flickers; a new one was asked for and has not come so far",
    "The last to leave turns the heating down to eighteen and looks whether the stove is off",
)


class PlaceboMemory(NothingMemory):
    def __init__(self, seed: int) -> None:
        self._seed = seed

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        # by the question: asked again, it gets the same notes
        drawn = sha256(f"{self._seed} {query}".encode("utf-8", "surrogatepass")).digest()
        chosen = random.Random(drawn).sample(range(len(NOTES)), min(k, len(NOTES)))  # noqa: S311 - repeatable, not secret
        return [Hit(f"placebo-{number}", NOTES[number]) for number in chosen]


class Placebo(Nothing):
    name = "placebo"
    native = ("observe", "entries", "get", "usage")
    unsupported: ClassVar = {**Nothing.unsupported, "abstains": "always says something that does not matter"}

    def open(self, space: Space) -> Memory:
        return PlaceboMemory(space.seed)
