"""No secret of a recording is written, in whatever form it stands there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sessions import importing, secrets
from harness.sessions.secrets import Secrets, TooManyError
from tests.support.recorded_sessions import KEY, claude_line, lines, list_forms

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
KEYS = st.text(LETTERS, min_size=20, max_size=40).map("sk-{}".format)
WORDS = {
    "a variable": ("export DB_PASSWORD=correcthorse", "correcthorse"),
    "a setting": ("api_key: k3y0fth3port", "k3y0fth3port"),
    "a text in JSON": (json.dumps({"password": "correct horse battery"}), "correct horse battery"),
    "JSON in JSON": (json.dumps(json.dumps({"client_secret": "correct-horse"})), "correct-horse"),
    "an option": ("deploy --auth-token t0psecretword", "t0psecretword"),
    "a URL": ("postgres://mira:hunter2@db.example.com/port", "hunter2"),
    "curl": ("curl -u mira:hunter2 https://example.com", "hunter2"),
    "a header": ("Authorization: Basic bWlyYTpodW50ZXIy", "bWlyYTpodW50ZXIy"),
    "a token": ("token eyJhbGciOiJub25l.eyJzdWIiOiJtaXJh.c2ln", "eyJzdWIiOiJtaXJh"),
    "a private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIinvented\n-----END RSA PRIVATE KEY-----", "MIIinvented"),
    "half of a private key": ("-----BEGIN PRIVATE KEY-----\nMIIinvented", "MIIinvented"),
}
PLAIN = (
    "max_tokens=4096", "token = get_token(2)", "the secret of a good harbour: patience", "password: string",
    "key: value",
    "TOKEN=$(cat token.txt)", 'password = "${DB_PASSWORD}"', "primary_key=user_id", "https://example.com:8080/a@b",
    "commit 1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c", "tokenizer=tiktoken", "Deploy with scripts/ship, never by hand.",
)  # fmt: skip


def redact(*texts: str) -> list[str]:
    found = Secrets()
    for text in texts:
        found.learn(text)
    return [found.redact(text) for text in texts]


@given(KEYS, st.text(" \n\"'.,;:", max_size=3), st.booleans())
def test_a_key_is_found_in_every_form_alone(key: str, beside: str, around: bool) -> None:
    for form in list_forms(key):
        [clean] = redact(f"it is {form}{beside}" if around else form)
        assert form not in clean and "{canary:secret-1}" in clean, form


@given(KEYS)
def test_what_is_known_from_one_text_is_cut_out_of_all(key: str) -> None:
    texts = [f"x{form}y" for form in list_forms(key)] + [key]
    for form, clean in zip(list_forms(key), redact(*texts), strict=False):
        core = form[4:-4] if form != key else form
        assert core not in clean, form


@pytest.mark.parametrize("name", WORDS)
def test_a_secret_is_known_by_the_words_before_it(name: str) -> None:
    text, secret = WORDS[name]
    [clean] = redact(text)
    assert secret not in clean and "{canary:secret-1}" in clean


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == [text]


def test_the_same_secret_has_the_same_mark_and_a_mark_that_was_there_is_none() -> None:
    first, second, third = redact(f"use {KEY}", f"again {KEY} {{canary:secret-9}}", "api_key=0th3rk3yhere")
    assert first == "use {canary:secret-1}" and second == "again {canary:secret-1} { canary:secret-9}"
    assert third == "api_key={canary:secret-2}"


def test_no_file_of_an_import_holds_a_secret_in_any_form(tmp_path: Path) -> None:
    long = "x" * 30_000
    said = [claude_line("user", f"{form} {long} {form}", gitBranch=f"try-{KEY}") for form in list_forms(KEY)]
    for number, line in enumerate(said):
        (tmp_path / f"{number}.jsonl").write_text(lines([line | {"sessionId": str(number)}]))
    importing.run([tmp_path], tmp_path / "out")
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert [form for form in list_forms(KEY) if form[4:-4] in written] == []


def test_more_secrets_than_are_kept_end_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "MOST", 3)
    with pytest.raises(TooManyError, match="import fewer sessions at once"):
        redact(*(f"sk-{'k' * 20}{number}" for number in range(4)))
