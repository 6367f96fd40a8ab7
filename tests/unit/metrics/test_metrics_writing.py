"""What a chat writer makes of a transcript: merged, left standing, and paid for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.logs import AT_ONCE, KEY, NEW, OLD, PIN, PORT, Tape
from tests.support.measures import counts, measures, value

TOGETHER = f"{NEW}. {PORT}"


def writing(folder: Path, policy: str = "append") -> Tape:
    return Tape(folder, write_policy=policy, writer="chat@fake")


@pytest.mark.parametrize(
    ("told", "kept", "merged"),
    [
        ([NEW, PORT], [TOGETHER], (2, 2)),
        ([NEW, PORT], [TOGETHER, PORT], (1, 2)),  # the port has a memory of its own, too
        ([NEW, PORT], [NEW, PORT], (0, 2)),
        ([TOGETHER, PIN], [TOGETHER, PIN], (0, 3)),  # one line told them together
        ([NEW, PORT, KEY], [TOGETHER], (2, 2)),  # what was lost was not merged
    ],
)
def test_facts_are_merged_if_only_a_memory_of_several_lines_keeps_them(
    tmp_path: Path, told: Sequence[str], kept: Sequence[str], merged: tuple[int, int]
) -> None:
    tape = writing(tmp_path).draft("second", told, dict.fromkeys(kept, ()))
    found = measures(tape)["writer_facts_merged"]
    assert counts(found) == merged and found.receipts == (f"L{tape.line}",) * merged[0]


@pytest.mark.parametrize(("gone", "left"), [((), (1, 1)), ((2,), (0, 1)), ((1, 3), (1, 1))])
def test_only_memories_that_the_transcript_contradicts_should_have_been_replaced(
    tmp_path: Path, gone: Sequence[int], left: tuple[int, int]
) -> None:
    """Neither one about something else nor one that tells the new rule as well."""
    tape = writing(tmp_path, "curated").draft("second", [NEW], {NEW: gone}, [PORT, OLD, AT_ONCE])
    assert counts(measures(tape)["writer_stale_left"]) == left


def test_what_a_chat_writer_reads_and_answers_is_a_cost_of_writing(tmp_path: Path) -> None:
    tape = writing(tmp_path).learn("first", "old", "port").draft("second", [NEW], {}, prompt=700, completion=30)
    found = measures(tape.metered(0))
    assert value(found["tokens_ingest"]) == 20 + 700 + 30
    assert value(found["tokens_total"]) == 20 + 700 + 30
