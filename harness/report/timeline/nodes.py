"""What a timeline is drawn with: nodes of a tree of words, and of them verdicts, quotes, entries, sources and proofs.

A tree has two ways onto the page: as HTML that any browser shows, and packed for a script to unfold. A packed block is
gzip in base64 of `{"kinds": [[tag, class]...], "texts": [...], "nodes": [[kind, child...]...], "trees": {id: node}}`. A
child is a node before this one, counted from 1, or 0: the next text. Equal branches stand once, as a scenario's
timelines differ little, and texts stand apart from numbers, as gzip likes it.
"""

from __future__ import annotations

import base64
import gzip
import json
import pickle
import re
import zlib
from collections.abc import Collection, Mapping
from functools import lru_cache
from html import escape
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from harness.adapter import Hit, Source
from harness.log.events import Recalled, Resolved
from harness.log.parts import Checked
from harness.metrics.seen import UNFINISHED, RecalledEntry
from harness.metrics.view import Record, once
from harness.model.facts import CANARY
from harness.model.scenario import Pinned
from harness.report import words
from harness.text.classify import FactVerdict

LEVEL = 9
Tag = Literal[
    "b", "bdi", "code", "details", "div", "li", "ol", "p", "pre", "small", "span", "summary",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
]  # fmt: skip


class Node(NamedTuple):
    """An element without attributes but its class; a `th` of class `row` heads a row, any other a column.

    A template shows it as HTML.
    """

    tag: Tag
    cls: str
    children: tuple[Node | str, ...]

    def __html__(self) -> str:
        return write_markup(self)


def make_node(tag: Tag, cls: str, *children: Node | str | None) -> Node:
    """Empty children are left out."""
    # A node is a tuple of three, so only None and an empty text are false.
    return Node(tag, cls, tuple(child for child in children if child))


def write_markup(tree: Node) -> str:
    """As HTML; every text is escaped."""
    parts: list[str] = []
    _write_markup(tree, parts)
    return "".join(parts)


def _write_markup(tree: Node, parts: list[str]) -> None:
    scope = (' scope="row"' if tree.cls == "row" else ' scope="col"') if tree.tag == "th" else ""
    cls = f' class="{escape(tree.cls)}"' if tree.cls else ""
    parts.append(f"<{tree.tag}{cls}{scope}>")
    for child in tree.children:
        if isinstance(child, str):
            parts.append(escape(child))
        else:
            _write_markup(child, parts)
    parts.append(f"</{tree.tag}>")


def pack(trees: Mapping[str, Node]) -> str:
    """All trees of a block. The same trees give the same bytes under one build of zlib."""
    return Numbered(trees).pack(len(trees))


class Numbered:
    """The branches of trees, each once: those of the first few trees stand before all others."""

    def __init__(self, trees: Mapping[str, Node]) -> None:
        self._known: dict[_Branch, int] = {}
        self._roots: dict[str, int] = {}
        self._reach = [0]
        for name, tree in trees.items():
            self._roots[name] = self._number(tree)
            self._reach.append(len(self._known))

    def pack(self, count: int) -> str:
        """The first `count` trees as a block."""
        kinds: dict[_Branch, int] = {}
        nodes, texts = list[list[int]](), list[str]()
        for tag, cls, *children in islice(self._known, self._reach[count]):
            nodes.append(
                [kinds.setdefault((tag, cls), len(kinds)), *(0 if isinstance(c, str) else c for c in children)]
            )
            texts += [child for child in children if isinstance(child, str)]
        trees = dict(islice(self._roots.items(), count))
        block = {"kinds": list(kinds), "texts": texts, "nodes": nodes, "trees": trees}
        text = json.dumps(block, ensure_ascii=False, separators=(",", ":"))
        # Without a time in the head of gzip, equal trees give equal bytes.
        return base64.b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode("ascii")

    def _number(self, tree: Node) -> int:
        """The place of a branch among those known, counted from 1; its children come before it."""
        number = self._number
        branch = (tree.tag, tree.cls, *[each if isinstance(each, str) else number(each) for each in tree.children])
        return self._known.setdefault(branch, len(self._known) + 1)


_Branch: TypeAlias = tuple[str | int, ...]
"""Tag, class, and each child: a text, or the place of a branch."""


def cut_trees(trees: Mapping[str, Node], room: int) -> tuple[str, tuple[str, ...]]:
    """As many of the trees as fit, packed."""
    numbered, count = Numbered(trees), len(trees)
    while len(data := numbered.pack(count)) > room and count:
        # A guess by size, but always fewer, so that it ends.
        count = min(count - 1, count * room // len(data))
    return data, tuple(trees)[:count]


def freeze_tree(tree: Node) -> bytes:
    # Fast, not small: it only travels to the process that writes the page.
    return zlib.compress(pickle.dumps(tree, pickle.HIGHEST_PROTOCOL), 1)


def thaw_tree(data: bytes) -> Node:
    tree: Node = pickle.loads(zlib.decompress(data))  # noqa: S301  made by this program, never read from a file
    return tree


# --- words that are shown ---------------------------------------------------------------------------------------------

TEXT, BLOCK = 400, 4000
"""Characters shown of a text, and of a diff or an output."""
FIRST, MOST = 5, 20
"""Entries shown whatever they say, and how many at most that speak of the story."""
MARK: Mapping[str, str] = {
    "current": "\u25cf", "superseded": "\u25b2", "retracted": "\u25c6", "out-of-scope": "\u25b3", "unclear": "?",
    "mentioned": "\u2013", "partial": "\u25d0", "other": "\u00b7",
    "right": "\u25cf", "stale": "\u25b2", "lure": "\u25b3", "unresolved": "\u25cb", "failed": "\u2715",
    UNFINISHED: "\u25cc",
}  # fmt: skip
"""A sign before each verdict, of an entry or of a decision: none is told by its colour alone."""
# What matches stands unquoted in a command on the page, so it may hold nothing that a shell interprets.
_COMMIT, _PATH = re.compile(r"[0-9a-f]{7,64}"), re.compile(r"\w[\w./-]*")


@lru_cache(maxsize=16384)
def show(text: str, limit: int = TEXT) -> str:
    """Harmless to look at; a run's texts come back many times."""
    return words.make_visible(text, limit)


@lru_cache(maxsize=64)
def draw_verdict(word: str) -> Node:
    """A verdict as mark and word."""
    return make_node("span", f"v {word}", f"{MARK.get(word, MARK['other'])} {word.replace('-', ' ')}")


def quote(text: str, limit: int = TEXT) -> Node:
    return make_node("bdi", "", f"\u201c{show(text, limit)}\u201d")


def draw_note(*notes: str) -> Node:
    """Notes beside a text, told apart from it even where no style is applied."""
    return make_node("small", "", " " + " \u00b7 ".join(filter(None, notes)))


def format_fact(record: Record, name: str) -> str:
    """A fact in its plain words, with the secret that this trial put into it."""
    text = record.scenario.by_id[name].plain.text
    return text.replace(CANARY, record.log.opened.canaries.get(name, CANARY))


# --- a list of entries ------------------------------------------------------------------------------------------------


def list_entries(
    record: Record, line: int, event: Recalled, cited: Collection[int] = (), gold: Collection[str] = ()
) -> Node:
    """All that one question brought, in reading order.

    Beyond the first few, entries that speak of nothing in the story are only counted.

    Args:
        cited: Positions that decided.
        gold: The facts that answer.
    """
    entries, unread = record.entries(line, event), record.list_unread(event)[:MOST]
    if not entries and not unread:
        return make_node("p", "quiet", "nothing came back" if event.fault is None else "no answer")

    def row(entry: RecalledEntry, rank: str = "") -> Node:
        source = entry.hit.source
        over = "beyond the token budget" if not entry.in_budget else f"beyond the first {event.k}"
        shown = event.k if event.shown is None else event.shown
        beyond = over if not entry.in_budget or entry.position >= shown else ""
        notes = (
            "decided here" if entry.position in cited else "",
            "gold" if entry.asserted.intersection(gold) else "",
            ", ".join(sorted(entry.reading.asserted)),
            place(source),
            describe_check(check_source(record, event.session, source)),
            _tell_warning(entry.hit),
            beyond,
        )
        cls = "cited" if entry.position in cited else "over" if beyond else ""
        return _make_row(cls, rank, record.verdict(entry), show(entry.text), notes)

    first = make_node("ol", "entries", *(row(entry) for entry in entries[:FIRST]))
    later = [each for each in entries[FIRST:] if each.position in cited or each.says_something][:MOST]
    rest = len(entries) - len(first.children) - len(later)
    if not rest and not later and not unread:
        return first
    far = [row(each, f"{each.position + 1}.") for each in later]
    gap = make_node("p", "quiet", f"\u2026 {rest:,} more") if rest else None
    notes = ("stored by nobody, and not shown to the reader",)
    unread_rows = [_make_row("over", "", "other", show(hit.text), notes) for hit in unread]
    return make_node(
        "div", "", first, make_node("ul", "entries", *far, *unread_rows) if far or unread_rows else None, gap
    )


def _tell_warning(hit: Hit) -> str:
    """What the backend itself says of a hit."""
    if hit.verdict is None:
        return "marked as superseded by the backend" if hit.superseded else ""
    by, reason = (show(part or "", 100) for part in (hit.verdict.by, hit.verdict.reason))
    return f"called {hit.verdict.kind} by the backend{f', by {by}' if by else ''}{f' ({reason})' if reason else ''}"


@lru_cache(maxsize=16384)
def _make_row(cls: str, rank: str, word: FactVerdict, text: str, notes: tuple[str, ...]) -> Node:
    note = draw_note(*notes)
    number = make_node("span", "rank", rank) if rank else None
    return make_node("li", cls, number, draw_verdict(word), make_node("bdi", "", f" \u201c{text}\u201d"), note)


# --- sources and git --------------------------------------------------------------------------------------------------


_Place = tuple[str | None, str | None, int | None]
"""Commit, path, line: all that git is asked for."""


def _place(source: Source) -> _Place:
    return source.commit, source.path, source.line


@once
def _group_checks(record: Record) -> dict[str, dict[_Place, Checked]]:
    """Checkout -> what git said there of each place; a place is looked up once per checkout."""
    heads: dict[str, dict[_Place, Checked]] = {}
    for _, event in record.of(Resolved):
        heads.setdefault(event.head, {}).update((_place(each.source), each) for each in event.sources)
    return heads


def check_source(record: Record, session: str, source: Source | None) -> Checked | None:
    """What git said of a source at the checkout of a session."""
    commit = next((each.commit for each in record.scenario.sessions if each.id == session), "")
    return _group_checks(record).get(commit, {}).get(_place(source)) if source else None


@lru_cache(maxsize=4096)
def place(source: Source | None) -> str:
    """`docs/a.md:7 @1a2b3c4 session first`."""
    if source is None:
        return "no source"
    at = f"{source.path}:{source.line}" if source.path and source.line is not None else source.path or ""
    commit = f"@{source.commit[:7]}" if source.commit else ""
    session = f"session {source.session}" if source.session else ""
    return show(" ".join(filter(None, [at, commit, session])), 300) or "no source"


def describe_check(check: Checked | None) -> str:
    """What git says of a source: the line at its commit, and where it stands at the checkout."""
    if check is None:
        return ""
    if check.state == "dangling":
        return "git: no such line at that commit"
    if check.state == "elsewhere":
        return f"git: \u201c{show(check.says or '', 300)}\u201d, in another repository than this checkout's"
    by = f" by {check.by[:7]}" if check.by else ""
    now = f" to {check.path}:{check.line}" if check.state in ("moved", "renamed") else ""
    return f"git: \u201c{show(check.says or '', 300)}\u201d, at this checkout: {show(check.state + by + now, 300)}"


class Proof(NamedTuple):
    """A command that shows a cited line, and what it is to print."""

    command: str
    prints: str


def make_proof(record: Record, source: Source | None) -> Proof | None:
    """How to see a cited line in the built fixture; only for a source that is a plain hash, path and line."""
    if source is None or not (source.commit and source.path and source.line is not None):
        return None
    if not (_COMMIT.fullmatch(source.commit) and _PATH.fullmatch(source.path)):
        return None
    command = f"git -C {_find_fixture(record)} show {source.commit[:12]}:{source.path} | sed -n {source.line}p"
    checks = (heads.get(_place(source)) for heads in _group_checks(record).values())
    return Proof(command, show(next((each.says for each in checks if each and each.says), ""), 300))


def _find_fixture(record: Record) -> str:
    """The built fixture in the cache, as a reader's shell finds it from the checkout."""
    digest = record.log.opened.digests.get("fixture", "")[:16]
    fixture = record.scenario.fixture
    return f'"${{COLDWARM_CACHE:-.cache}}"/{"*" if isinstance(fixture, Pinned) else fixture}-{digest}'
