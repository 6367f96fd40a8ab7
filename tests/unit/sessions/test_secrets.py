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

from harness.secrets import detector, looks
from harness.secrets.detector import Secrets, TooManyError
from harness.sessions import importing
from tests.support.recorded_sessions import KEY, claude_line, lines, list_forms, write_claude

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
KEYS = st.text(LETTERS, min_size=20, max_size=40).map("sk-{}".format)
WORDS = {
    "words of a wallet": ('SEED_PHRASE="' + "harbour lane quay " * 4 + '"', "lane quay harbour"),
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
    "signing.keyPassword=%s", "SSHPASS=%s sshpass -e ssh mira@host", "VNCPASS=%s", "TOTP_SEED=%s1", '"mfa_seed": "%s"',
    "PresharedKey = %s1", "wallet.privkey = %s1", 'psk="%s"', '{"passwords": ["%s", "other"]}', "passwords:\n  - %s\n",
    '{"api_keys": {"prod": "%s-4f9a1"}}', '{"password": {"value": "%s"}}', '"backup_codes": ["%s-4f9a1"]',
    'psql "host=db user=mira password=%s dbname=harbour"', '{"kty": "RSA", "n": "AQAB", "d": "%s"}',
    # options of commands, attached and behind a space
    "deploy --password %s", "deploy --password=%s", "deploy -password %s", 'args: ["--password", "%s"]',
    "mysql -u root -p%s",
    "sshpass -p %s ssh mira@host", "sshpass -p%s ssh mira@host", "docker login -u mira -p %s example.com",
    "curl -u mira:%s example.com", "redis-cli -a %s ping", "echo %s | docker login --password-stdin", ("echo "
    "'%s' | sudo -S ls"),
    "echo 'mira:%s' | chpasswd", "openssl enc -pass pass:%s", ("kubectl create secret generic x "
    "--from-literal=password=%s"),
    "redis-server --requirepass %s", "keytool -storepass %s -list", "helm upgrade x --set auth.password=%s --wait",
    "unzip -P %s a.zip", "7z x -p%s a.7z", "CREATE USER mira IDENTIFIED BY '%s'", ("CREATE USER mira WITH "
    "PASSWORD '%s'"),
    "requests.get(url, auth=('mira', '%s'))",
    # headers and links
    "Cookie: sid=%s; theme=dark", "Set-Cookie: sid=%s; Path=/", "curl -b 'sid=%s' example.com", "X-Api-Key: %s",
    "PRIVATE-TOKEN: %s", "Authorization: %s", "Authorization: Token %s", "https://mira:%s@example.com/x",
    "redis://:%s@cache:6379/0", "postgres://mira:%s/x@1@db:5432/x",
    "mira:%s@tcp(127.0.0.1:3306)/harbour", "https://example.com/?x=1&access_token=%s1",
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
    'token = request.headers["X-Token2"]', 'key = os.environ["API_KEY_V2"]',
    "re_compile_pattern_for_parsing2024 and fw_version", "the key_id and sk_learn",
    "cache_key_" + "0123456789abcdef" * 2,
    "BYPASS=harbour", "PASSWORD_RESET_TIMEOUT=259200", "PASS_RATE=0.95", "pin: 1.2.3", "PASSWORD_HASHER=argon2id",
    "auth_mode: scram-sha-256", "auth: oauth2", "existingSecret: harbour-postgres-15", "secret_backend: vault2",
    'access_token_lifetime = "15m"', "credentials: 'same-origin'", "docker build --secret id=npmrc .", "token: Token2",
    "jwt: HS512", "curl -u http://proxy2:3128", "auth-service: harbour-auth-v2", "pip pin: requests==2.31.0",
    "https://github.com/org/webhook-relay/blob/main/pkg/server2/handler_registry_v2.go",
    "https://docs.example.com/webhooks/2024-edition/introduction_to_v2_hooks",
    "random_seed=4217", "seed: winter2024", 'tokens = ["Hello", "world2024"]', "secrets:\n  - npm_token2",
    "'password' => ['required', 'min:8']", '"password": {"type": "string", "minLength": 8}', "postgres:15@sha256",
    'tokens: {"grey": "#aa0099ff"}', "privkey.pem", '"codes": ["E101", "E202"]',
    "numbers 10, 20, 30, 40, 50, 60, 70, 80, 90", "https://example.com/a?page=2&sort=name", "tokens: 57,463; 78,340",
    "https://example.com/harbour/webhook-relay/blob/main/README.md", "test_OAuthClientHandlesTokens passes",
    "sha512-abcDEF123abcDEF123abcDEF123abcDEF123==", "toolu_01AbcDEF123abcDEF1234xyz answered",
)  # fmt: skip
PROSE_WORDS = (
    "the a password rule token is secret for key harbour passes and credentials must never be written down "
    "authors of "
    "cookies sign with care pattern path login session It We has 12 rules"
).split()
RANDOM = "Q7x4" + "Vb9Tm2Lc8Rk5Zw3Hd6" * 4
HEX = "4f9a1c7be2d80563" * 4
BASED = "Q7x4Vb9Tm2Lc8Rk5Zw3Hd6Q7x4Vb9Tm2Lc8Rk5Zw3Hd6+abcd/efgh0123456789"
TOKENS = (
    "re_{RANDOM:.8}_{RANDOM:.24}",
    "fm2_{RANDOM:.20}/{RANDOM:.20}+{RANDOM:.20}==",
    "sk_{HEX:.48}",
    "key_{HEX}",
    "eyJ{RANDOM:.30}.{RANDOM:.40}.{RANDOM:.16}.{RANDOM:.40}.{RANDOM:.22}",
    "AQ.Ab8{RANDOM:.40}",
    "access_token$production${RANDOM:.16}${HEX:.32}",
    "{{SSHA}}{BASED:.32}",
    "glpat-{RANDOM:.27}.01.{RANDOM:.9}",
    "gAAAAAB{RANDOM:.70}=",
    "dp.st.prd.{RANDOM:.43}",
    "scrypt:32768:8:1${RANDOM:.16}${HEX}",
    "$ANSIBLE_VAULT;1.1;AES256\n{HEX}\n{HEX}",
    "zpka_{HEX:.32}_{HEX:.8}",
    "SCRAM-SHA-256$4096:{BASED:.24}$x:y",
    "b3BlbnNzaC1rZXk{RANDOM:.40}\n{BASED}\n{RANDOM:.20}=",
)
"""Tokens that their look tells, made of these."""
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


@pytest.mark.slow
@given(KEYS, st.text(" \n\"'.,;:", max_size=3), st.booleans())
def test_a_key_is_found_in_every_form_alone(key: str, beside: str, around: bool) -> None:
    for form in list_forms(key):
        [clean] = redact(f"it is {form}{beside}" if around else form)
        assert form not in clean and "{canary:secret-1}" in clean, form


@pytest.mark.slow
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


@pytest.mark.slow
@given(st.sampled_from([*looks._OWN, *looks._WORDS]), st.text(LETTERS, min_size=24, max_size=60))
def test_a_token_is_known_by_its_head(head: str, rest: str) -> None:
    token = f"{head}{rest[:12]}7{rest[12:]}"
    assert redact(f"it is {token}.") == ["it is {canary:secret-1}."]


@pytest.mark.parametrize("form", TOKENS)
def test_a_token_with_breaks_is_cut_out_whole(form: str) -> None:
    token = form.format(RANDOM=RANDOM, HEX=HEX, BASED=BASED)
    [clean] = redact(f"it is {token} now")
    assert clean == "it is {canary:secret-1} now"


@pytest.mark.parametrize("before", ["", "+", "12\t", "> "])
def test_the_last_lines_of_a_private_key_are_cut_out(before: str) -> None:
    kind = "RSA PRIVATE KEY"
    rows = [BASED, BASED[::-1], f"{BASED[:30]}==", f"-----END {kind}-----", "and so on"]
    [clean] = redact("".join(f"{before}{row}\n" for row in rows))
    assert not any(row[:20] in clean for row in rows[:3]) and "and so on" in clean


@pytest.mark.slow
@pytest.mark.parametrize("begin", ["-----BEGIN RSA PRIVATE KEY-----\n", ""])
def test_a_private_key_of_many_lines_is_cut_out_at_once(begin: str) -> None:
    """A line that may be read in several ways doubled the time of those after it: one of nine never ended."""
    rows = [f"{BASED[at:]}{BASED[:at]}" for at in range(50)]
    key = begin + "\n".join([*rows, f"{BASED[:30]}==", "-----END RSA PRIVATE KEY-----"])
    for text in (key, json.dumps({"content": key}), f"and this one:\n{key}\nin the vault", key.replace("\n", "\n+ ")):
        [clean] = redact(text)
        assert not any(row[:40] in clean for row in rows), text


@pytest.mark.parametrize(
    "said",
    [
        '["mysql", "-uroot", "-p{SECRET}", "harbour"]', "['curl', '-u', 'mira:{SECRET}', 'https://example.com']",
        '["sshpass", "-p", "{SECRET}", "ssh", "mira@host"]', 'CMD ["redis-cli",\n  "-a", "{SECRET}"]',
    ],
)  # fmt: skip
def test_the_words_of_a_command_may_be_a_list(said: str) -> None:
    for text in (said.format(SECRET=SECRET), json.dumps({"input": said.format(SECRET=SECRET)})):
        assert SECRET not in redact(text)[0], text


@pytest.mark.parametrize("between", ["\u200b", "\ufeff", '" + "', "' +'", " │\n│ ", "      ┃\n┃ "])
def test_nothing_within_hides_a_key(between: str) -> None:
    key = f"ghp_{RANDOM:.36}"
    [clean] = redact(f'say │ "{key[:16]}{between}{key[16:]}" │ now')
    assert "{canary:secret-" in clean and key[16:] not in clean and key[:16] not in clean


def test_a_command_that_is_encoded_as_windows_does_it_is_read() -> None:
    said = base64.b64encode(f'$x = 1; $password = "{SECRET}"'.encode("utf-16-le")).decode()
    assert redact(f"powershell -enc {said}") == ["powershell -enc {canary:secret-1}"]


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


@pytest.mark.parametrize("name", ["harbour-postgres-15", "vault2", "0.95", "quay_lane_v3", "playwright2"])
def test_a_plain_name_that_is_a_secret_by_its_place_stays_elsewhere(name: str) -> None:
    told, other = redact(f"DB_PASSWORD={name}", f"the job {name} ran")
    assert told in (f"DB_PASSWORD={name}", "DB_PASSWORD={canary:secret-1}") and other == f"the job {name} ran"


@pytest.mark.parametrize("secret", [SECRET, "Sw0rdf1sh!", "k3y0fth3port"])
def test_any_other_secret_by_its_place_is_cut_out_elsewhere(secret: str) -> None:
    assert redact(f"DB_PASSWORD={secret}", f"say {secret}")[1] == "say {canary:secret-1}"


def test_the_same_secret_has_the_same_mark_and_a_mark_that_was_there_is_none() -> None:
    first, second, third = redact(f"use {KEY}", f"again {KEY} {{canary:secret-9}}", "api_key=0th3rk3yhere")
    assert first == "use {canary:secret-1}" and second == "again {canary:secret-1} { canary:secret-9}"
    assert third == "api_key={canary:secret-2}"


def test_what_is_found_within_a_longer_secret_is_no_secret_of_its_own() -> None:
    """Two heads of tokens are one, as in `sk_live_`."""
    secrets, text = Secrets(), "export STRIPE_KEY=sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc and PIN: 4711"
    secrets.learn(text)
    assert secrets.redact(text) == "export STRIPE_KEY={canary:secret-1} and PIN: {canary:secret-2}"
    assert len(secrets) == secrets.cut == 2


@pytest.mark.slow
def test_no_file_of_an_import_holds_a_secret_in_any_form(tmp_path: Path) -> None:
    long = "x" * 30_000
    said = [claude_line("user", f"{form} {long} {form}", gitBranch=f"try-{KEY}") for form in list_forms(KEY)]
    for number, line in enumerate(said):
        (tmp_path / f"{number}.jsonl").write_text(lines([line | {"sessionId": str(number)}]))
    importing.run([tmp_path], tmp_path / "out")
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert [form for form in list_forms(KEY) if form[4:-4] in written] == []


def test_no_name_of_a_file_that_is_listed_holds_a_secret(tmp_path: Path) -> None:
    write_claude(tmp_path)
    (tmp_path / f"link-{KEY}.json").symlink_to("claude.jsonl")
    (tmp_path / f"{KEY}.jsonl").write_text("{}")
    (tmp_path / KEY).mkdir()
    (tmp_path / KEY / "notes.md").write_text("No session.")
    importing.run([tmp_path, tmp_path / KEY], tmp_path / "out")
    importing.run([tmp_path / "claude.jsonl"], tmp_path / KEY / "out")
    importing.run([tmp_path], tmp_path / "again")
    for out in ("out", "again"):
        told = (tmp_path / out / "read.json").read_text()
        assert KEY not in told and "{canary:secret-1}" in told


def test_more_secrets_than_are_kept_end_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector, "MOST", 3)
    with pytest.raises(TooManyError, match="import fewer sessions at once"):
        redact(*(f"sk-{'k' * 20}{number}" for number in range(4)))
