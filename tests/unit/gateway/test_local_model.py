"""The checks of `make bench-local-model` against a fake upstream: a sound one passes, a faulty one is found out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_upstream import KEY, FakeUpstream, Handler, completion, pieces
from tests.support.fakes import FakeEmbedder

pytest.importorskip("openai")
from benchmarks import local_model
from benchmarks.local_model import NAME, Model

pytestmark = pytest.mark.backend
FACT = '{"subject": "port", "value": "8081"}'


@pytest.fixture
def model(upstream: FakeUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setattr(local_model, "Embedder", FakeEmbedder)
    return Model(upstream.url, KEY, tmp_path / "recordings")


def says(*texts: str | None, **more: Any) -> list[Any]:
    bodies = [completion(text, **({"model": NAME} | more)) for text in texts]
    return [lambda handler, body=body: handler.answer(200, body) for body in bodies]


def refuses(handler: Handler) -> None:
    handler.answer(401, {"error": {"message": "Invalid API Key"}})


def streams(*chunks: Any, done: bool = True) -> Any:
    return lambda handler: handler.stream(*chunks, done=done)


@pytest.mark.parametrize(
    ("check", "deeds", "seen"),
    [
        (local_model.wire, says("hello"), "smollm2-135m-instruct said 'hello'"),
        (local_model.keys, [refuses], "401 from the gateway (unknown key) and from the model (Invalid API Key)"),
        (local_model.json_mode, says("{}", FACT), "an object '{}', and one of a schema '{\"subject"),
        (local_model.stream, [streams(*pieces("one ", "two"))], "2 pieces, 16 tokens: 'one two'"),
        (local_model.metering, [], "ingest: 2 calls, 22 + 10 tokens; job: 1 calls, 11 + 5 tokens"),
        (local_model.budget, [], "7 calls, 112 tokens, then 429: the budget of the run"),
        (local_model.recording, [], "2 files for 2 questions,"),
        (
            local_model.scores,
            says(FACT, *["no JSON"] * 2, '{"value": "30 days"}', "[]"),
            "3 of 5 sentences came back as JSON, 2 with",
        ),
    ],
)
def test_a_sound_model_passes(model: Model, upstream: FakeUpstream, check: Any, deeds: Any, seen: str) -> None:
    upstream.deeds = list(deeds)
    assert seen in check(model)


def test_the_call_beyond_the_budget_does_not_reach_the_model(model: Model, upstream: FakeUpstream) -> None:
    assert local_model.budget(model).startswith("7 calls")
    assert len(upstream.requests) == 7


@pytest.mark.parametrize(
    ("check", "deeds", "seen"),
    [
        (local_model.wire, says("hello", model="another"), "another, "),
        (local_model.wire, says("hello", usage=None), "an answer without usage"),
        (local_model.wire, [lambda handler: handler.answer(500, {"error": {"message": "boom"}})], "failed (500): boom"),
        (local_model.keys, says("hello"), "it was answered"),
        (local_model.json_mode, says("{", FACT), "no JSON object: '{'"),
        (local_model.json_mode, says("{}", '{"subject": "port"}'), "not of the schema"),
        (local_model.stream, [streams(*pieces("one two"))], "1 pieces"),
        (local_model.stream, [streams(*pieces("one", "two", usage=False))], "metered, [] reported"),
        (
            local_model.metering,
            says(*"abc", usage={"prompt_tokens": -1, "completion_tokens": 1, "total_tokens": 0}),
            "",
        ),
        (
            local_model.budget,
            says(*"abcdefghij", usage={"prompt_tokens": 1, "completion_tokens": 1}),
            "it was answered",
        ),
        (local_model.recording, [*says("one"), streams(*pieces("one", end=False), done=False)], "ended its stream"),
    ],
)
def test_a_faulty_one_does_not(
    model: Model, upstream: FakeUpstream, capsys: pytest.CaptureFixture[str], check: Any, deeds: Any, seen: str
) -> None:
    upstream.deeds = list(deeds)
    assert not local_model.passes(check, model)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"FAILED  {check.__name__.replace('_', ' ')}: ")
    assert seen in line


@pytest.mark.slow
def test_what_was_recorded_is_replayed_without_the_model(model: Model, upstream: FakeUpstream) -> None:
    upstream.deeds = says(f"It is {local_model.DAY}.")
    assert not local_model.passes(local_model.replaying, model)  # nothing is recorded yet
    assert local_model.passes(local_model.recording, model)
    heard = len(upstream.requests)
    assert local_model.passes(local_model.replaying, model)
    assert len(upstream.requests) == heard
    for file in model.folder.iterdir():
        record = json.loads(file.read_text())
        file.write_text(json.dumps(record | {"answer": {"role": "assistant", "content": "changed"}}))
    assert not local_model.passes(local_model.replaying, model)


def test_a_model_that_is_not_installed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local_model, "FILE", tmp_path / "absent.gguf")
    assert local_model.main() == 3
    assert capsys.readouterr().err == "the model is not installed: make bench-local-model installs it\n"
