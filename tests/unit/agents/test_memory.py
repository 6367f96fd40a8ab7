"""The memory of a job at its socket: whom it answers, and for which decision."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from mcp.server.mcpserver.exceptions import ToolError

from harness.agents import inside, memory
from harness.agents.memory import TrialMemory
from harness.model.job import Job
from harness.play.readers import StoreGone

QUESTIONS = {
    "platform": "Which platform does the order name?",
    "window": "In which window is it deployed?",
    "other": "Which window has the order of the staging platform?",
}


def job(questions: dict[str, str]) -> Job:
    decision: dict[str, Any] = {
        "check": ["true"],
        "edits": [{"path": "a", "new": "{value}"}],
        "options": [
            {"value": "new", "verdict": "right", "fact": "a"},
            {"value": "old", "verdict": "stale", "fact": "b"},
        ],
    }
    decisions = [{"id": name, "question": text, **decision} for name, text in questions.items()]
    return Job.model_validate({"do": "job", "id": "j", "goal": "g", "relevant": ["a"], "decisions": decisions})


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("which platform?", "platform"), ("deploy WINDOW is it deployed in", "window"),
        ("window of the staging platform", "other"), ("", "platform"), ("nothing alike at all", "platform"),
    ],
)  # fmt: skip
def test_a_question_belongs_to_the_decision_that_has_most_of_its_words(query: str, wanted: str) -> None:
    assert memory.find_point(query, job(QUESTIONS)).id == wanted


class FakeContext:
    """Keeps what it is told, but for what says no."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def remember(self, text: str) -> bool:
        self.kept.append(text)
        return "no" not in text


class FakeToolbox:
    """A memory that knows one thing, and dies of another."""

    def __init__(self) -> None:
        self.context, self.job = FakeContext(), job(QUESTIONS)
        self.asked: list[tuple[str, str]] = []

    def recall(self, decision: Any, query: str) -> str:
        self.asked.append((decision.id, query))
        if "die" in query:
            raise StoreGone
        return "- known" if "platform" in query else ""


def ask(path: Path, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = inside.ask(str(path), list(words))
    return code, capsys.readouterr().out.strip()


def test_the_command_asks_and_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toolbox, ends = FakeToolbox(), list[str]()
    own = TrialMemory(toolbox, ends.append)  # type: ignore[arg-type]
    with memory.serve(own, tmp_path / "s"):
        assert ask(tmp_path / "s", ["recall", "which", "platform"], capsys) == (0, "- known")
        assert ask(tmp_path / "s", ["recall", "what"], capsys) == (0, "(nothing)")
        assert ask(tmp_path / "s", ["remember", "a fact"], capsys) == (0, "Remembered.")
        code, said = ask(tmp_path / "s", ["remember", "no fact"], capsys)
        assert code == 1 and "the memory did not keep it" in said
        assert ask(tmp_path / "s", ["recall", "x" * 3000], capsys)[0] == 1
        assert ask(tmp_path / "s", ["forget", "all"], capsys)[0] == 2
        code, said = ask(tmp_path / "s", ["recall", "die"], capsys)
        assert code == 1 and "the memory has gone" in said
        assert ask(tmp_path / "s", ["recall", "which platform"], capsys)[0] == 1, "it stays gone"
    assert isinstance(own.lost, StoreGone) and ends == ["the memory has gone"]
    assert toolbox.context.kept == ["a fact", "no fact"] and own.opened >= 6
    assert [each for each, _ in toolbox.asked] == ["platform", "platform", "platform"]


def test_its_answers_are_text_alone(tmp_path: Path) -> None:
    """Some programs would show their model the same a second time, as JSON, or only so."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
    use = {"name": "recall", "arguments": {"query": "which platform"}}
    own = TrialMemory(FakeToolbox(), lambda _: None)  # type: ignore[arg-type]
    with memory.serve(own, tmp_path / "s"), socket.socket(socket.AF_UNIX) as link:
        link.connect(str(tmp_path / "s"))
        lines = link.makefile("rw", encoding="utf-8")
        answers = []
        for message in (
            {"method": "initialize", "params": hello, "id": 1}, {"method": "notifications/initialized"},
            {"method": "tools/list", "id": 2}, {"method": "tools/call", "params": use, "id": 3},
        ):  # fmt: skip
            lines.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            lines.flush()
            if "id" in message:
                answers.append(json.loads(lines.readline())["result"])
    assert not any("outputSchema" in each for each in answers[1]["tools"])
    assert answers[2]["content"] == [{"type": "text", "text": "- known"}] and "structuredContent" not in answers[2]


def test_who_talks_no_mcp_disturbs_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = TrialMemory(FakeToolbox(), lambda _: None)  # type: ignore[arg-type]
    with memory.serve(own, tmp_path / "s"):
        for said in (b"", b"\xff\xfe\n", b"{half\n", b"[]\n" * 50, json.dumps({"jsonrpc": "2.0"}).encode() + b"\n"):
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(str(tmp_path / "s"))
                link.sendall(said)
        assert ask(tmp_path / "s", ["recall", "which platform"], capsys) == (0, "- known")


def test_when_the_job_is_over_it_waits_for_who_still_asks_and_answers_nobody_more(tmp_path: Path) -> None:
    toolbox, going, seen = FakeToolbox(), threading.Event(), list[str]()
    own, leave = TrialMemory(toolbox, seen.append), threading.Event()  # type: ignore[arg-type]

    def slow(decision: Any, query: str) -> str:
        going.set()
        leave.wait(20)
        seen.append("answered")
        return "late"

    toolbox.recall = slow  # type: ignore[method-assign]
    asking = threading.Thread(target=own.recall, args=("which",))
    asking.start()
    assert going.wait(20)
    threading.Timer(0.2, leave.set).start()
    own.close()
    assert seen == ["answered"]
    asking.join()
    with pytest.raises(ToolError, match="has gone"):
        own.recall("which")
