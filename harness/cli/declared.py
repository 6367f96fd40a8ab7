"""What backends declare that they can do, as Markdown: a table of levels, and below it how and why not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.adapter import CAPABILITIES
from harness.backend import client, interpreters, registry
from harness.machine import leftovers
from harness.model.backend import Declared
from harness.model.trial import Spec
from harness.play import controls
from harness.report.words import plain

SIGNS = {"native": "native", "emulated": "emulated", "unsupported": "-"}
EMBEDS = "`embeds`: needs the extra `embed`"


@dataclass(frozen=True)
class Declaration:
    """What one backend declares.

    Attributes:
        support: Total over CAPABILITIES.
        embeds: It cannot do without vectors.
    """

    support: Mapping[str, Declared]
    embeds: bool = False


def list_declared(specs: Iterable[Spec]) -> dict[str, Declaration]:
    """Label -> what it declares. Asks every adapter in a child of its own; imports no SDK.

    None of them needs to be installed, or a key. Raises RegistryError for a backend or a setting that nobody knows,
    MemoryFault for one that cannot say what it is.
    """
    found: dict[str, Declaration] = {}
    with leftovers.temporary() as home:
        for spec in specs:
            entry = registry.find(spec)
            if entry.reference is None:
                found[spec.label] = Declaration(controls.describe(spec.adapter).support)
                continue
            launch = interpreters.launcher(spec)
            said = client.declare(entry.reference, home / str(len(found)), launch=launch, settings=spec.settings)
            registry.check_settings(spec, said.settings, said.problem)
            found[spec.label] = Declaration(said.support, said.embeds)
    return found


def markdown(declared: Mapping[str, Declaration]) -> str:
    """The same backends as columns, capabilities as rows; then for each backend the notes, equal ones together."""
    told = {plain(label): each.support for label, each in declared.items()}
    lines = [_row("", *(f"`{label}`" for label in told)), _row(*["---"] * (len(told) + 1))]
    lines += [_row(f"`{name}`", *(SIGNS[support[name].level] for support in told.values())) for name in CAPABILITIES]
    lines.append(_row(EMBEDS, *("yes" if each.embeds else "-" for each in declared.values())))
    for label, support in told.items():
        notes: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in CAPABILITIES:
            if support[name].note:
                notes[support[name].level, plain(" ".join(support[name].note.split()))].append(f"`{name}`")
        lines += ["", f"`{label}`", ""] if notes else []
        lines += [
            f"- {level}: {', '.join(names)}: {note}" for (level, note), names in sorted(notes.items(), key=_level)
        ]
    return "\n".join(lines) + "\n"


def _level(note: tuple[tuple[str, str], list[str]]) -> str:
    return note[0][0]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
