"""The chat half of the gateway: its requests, its books and its budget, with upstreams that need no network."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.recording import Recorder, Replayer
from harness.gateway.chat.standin import MODEL, StandIn
from harness.gateway.chat.wire import (
    Assembly,
    ChatRequest,
    Completion,
    Refused,
    Whole,
    count_spent,
    make_completion,
    parse,
    read_message,
    split_completion,
)
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Budget, ChatCount, ChatFault, Ledger, Meter, Spending
from tests.support.fake_upstream import prompt
from tests.support.fakes import FakeEmbedder

KEY = "trial-key-1"
EXTRACT = {"model": "any", "messages": [{"role": "user", "content": prompt("user: The port is 80.\n")}]}


SHORT = {"model": "any", "messages": [{"role": "user", "content": "hello there"}]}


class Fake(Whole):
    """A fake upstream that says "fine" for ten tokens."""

    name = "fake"

    async def complete(self, request: ChatRequest) -> Completion:
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return make_completion("fake-1", "fake-chat", {"role": "assistant", "content": "fine"}, "stop", usage)

    async def models(self) -> list[str]:
        return ["fake-chat"]


def ask(gateway: Gateway, body: Any = None, key: str = KEY, path: str = "/v1/chat/completions") -> tuple[int, Any]:
    where = urlsplit(gateway.url)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    sent = body if isinstance(body, bytes) else json.dumps(EXTRACT if body is None else body)
    link.request("POST", path, sent, {"authorization": f"Bearer {key}"})
    answer = link.getresponse()
    text = answer.read()
    link.close()
    return answer.status, json.loads(text)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(EmbeddingCache(None, FakeEmbedder()), StandIn()) as running:
        yield running


@pytest.fixture
def meter(gateway: Gateway) -> Iterator[Meter]:
    yield gateway.register(KEY)
    gateway.unregister(KEY)


# --- requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (b"", "not JSON"),
        (b'{"model": "m", "messages": NaN}', "not JSON"),
        ([], "JSON object"),
        ({"model": None}, "model must be"),
        ({"model": ""}, "model must be"),
        ({"messages": None}, "messages must be"),
        ({"messages": []}, "messages must be"),
        ({"messages": "hello"}, "messages must be"),
        ({"messages": ["hello"]}, "messages[0] must be an object with a role"),
        ({"messages": [{"content": "x"}]}, "messages[0] must be an object with a role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content must be"),
        ({"stream": "yes"}, "stream must be"),
        ({"stream_options": 1}, "stream_options must be"),
        ({"n": 2}, "n must be 1"),
    ],
)
def test_bad_requests_are_refused_and_not_counted(gateway: Gateway, meter: Meter, change: Any, says: str) -> None:
    status, answer = ask(gateway, EXTRACT | change if isinstance(change, dict) else change)
    assert status == 400
    assert says in answer["error"]["message"]
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert meter.chat() == {}


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["model", "messages", "role", "content", "stream", "stream_options", "tool_calls", "text"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=15,
    )
)
def test_any_json_is_accepted_or_refused(value: Any) -> None:
    try:
        asked = parse(json.dumps(value).encode())
    except Refused as error:
        assert error.status_code == 400
    else:
        assert asked.messages == value["messages"]
        assert count_spent(asked, None).counted


def test_an_unknown_key_and_a_gateway_without_chat() -> None:
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        meter = gateway.register(KEY)
        assert ask(gateway, key="wrong")[0] == 401
        status, answer = ask(gateway)
        assert (status, answer["error"]["code"]) == (404, "no_chat_model")
        assert answer["error"]["message"] == "this run has no chat model"
        assert meter.chat() == {}


# --- books --------------------------------------------------------------------------------------------------------


def test_calls_count_by_key_and_phase(gateway: Gateway, meter: Meter) -> None:
    other = gateway.register("trial-key-2")
    meter.phase = "ingest"
    _, answer = ask(gateway)
    ask(gateway, EXTRACT | {"messages": [{"role": "user", "content": "something else"}]})
    meter.phase = "job"
    ask(gateway)
    ask(gateway, key="trial-key-2")
    gateway.unregister("trial-key-2")
    prompt, said = answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]
    assert prompt > 50
    assert meter.chat() == {
        "ingest": ChatCount(calls=2, prompt=prompt, completion=said, failed=1),
        "job": ChatCount(calls=1, prompt=prompt, completion=said),
    }
    assert other.chat() == {"": ChatCount(calls=1, prompt=prompt, completion=said)}
    assert meter.models() == {MODEL: 2}
    ((fault, times),) = meter.faults().items()
    assert (fault.phase, fault.status, times) == ("ingest", 400, 1)
    assert meter.counts() == {}


@pytest.mark.slow
def test_a_recorded_run_and_its_replay_have_the_same_books(tmp_path: Path) -> None:
    answers, books = [], []
    for make in (
        lambda: Recorder(StandIn(), tmp_path),
        lambda: Recorder(StandIn(), tmp_path),
        lambda: Replayer(tmp_path),
    ):
        with Gateway(EmbeddingCache(None, FakeEmbedder()), make()) as gateway:
            meter = gateway.register(KEY)
            answers.append(ask(gateway)[1])
            books.append((meter.chat(), meter.models(), gateway.ledger.spent))
    assert books[0] == books[1] == books[2]
    assert len({json.dumps(read_message(answer)) for answer in answers}) == 1
    assert answers[2]["model"] == MODEL


@pytest.mark.slow
def test_a_miss_is_an_error_and_in_the_books(tmp_path: Path) -> None:
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Recorder(StandIn(), tmp_path)) as gateway:
        gateway.register(KEY)
        ask(gateway)
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Replayer(tmp_path)) as gateway:
        meter = gateway.register(KEY)
        status, answer = ask(gateway, EXTRACT | {"temperature": 0.1})
        assert (status, answer["error"]["code"]) == (404, "no_recording")
        (near,) = tmp_path.iterdir()
        assert near.name in answer["error"]["message"]
        assert meter.faults() == {ChatFault("", 404, answer["error"]["message"]): 1}
        assert meter.chat() == {"": ChatCount(calls=1, failed=1)}


# --- budget -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("budget", "limit", "money"),
    [
        (Budget(tokens=25), "25 chat tokens", 0.0),
        (Budget(money=0.07, prompt_price=3000, completion_price=2000), "0.07 for chat calls", 0.081),
        (Budget(tokens=999, money=0.07, prompt_price=3000, completion_price=2000), "0.07 for chat calls", 0.081),
        (Budget(tokens=25, money=9, prompt_price=3000), "25 chat tokens", 0.063),
    ],
)
def test_a_budget_ends_the_calls_of_all_trials(budget: Budget, limit: str, money: float, stream: bool) -> None:
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Fake(), Ledger(budget)) as gateway:
        meter, other = gateway.register(KEY), gateway.register("trial-key-2")
        for key in (KEY, "trial-key-2"):
            assert ask(gateway, SHORT, key)[0] == 200
            assert not gateway.ledger.used_up
        assert ask(gateway, SHORT)[0] == 200  # the one that crosses the line
        assert gateway.ledger.used_up
        assert gateway.ledger.spent == Spending(30, money)
        for key in (KEY, "trial-key-2"):
            status, answer = ask(gateway, SHORT | {"stream": stream}, key)
            assert (status, answer["error"]["code"]) == (429, "budget")
            assert answer["error"]["message"] == f"the budget of the run, {limit}, is used up"
        assert meter.chat() == {"": ChatCount(calls=3, prompt=14, completion=6, failed=1)}
        assert other.chat() == {"": ChatCount(calls=2, prompt=7, completion=3, failed=1)}
        assert gateway.ledger.spent.tokens == 30


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"tokens": 0}, "at least 1"),
        ({"money": 0, "prompt_price": 1}, "above 0"),
        ({"money": float("nan"), "prompt_price": 1}, "above 0"),
        ({"money": 1}, "needs the price"),
        ({"tokens": 1, "prompt_price": -1}, "from 0 on"),
        ({"tokens": 1, "completion_price": float("inf")}, "from 0 on"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(limits: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Budget(**limits)


def test_a_ledger_adds_up_across_threads() -> None:
    ledger, start = Ledger(Budget(tokens=1000, prompt_price=1, completion_price=10)), threading.Barrier(8)

    def spend(_: int) -> None:
        start.wait(10)
        for _ in range(100):
            ledger.add(1, 0, "m", "m")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(8)))
    assert (ledger.spent, ledger.used_up) == (Spending(800, 0.0008), "")
    ledger.add(0, 200, "m", "")
    assert (ledger.spent, ledger.used_up) == (Spending(1000, 0.0028), "1000 chat tokens")


# --- whole answers and streams ------------------------------------------------------------------------------------

calls = st.lists(
    st.builds(
        lambda name, arguments: {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}},
        st.text(min_size=1),
        st.text(),
    ),
    max_size=2,
)


@given(st.text(max_size=300), calls)
def test_a_stream_says_what_the_whole_answer_says(text: str, made: list[Any]) -> None:
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": made} if made else {})
    whole = make_completion("x", "m", message, "stop", {"prompt_tokens": 1, "completion_tokens": 2})
    assembly = Assembly()
    for chunk in split_completion(whole):
        assembly.add(chunk)
    assert assembly.completion() == whole


@pytest.mark.parametrize("again", [{}, {"id": None}, {"id": ""}, {"id": "a"}])
def test_calls_under_one_index_are_told_apart_by_their_ids(again: Any) -> None:
    """A later piece of a call may name its id again, or leave it out or blank."""
    assembly = Assembly()
    for part in (
        {"id": "a", "function": {"name": "recall", "arguments": '{"query":'}},
        {**again, "function": {"arguments": '"tea"}'}},
        {"id": "b", "function": {"name": "recall", "arguments": "{}"}},
    ):
        assembly.add({"choices": [{"delta": {"tool_calls": [{"index": 0, **part}]}}]})
    made = read_message(assembly.completion())["tool_calls"]
    told = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in made]
    assert told == [("a", "recall", '{"query":"tea"}'), ("b", "recall", "{}")]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "index",
                    "arguments",
                    "usage",
                    "finish_reason",
                    "id",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "id", "model"]), junk), max_size=4))
def test_chunks_of_any_shape_do_no_harm(rows: list[Any]) -> None:
    assembly = Assembly()
    for row in rows:
        assembly.add(row)
    whole = assembly.completion()
    assert count_spent(ChatRequest(EXTRACT), whole).prompt >= 0
    assert json.dumps(whole)


@pytest.mark.parametrize(
    ("details", "cached"),
    [
        ({"cached_tokens": 6}, 6),
        ({"cached_tokens": 0}, 0),
        ({"cached_tokens": 12}, 0),  # more than the prompt has
        ({"cached_tokens": -1}, 0),
        ({"cached_tokens": True}, 0),
        ({"cached_tokens": "6"}, 0),
        ({}, 0),
        (None, 0),
        ("6", 0),
    ],
)
def test_what_came_from_a_cache_is_counted_where_it_is_soundly_told(details: object, cached: int) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "prompt_tokens_details": details}
    spent = count_spent(ChatRequest(SHORT), {"usage": usage})
    assert (spent.prompt, spent.completion, spent.counted, spent.cached) == (11, 3, False, cached)


def test_a_count_without_a_cache_is_logged_as_before() -> None:
    assert "cached" not in ChatCount(1, 11, 3).to_log()
    both = ChatCount(1, 11, 3, cached=6) + ChatCount(1, 5, 1)
    assert both.to_log() == {"calls": 2, "prompt": 16, "completion": 4, "counted": 0, "failed": 0, "cached": 6}


LONG = {"model": "any", "messages": [{"role": "user", "content": "harbor lights " * 3000}]}


@pytest.mark.parametrize(
    ("told", "prompt", "completion", "counted", "short"),
    [
        ((4096, 1), 6002, 1, False, True),  # whatever was sent
        ((0, 0), 6002, 1, False, True),
        ((10**400, 1), 6002, 1, True, False),
        ((5000, 1), 6002, 1, False, False),  # another encoding
        ((7000, 9), 7000, 9, False, False),
        ((True, 1), 6002, 1, True, False),
    ],
)
def test_what_an_upstream_counts_stands_beside_our_own_count(
    told: tuple[int, int], prompt: int, completion: int, counted: bool, short: bool
) -> None:
    answer = {"choices": [{"message": {"content": "fine"}}]}
    answer["usage"] = {"prompt_tokens": told[0], "completion_tokens": told[1]}  # type: ignore[assignment]
    spent = count_spent(ChatRequest(LONG), answer)
    assert (spent.prompt, spent.completion, spent.counted) == (prompt, completion, counted)
    assert (spent.unread > 0) == short


def test_calls_that_were_not_all_read_are_logged() -> None:
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Fake(), Ledger()) as gateway:
        meter = gateway.register(KEY)
        assert ask(gateway, LONG)[0] == ask(gateway, SHORT)[0] == 200
        assert meter.chat()[""].to_log() == {
            "calls": 2, "prompt": 6009, "completion": 6, "counted": 0, "failed": 0, "short": 1,
        }  # fmt: skip
