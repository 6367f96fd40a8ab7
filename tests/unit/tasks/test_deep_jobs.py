"""Jobs that are changes in code: what their tests prove, how they play, and what they need."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.cli import common
from harness.repo import checks
from harness.repo.checks import WorkTrees
from harness.selftest import control_plays, job_checks, suite
from harness.selftest.control_plays import DecisionEnd
from tasks.loader import load
from tests.support.deep_house import DRY_RUN, HIDDEN, LIBRARY, STORY, TEST, DeepHouse
from tests.support.nights import leave_to_night
from tests.unit.conftest import Series


@pytest.fixture
def deep(tmp_path: Path, series: Series) -> DeepHouse:
    return DeepHouse(tmp_path, series)


# --- the table of solutions and tests ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_solution_passes_what_is_visible_and_only_the_right_one_what_is_hidden(deep: DeepHouse) -> None:
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (1, 1)
    assert told.breaches == []


@pytest.mark.slow
def test_a_visible_test_that_tells_what_is_right_is_a_breach(deep: DeepHouse, series: Series) -> None:
    telling = TEST + "\n    def test_fee(self):\n        self.assertEqual(getattr(shop, 'fee', lambda n: 7)(1), 7)\n"
    series(deep.fixtures / "till", [{"shop.py": LIBRARY, "test_shop.py": telling, "dry.py": DRY_RUN}])
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (0, 1)
    assert {breach.key for breach in told.breaches} == {"jobs.charge.visible"}


PROVES_NOTHING = [
    ("import os\nprint('larkspur' if os.urandom(1)[0] % 2 else 'dockleaf')\n", "does not say the same in 20 runs"),
    (
        HIDDEN.replace("print(", "value = ").replace(")])", ")]")
        + "print('larkspur' if value == 'dockleaf' and os.path.exists('seen') else value)\nopen('seen', 'w')\n",
        "does not say the same in 5 runs",
    ),
    ("print('larkspur')\n", "prints the right value 'larkspur' before the job"),
    (
        HIDDEN.replace("sys.exit(1)", "__import__('time').sleep(100)"),
        "does not end before the job",
    ),
    (
        "import shop_that_is_not_there\n",
        "prints nothing (exit 1: ModuleNotFoundError: No module named 'shop_that_is_not_there') after all right",
    ),
    ("import time\ntime.sleep(100)\n", "prints nothing (exit 124: no end within 2 s) after all right options"),
]
"""A hidden test, and what is said of it."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hidden", "reason"),
    leave_to_night(PROVES_NOTHING, 3),
    ids=["flaky", "flaky if stale", "always right", "hanging at first", "broken", "hanging"],
)
def test_a_hidden_test_that_proves_nothing_is_a_breach(
    deep: DeepHouse, monkeypatch: pytest.MonkeyPatch, hidden: str, reason: str
) -> None:
    if "sleep" in hidden:
        monkeypatch.setattr(checks, "SECONDS", 2)
    (deep.beside / "hidden" / "charge.py").write_text(hidden)
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (0, 1)
    assert any(reason in breach.reason for breach in told.breaches), told.breaches


@pytest.mark.slow
@pytest.mark.parametrize("fee", "750", ids=["right", "stale", "naive"])
def test_a_solution_that_breaks_the_build_is_a_breach(deep: DeepHouse, fee: str) -> None:
    """Its visible tests fail as well, so that it would be told from the others before anybody decided."""
    deep.story = STORY.replace(f"return {fee}\\n", f"return {fee})\\n")
    assert deep.story != STORY
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (0, 1)
    assert {"jobs.charge.charge.check", "jobs.charge.visible"} <= {breach.key for breach in told.breaches}
    assert any("SyntaxError" in breach.reason for breach in told.breaches), told.breaches


def test_no_command_of_a_job_sees_its_hidden_tests(deep: DeepHouse) -> None:
    looking = ["python3", "-c", "import os; print(os.path.exists('hidden'))"]
    scenario, repo = (tomllib.loads(STORY), deep.load()[1])
    deep.write(STORY.replace('run = [["python3", "-m", "dry"]]', f"run = [{looking}]"))
    ((loaded, repo),) = load([deep.file], deep.fixtures, deep.cache)
    session, job = loaded.jobs()[0]
    done = WorkTrees().do(repo, session.commit, job, {"charge": "larkspur"})
    assert [ran.value for ran in done.ran] == ["False"]
    assert [check.value for check in done.checks] == ["larkspur"]
    assert "charge.py" not in done.diff and "+    return 7" in done.diff
    assert scenario["title"] == loaded.title


# --- who knows nothing ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_who_knows_nothing_does_what_is_usual(deep: DeepHouse) -> None:
    played = control_plays.play_scenario(deep.tell(), None, WorkTrees())
    assert played.ends[None] == {("charge", "charge"): DecisionEnd("none", "nowhere", "other")}


@pytest.mark.slow
def test_who_knows_nothing_heeds_what_the_dry_run_refuses(tmp_path: Path, series: Series) -> None:
    house = DeepHouse(tmp_path / "told", series, rule="'rupskral'[::-1]")
    assert control_plays.play_scenario(house.tell(), None, WorkTrees()).ends[None] == {
        ("charge", "charge"): DecisionEnd("larkspur", "run", "right")
    }


# --- programs that tests need -----------------------------------------------------------------------------------------


def test_a_story_whose_tests_need_what_is_not_there_is_left_out_by_name(
    deep: DeepHouse, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deep.write(STORY.replace('kind = "migration"', 'kind = "migration"\nneeds = ["no-such-compiler"]'))
    monkeypatch.setenv("COLDWARM_CACHE", str(deep.cache))
    with pytest.raises(SystemExit) as ended:
        common.leave_out(common.load_stories(deep.file.parent.parent, deep.fixtures, (), "all"))
    assert ended.value.code == common.COULD_NOT_RUN
    said = capsys.readouterr().err
    assert "migration/fees is left out: its tests need no-such-compiler, not installed here" in said
    proven = suite.prove([deep.file], deep.fixtures, deep.cache)
    assert proven.rows == () and proven.left_out == {"migration/fees": ["no-such-compiler"]}
    [line] = suite.validate([deep.file], deep.fixtures, deep.cache)
    assert "not proven: its tests need no-such-compiler" in line
