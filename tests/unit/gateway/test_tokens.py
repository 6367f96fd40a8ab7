from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gateway import tokens


@cache
def public() -> Any:
    import bpe_openai  # a second of processor time, which collecting the tests need not take

    return bpe_openai.get_encoding(tokens.ENCODING)


def reference(text: str) -> int:
    return len(public().encode(text, disallowed_special=()))


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_counts_every_text_as_another_library_does(text: str) -> None:
    assert tokens.count(text) == reference(text)
    assert tokens.count(text) == tokens.count(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("\0", 1), ("hello world", 2), ("<|endoftext|>", 7), ("\ud83d\ude00", 1), ("😀", 1), ("a\ud800b", 3)],
)
def test_known_counts(text: str, expected: int) -> None:
    assert tokens.count(text) == expected


def test_counts_source_exactly() -> None:
    text = Path(tokens.__file__).read_text()
    assert tokens.count(text) == reference(text) > 100


@pytest.mark.slow
def test_counts_texts_that_the_public_encoder_refuses() -> None:
    long = "word\n" * 300_000
    with pytest.raises(ValueError, match="too long"):
        reference(long)
    assert tokens.count(long) == 600_000


def test_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MEMO", 10)
    assert [tokens.count(f"text {number}") for number in range(50)] == [3] * 50
    assert len(tokens._known) <= 10
    assert tokens.count("text 7") == 3


def test_concurrent_first_use_loads_once() -> None:
    code = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from harness.gateway import tokens
assert "splintr" not in sys.modules
import splintr
loads = []
class Counted:
    @staticmethod
    def from_pretrained(name):
        loads.append(name)
        return real.from_pretrained(name)
real, splintr.Tokenizer = splintr.Tokenizer, Counted
start = threading.Barrier(8)
with ThreadPoolExecutor(8) as pool:
    counts = list(pool.map(lambda _: (start.wait(), tokens.count("one two three"))[1], range(8)))
assert counts == [3] * 8 and loads == ["o200k_base"], (counts, loads)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_counts_agree_between_threads() -> None:
    texts = [f"line {number} of {number % 7}" for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokens.count, texts)) == [reference(text) for text in texts]
