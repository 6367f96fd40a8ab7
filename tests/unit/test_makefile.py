"""What `make bench` plays: one story of each kind, and as many memories in a drill as its faults need."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import get_args

from harness import paths
from harness.model.scenario import Kind
from harness.model.trial import DEFAULT_BACKENDS, Selection
from harness.play import drills, plan

MAKEFILE = (paths.ROOT / "Makefile").read_text().replace("\\\n", "")


def test_bench_plays_one_story_of_each_authored_kind() -> None:
    (stories,) = re.findall(r"^STORIES := (.+)$", MAKEFILE, re.MULTILINE)
    assert sorted(each.partition("/")[0] for each in stories.split()) == sorted({*get_args(Kind)} - {"mined"})
    assert all((paths.TASKS / f"{each}.toml").is_file() for each in stories.split())


def dry(*words: str, **variables: str) -> str:
    """What make would run."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LETTA", "MAKE"))}
    done = subprocess.run(
        ["make", "-n", *words], cwd=paths.ROOT, env={**own, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_bench_full_plays_letta_where_its_server_is_there_beside_the_usual_rows(tmp_path: Path) -> None:
    """Without one the run takes its defaults."""
    none = dry("bench-full", f"LETTA={tmp_path}")
    assert "coldwarm run  --jobs 2" in none and "-b " not in none
    usual = "coldwarm run " + " ".join(f"-b {name}" for name in (*DEFAULT_BACKENDS, "letta")) + " --jobs 2"
    assert usual in dry("bench-full", f"LETTA={tmp_path}", LETTA_BASE_URL="http://127.0.0.1:8283")
    (tmp_path / ".ready").touch()
    assert usual in dry("bench-full", f"LETTA={tmp_path}")
    assert "-b " not in dry("bench-full", f"LETTA={tmp_path}", "LETTA_ROW=")


def test_least_is_of_each_drill_the_size_that_the_self_test_proves() -> None:
    asked = Selection(backends=(), drills=tuple(drills.ALL), drill_size="least")
    sizes = {each.drill: each.size for each in plan.list_drills(asked, ["notes"], {"notes": "older"})}
    assert sizes == {name: drill.least for name, drill in drills.ALL.items()}
    assert "--drill-size least" in MAKEFILE
    assert Selection.model_validate_json(asked.model_dump_json()) == asked
