"""What docs/scenarios.md tells of the small model inside Mem0, computed anew from its recording and its table."""

from __future__ import annotations

import json
import tarfile
from typing import Any

import pytest

from harness import paths


@pytest.fixture(scope="module")
def page() -> str:
    text = (paths.ROOT / "docs" / "scenarios.md").read_text("utf-8")
    return " ".join(text[text.index("**A small model inside Mem0.**") :].split("\n\n")[0].split())


def read_recording() -> list[dict[str, Any]]:
    with tarfile.open(paths.ROOT / "fixtures" / "chat" / "native.tar.xz") as packed:
        files = [packed.extractfile(each) for each in packed.getmembers()]
        return [json.loads(file.read()) for file in files if file is not None]


def read_rows() -> dict[str, dict[str, str]]:
    table = json.loads((paths.ROOT / "benchmarks" / "results" / "native_model.json").read_text("utf-8"))
    return {row[0].partition("+")[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def test_tokens_and_cut_answers_are_those_of_the_recording(page: str) -> None:
    calls = read_recording()
    assert len(calls) == 8 and "the eight sessions of `night-train`" in page
    assert f"{sum(each['usage']['total_tokens'] for each in calls):,} tokens" in page
    cut = [each for each in calls if each["finish_reason"] == "length"]
    assert len(cut) == 4 and page.count("Four answers reached Mem0's limit of 2,000 tokens") == 1
    assert {each["usage"]["completion_tokens"] for each in cut} == {2000}
    assert {each["model"] for each in calls} == {"qwen2.5-coder-1.5b-instruct"}


def test_what_was_captured_and_decided_is_that_of_the_table(page: str) -> None:
    rows = read_rows()
    mem0, chroma = rows["mem0"], rows["chroma"]
    assert f"captured {mem0['facts captured']} facts, which lost {mem0['not captured']} decisions" in page
    right = [rows[name]["right"].partition(" of ")[0] for name in ("mem0", "chroma", "cold")]
    assert (
        f"; {right[0]} were right." in page and f"all 14 and {right[1]} right; without memory, {right[2]} are" in page
    )
    assert chroma["facts captured"] == "14 of 14"
