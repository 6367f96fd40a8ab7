"""Scopes that a careless store takes for one another: pairs of names, and groups of places. Data, nothing else.

A pair differs in one respect (repository, user, organisation, branch), and there only as far as a careless comparison
overlooks. The places of a group are told apart by something else than one comparison: which parts are set at all, how
long a name is, where one name ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from harness.adapter import Scope

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
    ("case", "Maße", "Masse"),
    ("lookalike", "kad\N{LATIN SMALL LETTER DOTLESS I}k", "kadik"),
    ("lookalike", "mañana", "manana"),
)
"""likeness, the first name, the second; one letter stands for each pattern's match, so that the shortest finds it."""
UNWRITTEN = "never-written"
FAR_REACHING = tuple("*%_?.$")
"""Names that could match many others: their scopes are deleted last."""
LENGTHS = (30, 32, 63, 64, 100, 128, 255)
"""Where columns, file names, labels and keys are usually cut."""
SEPARATORS = ("-", "/", ":", "_", ".", "|", "")
WORDS = ("None", "null", "all", "default", "undefined", "no", "off")
"""What a part that is not set is called in keys and paths, and what a parser of YAML takes for the same."""
USUAL: Mapping[str, tuple[str, ...]] = {
    "repo": (".",),
    "user": ("root",),
    "org": ("personal",),
    "branch": ("main", "master"),
}
"""What a part is when nobody says anything else."""
TEAMS: Mapping[str, tuple[tuple[str, str], tuple[str, ...]]] = {
    "path": (
        ("repo", "branch"),
        (
            "gateway", "acme/gateway", "dana/gateway", "acme/portal", "acme//gateway", "gateway.git", "origin/gateway",
            "refs/heads/gateway", "gateway/",
        ),
    ),
    "address": (
        ("user", "org"),
        (
            "dana", "dana@acme.example", "dana@globex.example", "dana+ci@acme.example", "acme.example", "dana[bot]",
            "@dana", "Neill, Dana", "Neill, Ben", "dana.o'neill",
        ),
    ),
    "number": (("branch", "user"), ("1", "1.0", "01", "1.1", "1.10", "1.1.0", "v1.1")),
    "separator": (
        ("repo", "branch"),
        (
            "web-api", "web_api", "web/api", "web.api", "web:api", "web api", "webapi", "api-web", "web%2Fapi",
            "web+api", "web-apis", "web\\api", "web;v=1", "web;v=2",
        ),
    ),
    "lookalike": (
        ("repo", "user"),
        (
            "caf\N{LATIN SMALL LETTER E WITH ACUTE}-fin", "cafe\N{COMBINING ACUTE ACCENT}-fin", "cafe-fin",
            "cafe\N{ZERO WIDTH SPACE}-fin", "cafe-\N{LATIN SMALL LIGATURE FI}n",
            "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}n", "in", "\N{ANGSTROM SIGN}r",
            "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}r", "\N{GREEK SMALL LETTER SIGMA}-x",
            "\N{GREEK SMALL LETTER FINAL SIGMA}-x",
        ),
    ),
}  # fmt: skip
"""Likeness -> the parts that are called so, and names as teams have them, each another: forks and folders, mail
addresses, releases, one word in several spellings."""
LATTICE = "lattice"
"""The group of places that differ in which parts are set, and in one of them."""
EMPTY = "empty"
"""Begins the groups of places of which one has an empty name for a part, and another a name."""

NamedScopes = tuple[str, Scope, Scope]


def make_pairs() -> Iterator[NamedScopes]:
    """Every pair: `<likeness>-<respect>-<number>` and its scopes, the one that could reach the other first.

    Respects take turns, each beginning with another likeness, so that the first few are of every kind.
    """
    yield from (pair for turn in zip(*map(_make_pairs, RESPECTS), strict=True) for pair in turn)


def _make_pairs(respect: str) -> list[NamedScopes]:
    whole = Scope(**{part: f"{part}-with-{respect}" for part in RESPECTS})
    nesting_pair = ("nesting", replace(whole, **{respect: None}), whole)
    neighbour = Scope(**{part: f"{part}-beside-{respect}" for part in RESPECTS})
    part_pair = ("part", neighbour, replace(neighbour, **{respect: f"other-{respect}"}))
    alike = [("prefix", *SIBLINGS[respect]), *NAMES]
    found = [
        nesting_pair,
        part_pair,
        *((likeness, name_scope(respect, one), name_scope(respect, two)) for likeness, one, two in alike),
    ]
    first, *rest = [(f"{likeness}-{respect}-{at}", one, two) for at, (likeness, one, two) in enumerate(found, 1)]
    turn = 2 * RESPECTS.index(respect)
    # nesting stays in front whatever the turn, so that a plan of a few pairs has it for each respect
    return [first, *rest[turn:], *rest[:turn]]


def name_scope(respect: str, name: str) -> Scope:
    return Scope(repo=BRANCHED, branch=name) if respect == "branch" else Scope(**{respect: name})


def list_parts(scope: Scope) -> list[str]:
    """The parts that it names."""
    return [part for part, name in vars(scope).items() if name is not None]


def make_places() -> Iterator[tuple[str, Scope]]:
    """Every place: `<group>.<member>`, the group beginning with its likeness, and the scope."""
    yield from _make_lattice()
    for respect in RESPECTS:
        for member, name in _make_long_names():
            yield f"length-{respect}.{member}", name_scope(respect, name)
        context = Scope(**{next(part for part in RESPECTS if part != respect): f"beside-{respect}"})
        yield f"word-{respect}.open", context
        for word in (*WORDS, *USUAL[respect]):
            yield f"word-{respect}.{word}", replace(context, **{respect: word})
        yield f"{EMPTY}-{respect}.given", replace(context, **{respect: ""})
        yield f"{EMPTY}-{respect}.other", replace(context, **{respect: "somebody"})
        yield f"position.{respect}", Scope(**{respect: "anywhere"})
    for likeness, (parts, names) in TEAMS.items():
        for part in parts:
            for number, name in enumerate(names, 1):
                yield f"{likeness}-{part}.{number}", name_scope(part, name)
    yield from _join_names()


def _make_lattice() -> Iterator[tuple[str, Scope]]:
    """Every choice of parts that are set, and for each part that is set a neighbour that differs in it."""
    for count in range(len(RESPECTS) + 1):
        for parts in combinations(RESPECTS, count):
            scope = Scope(**{part: f"shared-{part}" for part in parts})
            yield f"{LATTICE}.{'+'.join(parts)}", scope
            for part in parts:
                yield f"{LATTICE}.{'+'.join(parts)}!{part}", replace(scope, **{part: f"separate-{part}"})


def _make_long_names() -> Iterator[tuple[str, str]]:
    """Each name agrees with the next in as many characters as it is called, and no longer: its first, or its last. Two
    differ in the middle."""
    # longer than the longest of LENGTHS: cut out of a shorter one, two lengths would give one name
    word = "quarterly-revenue-reporting-service-of-the-northern-region-" * 5
    yield from ((str(length), f"{word[:length]}#") for length in LENGTHS)
    yield "whole", word[: LENGTHS[-1]] + "~"
    yield from ((f"last {length}", f"#{word[-length:]}") for length in LENGTHS)
    yield "last whole", "~" + word[-LENGTHS[-1] :]
    yield from ((f"middle {mark}", f"{word[:128]}{mark}{word[-100:]}") for mark in "#~")


def _join_names() -> Iterator[tuple[str, Scope]]:
    """Two scopes each, whose two names run together to the same in either order: `a` and `a-a`, `a-a` and `a`.

    Every separator for the first two parts, one for each other two.
    """
    for at, (one, two) in enumerate(combinations(("org", "repo", "user", "branch"), 2)):
        for turn, separator in enumerate(SEPARATORS if not at else SEPARATORS[at - 1 : at]):
            # a letter and a number of its own, so that no two pairs share a name
            short = f"{'kmnpqstvwx'[at + turn]}{at}"
            long = f"{short}{separator}{short}"
            yield f"join-{one}-{two}-{turn}.1", Scope(**{one: short, two: long})
            yield f"join-{one}-{two}-{turn}.2", Scope(**{one: long, two: short})
