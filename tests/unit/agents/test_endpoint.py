"""The model of a job at its socket: what a program may ask there, and what it is told."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from harness.agents import endpoint, profile
from harness.agents.endpoint import Conversation
from harness.gateway.chat.client import Reply
from harness.gateway.chat.wire import ChatRequest, Refused
from harness.gateway.endpoint import MAX_BYTES
from tests.support.fake_model import FakeModel

ASKED = {"model": "mine", "messages": [{"role": "user", "content": "hello"}]}


def make(*steps: Any, **more: Any) -> Conversation:
    found = profile.read("opencode").model_copy(update=more)
    return Conversation(found, "theirs", 7, date(2025, 8, 5), FakeModel(*steps), len)


class Link(http.client.HTTPConnection):
    """To a socket of this machine."""

    def __init__(self, path: Path) -> None:
        super().__init__("model")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[tuple[Conversation, Path]]:
    found = make("yes", "no")
    with endpoint.serve(found, tmp_path / "m"):
        yield found, tmp_path / "m"


def post(path: Path, body: Any, where: str = "/v1/chat/completions", **headers: str) -> tuple[int, str]:
    link = Link(path)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    link.request("POST", where, data, headers)
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def test_model_and_seed_are_those_of_the_trial_and_the_rest_is_the_programs(talk: tuple[Conversation, Path]) -> None:
    found, path = talk
    status, said = post(path, {**ASKED, "seed": 3, "user": "somebody", "temperature": 0.4, "stop": None})
    assert (status, json.loads(said)["choices"][0]["message"]["content"]) == (200, "yes")
    asked = found.ask_model.heard[0]  # type: ignore[attr-defined]
    assert asked == {"model": "theirs", "seed": 7, "messages": ASKED["messages"], "temperature": 0.4}


def test_an_answer_is_streamed_if_that_is_wanted(talk: tuple[Conversation, Path]) -> None:
    status, said = post(talk[1], {**ASKED, "stream": True})
    events = [line.removeprefix("data: ") for line in said.split("\n\n") if line]
    assert status == 200 and events[-1] == "[DONE]"
    deltas = [json.loads(each)["choices"][0]["delta"] for each in events[:-1] if json.loads(each)["choices"]]
    assert "".join(each.get("content", "") for each in deltas) == "yes"


SAID = [{"role": "user", "parts": [{"text": "hello"}]}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "body", "said"),
    [
        ("/v1/v1/messages?beta=true", {**ASKED, "stream": True}, '"text": "yes"'),
        ("/v1/responses", {"model": "mine", "input": ASKED["messages"], "stream": True}, '"delta": "yes"'),
        ("/v1/v1beta/models/mine:streamGenerateContent?alt=sse", {"contents": SAID}, '"parts": [{"text": "yes"}]'),
    ],
)
def test_a_program_may_speak_another_format(
    talk: tuple[Conversation, Path], where: str, body: dict[str, Any], said: str
) -> None:
    found, path = talk
    status, told = post(path, body, where)
    assert status == 200 and said in told and told.endswith("\n\n")
    status, told = post(path, {**body, "stream": False}, where.replace("streamG", "g"))
    assert status == 200 and "fake" in (json.loads(told).get("model"), json.loads(told).get("modelVersion"))
    for asked in found.ask_model.heard:  # type: ignore[attr-defined]
        (heard,) = asked["messages"]
        assert (asked["model"], asked["seed"], heard["role"]) == ("theirs", 7, "user") and "hello" in str(heard)
    assert [each.prompt for each in found.calls] == ["hello", ""]
    assert found.others == {"mine": 2}, "wherever the model's name stands"


def test_what_varies_from_run_to_run_is_hidden_from_the_model_but_in_its_own_words() -> None:
    found = make(("bash", {}), "done", varies=(r"pid \d+", "Kernel .*"))
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "Kernel 6.1\nbe brief"}]},
        {"role": "assistant", "content": "pid 1"}, {"role": "tool", "tool_call_id": "a", "content": "pid 71 is up"},
    ]  # fmt: skip
    found.answer(ChatRequest({"model": "theirs", "messages": messages}))
    (asked,) = found.ask_model.heard  # type: ignore[attr-defined]
    system, words, result = (each["content"] for each in asked["messages"])
    assert system == [{"type": "text", "text": "…\nbe brief"}] and (words, result) == ("pid 1", "… is up")


def test_what_was_read_from_a_cache_is_logged_and_told_on() -> None:
    found = make(Reply("answered", "yes", model="m", prompt=9, completion=2, cached=4, message={"content": "yes"}))
    usage = found.answer(ChatRequest(ASKED))["usage"]
    assert usage["prompt_tokens"] == 9 and usage["prompt_tokens_details"] == {"cached_tokens": 4}
    assert [each.cached_tokens for each in found.calls] == [4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "where", "status", "said"),
    [
        (b"{half", "/v1/chat/completions", 400, "not JSON"),
        ({"model": "m"}, "/v1/chat/completions", 400, "messages must be a list"),
        ({**ASKED, "n": 2}, "/v1/chat/completions", 400, "n must be 1"),
        (ASKED, "/v1/completions", 404, "there are /chat/completions, /messages, /responses, "),
        ({"model": "m"}, "/v1/messages", 400, "messages must be a list"),
        ({"model": "m", "input": [3]}, "/v1/responses", 400, "input must be a list"),
        (b"[" * 50_000, "/v1/chat/completions", 400, "not JSON"),
    ],
)
def test_what_is_no_request_is_refused_and_logged_nowhere(
    talk: tuple[Conversation, Path], body: Any, where: str, status: int, said: str
) -> None:
    told = post(talk[1], body, where)
    assert told[0] == status and said in json.loads(told[1])["error"]["message"]
    assert not talk[0].calls


def test_a_request_may_come_in_chunks_and_one_that_is_too_long_is_refused(talk: tuple[Conversation, Path]) -> None:
    link = Link(talk[1])
    link.putrequest("POST", "/v1/chat/completions")
    link.putheader("content-length", str(MAX_BYTES + 1))
    link.endheaders()
    assert link.getresponse().status == 413
    link = Link(talk[1])
    parts = iter([json.dumps(ASKED).encode()])
    link.request("POST", "/v1/chat/completions", parts, {"transfer-encoding": "chunked"}, encode_chunked=True)
    assert link.getresponse().status == 200


def test_who_is_refused_before_all_is_sent_still_reads_why(talk: tuple[Conversation, Path]) -> None:
    link = Link(talk[1])
    link.putrequest("POST", "/v1/chat/completions")
    link.putheader("content-length", str(MAX_BYTES + 1))
    link.endheaders()
    for _ in range(80):  # more than the socket holds, so the other side must read it
        link.send(b" " * 65_536)
    answer = link.getresponse()
    assert answer.status == 413 and b"longer than" in answer.read()


def test_its_models_are_one(talk: tuple[Conversation, Path]) -> None:
    link = Link(talk[1])
    link.request("GET", "/v1/models")
    assert [each["id"] for each in json.load(link.getresponse())["data"]] == ["theirs"]


def test_who_leaves_in_the_middle_disturbs_nobody(talk: tuple[Conversation, Path], capfd: Any) -> None:
    link = Link(talk[1])
    link.putrequest("POST", "/v1/chat/completions")
    link.putheader("content-length", "1000")
    link.endheaders(b"{")
    link.close()
    assert post(talk[1], ASKED)[0] == 200 and capfd.readouterr().err == ""


def test_what_a_tool_answered_stands_at_the_step_that_used_it_even_if_all_calls_have_one_name() -> None:
    found = make(("bash", {"command": "a"}), ("bash", {"command": "b"}), "done")
    messages: list[Any] = list(ASKED["messages"])
    for _ in range(3):
        message = found.answer(ChatRequest({**ASKED, "messages": messages}))["choices"][0]["message"]
        messages += [message, {"role": "tool", "tool_call_id": "a", "content": "the same"}]
    assert [[use.result for use in call.uses] for call in found.calls] == [["the same"], ["the same"], []]
    assert [call.prompt for call in found.calls] == ["hello", "", ""] and found.shown == ["the same"] * 2


def test_a_failed_call_is_answered_so_that_nobody_tries_again(tmp_path: Path) -> None:
    found = make(Reply("failed", why="502: away"), Reply("refused", "I will not", "the model refused", message={}))
    with endpoint.serve(found, tmp_path / "m"):
        status, said = post(tmp_path / "m", ASKED)
        assert (status, json.loads(said)["error"]["message"]) == (400, "502: away")
    assert [each.outcome for each in found.calls] == ["failed"]


def test_after_a_budget_nothing_is_answered() -> None:
    found = make("one", "two", steps=1)
    found.answer(ChatRequest(ASKED))
    assert found.ended.is_set() and found.why == "ended: 1 steps are used up"
    with pytest.raises(Refused, match="1 steps are used up"):
        found.answer(ChatRequest(ASKED))
    assert len(found.calls) == 1


def test_leaving_waits_for_no_answer(tmp_path: Path) -> None:
    asked, go = threading.Event(), threading.Event()

    def ask(_: object) -> Reply:
        asked.set()
        go.wait(60)
        return Reply("answered", "late", message={"content": "late"})

    found = make()
    found.ask_model = ask
    with endpoint.serve(found, tmp_path / "m"):
        link = Link(tmp_path / "m")
        link.request("POST", "/v1/chat/completions", json.dumps(ASKED).encode())
        assert asked.wait(30)
    assert not found.calls
    go.set()
