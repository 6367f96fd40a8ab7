"""Mem0 with a model inside, as a user plays it: the stand-in answers, and the row tells what became of the facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PLAYED, SMALL, Cli, only

pytestmark = [PLAYED, pytest.mark.slow, pytest.mark.backend]


def test_what_a_model_inside_makes_of_a_story_is_told(cli: Cli, tmp_path: Path) -> None:
    rows = ("mem0+infer=true", "mem0+store=faiss")
    done = cli(
        "run", "-b", "mem0,infer=true", "-b", "mem0,store=faiss", *SMALL, "--chat", "stand-in", "--out", tmp_path
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads((only(tmp_path) / "results.json").read_text())["cells"]
    infer, plain = (
        next(cell["measures"] for cell in cells if (cell["backend"], cell["read_policy"]) == (row, "trusting"))
        for row in rows
    )

    def share(name: str, measures: Any = infer) -> float:
        assert measures[name]["status"] == "measured", measures[name]
        return float(measures[name]["value"])

    assert share("facts_survived") == 1 and share("facts_invented") == share("facts_merged") == 0
    assert 0 < share("facts_kept_stale") < 1  # nothing is replaced by an add, and the deleted ones are gone
    assert share("recall") == share("recall", plain) and share("tokens_backend") > 50_000
    assert {plain[name]["status"] for name in ("facts_survived", "facts_kept_stale")} == {"not-applicable"}
    assert share("tokens_backend", plain) == 0
