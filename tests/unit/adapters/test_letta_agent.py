"""A Letta agent: what the adapter decides itself, with a fake client; and the whole way on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.letta import KEY, SERVER, server
from adapters.letta_agent import ANSWERED, LABELS, AgentMemory, LettaAgent, cut_turns, read_lines
from harness.adapter import Ack, Message, Scope, Space, Usage
from harness.backend import client
from harness.backend.client import MemoryFault
from harness.backend.servers import Service
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.chat.wire import ChatRequest, Completion, UpstreamFault, read_text
from harness.gateway.gateway import Gateway
from tests.support.items import AT, SHOP, item
from tests.unit.adapters.conftest import REAL_LETTA, Words

TALK = (
    Message("user", "The port is 8080."),
    Message("assistant", "calls read: gate.toml"),
    Message("tool", "port = 8080"),
    Message("user", " \n"),
    Message("user", "Ship on Mondays."),
    Message("assistant", "Done."),
)


def test_each_message_of_the_user_is_a_turn_after_what_was_said_before_it() -> None:
    assert cut_turns(TALK) == [
        "user: The port is 8080.",
        "assistant: calls read: gate.toml\ntool: port = 8080\nuser: Ship on Mondays.",
        "assistant: Done.",
    ]
    assert cut_turns([Message("user", " ")]) == cut_turns([]) == []


def test_the_model_is_a_setting_and_the_row_says_that_it_extracts() -> None:
    adapter = LettaAgent()
    assert adapter.configured({"model": "small"}).model == "small" and adapter.model == "local"
    assert adapter.support["extracts"].level == adapter.support["observe"].level == "native"
    assert all(each.note for each in adapter.support.values() if each.level != "native")


# --- with a fake client -----------------------------------------------------------------------------------------------


class FakeLetta:
    """A client whose agents write what `writes` says, a text for each turn, to the end of their first block."""

    omit = None

    def __init__(self, writes: Sequence[str] = (), stop_reason: str = ANSWERED) -> None:
        self.writes, self.stop_reason = [*writes], stop_reason
        self.rows, self.done = list[Any](), list[str]()
        self.agents = SimpleNamespace(
            list=lambda tags, **_: SimpleNamespace(items=deepcopy([row for row in self.rows if {*tags} & {*row.tags}])),
            create=self.create,
            retrieve=lambda agent_id, **_: deepcopy(self.find(agent_id)),
            messages=SimpleNamespace(reset=lambda _: self.done.append("reset"), create=self.answer),
        )
        self.blocks = SimpleNamespace(update=self.update)

    def Letta(self, **_: Any) -> FakeLetta:
        return self

    def get(self, *_: Any, **__: Any) -> dict[str, str]:
        return {"version": SERVER}

    def create(self, *, metadata: dict[str, str], tags: list[str], **_: Any) -> Any:
        number = len(self.rows)
        blocks = [SimpleNamespace(id=f"block-{number}-{label}", value="") for label in LABELS]
        self.rows.append(SimpleNamespace(id=f"agent-{number}", metadata=metadata, tags=tags, blocks=blocks))
        return deepcopy(self.rows[-1])

    def find(self, agent_id: str) -> Any:
        return next(row for row in self.rows if row.id == agent_id)

    def answer(self, agent_id: str, messages: list[dict[str, str]]) -> Any:
        self.done += [message["content"] for message in messages]
        if self.writes:
            self.find(agent_id).blocks[0].value += f"\n{self.writes.pop(0)}"
        usage = SimpleNamespace(prompt_tokens=50, completion_tokens=4, step_count=2)
        return SimpleNamespace(usage=usage, stop_reason=SimpleNamespace(stop_reason=self.stop_reason))

    def update(self, block_id: str, value: str) -> None:
        next(block for row in self.rows for block in row.blocks if block.id == block_id).value = value


def open_fake(fake: FakeLetta, root: Path) -> AgentMemory:
    return AgentMemory(fake, Space(str(root), "", "", 0, 1, service="http://127.0.0.1:9"), "local")


def test_a_session_is_one_dialogue_of_turns_and_its_ids_are_those_of_the_lines_that_are_new(tmp_path: Path) -> None:
    fake = FakeLetta(["The port is 8080.", "Ship on Mondays.\n\nBy tag."])
    memory = open_fake(fake, tmp_path)
    ack = memory.observe(TALK, SHOP, AT, "monday")
    assert fake.done == ["reset", *cut_turns(TALK)]
    assert {hit.memory_id: hit.text for hit in memory.entries(SHOP)} == read_lines(fake.rows[0].blocks)
    assert [hit.text for hit in memory.entries(SHOP)] == ["The port is 8080.", "Ship on Mondays.", "By tag."]
    assert [hit.memory_id for hit in memory.entries(SHOP)] == [*ack.ids]
    assert memory.usage() == Usage(150, 12, 6)


def test_a_session_of_which_the_agent_wrote_nothing_is_not_captured(tmp_path: Path) -> None:
    memory = open_fake(FakeLetta(), tmp_path)
    assert memory.observe(TALK, SHOP, AT, "monday") == Ack(()) and memory.entries(SHOP) == []


def test_where_nothing_was_said_no_agent_is_made(tmp_path: Path) -> None:
    fake = FakeLetta()
    memory = open_fake(fake, tmp_path)
    assert memory.observe([Message("user", " ")], SHOP, AT, "monday") == Ack(())
    assert memory.remember([item(" ")]) == [Ack(())] and fake.rows == fake.done == []


@pytest.mark.parametrize("reason", ["llm_api_error", "max_steps", "error"])
def test_a_turn_that_ended_otherwise_is_told_and_its_tokens_are_counted(reason: str, tmp_path: Path) -> None:
    memory = open_fake(FakeLetta(["The port is 8080."], reason), tmp_path)
    with pytest.raises(RuntimeError, match=f"the agent's turn ended with {reason}, not with end_turn"):
        memory.observe(TALK, SHOP, AT, "monday")
    assert memory.usage() == Usage(50, 4, 2)


def test_a_deletion_takes_one_line_out_of_its_block_and_no_line_of_another_place(tmp_path: Path) -> None:
    memory = open_fake(FakeLetta(["The port is 8080.\nShip on Mondays.", "The port is 8080."]), tmp_path)
    ack, other = memory.remember([item("all"), item("all", Scope(repo="other"))])
    (name,) = (each for each in ack.ids if memory.get(SHOP, each).text == "The port is 8080.")  # type: ignore[union-attr]
    assert memory.forget(SHOP, [name, name, other.ids[0], ""]) == [True, False, False, False]
    assert [hit.text for hit in memory.entries(SHOP)] == ["Ship on Mondays."]
    assert [hit.text for hit in memory.entries(Scope(repo="other"))] == ["The port is 8080."]


# --- on a real server -------------------------------------------------------------------------------------------------


class Failing(StandIn):
    """Does not answer where it is told of an outage."""

    async def complete(self, request: ChatRequest) -> Completion:
        if "outage" in read_text(request.messages[-1]):
            raise UpstreamFault(503, "the model is away")
        return await super().complete(request)


@pytest.fixture(scope="module")
def letta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Gateway]]:
    with Gateway(EmbeddingCache(None, Words()), Failing()) as gateway:
        gateway.register(KEY)
        with Service(server(gateway.url), tmp_path_factory.mktemp("letta")) as service:
            yield service, gateway


@pytest.fixture
def opened(letta: tuple[Service, Gateway], tmp_path: Path) -> Iterator[Callable[[], client.RemoteMemory]]:
    """Opens an empty store in a child process, as a run does."""
    service, gateway = letta
    root = tmp_path / "store"
    root.mkdir()
    service.fresh(root)
    space = Space(str(root), gateway.url, service.key, Words.dims, seed=7, service=service.url)
    memories = list[client.RemoteMemory]()

    def open_() -> client.RemoteMemory:
        home = tmp_path / f"home-{len(memories)}"
        memories.append(client.open_memory("adapters.letta_agent:LettaAgent", space, home))
        return memories[-1]

    yield open_
    for memory in memories:
        memory.kill()


class TestLettaAgent:
    pytestmark = REAL_LETTA

    def test_its_own_tools_write_what_a_session_told_and_its_calls_are_those_that_the_gateway_saw(
        self, letta: tuple[Service, Gateway], opened: Callable[[], client.RemoteMemory]
    ) -> None:
        service, gateway = letta
        gateway.unregister(service.key)
        meter = gateway.register(service.key)
        memory = opened()
        ack = memory.observe(TALK, SHOP, AT, "monday")
        told = {hit.memory_id: hit.text for hit in memory.recall("anything", SHOP, 5, AT)}
        assert {*told.values()} >= {"The port is 8080.", "Ship on Mondays."} and {*ack.ids} == {*told}
        (count,) = meter.chat().values()
        assert memory.usage() == Usage(count.prompt, count.completion, count.calls) and count.calls > len(TALK) / 2
        assert not meter.counts(), "it asked for vectors"
        again = memory.observe(TALK[:1], SHOP, AT, "tuesday")
        assert again.ids == (), "the agent was not shown what its blocks hold"

    def test_a_model_that_does_not_answer_is_told_and_the_agent_goes_on(
        self, opened: Callable[[], client.RemoteMemory]
    ) -> None:
        memory = opened()
        with pytest.raises(MemoryFault) as fault:
            memory.observe([Message("user", "Remember the outage of Monday.")], SHOP, AT, "monday")
        assert fault.value.alive and fault.value.fault.kind == "raised"
        assert memory.entries(SHOP) == []
        (ack,) = memory.remember([item("The port is 8080.")])
        assert [hit.memory_id for hit in memory.entries(SHOP)] == [*ack.ids]
