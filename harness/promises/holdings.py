"""What one store holds by the model, and whether what it shows is that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.adapter import Hit, Item, Scope, Source, applies
from harness.model.backend import Backend
from harness.model.sequence import UNKNOWN, Step
from harness.promises.memory_model import Differs, Held, normalise_moment, squeeze
from harness.promises.words import name_memory, name_scope, quote

RESPECTS = ("repo", "org", "branch", "user")


@dataclass
class Holdings:
    """The memories of one store.

    Attributes:
        held: Number -> memory, whatever became of it.
        marks: What was held at each snapshot, and the name that the backend gave it.
        made: Memories that were stored up to now.
    """

    backend: Backend
    held: dict[int, Held] = field(default_factory=dict)
    marks: list[tuple[str, dict[int, Held]]] = field(default_factory=list)
    made: int = 0
    _by_id: dict[str, list[int]] = field(default_factory=dict)

    def ids(self, *numbers: int) -> list[str]:
        """Ids of these memories; for one that was not stored, an id that nobody has."""
        return [(self.held[each].ids or (f"unknown-{each}",))[0] if each in self.held else f"unknown-{each}"
                for each in numbers]  # fmt: skip

    def mark(self, number: int) -> str:
        return self.marks[number][0]

    # --- what a hit may be ---

    def _check(self, hit: Hit, step: Step, belongs: Callable[[Held], bool], shown: str) -> None:
        """A hit is a live memory of the asked place, with its text and its fields."""
        held = self._find(hit)
        if held is None:
            if shown == "listed":
                raise Differs("unknown", f"{quote(hit.text)} is listed under an id that no write was acknowledged with")
            # a store may merge or split memories under new ids: only a text that may not be there is a leak
            text = squeeze(hit.text)
            lost = next((n for n, each in self.held.items() if not self._may(each, belongs)
                         and squeeze(each.item.text) in text), None)  # fmt: skip
            if lost is not None and not any(
                self._may(each, belongs) and squeeze(each.item.text) in text for each in self.held.values()
            ):
                raise Differs("leak", f"{self._explain_number(lost)} is {shown} in {name_scope(step.scope)}")
            return
        # a store may keep what was superseded, as long as it says so, and only where it held
        warned = held.state == "superseded" and hit.superseded
        if not self._may(held, belongs) and not (warned and belongs(held)):
            kind = "leak" if warned or held.state == "live" else held.state
            raise Differs(kind, f"{self._name(hit.memory_id)} is {shown} in {name_scope(step.scope)}")
        if held.state != "live" or held.open:
            return
        # a memory with several ids was split, and no part of it has the whole text
        if len(held.ids) == 1 and squeeze(held.item.text) not in squeeze(hit.text):
            raise Differs("text", f"{self._name(hit.memory_id)} is {shown} as {quote(hit.text)}")
        for name, wanted, seen in self._fields(held.item, hit):
            if wanted != seen:
                raise Differs(
                    f"field {name}", f"{self._name(hit.memory_id)} is {shown} with {name} {seen}, not {wanted}"
                )

    def _fields(self, item: Item, hit: Hit) -> Iterator[tuple[str, Any, Any]]:
        if self.backend.supports("source"):
            # a store may give back an empty source for none
            yield "source", item.source, hit.source if hit.source != Source() else None
            yield "confidence", item.confidence, hit.confidence
        if self.backend.supports("created"):
            yield "date", normalise_moment(item.at), normalise_moment(hit.created)
        if hit.scope is not None:
            own = [part for part in RESPECTS if self.backend.supports(f"scope_{part}")]
            wanted, seen = (Scope(**{part: getattr(scope, part) for part in own}) for scope in (item.scope, hit.scope))
            yield "scope", name_scope(wanted), name_scope(seen)

    def _must(self, held: Held) -> bool:
        return held.state == "live" and not held.open

    def _may(self, held: Held, belongs: Callable[[Held], bool]) -> bool:
        return (held.open or held.state == "live") and belongs(held)

    def _find(self, hit: Hit) -> Held | None:
        """The living memory among those with this id: an id may have been given again."""
        numbers = self._by_id.get(hit.memory_id, ())
        return self.held[self._holder(numbers[-1])] if numbers else None

    def _holder(self, number: int) -> int:
        """The memory that its id stands for now: an id may have been given again."""
        held = self.held.get(number)
        if held is None or held.state == "live" or not held.ids:
            return number
        same = self._by_id[held.ids[0]]
        return next((each for each in same if self.held[each].state == "live"), number)

    def _sees(self, number: int, place: Scope) -> bool:
        held = self.held[number]
        return held.state == "live" and applies(held.item.scope, place)

    # --- words ---

    def _name(self, memory_id: str) -> str:
        numbers = self._by_id.get(memory_id)
        return self._explain_number(self._holder(numbers[-1])) if numbers else f"the unknown id {quote(memory_id)}"

    def _explain_number(self, number: int) -> str:
        held = self.held[number]
        states = {"live": f" of {name_scope(held.item.scope)}", "gone": ", which is gone,",
                  "superseded": ", which was superseded,"}  # fmt: skip
        return name_memory(number) + states[held.state]

    def _explain_hidden(self, number: int, step: Step) -> str:
        if number == UNKNOWN or number not in self.held:
            return "an unknown id"
        held = self.held[number]
        if held.state != "live":
            return f"{name_memory(number)}, which is gone,"
        if applies(held.item.scope, step.scope):
            return f"{name_memory(number)}, with a blank text,"
        return f"{name_memory(number)} of {name_scope(held.item.scope)}, asked in {name_scope(step.scope)},"
