"""A secret's name and its value, where a notation sets them apart: XML, exports of a browser, reports of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.secrets.names import tell_kind
from harness.secrets.patterns import Patterns, pattern
from harness.secrets.values import is_plain

_PATTERNS = Patterns(
    # <password>…</password>
    pattern(
        "</", r"<([\w:.-]{2,80})(?:\s[^<>]{0,200})?>\s{0,80}(?:<!\[CDATA\[)?([^<>\]]{3,2000}?)(?:\]\]>)?\s{0,80}</\1"
    ),
    # <property name="password"><value>…, <key>password</key><string>…, <td>Password</td><td>…
    pattern("</", r"<\w*[^<>]{0,80}\b(?:name|key|id)=[\"']([\w.-]{2,80})[\"'][^<>]{0,80}>(?:<value>)?([^<>]{3,500})</"),
    pattern(
        "</",
        r"<(?:key|td|th|dt|b|strong)>([\w ._-]{2,60}):?</(?:key|td|th|dt|b|strong)>\s{0,20}",
        r"<(?:string|td|dd)[^<>]{0,60}>([^<>\s]{4,500})</",
    ),
    pattern("content=", r"<meta name=\"([\w.-]{2,60})\" content=\"([^\"\n]{8,500})\""),
    # {"name": "API_TOKEN", "value": "…"}, also over lines
    pattern(
        "value",
        r"(?i)[\"']?\b(?:name|key|id|property|variable)[\"']?\s{0,3}[:=]\s{0,3}[\"']?([\w.:-]{2,80})[\"']?\s{0,3}",
        r"[,;]?\s{0,40}(?:type\s?=\s?\S{1,40}\s{1,9})?(?:-\s)?[\"']?\bvalue[\"']?\s{0,3}[:=]\s{0,3}[\"']?",
        r"(?:(?:bearer|basic|token) )?([^\s\"'<>]{3,2000})",
    ),
    # a variable of Terraform, and a change of one
    pattern("variable", r"variable \"([\w-]{2,80})\" \{[^{}]{0,500}?\bdefault\s{0,20}=\s{0,3}\"([^\"\n$]{4,500})\""),
    pattern('" -> "', r"([\w.-]{2,60})[ ]{0,30}= \"[^\"\n]{0,500}\" -> \"([^\"\n]{4,500})\""),
    # reports of values that are not allowed
    pattern(
        "input_value=",
        r"(?m)^[ \t]{0,20}([\w.]{2,80})\n[^\n]{0,200}\binput_value=",
        r"(?:\{[\"'][^\"'\n]{1,60}[\"']: )?[\"']([^\"'\n]{4,500})[\"']",
    ),
    # Go's %+v
    pattern(
        "password:|passwd:|secret:|token:|key:|pass:",
        r"(?<=[{ ])(\w{0,40}(?:Password|Passwd|Secret|Token|Key|Pass)):([^\s{}\"']{4,500})(?=[ }])",
    ),
)
_OTHER_NAMES = re.compile(r"(?i)(?:proxy-)?authorization|x-functions-key|sid|sessionid|\w*sess(?:ion|id)?|connect\.sid")
"""What also names a secret, where its value looks like one."""
_LONG = re.compile(r"(?=\S{0,200}\d)(?![0-9a-f]{8}-)[\w+/=.%-]{12,2000}")


def find(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Where the values of secrets stand."""
    for found in _PATTERNS.find(text, lower):
        if _is_secret(found[1], found[2]):
            yield found.span(2)


def _is_secret(name: str, value: str) -> bool:
    if is_plain(value):
        return False
    kind = tell_kind(name)
    if not kind:
        return bool(_OTHER_NAMES.fullmatch(name) and _LONG.fullmatch(value))
    return kind != "short" or not value.isalpha()
