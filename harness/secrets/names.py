"""The names in a text that say that what they name is a secret."""

# ruff: noqa: SIM905  lists of words, as a person reads them

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, MatchKind

_PASSWORDS = tuple(
    """
    password passwd passwort passphrase passcode pwd
    kennwort wachtwoord contrasena adgangskode passord salasana
    """.split()
)
"""How a word of a password's name ends."""
_WHOLE_PASSWORDS = tuple("pass pw psw pin psk requirepass masterauth bindpw rootpw senha heslo haslo jelszo".split())
"""A whole word of one."""
_ENDS = (
    *_PASSWORDS,
    *"secret token credential credentials apikey accesskey secretkey privatekey accountkey authkey".split(),
)
"""How a word of any secret's name ends."""
_SHORT = tuple(
    "pass pat pw psk jwt auth cookie cred creds sig signature otp pin dsn salt pepper mdp clave parola".split()
)
"""A whole word of a name; what follows it has to look like no word."""
_FOREIGN = tuple(
    """
    mot_de_passe palavra-passe parola_d'ordine contraseña lösenordet lösenord hasło şifre jelszó mật_khẩu пароль
    パスワード 暗証番号 密码 密碼 口令 密钥 비밀번호 סיסמה كلمة_المرور รหัสผ่าน
    api-schlüssel clé_api clave_de_api chave_de_api chiave_api schlüssel geheimnis
    """.split()
)
"""Other languages' words, which are a name alone; an underscore is a space."""
_PASSWORD = re.compile(
    rf"\w*(?:{'|'.join(_PASSWORDS)})|{'|'.join(_WHOLE_PASSWORDS)}"
    r"|\w{0,10}(?:db|my|user|root|smtp|ftp|sql|admin|login|pg|mysql|require|store|key|ssh|vnc|ldap|rsync|sasl|become)pass"
)
# BYPASS, COMPASS, TRESPASS and SURPASS name no password
_PASS = re.compile(r"(?<!BY)(?<!COM)(?<!TRES)(?<!SUR)PASS\Z")
_OTHER = re.compile(r"(?:totp|otp|mfa|fa)seed|(?:backup|recovery)codes?|\w*privkey")
"""Other words that name a secret, or two of them."""
_KEYS = frozenset(
    """
    api access private secret auth signing signature encryption account service master license licence serial
    activation product ssh deploy session shared client subscription storage admin hmac webhook app application
    consumer rest write server bot project preshared functions fernet wallet decryption pre shared
    """.split()
)
"""What stands before the word key in the name of a secret."""
_NO_KEYS = frozenset("primary foreign public sort partition cache routing idempotency object dedup map host".split())
_PLAIN_ENDS = frozenset(
    """
    name names file files path paths dir folder ref id ids arn type types url uri endpoint length len size count limit
    ttl expires expiry expiration policy policies rule rules field fields header headers prefix suffix format hint min
    max reset store provider manager required enabled disabled regex pattern label title text message error errors
    changed updated created expired at on model view
    status description version algorithm alg method usage scope scopes audience issuer env var rotation age strength
    validator budget timeout timeouts lifetime days hours minutes seconds rate hasher hashers mode backend backends
    cache encryption service host
    """.split()
)
"""The last word of a name that tells of a secret and is none."""
_PLAIN_STARTS = frozenset(
    "pad eos bos unk stop sep cls mask special num max min total prompt completion next page color".split()
)
_ASCII_WORDS = sorted({"key", "seed", "backup", "recovery", *_SHORT, *_ENDS, *_WHOLE_PASSWORDS}, key=len)
# a text is put in small letters as far as it is ASCII, so capitals of other scripts are listed
_FOREIGN_WORDS = [
    form for word in _FOREIGN for spaced in [word.replace("_", " ")] for form in {spaced, spaced.capitalize()}
]
_WORDS = AhoCorasick([*_ASCII_WORDS, *_FOREIGN_WORDS], matchkind=MatchKind.LeftmostLongest)
_BEFORE, _AFTER = re.compile(r"[\w.-]{0,60}\Z"), re.compile(r"[\w-]{0,40}")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD_OF_KEY = re.compile(r"(?<![\w-])([A-Za-z]{3,12})[ ]\Z")


class Name(NamedTuple):
    """A name, and where it stands.

    Attributes:
        kind: Whose name it is: of a `password`, of another `secret`, of one by its `short` name; empty: of none.
    """

    begin: int
    end: int
    kind: str
    text: str

    @property
    def is_ascii(self) -> bool:
        return self.text.isascii()


def find(text: str, lower: str) -> Iterator[Name]:
    """Every name that holds a word of a secret's.

    Args:
        lower: The text in small letters, as far as they are of ASCII.
    """
    until = 0
    for number, start, end in _WORDS.find_matches_as_indexes(lower):
        # this word belongs to a name that was read already
        if start < until:
            continue
        # words of other languages are counted behind those of ASCII
        if number >= len(_ASCII_WORDS):
            until = end
            yield Name(start, end, "password", text[start:end])
            continue
        before, after = _BEFORE.search(text, max(0, start - 60), start), _AFTER.match(text, end)
        begin, until = before.start() if before else start, after.end() if after else end
        if begin == start and lower.startswith("key", start):
            begin = _find_first_word(text, begin)
        name = text[begin:until]
        yield Name(begin, until, tell_kind(name.lstrip("-")), name)


def tell_kind(name: str) -> str:
    """A name's kind, see Name."""
    pieces = [piece.lower() for piece in _PIECES.findall(name)]
    if (
        not pieces
        or pieces[-1] in _PLAIN_ENDS
        or "existing" in pieces
        or (pieces[0] in _PLAIN_STARTS and len(pieces) > 1)
        or pieces[-2:] in (["password", "key"], ["token", "key"])
    ):
        return ""
    if any(_PASSWORD.fullmatch(piece) for piece in [*filter(_is_no_verb, pieces), pieces[-1]]) or (
        name.isupper() and _PASS.search(name)
    ):
        return "password"
    if any(_is_of_secret(pieces, at, capital=name.isupper()) for at in range(len(pieces))):
        return "secret"
    return "short" if not set(pieces).isdisjoint(_SHORT) else ""


def _is_no_verb(piece: str) -> bool:
    """Whether it names a password also before another word: no `low_pass_filter`, no `pin_memory`."""
    return piece not in ("pass", "pin")


def _is_of_secret(pieces: list[str], at: int, *, capital: bool) -> bool:
    piece, before = pieces[at], pieces[at - 1] if at else ""
    if piece.endswith(_ENDS) or _OTHER.fullmatch(before + piece) or _OTHER.fullmatch(piece):
        return True
    header = pieces[0] == "x"
    return piece == "key" and at > 0 and before not in _NO_KEYS and (capital or header or before in _KEYS)


def _find_first_word(text: str, begin: int) -> int:
    """Where `API key` begins, which are two words."""
    word = _WORD_OF_KEY.search(text, max(0, begin - 14), begin)
    return word.start() if word and word[1].lower() in _KEYS else begin
