"""What docs/scenarios.md tells of a small model inside backends and as reader, computed from recording and table."""

from __future__ import annotations

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.feeds import SHOWN, show_captured
from harness import paths
from harness.gateway.chat.normaliser import restore_message
from harness.metrics.losses import STAGES

Calls = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def text() -> str:
    return (paths.ROOT / "docs" / "scenarios.md").read_text("utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> str:
    part = text[text.index("**A small model inside Mem0, LangMem and Letta's agent, and as reader.**") :]
    return " ".join(part.partition("`python -m")[0].split())


@pytest.fixture(scope="module")
def calls() -> Calls:
    """By who asked: LangMem and Letta's agent offer tools, the reader allows its options only."""
    found: Calls = defaultdict(list)
    with tarfile.open(paths.ROOT / "fixtures" / "chat" / "native.tar.xz") as packed:
        for file in filter(None, map(packed.extractfile, packed.getmembers())):
            call = json.loads(file.read())
            wanted = call["request"].get("response_format", {}).get("type")
            tools = {tool["function"]["name"] for tool in call["request"].get("tools", ())}
            asking = "letta_agent" if "memory_insert" in tools else "langmem" if tools else "reader"
            found["mem0" if asking == "reader" and wanted != "json_schema" else asking].append(call)
    return found


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, str]]:
    """By backend, whatever its release and settings."""
    table = json.loads((paths.ROOT / "benchmarks" / "results" / "native_model.json").read_text("utf-8"))
    return {re.split("[+@]", row[0])[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def count_tokens(calls: list[dict[str, Any]]) -> str:
    return f"({sum(each['usage']['total_tokens'] for each in calls):,} tokens)"


def test_one_model_answered_all_calls(page: str, calls: Calls) -> None:
    assert {each["model"] for own in calls.values() for each in own} == {"qwen2.5-coder-1.5b-instruct"}
    assert len(calls["mem0"]) == len(calls["langmem"]) == 8 and "eight sessions" in page


def test_tokens_and_cut_answers_of_mem0_are_those_of_the_recording(page: str, calls: Calls) -> None:
    assert f"**Mem0** {count_tokens(calls['mem0'])}" in page
    cut = [each for each in calls["mem0"] if each["finish_reason"] == "length"]
    assert len(cut) == 4 and page.count("Four answers reached its limit of 2,000 tokens") == 1
    assert {each["usage"]["completion_tokens"] for each in cut} == {2000}


def test_langmem_demanded_no_tool_call_and_the_model_wrote_its_calls_as_text(page: str, calls: Calls) -> None:
    own = calls["langmem"]
    assert f"**LangMem** {count_tokens(own)}" in page
    assert not [each for each in own if each["request"].get("tool_choice") or each["answer"].get("tool_calls")]
    texts = [str(restore_message(each["answer"])["content"]) for each in own]
    assert len([text for text in texts if '"name": "Memory"' in text]) == 7 and "seven as text and one essay" in page


def test_all_calls_of_the_tools_of_letta_s_agent_are_text(
    page: str, calls: Calls, rows: Mapping[str, Mapping[str, str]]
) -> None:
    own = calls["letta_agent"]
    assert f"**Letta's agent** ({rows['letta_agent']['tokens of a model inside']} tokens)" in page
    assert f"all {len(own)} calls of its tools as text" in page
    assert not [each for each in own if each["answer"].get("tool_calls")]
    assert all('"name": "' in str(restore_message(each["answer"])["content"]) for each in own)


def test_the_table_of_the_page_is_that_of_the_data(text: str) -> None:
    table = json.loads((paths.ROOT / "benchmarks" / "results" / "native_model.json").read_text("utf-8"))
    assert "\n".join(show_captured(table)) in text, "feeds.show_captured(table) makes it"
    stages = [stage.called for stage in STAGES if stage.called not in SHOWN]
    lost = {row[table["columns"].index(stage)].partition(" of ")[0] for row in table["rows"] for stage in stages}
    assert lost == {"0", "n/a"}, "at another stage a decision was lost: it belongs to SHOWN"


def test_what_was_captured_and_decided_is_that_of_the_table(page: str, rows: Mapping[str, Mapping[str, str]]) -> None:
    names = ("mem0", "langmem", "letta_agent", "cold", "chroma", "oracle")
    scripted = [rows[name]["right"] for name in names]
    decided = [rows[name]["right, decided by the model"] for name in names]
    assert [rows[name]["facts captured"] for name in names[:3]] == ["2 of 14", "0 of 14", "0 of 14"]
    assert "captured 2 of 14 facts" in page and "captured none" in page
    assert rows["chroma"]["facts captured"] == "14 of 14" and "Chroma, which had all facts" in page
    assert scripted == ["3 of 9", "3 of 9", "3 of 9", "3 of 9", "5 of 9", "9 of 9"] and "nine decisions" in page
    assert "took 3 right with each of them, as without memory, and 5 with Chroma" in page
    assert decided == ["4 of 9", "3 of 9", "3 of 9", "3 of 9", "6 of 9", "6 of 9"]
    assert "took 4 right with Mem0 (one a guess), 3 with LangMem and with Letta's agent, 6 with Chroma and" in page
