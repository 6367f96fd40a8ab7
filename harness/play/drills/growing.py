"""A store that nobody writes to any more is asked, by one process after the other, and looked at after each of them.

The first process may put off work of the writes; what each opening leaves is left by the second and the third alike.
What the third leaves more, it leaves because it is asked more.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.adapter import Scope
from harness.model.drill import Piece
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import DrillSession

SCOPE = Scope(repo="storefront-asked", org="acme")
SUBJECTS = 20
ROUNDS = {"asked first": 1, "asked little": 1, "asked often": 6}


def plan(seed: int) -> Iterator[Piece]:
    for name in (f"subject-{number}" for number in range(1, SUBJECTS + 1)):
        item, canary = write_lesson("keeping", seed, name, SCOPE)
        yield Piece(name=name, role="subject", item=item, canary=canary)


def play(stage: DrillSession) -> None:
    """In a store of its own."""
    if not stage.supports("persistent"):
        return
    subjects = stage.plan.of("subject")
    stage.renew()
    stage.open("subjects")
    stage.remember("subjects", subjects)
    stage.settle("subjects")
    stage.close("subjects")
    for step, rounds in ROUNDS.items():
        stage.open(step)
        for _ in range(rounds):
            for piece in subjects:
                stage.recall(step, piece.item.text, SCOPE, about=[piece])
            if stage.supports("entries"):
                stage.list_ids(step, SCOPE, about=subjects)
        stage.close(step)
        # for the sizes of its files: there is nothing to search them for
        stage.look(step, {}, {})
