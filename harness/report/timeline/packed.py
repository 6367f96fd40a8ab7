"""One tree of words, two ways onto the page: as HTML that any browser shows, and packed for a script to unfold.

A packed block is gzip in base64 of `{"kinds": [[tag, class]...], "texts": [...], "nodes": [[kind, child...]...],
"trees": {id: node}}`. A child is a node before this one, counted from 1, or 0: the next text. Equal branches stand
once, as a scenario's timelines differ little, and texts stand apart from numbers, as gzip likes it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from html import escape
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

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
        return base64.b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode("ascii")

    def _number(self, tree: Node) -> int:
        """The place of a branch among those known, counted from 1; its children come before it."""
        number = self._number
        branch = (tree.tag, tree.cls, *[each if isinstance(each, str) else number(each) for each in tree.children])
        return self._known.setdefault(branch, len(self._known) + 1)


_Branch: TypeAlias = tuple[str | int, ...]
"""Tag, class, and each child: a text, or the place of a branch."""
