"""No secret is written down: what a backend was lent is cut out of all that it says, before anybody reads it.

As it is, and in the forms that programs give it without meaning to hide it: escaped as in JSON or a URL, in base64, in
hex. Who means to hide a secret can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from harness.text import encodings

INSTEAD = "[redacted]"
FORMS = ("utf-8", "json", "base64", "hex")
LEAST = 6
"""Characters of a secret; of one that is a mere word or number, that may stand in any text: WORD."""
WORD = 12


class Redactor:
    """Knows the secrets of a child, or of a run. Texts that hold none are given back as they are."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets if _is_distinctive(secret) for form in _list_forms(secret)}
        # the longest first: of forms that begin alike, a pattern takes the one that it names first
        every = "|".join(map(re.escape, sorted(known, key=lambda form: (-len(form), form))))
        self._pattern = re.compile(every) if known else None
        self._bytes = re.compile(every.encode()) if known else None

    def text(self, text: str) -> str:
        return self._pattern.sub(INSTEAD, text) if self._pattern else text

    def data(self, data: bytes) -> bytes:
        """JSON stays JSON, whatever stands beside an escape; anything else is text."""
        if self._bytes is None or not self._bytes.search(data):
            return data
        try:
            # value by value, as a cut in the raw bytes may leave half of an escape
            return json.dumps(self._value(json.loads(data)), separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            return self._bytes.sub(INSTEAD.encode(), data)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if isinstance(value, dict):
            return {self.text(name): self._value(each) for name, each in value.items()}
        # a secret of digits may come back as a number
        return INSTEAD if (shown := json.dumps(value)) != self.text(shown) else value


def _is_distinctive(secret: str) -> bool:
    """Whether a secret can be told from what any text may hold."""
    return len(secret) >= (WORD if secret.isalpha() or secret.isdecimal() else LEAST)


def _list_forms(secret: str) -> Iterator[str]:
    yield from (form.decode() for form, name in encodings.encode_text(secret).items() if name in FORMS)
    # programs differ in whether they escape a slash, and in what they make of a space
    for escaped in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield escaped
        # `quote` writes hex digits as capitals, other programs need not
        yield re.sub("%..", lambda found: found[0].lower(), escaped)
