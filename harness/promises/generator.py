"""Which sequences are tried: drawn from a seed for one backend, and made shorter.

Own draws and own shrinking, not Hypothesis: what that draws depends on its release and on which modules of a checkout
were imported (it takes constants from them), so that one seed would not give the same sequences on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from harness.adapter import Scope
from harness.model.backend import Backend
from harness.model.sequence import UNKNOWN, VERSION, Form, Part, Step, StepOp, Steps, number_steps
from harness.promises.words import TWINS

# With the letters behind it, a name that is just too long for a column of 30 characters.
LONG = "r" * 29
SCOPES = (
    Scope(repo="api"),
    Scope(repo="api-internal"),
    Scope(repo="API"),
    Scope(repo="a%i"),
    Scope(repo="a_i"),
    Scope(repo="a*"),
    Scope(),
    Scope(repo="api", user="ana"),
    Scope(repo="api", user="ben"),
    Scope(repo="api", branch="next"),
    Scope(org="acme", repo="api"),
    Scope(org="acme", repo="api", user="ana"),
    Scope(org="acme", repo="api", user="ben"),
    Scope(org="api"),
    Scope(user="api"),
    Scope(repo="api", user="ana2"),
    Scope(org="a", repo="a-a"),
    Scope(org="a-a", repo="a"),
    Scope(repo="None"),
    Scope(user="None"),
    Scope(repo=""),
    Scope(repo="api", user=""),
    Scope(repo="\N{FULLWIDTH LATIN SMALL LETTER A}pi"),
    Scope(repo=f"{LONG}abc"),
    Scope(repo=f"{LONG}abd"),
    *(Scope(repo=LONG[:1] * size + end) for size in (63, 255) for end in "xy"),
)
"""Wider, narrower, a prefix, another case, wildcards, parts joined otherwise, empty, long: the plain first."""
KIN = (
    *((0, other) for other in (1, 2, 3, 4, 5, 6, 7, 9, 10, 13, 20, 21, 22)),
    *((7, other) for other in (8, 11, 12, 15, 21)),
    *((6, other) for other in (18, 19, 20)),
    (11, 12), (13, 14), (16, 17), (23, 24), (25, 26), (27, 28),
)  # fmt: skip
"""Scopes that a careless store takes for one another."""
SMALL, MEDIUM, LARGE = (1, 1, 2, 2, 3, 12), (21, 99, 100, 101), (256, 257, 512, 1000, 1001, 1024, 1030)
"""Sizes of a batch, around the limits that stores have."""
FEW, CROWD = 3, (1, 12)
"""A crowd of equal texts is more than a search brings."""
EDGES = (0, 1, 2, 3, 19, 20, 99, 100, 255, 256, 511, 999, 1000)
OFTEN: Mapping[StepOp, int] = {
    "remember": 5, "update": 3, "supersede": 2, "forget": 3, "forget_scope": 2, "entries": 2, "get": 1, "history": 1,
    "recall": 2, "reopen": 1, "kill": 1, "snapshot": 2, "restore": 1, "deprecate": 2, "recall_where": 2,
}  # fmt: skip
FORMS: tuple[Form, ...] = (
    "plain", "plain", "again", "capitals", "spaces", "long", "longer", "odd", "expired", "bare", "cited", "blank",
    "filed", "filed", "filed",
)  # fmt: skip
MANY: tuple[Form, ...] = ("plain", "plain", "again", "again", "bare", "filed")
"""Forms of a larger batch: a thousand long texts take minutes to embed."""
ALIKE: tuple[Form, ...] = ("plain", *("again",) * 3)
OPS = tuple(op for op, times in OFTEN.items() for _ in range(times))
MARKED: tuple[StepOp, ...] = (*OPS, *("restore",) * 4)
"""Once there is a mark."""
PLACELESS: tuple[StepOp, ...] = ("reopen", "kill", "snapshot", "restore")
REPLACING: tuple[Form, ...] = (
    "plain",
    "plain",
    "long",
    "longer",
    "odd",
    "bare",
    "cited",
    "expired",
    "filed",
    "filed",
    "again",
)
"""Forms of what takes the place of something."""
ASKED: tuple[StepOp, ...] = ("get", "recall", "history")
NAMED = (*(0,) * 6, 30, 101)
"""Of the newest memories, those that one call replaces, marks or deletes beside the few."""
WHERE: tuple[tuple[Part, ...], ...] = (("kind",), ("path",), ("confidence",), ("confidence",), ("kind", "confidence"))
FETCHED = (3, 10, 10)
"""Hits that are asked for with a filter: what does not fit takes no place among them."""


def draw(seed: int, turn: int, backend: Backend, largest: int) -> Steps:
    """The sequence of a turn: two to four scopes, up to twenty operations, then looks at all that they touched.

    Equal arguments give equal sequences on every machine. What the backend does not support is left out. Every pair of
    scopes has its turn before one comes again; most turns are small, as most faults show there, and large ones slow.

    Args:
        largest: Memories of one batch.
    """
    # seeded by a text: unlike `hash`, that gives the same draws in each process
    luck = random.Random(f"promises {VERSION} {seed} {turn}")  # noqa: S311  reproducible on purpose
    # one order for a round of turns, so that each pair comes once in it
    order = random.Random(f"pairs {VERSION} {seed} {turn // len(KIN)}").sample(KIN, len(KIN))  # noqa: S311
    kin = [order[turn % len(KIN)], *(luck.choice(KIN) for _ in range(luck.choice((0, 0, 1))))]
    places = [SCOPES[each] for pair in kin for each in pair]
    places = [place for place in dict.fromkeys(places) if expresses(backend, place)]
    if not places:
        places = [SCOPES[0]] if expresses(backend, SCOPES[0]) else [Scope()]
    sizes, forms = ((SMALL,), FORMS) if turn % 4 else ((CROWD,), ALIKE)
    if turn % 3 == 2:
        sizes = (*sizes * 5, LARGE if turn % 9 == 8 else MEDIUM)
    steps: list[Step] = []
    homes: list[Scope] = []
    marks = 0
    for _ in range(luck.randint(3, 20)):
        # a group of sizes first: however many sizes a group has, it is drawn as often
        count = min(luck.choice(luck.choice(sizes)), largest)
        step = _draw_step(luck, places, homes, marks, count, forms if count <= FEW else MANY)
        if not backend.supports("multi_process"):
            step = step.model_copy(update={"who": "a"})
        if supports(backend, step):
            steps.append(step)
            homes += [step.scope] * step.stores
            marks += step.op == "snapshot"
    return (*steps, *look(luck, places, homes, backend))


def _draw_step(
    luck: random.Random, places: Sequence[Scope], homes: Sequence[Scope], marks: int, count: int, forms: Sequence[Form]
) -> Step:
    """Drawn whole before it is made, so that a draw costs the same luck whatever comes of it.

    Args:
        homes: The scope of each memory so far.
    """
    op, made = luck.choice(MARKED if marks else OPS), len(homes)
    who = luck.choice(("a", "a", "a", "b"))
    place, form, new = luck.choice(places), luck.choice(forms), luck.choice(REPLACING)
    astray = luck.random() < 0.3
    backs = [luck.choice((0, 0, 1, 1, 2, 3, luck.choice(EDGES))) for _ in range(luck.choice((1, 1, 2, 3)))]
    of = tuple(dict.fromkeys(made - 1 - back if back < made else UNKNOWN for back in backs))
    named, where, k, later = luck.choice(NAMED), luck.choice(WHERE), luck.choice(FETCHED), luck.random() < 0.3
    if op == "remember" or (not made and op not in PLACELESS):
        twin = of[:1] if form in TWINS and of[0] != UNKNOWN else ()
        return Step(op="remember", who=who, scope=place, of=twin, count=count, form=form)
    if op == "restore":
        # without a mark there is nothing to restore, so that one is made
        return Step(op=op, who=who, of=(marks - 1 - backs[0] % marks,)) if marks else Step(op="snapshot", who=who)
    if op in PLACELESS:
        return Step(op=op, who=who)
    if op in ("entries", "forget_scope"):
        return Step(op=op, who=who, scope=place)
    # mostly where the memory is: elsewhere, a change should do nothing
    scope = place if astray or of[0] == UNKNOWN else homes[of[0]]
    if op in ("supersede", "forget", "deprecate"):
        of = tuple(dict.fromkeys((*of, *range(max(0, made - named), made))))
        return Step(op=op, who=who, scope=scope, of=of, form=new if op == "supersede" else "plain",
                    later=op == "deprecate" and later)  # fmt: skip
    if op == "update":
        return Step(op=op, who=who, scope=scope, of=of[:2] if new in TWINS else of[:1], form=new)
    # an unknown memory has no text that a recall could ask by
    one = of[:1] if of[0] != UNKNOWN or op not in ("recall", "recall_where") else (made - 1,)
    if op == "recall_where":
        return Step(op=op, who=who, scope=scope, of=one, where=where, k=k)
    return Step(op=op, who=who, scope=scope, of=one)


def look(luck: random.Random, places: Sequence[Scope], homes: Sequence[Scope], backend: Backend) -> Iterator[Step]:
    """Every scope is listed; the newest, the oldest and some on borders are asked for in each.

    Own text is asked for where a memory was stored.

    Args:
        homes: The scope of each memory.
    """
    made = len(homes)
    ends = (one for edge in (0, 1, 256, 100, 2, 20) for one in (made - 1 - edge, edge))
    seen = [one for one in dict.fromkeys(ends) if 0 <= one < made]
    for who in ("a", "b") if backend.supports("multi_process") else ("a",):
        asked = [Step(op="entries", who=who, scope=place) for place in places]
        for one in seen[: 6 if who == "a" else 2]:
            asked.append(Step(op="recall", who=who, scope=homes[one], of=(one,)))
            asked += [Step(op=luck.choice(ASKED), who=who, scope=place, of=(one,)) for place in places]
            place, where, k = luck.choice((homes[one], *places)), luck.choice(WHERE), luck.choice(FETCHED)
            asked.append(Step(op="recall_where", who=who, scope=place, of=(one,), where=where, k=k))
        yield from (step for step in dict.fromkeys(asked) if supports(backend, step))


def expresses(backend: Backend, scope: Scope) -> bool:
    """Whether the backend tells apart by all that the scope names."""
    return all(name is None or backend.supports(f"scope_{part}") for part, name in vars(scope).items())


def supports(backend: Backend, step: Step) -> bool:
    needs = {
        "reopen": ("persistent",),
        "kill": ("persistent",),
        "snapshot": ("snapshot", "restore"),
        "restore": ("snapshot", "restore"),
        "remember": (),
        "recall": (),
        "recall_where": tuple(f"filter_{part}" for part in step.where),
    }
    return all(map(backend.supports, needs.get(step.op, (step.op,)))) and expresses(backend, step.scope)


# --- shorter ----------------------------------------------------------------------------------------------------------


def drop(steps: Steps, at: int) -> Steps | None:
    """Without one step; what is only about its memories goes too. None: nothing is left."""
    ranges = [stored for _, stored in number_steps(steps)]
    lost = ranges[at]
    mark = sum(step.op == "snapshot" for step in steps[:at]) if steps[at].op == "snapshot" else None
    return _renumber(steps[:at] + steps[at + 1 :], at, lambda of: _without(of, lost), mark)


def lessen(steps: Steps, at: int, count: int, *, first: bool = False) -> Steps | None:
    """Steps with a smaller batch: without its last memories, or without its first."""
    stored = [each for _, each in number_steps(steps)][at]
    lost = range(stored.start, stored.stop - count) if first else range(stored.start + count, stored.stop)
    fewer = (*steps[:at], steps[at].model_copy(update={"count": count}), *steps[at + 1 :])
    return _renumber(fewer, at + 1, lambda of: _without(of, lost), None)


def _without(of: int, lost: range) -> int | None:
    return None if of in lost else of - len(lost) if of >= lost.stop else of


def _renumber(steps: Steps, since: int, move: Callable[[int], int | None], mark: int | None) -> Steps | None:
    """Later steps are about the same memories and marks under their new numbers."""
    made = list(steps[:since])
    for step in steps[since:]:
        if step.op == "restore":
            if step.of[0] == mark:
                continue
            of: tuple[int, ...] = (step.of[0] - (mark is not None and step.of[0] > mark),)
        else:
            of = tuple(moved for each in step.of if (moved := move(each)) is not None)
            if step.of and not of and step.op != "remember":
                # a supersede that names nothing any more still stores: without it, later numbers would shift once more
                if step.stores:
                    return None
                continue
        made.append(step.model_copy(update={"of": of}))
    return tuple(made) or None


def simplify(steps: Steps, backend: Backend) -> Iterator[Steps]:
    """Shorter, then plainer sequences that the backend supports: each may or may not show the same."""
    for at in reversed(range(len(steps))):
        if (fewer := drop(steps, at)) is not None:
            yield fewer
    for at, step in enumerate(steps):
        if step.count > 1:
            counts = sorted({1, 2, step.count // 2, step.count * 9 // 10, step.count - 1} - {step.count, 0})
            yield from filter(
                None, (lessen(steps, at, count, first=first) for count in counts for first in (False, True))
            )
        for change in _list_plainer(step):
            yield (*steps[:at], step.model_copy(update=change), *steps[at + 1 :])
    scopes = dict.fromkeys(step.scope for step in steps if step.op not in PLACELESS)
    plainest = tuple(scope for scope in SCOPES if expresses(backend, scope))[:2]
    for scope, plain in product(scopes, plainest):
        # a scope in use would make one of two; the plainest is not exchanged for the second plainest
        if plain not in scopes and plainest != (scope, plain):
            yield tuple(step.model_copy(update={"scope": plain}) if step.scope == scope else step for step in steps)


def _list_plainer(step: Step) -> Iterator[dict[str, Any]]:
    """What may be changed of one step so that there is less to read."""
    if len(step.of) > 1:
        yield from ({"of": step.of[:each] + step.of[each + 1 :]} for each in range(len(step.of)))
    if step.form != "plain":
        yield {"form": "plain", "of": () if step.op == "remember" else step.of}
    if len(step.where) > 1:
        yield from ({"where": (part,)} for part in step.where)
    if step.later:
        yield {"later": False}
    if step.who != "a":
        yield {"who": "a"}
