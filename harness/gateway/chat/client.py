"""Chat calls of our own, to the run's gateway: counted and limited there, answered by whoever answers the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from harness.gateway.chat.wire import count_spent, message_of, parse

SECONDS = 330.0
"""More than the gateway gives an upstream from first to last: it is the gateway that says what went wrong."""
Ending = Literal["answered", "refused", "empty", "timed-out", "failed"]
"""refused: the model declined. empty: it said nothing. failed: no answer came, whoever is to blame for that."""


@dataclass(frozen=True)
class Reply:
    """What became of a call.

    Attributes:
        text: What the model said; of a refusal, its words.
        why: Why there is no answer, in one line or, of a replay that misses, with a diff; empty if there is one.
        model: The name under which it answered.
        prompt, completion: Tokens as the upstream counts them, else as we do.
    """

    ending: Ending
    text: str = ""
    why: str = ""
    model: str = ""
    prompt: int = 0
    completion: int = 0


class ChatClient:
    """Asks for whole answers under a key that the gateway knows. Never raises: what went wrong is in the reply."""

    def __init__(self, url: str, key: str) -> None:
        import httpx  # here, as it takes 0.1 s that no command line without a chat model should wait for

        self._client = httpx.Client(
            base_url=url + "/", headers={"authorization": f"Bearer {key}"}, timeout=SECONDS, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def complete(self, body: Mapping[str, Any]) -> Reply:
        import httpx

        content = json.dumps(body).encode()
        try:
            answer = self._client.post("chat/completions", content=content)
            found = answer.json()
        except httpx.TimeoutException:
            return Reply("timed-out", why=f"no answer within {SECONDS:g} s")
        except (httpx.HTTPError, ValueError) as error:
            return Reply("failed", why=f"the gateway did not answer ({type(error).__name__})")
        if answer.status_code != 200:
            return _fail(answer.status_code, found)
        message, spent = message_of(found), count_spent(parse(content), found)
        told: dict[str, Any] = {
            "model": str(found.get("model") or ""),
            "prompt": spent.prompt,
            "completion": spent.completion,
        }
        refusal, text = str(message.get("refusal") or ""), str(message.get("content") or "")
        if refusal:
            return Reply("refused", refusal, "the model refused", **told)
        if not text.strip():
            return Reply("empty", text, "the model answered nothing", **told)
        return Reply("answered", text, **told)


def _fail(status: int, body: Any) -> Reply:
    error = body.get("error") if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else {}
    why = f"{status}: {error.get('message') or 'no reason was given'}"
    if error.get("code") == "empty_answer":
        return Reply("empty", why=why)
    return Reply("timed-out" if status == 504 else "failed", why=why)
