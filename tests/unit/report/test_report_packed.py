"""Packing: the block says what the markup says, equal branches stand once, equal trees give equal bytes."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.timeline.nodes import Node, Tag, make_node, pack, write_markup
from tests.support.trees import plain, unpacked

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
TAGS = st.sampled_from(get_args(Tag))
TREES = st.recursive(
    st.builds(make_node, TAGS, st.sampled_from(["", "bad", "row", "v stale"]), TEXTS),
    lambda inner: st.builds(make_node, TAGS, st.sampled_from(["", "quiet"]), inner, TEXTS, inner),
    max_leaves=12,
)


class Elements(HTMLParser):
    """Markup as the same nested lists."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[list[Any]] = [["", ""]]
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"class", "scope"}
        made = [tag, dict(attrs).get("class") or ""]
        self.open[-1].append(made)
        self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].append(data)


@pytest.mark.slow
@given(st.lists(TREES, min_size=1, max_size=4))
def test_a_block_gives_back_the_trees_and_the_markup_says_the_same(trees: list[Node]) -> None:
    named = {f"t{index}": tree for index, tree in enumerate(trees)}
    assert unpacked(pack(named)) == {name: plain(tree) for name, tree in named.items()}
    assert pack(named) == pack(named)
    for tree in trees:
        assert Elements(str(write_markup(tree))).open[0][2] == plain(tree)


def test_hostile_text_and_class_stay_text() -> None:
    evil = "</pre><script>alert(1)</script>{{ 7 * 7 }}\"' onclick=x"
    shown = str(write_markup(make_node("pre", '"><img src=x>', evil)))
    assert "<script" not in shown and "<img" not in shown
    assert Elements(shown).open[0][2] == ["pre", '"><img src=x>', evil]
    assert unpacked(pack({"a": make_node("p", "", evil)})) == {"a": ["p", "", evil]}
    assert "<" not in pack({"a": make_node("p", "", evil)})


def test_headers_say_what_they_head() -> None:
    assert write_markup(make_node("th", "row", "x")) == '<th class="row" scope="row">x</th>'
    assert write_markup(make_node("th", "", "x")) == '<th scope="col">x</th>'


def test_empty_children_are_left_out() -> None:
    assert make_node("p", "", None, "", "x").children == ("x",)


def test_equal_branches_stand_once() -> None:
    row = make_node("li", "", make_node("bdi", "", "the same memory"), make_node("small", "", "1"))
    block = json.loads(gzip.decompress(base64.b64decode(pack({name: make_node("ol", "", row, row) for name in "abc"}))))
    assert block["texts"] == ["the same memory", "1"]
    assert len(block["nodes"]) == 4 and block["trees"] == {"a": 4, "b": 4, "c": 4}


def test_the_header_of_a_block_holds_no_clock() -> None:
    assert base64.b64decode(pack({"a": make_node("p", "", "x")}))[4:8] == bytes(4)
