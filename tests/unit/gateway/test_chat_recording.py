from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.gateway.chat.normaliser import SECRETS, Normal, Normaliser, restore_message
from harness.gateway.chat.recording import Recorder, Replayer
from harness.gateway.chat.standin import StandIn
from harness.gateway.chat.wire import (
    Assembly,
    ChatError,
    ChatRequest,
    Chunk,
    Completion,
    Refused,
    Whole,
    make_completion,
    read_message,
)
from tests.support.fake_upstream import SYSTEM, prompt

DAY, UUID, RUN = "2026-10-14", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "20261014-101500-ab12"
SECRET = "sk-live0123456789abcdef"  # an invented one
KEY = "correct-horse"  # of no known form


def asked(*texts: str, **more: Any) -> ChatRequest:
    return ChatRequest({"model": "m", "messages": [{"role": "user", "content": text} for text in texts], **more})


class Echo(Whole):
    """A fake upstream: repeats the last message, numbered by call, and forgets what it costs."""

    name = "fake echo"

    def __init__(self, *, extra: str = "") -> None:
        self.calls = 0
        self.extra = extra
        self.closed = False

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        number = self.calls
        await asyncio.sleep(0)
        text = f"{number}: {request.messages[-1]['content']}{self.extra}"
        return make_completion(f"echo-{number}", "fake-echo", {"role": "assistant", "content": text}, "stop", None)

    async def models(self) -> list[str]:
        return ["fake-echo"]

    async def close(self) -> None:
        self.closed = True


def complete(upstream: Any, *requests: ChatRequest) -> list[Any]:
    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(upstream.complete(each) for each in requests))

    return [read_message(answer)["content"] for answer in asyncio.run(all_at_once())]


def stream(upstream: Any, request: ChatRequest) -> Completion:
    async def to_the_end() -> Completion:
        assembly = Assembly()
        async for chunk in upstream.stream(request):
            assembly.add(chunk)
        return assembly.completion()

    return asyncio.run(to_the_end())


def missed(upstream: Any, request: ChatRequest) -> str:
    with pytest.raises(Refused) as caught:
        complete(upstream, request)
    assert (caught.value.status_code, caught.value.code) == (404, "no_recording")
    assert "\n" not in caught.value.detail
    return caught.value.detail


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- recording and replaying --------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
def test_what_was_recorded_is_replayed(tmp_path: Path, streamed: bool) -> None:
    echo = Echo()
    recorder = Recorder(echo, tmp_path / "new" / "folder")
    if streamed:
        heard = read_message(stream(recorder, asked("one\ntwo")))["content"]
    else:
        (heard,) = complete(recorder, asked("one\ntwo"))
    assert heard == "1: one\ntwo"
    replayer = Replayer(tmp_path / "new" / "folder")
    assert replayer.name == "replay of fake echo"
    assert asyncio.run(replayer.models()) == ["fake-echo"]
    for fields in ({}, {"stream": True, "stream_options": {"include_usage": True}}, {"user": "u1"}):
        again = stream(replayer, asked("one\ntwo", **fields))
        assert read_message(again)["content"] == heard
        assert (again["model"], again["usage"]["prompt_tokens"]) == ("fake-echo", 3)
        assert again["id"].startswith("replay-")
    assert complete(replayer, asked("one\ntwo")) == [heard]
    asyncio.run(recorder.close())
    assert echo.closed


def test_equal_requests_are_paid_once_even_side_by_side_and_after_a_pause(tmp_path: Path) -> None:
    echo = Echo()
    assert complete(Recorder(echo, tmp_path), asked("a"), asked("b"), asked("a")) == ["1: a", "2: b", "1: a"]
    assert complete(Recorder(echo, tmp_path), asked("b"), asked("c")) == ["2: b", "3: c"]
    assert read_message(stream(Recorder(echo, tmp_path), asked("c")))["content"] == "3: c"
    assert echo.calls == 3


def test_what_fails_is_not_recorded_and_may_be_asked_again(tmp_path: Path) -> None:
    class Failing(Echo):
        async def complete(self, request: ChatRequest) -> Completion:
            if self.calls == 0:
                self.calls += 1
                raise Refused(502, "broke off")
            return await super().complete(request)

        async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk, None]:
            yield {"choices": [{"delta": {"content": "half"}}]}
            raise Refused(502, "broke off")

    recorder = Recorder(Failing(), tmp_path)
    with pytest.raises(Refused, match="broke off"):
        complete(recorder, asked("a"))
    with pytest.raises(Refused, match="broke off"):
        stream(recorder, asked("a"))
    assert written(tmp_path) == {}
    assert complete(recorder, asked("a")) == ["2: a"]


def test_another_day_another_run_same_recording(tmp_path: Path) -> None:
    def request(day: str, uuid: str, run: str) -> ChatRequest:
        return asked(f"freeze 2026-03-01, today {day}T09:30:00.25+02:00 and {day}", f"{day} id {uuid} in {run}")

    complete(Recorder(Echo(), tmp_path), request(DAY, UUID, RUN))
    other = ("2027-01-02", UUID[::-1].replace("-", "")[:8] + UUID[8:], "20270102-000000-ffff")
    assert complete(Replayer(tmp_path), request(*other)) == [f"1: {other[0]} id {other[1]} in {other[2]}"]
    (path,) = tmp_path.iterdir()
    assert not re.search(rf"{DAY}|{UUID}|{RUN}", path.read_text())


def test_recording_again_changes_no_file(tmp_path: Path) -> None:
    for folder, day in (("a", DAY), ("b", "2027-01-02")):
        complete(
            Recorder(Echo(), tmp_path / folder), asked(f"it is {day}"), asked("two\nlines \ud800", temperature=0.1)
        )
    assert written(tmp_path / "a") == written(tmp_path / "b")


def test_what_mem0_asks_on_one_day_is_answered_on_another(tmp_path: Path) -> None:
    def request(day: str) -> ChatRequest:
        long = {**SYSTEM, "content": SYSTEM["content"] * 100 + f"\nToday is {day}."}
        said = prompt("user: The port is 80 since 2026-03-01. Jonas reviews.\n", ["The port is 90."], day=day)
        return ChatRequest({"model": "m", "messages": [long, {"role": "user", "content": said}]})

    heard = complete(Recorder(StandIn(), tmp_path), request(DAY))
    assert "The port is 80 since 2026-03-01." in heard[0]
    assert complete(Replayer(tmp_path), request("2027-01-02")) == heard
    recorded = written(tmp_path)
    complete(Recorder(StandIn(), tmp_path), request("2028-02-29"))
    assert written(tmp_path) == recorded


@pytest.mark.slow
@pytest.mark.backend
def test_mem0_s_own_prompt_too(tmp_path: Path) -> None:
    prompts = pytest.importorskip("mem0.configs.prompts")

    def request(day: str) -> ChatRequest:
        said = prompts.generate_additive_extraction_prompt(
            existing_memories=[{"id": "0", "text": "The port is 90."}],
            new_messages="user: The port is 80.\n",
            last_k_messages=[{"role": "user", "content": "hello"}],
            current_date=day,
        )
        system = {"role": "system", "content": prompts.ADDITIVE_EXTRACTION_PROMPT}
        return ChatRequest({"model": "m", "messages": [system, {"role": "user", "content": said}]})

    heard = complete(Recorder(StandIn(), tmp_path), request(DAY))
    assert "The port is 80." in heard[0]
    assert complete(Replayer(tmp_path), request("2027-01-02")) == heard
    (data,) = written(tmp_path).values()
    assert len(data) < 3000
    assert DAY.encode() not in data


def test_a_file_is_for_people(tmp_path: Path) -> None:
    system = "You are to remember.\n" * 500
    body: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "é\nb"}],
    }
    complete(Recorder(Echo(), tmp_path), ChatRequest(body))
    (path,) = tmp_path.iterdir()
    shown = json.loads(path.read_text())
    assert [message["role"] for message in shown["request"]["messages"]] == ["system", "user"]
    sha256 = hashlib.sha256(system.encode()).hexdigest()
    assert shown["request"]["messages"][0] == {"role": "system", "characters": len(system), "sha256": sha256}
    assert shown["request"]["messages"][1]["lines"] == ["é", "b"]
    assert shown["answer"] == {"role": "assistant", "lines": ["1: é", "b"]}
    assert shown["upstream"] == "fake echo"
    assert '"é",\n' in path.read_text()
    assert "You are to remember" not in path.read_text()
    changed = copy.deepcopy(body)
    changed["messages"][0]["content"] += "."
    assert "differs first at messages[0].characters" in missed(Replayer(tmp_path), ChatRequest(changed))


# --- secrets ------------------------------------------------------------------------------------------------------

LOOK = [
    SECRET,
    "ghp_0123456789abcdefABCD",
    "AKIA0123456789ABCDEF",
    "AIza" + "x" * 35,
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    KEY,
]


@pytest.mark.parametrize("secret", LOOK)
def test_a_secret_is_never_written_and_yet_replayed(tmp_path: Path, secret: str) -> None:
    request = asked(f"The token of staging is {secret}; keep it")
    recorder = Recorder(Echo(extra=f" and {SECRET[::-1]} and sk-another0123456789abc"), tmp_path, keys=[KEY])
    complete(recorder, request)
    (text,) = (data.decode() for data in written(tmp_path).values())
    for line in secret.split("\n"):
        assert line not in text
    assert "sk-another" not in text
    (replayed,) = complete(Replayer(tmp_path, keys=[KEY]), request)
    assert replayed == f"1: The token of staging is {secret}; keep it and {SECRET[::-1]} and [redacted]"


def test_a_bearer_is_a_secret() -> None:
    assert Normaliser().redact("Authorization: Bearer abcdefghijklmnop1234==") == "Authorization: Bearer [redacted]"
    for form in SECRETS:
        assert any(re.search(form, text, re.DOTALL) for text in (*LOOK, "Bearer abcdefghijklmnop1234")), form


@pytest.mark.parametrize(
    "text",
    ["task-0123456789abcdefghij", "src/desk-lamp_settings_module.py", "sk-short", "release-2.x", "a8f5f167f44f4964e6"],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Normaliser().redact(text) == text


@pytest.mark.slow
@given(st.sampled_from(["system", "developer"]), st.text(), st.text(min_size=1), st.integers(0, 3000), st.booleans())
def test_long_instructions_are_left_out_and_yet_told_apart(
    role: str, head: str, tail: str, padding: int, parts: bool
) -> None:
    def normal(text: str) -> Normal:
        content = [{"type": "text", "text": text}] if parts else text
        return Normaliser().request(ChatRequest({"model": "m", "messages": [{"role": role, "content": content}]}))

    text = head.replace("⟦", "") + "x" * padding + tail.replace("⟦", "")
    assume(not Normaliser().pattern.search(text) and not Normaliser().pattern.search(text + "y"))
    message = normal(text).shown["messages"][0]
    told = message["content"][0] if parts else message
    if len(text) > 2000:
        assert (told["characters"], told["sha256"]) == (len(text), hashlib.sha256(text.encode()).hexdigest())
        assert len(json.dumps(message)) < 200
    else:
        assert restore_message(message)["content"] == ([{"type": "text", "text": text}] if parts else text)
    assert normal(text).digest == normal(text).digest
    assert normal(text).digest != normal(text + "y").digest


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_what_was_said_is_kept_however_long(role: str) -> None:
    body = {"model": "m", "messages": [{"role": role, "content": "word " * 1000}]}
    assert Normaliser().request(ChatRequest(body)).shown["messages"] == body["messages"]


texts = st.lists(
    st.sampled_from(["⟦", "⟧", "⟦date 1⟧", "⟦⟦", DAY, "2027-01-02", UUID, RUN, " ", "-", "x", "\n", "secret 1⟧"])
    | st.text()
).map("".join)


@pytest.mark.slow
@given(texts, texts)
def test_marking_loses_nothing(request: str, answer: str) -> None:
    normal = Normaliser().request(asked(request))
    assert normal.fill(json.loads(json.dumps(normal.mark({"content": answer})))) == {"content": answer}


@given(texts, texts)
def test_other_words_are_another_request(one: str, two: str) -> None:
    normal = Normaliser()
    plain = [re.sub(normal.pattern, lambda found: f"<{found.lastgroup}>", text) for text in (one, two)]
    same = normal.request(asked(one)).digest == normal.request(asked(two)).digest
    assert same == (plain[0] == plain[1])


# --- what is not there --------------------------------------------------------------------------------------------


def test_a_miss_names_the_nearest_and_quotes_nothing(tmp_path: Path) -> None:
    told = ["The port is 8080.\nJonas reviews.\nShips on Friday.", "Something else altogether"]
    complete(Recorder(Echo(), tmp_path), *map(asked, told))
    said = missed(Replayer(tmp_path), asked("The port is 8080.\nTomasz reviews.\nShips on Friday."))
    near = next(name for name, data in written(tmp_path).items() if b"Jonas" in data)
    assert f"the nearest is {near}, 80 % alike, which differs first at messages[0].lines[1]" in said
    assert "Tomasz" not in said
    assert "Jonas" not in said
    assert "differs first at temperature" in missed(Replayer(tmp_path), asked(told[0], temperature=1))
    assert "differs first at model" in missed(Replayer(tmp_path), ChatRequest({**asked(told[0]).body, "model": "n"}))


def test_folders_that_cannot_be_used_are_one_line(tmp_path: Path) -> None:
    for folder in (tmp_path / "absent", tmp_path):
        with pytest.raises(ChatError, match="holds no recording of chat calls: name another folder, or record first"):
            Replayer(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(ChatError, match="cannot record chat calls to"):
        Recorder(Echo(), tmp_path / "file")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: "", "not a recording"),
        (lambda text: "[]", "not a recording"),
        (lambda text: text[:200], "not a recording"),
        (lambda text: text.replace('"schema": 2', '"schema": 1'), "not a recording"),
        (lambda text: text.replace('"usage"', '"use"'), "not a recording"),
        (lambda text: text.replace("hello", "hallo", 1), "its request is not the one that it was recorded for"),
    ],
)
def test_a_file_that_is_no_recording_is_named(tmp_path: Path, change: Any, says: str) -> None:
    complete(Recorder(Echo(), tmp_path), asked("hello"))
    (path,) = tmp_path.iterdir()
    path.write_text(change(path.read_text()))
    with pytest.raises(ChatError, match=says) as caught:
        Replayer(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_an_answer_may_be_edited_by_hand(tmp_path: Path) -> None:
    complete(Recorder(Echo(), tmp_path), asked("hello"))
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text().replace("1: hello", "good day"))
    assert complete(Replayer(tmp_path), asked("hello")) == ["good day"]


def test_a_folder_that_cannot_be_written_is_an_error_of_that_call(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    recorder = Recorder(Echo(), folder)
    folder.rmdir()
    with pytest.raises(Refused, match="cannot record the answer in gone"):
        complete(recorder, asked("hello"))
