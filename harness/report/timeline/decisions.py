"""How the readers of a trial took one decision, and by what each came to its value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.log.parts import Choice
from harness.report.timeline.nodes import Node, draw_note, draw_verdict, make_node, show


@dataclass(frozen=True)
class DecisionTaken:
    """How one or several readers took a decision. bad: acted on what held no longer, or never held here."""

    who: tuple[str, ...]
    verdict: str
    value: str
    origin: str

    @property
    def bad(self) -> bool:
        return self.verdict in ("stale", "lure", "failed")


def merge_alike(taken: Iterator[tuple[str, DecisionTaken]]) -> Iterator[DecisionTaken]:
    """Readers that took it alike stand in one row."""
    groups: dict[DecisionTaken, list[str]] = {}
    for who, each in taken:
        # Nobody stands in `who` yet, so what several readers did alike is equal.
        groups.setdefault(each, []).append(who)
    return (DecisionTaken(tuple(who), each.verdict, each.value, each.origin) for each, who in groups.items())


def draw_reader(taken: DecisionTaken, cls: str) -> Node:
    value = make_node("div", "", make_node("bdi", "", taken.value), draw_note(taken.origin))
    return make_node(
        "li", cls, make_node("span", "who", ", ".join(taken.who)), " ", draw_verdict(taken.verdict), " ", value
    )


def describe_origin(choice: Choice | None) -> str:
    if choice is None or choice.origin == "nowhere":
        return "left open" if choice is None or choice.value is None else "guessed: nothing that it was shown names it"
    after = f", after the job's command refused {show(', '.join(choice.refused), 200)}" if choice.refused else ""
    if choice.origin == "run":
        return f"from what {show(choice.path or 'a command', 200)} printed{after}"
    if choice.origin == "memory":
        return f"from memory{f', entry {choice.entry + 1}' if choice.entry is not None else ''}{after}"
    at = f"{choice.path}:{choice.line}" if choice.line is not None else choice.path or "somewhere"
    return f"from the repository, {show(at, 200)}{after}"
