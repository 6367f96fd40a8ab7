"""Secrets are looked for in time in proportion to a text's length, whatever it repeats."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from harness.secrets.detector import Secrets
from tests.support.nights import leave_to_night

SIZE = 1 << 14
SECONDS = 0.6
"""What takes less for so many characters takes some seconds for the longest text of a session."""
ATTEMPTS = 4
"""A busy machine slows some attempts; what grows with the square of the length is slow in every one."""
ATOMS = (
    " ", "\t", "\n", "a", "A", "0a", "abcd", "a ", "a:", "a=", "a=b;", "a.", "a/", "a@", "(", "[", '["', "{", '{"',
    "<", "</", "<a>", "<password>", "-", "--", "-p ", "-u a:", "://", "a://", "https://a:", "https://a/hook/",
    "?sig=", "%41", "\\", "\\n", "\\x41", "\\u0041", '"', "'", "`", '"a"', '"a": ', '"a" + ', "password", "password ",
    "password: ", "password=", '"password": "', "passwords: [", "passwords:\n- a\n", "token|", "api key ", "cookie: ",
    "cookie: a=b; ", "Cookie: a=", "curl -b ", "curl -u ", "authorization: ", "basic ", "bearer a", "set-cookie: ",
    "machine a login ", "login a password ", "seed phrase ", "mysql -p", "docker ", "echo ", "echo a | ",
    "set password ", "identified by ", "auth('a', '", "cookies = {", "a:1:", "sk-", "ghp_", "eyJ", "eyJabcdefgh.",
    "xoxb-", "AKIA", "abc_", "$1$", "{SSHA}", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n",
    f"{'A' * 64}\n", "PuTTY-User-Key-File-", "name: a value: ", "value", "| a ", "|---", "+a\n", "1\ta\n", "12, ",
    "user,password\na,b\n", "| user | password |\n", "user\tpassword\n", "password is ", "password\n", "пароль: ",
    "密码", "key: value\n", "passwords:\n  a: b\n", "echo a | sudo", "curl -u a -p ", "openssl enc -k ", "net use ",
    "--value a ", "insert into a (password) values ", "('a', 'b'), ", "kind: Secret\ndata:\n  a: b\n",
    "data:\n  a: b\n", "a\ninput_value='", "connect(a, 'b', ", "password = 'a' -> ", "password.a", ".password(",
    "'a' == ", "codes: ", "codes: a1b2 ", "abcd-ef12 ", "1. lane ", "login a/", "user a on >", "WIFI:P:a",
    "$ANSIBLE_VAULT;1.1;A\n", "\x1b[0m", "\\u0070", "'a' . ", "sess=a", "name=password\n\n", "USER a\nPASS ",
    "the key ", "api key ", "https://a/reset/", "arn:aws:", "a.py:12: password", "variable \"a\" {", "<td>a</td>",
    "{Password:a ", "assword\nsend ", "password from a to ", "0x41, ", "00000000: 4141  AA\n", "\u200b", "a,b\n",
    "the password is ",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """A collection walks the heap of all tests that ran before: that is not the detector's time."""
    gc.disable()
    yield
    gc.enable()


def _slow(text: str) -> bool:
    """Whether the fastest of some attempts takes too long, and eight times as long as that with a quarter of the text:
    in proportion it would be four times, with the square sixteen, so that a busy machine may double either."""
    whole = quarter = float("inf")
    for _ in range(ATTEMPTS):
        whole = min(whole, _time(text))
        if whole <= SECONDS:
            return False
        quarter = min(quarter, _time(text[: len(text) // 4]))
    return whole > 8 * quarter


def _time(text: str) -> float:
    before = time.process_time()
    Secrets().redact(text)
    return time.process_time() - before


@pytest.mark.slow
@pytest.mark.timeout(900)  # it counts processor time, of which a busy machine gives little
@pytest.mark.parametrize("form", leave_to_night(["{}", "password: {}", '"{}x"'], 3))
def test_looking_for_secrets_takes_time_in_proportion(form: str) -> None:
    texts = (form.replace("{}", atom * (SIZE // len(atom))) for atom in ATOMS)
    assert [text[:40] for text in texts if _slow(text)] == []
