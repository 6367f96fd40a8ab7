"""Questions that are kept to a kind, a file, a confidence, or several of them, to which more of the rest is nearer.

Six memories fit in one respect or two. Two are updated in between: one comes to fit, and is updated back, one fits as
before. A third is replaced by one that fits. One that fits is deleted, one is marked as ended, one holds elsewhere, and
more have ended than are asked for. Names of files differ by case, by a sharp s, by how a letter is put together, or by
what a pattern takes for any character, and all hold a class of characters; nothing cites the last one asked for. One
confidence is 0, and the one asked for no binary fraction. At last the store is compacted, asked as of a day before the
ends, and taken back to a mark that was just made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from harness.adapter import FILTERS, Filter, Item, Scope, Source, Trait
from harness.model.drill import Piece
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import NOW, DrillSession

SCOPE = Scope(repo="storefront-kinds", org="acme")
ELSEWHERE = Scope(repo="storefront-kinds-api", org="acme")
ENDED = "2026-02-20T09:00:00+00:00"
BEFORE = "2026-02-17T09:00:00+00:00"
"""By days: some keep a day and no time."""
ASKED, ALL = 12, 40
"""More than fit, and more than fitted before some had ended."""
CROWD, MORE = 13, 120
"""More than are asked for; and more than are fetched by who asks for ten times as many before it filters."""
PATH = "app/[id]/Maße/kın_mañana.md"
SOURCE = Source("5e1f0c2a9b7d4e63", PATH, 12, "session-kinds")
ALIKE = (
    "lib/kinds.md", "app/[id]/Masse/kın_mañana.md", "app/[id]/maße/kın_mañana.md", "app/[id]/Maße/kin_mañana.md",
    "app/[id]/Maße/kın_man\N{COMBINING TILDE}ana.md", "app/[id]/Maße/kın_manana.md", "lib/[id]/Maße/kın_mañana.md",
    "app/[id]/Maße/kın-mañana.md",
)  # fmt: skip
"""Files that are not the one."""
GLOBBED = PATH.replace("[id]", "d")
"""A file that the one means where it is read as a pattern."""
PARTS: Mapping[Trait, Mapping[str, Any]] = {
    "filter_kind": {"kinds": ("procedural", "user")},
    "filter_path": {"path": PATH},
    "filter_confidence": {"confidence": 0.7},
}
WHERE: Mapping[tuple[Trait, ...], Filter] = {
    traits: Filter(**{name: value for trait in traits for name, value in PARTS[trait].items()})
    for count in range(1, len(FILTERS) + 1)
    for traits in combinations(FILTERS, count)
}
"""What a question is kept to, by what it takes: one condition, two at once, or all."""
UNCITED = Filter(path="docs/nobody-cites-this.md")


def plan(seed: int) -> Iterator[Piece]:
    told, canary = write_lesson("keeping", seed, "kinds", SCOPE)
    words = told.text.removesuffix(f" {canary}")
    near = replace(told, kind="episodic", source=replace(SOURCE, path=f"{PATH}.old"), confidence=0.25)
    fitting = replace(told, kind="procedural", source=SOURCE, confidence=0.75)
    for number in range(1, CROWD + 1):
        yield _write("unfit", replace(near, text=f"{words} {number:02}"), number)
    for number, path in enumerate(ALIKE, CROWD + 1):
        yield _write("unfit", replace(near, text=f"{words} {number:02}", source=replace(SOURCE, path=path)), number)
    for number in range(1, MORE + 1):
        yield _write("unfit", replace(near, text=f"{words} {100 + number}"), 100 + number)
    fields = ("kind", "source", "confidence")
    for number, parts in enumerate((*combinations(fields, 1), *combinations(fields, 2)), 1):
        alike = {field: getattr(fitting, field) for field in parts}
        yield _write("partly", replace(near, text=f"{words} {30 + number}", **alike), number)
    yield _write("elsewhere", replace(fitting, text=f"{words} 21", scope=ELSEWHERE))
    for number in range(1, CROWD + 1):
        yield _write("lapsed", replace(fitting, text=f"{words} {50 + number}", expires=ENDED), number)
    yield _write("dropped", replace(fitting, text=f"{words} 23"))
    yield _write("fit", replace(_word(fitting, words, "as far as anybody can tell"), confidence=0.7), 4)
    yield _write("fit", _word(fitting, words, "as the handbook of the whole team has said from its first page on"))
    yield _write("fit", replace(_word(fitting, words, "which nobody has doubted yet"), confidence=None), 2)
    yield _write("fit", replace(_word(fitting, words, "so somebody said"), kind="user", source=None), 3)
    for number, item in enumerate((near, fitting), 1):
        old = _write("refiled", _word(item, words, f"as it is called on desk {number}"), number)
        yield old
        new = _word(fitting, words, f"as it is called again on desk {number}")
        yield replace(_write("refile", new, number), twin=old.name)
    yield _write("retired", replace(fitting, text=f"{words} 24"))
    yield _write("unfit", replace(near, text=f"{words} 25", confidence=0.0), 25)
    yield _write("unfit", replace(near, text=f"{words} 26", source=replace(SOURCE, path=GLOBBED)), 26)
    old = _write("refiled", _word(near, words, "as it is called on desk 3"), 3)
    yield old
    yield replace(_write("follower", _word(fitting, words, "as it is called since on desk 3"), 3), twin=old.name)
    back = _word(near, words, "as it was called before on desk 1")
    yield replace(_write("unfile", back), twin="refile-1")


def _word(item: Item, words: str, more: str) -> Item:
    return replace(item, text=f"{words} {more}")


def _write(role: str, item: Item, number: int = 1) -> Piece:
    return Piece(name=f"{role}-{number}", role=role, item=item)


def play(stage: DrillSession) -> None:
    """In a store of its own."""
    if not any(map(stage.supports, FILTERS)):
        return
    stage.renew()
    stage.open("kinds")
    # without lifetimes these would never end, and would fit
    lapsed = ("lapsed",) if stage.supports("expiry") else ()
    first = ("unfit", "partly", "fit", "refiled", "elsewhere", "dropped", "retired", *lapsed)
    stage.remember("kinds", stage.plan.of(*first))
    stage.settle("kinds")
    _ask(stage, "kinds")
    _refile(stage, "other kinds", "refile")
    for piece in stage.plan.of("follower") if stage.supports("supersede") else ():
        if old := stage.ids.get(piece.twin or ""):
            stage.change("other kinds", "supersede", old, piece)
    for piece in stage.plan.of("dropped", "retired"):
        ids = list(stage.ids.get(piece.name, ()))
        if ids and piece.role == "dropped" and stage.supports("forget"):
            stage.call("other kinds", "forget", SCOPE, ids, about=[piece])
        if ids and piece.role == "retired" and stage.supports("deprecate"):
            stage.call("other kinds", "deprecate", SCOPE, ids, ENDED, about=[piece])
    stage.settle("other kinds")
    _ask(stage, "other kinds")
    _refile(stage, "kinds back", "unfile")
    stage.settle("kinds back")
    _ask(stage, "kinds back")
    if stage.supports("persistent"):
        stage.close("other kinds")
        if stage.supports("compact"):
            stage.compact("kinds again")
        stage.open("kinds again")
        _ask(stage, "kinds again")
    _ask(stage, "kinds then", ALL, BEFORE)
    mark = stage.call("kinds restored", "snapshot") if stage.supports("snapshot", "restore") else None
    if mark is not None:
        stage.call("kinds restored", "restore", mark)
        stage.settle("kinds restored")
        _ask(stage, "kinds restored")
    stage.close("kinds again")


def _refile(stage: DrillSession, step: str, role: str) -> None:
    for piece in stage.plan.of(role) if stage.supports("update") else ():
        if old := stage.ids.get(piece.twin or ""):
            stage.change(step, "update", old, piece)


def _ask(stage: DrillSession, step: str, k: int = ASKED, at: str = NOW) -> None:
    # as `plan` numbers the first of them
    words = stage.plan.by_name["unfit-1"].item.text.removesuffix(" 01")
    for traits, where in (*WHERE.items(), (("filter_path",), UNCITED)):
        if all(map(stage.supports, traits)):
            stage.call(step, "recall_where", words, SCOPE, k, at, where)
