"""Which tests are played again: by what they reach, by how they ended, by what lies in the store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import paths
from tests.support.passes import BEFORE, PassCache, Passes

pytest_plugins = ["pytester"]

FILES = {
    "harness/__init__.py": "",
    "harness/play/engine.py": "SPEED = 1\n",
    "harness/report/page.py": "from harness.report import inks\n",
    "harness/report/inks.py": "BLACK = 1\n",
    "reports/gates.toml": "",
    "reports/templates/page.html": "",
    "harness/report/shades.json": "{}",
    "harness/mine/history.py": "DEPTH = 1\n",
    "harness/mine/worth.json": "{}",
    "benchmarks/results/table.py": "FOLDER = __file__\n",
    "benchmarks/results/board.json": "{}",
    "docs/guide.md": "# Guide\n",
    "docs/calibration.md": "# Calibration\n",
    "tests/support/fakes.py": "ONE = 1\n",
    "tests/unit/conftest.py": "",
    "tests/unit/test_other.py": "",
    "tests/unit/test_it.py": """
import pytest
pytestmark = pytest.mark.slow
def test_it(): pass
def reach():
    import harness.report.page
    import tests.support.fakes
""",
}


class Project:
    """A small checkout with one test, and passes of its own."""

    def __init__(self, pytester: pytest.Pytester, store: Path) -> None:
        self._pytester, self.root, self.store = pytester, pytester.path, store
        for name, text in FILES.items():
            self.write(name, text)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def play(
        self, *, fresh: bool = False, kept: bool = True, environment: Mapping[str, str] | None = None
    ) -> list[str]:
        """How each test ended, in their order."""
        plugin = Passes(self.store if kept else None, fresh=fresh, root=self.root, environment=environment or {})
        done = self._pytester.inline_run(
            "--disable-plugin-autoload", "--import-mode=importlib", "-q", "tests/unit/test_it.py", plugins=[plugin]
        )
        ended = [report for report in done.getreports("pytest_runtest_logreport") if _decides(report)]
        return [BEFORE if getattr(each, "before", False) else each.outcome for each in ended]


def _decides(report: pytest.TestReport | pytest.CollectReport) -> bool:
    return isinstance(report, pytest.TestReport) and (report.when == "call" or not report.passed)


@pytest.fixture
def project(pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(pytester, tmp_path_factory.mktemp("passes"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "ending"),
    [
        ("harness/play/engine.py", "passed"),  # plays, though the test imports it nowhere
        ("harness/report/inks.py", "passed"),  # imported by what it imports
        ("tests/support/fakes.py", "passed"),
        ("tests/unit/conftest.py", "passed"),
        ("tests/unit/test_it.py", "passed"),
        ("requirements.lock", "passed"),
        ("reports/templates/page.html", "passed"),  # of the page, which it imports
        ("harness/report/shades.json", "passed"),  # beside what it imports
        ("reports/gates.toml", BEFORE),
        ("harness/mine/history.py", BEFORE),
        ("harness/mine/worth.json", BEFORE),
        ("docs/guide.md", BEFORE),
        ("README.md", BEFORE),
        ("tests/unit/test_other.py", BEFORE),
    ],
)
def test_who_passed_is_played_again_if_something_changed_that_it_reaches(
    project: Project, changed: str, ending: str
) -> None:
    assert project.play() == ["passed"]
    assert project.play() == [BEFORE]
    project.write(changed, f"{FILES.get(changed, '')}# changed\n")
    assert project.play() == [ending]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("COMMAND = ['python', '-m', 'harness']", "harness/mine/history.py"),
        ("LENT = f'harness.mine.{1}'", "harness/mine/history.py"),
        ("PROGRAM = 'import os\\nfrom harness.mine.history import DEPTH'", "harness/mine/history.py"),
        ("PROGRAM = f'from harness.mine import {1}history'", "harness/mine/worth.json"),
        ("PROGRAM = 'from harness.mine import history as past'", "harness/mine/history.py"),
        ("def reads(): from benchmarks.results.table import FOLDER", "benchmarks/results/board.json"),
        ("GATES = 'reports/gates.toml'", "reports/gates.toml"),
        ("PAGE = ROOT / 'docs' / 'calibration.md'", "docs/calibration.md"),
        ("PAGE = ROOT / 'docs/calibration.md'", "docs/calibration.md"),
        ("PAGE = f'docs/{ROOT}.md'", "docs/calibration.md"),
        ("PAGES = ROOT.glob('docs/*.md')", "docs/calibration.md"),
        ("COMMAND, PLACE = ['git', 'ls-files'], ROOT", "docs/guide.md"),
    ],
)
def test_what_a_text_names_is_reached(project: Project, line: str, changed: str) -> None:
    project.write(
        "tests/unit/test_it.py", f"ROOT = __import__('pathlib').Path()\n{line}\n{FILES['tests/unit/test_it.py']}"
    )
    assert project.play() == ["passed"]
    project.write(changed, "# changed\n")
    assert project.play() == ["passed"]


def test_a_room_on_which_it_asserts_nothing_does_not_play_it_again(project: Project) -> None:
    text = FILES["tests/unit/test_it.py"].replace(
        "pytest.mark.slow", "[pytest.mark.slow, pytest.mark.apart('harness/report')]"
    )
    project.write("tests/unit/test_it.py", text)
    assert project.play() == ["passed"]
    project.write("harness/report/inks.py", "BLACK = 2\n")
    assert project.play() == [BEFORE]
    project.write("harness/play/engine.py", "SPEED = 2\n")
    assert project.play() == ["passed"]


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("def test_it(): assert False", "failed"),
        ("def test_it(): pytest.skip('not here')", "skipped"),
        ("@pytest.mark.xfail\ndef test_it(): assert False", "skipped"),
        ("@pytest.mark.xfail\ndef test_it(): pass", "passed"),
    ],
)
def test_who_did_not_pass_as_it_should_is_played_again(project: Project, body: str, ending: str) -> None:
    project.write("tests/unit/test_it.py", f"import pytest\n{body}\n")
    assert project.play() == [ending] and project.play() == [ending]


def test_who_left_something_broken_behind_is_played_again(project: Project) -> None:
    fixture = "@pytest.fixture\ndef own():\n    yield\n    assert False\ndef test_it(own): pass\n"
    project.write("tests/unit/test_it.py", f"import pytest\n{fixture}")
    assert project.play() == ["passed", "failed"] and project.play() == ["passed", "failed"]


def test_who_saw_an_edit_while_it_was_played_is_played_again(project: Project) -> None:
    edits = f"def test_it(): open({str(project.root / 'harness/play/engine.py')!r}, 'a').write('# more\\n')"
    project.write("tests/unit/test_it.py", f"import pytest\n{edits}\n")
    assert project.play() == ["passed"] and project.play() == ["passed"]


def test_an_edit_counts_if_the_module_reaches_what_was_edited(project: Project) -> None:
    """Passes are kept in one go, after the edit of either."""
    other = project.root / "harness/mine/history.py"
    edits = f"def test_it(): open({str(other)!r}, 'a').write('# more\\n')"
    project.write("tests/unit/test_it.py", f"{edits}\ndef test_at(): pass\n")
    assert project.play() == ["passed"] * 2 and project.play() == [BEFORE] * 2
    project.write("tests/unit/test_it.py", f"{edits}\ndef test_at(): pass\ndef reach(): import harness.mine.history\n")
    assert project.play() == ["passed"] * 2 and project.play() == ["passed"] * 2


@pytest.mark.parametrize(("place", "endings"), [("harness/mine/worth.json", ["passed"] * 3), ("own.txt", [BEFORE] * 3)])
def test_a_module_that_reads_what_it_is_not_known_to_reach_is_played_again(
    project: Project, place: str, endings: list[str]
) -> None:
    """Its fixture may have read it for every test: no one's pass is kept."""
    (project.root / ".git/info/exclude").write_text("own.txt\n")  # what git ignores is no file of the checkout
    project.write(place, "{}")
    reads = f"next(pathlib.Path({str(project.root)!r}).rglob({Path(place).name!r}))"
    fixture = f"@pytest.fixture(scope='module')\ndef text():\n    return {reads}.read_text()\n"
    tests = "def test_it(text): pass\ndef test_at(text): pass\ndef test_in(text): pass\n"
    project.write("tests/unit/test_it.py", f"import pathlib, pytest\n{fixture}{tests}")
    assert project.play() == ["passed"] * 3
    assert project.play() == endings


def test_fresh_plays_and_without_a_store_nothing_is_kept(project: Project) -> None:
    assert project.play(kept=False) == ["passed"] and not list(project.store.iterdir())
    assert project.play(fresh=True) == ["passed"]
    assert project.play(fresh=True) == ["passed"]
    assert project.play() == [BEFORE]
    assert project.play(environment={"COLDWARM_INDEX": "required"}) == ["passed"]


@pytest.mark.slow
def test_a_damaged_store_is_as_good_as_none(project: Project) -> None:
    assert project.play() == ["passed"]
    (entry,) = PassCache(project.store).list_entries()
    sound = entry.path.read_text()
    for text in ("", "{", sound.replace("test_it.py", "test_at.py"), "[]", "\0" * 100):
        entry.path.write_text(text)
        assert project.play() == ["passed"], text
        assert entry.path.read_text() == sound, "it is mended"
    entry.path.unlink()
    entry.path.mkdir()
    assert project.play() == ["passed"]


@pytest.mark.nightly
@pytest.mark.slow
def test_workers_keep_and_take_passes_too(tmp_path: Path) -> None:
    words = ("-q", "-n", "1", "-m", "slow", "tests/unit/log/test_lines.py")
    given = {name: value for name, value in os.environ.items() if name != "COLDWARM_FRESH"}

    def play(**more: str) -> str:
        command = [sys.executable, "-m", "pytest", *words]
        env = {**given, "COLDWARM_PROOFS": str(tmp_path), **more}
        done = subprocess.run(command, cwd=paths.ROOT, env=env, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[-1]

    passed = play().partition(" passed in ")[0]
    assert int(passed) > 0
    assert play().startswith(f"{passed} {BEFORE} in ")
    assert play(COLDWARM_FRESH="1").startswith(f"{passed} passed in ")
