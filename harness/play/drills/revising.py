"""What is changed more than once: texts that change again or back, and what is stored anew after it was deleted.

Each part has scopes of its own in the store of the drill of keeping, and is asked once more by a later process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.adapter import Scope
from harness.log.transcript import Op
from harness.model.drill import Piece
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import DrillSession

SCOPE = Scope(repo="storefront-drafts", org="acme")
CHAINS: Mapping[str, tuple[tuple[Op, str], ...]] = {
    "again": (("update", "then"), ("update", "last")),
    "back": (("update", "then"), ("update", "first")),
    "forth": (("update", "then"), ("update", "first"), ("update", "then")),
    "heirs": (("supersede", "then"), ("supersede", "last")),
    "return": (("supersede", "then"), ("supersede", "first")),
    "heir updated": (("supersede", "then"), ("update", "last")),
    "update replaced": (("update", "then"), ("supersede", "last")),
    "capitals": (("update", "capitals"),),
    "last word": (("update", "last word"),),
}
"""Chain -> what is done to its first text, one after the other, and the text that each brings; the last two differ from
it in case, or in a last word of the same length."""
HEIRS = "heirs"
"""The chain whose last text is deleted: those that it replaced hold no more for that."""
LOOKED_AT = ("forth", HEIRS)
"""Chains that are asked for between their changes; the others are changed again at once."""
WAYS: Mapping[Op, Scope] = {
    "forget": Scope(repo="storefront-anew", org="acme"), "forget_scope": Scope(repo="storefront-refilled", org="acme"),
}  # fmt: skip
"""How memories are deleted that are stored again, and where."""


def plan(seed: int) -> Iterator[Piece]:
    for chain, changes in CHAINS.items():
        first = _make_piece(f"{chain}-0", f"chain {chain}", seed, f"{chain} first")
        yield first
        for number, (_, text) in enumerate(changes, 1):
            piece = _make_piece(f"{chain}-{number}", f"chain {chain}", seed, f"{chain} {text}")
            yield _reword(piece, first, text)
    for way, scope in WAYS.items():
        for number in (1, 2):
            yield _make_piece(f"gone-{way}-{number}", f"gone {way}", seed, f"gone {way} {number}", scope)
        for number, text in enumerate(("gone", "anew"), 1):
            yield _make_piece(f"anew-{way}-{number}", f"anew {way}", seed, f"{text} {way} {number}", scope)
        for name in ("lost", "back"):
            yield _make_piece(f"{name}-{way}", f"{name} {way}", seed, f"back {way}", scope)


def _make_piece(name: str, role: str, seed: int, text: str, scope: Scope = SCOPE) -> Piece:
    item, canary = write_lesson("keeping", seed, f"revising {text}", scope)
    return Piece(name=name, role=role, item=item, canary=canary)


def _reword(piece: Piece, first: Piece, text: str) -> Piece:
    """That differs from the first text as little as it is called; another one stays."""
    own, other = piece.canary or "", first.canary or ""
    if text == "capitals":
        own = other.upper()
        return replace(piece, item=replace(piece.item, text=first.item.text.upper()), canary=own)
    return (
        replace(piece, item=replace(piece.item, text=first.item.text.replace(other, own)))
        if text == "last word"
        else piece
    )


def write(stage: DrillSession) -> None:
    """Open before and after."""
    chains = _list_chains(stage)
    if chains:
        _change(stage, chains)
        _ask_chains(stage, "chained", chains)
    for way in WAYS:
        if stage.supports(way):
            _store_again(stage, way)


def ask(stage: DrillSession) -> None:
    """In the process that is there now; then what was only updated, and one that replaced others, is deleted."""
    chains = _list_chains(stage)
    if chains:
        _ask_chains(stage, "chained later", chains)
    for way in WAYS:
        if stage.supports(way):
            _ask(stage, "stored anew later", [*_list_texts(stage, way)[1:], stage.plan.of(f"back {way}")])
    deleted = [chain for chain in chains if chain == HEIRS or {op for op, _ in CHAINS[chain]} == {"update"}]
    for pieces in _list_pieces(stage, deleted) if stage.supports("forget") else ():
        if ids := stage.ids.get(pieces[-1].name):
            stage.call("chained gone", "forget", SCOPE, list(ids), about=pieces)
            stage.settle("chained gone")
            _ask(stage, "chained gone", [pieces])


def _list_chains(stage: DrillSession) -> list[str]:
    return [chain for chain, changes in CHAINS.items() if all(stage.supports(op) for op, _ in changes)]


def _list_pieces(stage: DrillSession, chains: Sequence[str]) -> list[list[Piece]]:
    return [list(stage.plan.of(f"chain {chain}")) for chain in chains]


def _change(stage: DrillSession, chains: Sequence[str]) -> None:
    stage.remember("chained", [pieces[0] for pieces in _list_pieces(stage, chains)])
    stage.settle("chained")
    for chain, (first, *later) in zip(chains, _list_pieces(stage, chains), strict=True):
        ids = stage.ids.get(first.name, ())
        for (op, _), piece in zip(CHAINS[chain], later, strict=True) if ids else ():
            stage.change("chained", op, ids, piece)
            # a change that failed leaves the ids as they were
            ids = stage.ids[piece.name] or ids
            if chain in LOOKED_AT:
                stage.settle("between")
                _ask(stage, "between", [[piece]])
    stage.settle("chained")


def _ask_chains(stage: DrillSession, step: str, chains: Sequence[str]) -> None:
    """By every text that each ever had, by its last id, and listed."""
    told = _list_pieces(stage, chains)
    _ask(stage, step, told)
    for pieces in told if stage.supports("get") else ():
        for memory_id in stage.ids.get(pieces[-1].name, ()):
            stage.call(step, "get", SCOPE, memory_id, about=pieces)
    if stage.supports("entries"):
        stage.list_ids(step, SCOPE, about=[piece for pieces in told for piece in pieces])


def _store_again(stage: DrillSession, way: Op) -> None:
    """Three are deleted; one of them is stored again, with a new one, and both are deleted again. Then another one of
    the three is stored again, to stay."""
    first, *texts = _list_texts(stage, way)
    back = stage.plan.of(f"back {way}")
    rounds = (("stored", ("gone", "lost"), [first, *texts, back]), ("stored anew", ("anew",), texts))
    for step, roles, asked in rounds:
        pieces = stage.plan.of(*(f"{role} {way}" for role in roles))
        stage.remember(step, pieces)
        stage.settle(step)
        _ask(stage, step, asked)
        if way == "forget_scope":
            stage.call(step, way, WAYS[way], about=pieces)
        elif ids := [each for piece in pieces for each in stage.ids.get(piece.name, ())]:
            stage.call(step, way, WAYS[way], ids, about=pieces)
        stage.settle(f"{step} since")
        _ask(stage, f"{step} since", asked)
    stage.remember("stored to stay", back)
    stage.settle("stored to stay")


def _list_texts(stage: DrillSession, way: Op) -> list[list[Piece]]:
    """What is deleted and stored again, what it is then, what is not stored again, and what is new."""
    (first, left), anew = stage.plan.of(f"gone {way}"), stage.plan.of(f"anew {way}")
    return [[first], *([piece] for piece in (*anew, left))]


def _ask(stage: DrillSession, step: str, told: Sequence[Sequence[Piece]]) -> None:
    """By each text of the pieces that belong together."""
    for pieces in told:
        for text in dict.fromkeys(piece.item.text for piece in pieces):
            stage.recall(step, text, pieces[0].item.scope, about=pieces)
