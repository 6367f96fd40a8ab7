"""Requests without what changes from run to run, so that a recording is found again on another day.

Declared volatile are: ISO dates and times, UUIDs, run ids, and whatever looks like a secret. Each becomes a mark such
as `⟦date⟧`; the number of a mark in an answer, `⟦date 2⟧`, says which of the request's values stood there, so that a
replay answers with the values of the request at hand. No secret is ever written down. In what a reader of ours asks,
dates stay as they are: they are those of the story, and which of two memories is the newer may decide.

Nothing else is: order counts. Mem0 lists what it knows by likeness, and its stores (Qdrant, Chroma, FAISS) list equally
like memories in one order in every run. The list, and so the request, is another one under another store or embedder,
or where another processor rounds vectors so that neighbours swap: then a replay misses.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from harness.gateway.chat.wire import ChatRequest

IGNORED = frozenset({"stream", "stream_options", "user", "metadata", "store", "safety_identifier", "prompt_cache_key"})
"""Fields of a request that do not change what is answered."""

SECRETS = (
    r"\bsk-[\w-]{16,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|xox[abeoprs]|pk_live|sk_live|rk_live)[_-][\w-]{16,}",
    r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b",
    r"\bAIza[\w-]{35}",
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
    r"(?<=[Bb]earer )[\w.~+/-]{16,}=*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
)
"""What looks like a secret: keys of model providers, code hosts and clouds, JSON web tokens, bearers, private keys."""

_VOLATILE = {
    "uuid": r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])",  # also after a _
    "run": r"\b\d{8}-\d{6}-[0-9a-f]{4}\b",
    "date": (
        r"\b\d{4}-[01]\d-[0-3]\d"
        r"(?:[T ][0-2]\d:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:Z| [AP]M|[+-]\d\d:?\d\d)?)?(?!\d)"
    ),
}
_MARK = re.compile(r"⟦⟦|⟦(secret|uuid|run|date) (\d+)⟧")
_LONG = 2000  # characters: of a longer text of instructions, its digest is kept in its place
_INSTRUCTIONS = ("system", "developer")  # whose words belong to the backend, not to the recording
_KEPT = 16  # long texts whose masks are remembered


class Masked(NamedTuple):
    """A text with marks, and what stood there: (kind, value) in order."""

    text: str
    values: list[tuple[str, str]]


class Normaliser:
    """Knows the declared patterns, and `keys`: secrets of this run, wherever they should turn up."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        known = [re.escape(key) for key in keys if key]
        # secrets first: of alternatives at one place the first one matches
        kinds = {"secret": "|".join([*known, *SECRETS]), **_VOLATILE}
        self._secret = re.compile(kinds["secret"], re.DOTALL)
        self.pattern = re.compile("|".join(f"(?P<{kind}>{each})" for kind, each in kinds.items()), re.DOTALL)
        self._long: dict[tuple[str, bool], Masked] = {}

    def request(self, asked: ChatRequest) -> Normal:
        return Normal(asked, self)

    def mask(self, text: str, *, dates: bool = True) -> Masked:
        """Keeps what long texts become: a backend sends the same system prompt with each call."""
        known = self._long.get((text, dates))
        if known is None:
            values: list[tuple[str, str]] = []

            def noted(found: re.Match[str]) -> str:
                if found.lastgroup == "date" and not dates:
                    return found[0]
                values.append((found.lastgroup or "", found[0]))
                return f"⟦{found.lastgroup}⟧"

            # doubled, so that brackets of the text itself are no mark
            known = Masked(self.pattern.sub(noted, text.replace("⟦", "⟦⟦")), values)
            if len(text) > _LONG:
                self._long = {} if len(self._long) >= _KEPT else self._long
                self._long[text, dates] = known
        return known

    def redact(self, text: str) -> str:
        """`text` without what looks like a secret."""
        return self._secret.sub("[redacted]", text)


class Normal:
    """A normalised request. `shown`: what a recording holds of it; `digest`: SHA-256 of that, in hex; `ours`: a reader
    of ours asks.

    In `shown` a text of several lines is a list `lines`, and long instructions (role system or developer) are what the
    backend's maker wrote, not for us to copy: in place of the text stand its length `characters` and its `sha256`.
    """

    def __init__(self, request: ChatRequest, normaliser: Normaliser) -> None:
        self._normaliser, self.ours = normaliser, request.ours
        self._values: dict[str, list[str]] = defaultdict(list)
        fields = {key: request.body[key] for key in sorted(request.body) if key not in IGNORED}
        # a model's name may hold a date, which tells two models apart
        self.shown = {
            key: value if key == "model" else map_strings(value, self._plain) for key, value in fields.items()
        }
        self.shown["messages"] = [format_message(message) for message in self.shown["messages"]]
        self.digest = digest(self.shown)

    def _plain(self, text: str) -> str:
        masked = self._normaliser.mask(text, dates=not self.ours)
        for kind, value in masked.values:
            self._values[kind].append(value)
        return masked.text

    def mark(self, answer: Any) -> Any:
        """An answer (any JSON value) with the request's values as numbered marks, and no other secret."""
        return map_strings(answer, lambda text: self._normaliser.pattern.sub(self._mark, text.replace("⟦", "⟦⟦")))

    def _mark(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        if found[0] in self._values[kind]:
            return f"⟦{kind} {self._values[kind].index(found[0]) + 1}⟧"
        return "[redacted]" if kind == "secret" else found[0]

    def fill(self, answer: Any) -> Any:
        """A recorded answer with this request's values in place of the marks."""
        return map_strings(answer, lambda text: _MARK.sub(self._value, text))

    def _value(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return "⟦"
        values, at = self._values[found[1]], int(found[2]) - 1
        return values[at] if 0 <= at < len(values) else found[0]


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each string in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(each, change) for each in value]
    if isinstance(value, dict):
        return {key: map_strings(each, change) for key, each in value.items()}
    return value


def format_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as a recording shows it: so that a person can read it, and a diff is one of lines."""
    if message.get("role") in _INSTRUCTIONS:
        message = _short(message, "content")
    content = message.get("content")
    if isinstance(content, list) and message["role"] in _INSTRUCTIONS:
        content = [_short(part, "text") if isinstance(part, dict) else part for part in content]
    rest = _without(message, "content")
    if isinstance(content, str) and "\n" in content:
        return {**rest, "lines": content.split("\n")}
    return {**rest, "content": content} if "content" in message else rest


def _short(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a request, with length and SHA-256 (of its UTF-8) in place of a long text."""
    text = holder.get(key)
    if not isinstance(text, str) or len(text) <= _LONG:
        return holder
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {**_without(holder, key), "characters": len(text), "sha256": sha256}


def _without(holder: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {each: value for each, value in holder.items() if each != key}


def restore_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message again, if nothing of it was left out."""
    rest = _without(message, "lines")
    return {**rest, "content": "\n".join(message["lines"])} if "lines" in message else rest


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
