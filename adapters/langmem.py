"""LangMem's manager over LangGraph's store: a chat model makes memories of what it is told, and may change others.

The manager gets the memories of the same scope that are nearest to the text, as many as LangMem's own store manager
shows it, and what it says is written to the store of `adapters/langgraph.py`. (That store manager writes by itself, and
has no place for a source or a date.)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self
from uuid import uuid4

from adapters._base import release, sdk
from adapters._capture import by_message
from adapters.langgraph import INSTALL, Langgraph, LanggraphMemory
from harness.adapter import Ack, Item, Memory, Message, Scope, Source, Space, Usage

SHOWN = 5
"""Memories that the manager sees: `query_limit` of LangMem's store manager unless told otherwise."""
NEEDED = INSTALL.format("langmem")


class LangmemMemory(LanggraphMemory):
    def __init__(self, langgraph: Any, base: Any, space: Space, model: str) -> None:
        super().__init__(langgraph, base, space)
        manager, openai = sdk("langmem", NEEDED), sdk("langchain_openai", NEEDED)
        self._schema, self._used = sdk("langmem.knowledge.extraction", NEEDED).Memory, Usage()
        self._http = sdk("httpx", NEEDED).Client(event_hooks={"response": [self._count_usage]})
        chat = openai.ChatOpenAI(model=model, base_url=space.gateway, api_key=space.key, http_client=self._http)
        self._manager = manager.create_memory_manager(chat)

    def _count_usage(self, response: Any) -> None:
        """Each call of the model is counted: the manager may ask again until what comes back fits its schema."""
        # httpx calls the hook before the body is read
        response.read()
        if response.status_code == 200:
            usage, before = response.json().get("usage") or {}, self._used
            self._used = Usage(
                before.prompt + usage.get("prompt_tokens", 0),
                before.completion + usage.get("completion_tokens", 0),
                before.calls + 1,
            )

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._tell(item, [("user", item.text)]) if item.text.strip() else Ack(()) for item in items]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        messages = [(each.role, each.content) for each in transcript if each.content.strip()]
        text = "\n".join(line.text for line in by_message(transcript))
        return self._tell(Item(text, scope, at, "episodic", Source(session=session)), messages) if messages else Ack(())

    def _tell(self, item: Item, messages: Sequence[tuple[str, str]]) -> Ack:
        near = self.store.search(self.name(item.scope), query=item.text, limit=SHOWN)
        known = {row.key: row.value["text"] for row in near}
        request = {
            "messages": [_message(at, *each) for at, each in enumerate(messages)],
            "existing": [(key, self._schema(content=text)) for key, text in known.items()],
        }
        made = [(each.id, each.content.content) for each in self._manager.invoke(request)]
        rows = changed(known, made)
        self._write([(key, replace(item, text=text)) for key, text in rows.items()])
        return Ack(tuple(rows))

    def usage(self) -> Usage:
        return self._used

    def close(self) -> None:
        self._http.close()
        super().close()


def _message(at: int, role: str, content: str) -> dict[str, str]:
    """What a tool says names its call, which the manager does not show to the model."""
    return {"role": role, "content": content, **({"tool_call_id": f"call-{at}"} if role == "tool" else {})}


def changed(known: Mapping[str, str], made: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What is to be written: the manager also gives back what it left as it was. An id that it thought of gets ours."""
    fresh = [(key, text) for key, text in made if text.strip() and known.get(key) != text]
    return {key if key in known else str(uuid4()): text for key, text in fresh}


class Langmem(Langgraph):
    name = "langmem"
    clients = ("Python",)
    settings: ClassVar[Sequence[str]] = ("model",)
    model = "local"
    imports = (*Langgraph.imports, "langmem", "langchain_openai")
    packages: Sequence[str] = ("langmem>=0.0.30,<0.1", *Langgraph.packages, "langchain-openai>=1,<2")
    native: ClassVar[tuple[str, ...]] = (
        *(each for each in Langgraph.native if each != "concurrent"), "observe", "extracts",
    )  # fmt: skip
    emulated: ClassVar = {
        **{name: how for name, how in Langgraph.emulated.items() if name != "observe"},
        "source": "echoed: that of the item, stored in the value of each memory made of it",
        "created": "echoed: the story time of the item; the store's own dates cannot be set",
    }

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.model = settings.get("model", self.model)
        return made

    def version(self) -> str:
        return release("langmem", NEEDED)

    def open(self, space: Space) -> Memory:
        base = sdk("langgraph.store.base", NEEDED)
        return LangmemMemory(sdk(self.module, NEEDED), base, space, self.model)
