"""No secret of a recording is written, in whatever form it stands there."""

# ruff: noqa: SIM905  lists of words, as a person reads them

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sessions import importing, looks, secrets
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
    "commit 1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c", "tokenizer=tiktoken", ("Deploy with scripts/ship, never "
    "by hand."),
)  # fmt: skip


SECRET = "correct-horse-battery-staple"
PLACES = (
    # settings, in every notation
    "GITHUB_PAT=%s", "DB_PASS=%s", "export PGPASSWORD=%s", "password: %s", "db:\n  password: %s # old",
    "password := '%s'",
    'password: str = "%s"', "password: |\n  %s\n", 'password = """\n%s\n"""', ":password => '%s'",
    "setenv DB_PASSWORD %s",
    "ENV DB_PASSWORD %s", "define('DB_PASSWORD', '%s');", 'os.environ["DB_PASSWORD"] = "%s"', "db.password=%s",
    "<password>%s</password>", '<add key="DbPassword" value="%s" />', '<entry key="password">%s</entry>',
    "- name: DB_PASSWORD\n  value: %s", '{"name": "DB_PASSWORD", "value": "%s"}', ("Server=db;User "
    "Id=mira;Password=%s;X=yes"),
    "machine git.example.com login mira password %s", "machine git.example.com\n  login mira\n  password %s\n",
    "db.example.com:5432:harbour:mira:%s", "//registry.example.com/:_authToken=%s", "12\tpassword: %s", ("+  "
    "password: %s"),
    "**Password:** %s", "| password | %s |",
    # options of commands, attached and behind a space
    "deploy --password %s", "deploy --password=%s", "deploy -password %s", 'args: ["--password", "%s"]',
    "mysql -u root -p%s",
    "sshpass -p %s ssh mira@host", "sshpass -p%s ssh mira@host", "docker login -u mira -p %s example.com",
    "curl -u mira:%s example.com", "redis-cli -a %s ping", "echo %s | docker login --password-stdin", ("echo "
    "'%s' | sudo -S ls"),
    "echo 'mira:%s' | chpasswd", "openssl enc -pass pass:%s", ("kubectl create secret generic x "
    "--from-literal=password=%s"),
    "unzip -P %s a.zip", "7z x -p%s a.7z", "CREATE USER mira IDENTIFIED BY '%s'", ("CREATE USER mira WITH "
    "PASSWORD '%s'"),
    "requests.get(url, auth=('mira', '%s'))",
    # headers and links
    "Cookie: sid=%s; theme=dark", "Set-Cookie: sid=%s; Path=/", "curl -b 'sid=%s' example.com", "X-Api-Key: %s",
    "PRIVATE-TOKEN: %s", "Authorization: %s", "Authorization: Token %s", "https://mira:%s@example.com/x",
    "redis://:%s@cache:6379/0", "https://example.com/?x=1&access_token=%s1",
)  # fmt: skip
PROSE = (
    "The password rule is: at least twelve letters.", "Ask for the token before you deploy.", ("Passwords must "
    "not be reused."),
    "password policy: at least 12 characters", "Set the option --password to nothing.", ("The --token option is "
    "required."),
    "login page: password field is empty", "Cookies are nice: a chocolate one is best.", "12 passed: it was easy.",
    "The secret: state-of-the-art tools everywhere", "The deploy key: see docs/keys.md", ("She is the author: "
    "Mira Holm."),
    "Bearer tokens are checked.", "Basic authentication is off.", "a password: it must be long", "secret santa: Friday",
    "password: Optional[str]", "api_key=api_key", "token: auth_token", "password = request.form['password']",
    "secret = config.client_secret", "sort_key: name", "secretName: db-credentials", "SECRET_FILE=/run/secrets/db",
    "token_url: https://example.com/token", "token: ${{ secrets.GITHUB_TOKEN }}", "this.password = password;",
    "docker run -p 8080:80 nginx", "ssh -p 2222 mira@host", "mkdir -p build/output", "git log --pretty=format:%h",
    "numbers 10, 20, 30, 40, 50, 60, 70, 80, 90", "https://example.com/a?page=2&sort=name", "tokens: 57,463; 78,340",
    "https://example.com/harbour/webhook-relay/blob/main/README.md", "test_OAuthClientHandlesTokens passes",
    "sha512-abcDEF123abcDEF123abcDEF123abcDEF123==", "toolu_01AbcDEF123abcDEF1234xyz answered",
)  # fmt: skip
PROSE_WORDS = (
    "the a password rule token is secret for key harbour passes and credentials must never be written down "
    "authors of "
    "cookies sign with care pattern path login session It We has 12 rules"
).split()
WRAPPED: dict[str, Callable[[bytes], str]] = {
    "base64 at 64": lambda data: wrap(base64.b64encode(data).decode(), 64),
    "base64 at 76": lambda data: wrap(base64.b64encode(data).decode(), 76),
    "base64 for URLs": lambda data: wrap(base64.urlsafe_b64encode(data).decode().rstrip("="), 76),
    "hex": lambda data: wrap(data.hex(), 64),
    "hex at an odd width": lambda data: wrap(data.hex().upper(), 61),
    "hex of bytes": lambda data: wrap(data.hex(" "), 48),
    "a dump": lambda data: dump(data, lambda piece: piece.hex(" ", 2)),
    "a dump of bytes": lambda data: dump(data, lambda piece: piece.hex(" ")),
    "percents": lambda data: wrap("".join(f"%{byte:02x}" for byte in data), 64),
    "escapes": lambda data: wrap("".join(f"\\x{byte:02x}" for byte in data), 76),
    "numbers": lambda data: json.dumps([*data], indent=1),
}
AROUND: dict[str, Callable[[str], str]] = {
    "bare": str,
    "between prose": lambda text: f"Here it is\n{text}\nand so on.",
    "JSON": lambda text: json.dumps({"content": text}),
    "indented": lambda text: textwrap.indent(text, "    "),
    "listed": lambda text: "\n".join(f"{at:6}\t{line}" for at, line in enumerate(text.split("\n"), 1)),
}


def wrap(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def dump(data: bytes, spell: Callable[[bytes], str]) -> str:
    """As xxd and hexdump write it: an address, bytes, and what of them can be read."""
    pieces = [(at, data[at : at + 16]) for at in range(0, len(data), 16)]
    return "\n".join(f"{at:08x}: {spell(each)}  {each.decode()}" for at, each in pieces)


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


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_known_by_its_place_in_every_notation(place: str) -> None:
    said = place % SECRET
    for text in (said, json.dumps({"command": said}), json.dumps(json.dumps([said]))):
        assert SECRET not in redact(text)[0], text


@given(st.sampled_from([*looks._OWN, *looks._WORDS]), st.text(LETTERS, min_size=24, max_size=60))
def test_a_token_is_known_by_its_head(head: str, rest: str) -> None:
    token = f"{head}{rest[:12]}7{rest[12:]}"
    assert redact(f"it is {token}.") == ["it is {canary:secret-1}."]


@pytest.mark.parametrize(
    "link",
    [
        "https://hooks.slack.com/services/T0000/B0000/", "https://discord.com/api/webhooks/12345/",
        "https://harbour.webhook.office.com/webhookb2/", "https://hook.eu1.make.com/", "https://example.com/a?sig=",
        "https://example.com/x?X-Amz-Signature=",
    ],
)  # fmt: skip
def test_a_link_that_lets_in_is_a_secret(link: str) -> None:
    assert "4f9a1c7be2d80563" not in redact(f"post to {link}4f9a1c7be2d80563 now")[0]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", WRAPPED)
def test_no_break_of_a_line_hides_a_secret(form: str, around: str) -> None:
    key, others = f"{KEY}QzX", "the berth opens at nine and closes when the last ferry has left the harbour "
    for before in (0, 31, 52):
        text = AROUND[around](
            WRAPPED[form]((others * 2)[:before].encode() + b" " + key.encode() + b" " + others.encode())
        )
        [clean] = redact(text)
        assert "{canary:" in clean, text
        assert WRAPPED[form](key.encode())[:12] not in clean, text


@given(st.sampled_from([*WRAPPED]), st.sampled_from([*AROUND]), st.integers(0, 200), KEYS)
@settings(max_examples=20)
def test_a_secret_at_any_place_of_any_wrapping_is_found(form: str, around: str, before: int, key: str) -> None:
    data = ("a word " * 40)[:before].encode() + b" " + key.encode() + b" and more of these words"
    [clean] = redact(AROUND[around](WRAPPED[form](data)))
    assert "{canary:" in clean


@pytest.mark.parametrize("text", PROSE)
def test_prose_and_code_that_speak_of_secrets_stay(text: str) -> None:
    assert redact(text, f"{text}\n{text}\n") == [text, f"{text}\n{text}\n"]


@given(st.lists(st.sampled_from(PROSE_WORDS), min_size=1, max_size=40), st.sampled_from([" ", "\n", ", ", ". "]))
def test_words_stay(words: list[str], between: str) -> None:
    text = between.join(words)
    assert redact(text) == [text]


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
