"""What a store must answer: a plain model of the adapter contract, fed step by step with what a backend said.

Pure: the same steps and answers give the same verdict, while a backend is played and again from a log. Where the
contract leaves something open (an expired memory in a listing, how a superseded one is shown), any answer is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from harness.adapter import Item, Scope, applies, fits
from harness.model.backend import Backend
from harness.model.sequence import LOOKS, Answer, Difference, Step, Steps, make_filter, make_item
from harness.promises.holdings import Holdings
from harness.promises.memory_model import (
    Differs,
    Held,
    fold,
    read_hit,
    read_hits,
    read_list,
    read_object,
    squeeze,
)
from harness.promises.words import name_memory, quote

CHANGED = 100_000
"""Numbers of texts that updates write begin here."""


class Oracle(Holdings):
    """What is held after each step, and what is wrong with its answer."""

    def take(self, at: int, step: Step, answer: Answer) -> Difference | None:
        """What is wrong with this answer; None if it is what the contract promises."""
        if answer.fault and answer.fault.kind == "limit" and step.op in LOOKS:
            return None  # the answer is longer than we read: nobody knows whether it was right
        try:
            if answer.fault:
                why = " ".join(answer.fault.message.split())[:300]
                raise Differs(f"fault {answer.fault.kind}", f"{answer.fault.op} {answer.fault.kind}: {why}")
            _TAKE[step.op](self, at, step, answer)
        except Differs as difference:
            return Difference(at=at, kind=difference.kind, says=difference.says)
        except (KeyError, TypeError, ValueError) as error:
            return Difference(at=at, kind="form", says=f"{step.op} answered in another form: {str(error)[:200]}")
        return None

    # --- what adapters are asked with ---

    def items(self, at: int, step: Step) -> list[Item]:
        """The memories that a step writes."""
        twin = self.held[step.of[-1]].item.text if step.of and step.of[-1] in self.held else ""
        return make_items(at, step, self._new(step), twin, self._scope_of(step))

    def _scope_of(self, step: Step) -> Scope:
        """An update leaves a memory where it is."""
        found = self.held.get(step.of[0]) if step.op == "update" else None
        return found.item.scope if found else step.scope

    def _new(self, step: Step) -> range:
        return range(self.made, self.made + step.stores)

    # --- writes ---

    def _remember(self, at: int, step: Step, answer: Answer) -> None:
        acks, items = [tuple(ack["ids"]) for ack in read_list(answer)], self.items(at, step)
        self._store(dict(zip(self._new(step), zip(items, acks, strict=True), strict=True)))

    def _store(self, new: Mapping[int, tuple[Item, tuple[str, ...]]]) -> None:
        """Takes note of what was acknowledged. A deleted memory's id may come again for the very same content."""
        known, dead = dict[str, int](), dict[str, int]()
        for number, held in self.held.items():
            (known if held.state == "live" else dead).update(dict.fromkeys(held.ids, number))
        self.made += len(new)
        for number, (item, ids) in new.items():
            self.held[number] = Held(item, ids, "live" if ids else "gone")
            for name in ids:
                self._by_id.setdefault(name, []).append(number)
        for number, (item, ids) in new.items():
            blank = not item.text.strip()
            if blank and ids:
                raise Differs("blank", f"a blank text was stored under {quote(ids[0])}")
            if not blank and not ids:
                raise Differs("not stored", f"{name_memory(number)} was not stored: it was acknowledged with no id")
            for name in ids:
                self._check_id(number, name, known, dead)
                known[name] = number

    def _check_id(self, number: int, name: str, known: Mapping[str, int], dead: Mapping[str, int]) -> None:
        if name in known:
            what = f"{name_memory(number)} was acknowledged with the id of {name_memory(known[name])}"
            raise Differs("shared id", what)
        if name in dead and self.held[dead[name]].item.text != self.held[number].item.text:
            what = f"{name_memory(number)} was acknowledged with the id of {name_memory(dead[name])}"
            raise Differs("reissued id", f"{what}, which was deleted: who still has it now reads another")

    def _update(self, at: int, step: Step, answer: Answer) -> None:
        number, (item,) = self._holder(step.of[0]), self.items(at, step)
        old, ids = self.held.get(number), tuple(read_object(answer)["ids"])
        if old is not None and (old.open or old.state == "superseded"):
            return  # its text is then anybody's guess; it stays open
        if old is None or not self._sees(number, step.scope) or not item.text.strip():
            if ids:
                raise Differs("updated", f"{self._explain_hidden(number, step)} was updated: {quote(ids[0])}")
            return
        if not ids and old.expired:
            return  # a store may treat what has ended as gone
        # a memory that was split may be split anew, into parts with other ids
        if set(ids) != set(old.ids) and len(old.ids) == 1:
            what = f"with {quote(ids[0])}" if ids else "with no id"
            raise Differs("not updated", f"the update of {name_memory(number)} was acknowledged {what}, not its own")
        self.held[number] = replace(old, item=item, earlier=(*old.earlier, old.item.text), ended=False)

    def _supersede(self, at: int, step: Step, answer: Answer) -> None:
        (item,), ids = self.items(at, step), tuple(read_object(answer)["ids"])
        native = self.backend.support["supersede"].level == "native"
        if item.text.strip():
            for number in map(self._holder, step.of):
                if number in self.held and self._sees(number, step.scope):
                    self.held[number] = replace(self.held[number], state="superseded", open=False)
                    if not native:  # deleted, from the marks too or not
                        self._open_in_marks(number)
        self._store({self.made: (item, ids)})

    def _forget(self, at: int, step: Step, answer: Answer) -> None:
        answers = read_list(answer)
        for target, gone in zip(step.of, answers, strict=True):
            number = self._holder(target)
            old = self.held.get(number)
            # the contract does not say whether it is still there to be forgotten
            if old is not None and (old.open or old.state == "superseded"):
                self.held[number] = replace(old, state="gone") if gone else old
                self._open_in_marks(number)
                continue
            there = old is not None and self._sees(number, step.scope)
            if there and not gone:
                raise Differs("not forgotten", f"forget of {name_memory(number)} said False; it was there")
            if gone and not there:
                raise Differs("claimed", f"forget of {self._explain_hidden(number, step)} said True")
            if there:
                self._erase(number)

    def _deprecate(self, at: int, step: Step, answer: Answer) -> None:
        for target, marked in zip(step.of, read_list(answer), strict=True):
            number = self._holder(target)
            old = self.held.get(number)
            if old is not None and (old.open or old.state == "superseded"):
                continue
            there = old is not None and self._sees(number, step.scope)
            if marked and not there:
                raise Differs("claimed", f"deprecate of {self._explain_hidden(number, step)} said True")
            if old is None or not there:
                continue
            # of what has ended already, a store may say that there is nothing to mark
            if not marked and old.current:
                raise Differs("not marked", f"deprecate of {name_memory(number)} said False; it was there")
            if marked:  # what ended earlier stays so
                self.held[number] = replace(old, ended=old.ended or not step.later)

    def _forget_scope(self, at: int, step: Step, answer: Answer) -> None:
        for number in [*self.held]:
            if self.held[number].item.scope == step.scope:
                self._erase(number)

    def _erase(self, number: int) -> None:
        self.held[number] = replace(self.held[number], state="gone", open=False)
        for _, held in self.marks:
            if number in held:
                held[number] = replace(held[number], state="gone", open=False)

    def _open_in_marks(self, number: int) -> None:
        for _, held in self.marks:
            if number in held:
                held[number] = replace(held[number], open=True)

    def _snapshot(self, at: int, step: Step, answer: Answer) -> None:
        # a copy: of what changes later, only what is forgotten changes in a mark
        self.marks.append((str(answer.value), dict(self.held)))

    def _restore(self, at: int, step: Step, answer: Answer) -> None:
        """What came after the mark is gone; what was forgotten since stays so. Its ids may come again."""
        marked = self.marks[step.of[0]][1]
        self.held = {
            number: marked.get(number) or replace(held, ids=(), state="gone", open=False)
            for number, held in self.held.items()
        }

    def _change_nothing(self, at: int, step: Step, answer: Answer) -> None:
        """A process that came and went changes nothing."""

    # --- looks ---

    def _entries(self, at: int, step: Step, answer: Answer) -> None:
        hits = read_hits(answer.value)
        names = [hit.memory_id for hit in hits]
        shown_ids = set(names)
        if twice := next((name for name, times in Counter(names).items() if times > 1), None):
            raise Differs("twice", f"{self._name(twice)} is listed twice")
        for hit in hits:
            self._check(hit, step, lambda held: held.item.scope == step.scope, "listed")
        for number, held in self.held.items():
            if (
                self._must(held)
                and not held.expired
                and held.item.scope == step.scope
                and shown_ids.isdisjoint(held.ids)
            ):
                shown = f"{len(hits)} memories" if hits else "nothing"
                raise Differs("missing", f"{name_memory(number)} is not listed there; the list shows {shown}")

    def _get(self, at: int, step: Step, answer: Answer) -> None:
        number = self._holder(step.of[0])
        hit = read_hit(answer.value) if answer.value is not None else None
        held = self.held.get(number)
        if hit is None:
            if held and self._must(held) and not held.expired and self._sees(number, step.scope):
                raise Differs("missing", f"get of {name_memory(number)} shows nothing; it was stored there")
            return
        self._check(hit, step, lambda other: applies(other.item.scope, step.scope), "shown")
        if held is None or hit.memory_id not in held.ids:
            raise Differs("other", f"get of {name_memory(number)} shows {self._name(hit.memory_id)}")

    def _history(self, at: int, step: Step, answer: Answer) -> None:
        number = self._holder(step.of[0])
        texts, held = [str(each) for each in read_list(answer)], self.held.get(number)
        if held is None or held.open or held.state != "live":
            if held is None and texts:
                raise Differs("leak", f"the history of an unknown id tells {quote(texts[0])}")
            return
        if not self._sees(number, step.scope):
            if texts:
                raise Differs("leak", f"the history of {self._explain_hidden(number, step)} tells {quote(texts[0])}")
            return
        for wanted in (*held.earlier, held.item.text):
            if not any(squeeze(wanted) in squeeze(each) for each in texts):
                word = "an earlier" if wanted != held.item.text else "its"
                raise Differs("history", f"the history of {name_memory(number)} lacks {word} text {quote(wanted)}")

    def _recall(self, at: int, step: Step, answer: Answer) -> None:
        """Judges a recall by the own text of a memory: nothing that does not hold there, and itself, unless asking
        again brings it.
        """
        (number,) = step.of
        hits, where = read_hits(answer.value), make_filter(step.where, self.held[number].item)
        for hit in hits:
            self._check(hit, step, lambda other: applies(other.item.scope, step.scope), "recalled")
            found = self._find(hit)
            if found is None or found.state != "live" or found.open:
                continue  # its text and end are a guess
            if found.expired and self.backend.supports("expiry"):
                raise Differs("expired", f"{self._name(hit.memory_id)} is recalled after its end")
            if found.ended and not hit.warned:
                raise Differs("ended", f"{self._name(hit.memory_id)} is recalled as current; it was marked as ended")
            if not fits(found.item, where):
                raise Differs("filter", f"{self._name(hit.memory_id)} is recalled, whose fields the filter excludes")
        if self.backend.supports("ranked"):
            if len(hits) > step.k:
                raise Differs("many", f"{len(hits)} hits came; {step.k} were asked for")
            scores = [hit.score for hit in hits if hit.score is not None]
            if any(left < right - 1e-6 for left, right in pairwise(scores)):
                raise Differs("scores", "scores rise along the ranking: the best is said to come first")
        if self.misses(step, answer.value) and self.misses(step, answer.again):
            raise Differs("not found", f"{name_memory(number)} is not recalled by its own text, asked twice")

    def misses(self, step: Step, value: Any) -> bool:
        """Whether a search by own text lacks a memory that it had to bring; no more alike there than it returns."""
        held = self.held.get(step.of[0])
        if held is None or not self._must(held) or not held.current or not applies(held.item.scope, step.scope):
            return False
        alike = fold(held.item.text)
        rivals = sum(
            fold(other.item.text) == alike and other.state == "live" and applies(other.item.scope, step.scope)
            for other in self.held.values()
        )
        hits = read_hits(value or [])
        text = squeeze(held.item.text)
        return rivals < step.k and not any(hit.memory_id in held.ids or text in squeeze(hit.text) for hit in hits)


def make_items(at: int, step: Step, numbers: range, twin: str, scope: Scope) -> list[Item]:
    """The memories that a step at this place of its sequence writes, under these numbers.

    Args:
        twin: The text of the memory that it names last.
        scope: Of what it writes.
    """
    if step.op == "update":
        return [make_item(step.form, CHANGED + at, scope, twin)]
    return [make_item(step.form, number, scope, twin) for number in numbers]


_TAKE: Mapping[str, Callable[[Oracle, int, Step, Answer], None]] = {
    "remember": Oracle._remember,
    "update": Oracle._update,
    "supersede": Oracle._supersede,
    "forget": Oracle._forget,
    "forget_scope": Oracle._forget_scope,
    "entries": Oracle._entries,
    "get": Oracle._get,
    "history": Oracle._history,
    "recall": Oracle._recall,
    "reopen": Oracle._change_nothing,
    "kill": Oracle._change_nothing,
    "snapshot": Oracle._snapshot,
    "restore": Oracle._restore,
    "deprecate": Oracle._deprecate,
    "recall_where": Oracle._recall,
}


def judge(backend: Backend, steps: Steps, answers: Sequence[Answer]) -> Difference | None:
    """The first difference among answers that were recorded."""
    oracle = Oracle(backend)
    # there may be fewer answers than steps: a play stops at its first difference
    differences = (oracle.take(at, step, answer) for at, (step, answer) in enumerate(zip(steps, answers, strict=False)))
    return next(filter(None, differences), None)
