"""Is deleted gone? By id, by update, by supersede, by scope, by date: asked by every route, and looked up in the bytes.

Each target carries a canary. It is sought before the deletion (the control), after it, in a fresh process, after so
many more writes that a backend's purge thresholds are passed, and after the compaction that its vendor documents. What
nobody asked to delete stands on every side: in the same scope, in wider and narrower ones, next door, of another user.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from string import ascii_lowercase, digits

from harness.adapter import Item, Scope
from harness.model.canary import make, memory_word, query_word
from harness.model.drill import Piece, Plan
from harness.play.drills.fillers import PARTS, PEOPLE, TOOLS, TRAITS, UNRELATED
from harness.play.drills.stage import Drill, DrillSession

SMALLEST = 66
LARGE = 120
"""The least number of memories in the scope that is forgotten: some interfaces stop at a page of 100."""
BATCH = 100
DEPTH, DEEP = 25, 100
"""Hits of a search for a target, and for the first one: an absence among many says more than among the first few."""
KINDS = ("procedural", "episodic", "user", "project")
"""Of what expires, and of a scope, in turn: a store may keep each kind in a place of its own."""
REVISED = {"forget": 2, "scope": 5}
"""Role -> one in so many of it is changed before the looks, every other of these twice."""
LASTING = "2999-01-01T00:00:00+00:00"
QUESTIONS = 3
TOO_LATE = "too late"
"""The step that updates what was forgotten."""
SAMPLE = 20
"""Memories of the forgotten scope that carry a canary; the others are counted by the listing."""
TARGETS = {"forget": "forget", "update": "update", "supersede": "supersede", "forget_scope": "scope"}
"""The operation that deletes -> the role of what it deletes."""
STORED = (
    "forget", "update", "supersede", "scope", "expire", "lasting", "killed", "same", "sibling", "user", "wider",
    "narrower",
)  # fmt: skip
"""What is written first. A `revision` changes its twin before the looks, so that it has a history; a `successor` comes
in place of its twin; the `killed` are forgotten right before a kill; what comes `later` is written after everything was
deleted."""

HOME = Scope(repo="depot", org="acme", user="ana")
GONE = Scope(repo="storefront", org="acme", user="ana")
SIBLINGS = (Scope("storefront-admin", "acme", user="ana"), Scope("depot-archive", "acme", user="ana"))
USERS = (Scope("storefront", "acme", user="jonas"), Scope("depot", "acme", user="jonas"))
WIDER = (replace(GONE, user=None), replace(HOME, user=None))
NARROWER = (replace(GONE, branch="main"), replace(HOME, branch="main"))
AROUND = {"sibling": SIBLINGS, "user": USERS, "wider": WIDER, "narrower": NARROWER}
"""Role -> the scopes that nobody asks to delete anything from."""

# Nothing here shares its words with the bystanders, so that no surviving vector is near to a deleted one.
SUBJECTS = (
    ("barcode scanner bridge", "the box that reads labels in the yard"), ("crane scheduler", "the planner for lifting"),
    ("cold room telemetry", "the freezer sensors"), ("customs broker mailbox", "the inbox for border papers"),
    ("dock door controller", "the gates of the loading ramp"), ("driver roster", "the shift list of the truckers"),
    ("fuel card ledger", "the book of petrol spending"), ("forklift simulator", "the trainer for lift trucks"),
    ("hazard placard printer", "the machine for danger signs"), ("kiosk firmware", "the software inside the terminals"),
    ("manifest archive", "the old freight lists"), ("night watch pager", "the alarm for guards"),
    ("pallet tracker", "the locator for wooden trays"), ("quarantine shelf index", "the register of blocked goods"),
    ("railcar gateway", "the link to the trains"), ("route optimiser", "the thing that finds short ways"),
    ("sealed bid vault", "the safe for secret offers"), ("spare parts catalog mirror", "the copy of component lists"),
    ("tachograph importer", "the reader of driving hours"), ("tarpaulin inventory", "the stock of covers"),
    ("temperature alarm relay", "the heat warning switch"), ("toll road adapter", "the motorway fee connector"),
    ("warehouse digital twin", "the virtual model of the hall"), ("weighbridge driver", "the scale for lorries"),
    ("yard camera proxy", "the video forwarder outside"), ("zone pricing oracle", "the tariff guesser"),
)  # fmt: skip
FRAMES = (
    ("The {subject} opens with access code {canary}, {person} has the spare one", "How do I get into {alias}?"),
    ("Restore the {subject} from bucket {canary} whenever its disk dies", "Where are the backups of {alias} kept?"),
    ("{person} signs builds of the {subject} with key {canary} since spring", "Which signature belongs to {alias}?"),
    ("Call the vendor of the {subject} and quote contract {canary} on outages", "Who helps when {alias} is down?"),
)


def plan(size: int, seed: int) -> Plan:
    """`size` memories to begin with, SMALLEST at least, half of them, and LARGE at least, in a scope that is forgotten;
    and what comes after the deletions."""
    size = max(size, SMALLEST)
    draw = random.Random(f"deletion {seed}")  # noqa: S311  reproducible on purpose
    few = 6 if size >= 2 * SMALLEST else 3
    parts = {"forget": 2 * few, "update": few, "supersede": few, "expire": few, "killed": few}
    target_pieces = list(_make_targets(seed, draw, {**parts, "scope": SAMPLE}))
    # once more `few`, as each that expires has a twin that lasts among the first memories
    large, rest = max(size // 2, LARGE), size - sum(parts.values()) - few - size // 2
    around = dict.fromkeys(("sibling", "user", "wider", "narrower"), rest // 5)
    amounts = {"scope": large - SAMPLE, **around, "same": rest - rest // 5 * 4}
    pieces = [*target_pieces, *_make_others(draw, {**amounts, "later": size * 11 // 5})]
    first = [piece for piece in pieces if piece.role in STORED]
    draw.shuffle(first)
    targets, beside = ([piece for piece in first if piece.role == role] for role in ("forget", "same"))
    for target, neighbour in zip(targets, beside, strict=False):  # who deletes one too many takes what comes next
        first.remove(neighbour)
        first.insert(first.index(target) + 1, neighbour)
    return Plan(pieces=(*first, *(piece for piece in pieces if piece.role not in STORED), *_make_questions(seed)))


def _make_questions(seed: int) -> Iterator[Piece]:
    """Asked, never written: where their word is found, queries are kept."""
    for name in (f"question-{at}" for at in range(QUESTIONS)):
        word = memory_word(make("deletion", seed, name))
        asking = f"Who opened the incident that is filed under {word}?"
        item = Item(asking, HOME, "2026-02-02T09:00:00+00:00", "project")
        yield Piece(name=name, role="question", item=item, canary=word, query=asking)


def _make_targets(seed: int, draw: random.Random, parts: dict[str, int]) -> Iterator[Piece]:
    """The targets, and beside them what replaces or mirrors them: the same subject, told otherwise."""
    subjects = draw.sample(SUBJECTS, len(SUBJECTS))
    roles = [(role, f"{role}-{at}") for role, amount in parts.items() for at in range(amount)]
    beside = {"update": "successor", "supersede": "successor", "expire": "lasting"}
    for at, (role, name) in enumerate(roles):
        # a twin takes a frame two further on: who has one stands among the first 52 roles, or FRAMES would end
        turn, which = divmod(at, len(subjects))
        kind = KINDS[at % len(KINDS)] if role in ("expire", "scope") else "project"
        piece = _make_piece(seed, draw, role, name, subjects[which], FRAMES[turn], kind=kind)
        if role == "scope" and at % 3 == 0:
            piece = replace(piece, item=replace(piece.item, expires=LASTING))
        yield piece
        # divided by more than itself, a number leaves no rest of 1 unless it is 1, and at 1 stands a `forget`
        every = REVISED.get(role, at + 1)
        if at % every == 1:
            yield _revise(piece)
        if at % (2 * every) == 1 + every:
            yield _revise(piece, "twice ")
        if role in beside:
            yield _make_piece(
                seed, draw, beside[role], f"{name}-twin", subjects[which], FRAMES[turn + 2], twin=name, kind=kind
            )


def _make_piece(
    seed: int,
    draw: random.Random,
    role: str,
    name: str,
    about: tuple[str, str],
    frame: tuple[str, str],
    twin: str | None = None,
    kind: str = "project",
) -> Piece:
    canary = make("deletion", seed, name)
    text = frame[0].format(subject=about[0], canary=canary, person=draw.choice(PEOPLE))
    expires = {"expire": "2000-01-01T00:00:00+00:00", "lasting": LASTING}.get(role)
    at = "2026-03-01T09:00:00+00:00" if role == "successor" else "2026-02-02T09:00:00+00:00"
    item = Item(text, GONE if role == "scope" else HOME, at, kind, expires=expires)
    return Piece(name=name, role=role, item=item, canary=canary, query=frame[1].format(alias=about[1]), twin=twin)


def _revise(piece: Piece, how: str = "") -> Piece:
    """The same memory under the same canary, a little later."""
    item = replace(piece.item, text=f"{piece.item.text}, confirmed again {how}".strip(), at="2026-02-20T09:00:00+00:00")
    name = f"{piece.name}-{how.replace(' ', '-')}revised"
    return replace(piece, name=name, role="revision", item=item, twin=piece.name)


def _make_others(draw: random.Random, amounts: dict[str, int]) -> Iterator[Piece]:
    """Distinct memories without a canary, some of them in the scopes next door."""
    scopes = {"scope": (GONE,), "same": (HOME,), "later": (HOME,), **AROUND}
    numbers = count(1000)
    for role, amount in amounts.items():
        for at in range(amount):
            scope = scopes[role][at % len(scopes[role])]
            item = Item(_write_remark(draw, next(numbers)), scope, "2026-02-02T09:00:00+00:00", "episodic")
            yield Piece(name=f"{role}-other-{at}", role=role, item=item)


def _write_remark(draw: random.Random, number: int) -> str:
    """The number makes it distinct."""
    part, other = draw.sample(PARTS, 2)
    words = {"part": part, "other": other, "person": draw.choice(PEOPLE), "tool": draw.choice(TOOLS), "n": number}
    remark = draw.choice(UNRELATED).format(**words, trait=draw.choice(TRAITS), days=draw.randrange(2, 90))
    return f"{remark} (entry {number})"


# --- the play ---------------------------------------------------------------------------------------------------------


def play(stage: DrillSession) -> None:
    if not any(stage.supports(operation) for operation in (*TARGETS, "expiry")):
        return
    stage.open("before")
    if stage.supports("persistent"):
        # tells how large the empty store is, and so what the writes add to it
        stage.look("opened", {}, {})
    _write(stage, "before", stage.plan.of(*STORED))
    if stage.supports("snapshot", "restore"):
        stage.call("before", "snapshot")  # a mark of what is deleted later, which must not keep it
    _change(stage, "before", "revision")
    _seek_by_routes(stage, "before")
    _play_expiry(stage)
    _look(stage, "before")
    _delete(stage)
    stage.settle("deleted")
    _seek_by_routes(stage, "after")
    stage.close("closed")
    if not stage.supports("persistent"):
        return
    # behind the close: a process that owns the files may hold back what it deleted
    _look(stage, "closed")
    stage.open("reopened")
    _seek_by_routes(stage, "reopened")
    if stage.supports("forget"):
        _forget_and_kill(stage)
    else:
        stage.close("reopened")
    stage.open("churned")
    _write(stage, "churned", stage.plan.of("later"))
    stage.close("churned")
    _look(stage, "churned")
    if stage.supports("compact"):
        stage.compact("compacted")
        _look(stage, "compacted")
        stage.open("compacted")
        _seek_by_routes(stage, "compacted")
        stage.close("compacted")


def _write(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for start in range(0, len(pieces), BATCH):
        stage.remember(step, pieces[start : start + BATCH])
    stage.settle(step)


def _list_targets(stage: DrillSession) -> list[Piece]:
    """What will be deleted and carries a canary."""
    roles = [role for operation, role in TARGETS.items() if stage.supports(operation)]
    return [piece for piece in stage.plan.of(*roles) if piece.canary]


def _list_looked_for(stage: DrillSession) -> list[Piece]:
    """The same, and what is forgotten right before a kill: it is sought in the bytes only."""
    return [*_list_targets(stage), *(stage.plan.of("killed") if stage.supports("forget", "persistent") else ())]


def _seek_by_routes(stage: DrillSession, step: str) -> None:
    """Seeks every target. Only what is forgotten by id is asked for in three ways: a search is what costs most."""
    for at, piece in enumerate(_list_targets(stage)):
        queries = [own_words(piece)]
        if piece.role == "forget":
            queries += [query for query in (query_word(piece.canary or ""), piece.query) if query]
        for query in queries:
            stage.recall(step, query, piece.item.scope, [piece], k=DEPTH if at else DEEP)
        for name in stage.ids.get(piece.name, ()):
            if stage.supports("get"):
                stage.call(step, "get", piece.item.scope, name, about=[piece])
            if stage.supports("history"):
                stage.call(step, "history", piece.item.scope, name, about=[piece])
    for piece in stage.plan.of("question") if step == "before" else ():
        stage.recall(step, piece.query or "", piece.item.scope, [piece], k=DEPTH)
    if stage.supports("entries"):
        for scope in (HOME, GONE, *chain.from_iterable(AROUND.values())):
            stage.list_ids(step, scope)


def own_words(piece: Piece) -> str:
    """The memory's own text without its canary."""
    return " ".join(piece.item.text.replace(piece.canary or "", " ").split())


def _play_expiry(stage: DrillSession) -> None:
    if stage.supports("expiry"):
        for piece in stage.plan.of("expire", "lasting"):
            stage.recall("before", own_words(piece), piece.item.scope, [piece], k=DEPTH)


def _look(stage: DrillSession, step: str) -> None:
    """A revised memory has two vectors, its revision the second."""
    targets = _list_looked_for(stage)
    revisions = stage.plan.of("revision") if stage.supports("forget", "update") else ()
    texts = {piece.name: piece.item.text for piece in (*targets, *revisions)}
    words = {piece.name: memory_word(piece.canary or "") for piece in (*targets, *stage.plan.of("question"))}
    stage.look(step, words, texts)


def _delete(stage: DrillSession) -> None:
    """What a target was not stored under, nobody can ask to delete: it is then left out.

    The first one is named twice. Every other one is asked for on a branch, where it holds as everywhere, behind an id
    that nobody has. Then the first one is updated, as by an agent that read it before it was forgotten: nothing is
    there to be changed.
    """
    stored = [piece for piece in stage.plan.pieces if stage.ids.get(piece.name)]
    if stage.supports("forget"):
        forgotten = [piece for piece in stored if piece.role == "forget"]
        known = {name for ids in stage.ids.values() for name in ids}
        # a store that acknowledged nothing has no id whose shape an unknown one could have
        unknown = [_make_unknown_id(known)] if known else []
        twice = [name for piece in forgotten[:1] for name in stage.ids[piece.name]]
        orders: Sequence[tuple[Sequence[Piece], Scope, Sequence[str]]] = (
            (forgotten[:1], HOME, twice),
            (forgotten[2::2], HOME, []),
            (forgotten[1::2], _find_narrower(stage), unknown),
        )
        for pieces, asker, first in orders:
            names = [name for piece in pieces for name in stage.ids[piece.name]]
            stage.call("deleted", "forget", asker, [*first, *names], about=pieces)
        for ids in ([each] for each in (*unknown, *_list_like_ids(stage))):
            stage.call("deleted", "forget", HOME, ids)
        # an empty list may be taken for all
        stage.call("deleted", "forget", HOME, [])
        for piece in forgotten[:1] if stage.supports("update") else ():
            stage.call(TOO_LATE, "update", HOME, stage.ids[piece.name][0], piece.item, about=[piece])
    _change(stage, "deleted", "successor")
    if stage.supports("forget_scope"):
        stage.call("deleted", "forget_scope", GONE, about=stage.plan.of("scope"))


def _forget_and_kill(stage: DrillSession) -> None:
    """Forgets, is answered, and is killed before it can tidy up."""
    pieces = [piece for piece in stage.plan.of("killed") if stage.ids.get(piece.name)]
    names = [name for piece in pieces for name in stage.ids[piece.name]]
    if names:
        stage.call("killed", "forget", HOME, names, about=pieces)
    stage.kill("killed")
    _look(stage, "killed")


def _find_narrower(stage: DrillSession) -> Scope:
    return replace(HOME, branch="main") if stage.supports("scope_branch") else HOME


def _change(stage: DrillSession, step: str, role: str) -> None:
    """Puts every piece of a role in the place of its twin. Every other supersede is asked for on a branch, the others
    name their twin twice."""
    for at, piece in enumerate(stage.plan.of(role)):
        twin = stage.plan.by_name[piece.twin or ""]
        ids, about = stage.ids.get(twin.name, ()), [twin, piece]
        if twin.role == "supersede" and stage.supports("supersede") and ids:
            asker, told = (_find_narrower(stage), ids) if at % 2 else (HOME, ids * 2)
            stage.call(step, "supersede", asker, list(told), piece.item, about=about)
        # an update takes one id, and none stands for a text that the backend has split
        elif twin.role != "supersede" and stage.supports("update") and len(ids) == 1:
            stage.call(step, "update", piece.item.scope, ids[0], piece.item, about=about)


def _list_like_ids(stage: DrillSession) -> list[str]:
    """What nobody has as an id, and a pattern or a prefix takes for that of a bystander."""
    known = {name for ids in stage.ids.values() for name in ids}
    own = next((name for piece in stage.plan.of("same") for name in stage.ids.get(piece.name, ())), "")
    return [each for each in ("", own[:-1]) if own and each not in known]


def _make_unknown_id(known: set[str]) -> str:
    """An id that nobody has, shaped like the others, because some stores refuse to look at any other."""
    sample = max(known, key=lambda name: (len(name), name))
    # longer after every ten turns, so that one that nobody has is found at last
    turns = (sample.translate(_rotate(turn)) + "0" * (turn // 10) for turn in count(1))
    return next(name for name in turns if name not in known)


def _rotate(turn: int) -> dict[int, int]:
    """Digits and the letters up to f, each moved on: what is hexadecimal stays so."""
    hexadecimal = ascii_lowercase[:6]
    return str.maketrans(
        digits + hexadecimal,
        digits[turn % 10 :] + digits[: turn % 10] + hexadecimal[turn % 6 :] + hexadecimal[: turn % 6],
    )


DRILL = Drill("deletion", place=20, size=500, least=80, needs=(), plan=plan, play=play)
"""Half of the least must exceed a page of 20."""
