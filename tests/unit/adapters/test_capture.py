"""A transcript as tutorials cut it: nothing is lost, no piece is too long, and neighbours overlap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from adapters._capture import LONGEST, OVERLAP, Line, by_message, by_piece, observe_with
from adapters.none import NothingMemory
from harness.adapter import Ack, Item, Message, Scope, Source

WORDS = st.text(st.sampled_from("abc \n"), max_size=400)
TALK = st.lists(st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), WORDS), max_size=12)


@given(TALK)
def test_every_line_stands_in_a_piece_in_the_order_of_talk(talk: list[Message]) -> None:
    pieces = [piece.text for piece in by_piece(talk)]
    assert all(0 < len(piece) <= LONGEST for piece in pieces)
    said = [line for each in by_message(talk) for line in each.text.splitlines() if line]
    at = 0
    for line in said:
        while at < len(pieces) and line not in pieces[at].split("\n"):
            at += 1
        assert at < len(pieces), f"lost: {line!r}"


def test_neighbours_share_their_last_lines_up_to_the_overlap() -> None:
    talk = [Message("user", f"{number:03} " + "x" * 90) for number in range(40)]
    pieces = [piece.text.split("\n") for piece in by_piece(talk)]
    assert len(pieces) > 2
    for before, after in pairwise(pieces):
        shared = [line for line in after if line in before]
        assert shared == before[-len(shared) :] and 0 < len("\n".join(shared)) <= OVERLAP


def test_a_line_that_is_too_long_is_cut() -> None:
    pieces = [*by_piece([Message("tool", "y" * 2500)])]
    assert "".join(piece.text for piece in pieces) == "tool: " + "y" * 2500
    assert max(len(piece.text) for piece in pieces) == LONGEST


def test_a_memory_names_the_session_and_its_message() -> None:
    told = list[Item]()

    class FakeMemory(NothingMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            told.extend(items)
            return [Ack((f"m{at}",)) for at, _ in enumerate(told)]

    talk = [Message("user", "hello"), Message("tool", "  "), Message("assistant", "hi\ncalls look: {}")]
    ack = observe_with(FakeMemory(), by_message, talk, Scope(repo="r"), "2026-01-01T00:00:00+00:00", "monday")
    assert ack == Ack(("m0", "m1"))
    assert [(each.text, each.source) for each in told] == [
        ("user: hello", Source(session="monday#1")),
        ("assistant: hi\ncalls look: {}", Source(session="monday#3")),
    ]
    assert [*by_message([])] == [] == [*by_piece([Message("user", " ")])]
    assert next(by_piece(talk)) == Line(1, "user: hello\nassistant: hi\ncalls look: {}")
