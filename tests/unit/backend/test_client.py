"""Calls to backends, sound or not: every fault is of the right class, and none of them reaches the harness."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.adapter import Ack, Hit, Item, Scope, Source, Space, Usage, encode, to_wire
from harness.backend.client import MemoryFault
from tests.support.child_memory import AT, HOME, SHORT, asked, fault, gone, item, launching, opened
from tests.support.faulty_backends import ANSWERS


@pytest.fixture
def space(tmp_path: Path) -> Space:
    (tmp_path / "store").mkdir()
    return Space(str(tmp_path / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)


@pytest.fixture(autouse=True, params=["spawned", "forked"])
def launched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Every promise holds for both ways in which a child comes to be."""
    with launching(request.param, tmp_path):
        yield


# --- what works ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_item_comes_back_as_it_went_in(space: Space) -> None:
    with opened("Sound", space) as memory:
        (ack,) = memory.remember([item()])
        assert memory.settle(1)
        assert asked(memory) == [Hit(ack.ids[0], item().text, 0.5, item().source, AT, HOME)]
        assert memory.forget(HOME, [*ack.ids, "never"]) == [True, False]
        assert asked(memory) == []
        memory.close()
    assert gone(memory._child.pid)


@pytest.mark.parametrize(
    "text",
    ["", "\x00 and \x1b[31m", "ünï\u2028\u2029\u202e", "line\nline\r\n", '"}\\n{"', "\U0001f600", "x" * 1_000_000],
    ids=["empty", "NUL", "unicode", "lines", "json", "astral", "long"],
)
def test_any_text_makes_the_round_trip(space: Space, text: str) -> None:
    with opened("Sound", space) as memory:
        memory.remember([item(text)])
        assert [hit.text for hit in asked(memory)] == [text]


def test_what_is_sent_is_the_json_of_its_plain_values() -> None:
    item = Item("text", Scope("shop", user="ada"), "2025-03-01", "project", Source(line=3), expires=None)
    for value in ([item], (1, 2.5, None, "\ud800"), {"a": None}, Ack(("x",)), Usage()):
        assert json.loads(encode(value)) == to_wire(value)
    for wrong in (object(), {1, 2}, float("nan")):
        with pytest.raises((TypeError, ValueError)):
            encode(wrong)


def test_a_half_character_reaches_the_adapter_and_is_a_breach_on_its_way_back(space: Space) -> None:
    with opened("Sound", space) as memory:
        memory.remember([item("half \ud83d")])
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("breach", True)
        str(caught).encode()
        memory.forget(HOME, ["m1"])
        assert asked(memory) == []


def test_two_proxies_work_on_one_space(space: Space) -> None:
    with opened("adapters.notes:Notes", space) as left, opened("adapters.notes:Notes", space) as right:
        left.remember([item("from the left")])
        right.remember([item("from the right")])
        assert left._child.pid != right._child.pid
        for memory in (left, right):
            told = " ".join(hit.text for hit in asked(memory))
            assert "from the left" in told and "from the right" in told


# --- what is answered ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MemoryFault]]:
    """What each wrong answer was taken for: one process an answer, all of them in one go."""
    found = {}
    for number, name in enumerate(ANSWERS):
        root = tmp_path_factory.mktemp(f"answer-{number}")
        (root / "store").mkdir()
        with opened("Answers", Space(str(root / "store"), "", "", 0, 0), answer=name) as memory:
            found[name] = fault(memory)
            memory.settle(1)
    yield found


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_a_wrong_answer_is_a_breach_that_leaves_the_process_alive(answering: dict[str, MemoryFault], name: str) -> None:
    caught = answering[name]
    assert (caught.fault.kind, caught.fault.op, caught.alive) == ("breach", "recall", True)
    assert caught.fault.message and len(caught.fault.message) < 2500


@pytest.mark.slow
def test_the_breach_names_the_field(answering: dict[str, MemoryFault]) -> None:
    assert "0.gold" in answering["a field too many"].fault.message
    assert "0.memory_id" in answering["a field too few"].fault.message
    assert "half a pair of surrogates" in answering["a lone surrogate"].fault.message
    assert "60 hits for k = 5" in answering["too many hits"].fault.message


def test_lists_that_must_be_as_long_as_the_question_are_counted(space: Space) -> None:
    with opened("Silent", space) as memory:
        for call in (lambda: memory.remember([item(), item()]), lambda: memory.forget(HOME, ["m1", "m2"])):
            with pytest.raises(MemoryFault, match=r"returned [01] values for 2") as caught:
                call()
            assert (caught.value.fault.kind, caught.value.alive) == ("breach", True)


def test_a_word_is_no_flag(space: Space) -> None:
    with opened("Silent", space) as memory, pytest.raises(MemoryFault, match="breach in settle"):
        memory.settle(1)


@pytest.mark.slow
def test_one_memory_of_ten_megabytes_is_not_told(space: Space) -> None:
    with opened("Verbose", space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("limit", True)
        assert len(caught.fault.message) < 200
        memory.settle(1)


@pytest.mark.slow
def test_what_is_printed_does_not_disturb_the_protocol(space: Space) -> None:
    with opened("Prints", space) as memory:
        memory.remember([item()])
        for _ in range(3):
            assert [hit.text for hit in asked(memory)] == [item().text]
        assert "warning" in memory._child.output()


def test_garbage_on_the_private_line_is_a_fault(space: Space) -> None:
    with opened("GarbageOnTheLine", space, SHORT) as memory:
        assert fault(memory).fault.kind == "breach"


# --- what is raised --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [("Raises", "ValueError: the index"), ("Leaves", "SystemExit: 7"), ("Interrupts", "KeyboardInterrupt")],
)
def test_an_exception_is_the_backends_and_leaves_it_alive(space: Space, name: str, words: str) -> None:
    with opened(name, space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("raised", True)
        assert words in caught.fault.message
        assert "tests/support/faulty_backends.py" in caught.trace
        assert memory.settle(1)


def test_an_exception_that_cannot_be_told_was_raised_all_the_same(space: Space) -> None:
    with opened("RaisesMute", space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("raised", True)
        assert caught.fault.message == "_Mute: (its text cannot be shown: its __str__ raised ValueError)"
        assert memory.settle(1)


@pytest.mark.slow
def test_a_declared_refusal_is_none_of_the_backends_faults_and_another_is_a_breach(space: Space) -> None:
    with opened("Refusing", space) as memory:
        with pytest.raises(MemoryFault) as declared:
            memory.get(HOME, "m1")
        with pytest.raises(MemoryFault) as undeclared:
            memory.history(HOME, "m1")
        assert (declared.value.fault.kind, undeclared.value.fault.kind) == ("refused", "breach")
        assert declared.value.alive and undeclared.value.alive
    with opened("Refuses", space) as memory:
        assert fault(memory).fault.kind == "breach"
