"""What `make bench` plays: one story of each kind, and as many memories in a drill as its faults need."""

from __future__ import annotations

import re
from typing import get_args

from harness import paths
from harness.model.scenario import Kind
from harness.model.trial import Selection
from harness.play import drills, plan

MAKEFILE = (paths.ROOT / "Makefile").read_text().replace("\\\n", "")


def test_bench_plays_one_story_of_each_authored_kind() -> None:
    (stories,) = re.findall(r"^STORIES := (.+)$", MAKEFILE, re.MULTILINE)
    assert sorted(each.partition("/")[0] for each in stories.split()) == sorted({*get_args(Kind)} - {"mined"})
    assert all((paths.TASKS / f"{each}.toml").is_file() for each in stories.split())


def test_least_is_of_each_drill_the_size_that_the_self_test_proves() -> None:
    asked = Selection(backends=(), drills=tuple(drills.ALL), drill_size="least")
    sizes = {each.drill: each.size for each in plan.list_drills(asked, ["notes"], {"notes": "older"})}
    assert sizes == {name: drill.least for name, drill in drills.ALL.items()}
    assert "--drill-size least" in MAKEFILE
    assert Selection.model_validate_json(asked.model_dump_json()) == asked
