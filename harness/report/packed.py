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
from typing import Literal, NamedTuple

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
        return markup(self)


def node(tag: Tag, cls: str, *children: Node | str | None) -> Node:
    """Empty children are left out."""
    return Node(tag, cls, tuple(child for child in children if child))


def markup(tree: Node) -> str:
    """As HTML; every text is escaped."""
    parts: list[str] = []
    _markup(tree, parts)
    return "".join(parts)


def _markup(tree: Node, parts: list[str]) -> None:
    scope = (' scope="row"' if tree.cls == "row" else ' scope="col"') if tree.tag == "th" else ""
    cls = f' class="{escape(tree.cls)}"' if tree.cls else ""
    parts.append(f"<{tree.tag}{cls}{scope}>")
    for child in tree.children:
        if isinstance(child, str):
            parts.append(escape(child))
        else:
            _markup(child, parts)
    parts.append(f"</{tree.tag}>")


def pack(trees: Mapping[str, Node]) -> str:
    """All trees of a block. The same trees give the same bytes under one build of zlib."""
    known: dict[_Branch, int] = {}
    roots = {name: _number(tree, known) for name, tree in trees.items()}
    kinds: dict[tuple[str, str], int] = {}
    nodes = [
        [kinds.setdefault(kind, len(kinds)), *(0 if isinstance(child, str) else child for child in children)]
        for kind, children in known
    ]
    texts = [child for _, children in known for child in children if isinstance(child, str)]
    block = {"kinds": list(kinds), "texts": texts, "nodes": nodes, "trees": roots}
    text = json.dumps(block, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode("ascii")


_Branch = tuple[tuple[str, str], tuple[str | int, ...]]


def _number(tree: Node, known: dict[_Branch, int]) -> int:
    """The place of a branch among those known, counted from 1; its children come before it."""
    children = tuple([child if isinstance(child, str) else _number(child, known) for child in tree.children])
    return known.setdefault(((tree.tag, tree.cls), children), len(known) + 1)
