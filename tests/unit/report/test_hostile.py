"""A run in which a backend says hostile things, in all that is not the page: Markdown, JUnit, annotations, terminal."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from harness import regress
from harness.compare import statements
from harness.model.results import Results
from harness.report import words
from harness.report.outputs import ci, markdown
from harness.report.outputs import terminal as console
from tests.support import hostile_texts

UNSEEN = "\u115f\u2800\u3164\uffa0\ufe00\U000e0100"
STYLED = re.compile(r"\x1b\[[\d;]*m")
COMMAND = re.compile(r"^\s*::|##\[|##vso\[|##teamcity\[", re.MULTILINE | re.IGNORECASE)
"""What makes a CI server obey a line of its log."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = hostile_texts.run(tmp_path_factory.mktemp("hostile"))
    return regress.judge_run(statements.compute_results(folder), folder)


def harmless(text: str) -> bool:
    """Whether nothing in it is a control, a mark of direction, half of a character, or a letter that nobody sees."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return not [char for char in set(text) - {"\n"} if unicodedata.category(char) in hidden or char in UNSEEN]


def test_there_are_enough_texts_of_every_kind() -> None:
    assert len(hostile_texts.TEXTS) >= 40 and len(set(hostile_texts.TEXTS.values())) == len(hostile_texts.TEXTS)
    assert max(map(len, hostile_texts.TEXTS.values())) > 10_000_000


@pytest.mark.parametrize(
    "text", [*hostile_texts.TEXTS.values(), hostile_texts.SURROGATE], ids=[*hostile_texts.TEXTS, "surrogate"]
)
def test_each_text_alone_is_made_harmless(text: str) -> None:
    for shown in (words.make_visible(text, 300), words.make_plain(text, 300)):
        assert harmless(shown) and len(shown.splitlines()) <= 1
        shown.encode()
    assert not COMMAND.search(words.make_plain(text, 4000))
    coded = markdown.format_code(text)
    (row,) = [
        each for each in MarkdownIt().enable("table").parse(f"| x |\n| --- |\n| {coded} |") if each.type == "tbody_open"
    ]
    assert row
    tokens = MarkdownIt().enable("table").parseInline(coded)[0].children or []
    assert {token.type for token in tokens} <= {"text", "html_inline", "text_special"}
    assert [token.content for token in tokens if token.type == "html_inline"] == ["<code>", "</code>"]


@pytest.mark.slow
def test_the_summary_is_the_markdown_that_was_meant(results: Results) -> None:
    """No link, no picture, no head, fence or rule that is not ours; every table has one width."""
    text = markdown.write_summary(results)
    assert harmless(text)
    blocks = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    kinds = {token.type for token in blocks}
    assert not kinds & {"fence", "code_block", "html_block", "blockquote_open", "hr", "ordered_list_open"}
    heads = [after.content for at, after in pairwise(blocks) if at.type == "heading_open"]
    assert heads == ["Which memory should this agent use?"]
    inline = [token for block in blocks for token in block.children or []]
    assert not {"link_open", "image"} & {token.type for token in inline}
    assert {token.content for token in inline if token.type == "html_inline"} <= {"<code>", "</code>"}
    assert not re.search(r"@\w|://|www\.\w", text)  # what GitHub makes links of, wherever it stands
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({row.count("|") for row in table.splitlines()}) == 1


@pytest.mark.slow
def test_junit_parses_and_holds_no_output_in_which_attachments_are_sought(results: Results) -> None:
    text = ci.write_junit(results)
    root = ElementTree.fromstring(text)
    assert root.find(".//failure") is not None and root.find(".//error") is not None
    tags = {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "properties", "property"}
    assert {each.tag for each in root.iter()} <= tags
    said = [part for each in root.iter() for part in (each.text or "", *each.attrib.values())]
    assert all(harmless(part) for part in said)


@pytest.mark.slow
def test_an_annotation_stays_one_command(results: Results) -> None:
    lines = list(ci.annotate(results, "gates.toml"))
    assert lines
    for line in lines:
        assert line.startswith("::error file=gates.toml,line=") and len(line.splitlines()) == 1 and harmless(line)
    assert harmless(ci.cut_summary(markdown.write_summary(results)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_a_terminal_shows_it_and_obeys_nothing(results: Results, width: int, colour: bool) -> None:
    out = io.StringIO()
    console.show(
        results, Console(file=out, width=width, force_terminal=colour, color_system="standard" if colour else None)
    )
    text = STYLED.sub("", out.getvalue())
    assert harmless(text) and not COMMAND.search(text)
    assert ("\x1b" in out.getvalue()) is colour
    assert "alert(1)" in "".join(text.split())


@pytest.mark.slow
def test_results_are_plain_json_and_can_be_read_back(results: Results) -> None:
    text = results.model_dump_json(by_alias=True)
    assert Results.model_validate_json(text) == results
    json.loads(text)


def test_half_a_character_in_a_log_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    """Strict JSON has no lone surrogates: a backend that sends one breaks the protocol, and is told so."""
    from harness.log.lines import LogError
    from harness.log.reader import read

    folder = hostile_texts.run(tmp_path)
    path = next((tmp_path / "logs").iterdir())
    path.write_text(path.read_text().replace('"kind":"opened"', '"kind":"opened","host":{"a":"\\ud800"}', 1))
    with pytest.raises(LogError) as caught:
        read(path, folder.blobs)
    assert len(str(caught.value).splitlines()) == 1
