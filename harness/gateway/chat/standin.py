"""A chat model for tests and first steps: no model, but declared rules. Its name says so wherever it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.gateway import tokens
from harness.gateway.chat import (
    standin_agent,
    standin_langmem,
    standin_letta,
    standin_mem0,
    standin_reader,
    standin_writer,
)
from harness.gateway.chat.normaliser import digest
from harness.gateway.chat.standin_agent import PUPIL, FindJob
from harness.gateway.chat.wire import ChatRequest, Completion, Refused, Whole, make_completion, read_text

__all__ = ["CHOOSER", "MODEL", "PERFORMER", "PUPIL", "STANDING_IN", "WRITER", "FindJob", "StandIn"]

MODEL = "coldwarm-extractor-1"
CHOOSER = "coldwarm-chooser-1"
PERFORMER = "coldwarm-performer-1"
WRITER = "coldwarm-writer-1"
STANDING_IN = {"choice": CHOOSER, "chat": PERFORMER, "chat-json": PERFORMER, "agent": PERFORMER}
"""Reader -> the name of the model that stands in for its own."""


class StandIn(Whole):
    """Splits what Mem0 2.2.1, Hindsight 1.1.0, LangMem 0.0.30 and an agent of Letta 0.16.8 are told into facts
    (`harness.gateway.chat.standin_mem0`, `harness.gateway.chat.standin_langmem`, `harness.gateway.chat.standin_letta`),
    takes one of some options (`harness.gateway.chat.standin_reader`), does jobs that it can look up
    (`harness.gateway.chat.standin_agent`), and writes down what a session told
    (`harness.gateway.chat.standin_writer`).

    Deterministic: the same request has the same answer on any day. What does not fit in the asked-for number of tokens
    is left out from the end on, so that the answer is whole JSON. Any other request is refused.
    """

    name = f"stand-in {MODEL}"

    def __init__(self, find_job: FindJob = lambda *_: None) -> None:
        self._find_job = find_job

    async def complete(self, request: ChatRequest) -> Completion:
        last_message = read_text(request.messages[-1])
        if (step := standin_agent.find_step(request.body, self._find_job)) is not None:
            return self._answer(request, PUPIL if request.model == PUPIL else PERFORMER, step)
        if (message := standin_langmem.answer(request.body) or standin_letta.answer(request.body)) is not None:
            return self._answer(request, MODEL, message)
        options, prompt = standin_reader.list_options(request.body), standin_mem0.read(last_message)
        if standin_writer.is_asked(request.body):
            model, text = WRITER, standin_writer.decide(last_message)
        elif options is not None:
            choice = standin_agent.find_choice(last_message, self._find_job) or standin_reader.decide(
                last_message, options
            )
            model, text = CHOOSER, json.dumps({"choice": choice}, ensure_ascii=False)
        elif prompt is not None:
            model, text = MODEL, _answer(standin_mem0.decide(prompt), request.limit)
        else:
            raise Refused(
                400,
                f"{MODEL} is a stand-in that understands the extraction prompts of Mem0 2.2.1, Hindsight 1.1.0 and "
                "LangMem 0.0.30, the agents of Letta 0.16.8, the questions of the choice reader, the jobs of chat "
                "reader and agent programs, and the transcripts of the chat writer only: for anything else forward to "
                "a model, or replay a recording",
                "messages",
                "stand_in_only_extracts",
            )
        return self._answer(request, model, {"role": "assistant", "content": text})

    @staticmethod
    def _answer(request: ChatRequest, model: str, message: Mapping[str, Any]) -> Completion:
        cost = sum(map(tokens.count, map(read_text, request.messages))), tokens.count(read_text(message))
        usage = {"prompt_tokens": cost[0], "completion_tokens": cost[1], "total_tokens": sum(cost)}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        return make_completion(f"stand-in-{digest(dict(request.body))[:16]}", model, message, finish, usage)

    async def models(self) -> list[str]:
        return [MODEL, CHOOSER, PERFORMER, PUPIL, WRITER]


def _answer(memories: list[standin_mem0.ExtractedMemory], limit: int | None) -> str:
    """The memories as the JSON that Mem0 reads, one a line."""
    rows = []
    left = None if limit is None else limit - tokens.count('{"memory": [\n]}')
    for number, memory in enumerate(memories):
        row = {"id": str(number), "text": memory.text, "attributed_to": memory.by}
        shown = json.dumps(
            row | ({"linked_memory_ids": list(memory.links)} if memory.links else {}), ensure_ascii=False
        )
        if left is not None:
            left -= tokens.count(f"{shown},\n")
            if left < 0:
                break
        rows.append(f"\n{shown}")
    return f'{{"memory": [{",".join(rows)}]}}'
