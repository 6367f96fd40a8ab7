"""Looking at this machine and at adapters: `doctor`, `conform`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import paths
from harness.cli import promises
from harness.cli.common import COULD_NOT_RUN, FAILED, GOOD, say, stop, tell
from harness.cli.options import with_call_seconds, with_out

if TYPE_CHECKING:
    from harness.model.trial import Spec

HUNT_SECONDS = 600.0
"""How long `conform --promises` hunts for each backend."""


@click.command()
@click.option(
    "--backend", "-b", "backends", multiple=True, help="Open it as well; same syntax as `run -b`; repeatable."
)
@with_out
def doctor(backends: tuple[str, ...], out: Path) -> None:
    """Check what works on this machine; opens every adapter.

    ok: works; no: not installed or not configured, needed only by those who ask for it; BAD: broken.
    """
    from harness.backend import interpreters, registry
    from harness.cli.doctor import examine

    good = True
    try:
        specs = interpreters.name_releases(map(registry.parse, backends))
    except registry.RegistryError as error:
        stop(error)
    for finding in examine(out, specs):
        good = good and finding.good
        mark = "no  " if finding.absent else "ok  " if finding.good else "BAD "
        tell(f"{mark} {finding.name:<22} {' '.join(finding.seen.split())}")
    sys.exit(GOOD if good else COULD_NOT_RUN)


@click.command()
@click.argument("backends", metavar="BACKEND...", nargs=-1, required=True)
@click.option("--promises", "hunting", is_flag=True, help="Hunt for broken promises afterwards, ten minutes each.")
@click.option("--fresh", is_flag=True, envvar="COLDWARM_FRESH", help="Make every check anew.")
@with_call_seconds
def conform(backends: tuple[str, ...], hunting: bool, fresh: bool, call_seconds: float | None) -> None:
    """Check adapters against the contract, one line a check.

    Takes a minute or two. BACKEND is NAME, NAME,key=value or module:Class. An adapter that cannot open its store has
    one line, and the others are checked. A stand-in answers models inside of an adapter, and a line says so. Of the
    adapters that come with coldwarm, what held under the same conditions before is not checked again, and a line says
    so; one of your own always is.

    \b
    Example: coldwarm conform mem0,store=faiss my_store:MyStore
    """
    from harness.backend import interpreters, registry

    try:
        specs = interpreters.name_releases(map(registry.parse, backends))
    except registry.RegistryError as error:
        stop(error)
    broken = [_try_check(spec, call_seconds, hunting=hunting, fresh=fresh) for spec in specs]
    sys.exit(FAILED if any(broken) else COULD_NOT_RUN if None in broken else GOOD)


def _try_check(spec: Spec, call_seconds: float | None, *, hunting: bool, fresh: bool) -> int | None:
    """How many checks an adapter breaks; None, with one line: it could not be checked, which says nothing of others."""
    from harness.backend import interpreters, registry
    from harness.backend.client import MemoryFault
    from harness.gateway.embedder import EmbedderError
    from harness.play.sequences import UnansweredError
    from harness.play.store import Hindered

    try:
        broken = _check(spec, call_seconds, fresh=fresh)
        # a broken promise counts as one check more: False adds nothing
        return broken + (hunting and promises.hunt_spec(spec, HUNT_SECONDS, call_seconds) == FAILED)
    except registry.RegistryError as error:
        stop(error)
    except EmbedderError as error:
        stop(error, COULD_NOT_RUN)
    except MemoryFault as error:
        say(f"{interpreters.explain_missing(spec, error)}; no check was made")
    except UnansweredError as error:
        say(error)
    except Hindered as hindered:
        say(f"{spec.label}: {hindered}; nothing is judged: run it again")
    return None


def _check(spec: Spec, call_seconds: float | None, *, fresh: bool) -> int:
    """Checks one adapter: how many checks it breaks; a line of each."""
    from harness import conformance
    from harness.conformance.outcomes import OutcomeCache

    marks = {"kept": "ok  ", "broken": "BAD ", "unsupported": "--  ", "not-applicable": "n/a "}
    counts = dict.fromkeys(marks, 0)
    cache = OutcomeCache(paths.find_proofs(paths.cache_root()) / "checks")
    with conformance.open_setting(spec, deadlines=conformance.DEADLINES.allow(call_seconds)) as place:
        before, new_outcomes = cache.find(place, fresh=fresh), list[conformance.CheckOutcome]()
        # A store that cannot be opened ends the command in one line, before each check fails by it.
        if len(before.outcomes) < len(conformance.CHECKS):
            place.try_open()
        if place.chat:
            tell(f"{spec.label}: the model inside is answered by {place.chat}")
        for check in conformance.CHECKS:
            if (outcome := before.outcomes.get(check.name)) is None:
                new_outcomes.append(outcome := place.judge(check))
            counts[outcome.status] += 1
            tell(f"{marks[outcome.status]} {check.name:<38} {check.says}")
            if outcome.why:
                tell(f"       {outcome.why}")
        if new_outcomes:
            cache.keep(place, before, new_outcomes)
    if before.outcomes:
        tell(f"{spec.label}: {before.describe()}; --fresh makes them anew")
    tell(f"{spec.label}: {', '.join(f'{n} {word}' for word, n in counts.items())}")
    return counts["broken"]
