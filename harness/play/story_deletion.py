"""The deletion part of a trial: what can be found before a forget, after it, and after closing and reopening.

Looks before the forget are controls: they show that each route and each layer can see the canary at all. They are
not charged to the backend. Looks at bytes after the forget come when the process that owned the files has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from harness.adapter import Hit, Scope
from harness.log.blobs import pack
from harness.log.events import Event, Forgot, Route, Scanned, Sought, Stage
from harness.log.parts import WEIGHTS
from harness.model.canary import memory_word, query_word
from harness.model.facts import CANARY, Fact
from harness.model.scenario import Forget, Scenario, Session
from harness.play.session import MemorySession
from harness.play.store import Handle
from harness.scan.needles import compile_needles

ROUTES: tuple[Route, ...] = ("search", "forbidden", "entries", "get", "history")


def forget(memory_session: MemorySession, session: Session, step: Forget) -> Iterator[Event]:
    """The controls, the deletes, and the first looks after them."""
    facts = [memory_session.scenario.by_id[name] for name in step.facts]
    yield from memory_session.settle(session)
    untold = memory_session.supports("extracts") or memory_session.trial.feed == "native"
    if untold and memory_session.supports("entries"):
        yield from _locate(memory_session, facts)
    yield from _look(memory_session, session, facts, "before")
    yield from _list_all(memory_session, facts, "before")
    yield from _scan(memory_session, "before")
    if not memory_session.supports("forget"):
        return
    for fact in facts:
        yield from _forget_fact(memory_session, session, fact)
    yield from memory_session.settle(session)
    yield from _look(memory_session, session, facts, "after")
    yield from _list_all(memory_session, facts, "after")


def play_aftermath(memory_session: MemorySession, session: Session) -> Iterator[Event]:
    """Close, look at the bytes, open a fresh process on the same store, look again through the interface."""
    if not (memory_session.supports("forget") and memory_session.supports("persistent")):
        return
    facts = [memory_session.scenario.by_id[name] for name in memory_session.scenario.forgotten]
    # it is asked before the process that counts is closed
    memory_session.note_usage()
    memory_session.go_on()
    memory_session.close()
    yield from _scan(memory_session, "after")
    memory_session.open()
    yield from _look(memory_session, session, facts, "reopened")
    yield from _list_all(memory_session, facts, "reopened")


def _locate(memory_session: MemorySession, facts: Sequence[Fact]) -> Iterator[Event]:
    """A backend may keep a text under ids that no write told: all that hold its canary are to go."""
    scenario, spoken = memory_session.scenario, memory_session.trial.feed == "native"
    places = [scenario.place(session) for session in scenario.sessions if spoken]
    for fact in facts:
        canary, name = memory_session.part.canaries[fact.id], f"fact:{fact.id}"
        wanted = partial(_holds, words=(query_word(canary), memory_word(canary)))
        for scope in dict.fromkeys([scenario.home(fact), *places]):
            held = yield from memory_session.entries(scope, "lookup", wanted)
            memory_session.places |= dict.fromkeys(held, scope)
            memory_session.ids[name] = tuple(dict.fromkeys((*memory_session.ids.get(name, ()), *held)))


def _holds(hit: Hit, words: Sequence[str]) -> bool:
    return any(word in hit.text for word in words)


def _forget_fact(memory_session: MemorySession, session: Session, fact: Fact) -> Iterator[Event]:
    """Deletes by the ids that `remember` returned, all of them where the backend split the text, and those located.

    Each where it was written: a session may have been on a branch to which the fact is not limited.
    """
    home, fault, took = memory_session.scenario.home(fact), None, 0.0
    ids = memory_session.ids.get(f"fact:{fact.id}", ())
    places, told = [memory_session.places.get(name, home) for name in ids], dict[int, bool]()
    for scope in dict.fromkeys(places) or (home,):
        own = [at for at, place in enumerate(places) if place == scope]
        # a fact that was split over scopes takes a call for each: a delete names one scope
        acknowledged, fault, seconds = memory_session.ask(partial(_ask_to_forget, scope, [ids[at] for at in own]))
        took += seconds
        if acknowledged is None:
            break
        told |= zip(own, acknowledged, strict=True)
        memory_session.alive.difference_update(ids[at] for at in own)
        memory_session.wrote()
    answered = None if fault else tuple(told[at] for at in range(len(ids)))
    yield Forgot(session=session.id, fact=fact.id, ids=ids, said=answered, fault=fault, took=took)
    memory_session.go_on()


def _ask_to_forget(scope: Scope, ids: Sequence[str], memory: Handle) -> list[bool]:
    return memory.forget(scope, ids)


def _look(memory_session: MemorySession, session: Session, facts: Sequence[Fact], stage: Stage) -> Iterator[Event]:
    for fact in facts:
        for route in ROUTES:
            if route in ("search", "forbidden") or memory_session.supports(route):
                yield from _seek_fact(memory_session, session, fact, route, stage)


def _seek_fact(
    memory_session: MemorySession, session: Session, fact: Fact, route: Route, stage: Stage
) -> Iterator[Event]:
    canary = memory_session.part.canaries[fact.id]
    texts, fault, took = memory_session.ask(_route(memory_session, session, fact, route))
    where = next((text for text in texts or () if memory_word(canary) in text), "")
    found = None if texts is None else bool(where)
    # a hit may be a whole file, and the log has only to show that it came
    yield Sought(stage=stage, route=route, fact=fact.id, found=found, where=where[:500], fault=fault, took=took)
    memory_session.go_on()


def _route(memory_session: MemorySession, session: Session, fact: Fact, route: Route) -> Callable[[Handle], list[str]]:
    """How one route asks; the answer is every text that it brought, of a listing those with the canary."""
    scope, ids = memory_session.scenario.home(fact), memory_session.ids.get(f"fact:{fact.id}", ())
    k, at, canary = memory_session.trial.k, session.at.isoformat(), memory_session.part.canaries[fact.id]
    queries = {"search": find_question(memory_session.scenario, fact), "forbidden": query_word(canary)}
    if route in queries:
        return lambda memory: [hit.text for hit in memory.recall(queries[route], scope, k, at)]
    if route == "entries":
        return lambda memory: _list_holding(memory, scope, memory_word(canary))
    if route == "get":
        return lambda memory: [hit.text for name in ids if (hit := memory.get(scope, name))]
    return lambda memory: [text for name in ids for text in memory.history(scope, name)]


def _list_holding(memory: Handle, scope: Scope, word: str) -> list[str]:
    """The listed texts that hold a word: the others are most of a large store, and are not kept."""
    found: list[str] = []
    memory.page_entries(scope, lambda page: found.extend(hit.text for hit in page if word in hit.text))
    return found


def find_question(scenario: Scenario, fact: Fact) -> str:
    """How the story asks for a fact: the first phrasing of a probe with this gold, else its own words."""
    for _, probe in scenario.probes():
        if fact.id in probe.gold:
            return probe.ask.phrasings()[0][1]
    return " ".join(fact.plain.text.replace(CANARY, " ").split())


def _list_all(memory_session: MemorySession, facts: Sequence[Fact], stage: Stage) -> Iterator[Event]:
    if not memory_session.supports("entries"):
        return
    for scope in dict.fromkeys(memory_session.scenario.home(fact) for fact in facts):
        yield from memory_session.entries(scope, stage)


def _scan(memory_session: MemorySession, stage: Stage) -> Iterator[Event]:
    needles = compile_needles(
        # the word that no query carries: the other may lie in a log of searches
        tuple((fact, memory_word(canary)) for fact, canary in memory_session.part.canaries.items())
    )
    for layer, declared, found in memory_session.scan(needles):
        yield Scanned(
            stage=stage,
            layer=layer,
            declared=declared,
            files=found.files,
            bytes=found.bytes,
            sightings=tuple(found.sightings),
            weights=pack(memory_session.tools.blobs, WEIGHTS, tuple(found.weights)),
            problem=found.problem,
        )
