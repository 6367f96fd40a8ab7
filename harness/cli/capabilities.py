"""What backends declare that they can do, as Markdown: a table of levels, and below it how and why not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from harness.adapter import CAPABILITIES
from harness.backend import client, interpreters, registry
from harness.backend.replies import Declaration
from harness.machine import leftovers
from harness.model.trial import Spec
from harness.play import controls
from harness.report.words import make_plain

SIGNS = {"native": "native", "emulated": "emulated", "unsupported": "-"}
EMBEDS = "`embeds`: needs the extra `embed`"
CLIENTS = "`clients`: languages in which an agent can use it"


def list_capabilities(specs: Iterable[Spec]) -> dict[str, Declaration]:
    """Label -> what it declares. Asks every adapter in a child of its own; imports no SDK.

    None of them needs to be installed, or a key. Raises RegistryError for a backend or a setting that nobody knows,
    MemoryFault for one that cannot say what it is.
    """
    found: dict[str, Declaration] = {}
    with leftovers.make_temporary() as home:
        for spec in specs:
            entry = registry.find(spec)
            # A control with gold has no adapter that could be asked.
            if entry.reference is None:
                found[spec.label] = Declaration(support=controls.describe(spec.adapter).support)
                continue
            launch = interpreters.make_launcher(spec)
            description = client.declare(entry.reference, home / str(len(found)), launch=launch, settings=spec.settings)
            registry.check_settings(spec, description.settings, description.problem)
            found[spec.label] = description
    return found


def write_markdown(declared: Mapping[str, Declaration]) -> str:
    """Backends as columns and capabilities as rows; then for each backend the notes, equal ones together."""
    support_by_row = {make_plain(label): each.support for label, each in declared.items()}
    lines = [
        _format_row("", *(f"`{label}`" for label in support_by_row)),
        _format_row(*["---"] * (len(support_by_row) + 1)),
    ]
    lines += [
        _format_row(f"`{name}`", *(SIGNS[support[name].level] for support in support_by_row.values()))
        for name in CAPABILITIES
    ]
    lines.append(_format_row(EMBEDS, *("yes" if each.embeds else "-" for each in declared.values())))
    lines.append(_format_row(CLIENTS, *(", ".join(map(make_plain, each.clients)) or "-" for each in declared.values())))
    for label, support in support_by_row.items():
        notes: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in CAPABILITIES:
            if support[name].note:
                notes[support[name].level, make_plain(" ".join(support[name].note.split()))].append(f"`{name}`")
        lines += ["", f"`{label}`", ""] if notes else []
        # by level alone: the sort is stable, so that notes of one level keep the order of CAPABILITIES
        lines += [
            f"- {level}: {', '.join(names)}: {note}" for (level, note), names in sorted(notes.items(), key=_level)
        ]
    return "\n".join(lines) + "\n"


def _level(note: tuple[tuple[str, str], list[str]]) -> str:
    return note[0][0]


def _format_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
