"""One browser for all; pages made of tapes, written once a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import paths, regress
from harness.adapter import Item, Layer, Scope, Source
from harness.compare import statements
from harness.log.events import Event
from harness.log.folder import Folder
from harness.log.parts import Sighting
from harness.log.transcript import Called, Looked
from harness.model.drill import Piece, Plan
from harness.regress import baseline, baseline_files
from harness.report import write
from harness.report.model import evidence
from tests.browser.chromium import Chromium, Page, program
from tests.support import hostile_texts
from tests.support.logs import NEW
from tests.support.runs import run
from tests.support.transcripts import transcript

AXE = paths.ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
REQUIRED = os.environ.get("COLDWARM_BROWSER") == "required"
GATES = """
[[gate]]
name = "recalls"
measure = "recall"
backends = "*"
at_least = 0.5

[[gate]]
name = "acts on no stale rule"
measure = "stale_use"
backends = "*"
at_most = 0

[[gate]]
name = "proves its sources"
measure = "source_verified"
backends = "*"
margin = 0
"""
CITED = Source(commit="abcdef1", path="ship.toml", line=3, session="first")
PLAN = Plan(
    pieces=(Piece(name="pin", role="forget", item=Item("the pin", Scope(repo="shop"), "2026-01-01", "project")),)
)
SEEN = Sighting(fact="pin", path="store.db", form="utf-8", count=2, offset=7, place="free pages")
STORE = Layer("store", "store.db", "file")
EVENTS: tuple[Event, ...] = (
    Looked(step="before", layer=STORE, files=1, bytes=99, sightings=(SEEN,)),
    Called(step="erase", op="forget", about=("pin",), request={"memory_ids": ["1"]}, answer=[True]),
    Looked(step="closed", layer=STORE, files=1, bytes=99, sightings=(SEEN,)),
)


def lacking(what: str) -> None:
    """Skips for want of something; fails where the browser tests are required."""
    if REQUIRED:
        pytest.fail(f"{what}: COLDWARM_BROWSER=required")
    pytest.skip(what)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    found = program()
    if found is None:
        lacking("no chromium here: make browser")
    assert found
    browser = Chromium(found, tmp_path_factory.mktemp("chromium") / "profile")
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which finds what a reader with other senses or hands would stumble over."""
    if not AXE.exists():
        lacking("no axe-core here: make browser")
    return AXE.read_text("utf-8")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run with gates, a baseline of which much has changed, and a drill."""
    before, root = run(tmp_path_factory.mktemp("before"), stale=NEW), tmp_path_factory.mktemp("run")
    made = run(root, source=CITED)
    (root / "gates.toml").write_text(GATES)
    (root / "baseline.json").write_text(
        baseline_files.write_text(baseline.make_baseline(statements.compute_results(before)))
    )
    drill = transcript(root, PLAN, EVENTS, drill="deletion", backend="store")
    (root / "drills").mkdir()
    drill.path.replace(root / "drills" / f"{drill.trial.id}.1.jsonl")
    made.write(made.read().model_copy(update={"drills": (drill.trial,)}))
    return made


def written(folder: Folder) -> Path:
    results, parts = evidence.read(folder)
    return write(folder, regress.judge_run(results, folder), parts).page


@pytest.fixture(scope="session")
def report(chromium: Chromium, folder: Folder) -> Path:
    return written(folder)


@pytest.fixture(scope="session")
def evil(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run in which a backend says all hostile texts."""
    return written(hostile_texts.run(tmp_path_factory.mktemp("hostile")))


Opener = Callable[..., Page]


@pytest.fixture
def opened(chromium: Chromium) -> Iterator[Opener]:
    """Opens a file in a page of its own: opened(file, "#fragment", width=360, script=False)."""
    pages: list[Page] = []

    def one(file: Path, fragment: str = "", *, width: int = 1280, script: bool = True) -> Page:
        pages.append(chromium.page(width, script=script))
        return pages[-1].open(file, fragment)

    yield one
    for page in pages:
        page.close()
