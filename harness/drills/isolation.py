"""Isolation: a memory stays within its scope, whatever the scope is called.

Pairs of scopes differ in one respect (organisation, repository, branch, user), and there only as far as a careless
comparison overlooks: a common beginning, case, spaces, look-alike letters, or a name that is a pattern. The first of a
pair is the one whose name could match the second's. Each is asked for the other's own text, listed, and used to read,
change and delete what belongs to the other; only then is the first deleted as a whole. All first scopes hold nearly the
same memory, so that a search that looks at its scope too late finds those of others in its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from harness.adapter import Item, Scope
from harness.drill import Piece, Plan
from harness.drills.reading import read_back
from harness.drills.stage import Drill, Stage
from harness.model import digest

RESPECTS = ("repo", "user", "org", "branch")
BRANCHED = "fieldkit"
"""The repository whose branches are told apart."""
SIBLINGS: Mapping[str, tuple[str, str]] = {
    "repo": ("api", "api-internal"),
    "user": ("ana", "ana2"),
    "org": ("acme", "acme-labs"),
    "branch": ("release", "release/2.x"),
}
NAMES = (
    ("case", "Atlas", "atlas"),
    ("space", "depot ", "depot"),
    ("lookalike", "p\N{CYRILLIC SMALL LETTER A}yments", "payments"),
    ("pattern", "a_c", "abc"),
    ("space", "a b", "a+b"),
    ("lookalike", "cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
    ("pattern", "d%f", "deef"),
    ("pattern", "g*i", "gggi"),
    ("pattern", "j?l", "jkl"),
    ("pattern", "m.o", "mno"),
    ("pattern", "$pq", "pq"),
    ("pattern", "*", "r"),
    ("pattern", "%", "s"),
    ("pattern", "_", "t"),
    ("pattern", "?", "u"),
    ("pattern", ".", "v"),
    ("pattern", "$", "w"),
)
"""family, the first name, the second; one letter stands for each pattern's match, so that the shortest finds it too."""
STORED = ("near", "far", "edited", "dropped")
"""What is written for each pair: one memory of the first scope, three of the second (to read, to change, to delete)."""
UNWRITTEN = "never-written"
FAR_REACHING = tuple("*%_?.$")
"""Names that could match many others: their scopes are deleted last."""

SUBJECTS = (
    "the nightly import", "the invoice renderer", "the label printer job", "the webhook sender", "the session store",
    "the audit export", "the price table", "the map tiles", "the mail queue", "the search index", "the stock sync",
)  # fmt: skip
SENTENCES = (
    "{subject} reads its token from {canary} and retries {n} times",
    "Before changing {subject}, run check {canary}; it takes {n} seconds",
    "{subject} was split in change {canary} after {n} days of review",
    "The limit of {subject} is {n} rows, set in table {canary}",
    "Ask for {canary} when {subject} stops for more than {n} minutes",
    "{subject} is covered by test {canary}, which needs {n} fixtures",
)
ALIKE = "Ask {canary} before you change anything in the shared calendar of the release team"
ALIKE_QUERY = "Ask before you change anything in the shared calendar of the release team"


class Pair(NamedTuple):
    """The pieces of one pair: what is stored, what the first writes over the second's, and the second's own change."""

    near: Piece
    far: Piece
    edited: Piece
    dropped: Piece
    overwrite: Piece
    revision: Piece

    @property
    def respect(self) -> str:
        return self.near.name.split("-")[1]

    @property
    def first(self) -> Scope:
        return self.near.item.scope

    @property
    def second(self) -> Scope:
        return self.far.item.scope

    @property
    def beyond(self) -> tuple[Piece, ...]:
        """What may be seen in the second scope."""
        return self.far, self.edited, self.dropped, self.overwrite, self.revision


def plan(size: int, seed: int) -> Plan:
    """A quarter of `size` pairs, at most all that there are; the rest is more memories on both sides in turn."""
    named = list(_named())[: max(1, size // len(STORED))]
    pieces = [_piece("everywhere", "everywhere", Scope(), seed)]
    for name, first, second in named:
        pieces += [
            _piece(f"{name}.near", "near", first, seed, twin=f"{name}.far"),
            _piece(f"{name}.far", "far", second, seed, twin=f"{name}.near"),
            *(_piece(f"{name}.{role}", role, second, seed) for role in ("edited", "dropped")),
            _piece(f"{name}.overwrite", "overwrite", first, seed, twin=f"{name}.edited"),
            _piece(f"{name}.revision", "revision", second, seed, twin=f"{name}.edited"),
        ]
    for at in range(size - len(STORED) * len(named)):
        name, *scopes = named[at // 2 % len(named)]
        pieces.append(_piece(f"{name}.more{at}", "more", scopes[at % 2], seed))
    return Plan(pieces=tuple(pieces))


def _named() -> Iterator[tuple[str, Scope, Scope]]:
    """Every pair: `<family>-<respect>-<number>` and its scopes."""
    for respect in RESPECTS:
        for at, (family, first, second) in enumerate([("prefix", *SIBLINGS[respect]), *NAMES], 1):
            yield f"{family}-{respect}-{at}", _scope(respect, first), _scope(respect, second)


def _scope(respect: str, name: str) -> Scope:
    return Scope(repo=BRANCHED, branch=name) if respect == "branch" else Scope(**{respect: name})


def _piece(name: str, role: str, scope: Scope, seed: int, twin: str | None = None) -> Piece:
    mark = digest(["isolation", seed, name])
    canary, number = f"cw{mark[:12]}", int(mark[12:18], 16)
    subject = SUBJECTS[number % len(SUBJECTS)]
    sentence = ALIKE if role == "near" else SENTENCES[number // 16 % len(SENTENCES)]
    text = sentence.format(subject=subject, canary=canary, n=2 + number % 89)
    item = Item(text=text[0].upper() + text[1:], scope=scope, at="2026-02-02T09:00:00+00:00", kind="project")
    query = ALIKE_QUERY if role == "near" else None
    return Piece(name=name, role=role, item=item, canary=canary, query=query, twin=twin)


def _pairs(plan: Plan) -> list[Pair]:
    names = [piece.name.removesuffix(".near") for piece in plan.of("near")]
    return [Pair(*(plan.by_name[f"{name}.{role}"] for role in Pair._fields)) for name in names]


def play(stage: Stage) -> None:
    """Looks first, then what changes one memory, then what deletes a scope: no later look rests on an earlier spill."""
    pairs = [pair for pair in _pairs(stage.plan) if stage.supports(f"scope_{pair.respect}")]
    if not pairs:
        return
    stage.open("write")
    _write(stage, pairs)
    pairs = [pair for pair in pairs if all(stage.ids.get(piece.name) for piece in pair[: len(STORED)])]
    for pair in pairs:
        _ask(stage, pair)
    _ask_elsewhere(stage, pairs)
    _write_across(stage, pairs)
    if stage.supports("forget_scope"):
        for pair in sorted(pairs, key=lambda pair: getattr(pair.first, pair.respect) in FAR_REACHING):
            _forget_scope(stage, pair)
    stage.close("end")


def _write(stage: Stage, pairs: list[Pair]) -> None:
    """A batch for each scope, so that a name that is refused costs no other name anything."""
    scopes: dict[Scope, list[Piece]] = {scope: [] for pair in pairs for scope in (pair.first, pair.second)}
    scopes[Scope()] = []
    for piece in stage.plan.of("everywhere", *STORED, "more"):
        if piece.item.scope in scopes:
            scopes[piece.item.scope].append(piece)
    for pieces in scopes.values():
        stage.remember("write", pieces)
    stage.settle("write")


def _ask(stage: Stage, pair: Pair) -> None:
    """Both ways: search, listing and reading by id; `own` is what shows that the memory can be found at all."""
    for mine, other in ((pair.near, pair.far), (pair.far, pair.near)):
        stage.recall("own", mine.item.text, mine.item.scope, about=[mine])
        stage.recall("cross", other.item.text, mine.item.scope, about=[other])
        pieces = [mine] if mine is pair.near else list(pair.beyond)
        read_back(stage, "listed", mine.item.scope, pieces)
        if stage.supports("get"):
            stage.call("own", "get", mine.item.scope, stage.ids[mine.name][0], about=[mine])
            stage.call("cross", "get", mine.item.scope, stage.ids[other.name][0], about=[other])


def _ask_elsewhere(stage: Stage, pairs: list[Pair]) -> None:
    """Without a scope, and in scopes that nobody wrote to, only what holds everywhere may come back; it also comes back
    in a scope. And what is there comes back however many others are like it.

    One pair of each family and respect: these answers do not depend on how near two names are.
    """
    general = stage.plan.of("everywhere")
    stage.recall("own", general[0].item.text, Scope(), about=general)
    kinds = {pair.near.name.rpartition("-")[0]: pair for pair in reversed(pairs)}
    for pair in kinds.values():
        stage.recall("crowd", pair.near.query or "", pair.first, about=[pair.near])
        stage.recall("wider", general[0].item.text, pair.first, about=general)
        stage.recall("empty", pair.far.item.text, Scope(), about=[pair.far])
        stage.recall("unwritten", pair.far.item.text, _scope(pair.respect, UNWRITTEN), about=[pair.far])
    if stage.supports("entries"):
        stage.call("empty", "entries", Scope(), about=general)
        for respect in dict.fromkeys(pair.respect for pair in pairs):
            stage.call("unwritten", "entries", _scope(respect, UNWRITTEN))


def _write_across(stage: Stage, pairs: list[Pair]) -> None:
    """By id: from the first scope, a look, the same from the second scope, where it must take effect, a look."""
    for step in ("cross", "own"):
        for pair in pairs:
            scope, text = (pair.first, pair.overwrite) if step == "cross" else (pair.second, pair.revision)
            edited, dropped = stage.ids[pair.edited.name][0], list(stage.ids[pair.dropped.name])
            if stage.supports("update"):
                stage.call(step, "update", scope, edited, text.item, about=[pair.edited, text])
            if stage.supports("forget"):
                stage.call(step, "forget", scope, dropped, about=[pair.dropped])
        stage.settle(step)
        for pair in pairs:
            read_back(stage, f"{step} written", pair.second, pair.beyond)


def _forget_scope(stage: Stage, pair: Pair) -> None:
    """The second scope is looked at right before, as another pair's deletion may have reached it."""
    read_back(stage, "before forget_scope", pair.second, pair.beyond)
    stage.call("across", "forget_scope", pair.first, about=[pair.near])
    stage.settle("across")
    read_back(stage, "after forget_scope", pair.first, [pair.near])
    read_back(stage, "after forget_scope", pair.second, pair.beyond)


DRILL = Drill("isolation", size=288, needs=(), plan=plan, play=play)
