"""Checks of what is declared, written and asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from harness.adapter import Operation, Scope, Usage
from harness.backend.client import MemoryFault, RemoteMemory
from harness.conformance.bench import (
    AT,
    SHOP,
    SOURCE,
    Bench,
    Broken,
    check,
    equal,
    expect,
    find,
    holds,
    make_item,
    remember_ids,
)

SHIP = "Deploy with scripts/ship --target blimp, never by hand."
ODD = (
    'It\'s "quoted" and `ticked`; DROP TABLE memories; --',
    "Zażółć gęślą jaźń \U0001f9ca naïve \u05d0\u05d1 {{ 7 * 7 }} ${HOME} %s",
    "first line\nsecond line\twith a tab",
    "<script>alert(1)</script> & \\u0041 \\n",
)
QUERIES = ('"', "NOT AND OR *", "(a OR b", "col:x NEAR/3 y", "%_%", "'; --", "ship " * 1000, "\U0001f9ca", "?")


# --- what is declared -------------------------------------------------------------------------------------------------


@check()
def says_what_it_is(bench: Bench) -> None:
    """names itself, its version and every capability; what is not native says how or why"""
    description = bench.declaration
    expect(bool(description.name.strip()) and bool(description.version.strip()), "name or version is empty")
    bare = [name for name, support in description.support.items() if support.level != "native" and not support.note]
    expect(not bare, f"no note for {', '.join(bare)}")


@check(bare=True)
def says_whether_it_needs_vectors(bench: Bench) -> None:
    """asks for vectors if it declares `embeds`, and else only where `space.dims` is not 0, and finds without them"""
    try:
        with bench.open() as memory:
            memory.remember([make_item(SHIP)])
            memory.settle(20)
            hits = find(memory, SHIP)
    except MemoryFault as error:
        if bench.embeds or error.fault.kind == "machine":
            raise
        sentence = f"without an embedder (space.dims is 0): {error}; an adapter that needs one declares embeds = True"
        raise Broken(sentence) from None
    uses_vectors = bool(bench.meter.counts())
    lacks = bench.embeds or not bench.offers("persistent", "ranked")
    expect(lacks or holds(hits, SHIP), "without an embedder (space.dims is 0) it finds no text by its own words")
    expect(uses_vectors or not bench.embeds, "embeds is declared, and it asked for no vector")
    expect(
        bench.embeds or not uses_vectors, "it asked for vectors though space.dims is 0: embeds = True, if it needs them"
    )


def _list_calls(memory: RemoteMemory) -> dict[str, tuple[Any, ...]]:
    # a mark that nobody gave makes restore fail, which says nothing of what is declared
    mark = memory.snapshot() if memory.description.support["snapshot"].supported else "x"
    return {
        "entries": (SHOP,), "get": (SHOP, "x"), "history": (SHOP, "x"), "update": (SHOP, "x", make_item(SHIP)),
        "supersede": (SHOP, [], make_item(SHIP)), "deprecate": (SHOP, ["x"], AT),
        "forget": (SHOP, ["x"]), "forget_scope": (SHOP,),
        "snapshot": (), "restore": (mark,), "observe": ([], SHOP, AT, "monday"),
    }  # fmt: skip


@check()
def refuses_what_it_declares_unsupported(bench: Bench) -> None:
    """raises Unsupported for every operation that it declares as unsupported, and for no other"""
    with bench.open() as memory:
        for name, arguments in _list_calls(memory).items():
            try:
                getattr(memory, name)(*arguments)
                refused = False
            except MemoryFault as error:
                if error.fault.kind != "refused":
                    raise
                refused = True
            equal(refused, not bench.offers(name), f"{name} refused")


@check()
def compacts_or_refuses(bench: Bench) -> None:
    """compacts a store that nobody has open and keeps what is in it, or refuses as declared"""
    with bench.open() as memory:
        memory.remember([make_item(SHIP)])
    try:
        bench.site.compact()
    except MemoryFault as error:
        if error.fault.kind != "refused" or bench.offers("compact"):
            raise
        return
    expect(bench.offers("compact"), "it compacts although it declares that it cannot")
    with bench.open() as memory:
        expect(holds(find(memory, SHIP), SHIP), "after compacting it no longer finds what it held")


@check("usage")
def counts_its_own_models(bench: Bench) -> None:
    """tells what models inside used, zeros if there is none"""
    with bench.open() as memory:
        expect(isinstance(memory.usage(), Usage), "usage is declared and answers nothing")


@check()
def claims_no_other_operation(bench: Bench) -> None:
    """declares every operation of the protocol"""
    missing = [name for name in get_args(Operation) if name not in bench.declaration.support]
    expect(not missing, f"not declared: {', '.join(missing)}")


# --- what is written --------------------------------------------------------------------------------------------------


@check()
def acknowledges_each_item(bench: Bench) -> None:
    """answers one acknowledgement for each item, in order, and none for an empty batch"""
    with bench.open() as memory:
        equal(
            # a blank one among them, as who leaves it out would answer two
            len(memory.remember([make_item(SHIP), make_item(""), make_item("Invoices are numbered.")])),
            3,
            "acknowledgements",
        )
        equal(memory.remember([]), [], "an empty batch")


@check("persistent")
def gives_each_item_its_own_id(bench: Bench) -> None:
    """stores different texts under different ids"""
    with bench.open() as memory:
        names = remember_ids(memory, *(make_item(f"Rule {at} of the shop.") for at in range(20)))
        equal(len({*names}), 20, "different ids")
        expect(all(names), "an id is empty")


@check()
def stores_no_blank_text(bench: Bench) -> None:
    """acknowledges a blank text with no id and stores nothing"""
    with bench.open() as memory:
        acks = memory.remember([make_item(""), make_item(" \n ")])
        equal([ack.ids for ack in acks], [(), ()], "ids of blank texts")
        if bench.offers("entries"):
            equal(memory.entries(SHOP), [], "listing")


@check("persistent", "supersede", "entries")
def replaces_nothing_by_a_blank_text(bench: Bench) -> None:
    """acknowledges a blank successor with no id and leaves what it was to replace"""
    with bench.open() as memory:
        old = remember_ids(memory, make_item(SHIP))
        equal(memory.supersede(SHOP, old, make_item(" \n ")).ids, (), "ids of a blank successor")
        memory.settle(20)
        expect(holds([hit for hit in memory.entries(SHOP) if not hit.superseded], "blimp"), "it is replaced")


@check("persistent", "entries", verbatim=True)
def keeps_odd_texts(bench: Bench) -> None:
    """gives quotes, line ends, other scripts and template syntax back as they were"""
    with bench.open() as memory:
        memory.remember([make_item(text) for text in ODD])
        listed = memory.entries(SHOP)
        for text in ODD:
            expect(holds(listed, text), f"lost or changed: {text!r}")


@check("persistent", "entries", verbatim=True)
def keeps_long_texts(bench: Bench) -> None:
    """gives a text of 10,000 characters back whole"""
    # no blank at the end, which a store may trim
    text = " ".join(f"word{at}" for at in range(1200))[:10_000].rstrip()
    with bench.open() as memory:
        memory.remember([make_item(text)])
        expect(holds(memory.entries(SHOP), text), "the text was cut or changed")


@check("persistent", "entries")
def takes_large_batches(bench: Bench) -> None:
    """stores 300 items of one batch and lists them all"""
    with bench.open() as memory:
        names = remember_ids(memory, *(make_item(f"Fact number {at} is here.") for at in range(300)))
        equal({hit.memory_id for hit in memory.entries(SHOP)} >= {*names}, True, "all listed")


@check("persistent", "entries")
def takes_equal_texts_twice(bench: Bench) -> None:
    """acknowledges a text that it holds already"""
    with bench.open() as memory:
        first, second = memory.remember([make_item(SHIP)]), memory.remember([make_item(SHIP)])
        known = bench.offers("extracts") or bool(second[0].ids)  # nothing new in it: there may be no fact to store
        expect(bool(first[0].ids) and known, "an equal text was not acknowledged")
        expect(holds(memory.entries(SHOP), SHIP), "it is not listed")


@check()
def settles(bench: Bench) -> None:
    """says when recall sees every acknowledged write"""
    with bench.open() as memory:
        memory.remember([make_item(SHIP)])
        equal(memory.settle(20), True, "settle")


# --- what is asked ----------------------------------------------------------------------------------------------------


@check("persistent")
def finds_what_it_was_told(bench: Bench) -> None:
    """brings a text for its own words, first where it ranks, however old its neighbours are"""
    older, newer = "2025-01-01T10:00:00+00:00", "2026-06-01T10:00:00+00:00"
    with bench.open() as memory:
        memory.remember([
            replace(make_item("Deploy with scripts/ship --target raft, by hand."), at=older),
            make_item(SHIP),
            replace(make_item("Deploy with scripts/ship --target barge, by hand."), at=newer),
        ])  # fmt: skip
        memory.settle(20)
        hits = find(memory, SHIP)
        expect(holds(hits, SHIP), "not found")
        expect(not bench.offers("ranked") or SHIP in hits[0].text, "not the first")


@check("persistent", "ranked")
def keeps_to_k(bench: Bench) -> None:
    """brings at most k hits, and each memory once"""
    with bench.open() as memory:
        memory.remember([make_item(f"ship number {at}") for at in range(12)])
        memory.settle(20)
        # the last is more than it holds
        for k in (1, 5, 50):
            hits = find(memory, "ship number 7", k=k)
            expect(bool(hits), f"nothing for k = {k}")
            expect(len(hits) <= k, f"{len(hits)} hits for k = {k}")
            equal(len({hit.memory_id for hit in hits}), len(hits), "different memories")


@check("persistent", "ranked")
def scores_fall(bench: Bench) -> None:
    """gives scores, where it gives any, that never rise"""
    with bench.open() as memory:
        memory.remember(
            [make_item(SHIP), make_item("Ship on Mondays."), make_item("The port is 8080."), make_item("Who deploys?")]
        )
        memory.settle(20)
        scores = [hit.score for hit in find(memory, "ship to the target") if hit.score is not None]
        equal(scores, sorted(scores, reverse=True), "scores")


@check()
def knows_nothing_when_new(bench: Bench) -> None:
    """brings nothing out of an empty store"""
    with bench.open() as memory:
        equal(find(memory, "anything"), [], "hits")
        if bench.offers("entries"):
            equal(memory.entries(SHOP), [], "listing")


@check()
def survives_hostile_queries(bench: Bench) -> None:
    """answers operators, quotes, blanks and long questions without an error"""
    with bench.open() as memory:
        memory.remember([make_item(SHIP)])
        for query in (*QUERIES, "", "   "):
            find(memory, query)


@check("persistent")
def answers_alike(bench: Bench) -> None:
    """answers the same question twice alike, and asking changes nothing"""
    with bench.open() as memory:
        memory.remember([make_item(f"Rule {at}: ship to dock {at % 3}.") for at in range(12)])
        memory.settle(20)
        first = [(hit.memory_id, hit.text) for hit in find(memory, "Which dock?")]
        listed = memory.entries(SHOP) if bench.offers("entries") else None
        equal([(hit.memory_id, hit.text) for hit in find(memory, "Which dock?")], first, "the second answer")
        if listed is not None:
            equal(memory.entries(SHOP), listed, "the listing after asking")


# --- what is kept beside the text -------------------------------------------------------------------------------------


@check("persistent", "source", "entries")
def keeps_sources(bench: Bench) -> None:
    """returns source and confidence as they were written, and invents none"""
    with bench.open() as memory:
        with_, without = remember_ids(
            memory, make_item(SHIP, source=SOURCE, confidence=0.75), make_item("The port is 8080.")
        )
        listed = {hit.memory_id: hit for hit in memory.entries(SHOP)}
        expect({with_, without} <= {*listed}, "what was acknowledged is not listed")
        for hit in [listed[with_], *(hit for hit in find(memory, SHIP) if hit.memory_id == with_)]:
            equal((hit.source, hit.confidence), (SOURCE, 0.75), "source and confidence")
        equal((listed[without].source, listed[without].confidence), (None, None), "what was written without")


@check("persistent", "created", "entries")
def keeps_dates(bench: Bench) -> None:
    """returns the moment that was written"""
    with bench.open() as memory:
        memory.remember([make_item(SHIP)])
        for hit in memory.entries(SHOP):
            try:
                # as moments, since a store may give one back in another zone
                same = datetime.fromisoformat(hit.created or "") == datetime.fromisoformat(AT)
            except ValueError:
                same = False
            expect(same, f"created is {hit.created!r}, written was {AT!r}")


@check("persistent", "scope_repo", "entries")
def keeps_scopes(bench: Bench) -> None:
    """returns the scope that was written"""
    parts = ("org", "repo", "branch", "user")
    whole = {"org": "acme", "repo": "storefront", "branch": "release/2 b", "user": "dana@example.com"}
    scope = Scope(**{part: whole[part] for part in parts if bench.offers(f"scope_{part}")})
    with bench.open() as memory:
        memory.remember([make_item(SHIP, scope)])
        equal([hit.scope for hit in memory.entries(scope)], [scope], "scopes")


@check("persistent", "scope_repo", "entries")
def keeps_empty_names(bench: Bench) -> None:
    """keeps an empty name apart from one that is not set"""
    places = (Scope(repo=""), Scope())
    with bench.open() as memory:
        acks = memory.remember([make_item(f"{SHIP} {at}", place) for at, place in enumerate(places)])
        for place, ack in zip(places, acks, strict=True):
            # in no order: a model inside may make several memories of one text
            ids = sorted(hit.memory_id for hit in memory.entries(place))
            equal(ids, sorted(ack.ids), "an empty name" if place.repo == "" else "no name")


@check("persistent", "expiry")
def lets_memories_expire(bench: Bench) -> None:
    """does not bring what has expired, and brings what has not"""
    with bench.open() as memory:
        # long before and after every clock: that of the machine and that of a story
        memory.remember([
            make_item("The freeze lasts until the turn of the century.", expires="2000-01-01T00:00:00+00:00"),
            make_item("The freeze lasts until the far future.", expires="2999-01-01T00:00:00+00:00"),
        ])  # fmt: skip
        memory.settle(20)
        hits = find(memory, "How long does the freeze last?")
        expect(holds(hits, "far future"), "what has not expired is not found")
        expect(not holds(hits, "turn of the century"), "what has expired is found")
