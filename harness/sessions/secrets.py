"""Secrets in recorded texts: found by what they look like and by the name before them, and cut out in every form.

A secret that is found anywhere is cut out everywhere: as it is, escaped as in JSON or a URL, in base64 and in hex. In
its place stands the mark of a canary, `{canary:secret-3}`, the same one wherever the secret stood.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus, unquote_to_bytes

from ahocorasick_rs import AhoCorasick, MatchKind

from harness.gateway.chat.normaliser import SECRETS
from harness.log.redaction import FORMS, LEAST, WORD
from harness.text import encodings

MARK = "{canary:%s}"
MOST = 20_000
"""Different secrets of one import."""
_OTHER_MARK = re.compile(r"\{(?=canary:)")
_VARIABLE = "(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)"
_VALUE = r"[^\s\"'`\\,;<>(){}\[\]$&|]"
_HEADS = (
    "sk-", "gh", "glpat", "hf_", "hf-", "xox", "_live", "AKIA", "ASIA", "AIza", "eyJ", "earer ", "-----BEGIN",
)  # fmt: skip
"""One of these stands in whatever is a secret by its looks: few texts have any."""
_LOOKS = re.compile(
    "|".join(
        [
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
            # The last one is the first of these, and wants an end; a head of a token without an end takes its square.
            *(f"(?:{each.replace('{8,}', '{8,1000}', 1)})" for each in SECRETS[:-1]),
        ]
    ),
    re.DOTALL,
)
_WORDS = ("key", "token", "secret", "password", "passwd", "pwd", "passphrase", "credential")
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_NAMED = AhoCorasick(_WORDS, matchkind=MatchKind.LeftmostLongest)
_KEY = re.compile(
    r"(?:api|access|private|secret|auth|signing|encryption|account|service|master|license|ssh|deploy|session)[_-]?\Z"
)
"""What stands before the word key in the name of a secret."""
_OPTION = re.compile(r"--(?:[a-z]{1,20}-){0,4}\Z")
_TOLD = (
    # a text in quotes, whose quotes may be escaped
    re.compile(r"[\w-]{0,40}\\{0,3}[\"']?\s{0,5}[:=]>?\s{0,5}\\{0,3}[\"']([^\"'\\\n]{4,500})"),
    # a bare value
    re.compile(rf"[\w-]{{0,40}}\s{{0,5}}[:=]\s{{0,5}}({_VALUE}{{6,500}})(?![\w(\[.])"),
    re.compile(rf"[\w-]{{0,40}}[= ][\"']?({_VALUE}{{4,500}})"),
)
"""What follows the name of a secret: in quotes, bare, behind an option of a command."""
_PLACED = (
    ("=", re.compile(rf"\b[A-Z][A-Z0-9_]{{0,60}}{_VARIABLE}[A-Z0-9_]{{0,40}}=[\"']?({_VALUE}{{4,500}})")),
    (
        "uthoriz",
        re.compile(rf"(?i)\bauthorization[\s\"'\\:=]{{1,9}}(?:basic|bearer|token|digest) ({_VALUE}{{6,4000}})"),
    ),
    ("-u", re.compile(rf"(?:-u|--user)[ =][\"']?[^\s:\"']{{1,100}}:({_VALUE}{{3,200}})")),
    ("://", re.compile(r"[a-z]://[^\s/:@\"']{0,100}:([^\s/@\"']{3,500})@")),
)
"""What is a secret where it stands: in a variable, a header, a login. Each with what such a text holds."""
_NO_SECRET = re.compile(r"(?i)null|none|true|false|undefined|string|required|optional|\[?redacted\]?|[x*._-]+")


class TooManyError(Exception):
    """More secrets than are kept. One line."""


def _decode_base64(run: str) -> bytes:
    text = run.replace("-", "+").replace("_", "/").rstrip("=")
    text = text[: len(text) - (len(text) % 4 == 1)]
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _unescape(run: str) -> bytes:
    return re.sub(r"\\u00(..)", lambda found: chr(int(found[1], 16)), run).encode()


_ENCODED: tuple[tuple[str, re.Pattern[str], Callable[[str], bytes]], ...] = (
    ("", re.compile(r"[0-9a-f]{20,}|[0-9A-F]{20,}"), lambda run: bytes.fromhex(run[: len(run) // 2 * 2])),
    ("", re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}"), _decode_base64),
    ("%", re.compile(r"(?:[\w.~+/=:@-]|%[0-9A-Fa-f]{2}){8,}"), unquote_to_bytes),
    ("\\u00", re.compile(r"(?:[\w.~+/=:@-]|\\u00[0-9A-Fa-f]{2}){8,}"), _unescape),
)
"""Runs of a text that may be another one, each with what such a run holds, and how it is read."""


class Secrets:
    """First `learn` every text, then `redact` them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._forms: list[str] = []
        self._named: list[str] = []
        self._automaton: AhoCorasick | None = None
        self.cut = 0

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, text: str) -> None:
        """Raises TooManyError."""
        for start, end in _find(text):
            self._name(text[start:end])
        for _, _, decoded in _decode(text):
            for start, end in _find(decoded):
                self._name(decoded[start:end])

    def redact(self, text: str) -> str:
        """The text without secrets. What stood there as a mark already is none any more."""
        text = _OTHER_MARK.sub("{ ", text)
        places = [(start, end, self._name(text[start:end])) for start, end in _find(text)]
        places += [(start, end, self._name_first(decoded)) for start, end, decoded in _decode(text)]
        places += self._find_known(text)
        kept, at = list[str](), 0
        for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= at:
                kept += [text[at:start], MARK % name]
                self.cut += 1
            at = max(at, end)
        return "".join([*kept, text[at:]])

    def _name_first(self, decoded: str) -> str:
        start, end = next(_find(decoded))
        return self._name(decoded[start:end])

    def _name(self, secret: str) -> str:
        if secret not in self._names:
            if len(self._names) == MOST:
                raise TooManyError(f"more than {MOST:,} different secrets: import fewer sessions at once")
            self._names[secret] = f"secret-{len(self._names) + 1}"
            self._automaton = None
        return self._names[secret]

    def _find_known(self, text: str) -> Iterator[tuple[int, int, str]]:
        if self._automaton is None:
            forms = {form: name for secret, name in self._names.items() for form in _list_forms(secret)}
            self._forms, self._named = list(forms), list(forms.values())
            self._automaton = AhoCorasick(self._forms, matchkind=MatchKind.LeftmostLongest)
        for number, start, end in self._automaton.find_matches_as_indexes(text):
            yield start, end, self._named[number]


def _find(text: str) -> Iterator[tuple[int, int]]:
    if any(head in text for head in _HEADS):
        yield from (found.span() for found in _LOOKS.finditer(text))
    placed = [found for sign, pattern in _PLACED if sign in text for found in pattern.finditer(text)]
    for found in (*placed, *_find_named(text)):
        if not (_NO_SECRET.fullmatch(found[1]) or found[1].startswith(("$", "<", "{", "%"))):
            yield found.span(1)


def _find_named(text: str) -> Iterator[re.Match[str]]:
    """Values behind names that look like a secret; a bare one has letters and digits."""
    lower = text.translate(_LOWER)
    for number, start, end in _NAMED.find_matches_as_indexes(lower):
        before = lower[max(0, start - 80) : start]
        if _WORDS[number] == "key" and not _KEY.search(before):
            continue
        quoted, bare, option = (pattern.match(text, end) for pattern in _TOLD)
        if quoted:
            yield quoted
        elif bare and re.search(r"\d", bare[1]) and re.search("[A-Za-z]", bare[1]):
            yield bare
        elif option and _OPTION.search(before):
            yield option


def _decode(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of a text that hold a secret in another form, with what they are."""
    for sign, pattern, decode in _ENCODED:
        for found in pattern.finditer(text) if sign in text else ():
            if sign not in found[0]:
                continue
            try:
                decoded = decode(found[0]).decode("utf-8", "replace")
            except (ValueError, binascii.Error):
                continue
            if decoded != found[0] and next(_find(decoded), None):
                yield found.start(), found.end(), decoded


def _list_forms(secret: str) -> Iterator[str]:
    """Of a secret that can be told from what any text may hold."""
    if len(secret) < (WORD if secret.isalpha() or secret.isdecimal() else LEAST):
        return
    yield from (
        form.decode("utf-8", "replace") for form, name in encodings.encode_text(secret).items() if name in FORMS
    )
    units = [f"{ord(letter):04x}" for letter in secret]
    yield from ("".join(f"\\u{unit}" for unit in each) for each in (units, map(str.upper, units)))
    whole = "".join(f"%{byte:02X}" for byte in secret.encode())
    for escaped in (whole, quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield escaped
        yield re.sub("%..", lambda found: found[0].lower(), escaped)
