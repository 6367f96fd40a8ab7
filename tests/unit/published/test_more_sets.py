"""LongMemEval, DevMemBench, ForgetEval and PersonaMem: read from small invented files in their forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.published.catalogue import SETS
from harness.published.devmembench import DEVMEMBENCH
from harness.published.forgeteval import FINAL, FORGETEVAL, PROBE
from harness.published.longmemeval import LONGMEMEVAL
from harness.published.personamem import PERSONAMEM
from harness.published.sets import SetError
from tests.support import published_files as files


def test_longmemeval_keeps_what_the_user_said_and_the_evidence_of_it(tmp_path: Path) -> None:
    told = LONGMEMEVAL.load(files.write_longmemeval(tmp_path))
    first, second = told.haystacks
    assert [(each.name, each.text) for each in first.documents] == [
        ("answer_1", "My boat is called Wren."), ("answer_2", "What did I call it?"), ("walk", "I walk to the mill."),
    ]  # fmt: skip
    assert [each.at for each in first.documents] == sorted(each.at for each in first.documents)
    assert first.questions[0].sessions == ("answer_1",)  # in the other one only the assistant says it
    assert second.questions[0].sessions == () and told.odd["questions to abstain from"] == 1


def test_longmemeval_by_turns_and_with_both_voices(tmp_path: Path) -> None:
    file = files.write_longmemeval(tmp_path)
    first = LONGMEMEVAL.load(file, "turn").haystacks[0]
    assert [each.name for each in first.documents] == ["answer_1:1", "answer_2:1", "walk:1"]
    assert first.questions[0].turns == ("answer_1:1",)
    said = LONGMEMEVAL.load(file, "turn", "said").haystacks[0]
    assert [each.text for each in said.documents][1] == 'assistant said, "Noted: Wren."'


def test_devmembench_names_sessions(tmp_path: Path) -> None:
    told = DEVMEMBENCH.load(files.write_devmembench(tmp_path))
    [talked] = told.haystacks
    assert [each.name for each in talked.documents] == ["S01", "S02"]
    assert talked.documents[0].text == "The lane is harborline.\nDone."
    assert [each.sessions for each in talked.questions] == [("S01", "S02"), (), ("S02",)]
    assert dict(told.odd) == {"questions to abstain from": 1, "ids of sessions that are not there": 1}
    turns = DEVMEMBENCH.load(tmp_path, "turn").haystacks[0]
    assert [each.name for each in turns.documents] == ["S01:1", "S01:2", "S02:1", "S02:2"]


def test_forgeteval_asks_the_final_query_and_for_each_forbidden_text(tmp_path: Path) -> None:
    told = FORGETEVAL.load(files.write_forgeteval(tmp_path))
    assert [each.mutations[0].op for each in told.haystacks] == ["supersede", "purge", "release"]
    first = told.haystacks[0]
    assert first.mutations[0].text == "Ada's lane is kestrelway."
    assert [(each.way, each.text) for each in first.questions] == [
        (FINAL, "Which lane has Ada?"), (PROBE, "HARBORLINE"), (PROBE, "harbor line"),
    ]  # fmt: skip


def test_personamem_ends_where_a_question_is_asked_and_counts_back_from_there(tmp_path: Path) -> None:
    told = PERSONAMEM.load(files.write_personamem(tmp_path))
    [talked] = told.haystacks
    assert [each.text for each in talked.documents] == [
        "User: I like rowing.\nAssistant: Good.", "User: I dislike rowing now.",
    ]  # fmt: skip
    [question] = talked.questions
    assert question.text == "Rowing, or not?" and question.sessions == ("S0",)
    far = PERSONAMEM.load(files.write_personamem(tmp_path, distance="9"), "turn")
    assert far.odd["distances that lead to no session"] == 1 and far.haystacks[0].questions[0].sessions == ()
    assert [each.name for each in far.haystacks[0].documents] == ["S0:1", "S0:2", "S1:1"]


def _json(value: object) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        file = folder / "file.json"
        file.write_text(json.dumps(value))
        return file

    return write


def _text(name: str, text: str, write: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def change(folder: Path) -> Path:
        made = write(folder)
        (folder / name).write_text(text)
        return made

    return change


def _late(talk: dict[str, Any]) -> dict[str, Any]:
    talk["conversation"]["session_3_date_time"] = "1:03 pm on 32 May, 2023"
    return talk


@pytest.mark.parametrize(
    ("name", "write", "says"),
    [
        ("longmemeval", _json([]), "holds no question"),
        ("longmemeval", _json({"a": 1}), r"\[0\] has no 'question_id'"),
        ("longmemeval", _json([{**files.entry(), "haystack_dates": []}]), "q1: 3 sessions, 3 ids, 0 dates"),
        ("longmemeval", _json([files.talk()]), r"\[0\] has no 'question_id'"),
        ("longmemeval", _json([{**files.entry(), "haystack_dates": ["2023/05/32 (Mon) 02:21"] * 3}]), "is no date as"),
        ("longmemeval", _json([files.entry(), files.entry()]), "holds 'q1' twice"),
        ("locomo", _json([files.talk(), files.talk()]), "holds 'talk-1' twice"),
        ("locomo", _json([_late(files.talk())]), "is no date as 1:56 pm on 8 May, 2023: '1:03 pm on 32 May, 2023'"),
        ("devmembench", lambda folder: folder, r"holds 0 files sessions \(.json"),
        ("devmembench", _text("questions.json", "[{}]", files.write_devmembench), r"\[0\] has no 'haystackSessionIds'"),
        ("devmembench", _text("sessions.json", "nonsense", files.write_devmembench), "sessions.json: not JSON"),
        ("devmembench", _text("sessions.json", "[]", files.write_devmembench), "all holds nothing that could be"),
        ("forgeteval", _json({"cases": []}), r"\[0\] has no 'setup_facts'"),
        ("forgeteval", _json([]), "holds no case"),
        ("forgeteval", _json([{**files.case(), "mutations": [["burn", "x"]]}]), "is none of supersede, release, purge"),
        ("forgeteval", _json([{**files.case(), "setup_facts": []}]), "holds nothing that could be remembered"),
        ("personamem", lambda folder: folder, r"holds 0 files questions\* "),
        ("personamem", _text("questions_1M.csv", "", files.write_personamem), r"holds 2 files questions\* "),
        ("personamem", lambda folder: files.write_personamem(folder, end="soon"), "is no whole number: 'soon'"),
        ("personamem", lambda folder: files.write_personamem(folder, context="c9"), "asks of c9, which shared"),
        ("personamem", _text("questions_32k.csv", "a,b\n1,2\n", files.write_personamem), r"\[0\] has no 'question_id'"),
        ("personamem", _text("shared_contexts_32k.jsonl", '{"c1": []}\n{\n', files.write_personamem), "not JSON"),
        ("personamem", _text("shared_contexts_32k.jsonl", "[1]\n", files.write_personamem), "is no object"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_the_set_is_one_clear_line(
    tmp_path: Path, name: str, write: Callable[[Path], Path], says: str
) -> None:
    with pytest.raises(SetError, match=says) as caught:
        SETS[name].load(write(tmp_path))
    assert len(str(caught.value).splitlines()) == 1
