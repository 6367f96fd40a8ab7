"""Timelines: what went wrong stands first and can be repeated, all of it is bounded, hostile text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness import metrics
from harness.adapter import Source, Verdict
from harness.compare import statements
from harness.compare.scoring import Frame, ScoredStory
from harness.log.folder import Folder
from harness.log.parts import Checked
from harness.log.reader import Log
from harness.metrics.view import Record
from harness.model.backend import Fault
from harness.model.results import Results
from harness.model.trial import Selection
from harness.paths import TEMPLATES
from harness.report import words
from harness.report.timeline import timelines as timeline
from harness.report.timeline.nodes import Node, describe_check, write_markup
from harness.report.timeline.repeat import Replay
from harness.report.timeline.session import Telling
from harness.report.timeline.timelines import Timeline, Timelines
from tests.support.logs import LURE, NEW, OLD, PEACE, Tape, cold, controls, hit
from tests.support.runs import run
from tests.support.trees import plain, unpacked

REPLAY = Replay(Selection(backends=()))
EVIL = "Deploy with alphadeploy <script>alert(1)</script> \u202e\x1b[2J\x00 {{ 7 * 7 }} \"' onclick=x"


def collect(results: Results, folder: Folder, step: int = 1) -> Timelines:
    """step: -1 is the other way round."""
    frame = Frame(results.run.conditions, frozenset(results.backends), len(folder.list_stories()))
    told = []
    for best, _ in list(folder.stories())[::step]:
        logs = list(best.values())[::step]
        cells, views = metrics.score_and_view(logs)
        told.append(timeline.tell_story(ScoredStory(frame, logs, views, cells), REPLAY))
    return timeline.assemble(results, filter(None, told))


@pytest.fixture(scope="module")
def found(folder: Folder, results: Results) -> Timelines:
    return collect(results, folder)


def text(tree: Node) -> str:
    """All that a reader sees, in order; one line an element of its own."""
    inner = "".join(each if isinstance(each, str) else text(each) for each in tree.children)
    return inner if tree.tag in ("b", "bdi", "span", "small", "code") else f"{inner}\n"


def nodes(tree: Node, tag: str, cls: str = "") -> Iterator[Node]:
    for child in tree.children:
        if isinstance(child, Node):
            if child.tag == tag and (not cls or cls in child.cls.split()):
                yield child
            yield from nodes(child, tag, cls)


def bad(found: Timelines) -> Timeline:
    return next(each for each in found.shown if each.title.startswith("store, rename/story"))


def told(log: Log, *others: Log, whole: bool = True) -> str:
    """All sessions of one log beside its controls."""
    view = metrics.views([log, *others])[0]
    return "".join(text(each) for each in Telling(view, whole).sessions())


# --- which, and where -------------------------------------------------------------------------------------------------


def test_every_played_trial_is_in_the_page_and_the_bad_ones_are_in_full(results: Results, found: Timelines) -> None:
    assert found.anchored == {cell.trial for cell in results.cells}
    assert {each.title for each in found.shown} == {
        f"{name}, {story}, append, noise 0"
        for name in ("store", "stale_oracle")
        for story in ("rename/story", "rename/twin")
    }
    assert {each.id for each in found.packed} == found.anchored - {each.id for each in found.shown}
    assert all(each.said for each in found.shown) and not any(each.said for each in found.packed)
    assert "4 of the 4 trials in which something went wrong" in found.says[0]
    for each in (*found.shown, *found.packed):
        assert each.block is not None and each.id in unpacked(found.blocks[each.block])


@pytest.mark.slow
def test_the_words_of_a_packed_timeline_are_those_of_the_tree(
    folder: Folder, results: Results, found: Timelines
) -> None:
    each = bad(found)
    assert each.block is not None
    whole = unpacked(found.blocks[each.block])[each.id]
    assert plain(each.body) != whole
    for line in text(each.body).splitlines():
        if "not shown here" not in line:
            assert line in said(whole)


def said(tree: list[Any]) -> str:
    return "".join(child if isinstance(child, str) else said(child) for child in tree[2:])


def test_a_source_in_another_repository_is_not_called_gone() -> None:
    told = describe_check(Checked(source=Source(), says="A foghorn is queued.", state="elsewhere"))
    assert "A foghorn is queued." in told and "in another repository" in told and "gone" not in told


def test_controls_come_last_and_every_backend_in_turn(
    folder: Folder, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "BOUND", 2)
    found = collect(results, folder)
    assert [each.title.partition(",")[0] for each in found.shown] == ["store", "store"]
    assert "2 of the 4 trials in which something went wrong" in found.says[0]
    monkeypatch.setattr(timeline, "BOUND", 60)
    monkeypatch.setattr(timeline, "IN_FULL", len(write_markup(found.shown[0].body)))
    assert len(collect(results, folder).shown) == 1


def test_one_backend_does_not_crowd_out_another(tmp_path: Path) -> None:
    made = run(tmp_path)
    more = run(tmp_path / "more", label="zeta")
    for path in (more.root / "logs").glob("zeta-*story*"):
        path.replace(tmp_path / "logs" / path.name)
    for path in (more.root / "blobs").glob("*/*"):
        (tmp_path / "blobs" / path.parent.name).mkdir(exist_ok=True)
        path.replace(tmp_path / "blobs" / path.parent.name / path.name)
    file = made.read()
    trial = next(each for each in more.read().trials if each.backend == "zeta")
    made.write(file.model_copy(update={"trials": (*file.trials, trial)}))
    found = collect(statements.compute_results(made), made)
    assert [each.title.partition(",")[0] for each in found.shown][:3] == ["store", "zeta", "store"]


def test_what_does_not_fit_is_left_out_and_counted(
    folder: Folder, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "PACKED", 2 * 2600)
    monkeypatch.setattr(timeline, "IN_FULL", 0)
    found = collect(results, folder)
    assert found.shown == () and sum(map(len, found.blocks)) <= 5200
    left = len({cell.trial for cell in results.cells}) - len(found.anchored)
    assert 0 < left < 12 and {each.id for each in found.packed} == found.anchored
    assert f"Left out to keep the page small, controls first: {left} timelines" in found.says[-1]
    assert any(each.title.startswith("keeper") for each in found.packed)


def test_what_single_questions_brought_goes_before_any_timeline_does(
    results: Results, folder: Folder, found: Timelines, monkeypatch: pytest.MonkeyPatch
) -> None:
    also = "Those of the rows that the headline compares also tell what each question brought"
    assert f"{also}." in found.says[1]
    monkeypatch.setattr(timeline, "PACKED", 2 * len(found.blocks[0]) - 2)
    some = collect(results, folder)
    assert f"{also}, in 1 of 2 stories." in some.says[1] and some.anchored == found.anchored


def test_again_the_same_bytes_whatever_the_order_of_the_logs(
    folder: Folder, results: Results, found: Timelines
) -> None:
    assert collect(results, folder, -1) == found


# --- what is told -----------------------------------------------------------------------------------------------------


def test_the_head_says_what_went_wrong_and_the_end_how_to_repeat_it(found: Timelines) -> None:
    each = bad(found)
    assert each.said.startswith("acted on a stale rule (2); deleted, and still in the stored bytes")
    head = text(next(nodes(each.body, "ul", "wrong")))
    assert "acted on a stale rule: Which tool? alphadeploy, where betadeploy is right" in head
    assert "2025-02-10, session second, reading trusting, newest, verifying and careful \u00b7 L" in head
    assert "deleted, and still in the stored bytes: pin, key" in head
    play, log = text(list(nodes(each.body, "pre"))[-1]).strip().splitlines()
    conditions = "-b store -s rename/story -n 0 --write append -d none --budget 100 -k 3"
    assert play == f"coldwarm run {conditions} --trial {each.id} --keep"
    assert log.startswith(f"sed -n 1p logs/{each.id}.1.jsonl")


def test_the_lines_that_the_head_names_are_those_of_the_log(folder: Folder, found: Timelines) -> None:
    each = bad(found)
    lines = (folder.root / "logs" / f"{each.id}.1.jsonl").read_text().splitlines()
    head = next(nodes(each.body, "ul", "wrong"))
    stale, number = re.search(r"(second|third), reading.*?L(\d+)", text(head)).groups()  # type: ignore[union-attr]
    assert f'"session":"{stale}"' in lines[int(number) - 1] and '"purpose":"decision"' in lines[int(number) - 1]


def test_a_stale_decision_stands_beside_its_contrasts_and_is_proven_from_git(found: Timelines) -> None:
    first = next(nodes(bad(found).body, "div", "decision"))
    assert first.cls == "decision bad"
    rows = [text(row).split() for row in nodes(next(nodes(first, "ul", "taken")), "li")]
    assert [" ".join(row) for row in rows] == [
        "trusting, newest, verifying, careful \u25b2 stale alphadeploy from memory, entry 1",
        "cold \u25b2 stale alphadeploy from the repository, somewhere",
        "oracle \u25cf right betadeploy from memory, entry 1",
        "stale oracle \u25b2 stale alphadeploy from memory, entry 1",
    ]
    entries = [text(row).strip() for row in nodes(next(nodes(first, "ol", "entries")), "li")]
    assert entries[0].startswith(f"\u25b2 superseded \u201c{OLD}\u201d decided here \u00b7 old \u00b7 ship.toml:3 @c1")
    assert "git: \u201ctool = 'x'\u201d, at this checkout: gone" in entries[0]
    assert entries[1].startswith(f"\u25cf current \u201c{NEW}\u201d gold \u00b7 new")


def test_what_the_backend_itself_says_of_a_hit_stands_beside_it(tmp_path: Path) -> None:
    told_of = hit(OLD, verdict=Verdict("superseded", "m7", "line 5 changed")), hit(NEW, verdict=Verdict("unverified"))
    tape = Tape(tmp_path).recall("decision", "order/tool", [*told_of, hit(OLD, superseded=True)], "second")
    shown = told(tape.work("order", {"tool": "betadeploy"}).log(), *controls(tmp_path))
    assert "called superseded by the backend, by m7 (line 5 changed)" in shown
    assert "called unverified by the backend" in shown and "marked as superseded by the backend" in shown


def test_a_source_gives_the_command_that_shows_its_line(tmp_path: Path) -> None:
    source = Source(commit="ab" * 20, path="docs/ship.md", line=7)
    tape = Tape(tmp_path).resolved("We use alphadeploy.", "same", commit=source.commit, path=source.path, line=7)
    tape.recall("decision", "order/tool", [hit(OLD, source=source), NEW], "second")
    shown = told(tape.work("order", {"tool": "alphadeploy"}).log(), *controls(tmp_path))
    assert "shop- show abababababab:docs/ship.md | sed -n 7p\n# memory cites: We use alphadeploy.\n" in shown


@pytest.mark.parametrize("path", ["$(reboot);x", "-x", "a b", "a\nb", "`id`"])
def test_a_source_that_is_no_plain_path_gives_no_command(tmp_path: Path, path: str) -> None:
    source = Source(commit="ab" * 20, path=path, line=7)
    tape = Tape(tmp_path).recall("decision", "order/tool", [hit(OLD, source=source)], "second")
    assert "git -C" not in told(tape.work("order", {"tool": "alphadeploy"}).log(), *controls(tmp_path))


def test_a_deletion_is_a_matrix_of_layers_before_and_after(found: Timelines) -> None:
    table = next(nodes(bad(found).body, "table", "matrix"))
    rows = {text(row.children[0]): [text(cell) for cell in row.children[1:]] for row in nodes(table, "tr")}  # type: ignore[arg-type]
    rows = {name.strip(): [cell.strip() for cell in cells] for name, cells in rows.items()}
    assert rows["where"] == ["before", "after", "closed, opened again"]
    assert rows["listing"] == ["2 of 2 seen", "\u25cb 0 of 2 seen", "\u25cb 0 of 2 seen"]
    assert rows["bytes: file (file)"] == ["2 of 2 seen", "\u2013 not looked", "\u2715 2 of 2 seen"]
    shown = text(bad(found).body)
    store = f"work/{bad(found).id}/store/file"
    assert f"grep -aobF -e cw-pin-41b7 -- {store}" in shown and "the backend says: gone" in shown


def test_what_was_never_seen_before_a_deletion_does_not_count_as_gone(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().look("before", {("search", "pin"): False}).scanned("before", "file")
    tape.forget("pin").look("after", {("search", "pin"): False}).scanned("after", "file", problem="locked")
    shown = told(tape.log())
    assert shown.count("never seen here") == 2 and "locked" in shown and "\u25cb 0 of 1" not in shown


def test_a_probe_says_how_many_phrasings_it_answered_and_shows_what_came_back(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").probe("tool-before", OLD).learn("second", "new")
    tape.probe("tool-after", OLD, NEW).probe("tool-after", stratum="paraphrase").probe(
        "tool-and-port", LURE, fault=PEACE
    )
    shown = told(tape.log(), whole=True)
    assert "\u25cf asked \u201ctool-before\u201d tool-before: 1 of 1 phrasing recalled" in shown
    assert "\u2715 asked \u201ctool-after\u201d tool-after: 1 of 2 phrasings recalled, the old one first" in shown
    assert "nothing came back" in shown and "crashed: the child\u27e8U+000A\u27e9ended with signal 9" in shown
    assert "right: old, \u201cDeploy with alphadeploy\u201d" in shown
    assert "not reached" in shown, "the story's other probes"
    brief = told(tape.log(), whole=False)
    assert "nothing came back" not in brief and "the old one first" in brief


def test_writes_say_what_they_replace_and_what_was_not_stored(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", ids=[("m1", "m2")]).learn("first", "port", ids=[()])
    tape.learn("second", "new", op="supersede", replaces=("m1",)).learn("second", "new")
    shown = told(tape.log())
    assert "+ \u201cDeploy with alphadeploy\u201d old \u00b7 session first \u00b7 became 2 memories" in shown
    assert (
        "\u2715 \u201cThe port is 8123\u201d port \u00b7 ship.toml:3 @c1 session first \u00b7 no id: nothing was stored"
        in shown
    )
    assert "new \u00b7 session second \u00b7 in place of 1 memory\n" in shown
    assert "new \u00b7 session second \u00b7 old holds no longer; it stays beside this\n" in shown


def test_entries_far_down_that_speak_of_nothing_are_counted_only(tmp_path: Path) -> None:
    hits = [f"Lunch {n}" for n in range(40)]
    hits[30] = NEW
    tape = Tape(tmp_path).recall("decision", "order/tool", hits, "second").work("order", {"tool": "alphadeploy"})
    shown = told(tape.log(), *controls(tmp_path))
    assert "31.\u25cf current \u201cDeploy with betadeploy\u201d" in shown and "\u2026 34 more" in shown
    assert "Lunch 4\u201d" in shown and "Lunch 5\u201d" not in shown
    assert "beyond the token budget" in shown


def test_a_trial_that_failed_says_why_and_one_that_is_unsupported_is_not_told(tmp_path: Path) -> None:
    failed = Tape(tmp_path).learn("first", "old").log("failed", Fault(kind="crashed", op="recall", message="gone"))
    refused = Tape(tmp_path, "other").log("unsupported", Fault(kind="refused", op="open", message="no key"))
    logs = [failed, refused, cold(tmp_path, None), *controls(tmp_path)]
    cells = metrics.score(logs)
    mine = [cell for cell in cells if cell.backend == "store"]
    assert timeline.describe_briefly(mine) == "failed: recall: gone"
    assert "\u2715 failed: recall: gone" in "".join(
        text(each) for each in timeline.describe_cases(Record(failed), mine)
    )


def test_what_was_not_measured_stands_with_its_reason(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().log()
    said = "".join(text(each) for each in timeline.describe_cases(Record(log), metrics.score([log])[:1]))
    assert said.startswith("Not measured here: ") and "deletes nothing" not in said
    assert "n/a (the controls oracle and stale_oracle were not run)" in said


# --- harmless ---------------------------------------------------------------------------------------------------------


def rendered(found: Timelines) -> str:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    page = "{% import 'timeline.html.j2' as time %}{% for e in all %}{{ time.timeline(e) }}{% endfor %}"
    return environment.from_string(page + "{{ time.blocks(found) }}").render(
        all=(*found.shown, *found.packed), found=found
    )


@pytest.mark.slow
def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    made = run(tmp_path, label="<i>$x_1$</i>", stale=EVIL, source=Source(commit="abcdef1", path="<b>;x", line=3))
    page = rendered(collect(statements.compute_results(made), made))
    assert "<script" not in page and "<i>" not in page and "<b>;" not in page and "onclick=x" in page
    assert "\u27e8U+202E\u27e9\u27e8U+001B\u27e9[2J\u27e8U+0000\u27e9" in page
    assert not {char for char in page if words.make_visible(char, lines=True) != char}


@pytest.mark.slow
def test_a_text_of_ten_megabytes_is_cut_and_its_size_is_said(tmp_path: Path) -> None:
    huge = "Deploy with alphadeploy " + "x" * 10_000_000
    tape = Tape(tmp_path).recall("decision", "order/tool", [hit(huge)], "second").work("order", {"tool": "alphadeploy"})
    shown = told(tape.log(), *controls(tmp_path))
    assert "[cut: 400 of 10,000,024 characters shown]" in shown and len(shown) < 20_000


def test_an_anchor_is_the_first_element_in_its_details(found: Timelines) -> None:
    page = rendered(found)
    ids = re.findall(r'</summary>\s*<div class="told" id="([^"]+)">', page)
    assert set(ids) == found.anchored and len(ids) == len(found.anchored)
    assert page.count('<template class="block">') == len(found.blocks) == 2
