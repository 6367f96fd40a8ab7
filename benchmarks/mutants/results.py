"""What became of the mutants: the last verdicts, the survivors that are listed with a reason, and the page."""

from __future__ import annotations

import hashlib
import platform
import tomllib
from collections import Counter
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
PAGE = ROOT / "docs" / "mutants.md"
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
    return "docs/mutants.md tells it"


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
    yield f"{datetime.now(UTC):%Y-%m-%d}, {_versions()}"
    yield "\n## By what\n| room | told apart by | mutants |\n|---|---|---|"
    for room, (_, verdicts) in found.items():
        by = Counter(_by(killer) for killer in verdicts.values() if not survives(killer))
        yield from (f"| {room} | {name} | {count} |" for name, count in by.most_common())
    yield "\n## Survivors"
    for room, (_, verdicts) in found.items():
        left = sorted(name for name, killer in verdicts.items() if survives(killer))
        if left:
            yield f"\n### {room}\n| place | line | change | why nothing tells it apart |\n|---|---|---|---|"
            yield from (_row(name, reasons.get(name, "**no reason is given**")) for name in left)


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


def _row(name: str, why: str) -> str:
    file, place, rest = name.split(": ", 2)
    line, _, change = rest.rpartition("  [")
    cells = (f"`{file}` {place}", _code(line), _code(change.removesuffix("]")), why)
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    marks = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{marks}{pad}{text.replace('|', chr(92) + '|')}{pad}{marks}"


def _by(killer: str) -> str:
    """A test by its file; checks, drills and sequences by their sort."""
    if killer in ("time", "died") or killer.startswith("cannot be"):
        return {"time": "it does not end", "died": "its process ends"}.get(killer, "it cannot be imported")
    return f"`{killer.partition('::')[0]}`" if killer.startswith("tests/") else killer.partition(": ")[0]


def _versions() -> str:
    names = ("pytest", "hypothesis", "numpy", "pydantic")
    shown = ", ".join(f"{name} {version(name)}" for name in names)
    return f"Python {platform.python_version()}, {shown}."


HEAD = """# Mutants
Are the tests able to notice a slip? A program makes one small change after the other: a comparison, a bound, `and`
for `or`, a condition the other way round, a number, a flag, a sign, a step left out, nothing returned; of SQL a
condition, a number or the order. Each mutant has to be told apart: one of the reference store by the contract, the
drills with one story, or random sequences of operations ([promises.md](promises.md)), as any backend is judged; one
of the classifier, the scanner or the measures by their tests.

This page is written by `make mutants`, which takes long. The job fails for a survivor that
`benchmarks/mutants/survivors.toml` does not list with a reason, and for a listed one that is told apart now. A survivor
with a reason is equivalent: it changes nothing that is promised. The last column leaves it out; the fourth does not.
Where none but listed ones have not been judged, these count as survivors.
Where not all mutants of a room were judged, they are a sample in an order that is drawn by their names, given with
Wilson's interval at 95 %. Tests were written in sight of survivors, so mutants that nobody has looked at may do worse.

At `30c15a5` 3,791 mutants of the measures were judged; 3,586 of them (94.6 %) were told apart. Six survivors showed a
measure that gave a wrong figure (version 3 of eighteen measures in the changelog). Others showed code that decided
nothing, which is gone, and for the rest tests were written, or the reason is listed. A sample of 480, in sight of which
tests had been written before, had shown no survivor: what nobody had looked at did worse.
Two golden files notice much of it: any change of what damaged logs give, and of words shown.

What runs on import is judged in a process that imports ours anew. The module as it is goes the same way first; if a
test fails there, nothing is judged.

`python -m benchmarks.mutants ROOM --sample 50` takes minutes; with `--keep` and `--more` a run goes on where the last
one was stopped, and with `--again` it asks only those that survived, which is what one wants after writing a test.
Verdicts are kept in `benchmarks/mutants/verdicts/`. One is forgotten when its line changes; tests that became weaker
since are noticed by a run without `--more`.

Two sorts of tests are left out: those of `tests/unit/metrics/test_formulas.py`, which notice any change of the
syntax, and those of `tests/unit/text/test_linear.py`, which measure time. Docstrings, annotations, decorators,
assertions, messages of errors and words of the page are not changed.

mutmut 3.8.1 was looked at first: it changes neither decorated functions (properties, cached ones) nor constants and SQL
of a module, which is where much of this stands. cosmic-ray 8.7.0 starts a process of pytest for each mutant, of which
there are five thousand. So `benchmarks/mutants/` forks a process that has collected the tests and runs those that
reach the line.
"""
