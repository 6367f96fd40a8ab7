"""The deletion part of a trial: what can be found before a forget, after it, and after closing and reopening.

Looks before the forget are controls: they show that each route and each layer can see the canary at all. They are
not charged to the backend. Looks at bytes after the forget come when the process that owned the files has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.log.events import Event, Forgot, Route, Scanned, Sought, Stage
from harness.model.canary import asked, kept
from harness.model.scenario import CANARY, Fact, Forget, Scenario, Session
from harness.play.session import Exchange, Handle
from harness.scan.needles import compiled

ROUTES: tuple[Route, ...] = ("search", "forbidden", "entries", "get", "history")


def forget(exchange: Exchange, session: Session, step: Forget) -> Iterator[Event]:
    """The controls, the deletes, and the first looks after them."""
    facts = [exchange.scenario.by_id[name] for name in step.facts]
    yield from exchange.settle(session)
    if exchange.supports("extracts") and exchange.supports("entries"):
        yield from _located(exchange, facts)
    yield from _look(exchange, session, facts, "before")
    yield from _listed(exchange, facts, "before")
    yield from _scanned(exchange, "before")
    if not exchange.supports("forget"):
        return
    for fact in facts:
        yield from _forgotten(exchange, session, fact)
    yield from exchange.settle(session)
    yield from _look(exchange, session, facts, "after")
    yield from _listed(exchange, facts, "after")


def aftermath(exchange: Exchange, session: Session) -> Iterator[Event]:
    """Close, look at the bytes, open a fresh process on the same store, look again through the interface."""
    if not (exchange.supports("forget") and exchange.supports("persistent")):
        return
    facts = [exchange.scenario.by_id[name] for name in exchange.scenario.forgotten]
    exchange.note_usage()
    exchange.go_on()
    exchange.close()
    yield from _scanned(exchange, "after")
    exchange.open()
    yield from _look(exchange, session, facts, "reopened")
    yield from _listed(exchange, facts, "reopened")


def _located(exchange: Exchange, facts: Sequence[Fact]) -> Iterator[Event]:
    """A model inside may keep a text under ids that no write told: all that hold its canary are to go."""
    for fact in facts:
        canary, name = exchange.part.canaries[fact.id], f"fact:{fact.id}"
        listed = yield from exchange.entries(exchange.scenario.home(fact), "lookup")
        held = (hit.memory_id for hit in listed if asked(canary) in hit.text or kept(canary) in hit.text)
        exchange.ids[name] = tuple(dict.fromkeys((*exchange.ids.get(name, ()), *held)))


def _forgotten(exchange: Exchange, session: Session, fact: Fact) -> Iterator[Event]:
    """By the ids that `remember` returned, all of them where the backend split the text, and those located."""
    ids = exchange.ids.get(f"fact:{fact.id}", ())
    said, fault, took = exchange.ask(lambda memory: memory.forget(exchange.scenario.home(fact), ids))
    if said is not None:
        exchange.alive.difference_update(ids)
        exchange.wrote()
    yield Forgot(
        session=session.id, fact=fact.id, ids=ids, said=None if said is None else tuple(said), fault=fault, took=took
    )
    exchange.go_on()


def _look(exchange: Exchange, session: Session, facts: Sequence[Fact], stage: Stage) -> Iterator[Event]:
    for fact in facts:
        for route in ROUTES:
            if route in ("search", "forbidden") or exchange.supports(route):
                yield from _sought(exchange, session, fact, route, stage)


def _sought(exchange: Exchange, session: Session, fact: Fact, route: Route, stage: Stage) -> Iterator[Event]:
    canary = exchange.part.canaries[fact.id]
    texts, fault, took = exchange.ask(_route(exchange, session, fact, route))
    where = next((text for text in texts or () if kept(canary) in text), "")
    found = None if texts is None else bool(where)
    yield Sought(stage=stage, route=route, fact=fact.id, found=found, where=where[:500], fault=fault, took=took)
    exchange.go_on()


def _route(exchange: Exchange, session: Session, fact: Fact, route: Route) -> Callable[[Handle], list[str]]:
    """How one route asks; the answer is every text that it brought."""
    scope, ids = exchange.scenario.home(fact), exchange.ids.get(f"fact:{fact.id}", ())
    k, at, canary = exchange.trial.k, session.at.isoformat(), exchange.part.canaries[fact.id]
    queries = {"search": question(exchange.scenario, fact), "forbidden": asked(canary)}
    if route in queries:
        return lambda memory: [hit.text for hit in memory.recall(queries[route], scope, k, at)]
    if route == "entries":
        return lambda memory: [hit.text for hit in memory.entries(scope)]
    if route == "get":
        return lambda memory: [hit.text for name in ids if (hit := memory.get(scope, name))]
    return lambda memory: [text for name in ids for text in memory.history(scope, name)]


def question(scenario: Scenario, fact: Fact) -> str:
    """How the story asks for a fact: the first phrasing of a probe with this gold, else its own words."""
    for _, probe in scenario.probes():
        if fact.id in probe.gold:
            return probe.ask.phrasings()[0][1]
    return " ".join(fact.plain.text.replace(CANARY, " ").split())


def _listed(exchange: Exchange, facts: Sequence[Fact], stage: Stage) -> Iterator[Event]:
    if not exchange.supports("entries"):
        return
    for scope in dict.fromkeys(exchange.scenario.home(fact) for fact in facts):
        yield from exchange.entries(scope, stage)


def _scanned(exchange: Exchange, stage: Stage) -> Iterator[Event]:
    needles = compiled(tuple((fact, kept(canary)) for fact, canary in exchange.part.canaries.items()))
    for layer, declared, found in exchange.looks(needles):
        yield Scanned(
            stage=stage,
            layer=layer,
            declared=declared,
            files=found.files,
            bytes=found.bytes,
            sightings=tuple(found.sightings),
            problem=found.problem,
        )
