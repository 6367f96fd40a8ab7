"""A measure on the first screen is one file; a drill is two: how it is played, and its measures with their words."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import paths
from tests.e2e.conftest import environment, only

pytestmark = pytest.mark.slow

MEASURE = '''\
"""How much of the work is taken up."""

from __future__ import annotations

from harness.metrics import columns
from harness.metrics.metric import metric, proportion
from harness.metrics.view import View
from harness.metrics.words import Between, Case, Topic, Words
from harness.model.trial import Measure

TAKEN_UP = Topic("taken-up", "Zeal", "Is every decision taken up?", 5)


def reached(view: View) -> Measure:
    taken = [found.receipt for _, _, found in view.decisions if found is not None]
    return proportion(len(taken), len(view.decisions), taken, none="the scenario has no job")


METRICS = (
    metric(
        "decisions_reached", "higher", "proportion", "decisions that were reached / decisions of the story", reached,
        reads=True, cold=True, label="decisions taken up", column=columns.DECISIONS.at(), words=Words(
            TAKEN_UP, thing="decisions taken up", did="took up {} decisions",
            answers=True, cells="taken up", case=Case(5, "taken up at last"),
            between=Between(5, cold=True, looked_up=True), contrasted=5,
        ),
    ),
)  # fmt: skip
'''
PLAYED = '''\
"""Echo: what is written is asked for at once."""

from __future__ import annotations

from harness.adapter import Item, Scope
from harness.model.drill import Piece, Plan
from harness.play.drills.stage import Drill, DrillSession

HERE = Scope(repo="well")


def plan(size: int, seed: int) -> Plan:
    texts = {f"call {at}": f"Call {at} of {seed} comes back" for at in range(size)}
    items = {name: Item(text, HERE, "2026-02-02T09:00:00+00:00", "project") for name, text in texts.items()}
    return Plan(pieces=tuple(Piece(name=name, role="call", item=item) for name, item in items.items()))


def play(stage: DrillSession) -> None:
    stage.open("calls")
    stage.remember("calls", stage.plan.pieces)
    stage.settle("calls")
    for piece in stage.plan.pieces:
        stage.recall("calls", piece.item.text, HERE, about=[piece])
    stage.close("calls")


DRILL = Drill("echo", place=15, size=40, least=20, needs=(), plan=plan, play=play)
'''
MEASURED = '''\
"""What a drill of echoes says."""

from __future__ import annotations

from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion
from harness.metrics.trust.metric import DrillWords, TrustMetric, trust
from harness.model.trial import Measure

DRILL = DrillWords("echo", 15, "Echoed", "Does a call come back?")


def heard(found: Transcript) -> Measure:
    texts = found.plan.by_name
    missed = [
        found.receipt(line, call.about[0])
        for line, call in found.calls("recall")
        if texts[call.about[0]].item.text not in {hit.text for hit in found.hits(call)}
    ]
    asked = len(list(found.calls("recall")))
    return proportion(asked - len(missed), asked, missed, none="nothing was asked")


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "echoes_heard", DRILL, "higher", "proportion", "calls that come back / calls", heard,
        label="echoes heard", otherwise="echoes not heard", column=columns.FOUND.at("unfound"),
    ),
)
'''


def tree(root: Path, added: Mapping[str, str]) -> Path:
    """A checkout of its own, with these files more."""
    shutil.copytree(paths.ROOT / "harness", root / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("adapters", "tasks", "fixtures", "reports"):
        (root / name).symlink_to(paths.ROOT / name)
    for name, text in added.items():
        assert not (root / name).exists()
        (root / name).write_text(text, "utf-8")
    return root


def play(root: Path, cache: Path, *words: str) -> tuple[str, Path]:
    """What the terminal said, and the run."""
    search = os.pathsep.join([str(root), str(paths.ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "harness", "run", "--out", str(root / "out"), *words],
        cwd=root, env=environment(cache, {"PYTHONPATH": search}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, only(root / "out")


def test_a_measure_in_a_file_of_its_own_is_on_the_page(tmp_path: Path, cache: Path) -> None:
    root = tree(tmp_path, {"harness/metrics/zeal.py": MEASURE})
    _, run = play(root, cache, "-s", "forgotten-runbook", "-b", "bm25", "-n", "0", "-d", "none")
    page = (run / "report.html").read_text("utf-8")
    assert page.index(">Zeal</h2>") < page.index(">Recalled</h2>")  # its place is before all others
    assert "Is every decision taken up?" in page and "decisions taken up" in page and "taken up at last" in page
    made = json.loads((run / "results.json").read_text("utf-8"))
    assert made["backends"]["bm25"]["measures"]["decisions_reached"]["of"]
    assert {each["measure"] for each in made["comparisons"]} >= {"decisions_reached"}
    assert all("decisions_reached" in each["measures"] for each in made["contrasts"])


def test_a_drill_in_two_files_is_played_scored_and_shown(tmp_path: Path, cache: Path) -> None:
    added = {"harness/play/drills/echo.py": PLAYED, "harness/metrics/trust/echo.py": MEASURED}
    said, run = play(tree(tmp_path, added), cache, "-s", "none", "-b", "bm25", "-d", "echo")
    assert "drill echo" in said and re.search(r"bm25: echoes not heard \(\d+ of 40\)", said)  # the scoreboard has it
    made = json.loads((run / "results.json").read_text("utf-8"))
    assert {cell["drill"] for cell in made["trust"]} == {"echo"}
    heard = {cell["backend"]: cell["measures"]["echoes_heard"] for cell in made["trust"]}
    assert heard["reference"]["hits"] == heard["bm25"]["of"] == 40
    page = (run / "report.html").read_text("utf-8")
    assert "Echoed" in page and "Does a call come back?" in page and "echoes_heard" in page
