"""The drills by name: what each writes, and how it is played. Each module here that defines DRILL is one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from harness.log.blobs import Blobs
from harness.log.events import Event
from harness.log.transcript import PLAN, Drilled, Ended
from harness.machine.modules import find_defining
from harness.model.backend import Backend, Fault
from harness.model.drill import DrillName, DrillTrial, Plan
from harness.play.drills.stage import Drill, DrillSession, DrillStore
from harness.play.store import Lost
from harness.scan.copies import Copies

_FOUND: list[Drill] = [module.DRILL for module in find_defining("DRILL", __name__, __path__)]
ALL: Mapping[DrillName, Drill] = {each.name: each for each in sorted(_FOUND, key=lambda each: (each.place, each.name))}


class DrillError(ValueError):
    """There is no such drill; in one line."""


def choose_drills(names: Collection[str]) -> tuple[DrillName, ...]:
    """Those of these names, in the order of play; all: every one. Raises DrillError."""
    if wrong := sorted({*names} - {*ALL, "all"}):
        raise DrillError(f"{wrong[0]} is not one of {', '.join(ALL)}, all")
    return tuple(name for name in ALL if {name, "all"} & {*names})


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
    older: Backend | None = None,
) -> None:
    """Plays one drill to its end, `ended` included, whatever the backend does.

    Args:
        keep: See Stage.
        older: The release that hands its store over.
    """
    drill, support = ALL[trial.drill], store.backend.support
    # with every text, as a score is computed from the log and its blobs alone
    plan_ref = blobs.put(PLAN.dump_json(plan, exclude_none=True))
    emit(Drilled(trial=trial, backend=store.backend, older=older, plan=plan_ref, digests=digests, host=host))
    for need in drill.needs:
        # before anything is opened: what lacks the capability is unsupported, and has not failed
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
