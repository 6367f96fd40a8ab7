"""Chat calls of our own, to the run's gateway: counted and limited there, answered by whoever answers the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from harness.gateway.chat.normaliser import map_strings
from harness.gateway.chat.wire import EMPTY, count_spent, parse, read_message, read_text, read_usage

SECONDS = 86_430.0
"""More than the gateway ever gives an upstream (--call-seconds is at most a day): it says what went wrong."""
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
        cached: Of the prompt, what it says it read from a cache.
        unread: Of the prompt, what it does not count although it was sent.
        message: All of what it said, calls of tools too, as OpenAI writes it.
        finish: Why it stopped there, in OpenAI's words.
        passing: No answer came by the doing of the endpoint; another try may get one.
    """

    ending: Ending
    text: str = ""
    why: str = ""
    model: str = ""
    prompt: int = 0
    completion: int = 0
    message: Mapping[str, Any] = field(default_factory=dict, compare=False)
    cached: int = 0
    unread: int = 0
    finish: str = field(default="", compare=False)
    passing: bool = field(default=False, compare=False)


class ChatClient:
    """Asks for whole answers under a key that the gateway knows, through OpenAI's own client.

    It never raises: what went wrong is in the reply.
    """

    def __init__(self, url: str, key: str) -> None:
        import openai  # here, as it takes a second that no command line without a chat model should wait for

        # the gateway is on the loopback: no proxy of the environment may stand between
        plain = openai.DefaultHttpxClient(timeout=SECONDS, trust_env=False)
        # The gateway tries again, and knows what must not be tried again.
        self._client = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=SECONDS, http_client=plain)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def complete(self, body: Mapping[str, Any]) -> Reply:
        import openai

        try:
            answer = self._client.chat.completions.with_raw_response.create(**map_strings(dict(body), _make_sound))
            found = map_strings(json.loads(answer.http_response.content), _make_sound)
        except openai.APITimeoutError:
            return Reply("timed-out", why=f"no answer within {SECONDS:g} s", passing=True)
        except openai.APIStatusError as error:
            return _fail(error.status_code, error.response.content)
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            return Reply("failed", why=f"the gateway did not answer ({type(error).__name__})")
        message, spent = read_message(found), count_spent(parse(json.dumps(body).encode()), found)
        told: dict[str, Any] = {
            "model": str(found.get("model") or ""),
            "prompt": spent.prompt,
            "completion": spent.completion,
            "message": message,
            "cached": spent.cached,
            "unread": spent.unread,
            "finish": str(found["choices"][0].get("finish_reason") or "") if message else "",
        }
        # of the content alone: `read_text` of the message would add refusal and tool calls
        refusal, text = str(message.get("refusal") or ""), read_text({"content": message.get("content")})
        if refusal:
            return Reply("refused", refusal, "the model refused", **told)
        if not text.strip() and not message.get("tool_calls"):
            return Reply("empty", text, "the model answered nothing", **told)
        return Reply("answered", text, **told)


def _make_sound(text: str) -> str:
    """Half of a pair of surrogates cannot be written to a log, or sent on."""
    return text.encode("utf-8", "replace").decode()


def _fail(status: int, body: bytes) -> Reply:
    try:
        document = json.loads(body)
        error = document["error"]
    except (ValueError, KeyError, TypeError):
        document, error = {}, {}
    error = error if isinstance(error, dict) else {}
    why = f"{status}: {error.get('message') or 'no reason was given'}"
    passing = document.get("passing") is True
    why += "; --resume plays it again" if passing else ""
    prompt, completion = read_usage(document.get("usage")) or (0, 0)  # what fails can cost
    # the gateway answers 504 where the model was late
    ending: Ending = "empty" if error.get("code") == EMPTY else "timed-out" if status == 504 else "failed"
    return Reply(ending, why=why, prompt=prompt, completion=completion, passing=passing)
