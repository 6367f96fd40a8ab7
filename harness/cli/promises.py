"""Hunting for the shortest sequence of operations that breaks a promise: `promises`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import paths
from harness.cli.common import COULD_NOT_RUN, FAILED, GOOD, shorten, stop, tell
from harness.cli.options import FOLDER, Between, with_call_seconds

if TYPE_CHECKING:
    from harness.conformance import Setting
    from harness.model.trial import Spec
    from harness.promises.hunt import Play


@click.command()
@click.option("--backend", "-b", help="NAME, NAME,key=value or module:Class. With --replay: another than the file's.")
@click.option("--seconds", type=Between(1), default=60, show_default=True, help="How long to hunt.")
@click.option("--operations", type=click.IntRange(1), help="End after so many calls, too.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order of sequences, equal everywhere.")
@click.option("--replay", type=FOLDER, help="Play exactly the sequence in this file instead.")
@click.option(
    "--cases", type=FOLDER, default=paths.CASES, help="Where findings are kept; those of the backend are played first."
)
@with_call_seconds
def promises(
    backend: str | None,
    seconds: float,
    operations: int | None,
    seed: int,
    replay: Path | None,
    cases: Path,
    call_seconds: float | None,
) -> None:
    """Find the shortest sequence of calls that breaks a promise.

    Takes a minute. Random sequences of every operation that the backend supports, over scopes with awkward names and
    batches around the limits of stores, are played against a model in memory. Exit codes: 0 all held, 1 one is broken,
    3 could not run.

    \b
    Examples: coldwarm promises -b chroma --seconds 600
              coldwarm promises --replay reports/promises/chroma/1a2b3c4d5e6f.json
    """
    from harness.backend import interpreters, registry
    from harness.backend.client import MemoryFault
    from harness.conformance import promises as hunting
    from harness.gateway.embedder import EmbedderError
    from harness.model.sequence import SequenceError
    from harness.play.sequences import UnansweredError
    from harness.play.store import Hindered

    try:
        case = hunting.read_file(replay) if replay else None
        name = backend or (case.backend if case else None)
        if name is None:
            raise click.UsageError("name a backend with -b, or a sequence with --replay")
        (spec,) = interpreters.name_releases([registry.parse(name)])
        if case is None:
            sys.exit(hunt_spec(spec, seconds, call_seconds, operations, seed, cases))
        with hunting.open_ground(spec, paths.cache_root(), call_seconds=call_seconds) as place:
            played = hunting.replay(place, case)
            _show_replay(played, hunting.show_program(place, played))
            sys.exit(FAILED if played.differs else GOOD)
    except (registry.RegistryError, SequenceError) as error:
        stop(error)
    except MemoryFault as error:
        stop(f"{interpreters.explain_missing(spec, error)}; no sequence was played", COULD_NOT_RUN)
    except (EmbedderError, UnansweredError) as error:
        stop(error, COULD_NOT_RUN)
    except Hindered as hindered:
        stop(f"{spec.label}: {hindered}; nothing is judged: run it again", COULD_NOT_RUN)


def hunt_spec(
    spec: Spec,
    seconds: float,
    call_seconds: float | None = None,
    operations: int | None = None,
    seed: int = 1,
    cases: Path = paths.CASES,
) -> int:
    """Hunts, says what was found, and gives the exit code. Raises MemoryFault if the backend cannot be opened."""
    from harness.conformance import promises as hunting

    with hunting.open_ground(spec, paths.cache_root(), seconds, call_seconds) as place:
        return _hunt(place, seconds, operations, seed, cases)


def _hunt(place: Setting, seconds: float, operations: int | None, seed: int, cases: Path) -> int:
    from harness.conformance import promises as hunting

    label = place.playable.spec.label
    if place.playable.backend.supports("extracts"):
        tell(f"{label}: n/a: a model inside rewrites what it is told")
        return GOOD
    found, path = hunting.search(place, seed, seconds, operations or hunting.OPERATIONS, cases, tell)
    if found.shortest is None or found.shortest.differs is None:
        many = "1 sequence" if found.sequences == 1 else f"{found.sequences:,} sequences"
        tell(f"{label}: held over {found.calls:,} operations in {many} (seed {seed})")
        return GOOD
    _show_steps(found.shortest)
    if found.verdict == "random":
        other = found.other.differs.says if found.other and found.other.differs else "as the model says"
        tell(f"{label}: not deterministic. Once: {found.shortest.differs.says}. Played again: {other}")
        return FAILED
    tell(f"{label}: broken after {found.calls:,} operations: {found.shortest.differs.says}")
    if not found.shrunk:
        tell("the time was over before it was as short as it can be: more --seconds may find a shorter one")
    _show_program(hunting.show_program(place, found.shortest))
    if path is not None:
        tell(f"kept; play it again: coldwarm promises --replay {shorten(path)}")
    return FAILED


def _show_replay(played: Play, program: str) -> None:
    _show_steps(played)
    tell(f"broken: {played.differs.says}" if played.differs else "held: every answer is what the model says")
    _show_program(program)


def _show_program(program: str) -> None:
    if program:
        tell("the same against its own SDK alone:")
        for line in ("", *program.splitlines()):
            tell(line)


def _show_steps(played: Play) -> None:
    from harness.promises import words

    for at, line in enumerate(words.tell(played.steps), 1):
        tell(f"{at:>3} {line}")
