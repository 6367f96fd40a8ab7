"""Entries: where a text is cut, and that what is remembered is found in it whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.text.classify import KnownTexts, cut
from tests.support.classify_cases import anything

# --- entries ---


def entries(text: str, *remembered: str) -> list[str]:
    return [text[start:end] for start, end in cut(text, KnownTexts(remembered))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run atlas.", ["Run atlas."]),
        ("# Memory\n\n- Run atlas.\n- Ask api.\n", ["Memory", "Run atlas.", "Ask api."]),
        ("Run atlas. Ask api.", ["Run atlas.", "Ask api."]),
        ("Run atlas.; Ask api.", ["Run atlas.", "Ask api."]),
        ("[2025-03-01] Run atlas. (source)", ["Run atlas."]),
        ("* 2025-03-01 10:00 **Run atlas.** [docs/x.md:12]", ["Run atlas."]),
        ("Run atlas. We think that it is fast", ["Run atlas.", "We think that it is fast"]),
        ("- one thing\n  2. another\n\n---\n- [x] a third\r\n", ["one thing", "another", "a third"]),
        ("(source)\nRun atlas.", ["(source)", "Run atlas."]),
        ("Ask api. Ask api.", ["Ask api.", "Ask api."]),
        ("Outrun atlas.", ["Outrun atlas."]),
        ("Ship", ["Ship"]),
        ("Shipment", ["Shipment"]),
        ("Ship it", ["Ship", "it"]),
        ("Run atlas. Run it twice.", ["Run atlas. Run it twice."]),
        ("", []),
        (" \n\t\r\n - \n", []),
    ],
)
def test_cut(text: str, expected: list[str]) -> None:
    assert entries(text, "Run atlas.", "Run atlas. Run it twice.", "Ask api.", "Ship", "  ") == expected


@pytest.mark.parametrize(
    ("text", "remembered", "expected"),
    [
        ("- one 23456 x!", ["one 23456", "one 23456 x"], ["one 23456 x"]),
        ("Run atlas.xy", ["Run atlas."], ["Run atlas.", "xy"]),
        ("[note] ?ask api", ["?ask api"], ["?ask api"]),
        ("Ask api? [note]", ["Ask api?"], ["Ask api?"]),
        ("a [note]", ["a"], ["a"]),
        ("Run\nx [note]", ["Run\nx"], ["Run\nx"]),
        ("Run atlas. [note]\nAnother line", ["Run atlas."], ["Run atlas.", "Another line"]),
    ],
)
def test_cut_at_the_edges_of_a_remembered_text(text: str, remembered: list[str], expected: list[str]) -> None:
    assert entries(text, *remembered) == expected


def test_what_is_remembered_is_known_whole_and_without_its_blank_ends() -> None:
    known = KnownTexts([" a ", "Run atlas.", " "])
    assert "a" in known and "Run atlas." in known
    assert "Run" not in known and "" not in known and " a " not in known


def test_known_grows() -> None:
    known = KnownTexts()
    assert len(cut("one two", known)) == 1
    known.add(["one"])
    assert cut("one two", known) == [(0, 3), (4, 7)]


lines = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=120).map(str.strip)
remembered = st.lists(lines.filter(lambda line: any(map(str.isalnum, line))), min_size=1, max_size=6)


@given(remembered, st.sampled_from(["\n", "\n\n", "\r\n"]))
def test_a_dump_of_lines_gives_the_lines_back(texts: list[str], joint: str) -> None:
    apart = [text for text in texts if not any(other != text and other in text for other in texts)]
    assert entries(joint.join(apart), *apart) == apart


@given(remembered, st.sampled_from([" ", "\n", ". "]))
def test_a_remembered_text_is_one_entry_whatever_else_is_remembered(texts: list[str], joint: str) -> None:
    whole = joint.join(texts)
    assert entries(whole, *texts, whole) == [whole]
    assert entries(f"\n{whole}\n", *texts, whole) == [whole]  # not equal to it: found where it stands


@given(anything, remembered)
def test_entries_are_ordered_disjoint_and_not_blank(text: str, texts: list[str]) -> None:
    done = 0
    for start, end in cut(text + texts[0] + text, KnownTexts(texts)):
        assert done <= start < end
        done = end


@given(remembered, anything)
def test_every_remembered_line_is_covered_once(texts: list[str], other: str) -> None:
    dump = "\n".join([texts[0], other.replace(texts[0], ""), texts[0]])
    spans = cut(dump, KnownTexts([texts[0]]))
    for start, end in ((0, len(texts[0])), (len(dump) - len(texts[0]), len(dump))):
        assert [span for span in spans if span[0] < end and start < span[1]] == [(start, end)]
