"""`python -m benchmarks.mutants [ROOM ...]`: see the package."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from benchmarks.mutants import results, units
from benchmarks.mutants.changes import Module, Mutant
from benchmarks.mutants.rooms import ROOMS, Room


def judge(room: Room, modules: Mapping[str, Module], mutants: Sequence[Mutant], jobs: int, notify: units.Heard) -> None:
    if room.tests:
        units.judge(modules, mutants, room.tests, room.left_out, jobs, notify)
        return
    from benchmarks.mutants import stores  # imports ours, which the tests' processes have to do themselves

    (module,) = modules.values()
    stores.judge(module, mutants, jobs, notify)


@click.command()
@click.argument("rooms", nargs=-1, metavar="[ROOM]...")
@click.option("--sample", type=click.IntRange(1), help="So many mutants of each room, drawn alike each time.")
@click.option("--jobs", default=2, show_default=True, help="Processes side by side.")
@click.option("--again", is_flag=True, help="Only those that survived last time, as it was kept; with --more, too.")
@click.option("--more", is_flag=True, help="Only those that were not judged before, as it was kept.")
@click.option("--keep", is_flag=True, help="Keep the verdicts, and write the README beside this.")
@click.option(
    "--file", type=click.Path(exists=True, resolve_path=True, path_type=Path), help="A module of your own ..."
)
@click.option("--tests", type=click.Path(exists=True), help="... and its tests, in place of rooms.")
def main(
    rooms: tuple[str, ...],
    sample: int | None,
    jobs: int,
    again: bool,
    more: bool,
    keep: bool,
    file: Path | None,
    tests: str | None,
) -> None:
    """Changes ROOM (all: adapter, classifier, scan, metrics) and says which changes no test tells apart.

    Exit 0: every survivor is listed with its reason in survivors.toml. 1: one is not, or a listed one is killed or is
    no mutant any more. 3: the tests fail without any change.
    """
    if unknown := [name for name in rooms if name not in ROOMS]:
        raise click.UsageError(f"no room is called {unknown[0]}; known: {', '.join(ROOMS)}")
    if bool(file) != bool(tests) or (file and (rooms or keep)):
        raise click.UsageError("--file and --tests go together, and with nothing that is of rooms")
    if (again or more) and not keep:
        raise click.UsageError("--again and --more need --keep, which has the verdicts")
    chosen = [Room("own", (str(file),), (tests,))] if file and tests else [ROOMS[name] for name in rooms or ROOMS]
    bad = False
    for room in chosen:
        modules = room.modules()
        every = {str(mutant.key): mutant for module in modules.values() for mutant in module.mutants}
        with tempfile.TemporaryDirectory() as folder:
            file = results.kept(room.name) if keep else Path(folder, "verdicts.txt")
            known = results.read(file, every)
            names = [name for name in results.order(room.name, every) if _asked(known.get(name), again, more)]
            names = names[:sample]
            click.echo(f"--- {room.name}: {len(names)} of {len(every)} mutants")

            def heard(mutant: Mutant, killer: str | None, file: Path = file) -> None:
                if killer != "clock":  # a busy machine tells nothing apart: it is not judged
                    results.add(file, str(mutant.key), killer)

            began = time.monotonic()
            try:
                judge(room, modules, [every[name] for name in names], jobs, heard)
            except units.Broken as error:
                click.echo(f"{room.name}: {error}", err=True)
                sys.exit(3)
            verdicts = results.read(file, every)
        lines = results.complain(modules, verdicts, every)
        dead = sum(not results.survives(killer) for killer in verdicts.values())
        click.echo(f"{dead} of {len(verdicts)} told apart ({time.monotonic() - began:.0f} s)")
        click.echo("\n".join(lines), nl=bool(lines))
        bad |= bool(lines)
    if keep:
        click.echo(results.page({room.name: room.modules() for room in ROOMS.values()}))
    sys.exit(int(bad))


def _asked(killer: str | None, again: bool, more: bool) -> bool:
    """Whether a mutant with this verdict (None: it has none) is judged now."""
    if killer is None:
        return more or not again
    return results.survives(killer) if again else not more


if __name__ == "__main__":
    main()
