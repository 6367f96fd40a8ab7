"""A chat model for tests and first steps: no model, but declared rules. Its name says so wherever it answers."""

from __future__ import annotations

import json

from harness.gateway import tokens
from harness.gateway.chat import choose, extract
from harness.gateway.chat.normal import digest
from harness.gateway.chat.wire import Asked, Completion, Refused, Whole, completion, text_of

MODEL = "coldwarm-extractor-1"
CHOOSER = "coldwarm-chooser-1"


class StandIn(Whole):
    """Splits what Mem0 2.2.1 is told into facts (`harness.gateway.chat.extract`), and takes one of some options
    (`harness.gateway.chat.choose`).

    Deterministic: the same request has the same answer on any day. What does not fit in the asked-for number of tokens
    is left out from the end on, so that the answer is whole JSON. Any other request is refused.
    """

    name = f"stand-in {MODEL}"

    async def complete(self, asked: Asked) -> Completion:
        said = text_of(asked.messages[-1])
        options, prompt = choose.list_options(asked.body), extract.read(said)
        if options is not None:
            model, text = CHOOSER, json.dumps({"choice": choose.decide(said, options)}, ensure_ascii=False)
        elif prompt is not None:
            model, text = MODEL, _answer(extract.decide(prompt), asked.limit)
        else:
            raise Refused(
                400,
                f"{MODEL} is a stand-in that understands the extraction prompt of Mem0 2.2.1 and the questions of the "
                "choice reader only: for anything else forward to a model, or replay a recording",
                "messages",
                "stand_in_only_extracts",
            )
        cost = sum(tokens.count(text_of(message)) for message in asked.messages), tokens.count(text)
        usage = {"prompt_tokens": cost[0], "completion_tokens": cost[1], "total_tokens": sum(cost)}
        name = f"stand-in-{digest(dict(asked.body))[:16]}"
        return completion(name, model, {"role": "assistant", "content": text}, "stop", usage)

    async def models(self) -> list[str]:
        return [MODEL, CHOOSER]


def _answer(memories: list[extract.ExtractedMemory], limit: int | None) -> str:
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
