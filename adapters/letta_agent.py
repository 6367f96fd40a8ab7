"""An agent of Letta's V1 server for each scope: it answers what it is told, and its memory tools write what is kept.

It has the tools that the server gives a new agent: `memory_insert` and `memory_replace`, which edit the blocks of its
prompt, and `conversation_search`. A line of a block is a memory. Each item and each session is a dialogue of its own,
begun by a reset: of an earlier one the agent is shown what it kept.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar, Self

from adapters._base import sdk
from adapters.letta import COMPACT, PAGE, Letta, Store, archive_name, scope_of
from adapters.letta_blocks import LettaBlocks
from harness.adapter import Ack, Hit, Item, Memory, Message, Scope, Space, Usage, applies

LABELS = ("human", "persona")
"""The blocks of Letta's own examples, empty at first."""
WINDOW = 128_000
"""Tokens of context: what Letta assumes of a model that it does not know."""
ANSWERED = "end_turn"


def cut_turns(transcript: Sequence[Message]) -> list[str]:
    """One for each message of the user, with what others said before it, and one for what was said after the last."""
    turns, lines = list[str](), list[str]()
    for message in transcript:
        if message.content.strip():
            lines.append(f"{message.role}: {message.content.strip()}")
            if message.role == "user":
                turns.append("\n".join(lines))
                lines = []
    return [*turns, "\n".join(lines)] if lines else turns


def name_line(block_id: str, line: str) -> str:
    """Equal lines of one block are one memory."""
    return sha256(f"{block_id}\n{line}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_lines(blocks: Iterable[Any]) -> dict[str, str]:
    return {name_line(block.id, line): line for block in blocks for line in block.value.split("\n") if line.strip()}


def read_hits(agents: Iterable[tuple[Scope, Any]]) -> list[Hit]:
    return [Hit(*each, scope=scope) for scope, agent in agents for each in read_lines(agent.blocks).items()]


class AgentMemory(Store):
    def __init__(self, sdk: Any, space: Space, model: str) -> None:
        super().__init__(sdk, space)
        self._model, self._used = model, Usage()

    def _list_tagged(self, tag: str) -> list[tuple[Scope, Any]]:
        """With their blocks. A race between two processes gives a scope two agents."""
        rows = self.paged(
            lambda last: self.client.agents.list(tags=[tag], include=["agent.blocks"], limit=PAGE, after=last).items
        )
        return [(scope_of(row.metadata["scope"]), row) for row in rows]

    def _list_of(self, scope: Scope) -> list[tuple[Scope, Any]]:
        return self._list_tagged(self.prefix + archive_name(scope))

    def _list_applying(self, place: Scope) -> list[tuple[Scope, Any]]:
        return [(scope, row) for scope, row in self._list_tagged(self.prefix) if applies(scope, place)]

    def _create(self, scope: Scope) -> Any:
        return self.client.agents.create(
            tags=[self.prefix, self.prefix + archive_name(scope)],
            metadata={"scope": archive_name(scope)},
            memory_blocks=[{"label": label, "value": ""} for label in LABELS],
            llm_config={
                "model": self._model,
                "model_endpoint_type": "openai",
                "model_endpoint": self.space.gateway,
                "context_window": WINDOW,
            },
        )

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._tell(item.scope, [item.text]) if item.text.strip() else Ack(()) for item in items]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        turns = cut_turns(transcript)
        return self._tell(scope, turns) if turns else Ack(())

    def _tell(self, scope: Scope, turns: Sequence[str]) -> Ack:
        """The ids of the lines that are new."""
        agent = next((row for _, row in self._list_of(scope)), None) or self._create(scope)
        self.client.agents.messages.reset(agent.id)
        for turn in turns:
            self._take_turn(agent.id, turn)
        before, now = read_lines(agent.blocks), self.client.agents.retrieve(agent.id, include=["agent.blocks"])
        return Ack(tuple(name for name in read_lines(now.blocks) if name not in before))

    def _take_turn(self, agent_id: str, text: str) -> None:
        answer = self.client.agents.messages.create(agent_id, messages=[{"role": "user", "content": text}])
        usage, before = answer.usage, self._used
        self._used = Usage(
            before.prompt + (usage.prompt_tokens or 0),
            before.completion + (usage.completion_tokens or 0),
            before.calls + (usage.step_count or 0),
        )
        if (reason := answer.stop_reason.stop_reason) != ANSWERED:
            raise RuntimeError(f"the agent's turn ended with {reason}, not with {ANSWERED}")

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return read_hits(self._list_applying(scope))

    def entries(self, scope: Scope) -> list[Hit]:
        return read_hits(self._list_of(scope))

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return next((hit for hit in self.recall("", scope, 0, "") if hit.memory_id == memory_id), None)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self._cut(scope, name) for name in memory_ids]

    def _cut(self, scope: Scope, memory_id: str) -> bool:
        for _, agent in self._list_applying(scope):
            for block in agent.blocks:
                lines = block.value.split("\n")
                kept = [line for line in lines if name_line(block.id, line) != memory_id]
                if kept != lines:
                    self.client.blocks.update(block.id, value="\n".join(kept))
                    return True
        return False

    def forget_scope(self, scope: Scope) -> None:
        for _, agent in self._list_of(scope):
            self.client.agents.delete(agent.id)
            # an agent leaves its blocks behind
            for block in agent.blocks:
                self.client.blocks.delete(block.id)

    def usage(self) -> Usage:
        """As the answers to turns tell it."""
        return self._used


class LettaAgent(Letta):
    name = "letta_agent"
    settings: ClassVar[Sequence[str]] = ("model",)
    model = "local"
    embeds = False
    native: ClassVar[tuple[str, ...]] = ("observe", "entries", "persistent", "extracts")
    emulated: ClassVar = {
        **COMPACT,
        "get": "looked for among the lines of the blocks that apply",
        "supersede": "the agent is told the new text, then the lines of the old one are cut out; not atomic",
        "forget": "its line is cut out of the block, which is written anew",
        "forget_scope": "the agent is deleted, then each of its blocks",
        "usage": "as the answers to turns tell it: without calls for summaries, and of a turn that failed nothing",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "an agent for each scope; which of them apply is decided here",
        ),
    }
    unsupported: ClassVar = {
        **{name: LettaBlocks.unsupported[name] for name in ("history", "snapshot", "restore", "ranked", "abstains")},
        **dict.fromkeys(("source", "created"), "a line of a block has no field for it"),
        "update": "a line of a block has no id: what takes its place has another one, which is superseding",
        "deprecate": "a line of a block has no field for an end",
        "expiry": "nothing reads a date",
        "multi_process": "a deletion reads a block and writes it anew, without a lock",
    }

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.model = settings.get("model", self.model)
        return made

    def open(self, space: Space) -> Memory:
        return AgentMemory(sdk("letta_client", "coldwarm[letta]"), space, self.model)
