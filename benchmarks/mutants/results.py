"""What became of the mutants: the last verdicts, the survivors that are listed with a reason, and the page."""

from __future__ import annotations

import json
import platform
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.mutants import units
from benchmarks.mutants.changes import Module
from benchmarks.mutants.rooms import ROOMS, ROOT

LISTED = Path(__file__).with_name("survivors.toml")
KEPT = ROOT / ".cache" / "mutants"
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


def read(room: str) -> tuple[dict[str, str], tuple[int, int] | None]:
    """The verdicts that were kept, and of how large a sample by which seed; nothing if there are none."""
    file = KEPT / f"{room}.json"
    if not file.exists():
        return {}, None
    said = json.loads(file.read_text("utf-8"))
    return said["verdicts"], (said["sample"][0], said["sample"][1]) if said["sample"] else None


def write(room: str, verdicts: Verdicts, of: int, sample: tuple[int, int] | None) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    said = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "of": of, "sample": sample, "verdicts": dict(verdicts)}
    (KEPT / f"{room}.json").write_text(json.dumps(said, indent=1), "utf-8")


def page() -> str:
    """Writes the page if every room was run; a line that says so."""
    files = {name: KEPT / f"{name}.json" for name in ROOMS}
    if missing := [name for name, file in files.items() if not file.exists()]:
        return f"docs/mutants.md is written when every room was run; not yet: {', '.join(missing)}"
    found = {name: json.loads(file.read_text("utf-8")) for name, file in files.items()}
    PAGE.write_text("\n".join(_page(found)) + "\n", "utf-8")
    return "docs/mutants.md tells it"


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    reasons = listed()
    yield HEAD
    yield "| room | mutants | judged | told apart | survivors, each with its reason below | without a reason | on |"
    yield "|---|---|---|---|---|---|---|"
    for room, said in found.items():
        verdicts = said["verdicts"]
        left = [name for name, killer in verdicts.items() if survives(killer)]
        dead, known = len(verdicts) - len(left), sum(name in reasons for name in left)
        drawn = f" (drawn by seed {said['sample'][1]})" if said["sample"] else ""
        share = f"{dead} ({100 * dead / len(verdicts):.1f} %)"
        yield (
            f"| {room} | {said['of']:,} | {len(verdicts):,}{drawn} | {share} | {known} | {len(left) - known} "
            f"| {said['date']} |"
        )
    judged = Counter(survives(killer) for said in found.values() for killer in said["verdicts"].values())
    share = 100 * judged[False] / judged.total()
    yield f"\nTogether {judged[False]:,} of {judged.total():,} are told apart, {share:.1f} %. {_versions()}"
    if any(each["sample"] for each in found.values()):
        yield "Where a sample was drawn, nothing is said of the rest."
    yield "\n## By what\n| room | told apart by | mutants |\n|---|---|---|"
    for room, said in found.items():
        by = Counter(_by(killer) for killer in said["verdicts"].values() if not survives(killer))
        yield from (f"| {room} | {name} | {count} |" for name, count in by.most_common())
    yield "\n## Survivors"
    for room, said in found.items():
        left = sorted(name for name, killer in said["verdicts"].items() if survives(killer))
        if left:
            yield f"\n### {room}\n| place | line | change | why nothing tells it apart |\n|---|---|---|---|"
            yield from (_row(name, reasons.get(name, "**no reason is given**")) for name in left)


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

This page is written by `make mutants` (hours on two busy cores; `python -m benchmarks.mutants scan --sample 50 --seed
1` takes minutes). The job fails for a survivor that `benchmarks/mutants/survivors.toml` does not list with a reason,
and for a listed one that is told apart now. `--again` asks only those that survived last time, which is what one
wants after writing a test.

Two sorts of tests are left out: those of `tests/unit/metrics/test_formulas.py`, which notice any change of the
syntax, and those of `tests/unit/text/test_linear.py`, which measure time. Docstrings, annotations, decorators,
messages of errors and words of the page are not changed.

mutmut 3.8.1 was tried first: it changes neither decorated functions (properties, cached ones) nor constants and SQL
of a module, which is where much of this stands. cosmic-ray 8.7.0 starts a process of pytest for each mutant, of which
there are five thousand. So `benchmarks/mutants/` forks a process that has collected the tests and runs those that
reach the line.
"""


if __name__ == "__main__":
    print(page())
