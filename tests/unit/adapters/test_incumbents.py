"""What agents keep by themselves: how far it is loaded, what a search finds beside that, and what lies on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.claude_memory import BYTES, LINES, Claude
from adapters.codex_memories import BYTES as SUMMARY_BYTES
from adapters.codex_memories import Codex
from harness.adapter import Hit, Memory, Scope, Space
from tests.support.items import AT, SHOP, item

PLANNER = Scope(repo="planner")
OLD, NEW = "Deploy with scripts/ship by hand.", "Deploy with make release, nothing else."

Open = Callable[..., Memory]


@pytest.fixture(params=[Claude, Codex], ids=lambda kind: str(kind.name))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    def again(**settings: str) -> Memory:
        adapter = request.param().configured(settings)
        memory: Memory = adapter.open(Space(str(tmp_path), "http://127.0.0.1:1/v1", "key", 0, 1, settings))
        return memory

    return again


@pytest.fixture
def claude(tmp_path: Path) -> Open:
    return lambda **settings: (
        Claude().configured(settings).open(Space(str(tmp_path), "http://127.0.0.1:1/v1", "key", 0, 1))
    )


@pytest.fixture
def codex(tmp_path: Path) -> Open:
    return lambda **settings: (
        Codex().configured(settings).open(Space(str(tmp_path), "http://127.0.0.1:1/v1", "key", 0, 1))
    )


def fill(memory: Memory, amount: int, text: str = "Note {} says nothing of any use") -> None:
    memory.remember([item(text.format(at)) for at in range(amount)])


def asked(memory: Memory, query: str = "How is it shipped?", scope: Scope = SHOP) -> list[str]:
    return [hit.text for hit in memory.recall(query, scope, 5, AT)]


def brings(memory: Memory, text: str, query: str = "How is it shipped?") -> bool:
    return any(text in found for found in asked(memory, query))


@pytest.mark.slow
def test_the_index_of_claude_is_loaded_to_its_last_line_and_no_further(claude: Open) -> None:
    memory = claude(search="off")
    memory.remember([item(OLD)])
    fill(memory, LINES - 2)
    memory.remember([item(NEW)])
    assert brings(memory, OLD) and brings(memory, NEW) and len(asked(memory)) == LINES
    memory.remember([item("One more.")])
    assert not brings(memory, "One more.") and len(asked(memory)) == LINES


@pytest.mark.slow
def test_the_cap_of_claude_drops_the_newest_rule_and_keeps_the_one_that_it_replaced(claude: Open) -> None:
    memory = claude(search="off")
    memory.remember([item(OLD)])
    fill(memory, LINES)
    memory.remember([item(NEW)])
    assert brings(memory, OLD) and not brings(memory, NEW)
    assert brings(claude(), NEW, "deploy with make release"), "a search of the files finds what was not loaded"


@pytest.mark.slow
def test_an_update_in_place_stays_loaded(claude: Open) -> None:
    memory = claude(search="off")
    (old,) = memory.remember([item(OLD)])[0].ids
    fill(memory, LINES)
    memory.supersede(SHOP, [old], item(NEW))
    for again in (memory, claude(search="off")):
        assert brings(again, NEW) and not brings(again, OLD)


def test_long_lines_end_what_is_loaded_by_bytes(claude: Open) -> None:
    memory = claude(search="off")
    fill(memory, LINES, "Note {} " + "wort " * 60)
    index = next(Path(memory.root).rglob("MEMORY.md")).read_bytes()  # type: ignore[attr-defined]
    lines = index.splitlines(keepends=True)
    loaded = len(asked(memory))
    assert sum(map(len, lines[:loaded])) <= BYTES < sum(map(len, lines[: loaded + 1]))


def test_each_repository_of_claude_has_its_own_index(claude: Open) -> None:
    memory = claude(search="off")
    fill(memory, LINES)
    memory.remember([item(NEW, PLANNER), item("Everywhere.", Scope())])
    assert asked(memory, scope=PLANNER) == [NEW, "Everywhere."]


@pytest.mark.slow
def test_the_summary_of_codex_keeps_its_ends_and_drops_its_middle(codex: Open) -> None:
    memory = codex(search="off")
    memory.remember([item(OLD)])
    fill(memory, 100)
    memory.remember([item("The rule of the middle.")])
    fill(memory, 100, "Another note {} of no use")
    memory.remember([item(NEW)])
    assert brings(memory, NEW) and brings(memory, OLD) and not brings(memory, "The rule of the middle.")
    summary = Path(memory.root, "memories", "memory_summary.md")  # type: ignore[attr-defined]
    assert summary.stat().st_size > SUMMARY_BYTES
    assert brings(codex(), "The rule of the middle.", "rule of the middle")


def test_a_long_memory_is_loaded_as_its_first_words_and_found_whole(opened: Open) -> None:
    text = "The cutover " + "x" * 200 + " is at noon."
    opened().remember([item(text)])
    assert not brings(opened(search="off"), text) and brings(opened(search="off"), "The cutover")
    assert brings(opened(), text, "cutover at noon")


def test_nothing_of_a_forgotten_memory_is_left_in_any_file(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    kept, gone = (ack.ids[0] for ack in memory.remember([item("Ask first."), item("The pin is 4711.")]))
    assert memory.forget(SHOP, [gone, gone]) == [True, False]
    assert not [path for path in tmp_path.rglob("*.md") if b"4711" in path.read_bytes() or gone in path.name]
    assert [hit.memory_id for hit in opened().entries(SHOP)] == [kept]


@pytest.mark.parametrize(
    "text", ["---\nname: x\n---\n", "a\n\n- [b](0123456789abcdef.md): c", "\udc80 \x00 ü", "x" * 9000]
)
def test_odd_texts_come_back_in_their_order(opened: Open, text: str) -> None:
    opened().remember([item("First."), item(text), item("Last.")])
    assert [hit.text for hit in opened().entries(SHOP)] == ["First.", text, "Last."]


def test_a_memory_without_its_line_is_not_lost(opened: Open, tmp_path: Path) -> None:
    """A kill between the file and the index."""
    opened().remember([item("First."), item("Second.")])
    for index in (*tmp_path.rglob("MEMORY.md"), *tmp_path.rglob("memory_summary.md")):
        index.unlink()
    (tmp_path / "torn.new").write_text("half a fi")
    memory = opened()
    assert sorted(hit.text for hit in memory.entries(SHOP)) == ["First.", "Second."]
    assert not list(tmp_path.rglob("*.new"))
    memory.remember([item("Third.")])
    assert len(list(opened().entries(SHOP))) == 3


def test_a_file_that_is_no_memory_is_left_alone(opened: Open, tmp_path: Path) -> None:
    memory = opened()
    (name,) = memory.remember([item("First.")])[0].ids
    (path,) = tmp_path.rglob(f"{name}.md")
    path.with_name("notes-of-a-person.md").write_text("by hand")
    path.with_name("0123456789abcdef.md").write_text("---\nname: cut")
    hits: list[Hit] = list(opened().entries(SHOP))
    assert [hit.text for hit in hits] == ["First."]


def test_a_setting_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="search cannot be 'maybe'; known: on, off"):
        Claude().configured({"search": "maybe"})


def test_repositories_of_long_names_are_kept_apart(claude: Open) -> None:
    memory, long = claude(), [Scope(repo="r" * 255 + end) for end in "xy"]
    memory.remember([item(OLD, long[0]), item(NEW, long[1])])
    assert [[hit.text for hit in claude().entries(scope)] for scope in long] == [[OLD], [NEW]]
