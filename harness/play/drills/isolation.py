"""Isolation: a memory stays within its scope, whatever the scope is called.

Pairs of scopes differ in one respect (organisation, repository, branch, user), and there only as far as a careless
comparison overlooks: a common beginning, case, spaces, look-alike letters, a name that is a pattern, a part that one
leaves open. The first of a pair is the one whose name could match the second's. Each is asked for the other's own text,
listed, and used to read, change and delete what belongs to the other; only then is the first deleted as a whole. All
first scopes hold nearly the same memory, so that a search that looks at its scope too late finds those of others in its
way. Places (`harness.play.drills.scopes`) hold one memory each, alike within their group; each is asked for its own,
and some are deleted as a whole while those around them are looked at. At every size all names and all places are
asked; the size says for how many pairs memories are changed and deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.adapter import Item, Scope, applies
from harness.model.drill import Piece, Plan
from harness.model.trial import digest
from harness.play.drills import scopes
from harness.play.drills.reading import read_back
from harness.play.drills.scopes import EMPTY, LATTICE, RESPECTS, TEAMS, UNWRITTEN
from harness.play.drills.stage import Drill, DrillSession

# the first fields of ScopePair, in its order: pairs are sliced by how many they are
STORED = ("near", "far", "edited", "dropped", "replaced")
"""What is written for each pair: one memory of the first scope, four of the second (to read, change, delete and
replace)."""
DEPTH = 50
"""Hits of a search among the places, more than a group has: none hides another."""

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


class ScopePair(NamedTuple):
    """The pieces of one pair: what is stored, what the first writes over the second's or in its place, and what the
    second does."""

    near: Piece
    far: Piece
    edited: Piece
    dropped: Piece
    replaced: Piece
    overwrite: Piece
    revision: Piece
    usurper: Piece
    heir: Piece

    @property
    def respect(self) -> str:
        # of `<likeness>-<respect>-<number>.near`: no likeness may hold a hyphen
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
        return self.far, self.edited, self.dropped, self.replaced, self.overwrite, self.revision, self.heir


def plan(size: int, seed: int) -> Plan:
    """A fifth of `size` pairs, at most all that there are; the rest is more memories on both sides in turn. Beside
    them, one memory for each scope of the other pairs, and for each place.
    """
    named = list(scopes.make_pairs())
    whole, others = named[: max(1, size // len(STORED))], named[max(1, size // len(STORED)) :]
    pieces = [_make_piece("everywhere", "everywhere", Scope(), seed)]
    for name, first, second in whole:
        pieces += [
            _make_piece(f"{name}.near", "near", first, seed, twin=f"{name}.far"),
            _make_piece(f"{name}.far", "far", second, seed, twin=f"{name}.near"),
            *(_make_piece(f"{name}.{role}", role, second, seed) for role in ("edited", "dropped", "replaced")),
            _make_piece(f"{name}.overwrite", "overwrite", first, seed, twin=f"{name}.edited"),
            _make_piece(f"{name}.revision", "revision", second, seed, twin=f"{name}.edited"),
            _make_piece(f"{name}.usurper", "usurper", first, seed, twin=f"{name}.replaced"),
            _make_piece(f"{name}.heir", "heir", second, seed, twin=f"{name}.replaced"),
        ]
    for at in range(size - len(STORED) * len(whole)):
        name, *both = whole[at // 2 % len(whole)]
        pieces.append(_make_piece(f"{name}.more{at}", "more", both[at % 2], seed))
    beside = [(f"{name}.{turn}", scope) for name, *both in others for turn, scope in zip("12", both, strict=True)]
    pieces += [_make_piece(name, "place", scope, seed) for name, scope in (*scopes.make_places(), *beside)]
    return Plan(pieces=tuple(pieces))


def _make_piece(name: str, role: str, scope: Scope, seed: int, twin: str | None = None) -> Piece:
    """The places of a group hold the same but for the canary: whoever is asked for one would find the others."""
    mark = digest(["isolation", seed, name])
    kind = digest(["isolation", seed, name.partition(".")[0]]) if role == "place" else mark
    canary, number = f"cw{mark[:12]}", int(kind[12:18], 16)
    subject = SUBJECTS[number % len(SUBJECTS)]
    # by other digits than the subject, so that a subject does not always come in the same sentence
    sentence = ALIKE if role == "near" else SENTENCES[number // 16 % len(SENTENCES)]
    text = sentence.format(subject=subject, canary=canary, n=2 + number % 89)
    item = Item(text=text[0].upper() + text[1:], scope=scope, at="2026-02-02T09:00:00+00:00", kind="project")
    query = ALIKE_QUERY if role == "near" else None
    return Piece(name=name, role=role, item=item, canary=canary, query=query, twin=twin)


def _list_pairs(plan: Plan) -> list[ScopePair]:
    names = [piece.name.removesuffix(".near") for piece in plan.of("near")]
    return [ScopePair(*(plan.by_name[f"{name}.{role}"] for role in ScopePair._fields)) for name in names]


def play(stage: DrillSession) -> None:
    """Looks first, then what changes one memory, then what deletes a scope: no later look rests on an earlier spill."""
    if not any(stage.supports(f"scope_{respect}") for respect in RESPECTS):
        return
    pairs = [
        pair
        for pair in _list_pairs(stage.plan)
        if _declares_difference(stage, pair.first) and _declares_difference(stage, pair.second)
    ]
    places = [piece for piece in stage.plan.of("place") if _declares_difference(stage, piece.item.scope)]
    stage.open("write")
    _write(stage, pairs, places)
    # a pair that lacks one of its memories could not show what crosses
    pairs = [pair for pair in pairs if all(stage.ids.get(piece.name) for piece in pair[: len(STORED)])]
    places = [piece for piece in places if stage.ids.get(piece.name)]
    for pair in pairs:
        _ask(stage, pair)
    for place in places:
        _ask_place(stage, place)
    _ask_within(stage, [piece for piece in places if group(piece.name) == LATTICE and "!" not in piece.name])
    _ask_elsewhere(stage, pairs, places)
    _write_across(stage, pairs)
    if stage.supports("forget_scope"):
        lattice = [piece for piece in places if group(piece.name) == LATTICE]
        lattice = _forget_around(stage, lattice)
        _forget_beside(stage, [piece for piece in places if group(piece.name).startswith(EMPTY)])
        for pair in sorted(pairs, key=lambda pair: getattr(pair.first, pair.respect) in scopes.FAR_REACHING):
            _forget_scope(stage, pair)
        _forget_open(stage, lattice)
    stage.close("end")


def group(name: str) -> str:
    """What a place is told apart from: the places whose names begin likewise."""
    return name.partition(".")[0]


def _declares_difference(stage: DrillSession, scope: Scope) -> bool:
    return all(stage.supports(f"scope_{part}") for part in RESPECTS if getattr(scope, part) is not None)


def _write(stage: DrillSession, pairs: list[ScopePair], places: list[Piece]) -> None:
    """A batch for each scope of a pair, and for each group of places unless their names are long or odd, so that a name
    that is refused costs no other name anything."""
    batches: dict[Scope | str, list[Piece]] = {scope: [] for pair in pairs for scope in (pair.first, pair.second)}
    batches[Scope()] = []
    for piece in stage.plan.of("everywhere", *STORED, "more"):
        if piece.item.scope in batches:
            batches[piece.item.scope].append(piece)
    for piece in places:
        alone = piece.name.startswith(("length", EMPTY, *TEAMS))
        batches.setdefault(piece.name if alone else group(piece.name), []).append(piece)
    for pieces in batches.values():
        stage.remember("write", pieces)
    stage.settle("write")


def _ask(stage: DrillSession, pair: ScopePair) -> None:
    """Both ways: search, listing, reading by id and its history; `own` is what shows that it can be found at all."""
    for mine, other in ((pair.near, pair.far), (pair.far, pair.near)):
        stage.recall("own", mine.item.text, mine.item.scope, about=[mine])
        stage.recall("cross", other.item.text, mine.item.scope, about=[other])
        pieces = [mine] if mine is pair.near else list(pair.beyond)
        read_back(stage, "listed", mine.item.scope, pieces)
        for step, piece in (("own", mine), ("cross", other)):
            if stage.supports("get"):
                stage.call(step, "get", mine.item.scope, stage.ids[piece.name][0], about=[piece])
            if stage.supports("history"):
                stage.call(step, "history", mine.item.scope, stage.ids[piece.name][0], about=[piece])


def _ask_place(stage: DrillSession, place: Piece) -> None:
    """Its own text, which is nearly that of its whole group; a listing where scopes lie within each other."""
    stage.recall("place", place.item.text, place.item.scope, about=[place], k=DEPTH)
    if place.name.startswith((LATTICE, "word")):
        read_back(stage, "listed place", place.item.scope, [place])


def _ask_within(stage: DrillSession, places: list[Piece]) -> None:
    """What holds in a scope holds in those within it: asked for there by its own text, so that a search for equal words
    finds it, too. In those with one part more, and of what names nothing in all."""
    for wide in places:
        for narrow in places:
            more = len(scopes.list_parts(narrow.item.scope)) - len(scopes.list_parts(wide.item.scope))
            if applies(wide.item.scope, narrow.item.scope) and (more == 1 or (more and wide.item.scope == Scope())):
                stage.recall("within", wide.item.text, narrow.item.scope, about=[wide], k=DEPTH)


def _ask_elsewhere(stage: DrillSession, pairs: list[ScopePair], places: list[Piece]) -> None:
    """Without a scope, and in scopes that nobody wrote to, only what holds everywhere may come back; it also comes back
    in a scope. And what is there comes back however many others are like it. A part whose name is empty is either not
    set or a name like any other; what is limited to another comes back in neither case.

    One pair of each likeness and respect: these answers do not depend on how near two names are.
    """
    general = stage.plan.of("everywhere")
    stage.recall("own", general[0].item.text, Scope(), about=general)
    # reversed, so that of each kind the first pair is kept
    kinds = {pair.near.name.rpartition("-")[0]: pair for pair in reversed(pairs)}
    for pair in kinds.values():
        stage.recall("crowd", pair.near.query or "", pair.first, about=[pair.near])
        stage.recall("wider", general[0].item.text, pair.first, about=general)
        stage.recall("empty", pair.far.item.text, Scope(), about=[pair.far])
        stage.recall("unwritten", pair.far.item.text, scopes.name_scope(pair.respect, UNWRITTEN), about=[pair.far])
    listed = stage.supports("entries")
    if listed:
        stage.list_ids("empty", Scope(), about=general)
        for respect in dict.fromkeys(pair.respect for pair in pairs):
            stage.list_ids("unwritten", scopes.name_scope(respect, UNWRITTEN))
    for place in places:
        for blank in _list_blanks(stage, place):
            stage.recall("blank", place.item.text, blank, about=[place], k=DEPTH)
            if listed:
                stage.list_ids("blank", blank)


def _list_blanks(stage: DrillSession, place: Piece) -> list[Scope]:
    """Scopes with an empty name beside this place: each part alone, or the one that its group is about."""
    # of one place alone, or each would ask for them again; a backend without `scope_repo` is asked in _forget_open only
    if place.name == f"{LATTICE}.{RESPECTS[0]}":
        return _list_lone_blanks(stage)
    likeness, _, respect = group(place.name).partition("-")
    return [replace(place.item.scope, **{respect: ""})] if likeness == EMPTY and place.name.endswith(".other") else []


def _list_lone_blanks(stage: DrillSession) -> list[Scope]:
    return [Scope(**{respect: ""}) for respect in RESPECTS if stage.supports(f"scope_{respect}")]


def _write_across(stage: DrillSession, pairs: list[ScopePair]) -> None:
    """By id: from the first scope, a look, the same from the second scope, where it must take effect, a look. What is
    deleted by then has a history in neither."""
    for step in ("cross", "own"):
        for pair in pairs:
            crossing = step == "cross"
            scope, text = (pair.first, pair.overwrite) if crossing else (pair.second, pair.revision)
            successor = pair.usurper if crossing else pair.heir
            edited, dropped, replaced = (list(stage.ids[each.name]) for each in pair[2:5])
            if stage.supports("update"):
                stage.call(step, "update", scope, edited[0], text.item, about=[pair.edited, text])
            if stage.supports("forget"):
                stage.call(step, "forget", scope, dropped, about=[pair.dropped])
            if stage.supports("supersede"):
                stage.call(step, "supersede", scope, replaced, successor.item, about=[pair.replaced, successor])
        stage.settle(step)
        for pair in pairs:
            read_back(stage, f"{step} written", pair.second, pair.beyond)
    for pair in pairs if stage.supports("forget", "history") else ():
        for step, scope in (("own gone", pair.second), ("cross gone", pair.first)):
            stage.call(step, "history", scope, stage.ids[pair.dropped.name][0], about=[pair.dropped])


def _forget_around(stage: DrillSession, lattice: Sequence[Piece]) -> list[Piece]:
    """Deletes scopes from the narrowest to one part, and looks at what is one step away. Gives what should be left."""
    parts = [respect for respect in RESPECTS if stage.supports(f"scope_{respect}")]
    # parts are joined in the order of RESPECTS, as `_make_lattice` does: else no place has such a name
    names = [f"{LATTICE}.{'+'.join(parts[:count])}" for count in range(len(parts), 0, -1)]
    left = list(lattice)
    for name in names:
        for target in [piece for piece in left if piece.name == name]:
            left.remove(target)
            _forget_and_look(
                stage, f"around {name}", target.item.scope, [target], list_neighbours(target.item.scope, left)
            )
    return left


def _forget_beside(stage: DrillSession, places: Sequence[Piece]) -> None:
    """Deletes what has an empty name for a part where others have one."""
    for piece in places:
        for blank in _list_blanks(stage, piece):
            read_back(stage, "before blank", piece.item.scope, [piece])
            _forget_and_look(stage, f"blank beside {group(piece.name)}", blank, [], [piece])


def _forget_open(stage: DrillSession, lattice: Sequence[Piece]) -> None:
    """Last, what could take everything: a part with an empty name, and the scope without any."""
    targets = [piece for piece in lattice if piece.item.scope == Scope()]
    others = list_neighbours(Scope(), lattice)
    for piece in others:
        read_back(stage, "before open", piece.item.scope, [piece])
    for blank in _list_lone_blanks(stage):
        respect = next(part for part in RESPECTS if getattr(blank, part) == "")
        _forget_and_look(stage, f"blank {respect}", blank, [], others)
    for target in targets:
        _forget_and_look(stage, f"around {target.name}", Scope(), [target], others)


def list_neighbours(scope: Scope, places: Sequence[Piece]) -> list[Piece]:
    """The places one step away: one part is set, not set, or another."""
    return [piece for piece in places if sum(getattr(piece.item.scope, p) != getattr(scope, p) for p in RESPECTS) == 1]


def _forget_and_look(
    stage: DrillSession, step: str, scope: Scope, own: Sequence[Piece], others: Sequence[Piece]
) -> None:
    stage.call(step, "forget_scope", scope, about=own)
    stage.settle(step)
    for piece in (*own, *others):
        read_back(stage, step, piece.item.scope, [piece])


def _forget_scope(stage: DrillSession, pair: ScopePair) -> None:
    """The second scope is looked at right before, as another pair's deletion may have reached it."""
    read_back(stage, "before forget_scope", pair.second, pair.beyond)
    stage.call("across", "forget_scope", pair.first, about=[pair.near])
    stage.settle("across")
    read_back(stage, "after forget_scope", pair.first, [pair.near])
    read_back(stage, "after forget_scope", pair.second, pair.beyond)


DRILL = Drill("isolation", place=30, size=240, least=60, needs=(), plan=plan, play=play)
