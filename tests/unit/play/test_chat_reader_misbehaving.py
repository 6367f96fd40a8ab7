"""The chat reader with a model that misbehaves: what is refused, what ends a job, and what the report tells of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.chat.client import Reply
from harness.log.blobs import Ref
from harness.log.events import Recalled, Worked, Wrote
from harness.log.reader import Log
from harness.machine import bubblewrap
from harness.metrics import acting, faults
from harness.metrics.view import Record, View
from harness.play.readers import chat, tools
from harness.report.timeline.session import Telling
from tests.support.chat_player import EDIT, RECALL, play
from tests.support.fake_model import FakeModel, Step
from tests.support.fakes import FakeHost
from tests.support.worked_job import CHECK, QUIET, Story, calls, load, verdict, worked
from tests.unit.conftest import House

pytestmark = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    return load(lasting, lasting.story.replace(CHECK, QUIET))


# --- a model that misbehaves ------------------------------------------------------------------------------------------

BAD: dict[str, tuple[Step, str]] = {
    "an unknown tool": (("shell", {"command": "cat /etc/passwd"}), "no such tool"),
    "no name": (("", {}), "no such tool"),
    "no JSON": (("read", "{half"), "are not JSON"),
    "no object": (("read", "[1, 2]"), "do not fit"),
    "deep JSON": (("read", "[" * 50_000), "are not JSON"),
    "a missing argument": (("edit", {"path": "a"}), "new: Field required"),
    "a wrong type": (("run_check", {"number": "all"}), "number: Input should be a valid integer"),
    "a number too large": (("run_check", {"number": 10**30}), "there is no command"),
    "a point that is not there": (("recall", {"point": 7, "query": "x"}), "there is no point 7"),
    "an empty query": (("recall", {"point": 1, "query": ""}), "at least 1 character"),
    "a path outside": (("read", {"path": "../../etc/passwd"}), "not a plain path"),
    "git": (("edit", {"path": ".git/hooks/pre-commit", "old": "", "new": "x"}), "belongs to git"),
    "a NUL": (("read", {"path": "a\0b"}), "not a plain path"),
    "an enormous argument": (("remember", json.dumps({"text": "x" * 200_000})), "above 100,000 characters"),
    "an enormous note": (("remember", {"text": "x" * 3000}), "at most 2000 characters"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_tool_that_cannot_be_used_so_is_refused_with_a_reason_and_the_job_goes_on(
    story: Story, tmp_path: Path, name: str
) -> None:
    step, why = BAD[name]
    model = FakeModel(step, ("edit", EDIT))
    log = play(story, tmp_path, model=model)
    (use,) = calls(log)[0].uses
    assert use.refused and why in use.result and len(use.result) <= tools.RESULT + 100
    assert verdict(log) == "right"
    for body in model.heard:
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                json.loads(call["function"]["arguments"])
                assert len(call["function"]["arguments"]) < 30_000


ESCAPES: list[Step] = [
    *(
        (name, {**more, "path": path})
        for path in (
            "/etc/passwd", "../outside", "ops/../../outside", "./../outside", "//etc/passwd", "/proc/self/environ",
            "ops/\u2025/outside/../../x", "..\\outside", "a\0b", ".git/config", ".GIT/HEAD", "ops/.git/x",
            "git~1/config", ".g\u200cit/config", ".git /config", ".git::$DATA",
        )
        for name, more in (("read", {}), ("edit", {"old": "", "new": "planted"}), ("search", {"text": "root"}))
    ),
    *((name, {"command": "cat /etc/passwd"}) for name in ("shell", "bash", "python", "exec", "run", "__import__")),
    *(("run_check", {"number": number}) for number in (0, -1, 2, 99)),
    ("run_check", {"number": "1; cat /etc/passwd"}),
    ("run_check", {"command": ["cat", "/etc/passwd"]}),
]  # fmt: skip


@pytest.mark.slow
def test_a_hostile_model_gets_out_by_no_tool(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "STEPS", 200)
    monkeypatch.setattr(chat, "REFUSED", 200)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leaked")
    log = play(story, tmp_path, *ESCAPES)
    uses = [use for call in calls(log) for use in call.uses]
    assert len(uses) == len(ESCAPES) > 30
    for use in uses:
        assert use.refused or use.result == "(nothing)", use
        assert "root:" not in use.result and "sk-leaked" not in use.result
    diff = worked(log).diff
    assert isinstance(diff, Ref) and diff.bytes == 0, "nothing was planted"


FAULTS: dict[str, tuple[Reply, str, int]] = {
    "a refusal": (Reply("refused", "I would rather not", "the model refused"), "refused", 0),
    "half an answer": (Reply("failed", why="502: ended before the answer was complete"), "failed", 1),
    "an overflowing context": (Reply("failed", why="400: maximum context length is 8 tokens"), "failed", 1),
    "a rate limit": (Reply("failed", why="429: slow down"), "failed", 1),
    "no answer in time": (Reply("timed-out", why="504: late"), "timed-out", 1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_call_that_came_to_nothing_ends_the_job_with_its_receipt(story: Story, tmp_path: Path, name: str) -> None:
    reply, outcome, count = FAULTS[name]
    log = play(story, tmp_path, RECALL, reply)
    last = calls(log)[-1]
    assert (last.outcome, last.why) == (outcome, reply.why) and log.closed and log.closed.status == "complete"
    assert verdict(log) == "unresolved" and worked(log).choices[0].origin == "nowhere"
    found = [(each.backend, each.op, each.count, each.calls) for each in faults.of_trial(log) if each.op == "chat"]
    assert found == ([("chat@fake", "chat", count, 2)] if count else [])
    assert acting._is_unanswered(View(Record(log), "model"), next(iter(Record(log).find_decided("model"))))


def test_what_was_right_before_a_fault_is_unfinished(story: Story, tmp_path: Path) -> None:
    assert verdict(play(story, tmp_path, ("edit", EDIT), FAULTS["a rate limit"][0])) == "unfinished"


@pytest.mark.parametrize("said", ["", "Let me think about that for a while."])
def test_words_or_nothing_instead_of_a_tool_are_nudged_and_then_end_the_job(
    story: Story, tmp_path: Path, said: str
) -> None:
    model = FakeModel(*[said] * 9)
    log = play(story, tmp_path, model=model)
    assert len(calls(log)) == chat.IDLE and "answers in a row without a tool" in calls(log)[-1].why
    assert model.heard[-1]["messages"][-1]["content"] == chat.NUDGE
    assert not calls(log)[-1].answered and verdict(log) == "unresolved"


def test_who_declines_by_ending_the_job_has_answered(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, RECALL, "DONE")
    assert calls(log)[-1].answered and verdict(log) == "unresolved"


def test_a_loop_ends(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, *[RECALL] * 50)
    assert len(calls(log)) == chat.SAME and "used the same tools alike" in calls(log)[-1].why


@pytest.mark.slow
def test_a_loop_of_several_steps_ends_and_an_edit_begins_anew(story: Story, tmp_path: Path) -> None:
    """As a small model was seen to do: it searched, searched, edited in vain, and began again."""
    turn = [("search", {"text": "target"}), RECALL, ("edit", {"path": "ops/none/../x", "new": "y"})]
    log = play(story, tmp_path / "turns", *turn * 10)
    assert len(calls(log)) == 3 * chat.SAME - 2 and "used the same tools alike" in calls(log)[-1].why
    looks = [("search", {"text": "target"})] * (chat.SAME - 1)
    edits = [("edit", {"path": f"new{at}.txt", "new": "y"}) for at in range(3)]
    log = play(story, tmp_path / "edits", *[step for each in edits for step in (*looks, each)])
    assert calls(log)[-1].outcome == "finished" and len(calls(log)) == 3 * chat.SAME + 1


def test_a_loop_that_changes_its_words_ends_with_the_steps(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "STEPS", 6)
    log = play(story, tmp_path, *[("recall", {"point": 1, "query": f"number {at}"}) for at in range(50)])
    assert len(calls(log)) == 6 and calls(log)[-1].why == "ended: 6 steps are used up"
    assert not calls(log)[-1].answered


def test_a_loop_of_what_may_not_be_done_ends_before_the_steps(story: Story, tmp_path: Path) -> None:
    """As a small model was seen to do: seven questions in turn, none of which was ever answered."""
    asked = [("search", {"path": "no-such-folder", "text": f"number {at % 7}"}) for at in range(50)]
    log = play(story, tmp_path, *asked[:5], RECALL, *asked[5:])
    assert len(calls(log)) == 6 + chat.REFUSED and "asked for nothing that may be done" in calls(log)[-1].why
    assert not calls(log)[-1].answered


@pytest.mark.parametrize(("budget", "value"), [("TOKENS", 800), ("SECONDS", 0)])
def test_a_budget_ends_the_job(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str, value: int
) -> None:
    monkeypatch.setattr(chat, budget, value)
    log = play(story, tmp_path, RECALL, ("edit", EDIT), ("list", {}), ("list", {"path": "ops"}))
    assert f"{budget.lower() if budget == 'TOKENS' else 's'} are used up" in calls(log)[-1].why
    assert log.closed and log.closed.status == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["native", "json"])
def test_an_enormous_answer_is_cut(story: Story, tmp_path: Path, form: str) -> None:
    model = FakeModel("{" * 3_000_000, ("edit", EDIT), form=form)
    log = play(story, tmp_path, model=model)
    assert len(calls(log)[0].answer) < tools.WRITTEN + 100 and verdict(log) == "right"
    assert worked(log).completion < tools.WRITTEN


@pytest.mark.slow
def test_too_many_tools_at_once_are_refused(story: Story, tmp_path: Path) -> None:
    many = [{"function": {"name": "list", "arguments": "{}"}}] * 30
    log = play(story, tmp_path, Reply("answered", message={"tool_calls": many}))
    assert [each.refused for each in calls(log)[0].uses] == [False] * chat.USES + [True] * (30 - chat.USES)


@pytest.mark.parametrize(
    "said", [[None], [1], ["x"], [{}], [{"function": None}], [{"function": {"name": 3, "arguments": 4}}], {"a": 1}, "x"]
)
def test_calls_of_any_shape_are_answered(story: Story, tmp_path: Path, said: Any) -> None:
    log = play(story, tmp_path, Reply("answered", message={"tool_calls": said}), ("edit", EDIT))
    assert verdict(log) == "right"


def test_a_long_file_is_read_in_parts(story: Story, tmp_path: Path) -> None:
    text = "\n".join(f"line {at}" for at in range(1, 3000))
    edits: Sequence[Step] = (("edit", {"path": "long.txt", "old": "", "new": text}),)
    log = play(story, tmp_path, *edits, ("read", {"path": "long.txt"}), ("read", {"path": "long.txt", "start": 2990}))
    first, second = calls(log)[1].uses[0].result, calls(log)[2].uses[0].result
    assert len(first) < tools.RESULT + 200 and "read on from start" in first and second.startswith("line 2990\n")


def test_the_transcript_is_a_blob(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, ("edit", {**EDIT, "new": "x" * 5000}))
    assert not isinstance(worked(log).calls, tuple)


@pytest.mark.slow
def test_a_memory_that_fails_once_is_told_and_one_that_dies_ends_the_trial_alone(story: Story, tmp_path: Path) -> None:
    note: Step = ("remember", {"text": "The order of today was filled"})

    def fail(name: str, op: str, before: int, *, alive: bool) -> Log:
        store = FakeHost(tmp_path / name)
        store.faults[op] = [*[None] * before, ("crashed", alive)]
        return play(story, tmp_path / name, RECALL, note, ("edit", EDIT), store=store)

    asked = sum(1 for event in play(story, tmp_path).list_events(Recalled))
    log = fail("once", "recall", asked, alive=True)
    assert calls(log)[0].uses[0].result == "(nothing)" and verdict(log) == "right"
    written = sum(1 for event in play(story, tmp_path / "plain").list_events(Wrote))
    log = fail("note", "remember", written, alive=True)
    assert calls(log)[1].uses[0].refused and "did not keep it" in calls(log)[1].uses[0].result
    log = fail("dead", "recall", asked, alive=False)
    assert log.closed and log.closed.status == "failed" and not log.list_events(Worked)


@pytest.mark.slow
def test_the_report_tells_each_step_and_why_a_job_was_ended(story: Story, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e"
    log = play(story, tmp_path, RECALL, ("read", {"path": hostile}), FAULTS["a rate limit"][0])
    page = "".join(map(str, Telling(View(Record(log), "model"), whole=False).sessions()))
    for said in (
        "where do we deploy to",
        "not end its job, failed",
        "429: slow down",
        "2 acted",
        "Points:",
        "1 refused",
    ):
        assert said in page, said
    assert "\u202e" not in page
    told = play(story, tmp_path / "guess", ("edit", EDIT), cold=True)
    assert "guessed: nothing that it was shown" in "".join(
        map(str, Telling(View(Record(told)), whole=False).sessions())
    )
