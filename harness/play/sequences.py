"""Plays a sequence of operations on an empty store, in real processes, and stops at the first difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from harness.adapter import to_wire
from harness.backend.client import RemoteMemory
from harness.backend.store import ChildStore
from harness.machine import leftovers
from harness.model.backend import Fault
from harness.model.sequence import ENDED, LATER, LOOKS, NOW, Answer, Step, Steps, make_filter, number_steps, write_text
from harness.play.store import SETTLE_SECONDS, Lost, Store, StoreSession, must
from harness.promises.hunt import Play
from harness.promises.oracle import CHANGED, Oracle
from harness.promises.program import list_calls

PLAYS = 3
"""How often a sequence is played whose calls we leave without vectors."""
WRITES = ("remember", "update", "supersede", "forget", "forget_scope", "restore", "reopen", "kill", "deprecate")


class UnansweredError(Exception):
    """No answer of a backend can be judged: those that it asked us for did not come in time."""


class SequencePlayer:
    """Gives every sequence an empty store of its own, which is removed afterwards.

    An answer that differs while we owed the backend its vectors is nobody's broken promise: the sequence is played
    again. So it is, once, where a deadline passed: a busy machine passes it now and then, who hangs passes it again.
    Raises UnansweredError if we are too late each time.
    """

    def __init__(
        self,
        store: ChildStore,
        warm: Callable[[Sequence[str]], None] = lambda _: None,
        notify: Callable[[Play], None] = lambda _: None,
    ) -> None:
        self._store, self._warm, self._heard, self._turn = store, warm, notify, count(1)

    def __call__(self, steps: Steps) -> Play:
        says = ""
        for turn in range(PLAYS):
            self._warm(list_texts(steps))
            before = self._store.unanswered()
            with self._lend() as store:
                played = play(store, steps)
            ours = self._store.unanswered() != before or (turn == 0 and _is_late(played))
            if played.differs is None or not ours:
                self._heard(played)
                return played
            says = played.differs.says
        raise UnansweredError(
            f"the embeddings that {self._store.backend.name} asked for came too late or failed, {PLAYS} times "
            f"({says}): nothing is judged; try again while the machine is less busy"
        )

    @contextmanager
    def _lend(self) -> Iterator[ChildStore]:
        store = self._store.beside(f"sequence-{next(self._turn)}")
        try:
            yield store
        finally:
            leftovers.remove(store.folder)


def _is_late(played: Play) -> bool:
    fault = played.answers[-1].fault if played.answers else None
    return fault is not None and (fault.kind == "timed-out" or fault.op == "settle")


def list_texts(steps: Steps) -> list[str]:
    """Every text that these steps write, so that no backend waits for an embedder."""
    texts, current = list[str](), dict[int, str]()
    for at, (step, stored) in enumerate(number_steps(steps)):
        # as the oracle makes them: by the memory named last, and by a number of its own for an update
        twin = current.get(step.of[-1], "") if step.of else ""
        made = {each: write_text(step.form, each, twin) for each in ([CHANGED + at] if step.op == "update" else stored)}
        texts += made.values()
        changed = step.op == "update"
        current |= dict.fromkeys(current.keys() & step.of[:1], made[CHANGED + at]) if changed else made
    # a blank text is not to be stored, so nobody embeds it
    return list(filter(str.strip, texts))


def print_program(store: ChildStore, played: Play) -> str:
    """What the play shows as a program against the backend's own SDK; "" if its adapter prints none."""
    calls = list_calls(played.steps, played.differs) if played.differs else []
    written = store.write_program(calls) if calls else ""
    head = f"# {store.backend.name} {store.backend.version}: {played.differs.says}\n" if played.differs else ""
    return head + written if written else ""


def play(store: Store[RemoteMemory], steps: Steps) -> Play:
    """Plays the steps on an empty store."""
    session = _SequenceSession(store)
    try:
        return session.play(steps)
    finally:
        session.abandon()


class _SequenceSession(StoreSession[RemoteMemory]):
    """One store. Handles are opened when first needed; what was written is waited for before anybody looks."""

    def __init__(self, store: Store[RemoteMemory]) -> None:
        super().__init__(store)
        self._oracle, self._unsettled, self._calls = Oracle(store.backend), set[str](), 0

    def play(self, steps: Steps) -> Play:
        answers: list[Answer] = []
        for at, step in enumerate(steps):
            answers.append(self._answer(at, step))
            if differs := self._oracle.take(at, step, answers[-1]):
                return Play(steps, tuple(answers), differs, self._calls)
        return Play(steps, tuple(answers), None, self._calls)

    def _answer(self, at: int, step: Step) -> Answer:
        try:
            if step.op in ("reopen", "kill"):
                self._calls += 1
                self._come_again(step)
                # of both, as what was written last may come late to either
                self._unsettled = {"a", "b"}
                return Answer()
            if step.who not in self._memories:
                must(lambda: self._enter(step.who))
            if step.op in WRITES:
                # both, as a write by one may reach the other later
                self._unsettled = {"a", "b"}
        except Lost as lost:
            return Answer(fault=lost.fault)
        if step.op in LOOKS and step.who in self._unsettled:
            settled = self.ask(lambda memory: memory.settle(SETTLE_SECONDS), step.who)
            if settled.fault or not settled.value:
                return Answer(fault=settled.fault) if settled.fault else _answer_unsettled()
            self._unsettled.discard(step.who)
        answer = self._ask(at, step)
        # a search may miss a memory once: only what two in a row lack is held against it
        if step.op in ("recall", "recall_where") and not answer.fault and self._oracle.misses(step, answer.value):
            again = self._ask(at, step)
            return again if again.fault else answer.model_copy(update={"again": again.value})
        return answer

    def _come_again(self, step: Step) -> None:
        """Closed, or killed, and opened in a new process."""
        if step.who in self._memories:
            if step.op == "kill":
                self._memories.pop(step.who).kill()
            else:
                must(lambda: self._leave(step.who))
        must(lambda: self._enter(step.who))

    def _ask(self, at: int, step: Step) -> Answer:
        self._calls += 1
        op, arguments = step.op, self._arguments(at, step)
        found = self.ask(lambda memory: getattr(memory, op)(*arguments), step.who)
        return Answer(value=to_wire(found.value), fault=found.fault)

    def _arguments(self, at: int, step: Step) -> tuple[Any, ...]:
        oracle, scope = self._oracle, step.scope
        match step.op:
            case "remember":
                return (oracle.items(at, step),)
            case "update":
                return scope, *oracle.ids(step.of[0]), *oracle.items(at, step)
            case "supersede":
                return scope, oracle.ids(*step.of), *oracle.items(at, step)
            case "forget":
                return scope, oracle.ids(*step.of)
            case "get" | "history":
                return scope, *oracle.ids(step.of[0])
            case "recall" | "recall_where":
                item = oracle.held[step.of[0]].item
                where = (make_filter(step.where, item),) if step.op == "recall_where" else ()
                return item.text, scope, step.k, NOW, *where
            case "deprecate":
                return scope, oracle.ids(*step.of), LATER if step.later else ENDED
            case "restore" | "snapshot":
                return tuple(map(oracle.mark, step.of))
            case _:
                return (scope,)


def _answer_unsettled() -> Answer:
    return Answer(fault=Fault(kind="breach", op="settle", message=f"not settled after {SETTLE_SECONDS:g} s"))
