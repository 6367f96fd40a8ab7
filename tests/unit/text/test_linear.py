"""Text that came out of a memory costs time in proportion to its length, whatever it repeats."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from harness.model.dates import parse_moment
from harness.report.words import make_plain
from harness.text.classify import Classifier, KnownTexts, cut
from tests.support.logs import STORY

SIZE = 1 << 14
SECONDS = 0.12
"""What takes less for so many characters takes some seconds for the longest memory that is read."""
ATTEMPTS = 6
"""A busy machine slows some attempts; what grows with the square of the length is slow in every one."""
KNOWN = "the known text"
FORM = "alphadeploy"
ATOMS = (
    " ", "\t", "(", "( ", "[", "[ ]", "{", "<", "- ", "-", "1.", "1", "2025-01-01 ", "[2025-01-01", "a", "a ",
    "a.", "a/", "a@", FORM, f"{FORM} ", f"{FORM}-", f"{FORM}, ", f"no longer {FORM} ", "not ", "from ",
    "instead of ", "replaced by ", "was ", "and ", "which has been ", "until ", "formerly ",
    "since 2025-01-01 ", ", ", "; ", ". ", "? ", '"', "'", "`", '"a":', "\x1b[", "\x1b[1;", "\x1b]0;", "\u0301",
    "\u0301\u0323", "\u0f71\u0f72", "\u0f73", "e\u0301\u0323", "\u200b", "\u0130", "\r\n", "\n- ", "\u2013",
    "\\", "%41", "::error::", "##", "<a>",
)  # fmt: skip
READERS: Mapping[str, Callable[[str], object]] = {
    "what it says": lambda text: Classifier(STORY).read(text),
    "what it says of a form behind": lambda text: Classifier(STORY).read(text + FORM),
    "its entries": lambda text: cut(f"{KNOWN} {text} {KNOWN}", KnownTexts([KNOWN])),
    "its date": parse_moment,
    "its words on a terminal": make_plain,
}


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """A collection walks the heap of all tests that ran before: that is not the reader's time."""
    gc.disable()
    yield
    gc.enable()


def _slow(reader: Callable[[str], object], text: str) -> bool:
    """Whether the fastest of some attempts takes too long, and eight times as long as that with a quarter of the text:
    in proportion it would be four times, with the square sixteen, so that a busy machine may double either."""
    whole = quarter = float("inf")
    for _ in range(ATTEMPTS):
        whole = min(whole, _time(reader, text))
        if whole <= SECONDS:
            return False
        quarter = min(quarter, _time(reader, text[: len(text) // 4]))
    return whole > 8 * quarter


def _time(reader: Callable[[str], object], text: str) -> float:
    before = time.process_time()
    reader(text)
    return time.process_time() - before


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_reading_takes_time_in_proportion(reader: str) -> None:
    slow = set()
    for atom in ATOMS:
        many = atom * (SIZE // len(atom))
        slow |= {atom for text in (many, f"({many}x", f"x ({many}x)") if _slow(READERS[reader], text)}
    assert not slow


@pytest.mark.nightly
@pytest.mark.slow
def test_reading_that_grows_with_the_square_is_found() -> None:
    assert _slow(re.compile("(?:ab?|c)+b").search, "a" * (SIZE // 2))  # longer texts cost more, and would tell the same
