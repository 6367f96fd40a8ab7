from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.published.locomo import LOCOMO
from harness.published.memorycode import MEMORYCODE, REQUEST, RULE
from harness.published.sets import SetError
from tests.support.published_files import dialogue, talk, write_locomo, write_memorycode


def test_turns_of_locomo_are_memories_and_its_evidence_is_gold(tmp_path: Path) -> None:
    told = LOCOMO.load(write_locomo(tmp_path), "turn")
    [talked] = told.haystacks
    assert [each.name for each in talked.documents] == ["D1:1", "D1:2", "D2:1", "D2:2", "D2:3", "D3:1"]
    assert talked.documents[3].text == "We painted the kitchen in green." and talked.documents[3].session == "D2"
    assert [each.at for each in talked.documents] == sorted(each.at for each in talked.documents)
    assert [(each.sessions, each.turns) for each in talked.questions] == [
        (("D1",), ("D1:1",)), (("D2", "D3"), ("D2:1", "D3:1")), (("D2",), ("D2:3", "D2:9")), ((), ()), ((), ()),
    ]  # fmt: skip
    assert dict(told.odd) == {
        "questions without evidence": 1, "malformed ids of turns": 1, "ids of turns that are not there": 1,
    }  # fmt: skip


def test_sessions_of_locomo_hold_their_turns(tmp_path: Path) -> None:
    [talked] = LOCOMO.load(write_locomo(tmp_path), "session").haystacks
    assert [each.name for each in talked.documents] == ["D1", "D2", "D3"]
    assert talked.documents[0].text == "I grew tomatoes on the balcony.\nThe ferry to the island was late."
    [said] = LOCOMO.load(write_locomo(tmp_path), "session", "said").haystacks
    assert said.documents[2].text == 'Ada said, "The cello was sold last week."'


def test_rules_of_memorycode_that_changed_are_asked_for_in_two_ways(tmp_path: Path) -> None:
    told = MEMORYCODE.load(write_memorycode(tmp_path), "session")
    [talked] = told.haystacks
    assert [each.name for each in talked.documents] == ["S0", "S1", "S2", "S3"]
    assert [(each.way, each.text, each.sessions, each.stale) for each in talked.questions] == [
        (RULE, "always end function names with ", ("S3",), ("S0", "S2")),
        (REQUEST, "function that merges two lists", ("S3",), ("S0", "S2")),
    ]


def _without(key: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        data = talk()
        del data[key]
        return write_locomo(folder, data)

    return write


def _text(text: str | bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        file = folder / "locomo.json"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return write


def _number(folder: Path) -> Path:
    data = talk()
    data["qa"][0]["question"] = 7
    return write_locomo(folder, data)


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (_text("nonsense"), "locomo.json: not JSON: "),
        (_text(b"\xff\xfe\0"), "locomo.json: not JSON: "),
        (_text("[" * 100_000), "locomo.json: not JSON: "),
        (_text("{}"), r"locomo.json: \[0\] has no 'sample_id'"),
        (_text("[]"), "locomo.json: holds no conversation"),
        (_text("[3]"), r"locomo.json: \[0\] has no 'sample_id'"),
        (_without("qa"), r"locomo.json: \[0\] has no 'qa'"),
        (_number, r"locomo.json: \[0\]\['qa'\]\[0\]\['question'\] is no text"),
        (lambda folder: write_locomo(folder, {**talk(), "qa": []}), "asks nothing that could be measured"),
        (lambda folder: write_locomo(folder, {**talk(), "conversation": {}}), "talk-1 holds nothing that could be"),
        (lambda folder: folder, "cannot be read: Is a directory"),
        (lambda folder: folder / "none.json", "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_not_the_set_is_one_clear_line(tmp_path: Path, write: Callable[[Path], Path], says: str) -> None:
    with pytest.raises(SetError, match=says) as caught:
        LOCOMO.load(write(tmp_path), "turn")
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_that_is_not_memorycode_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SetError, match="holds no dialogue_1"):
        MEMORYCODE.load(tmp_path, "session")
    data: dict[str, Any] = dialogue()
    data["sessions"][2]["topic"] = []
    with pytest.raises(SetError, match="dialogue_1: session 2 names 1 rules and tells 0"):
        MEMORYCODE.load(write_memorycode(tmp_path, data), "session")
    data = json.loads(json.dumps(dialogue()).replace("[7, 2]", '["seven", 2]'))
    with pytest.raises(SetError, match="is no whole number"):
        MEMORYCODE.load(write_memorycode(tmp_path, data), "session")


def test_a_set_is_cut_as_its_owners_do_or_refused(tmp_path: Path) -> None:
    assert LOCOMO.load(write_locomo(tmp_path)).unit == "turn"
    with pytest.raises(SetError, match="memorycode: memories can be session, not turn"):
        MEMORYCODE.load(tmp_path, "turn")
    with pytest.raises(SetError, match="memorycode: words can be text, not said"):
        MEMORYCODE.load(tmp_path, "session", "said")
