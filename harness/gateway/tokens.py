"""Exact token counts, offline: how many tokens of a named encoding a text has."""

from __future__ import annotations

import threading
from hashlib import blake2b
from typing import Any

ENCODING = "o200k_base"
"""The encoding of every token count in a log or report; named beside each number."""

_MEMO = 65_536
_known: dict[bytes, int] = {}
_tokenizer: Any = None
_loading = threading.Lock()


def count(text: str) -> int:
    """The number of ENCODING tokens in `text`; any string has one. Special tokens count as the plain text they are.

    The first call loads the tables (some 40 ms). Safe to call from any thread.
    """
    # a digest, as thousands of long texts would stay in memory
    key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    tokens = _known.get(key)
    if tokens is None:
        tokens = len(_load().encode_ordinary(repair_surrogates(text)))
        if len(_known) >= _MEMO:
            _known.clear()
        _known[key] = tokens
    return tokens


def repair_surrogates(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD: what UTF-8 can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins a pair that came as two surrogates, which UTF-8 refuses.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _load() -> Any:
    """The vocabulary lies in the library's wheel; its version is pinned, as another vocabulary is another number."""
    global _tokenizer  # loaded once a process, at first use
    with _loading:
        if _tokenizer is None:
            from splintr import Tokenizer

            _tokenizer = Tokenizer.from_pretrained(ENCODING)
    return _tokenizer
