"""What became of the mutants: the last verdicts, the survivors that are listed with a reason, and the page."""

from __future__ import annotations

import hashlib
import platform
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.mutants import units
from benchmarks.mutants.changes import Module, Mutant
from benchmarks.mutants.rooms import ROOT

LISTED = Path(__file__).with_name("survivors.toml")
KEPT = Path(__file__).with_name("verdicts")
"""One file for each room, a line for each mutant: what it is called, in short, and what told it apart."""
PAGE = Path(__file__).with_name("README.md")
Verdicts = Mapping[str, str]
"""Mutant -> what told it apart; empty or `units.UNREACHED`: nothing."""


def listed() -> dict[str, str]:
    """Mutant -> why nothing can tell it apart."""
    read = tomllib.loads(LISTED.read_text("utf-8"))
    return {f"{file}: {name}": why for file, names in read.items() for name, why in names.items()}


def survives(killer: str) -> bool:
    return killer in ("", units.UNREACHED)


def complain(modules: Mapping[str, Module], verdicts: Verdicts, every: Collection[str]) -> list[str]:
    """One line for each survivor that is not listed, and each listed one that is none.

    Args:
        every: All mutants of these modules, judged or not.
    """
    reasons = {name: why for name, why in listed().items() if name.partition(": ")[0] in modules}
    lines = [
        f"survives{' unseen' if killer else ''}: {name}"
        for name, killer in verdicts.items()
        if survives(killer) and name not in reasons
    ]
    lines += [
        f"listed, but told apart by {verdicts[name]}: {name}"
        for name in reasons
        if not survives(verdicts.get(name, ""))
    ]
    lines += [f"listed, but no mutant any more: {name}" for name in reasons if name not in every]
    return lines


def read(file: Path, every: Iterable[str]) -> dict[str, str]:
    """The verdicts in a file on these mutants, the last of each; none if there is no file."""
    names = {_short(name): name for name in every}
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    said = (line.partition(" ") for line in lines)
    return {names[short]: killer for short, _, killer in said if short in names}


def add(file: Path, name: str, killer: str | None) -> None:
    """At once, as whoever judges may be stopped."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(_line(name, killer or ""))


def _line(name: str, killer: str) -> str:
    """Of a test, its file."""
    return f"{_short(name)} {killer.partition('::')[0]}\n"


def _short(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def order(room: str, names: Iterable[str]) -> list[str]:
    """The mutants as they are judged: drawn, so that whoever stops early has judged a sample of their functions."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{room} {name}".encode()).digest())


def kept(room: str) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    return KEPT / f"{room}.txt"


def page(modules: Mapping[str, Mapping[str, Module]]) -> str:
    """Writes the page from what is kept of each room, and that in order; a line that says so."""
    found = {}
    for room, files in modules.items():
        every = {str(mutant.key): mutant for module in files.values() for mutant in module.mutants}
        verdicts = read(kept(room), every)
        kept(room).write_text("".join(sorted(_line(*each) for each in verdicts.items())), "utf-8")
        if (others := every.keys() - verdicts.keys()) <= listed().keys():
            verdicts |= dict.fromkeys(others, "")
        found[room] = every, verdicts
    PAGE.write_text("\n".join(_page(found)) + "\n", "utf-8")
    return f"{PAGE.relative_to(ROOT)} tells it"


Found = Mapping[str, tuple[Mapping[str, Mutant], Verdicts]]
"""Room -> all its mutants, and the verdicts of those that were judged."""


def _page(found: Found) -> Iterator[str]:
    reasons = listed()
    yield HEAD
    yield "| room | mutants | judged | told apart | survivors with a reason | without one | told apart of the rest |"
    yield "|---|---|---|---|---|---|---|"
    for room, (every, verdicts) in found.items():
        if not verdicts:
            yield f"| {room} | {len(every):,} | none: not run here yet | | | | |"
            continue
        left = [name for name, killer in verdicts.items() if survives(killer)]
        dead, known = len(verdicts) - len(left), sum(name in reasons for name in left)
        part = len(verdicts) < len(every)
        shown = (_judged(every, verdicts), _share(dead, len(verdicts), part), known, len(left) - known)
        cells = (room, f"{len(every):,}", *shown, _share(dead, len(verdicts) - known, part))
        yield f"| {' | '.join(map(str, cells))} |"
    judged = [each for _, verdicts in found.values() for each in verdicts.items()]
    if not judged:
        return
    left = [name for name, killer in judged if survives(killer)]
    dead, known = len(judged) - len(left), sum(name in reasons for name in left)
    raw, rest = 100 * dead / len(judged), 100 * dead / max(1, len(judged) - known)
    yield f"\nTogether {dead:,} of {len(judged):,} are told apart: {raw:.1f} % with equivalent ones as survivors,"
    yield f"{rest:.1f} % without those {known:,} that are listed with a reason."
    yield f"Counted on {datetime.now(UTC):%Y-%m-%d} with {_versions()}"


def _share(dead: int, of: int, part: bool) -> str:
    """With Wilson's interval at 95 % where a sample was judged."""
    from harness.metrics.metric import wilson  # here: who judges tests imports ours anew

    told = f"{dead:,} ({100 * dead / of:.1f} %)"
    if not part:
        return told
    within = wilson(dead, of)
    return f"{told[:-1]}; {100 * within.low:.1f} to {100 * within.high:.1f} %)"


def _judged(every: Mapping[str, Mutant], verdicts: Verdicts) -> str:
    """All, or how many of those in functions and of those that run on import."""
    if len(verdicts) == len(every):
        return "all"
    inside = {name for name, mutant in every.items() if mutant.function}
    within, outside = len(inside & verdicts.keys()), len(every) - len(inside)
    told = f"{within:,} of {len(inside):,} in functions, {len(verdicts) - within:,} of {outside:,} outside"
    return f"{len(verdicts):,}: {told}"


def _versions() -> str:
    names = ("pytest", "hypothesis", "numpy", "pydantic")
    shown = ", ".join(f"{name} {version(name)}" for name in names)
    return f"Python {platform.python_version()}, {shown}."


HEAD = """# Mutants

Can the tests notice a slip? `make mutants` makes one small change after the other: a comparison, a bound, `and` for
`or`, a negated condition, a number, a flag, a sign, a step left out, nothing returned; of SQL a condition, a number
or the order. Each mutant has to be told apart from the program as it is: one of the reference store by the contract,
the drills or random sequences ([promises.md](../../docs/promises.md)), one of the classifier, the scanner or the
measures by their tests.

The job fails for a survivor that `benchmarks/mutants/survivors.toml` does not list with a reason, and for a listed
one that is told apart now. A survivor with a reason changes nothing that is promised. The last column leaves these
out; the fourth counts them as survivors. Where only a part of a room was judged, its share has Wilson's interval at
95 %, as of a sample; lines that were written since the last run are not judged. Tests were written in sight of
survivors, so mutants that nobody has looked at may do worse: of 3,791 mutants of the measures that were judged first
at `30c15a5`, 94.6 % were told apart, and six survivors showed a measure that gave a wrong figure.

    python -m benchmarks.mutants ROOM --sample 50              # minutes
    python -m benchmarks.mutants ROOM --keep --more            # goes on where the last run was stopped
    python -m benchmarks.mutants ROOM --keep --again           # only those that survived, after a test was written

Verdicts are kept in `benchmarks/mutants/verdicts/`, and forgotten when the line of the mutant changes. Not changed
are docstrings, annotations, decorators, assertions, messages of errors and words of the page. Left out are tests of
the syntax of formulas and of time.

mutmut changes neither decorated functions nor the SQL and constants of a module; cosmic-ray starts a process of
pytest for each mutant. So `benchmarks/mutants/` forks a process that has collected the tests, and runs those that
reach the line.
"""
