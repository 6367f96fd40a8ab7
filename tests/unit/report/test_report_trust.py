"""What the page says of drills: figures with their mark, four words for no number, receipts made harmless."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Layer, Scope, to_wire
from harness.compare import statements
from harness.compare.scoring import ScoredDrill
from harness.log.events import Event
from harness.log.folder import Folder
from harness.log.parts import Sighting
from harness.log.transcript import Broke, Called, Handled, Looked, Transcript
from harness.metrics.columns import DELETED
from harness.metrics.trust import DEFINITIONS, score
from harness.metrics.trust.deletion import DRILL
from harness.metrics.trust.metric import trust as trust_metric
from harness.model.backend import Fault
from harness.model.cells import LayerLook, LayerRow, TrustCell
from harness.model.drill import Piece, Plan
from harness.model.results import Results
from harness.model.trial import Better, Definition, Measure, Measured, NotMeasured, Selection
from harness.report import progress
from harness.report.model import drills as trust
from harness.report.model import evidence
from harness.report.outputs import markdown
from harness.report.outputs import page as html
from harness.report.timeline.repeat import Replay
from tests.support.golden_drills import GOLDEN, transcripts
from tests.support.runs import run
from tests.support.transcripts import transcript

REPLAY = Replay(Selection(backends=()))
SHOP = Scope(repo="shop")
BROKEN = GOLDEN / "drills-promises-broken.tar.xz"
PLAN = Plan(pieces=(Piece(name="pin", role="forget", item=Item("the pin", SHOP, "2026-01-01", "project")),))
HOSTILE = "<script>alert(1)</script> \x1b[31m {{ 7 * 7 }} \u202e"
EVENTS: tuple[Event, ...] = (
    Called(step="after", op="recall", about=("pin",), request={"query": HOSTILE}, answer=to_wire([Hit("m", HOSTILE)])),
    Called(step="after", op="forget", about=("pin",), fault=Fault(kind="crashed", op="forget", message=HOSTILE)),
    Looked(step="closed", layer=Layer("db", "f", "file"), files=1, bytes=1234, problem="half of it",
           sightings=(Sighting(fact="pin", path="f", form="near float32", count=2, offset=7, nearness=0.99951),)),
    Handled(step="reopened", what="opened", fault=Fault(kind="timed-out", op="open", message="no answer")),
)  # fmt: skip


def share(hits: int, of: int, *receipts: str) -> Measured:
    return Measured(value=hits / of, hits=hits, of=of, receipts=receipts)


def definition(better: Better, name: str = "x") -> Definition:
    return trust_metric(
        name, DRILL, better, "proportion", "a / b", lambda _: share(1, 1), column=DELETED.at("served")
    ).definition


@pytest.fixture
def told(tmp_path: Path) -> Transcript:
    return transcript(tmp_path, PLAN, EVENTS, drill="deletion", backend="bad:Store")


def results(told: Transcript, measures: Mapping[str, Measure], tmp_path: Path, **more: object) -> Results:
    trial = told.trial
    cell = TrustCell(
        id=trial.id, backend=trial.backend, drill="deletion", size=trial.size, seed=1, k=5, status="complete",
        transcript=told.path.name, transcript_sha256=told.sha256, measures=measures, **more,
    )  # fmt: skip
    known = {name: definition("lower" if name == "spilled" else "higher", name) for name in measures}
    made = statements.compute_results(run(tmp_path / "run"))
    return made.model_copy(update={"trust": (cell,), "trust_definitions": known})


def gather(results: Results, told: Transcript) -> evidence.Evidence:
    drill = ScoredDrill(told, results.trust[0], results.trust_definitions)
    return evidence.gather(results, [evidence.show(drill, REPLAY)])


def collected(results: Results, told: Transcript) -> trust.DrillTables:
    """As the page does it."""
    return trust.collect(results, gather(results, told).receipts)


@pytest.mark.parametrize(
    ("better", "measure", "expected"),
    [
        ("higher", share(3, 3), True),
        ("higher", share(2, 3), False),
        ("lower", share(0, 3), True),
        ("lower", share(1, 3), False),
        ("neither", share(1, 3), None),
        ("lower", Measured(value=0.5), None),
        ("higher", NotMeasured(status="unsupported", reason="no"), None),
    ],
)
def test_what_is_sound(better: Better, measure: Measure, expected: bool | None) -> None:
    assert evidence.sound(definition(better), measure) is expected


def test_a_fault_is_marked_and_leads_to_its_receipt(told: Transcript, tmp_path: Path) -> None:
    measures: dict[str, Measure] = {
        "gone": share(0, 2, "L2", "L4"),
        "spilled": share(0, 4),
        "restored": NotMeasured(status="unsupported", reason="no versions"),
    }
    shown = collected(results(told, measures, tmp_path), told)
    (table,) = shown.tables
    assert (table.title, table.backends, table.size) == ("Deleted", ("bad:Store",), 1)
    bad, absent = (row.figures[0] for row in table.rows)
    (clean,) = (row.figures[0] for row in table.perfect)
    assert (bad.text, bad.fault, bad.link) == ("0/2", True, f"{told.trial.id}--gone-2")
    assert (clean.text, clean.fault) == ("0/4", False)
    assert (absent.text, absent.measured, absent.note) == ("unsupported", False, "no versions")
    assert [receipt.where for receipt in shown.receipts] == [f"{told.path.name}, line {at}" for at in (2, 4)]
    assert shown.total == 2
    assert shown.receipts[0].commands[0] == f"sed -n '2p' drills/{told.path.name}"


def test_a_receipt_says_which_memory_which_call_stored_it_and_which_misses_it(tmp_path: Path) -> None:
    """In a batch of two, in words, on the page and in the summary; what came back otherwise is shown field by field."""
    items = {name: Item(f"the {name}", SHOP, "2026-01-01T00:00:00Z", "project") for name in ("pin", "key")}
    plan = Plan(pieces=tuple(Piece(name=name, role="plain", item=item) for name, item in items.items()))
    acks = [{"ids": ["1"]}, {"ids": ["2"]}]
    events: tuple[Event, ...] = (
        Called(step="written", op="remember", about=("pin", "key"), answer=acks),
        Called(
            step="written", op="entries", about=("pin", "key"), answer=to_wire([Hit("2", "the key", confidence=0.5)])
        ),
    )
    told = transcript(tmp_path, plan, events, drill="deletion", backend="bad:Store")
    found = results(told, {"gone": share(0, 2, told.receipt(3, "pin"), told.receipt(3, "key"))}, tmp_path)
    lost, doubted = collected(found, told).receipts
    assert found.trust[0].measures["gone"].receipts == ("L3 pin stored at L2", "L3 key stored at L2")
    assert lost.case == (
        "pin \u201cthe pin\u201d: stored by line 2 (written: remember of 2), missing from line 3 (written: entries)"
    )
    assert "shown by line 3" in doubted.case and "confidence: written without, came back 0.5" in doubted.says
    assert lost.id != doubted.id and lost.commands[0] == f"sed -n '2p;3p' drills/{told.path.name}"
    text = markdown.write_summary(found, gather(found, told).receipts)
    assert "pin \u201cthe pin\u201d: stored by line 2" in text and "key" not in text


def test_each_kind_of_event_is_told(told: Transcript, tmp_path: Path) -> None:
    measures = {"gone": share(0, 4, "L2", "L3"), "kept": share(0, 4, "L4", "L5")}
    shown = collected(results(told, measures, tmp_path), told)
    recall, fault, look, opened = (receipt.says for receipt in shown.receipts)
    assert recall[0].startswith("after: recall about pin (query") and recall[1] == "came back: 1 memory"
    assert fault[1].startswith("crashed: ")
    assert look[:2] == ("closed: a look at db, 1 files, 1,234 bytes", "half of it")
    assert "cosine 0.9995" in look[2] and "2 times in f" in look[2]
    assert opened == ("reopened: opened: no answer",)
    assert not any("\x1b" in line or "\u202e" in line for receipt in shown.receipts for line in receipt.says)


@pytest.mark.slow
def test_the_page_runs_nothing_of_what_memories_say(told: Transcript, tmp_path: Path) -> None:
    found = results(told, {"gone": share(0, 1, "L2")}, tmp_path)
    page = html.render(found, gather(found, told))
    assert 'id="trust"' in page and page.count("<script") == 1 and "{{ 7 * 7 }}" in page
    assert 'id="d-gone"' in page


def test_layers_stand_side_by_side(told: Transcript, tmp_path: Path) -> None:
    looks = (
        LayerLook(stage="before", verdict="present", seen=3),
        LayerLook(stage="closed", verdict="present", seen=2, receipt="L4"),
        LayerLook(stage="compacted", verdict="gone", seen=0),
    )
    rows = (
        LayerRow(layer="search", kind="route", targets=3, looks=looks[:1]),
        LayerRow(layer="db", place="free page", kind="text", targets=3, looks=looks),
    )
    shown = collected(results(told, {}, tmp_path, layers=rows), told)
    (layers,) = shown.layers
    assert layers.stages == ("before", "closed", "compacted")
    assert [text for text, _ in layers.rows[0].looks] == ["3 of 3", "", ""]
    assert [text for text, _ in layers.rows[1].looks] == ["3 of 3", "\u25b2 2 left", "gone"]


@pytest.mark.slow
def test_a_run_without_drills_says_nothing_of_them(tmp_path: Path) -> None:
    folder: Folder = run(tmp_path)
    found = statements.compute_results(folder)
    assert found.trust == () and found.trust_definitions == {}
    assert 'id="trust"' not in html.write_page(found)


def test_a_cell_of_a_drill_names_the_version_that_was_played(told: Transcript) -> None:
    (cell,) = score([told])
    assert cell.version == told.drilled.backend.version == "1"


def test_progress_counts_a_measure_that_failed_and_calls_it_no_sound_one(tmp_path: Path) -> None:
    kill = Handled(step="killed", what="opened", fault=Fault(kind="crashed", op="open", message="gone"))
    made = transcript(tmp_path, PLAN, (kill,), drill="durability")
    failed = sum(each.status == "failed" for each in score([made])[0].measures.values())
    assert failed and f", {failed} failed" in progress.describe_drill(made)


def test_progress_measures_no_large_drill(told: Transcript) -> None:
    trial = told.trial.model_copy(update={"size": statements.LARGE})
    large = replace(told, drilled=told.drilled.model_copy(update={"trial": trial}))
    large.__dict__["plan"] = None  # whoever measures asks for it
    assert progress.describe_drill(large).endswith("5000 memories       complete, measured for the report")


def test_a_broken_promise_shows_its_steps_and_its_program_as_text() -> None:
    told = next(each for each in transcripts(BROKEN) if each.of(Broke))
    program = "import chromadb\nprint('<script>\u202e')"
    events = [each.model_copy(update={"program": program}) if isinstance(each, Broke) else each for each in told.events]
    told = replace(told, events=tuple(events))
    (cell,) = score([told])
    (receipt,) = evidence.describe_cases(cell, told, DEFINITIONS, REPLAY)
    assert receipt.says[:2] == ("1. remember a memory (m1) in repo=api", '2. list repo=api user=""')
    assert receipt.program == ("import chromadb", "print('<script>\u27e8U+202E\u27e9')")
    assert receipt.commands[-1].startswith("coldwarm promises --replay ")
