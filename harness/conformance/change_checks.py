"""Checks of what is changed, deleted, kept apart, closed and killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.adapter import Ack, Scope, Source
from harness.backend.client import MemoryFault
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
    list_sides,
    make_item,
    remember_ids,
)
from harness.conformance.write_checks import SHIP

CANARY = "k4n4ry7f3"
LATER, MUCH_LATER = "2026-05-04T10:00:00+02:00", "2027-01-01T00:00:00+00:00"
SECRET = f"The pin of the door is {CANARY}."
# some clients refuse an empty id with an error of their own
UNKNOWN = ("unknown", "00000000-0000-4000-8000-000000000000", "")


# --- by id ------------------------------------------------------------------------------------------------------------


@check("persistent", "entries")
def lists_what_it_acknowledged(bench: Bench) -> None:
    """lists every acknowledged memory under its id, once"""
    with bench.open() as memory:
        names = remember_ids(memory, make_item(SHIP), make_item("The port is 8080."))
        equal(sorted(hit.memory_id for hit in memory.entries(SHOP)), sorted(names), "ids")


@check("persistent", "get")
def gets_by_id(bench: Bench) -> None:
    """returns a memory for its id, and nothing for an unknown one"""
    with bench.open() as memory:
        (name,) = remember_ids(memory, make_item(SHIP))
        hit = memory.get(SHOP, name)
        expect(hit is not None and SHIP in hit.text and hit.memory_id == name, f"get returned {hit}")
        for unknown in UNKNOWN:
            equal(memory.get(SHOP, unknown), None, f"get of {unknown!r}")


@check("persistent", "update", "entries")
def updates_under_the_same_id(bench: Bench) -> None:
    """replaces text and fields under the same id, also after reopening"""
    fresh = make_item("Deploy with scripts/ship --target raft.", source=Source(path="README.md"))
    with bench.open() as memory:
        (name,) = remember_ids(memory, make_item(SHIP, source=SOURCE, confidence=0.75))
        equal(memory.update(SHOP, name, fresh).ids, (name,), "the acknowledgement")
    with bench.open() as memory:
        memory.settle(20)
        for hits in (find(memory, "target raft"), memory.entries(SHOP)):
            expect(holds(hits, fresh.text) and not holds(hits, "blimp"), "the old text is still there")
            if bench.offers("source"):
                equal([(hit.source, hit.confidence) for hit in hits], [(fresh.source, None)], "fields")


@check("update")
def updates_nothing_unknown(bench: Bench) -> None:
    """stores nothing for an id that it does not know"""
    with bench.open() as memory:
        for unknown in UNKNOWN:
            equal(memory.update(SHOP, unknown, make_item(SHIP)), Ack(()), f"the acknowledgement of {unknown!r}")
        if bench.offers("entries"):
            equal(memory.entries(SHOP), [], "listing")


@check("persistent", "supersede", "entries")
def leaves_the_successor(bench: Bench) -> None:
    """brings the successor and no longer the superseded as current"""
    with bench.open() as memory:
        old = remember_ids(memory, make_item("The queue is rabbit."))
        new = memory.supersede(SHOP, old, make_item("The queue is redis.")).ids
        memory.settle(20)
        expect(bool(new), "the successor was not acknowledged")
        for hits in (find(memory, "The queue is redis."), memory.entries(SHOP)):  # some find by words only
            expect(holds(hits, "redis"), "the successor is missing")
            expect(not holds([hit for hit in hits if not hit.superseded], "rabbit"), "the superseded is current")


@check("persistent", "deprecate")
def deprecates_from_a_day_on(bench: Bench) -> None:
    """brings what is deprecated for an earlier day and not for a later one, also after reopening, and keeps it by id"""
    with bench.open() as memory:
        old, rest = remember_ids(memory, make_item("The queue is rabbit."), make_item("The port is 8080."))
        equal(memory.deprecate(SHOP, [old, *UNKNOWN], LATER), [True, *[False] * len(UNKNOWN)], "the answers")
        equal(memory.deprecate(SHOP, [], LATER), [], "no id")
    with bench.open() as memory:
        memory.settle(20)
        for at, current in ((AT, True), (LATER, False), (MUCH_LATER, False)):
            # who flags what holds no longer may bring it
            hits = [hit for hit in memory.recall("The queue is rabbit.", SHOP, 5, at) if not hit.superseded]
            equal(holds(hits, "rabbit"), current, f"recalled as current for {at}")
            expect(holds(memory.recall("The port is 8080.", SHOP, 5, at), "8080"), f"its neighbour is gone for {at}")
        if bench.offers("get"):
            hit = memory.get(SHOP, old)
            expect(hit is not None and "rabbit" in hit.text, "it is gone by its id")
        # what holds no longer has to be deletable all the same
        if bench.offers("forget"):
            equal(memory.forget(SHOP, [old, rest]), [True, True], "the deletion")


@check("persistent", "verdict", "supersede")
def warns_of_the_superseded_alone(bench: Bench) -> None:
    """warns of what was superseded where it brings it, of nothing else, and names a memory that is there"""
    with bench.open() as memory:
        old, rest = remember_ids(memory, make_item("The queue is rabbit."), make_item("The port is 8080."))
        new = memory.supersede(SHOP, [old], make_item("The queue is redis.")).ids
    with bench.open() as memory:
        memory.settle(20)
        hits = [*find(memory, "The queue is redis."), *find(memory, "The port is 8080.")]
        for hit in hits:
            over = holds([hit], "rabbit") and not holds([hit], "redis")
            expect(hit.warned == over, f"{'no ' if over else 'a '}warning of {hit.text!r}")
        ids = {hit.verdict.by for hit in hits if hit.verdict and hit.verdict.by is not None}
        expect(ids <= {old, rest, *new}, f"verdicts name what is no memory: {sorted(ids - {old, rest, *new})}")


@check("persistent", "history", "update")
def tells_its_history(bench: Bench) -> None:
    """answers for a live id and for an unknown one"""
    with bench.open() as memory:
        (name,) = remember_ids(memory, make_item(SHIP))
        memory.update(SHOP, name, make_item("Deploy with scripts/ship --target raft."))
        # what it answers is its own: only an error breaks this
        memory.history(SHOP, name)
        for unknown in UNKNOWN:
            equal(memory.history(SHOP, unknown), [], f"the history of {unknown!r}")


# --- deleting ---------------------------------------------------------------------------------------------------------


@check("persistent", "forget")
def forgets_by_id(bench: Bench) -> None:
    """says True for what it deleted and False for what it does not know or has deleted before, and deletes no more"""
    with bench.open() as memory:
        secret, twice, _ = remember_ids(
            memory, make_item(SECRET), make_item("The lamp is brass."), make_item("The rest stays.")
        )
        equal(memory.forget(SHOP, [secret, *UNKNOWN]), [True, *[False] * len(UNKNOWN)], "the answers")
        equal(memory.forget(SHOP, [secret]), [False], "the second answer")
        equal(memory.forget(SHOP, []), [], "no id")
        answers = memory.forget(SHOP, [twice, twice])  # whether the second one is True is the backend's to say
        expect(len(answers) == 2 and answers[0] is True, f"the answers to one id, given twice: {answers}")
        memory.settle(20)
        expect(holds(find(memory, "The rest stays."), "The rest stays."), "forgetting no id took the rest")


@check("persistent", "forget")
def forgotten_is_gone(bench: Bench) -> None:
    """brings a deleted memory by no route, now and after reopening, and keeps its neighbour"""
    with bench.open() as memory:
        secret, rest = remember_ids(memory, make_item(SECRET), make_item("The rest stays."))
        memory.forget(SHOP, [secret])
    for _ in range(2):
        with bench.open() as memory:
            memory.settle(20)
            hits = [*find(memory, SECRET), *find(memory, CANARY)]
            hits += memory.entries(SHOP) if bench.offers("entries") else []
            expect(not holds(hits, CANARY), "the deleted text came back")
            if bench.offers("get"):
                equal(memory.get(SHOP, secret), None, "get of the deleted")
                expect(memory.get(SHOP, rest) is not None, "the neighbour is gone")
            expect(holds(find(memory, "The rest stays."), "The rest stays."), "the neighbour is not found")


@check("persistent", "forget_scope", "entries")
def forgets_a_scope(bench: Bench) -> None:
    """deletes all of one scope past any page limit, and nothing of another"""
    others = [replace(SHOP, repo="storefront-admin")] if bench.offers("scope_repo") else []
    others += [replace(SHOP, user="dana@example.com")] if bench.offers("scope_user") else []
    with bench.open() as memory:
        memory.remember([make_item(f"Fact {at} of the shop.") for at in range(250)])
        memory.remember([make_item("The neighbour's rule.", other) for other in others])
        memory.settle(20)
        memory.forget_scope(SHOP)
        memory.settle(20)
        equal(len(memory.entries(SHOP)), 0, "memories left")
        for other in others:
            equal(len(memory.entries(other)), 1, f"memories of {other}")


# --- keeping apart ----------------------------------------------------------------------------------------------------


@check("persistent", "scope_repo")
def keeps_neighbours_apart(bench: Bench) -> None:
    """brings its own and nothing of a neighbour with a similar name and far more to say, in each declared respect"""
    with bench.open() as memory:
        for at, (mine, other) in enumerate(list_sides(bench)):
            memory.remember([make_item(f"The port of pair {at} is 90{n}.", other) for n in range(10, 40)])
            memory.remember(
                [
                    make_item(f"The port of pair {at} is 8080.", mine),
                    make_item(f"The port of pair {at} is 9090.", other),
                ]
            )
            memory.settle(20)
            for scope, own, foreign in ((mine, "is 8080", "is 90"), (other, "is 90", "is 8080")):
                # what an earlier pair wrote may rightly hold in this scope
                hits = [hit for hit in find(memory, f"The port of pair {at}", scope) if f"pair {at}" in hit.text]
                expect(holds(hits, own), f"{scope} does not find its own")
                expect(not holds(hits, foreign), f"{scope} is shown what belongs to its neighbour")


@check("persistent", "scope_repo", "get")
def ids_do_not_cross_scopes(bench: Bench) -> None:
    """gives, changes and deletes nothing of a neighbour, even by its id"""
    mine, other = replace(SHOP, repo="api"), replace(SHOP, repo="api-internal")
    with bench.open() as memory:
        (theirs,) = remember_ids(memory, make_item("The port is 9090.", other))
        equal(memory.get(mine, theirs), None, "get across scopes")
        if bench.offers("update"):
            equal(memory.update(mine, theirs, make_item("The port is 1.", mine)), Ack(()), "update across scopes")
        if bench.offers("forget"):
            equal(memory.forget(mine, [theirs]), [False], "forget across scopes")
        hit = memory.get(other, theirs)
        expect(hit is not None and "9090" in hit.text, "the neighbour's memory was changed")


@check("persistent", "scope_org", "scope_repo")
def wider_memories_hold_here(bench: Bench) -> None:
    """brings what holds for the whole organisation or everywhere, and not what holds in a narrower place"""
    rules = {"rule everywhere": Scope(), "rule of acme": Scope(org="acme"), "rule of storefront": SHOP}
    with bench.open() as memory:
        memory.remember([make_item(text, scope) for text, scope in rules.items()])
        memory.settle(20)
        for place, seen in ((SHOP, [*rules]), (Scope(org="acme"), [*rules][:2])):
            hits = find(memory, "rule", place, 20)
            equal([text for text in rules if holds(hits, text)], seen, f"seen in {place}")


@check("persistent", "scope_org", "scope_repo", "entries")
def wider_memories_change_for_all(bench: Bench) -> None:
    """changes and deletes what holds here where it belongs, and not for this place alone"""
    wider = Scope(org="acme")
    with bench.open() as memory:
        changed, gone = remember_ids(
            memory, make_item("The port is 9090.", wider), make_item("The queue is rabbit.", wider)
        )
        if bench.offers("update"):
            equal(
                memory.update(SHOP, changed, make_item("The port is 7070.", wider)).ids,
                (changed,),
                "the acknowledgement",
            )
        if bench.offers("forget"):
            equal(memory.forget(SHOP, [*UNKNOWN, gone]), [*[False] * len(UNKNOWN), True], "the answers")
        memory.settle(20)
        hits = memory.entries(wider)
        expect(holds(hits, "7070" if bench.offers("update") else "9090"), "what was changed is not in its own scope")
        expect(holds(hits, "rabbit") is not bench.offers("forget"), "what was deleted is still there for others")


@check("persistent", "scope_repo", "entries")
def takes_odd_scope_names(bench: Bench) -> None:
    """treats no character of a scope name as a pattern"""
    # as patterns: _ and % of SQL, * and ? of file names, . of regular expressions; then case, quotes and a blank
    names = ("a_c", "abc", "a%c", "a*c", "a?c", "a.c", "A_C", "a'c", 'a"c', "ä c")
    with bench.open() as memory:
        memory.remember([make_item(f"Rule number {at}.", replace(SHOP, repo=name)) for at, name in enumerate(names)])
        memory.settle(20)
        for at, name in enumerate(names):
            scope = replace(SHOP, repo=name)
            equal([hit.text for hit in memory.entries(scope)], [f"Rule number {at}."], f"listing of {name!r}")
            equal(
                [hit.text for hit in find(memory, "rule number", scope, 50)],
                [f"Rule number {at}."],
                f"recall in {name!r}",
            )


# --- lifetimes --------------------------------------------------------------------------------------------------------


@check("persistent", "entries")
def reopens(bench: Bench) -> None:
    """finds everything under the same ids in a fresh process, and takes more"""
    with bench.open() as memory:
        memory.remember([make_item(SHIP, source=SOURCE), make_item("Déjà vu “quoted” ✓")])
        before = sorted(memory.entries(SHOP), key=lambda hit: hit.memory_id)
    with bench.open() as memory:
        equal(sorted(memory.entries(SHOP), key=lambda hit: hit.memory_id), before, "the listing")
        expect(holds(find(memory, SHIP), SHIP), "not found after reopening")
        memory.remember([make_item("A later one.")])
        equal(len(memory.entries(SHOP)), 3, "memories")


@check()
def opens_and_closes_empty(bench: Bench) -> None:
    """opens a new store and an empty one of before"""
    for _ in range(2):
        with bench.open():
            pass


@check("persistent", "entries")
def survives_a_kill(bench: Bench) -> None:
    """loses nothing that was acknowledged when its process is killed"""
    # not bench.open(), which would close it before the kill
    memory = bench.site.open()
    try:
        names = remember_ids(memory, make_item(SHIP), make_item("The port is 8080."))
    finally:
        memory.kill()
    with bench.open() as memory:
        equal(sorted(hit.memory_id for hit in memory.entries(SHOP)), sorted(names), "ids after the kill")
        expect(holds(find(memory, SHIP), SHIP), "not found after the kill")


@check()
def names_its_storage_before_it_has_any(bench: Bench) -> None:
    """says where data may lie with no store open, on an empty folder too, each place once"""
    bench.root.mkdir(parents=True, exist_ok=True)
    layers = bench.site.layers()
    equal(len({layer.name for layer in layers}), len(layers), "different names")
    expect(all(not Path(layer.path).is_absolute() and ".." not in Path(layer.path).parts for layer in layers),
           "a place lies outside of its space")  # fmt: skip


@check("persistent")
def keeps_data_where_it_says(bench: Bench) -> None:
    """holds a text in a place that it names, and nowhere else in its folder"""
    with bench.open() as memory:
        memory.remember([make_item(SECRET)])
    layers = bench.site.layers()
    # what a server keeps lies outside of this folder
    if any(layer.format in ("remote", "postgres") for layer in layers):
        return
    tops = [bench.root / layer.path for layer in layers]
    files = {file for top in tops for file in ([top] if top.is_file() else top.rglob("*"))}
    holding = {file for file in bench.root.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()}
    expect(bool(holding & files), "no named place holds the text")
    # these are SQLite's own, and belong to the database beside them
    beside = {file for file in holding - files if not file.name.endswith(("-wal", "-journal", "-shm"))}
    expect(not beside, f"held where it does not say: {', '.join(sorted(file.name for file in beside))}")


@check("persistent", "snapshot", "restore", "entries")
def restores_a_mark(bench: Bench) -> None:
    """brings back what a mark held, in another process, without what came later or went since; no unknown mark"""
    with bench.open() as memory:
        secret, _ = remember_ids(memory, make_item(SECRET), make_item("A good rule."))
        mark = memory.snapshot()
        memory.remember([make_item("A poisoned rule.")])
        memory.forget(SHOP, [secret])
    with bench.open() as memory:
        memory.restore(mark)
        memory.settle(20)
        listed = memory.entries(SHOP)
        expect(
            len(listed) == 1 and holds(listed, "A good rule."), f"the restored state: {[hit.text for hit in listed]}"
        )
        try:
            memory.restore(UNKNOWN[0])
        except MemoryFault:
            return
        raise Broken("it says that it restored a mark that it never gave")


@check("concurrent")
def takes_writes_at_once(bench: Bench) -> None:
    """answers each of eight writes that are in flight at once, with an id of its own or an error, and goes on"""
    with bench.open() as memory:
        written = memory.burst([make_item(f"{SHIP} Step {at}.") for at in range(8)], at_once=True)
        silent = [at for at, each in enumerate(written) if each.error is None and not (each.ack and each.ack.ids)]
        expect(not silent, f"writes {silent} were answered with no id and no error")
        ids = [name for each in written if each.ack for name in each.ack.ids]
        expect(len({*ids}) == len(ids), "two writes were given one id")
        memory.settle(20)
        remember_ids(memory, make_item("Afterwards it takes another one."))


@check("persistent", "multi_process", "entries")
def serves_two_processes(bench: Bench) -> None:
    """shows one process what another has written and deleted"""
    with bench.open() as one, bench.open() as two:
        (name,) = remember_ids(one, make_item(SHIP))
        two.settle(20)
        expect(holds(two.entries(SHOP), SHIP), "the other process does not see the write")
        expect(holds(find(one, SHIP), SHIP), "the writer does not find its own")
        if bench.offers("forget"):
            two.forget(SHOP, [name])
            one.settle(20)
            expect(not holds(find(one, SHIP), SHIP), "the first process still brings what the other deleted")
