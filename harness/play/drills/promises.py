"""The shortest broken promise: random sequences of every operation, each on a store of its own, against a model.

Of each sequence that held, the log has its turn and how many calls it took; of the shortest that did not, the steps and
every answer, so that the measures judge it again.
"""

from __future__ import annotations

from typing import cast

from harness.backend.store import ChildStore
from harness.log.blobs import pack
from harness.log.transcript import ANSWERS, STEPS, Broke, Tried
from harness.model.drill import Plan
from harness.play.drills.stage import Drill, DrillSession
from harness.play.sequences import SequencePlayer, print_program
from harness.promises.hunt import hunt

WHOLE = 1000
"""Operations from which on a drill has the large batches."""
SECONDS, SHORTEN = 300.0, 20.0
"""Of a hunt, for a backend that cannot play so many: operations are what ends it, equal on every machine. And of making
what it found shorter, which changes no measure."""
LARGEST, SMALLER = 1030, 101


def plan(size: int, seed: int) -> Plan:
    """Nothing: sequences are drawn while they are played, from the seed alone."""
    return Plan(pieces=())


def play(stage: DrillSession) -> None:
    # what a model inside makes of a text cannot be compared with what was told
    if stage.supports("extracts"):
        return
    store = cast(ChildStore, stage.store)
    found = hunt(
        SequencePlayer(store, stage.embed),
        stage.store.backend,
        stage.trial.seed,
        operations=stage.trial.size,
        seconds=SECONDS,
        shorten=SHORTEN,
        largest=LARGEST if stage.trial.size >= WHOLE else SMALLER,
    )
    stage.note(Tried(sequences=found.sequences, calls=found.calls))
    if found.shortest is not None:
        stage.note(
            Broke(
                steps=pack(stage.blobs, STEPS, found.shortest.steps),
                answers=pack(stage.blobs, ANSWERS, found.shortest.answers),
                other=found.other.differs if found.other else None,
                random=found.verdict == "random",
                shrunk=found.shrunk,
                program="" if found.verdict == "random" else print_program(store, found.shortest),
            )
        )


DRILL = Drill("promises", place=80, size=2000, least=400, needs=(), plan=plan, play=play)
