"""Claude's memory tool: what the adapter makes of the tool's words, with a fake that refuses what the real one does.

The real one lives in an environment of its own (`make conform`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.claude_memory_tool import TOP, ToolMemory, name_file, name_memory, read_all, spell
from harness.adapter import Ack, Scope
from tests.support.items import SHOP, item

ORG = Scope(org="acme")


class FakeTool:
    """Files in memory, with the answers and refusals of BetaLocalFilesystemMemoryTool."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.commands: list[str] = []

    def call(self, given: Mapping[str, Any]) -> str:
        command, path = given["command"], given["path"]
        self.commands.append(command)
        if command == "view" and path == TOP:
            return "\n".join(["Here're the files", f"4.0K\t{TOP}", *(f"9B\t{each}" for each in sorted(self.files))])
        if command == "view":
            lines = enumerate(self.files[path].split("\n"), 1)
            return f"Here's the content of {path}:\n" + "\n".join(f"{at:6}\t{line}" for at, line in lines)
        if command == "create":
            assert path not in self.files
            self.files[path] = given["file_text"]
        elif command == "insert":
            lines_ = self.files[path].removesuffix("\n").split("\n")
            assert 0 <= given["insert_line"] <= len(lines_)
            lines_.insert(given["insert_line"], given["insert_text"].rstrip("\n"))
            self.files[path] = "\n".join(lines_) + "\n"
        elif command == "str_replace":
            if (times := self.files[path].count(given["old_str"])) != 1:
                raise RuntimeError(f"No replacement was performed: {times} occurrences")
            self.files[path] = self.files[path].replace(given["old_str"], given["new_str"])
        else:
            assert command == "delete"
            del self.files[path]
        return "done"


@pytest.fixture
def tool() -> FakeTool:
    return FakeTool()


@pytest.fixture
def memory(tool: FakeTool) -> ToolMemory:
    return ToolMemory(tool)


def texts(memory: ToolMemory, scope: Scope = SHOP) -> list[str]:
    return [hit.text for hit in memory.entries(scope)]


@given(st.lists(st.text(st.characters(exclude_categories=())), unique=True))
def test_a_file_gives_back_what_was_written_whatever_it_holds(written: list[str]) -> None:
    content = "# everywhere\n" + "".join(map(spell, written))
    assert list(read_all("everywhere", content).values()) == written


def test_odd_texts_come_back_through_views_with_line_numbers(memory: ToolMemory, tool: FakeTool) -> None:
    odd = ["two\nlines\n", "- an item\n- another", "12\tafter a number", "\n\nblank before", "# a head"]
    memory.remember([item(odd[0]), *map(item, odd[1:])])
    memory.remember([item("later")])
    assert texts(memory) == [*odd, "later"]
    assert [each for each in tool.commands if each != "view"] == ["create", "insert"]


def test_one_of_two_that_begin_alike_is_cut_out_and_nothing_beside_it(memory: ToolMemory, tool: FakeTool) -> None:
    alike = ["a rule", "a rule\nwith more", "first\n- a rule"]
    acks = memory.remember([*map(item, alike), item("a rule")])
    assert acks[0] == acks[3] and len({ack.ids for ack in acks}) == 3
    (name,) = acks[0].ids
    assert memory.forget(SHOP, [name, name, "unknown"]) == [True, False, False]
    assert texts(memory) == alike[1:]
    memory.forget(SHOP, [each.memory_id for each in memory.entries(SHOP)])
    assert tool.files == {}


def test_the_successor_takes_the_place_of_the_old_one(memory: ToolMemory) -> None:
    acks = memory.remember([item("one"), item("two"), item("three")])
    old = [acks[1].ids[0], acks[2].ids[0], "unknown"]
    assert memory.supersede(SHOP, old, item("new")) == Ack((name_memory("repo-storefront org-acme", "new"),))
    assert texts(memory) == ["one", "new"]
    assert memory.supersede(SHOP, ["unknown"], item("last")).ids and texts(memory)[-1] == "last"
    assert memory.supersede(SHOP, [acks[0].ids[0]], item(" ")) == Ack(()) and "one" in texts(memory)


def test_files_that_apply_are_viewed_whole(memory: ToolMemory, tool: FakeTool) -> None:
    memory.remember([item("own"), item("of all", ORG), item("foreign", Scope(repo="other", org="acme"))])
    hits = memory.recall("whatever", SHOP, 1, "")
    assert [(hit.text, hit.scope) for hit in hits] == [("of all", ORG), ("own", SHOP)]
    assert memory.get(ORG, hits[1].memory_id) is None
    memory.forget_scope(SHOP)
    memory.forget_scope(Scope(repo="nowhere"))
    assert [hit.text for hit in memory.recall("", SHOP, 5, "")] == ["of all"] and len(tool.files) == 2


def test_a_scope_too_long_for_a_file_name_is_named_by_its_digest() -> None:
    assert name_file("repo-api") == "/memories/repo-api.md"
    assert len(name_file("x" * 300)) == len("/memories/.md") + 64
