"""The pytest plug-in as an author of a backend uses it: in a project of its own, elsewhere than the suite."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import paths
from tests.e2e.conftest import environment
from tests.support.faulty_backends import lend

pytestmark = pytest.mark.slow

ADAPTERS = """
import os
from tests.support.faulty_backends import Sound, SoundMemory

class Mine(Sound):
    name = "mine"

class Crashes(Sound):
    class memory(SoundMemory):
        def recall(self, query, scope, k, at):
            os.kill(os.getpid(), 11)

class Absent(Sound):
    def version(self):
        raise RuntimeError("no sdk here\\x1b[31m::error::x")

class Stumbles(Sound):
    class memory(Sound.memory):
        def recall(self, query, scope, k, at):
            raise ValueError("the index is broken")

class Appends(Sound):
    native = ("ranked", "entries", "persistent")
    emulated = {}
    unsupported = {"supersede": "it only appends"}
"""
PLAYED = "no memory"
"""Stands in the line of a cold arm that was played."""
FAST = ("-p", "no:cacheprovider", "--coldwarm-write=append")


@dataclass
class Project:
    """A folder with adapters and tests of its own, and pytest in it."""

    root: Path
    cache: Path

    def tests(self, text: str) -> Project:
        (self.root / "test_mine.py").write_text(textwrap.dedent(text))
        return self

    def pytest(self, *words: str, cwd: Path | None = None) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "--color=no", f"--coldwarm-out={self.root / 'out'}", *words]
        done = subprocess.run(
            command, cwd=cwd or self.root, env=environment(self.cache), capture_output=True, text=True, timeout=110,
            check=False,
        )  # fmt: skip
        assert "INTERNALERROR" not in done.stdout + done.stderr
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path, cache: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "own.py").write_text(ADAPTERS)
    lend(root)
    return Project(root, cache)


def counts(said: str) -> dict[str, int]:
    """What the last line of pytest counts."""
    return {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (\w+)", said.splitlines()[-1]) if word != "in"}


def test_nothing_is_imported_before_the_option_is_given() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import harness.pytest_plugin;"
        "print(sorted(set(sys.modules) - before - {'harness', 'harness.pytest_plugin'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_trials_are_tests_and_measures_are_asserted_on(project: Project) -> None:
    project.tests("""
        import pytest

        def test_numbers(coldwarm_measure):
            recall = coldwarm_measure("recall")
            assert recall.of == 30 and recall.value == recall.hits / recall.of
            assert coldwarm_measure("decisions_right", backend="oracle").hits == 5
            assert coldwarm_measure("decisions_right", backend=None).of == 5

        def test_too_high(coldwarm_measure):
            assert coldwarm_measure("recall").value > 1

        def test_not_measured(coldwarm_measure):
            coldwarm_measure("writes_kept")

        def test_results(coldwarm_results, coldwarm_cells):
            cells = coldwarm_cells(backend="own:Mine")
            assert {cell.read_policy for cell in cells} == {"trusting", "newest", "verifying", "careful"}
            assert all(cell in coldwarm_results.cells for cell in cells)
    """)
    elsewhere = project.root.parent / "elsewhere"
    elsewhere.mkdir()
    code, said = project.pytest(
        *FAST, "-v", "--coldwarm-backend=own:Mine", f"--rootdir={project.root}", str(project.root),
        cwd=elsewhere,
    )  # fmt: skip
    assert code == 1 and counts(said) == {"passed": 6, "failed": 2}, said
    assert "collected 8 items" in said
    for name in ("cold", "oracle", "stale-oracle", "own-mine"):
        assert re.search(rf"coldwarm::{name}-forgotten-runbook-\S* PASSED", said)
    assert "Failed: writes_kept is measured by a drill, and none was played" in said
    assert said.count(" trials\n") == 1, "played once"


def test_what_did_not_end_fails_with_a_receipt_and_what_could_not_begin_is_an_error(project: Project) -> None:
    project.tests("""
        def test_of_a_crash(coldwarm_measure):
            assert coldwarm_measure("stale_use", backend="own:Crashes").value == 0

        def test_of_who_never_played(coldwarm_measure):
            assert coldwarm_measure("recall", backend="own:Absent").value >= 0
    """)
    xml = project.root / "junit.xml"
    code, said = project.pytest(
        "-rs", "-q", "-p", "no:randomly", f"--junitxml={xml}", "--coldwarm-backend=own:Crashes",
        "--coldwarm-backend=own:Absent", "--coldwarm-backend=own:Appends",
    )  # fmt: skip
    assert code == 1 and counts(said) == {"failed": 4, "passed": 4, "skipped": 1, "error": 2}, said
    (crash,) = re.findall(
        r"^own-crashes-\S+-append-\S+ did not come to its end\n(.*)\nlog: (.*)\nrepeat: (.*)$", said, re.MULTILINE
    )
    assert crash[0] == "crashed in recall: the process was ended by signal 11"
    assert Path(crash[1]).is_file() and f"COLDWARM_ADAPTER_PATH={project.root} coldwarm run -b own:Crashes" in crash[2]
    assert "could not be played: raised in describe: RuntimeError: no sdk here" in said
    assert "\x1b" not in said and "::error::" not in said
    assert "unsupported: refused in supersede: it only appends" in said
    assert "stale_use was not measured with backend='own:Crashes': failed: recall: the process was ended" in said
    assert "own:Absent could not run: raised in describe" in said
    assert "Traceback" not in said and "pluggy" not in said
    cases = {case.get("name"): case for case in ElementTree.parse(xml).iter("testcase")}
    assert {case.get("classname") for name, case in cases.items() if str(name).startswith("own-")} == {"coldwarm"}


def test_the_command_of_a_receipt_plays_that_trial_again(project: Project) -> None:
    _, said = project.pytest(*FAST, "-q", "--coldwarm-backend=own:Crashes", "-k", "crashes")
    (command,) = re.findall(r"^repeat: (.*)$", said, re.MULTILINE)
    trial = re.findall(r"--trial (\S+)", command)[0]
    words = command.replace(" coldwarm run ", f" {sys.executable} -m harness run --out {project.root / 'again'} ")
    done = subprocess.run(
        words, shell=True, env=environment(project.cache), capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 3, done.stderr
    (run,) = (path for path in (project.root / "again").iterdir() if not path.is_symlink())
    assert [path.name for path in (run / "logs").iterdir()] == [f"{trial}.1.jsonl"]


def test_only_the_trials_that_were_chosen_are_played(project: Project) -> None:
    project.tests("def test_of_my_own(): pass\n")
    code, said = project.pytest(*FAST, "--coldwarm-backend=own:Mine", "-k", "cold-forgotten or of_my_own")
    assert code == 0 and counts(said)["passed"] == 2 and "1 trial\n" in said
    code, said = project.pytest(*FAST, "--coldwarm-backend=own:Mine", "-m", "not coldwarm")
    assert code == 0 and counts(said)["passed"] == 1 and PLAYED not in said
    code, said = project.pytest(*FAST, "--coldwarm-backend=own:Mine", "--collect-only", "-q")
    assert code == 0 and "coldwarm::own-mine-forgotten-runbook-append" in said and PLAYED not in said


def test_drills_are_played_as_tests_too(project: Project) -> None:
    project.tests("""
        def test_kept(coldwarm_measure):
            assert coldwarm_measure("writes_kept").hits == 89  # those of the smallest drill, as listed and as got
    """)
    code, said = project.pytest(
        *FAST, "-q", "-k", "mine", "--coldwarm-backend=own:Mine", "--coldwarm-scenario=none",
        "--coldwarm-drill=keeping", "--coldwarm-drill-size=20",
    )  # fmt: skip
    assert code == 0 and counts(said)["passed"] == 2, said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--coldwarm-backend=bmm25",), "backend 'bmm25' is not known; did you mean bm25?"),
        (("--coldwarm-backend=bm25,colour=1",), "backend 'bm25' has no setting 'colour'"),
        (("--coldwarm-backend=bm25", "--coldwarm-scenario=nothing"), "scenario: no id, kind or file has this name"),
        (("--coldwarm-backend=bm25", "--coldwarm-drill=digging"), "digging is not one of keeping, deletion"),
        (("--coldwarm-backend=bm25", "--coldwarm-noise=-1"), "--coldwarm-noise"),
        (("--coldwarm-backend=bm25", "-n", "2"), "pytest-xdist splits: add -n 0"),
        (("--coldwarm-backend=bm25", "--coldwarm-out=/dev/null/x"), "cannot write a run there"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(project: Project, words: tuple[str, ...], said: str) -> None:
    code, told = project.pytest("-q", *words)
    (line,) = (line for line in told.splitlines() if line.startswith("ERROR: "))
    assert code == 4 and said in line and "Traceback" not in told


def test_a_suite_is_played_as_tests_and_a_story_without_its_programs_is_skipped(project: Project) -> None:
    own = project.root / "own-suite" / "stale-deploy-rule"
    own.mkdir(parents=True)
    text = (paths.TASKS / "stale-deploy-rule" / "forgotten-runbook.toml").read_text()
    (own / "mine.toml").write_text(text)
    (own / "unequipped.toml").write_text(text.replace("\nfixture = ", '\nneeds = ["no-such-compiler"]\nfixture = ', 1))
    code, said = project.pytest(*FAST, "-rs", "--coldwarm-suite=own-suite", "--coldwarm-backend=own:Crashes")
    assert code == 1 and counts(said) == {"failed": 1, "passed": 3, "skipped": 4}, said
    assert "its tests need no-such-compiler, not installed here" in said
    assert re.search(r"repeat: .* --suite own-suite --trial own-crashes-mine-append", said)


def test_a_suite_of_ours_has_its_name(project: Project) -> None:
    code, said = project.pytest(*FAST, "-q", "--collect-only", "--coldwarm-backend=bm25", "--coldwarm-suite=deep")
    assert code == 0 and all(f"coldwarm::bm25-{file.stem}-append" in said for file in paths.DEEP.glob("*/*.toml"))


def test_a_fixture_without_the_option_fails_and_says_what_to_do(project: Project) -> None:
    code, said = project.tests("def test_it(coldwarm_measure): pass\n").pytest("-q")
    assert code == 1 and "no backend was played: give pytest --coldwarm-backend" in said


@pytest.mark.parametrize(("allowed", "failed"), [("own:Stumbles=1000", 0), ("own:Stumbles=1", 1), ("other=1000", 1)])
def test_as_many_calls_may_fail_as_are_allowed(project: Project, allowed: str, failed: int) -> None:
    code, said = project.pytest(*FAST, "--coldwarm-backend=own:Stumbles", f"--coldwarm-allow-faults={allowed}")
    assert counts(said).get("failed", 0) == failed and code == bool(failed)


def test_an_allowance_without_a_number_is_one_line(project: Project) -> None:
    code, said = project.pytest(*FAST, "--coldwarm-backend=bm25", "--coldwarm-allow-faults=bm25")
    assert code == 4 and "say NAME=COUNT" in said


def test_a_release_takes_over_the_store_of_the_one_named_before_it(project: Project) -> None:
    project.tests("""
        def test_taken_over(coldwarm_cells):
            (cell,) = coldwarm_cells(drill="upgrade")
            assert (cell.status, cell.older) == ("complete", cell.version)
    """)
    words = [*FAST, "-v", "--coldwarm-scenario=none", "--coldwarm-drill=upgrade"]
    words += ["--coldwarm-drill-size=20", "--coldwarm-backend=own:Mine"]
    code, said = project.pytest(*words, f"--coldwarm-backend=own:Mine,python={sys.executable}")
    assert code == 0 and counts(said) == {"passed": 2}, said
    assert re.search(r"coldwarm::own-mine-\S+-upgrade-20-\S+ PASSED", said)
    code, said = project.pytest(*words)
    assert code == 4 and "drill upgrade: name two releases of one backend" in said, said
