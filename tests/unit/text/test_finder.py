import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.text.finder import Finder

WORDS = st.text("ab é\n", min_size=1, max_size=4)


@pytest.mark.slow
@given(st.lists(WORDS, max_size=8), st.text("ab é\n", max_size=12))
def test_it_finds_what_looking_for_each_text_finds(texts: list[str], text: str) -> None:
    once = list(dict.fromkeys(texts))
    there = [each for each in once if each in text]

    assert Finder(texts).find(text) == sorted(there, key=text.find)
