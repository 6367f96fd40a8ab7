"""The job that makes small slips: which it makes, that it tells them apart, and that it fails where no test does."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.mutants import forks, results
from benchmarks.mutants.changes import Module
from benchmarks.mutants.forks import Over, Task
from benchmarks.mutants.rooms import ROOMS

ROOT = Path(__file__).parents[2]
SOURCE = '''\
"""Words are not changed: 1 < 2."""
FIND = "SELECT a FROM t WHERE a = 1 AND b = :b"


@property
def of(share: float = 0.5, *, most: int = 3) -> float:
    if share < most and not share:
        raise ValueError(f"{share + 1}")
    return max(share, -most)
'''


def of(path: Path, source: str) -> Module:
    path.write_text(source)
    return Module(path.name, path)


def test_each_slip_is_made_once_and_undone(tmp_path: Path) -> None:
    module = of(tmp_path / "shares.py", SOURCE)
    assert [(mutant.key.place, mutant.key.change) for mutant in module.mutants] == [
        ("", "SQL: a = 1 AND ->"),
        ("", "SQL: AND b = :b ->"),
        ("", "SQL: WHERE a = 1 AND b = :b ->"),
        ("", "SQL: 1 -> 7"),
        ("of", "0.5 -> 1.5"),
        ("of", "3 -> 4"),
        ("of", "share < most and (not share) -> share < most or not share"),
        ("of", "share < most -> share <= most"),
        ("of", "not share -> share"),
        ("of", "left out"),
        ("of", "max(share, -most) -> min(share, -most)"),
        ("of", "return None"),
        ("of", "-most -> most"),
    ]
    texts = [module.text(mutant) for mutant in module.mutants]
    assert len({*texts}) == len(texts) and ast.unparse(ast.parse(SOURCE)) not in texts
    assert ast.unparse(module.tree) == ast.unparse(ast.parse(SOURCE))
    assert [mutant.function for mutant in module.mutants[5:7]] == [None, ("of", 5)]


def test_assertions_stay_and_false_becomes_true_only(tmp_path: Path) -> None:
    source = "def f(a, b):\n    assert a\n    for x, y in zip(a, b, strict=True):\n        return False\n    return 0\n"
    changes = [mutant.key.change for mutant in of(tmp_path / "f.py", source).mutants]
    assert changes == ["False -> True", "0 -> 1", "return None"]


def test_a_mutant_keeps_its_name_when_other_lines_move(tmp_path: Path) -> None:
    before = {mutant.key for mutant in of(tmp_path / "shares.py", SOURCE).mutants}
    moved = SOURCE.replace("@property", "LATER = ()\n\n\n@property")
    assert {mutant.key for mutant in of(tmp_path / "shares.py", moved).mutants} == before


@pytest.mark.slow
def test_a_process_answers_or_its_time_is_over_or_it_dies() -> None:
    def spin() -> None:
        while True:
            pass

    tasks = {
        "answers": Task(lambda: [1, os.getpid() != parent], 5, 60),
        "spins": Task(spin, 1, 60),
        "sleeps": Task(lambda: time.sleep(60), 5, 0.3),
        "raises": Task(lambda: 1 // 0, 5, 60),
    }
    parent = os.getpid()
    found = dict(forks.each(tasks.items(), 4))
    assert found == {"answers": [1, True], "spins": Over("time"), "sleeps": Over("clock"), "raises": Over("died")}


def test_what_is_not_as_it_is_listed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"a.py: f: x  [1 -> 2]": "a bound", "a.py: f: y  [1 -> 2]": "a bound", "b.py: f: x  [1 -> 2]": "a bound"}
    monkeypatch.setattr(results, "listed", lambda: listed)
    module = {"a.py": Module("a.py", ROOT / "setup.py")}
    verdicts = {"a.py: f: x  [1 -> 2]": "tests/t.py::t", "a.py: f: z  [1 -> 2]": ""}
    assert results.complain(module, verdicts, verdicts) == [
        "survives: a.py: f: z  [1 -> 2]",
        "listed, but told apart by tests/t.py::t: a.py: f: x  [1 -> 2]",
        "listed, but no mutant any more: a.py: f: y  [1 -> 2]",
    ]


def test_the_last_verdict_on_a_mutant_that_is_still_one_counts(tmp_path: Path) -> None:
    file = tmp_path / "room.txt"
    assert results.read(file, ["x"]) == {}
    for name, killer in (("x", "tests/t.py::t"), ("gone", None), ("y", "contract: gets_by_id"), ("x", None)):
        results.add(file, name, killer)
    assert results.read(file, ["x", "y", "new"]) == {"x": "", "y": "contract: gets_by_id"}


@pytest.mark.slow
def test_each_listed_survivor_is_a_mutant_and_has_a_reason() -> None:
    every = {str(mutant.key) for room in ROOMS.values() for each in room.modules().values() for mutant in each.mutants}
    listed = results.listed()
    assert not set(listed) - every
    assert all(len(why.split()) > 3 for why in listed.values())


OWN = """\
LEAST = 2


def asked(amount):
    return amount >= LEAST


def forgotten(amount):
    return amount >= LEAST
"""
TESTS = """\
import own


def test_asked():
    assert own.asked(2) and not own.asked(1)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.mutants", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_fails_where_no_test_notices(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "test_own.py").write_text(TESTS)
    done = run("--file", str(tmp_path / "own.py"), "--tests", str(tmp_path / "test_own.py"))
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("survives"))
    assert done.returncode == 1, done.stderr
    assert said == [
        "survives unseen: own.py: forgotten: return amount >= LEAST  [amount >= LEAST -> amount > LEAST]",
        "survives unseen: own.py: forgotten: return amount >= LEAST  [return None]",
    ]
    assert "3 of 5 told apart" in done.stdout
    (tmp_path / "test_own.py").write_text(TESTS.replace("not own", "own"))
    done = run("--file", str(tmp_path / "own.py"), "--tests", str(tmp_path / "test_own.py"))
    assert done.returncode == 3
    assert "without any change these tests fail:" in done.stderr and "test_own.py::test_asked" in done.stderr


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_handful_of_real_ones_is_told_apart_or_listed() -> None:
    done = run("classifier", "--sample", "6")
    assert done.returncode == 0, done.stdout
    assert "--- classifier: 6 of " in done.stdout


@pytest.mark.parametrize("file", sorted(results.KEPT.glob("*.txt")), ids=lambda file: file.stem)
def test_the_tests_that_told_mutants_apart_are_there(file: Path) -> None:
    """Whoever renames or splits one renames it here, too: a verdict is evidence only as long as it can be looked up."""
    killers = {line.partition(" ")[2].partition("::")[0] for line in file.read_text("utf-8").splitlines()}
    assert not [each for each in killers if each.startswith("tests/") and not (ROOT / each).exists()]
