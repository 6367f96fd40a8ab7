"""The drills by name: what each writes, and how it is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness.log.blobs import Blobs
from harness.log.events import Event
from harness.log.transcript import Drilled, Ended
from harness.model.backend import Fault
from harness.model.drill import DrillName, DrillTrial, Plan
from harness.play.drills import deletion, durability, isolation, keeping, poison, rollback, sharing
from harness.play.drills.stage import Drill, DrillSession, DrillStore
from harness.play.session import Lost
from harness.scan.copies import Copies

ALL: Mapping[DrillName, Drill] = {
    module.DRILL.name: module.DRILL for module in (keeping, deletion, isolation, rollback, poison, durability, sharing)
}


def play(
    trial: DrillTrial,
    plan: Plan,
    store: DrillStore,
    blobs: Blobs,
    emit: Callable[[Event], None],
    vectors: Callable[[Sequence[str]], Sequence[bytes]],
    digests: Mapping[str, str],
    host: Mapping[str, str],
    keep: Copies | None = None,
) -> None:
    """Plays one drill to its end, `ended` included, whatever the backend does. keep: see Stage."""
    drill, support = ALL[trial.drill], store.backend.support
    plan_ref = blobs.put(plan.model_dump_json().encode())
    emit(Drilled(trial=trial, backend=store.backend, plan=plan_ref, digests=digests, host=host))
    for need in drill.needs:
        if not support[need].supported:
            fault = Fault(kind="refused", op=need, message=support[need].note or "unsupported")
            emit(Ended(status="unsupported", fault=fault))
            return
    stage = DrillSession(trial, plan, store, blobs, emit, vectors, keep)
    try:
        drill.play(stage)
        emit(Ended(status="complete"))
    except Lost as lost:
        emit(Ended(status="failed", fault=lost.fault))
    finally:
        stage.abandon()
