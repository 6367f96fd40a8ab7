"""Secrets in recorded texts: found by what they look like and by where they stand, and cut out in every form.

A secret that is found anywhere is cut out everywhere: as it is, escaped as in JSON or a URL, in base64 and in hex, also
where lines break it. Only a plain name that is a secret by its place stays in other places. What is cut out has the
mark of a canary in its place, `{canary:secret-3}`, the same one wherever it stood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from ahocorasick_rs import AhoCorasick, Implementation, MatchKind

from harness.log.redaction import FORMS, LEAST, WORD
from harness.secrets import contexts, looks, views
from harness.secrets.values import is_name
from harness.text import encodings

MARK = "{canary:%s}"
MOST = 20_000
"""Different secrets of one import."""
_OTHER_MARK = re.compile(r"\{(?=canary:)")


class TooManyError(Exception):
    """More secrets than are kept. One line."""


class Secrets:
    """First `learn` every text, then `redact` them."""

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._spread: dict[str, None] = {}
        self._names: dict[str, str] = {}
        self._forms: list[str] = []
        self._formed: list[str] = []
        self._automaton: AhoCorasick | None = None
        self.cut = 0

    def __len__(self) -> int:
        """Different ones that were cut out: not what is found within a longer one only."""
        return len(self._names)

    def learn(self, text: str) -> None:
        """Raises TooManyError."""
        for view in views.read(text):
            for start, end, spreads in _find(view):
                self._note(view.text[start:end], spreads=spreads)

    def redact(self, text: str) -> str:
        """The text without secrets. What stood there as a mark already is none any more."""
        text = _OTHER_MARK.sub("{ ", text)
        places = list[tuple[int, int, str]]()
        for view in views.read(text):
            # searched again: a plain name is a secret only where its place says so
            here = (
                (start, end, self._note(view.text[start:end], spreads=spreads)) for start, end, spreads in _find(view)
            )
            for start, end, secret in (*here, *self._find_known(view.text)):
                places.append((*view.locate(start, end), secret))
        parts, at = list[str](), 0
        # of those that begin together, the longest is cut
        for start, end, secret in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= at:
                name = self._names.setdefault(secret, f"secret-{len(self._names) + 1}")
                parts += [text[at:start], MARK % name]
                self.cut += 1
            # what reaches out of the last one is cut with it, so that no end of a secret stays
            at = max(at, end)
        return "".join([*parts, text[at:]])

    def _note(self, secret: str, *, spreads: bool) -> str:
        if secret not in self._found:
            if len(self._found) == MOST:
                raise TooManyError(f"more than {MOST:,} different secrets: import fewer sessions at once")
            self._found.add(secret)
        if spreads and secret not in self._spread:
            self._spread[secret] = None
            self._automaton = None
        return secret

    def _find_known(self, text: str) -> Iterator[tuple[int, int, str]]:
        if self._automaton is None:
            forms = {form: secret for secret in self._spread for form in _list_forms(secret)}
            self._forms, self._formed = list(forms), list(forms.values())
            # The one that is chosen for few texts takes the square of a long one's length if that repeats itself.
            self._automaton = AhoCorasick(
                self._forms, matchkind=MatchKind.LeftmostLongest, implementation=Implementation.ContiguousNFA
            )
        for number, start, end in self._automaton.find_matches_as_indexes(text):
            yield start, end, self._formed[number]


def list_places(text: str) -> Iterator[tuple[int, int]]:
    """Where a text that stands alone says a secret, in any reading."""
    for view in views.read(text):
        yield from (view.locate(start, end) for start, end, _ in _find(view))


def _find(view: views.View) -> Iterator[tuple[int, int, bool]]:
    """Where a secret stands, and whether it is one wherever else it stands."""
    yield from ((*place, True) for place in looks.find(view.text))
    for start, end in contexts.find(view.text) if view.named else ():
        yield start, end, not is_name(view.text[start:end])


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
        # escapes are written with small and with capital digits
        yield re.sub("%..", lambda found: found[0].lower(), escaped)
