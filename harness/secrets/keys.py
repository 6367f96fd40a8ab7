"""Private keys, whole or what of one is left, and files and words of several keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.patterns import Patterns, pattern

_PATTERNS = Patterns(
    pattern(
        "PRIVATE KEY",
        r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?",
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    pattern("SSH2", r"(?s)---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----.*?(?:---- END[^\n]{0,60}|\Z)"),
    pattern("PuTTY", r"(?s)PuTTY-User-Key-File-.*?(?:Private-MAC: \w+|\Z)"),
    pattern("OpenVPN", r"(?s)-----BEGIN OpenVPN Static key V1-----.*?(?:-----END OpenVPN Static key V1-----|\Z)"),
    pattern("$ANSIBLE_VAULT", r"\$ANSIBLE_VAULT;[^\n]{3,40}(?:\s{1,40}[0-9a-f]{2,80}){1,2000}"),
    pattern("prv", r"\b[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}\b"),
    pattern("nsec1", r"\bnsec1[0-9a-z]{58}\b"),
    pattern("WIF", r"\b[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b"),
    pattern("AGE-", r"AGE-SECRET-KEY-1[0-9A-Z]{20,80}"),
    # a private key without its head
    pattern(
        "IBADANBg|IBAAKC|MHcCAQEE|MC4CAQAw",
        r"\b(?:MII[\w+/]{2,5}IB(?:ADANBg|AAKC)|MHcCAQEE|MC4CAQAw)[A-Za-z0-9+/]{20,8000}={0,2}",
        r"(?:\s{1,40}[A-Za-z0-9+/]{40,80})*(?:\s{1,40}[A-Za-z0-9+/]{4,80}={0,2})?",
    ),
    pattern(
        "b3BlbnNzaC1rZXk",
        r"b3BlbnNzaC1rZXk[A-Za-z0-9+/]{8,8000}={0,2}(?:\s{1,40}[A-Za-z0-9+/]{40,80})*(?:\s{1,40}[A-Za-z0-9+/]{4,80}=)?",
    ),
)
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_ROW = re.compile(r"[^\n]{0,12}?[A-Za-z0-9+/]{16,80}={0,2}[ \t\"',\\]{0,4}")
"""A line of a private key, as it stands in a listing, a patch or a list of texts."""
_ROWS, _WIDEST = 100, 100
"""Lines of a private key, and characters of one, that are taken for it where its begin is not there."""


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where a private key stands."""
    yield from (found.span() for found in _PATTERNS.find(text, text))
    yield from _find_last_rows(text)


def _find_last_rows(text: str) -> Iterator[tuple[int, int]]:
    """The last lines of a private key, whose first ones are not there: from its end backwards, each looked at once."""
    for found in _END.finditer(text):
        first = last = text.rfind("\n", 0, found.start()) + 1
        for _ in range(_ROWS):
            above = text.rfind("\n", max(0, first - 1 - _WIDEST), max(0, first - 1)) + 1
            if not first or not _ROW.fullmatch(text, above, first - 1):
                break
            first = above
        if first < last:
            yield first, found.start()
