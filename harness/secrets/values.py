"""What a value looks like: a secret, or a placeholder, code, a name, a word."""

# ruff: noqa: SIM905  lists of words, as a person reads them

from __future__ import annotations

import re
from itertools import pairwise

from harness.secrets.names import tell_kind

_NO_SECRET = re.compile(
    r"""(?ix)
    null|none|nil|true|false|undefined|string|str|text|varchar.*|bytes|int|integer|bool|boolean|float|any|buffer|object|required|optional
    |\W?(?:redacted|filtered|masked|sensitive)\W?|hidden|unknown|missing|invalid|expired|incorrect|wrong|empty
    |disabled|enabled|encrypted|changed|hashed|passed|failed|needed|default|inherit|supported|valid|denied|forgotten
    |password|passwd|pass|secret|token|key|value|prompt|stdin|file|input|env|vault|basic|bearer|digest|plain|field
    |user|username|pwd|pw|token\d|id=.*|same-origin|include|oauth[12]?|oidc|saml2?|argon2\w{0,2}|scram-sha-\d+
    |[hrep]s(?:256|384|512)|sha\d+\w{0,8}|sha\d+[-:].+|(?:base|utf|aes|hmac|md|sha)-?\d+(?:-\w+)*|\d+-(?:bit|byte|char|digit|word)\w*
    |0x[0-9a-f]{1,8}u?l*|\#(?:[0-9a-f]{3,4}){1,2}|v?\d+(?:\.\d+)+|[a-z][\w.-]*[=<>~!]=[\d.]+|\[?canary.*|[x*._\#\u2022-]+
    |(?:your|my|the|some|example|dummy|insert|replace)[-_ ].*|change[-_]?me|placeholder
    |\w*(?:getenv|environ|process\.env)\b.*
    |(?-i:Test[A-Z]\w*(?:/.*)?|test_\w+)
    |falsch|vergessen|oublié|valor|requerida|obligatoria|obrigatória
    """
)
_FUNCTION_WORDS = frozenset(
    """
    with from that this then when must should which instead option options flag flags argument value values into your
    have here there what only also each before after because without need needs takes asks uses sets gives again
    """.split()
)
_CODE = re.compile(
    r"""(?x)
    [$<{%(\[&*]                                   # a variable, or what a template puts there
    |[\w.]+[(\[]                                  # a call
    |(?:[A-Za-z_]\w*(?:\.|->|::))+[A-Za-z_]+\Z    # an attribute
    |//|/(?:[\w.-]+/)+|\.{1,2}/|~/                   # a path
    """
)
"""How a value begins that stands for another one."""
_NAME = re.compile(r"[A-Za-z]+(?:[-_.:/][A-Za-z]+){0,2}[-_.]?v?\d{0,4}[a-z]{0,2}|v?\d*(?:\.\d+)+")


def is_plain(value: str) -> bool:
    """Whether it says that there is no secret: a placeholder, a type, code that reads one."""
    return bool(_NO_SECRET.fullmatch(value) or _CODE.match(value) or value.lower() in _FUNCTION_WORDS)


def is_name(value: str) -> bool:
    """Whether it is a plain name with a number perhaps, or a version: it may stand anywhere and be no secret there."""
    return _NAME.fullmatch(value) is not None


def is_word(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Z]?[a-z]*|[A-Z]+", text))


def is_mixed(value: str, least: int = 6) -> bool:
    """Whether it has letters and digits."""
    return len(value) >= least and bool(re.search(r"\d", value)) and bool(re.search("[A-Za-z]", value))


def is_odd(value: str) -> bool:
    """Whether no word, name or number looks so."""
    return is_mixed(value, 8) and len(re.findall(r"\d", value)) > 2 and not is_name(value)


def is_random(value: str, percent: int = 40) -> bool:
    """Whether its small letters, capitals and digits change too often for words: at so many of its characters."""
    kinds = ["A" if each.isupper() else "a" if each.islower() else "0" for each in value[:200] if each.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    return set(kinds) == {"A", "a", "0"} and changes * 100 >= len(kinds) * percent


def names_itself(value: str) -> bool:
    """Whether it is a name that says what it holds, as in `token = auth_token`."""
    return bool(re.fullmatch(r"[A-Za-z_][A-Za-z_.-]*(?:V\d)?", value)) and bool(tell_kind(value))
