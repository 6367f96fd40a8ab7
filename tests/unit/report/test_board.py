"""The scoreboard: a cell shows the gravest fault of its column, nothing unmeasured looks good, every output agrees."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from html import unescape
from typing import get_args

import pytest
from rich.console import Console

from harness import metrics
from harness.compare.rows import Way
from harness.metrics import columns, trust
from harness.metrics.columns import COLUMNS
from harness.model.cells import BrokenPromise
from harness.model.results import Results, Unplayed
from harness.model.trial import Definition, NotMeasured
from harness.report.model import board, ways
from harness.report.model.board import Board
from harness.report.model.table import MEANING, SHAPES, Judgement, ScoreboardCell
from harness.report.outputs import markdown, page, terminal
from harness.report.text import verdict
from tests.support.made_results import Said, play, results

ALL = {**metrics.DEFINITIONS, **trust.DEFINITIONS}
TRUST = [each for each in COLUMNS.values() if each.order and each != columns.PROMISES]
MEMBERS = [name for name, each in ALL.items() if each.column in {column.id for column in TRUST}]
HIDDEN = NotMeasured(status="not-applicable", reason="cannot be told: an unreadable log grew")


def list_members(column: str) -> list[str]:
    return [name for name in MEMBERS if ALL[name].column == column]


def good(definition: Definition) -> tuple[int, int]:
    return (20 if definition.better == "higher" else 0, 20)


def bad(definition: Definition, wrong: int = 1) -> tuple[int, int]:
    return (20 - wrong if definition.better == "higher" else wrong, 20)


def run(changed: Mapping[str, Said]) -> Results:
    """A backend that is as good as it can be, but for what is changed."""
    own = {name: changed.get(name, good(ALL[name])) for name in MEMBERS}
    stories = {name: [said] for name, said in own.items() if name in metrics.DEFINITIONS}
    return results({"x": stories}, {"x": {name: said for name, said in own.items() if name in trust.DEFINITIONS}})


def score(made: Results, name: str) -> ScoreboardCell:
    column = ALL[name].column
    assert column is not None
    return board.collect(made).find("x", column)


# --- what a cell shows ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMBERS)
def test_every_cell_of_trust_counts_what_failed_as_the_verdict_does(name: str) -> None:
    """Never what passed in one column and what failed in the next."""
    assert all(each.better == "lower" for each in COLUMNS.values() if each.order)
    wrong, clean = score(run({name: bad(ALL[name], 3)}), name), score(run({}), name)
    assert wrong.judgement == "bad" and wrong.text == "3 of 20" and wrong.cases[0].told.endswith("(3 of 20)")
    assert clean.judgement == "good" and clean.text == "0 of 20"


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMBERS)
def test_a_store_that_is_bad_in_one_measure_only_is_marked_in_its_column_alone(name: str) -> None:
    made = board.collect(run({name: bad(ALL[name])}))
    marked = {head.id for head in made.columns if made.find("x", head.id).judgement == "bad"}
    found = score(run({name: bad(ALL[name])}), name)
    assert marked == {ALL[name].column} and (found.measure, len(found.cases)) == (name, 1)
    assert found.text == ("19 of 20" if COLUMNS[ALL[name].column or ""].better == "higher" else "1 of 20")
    assert found.cases[0].told.endswith("(1 of 20)")


def test_the_gravest_is_shown_however_large_the_share_of_another() -> None:
    for column in TRUST:
        own = sorted(list_members(column.id), key=lambda name: ALL[name].gravity or 0)
        if ALL[own[0]].gravity == ALL[own[-1]].gravity:
            continue
        found = score(run({own[0]: bad(ALL[own[0]], 1), own[-1]: bad(ALL[own[-1]], 20)}), own[0])
        assert (found.measure, [case.measure for case in found.cases]) == (own[0], [own[0], own[-1]])


@pytest.mark.parametrize(
    ("said", "judgement", "text"),
    [("failed", "bad", "failed"), ("not-run", "open", "not run"), (HIDDEN, "open", "cannot be told")],
)
@pytest.mark.parametrize("column", [each.id for each in TRUST])
def test_a_cell_is_not_clean_of_what_is_unknown(column: str, said: Said, judgement: str, text: str) -> None:
    own = list_members(column)
    for name in (own[0], own[-1]):
        found = score(run({name: said}), name)
        assert (found.judgement, found.text, found.measured) == (judgement, text, False) and found.why
    clean = score(run({}), own[0])
    assert (clean.judgement, clean.word) == ("good", COLUMNS[column].clean)


@pytest.mark.parametrize("word", ["unsupported", "not-applicable"])
def test_what_a_store_cannot_do_is_neither_good_nor_bad(word: str) -> None:
    found = score(results({"x": {"recall": [(1, 1)]}}, {"x": {"leaks_by_listing": word}}), "leaks_by_listing")
    assert (found.judgement, found.measured, found.why) == ("open", False, f"why it is {word}")


def test_a_promise_is_held_over_operations_or_broken_by_a_sequence() -> None:
    held = results({}, {"x": {"broken_promises": (0, 448)}})
    assert (score(held, "broken_promises").text, score(held, "broken_promises").word) == (
        "448 operations",
        "no promise broken",
    )
    broken = results({}, {"x": {"broken_promises": (1, 2)}})
    (head,) = (each for each in board.collect(broken).columns if each.id == columns.PROMISES.id)
    assert head.beside == "operations tried" and head.asks.endswith(" Shown: operations tried.")
    promise = BrokenPromise(short="remember \u2192 entries", says="m1 is not listed", steps=("remember", "list"))
    for random, word in (("", "broken: remember \u2192 entries"), ("it was right", "broken, not every time")):
        told = broken.trust[0].model_copy(update={"promise": promise.model_copy(update={"random": random})})
        found = score(broken.model_copy(update={"trust": (told,)}), "broken_promises")
        assert (found.judgement, found.word, found.why) == ("bad", word, "m1 is not listed")


@pytest.mark.parametrize(
    ("hits", "word"), [(6, "not above chance"), (11, "little above chance"), (15, "some answers"), (20, "most answers")]
)
def test_recall_is_held_against_drawing_blindly(hits: int, word: str) -> None:
    own: dict[str, list[Said]] = {"recall": [(hits, 20)], "chance_at_k": [0.5]}
    made = play({"x": {Way("append", "trusting"): own}})
    assert board.collect(made).find("x", columns.RECALLED.id).word == word


def test_a_backend_that_could_not_run_keeps_its_row_and_nothing_measured_is_said() -> None:
    made = results({"x": {"recall": ["failed"]}})
    gone = made.run.model_copy(update={"unplayed": (Unplayed(backend="letta", reason="no server", allowed=True),)})
    found = board.collect(made.model_copy(update={"run": gone}))
    assert {(each.text, each.judgement) for each in found.rows[-1].scores} == {("not run", "open")} and found.empty
    (only,) = verdict.judge(made.model_copy(update={"run": gone}), found)
    assert only.text == "Nothing was measured of any backend. letta could not run: no server."


def test_what_stands_in_no_column_is_not_called_unmeasured() -> None:
    """As in a run of one poison drill: what a reader does with planted memories is in the tables alone."""
    made = results({}, {"x": {"attacks_retrieved": (3, 6)}})
    (only,) = verdict.judge(made, board.collect(made))
    assert (
        only.text == "What was measured is in no column of the scoreboard: the tables have it." and only.tone != "bad"
    )


def test_every_judgement_has_a_shape_and_a_word_of_its_own() -> None:
    assert len(set(SHAPES.values())) == len(set(MEANING.values())) == len(get_args(Judgement))


# --- one model, every output ------------------------------------------------------------------------------------------


def many() -> Results:
    """Rows of every kind, under both write policies and two ways of reading."""

    def own(hits: int, stale: int) -> dict[str, list[Said]]:
        right: list[Said] = [(hits, 4)] * 12
        return {
            "decisions_right": right, "jobs_done": right, "recall": right, "stale_use": [(stale, 4)] * 12,
            "chance_at_k": [0.1] * 12, "tokens_total": [1234.0] * 12, "tokens_per_job": ["failed"] * 12,
            "source_verified": ["unsupported"] * 12,
        }  # fmt: skip

    ways = [Way("append", "trusting"), Way("append", "newest"), Way("curated", "trusting"), Way("curated", "newest")]
    drills: dict[str, dict[str, Said]] = {
        "high": {"leaks_by_listing": (0, 20), "writes_kept": (20, 20), "text_gone_after_closing": HIDDEN},
        "low": {"leaks_by_listing": (3, 20), "writes_kept": "failed", "text_gone_after_closing": "unsupported"},
    }
    rows = {
        "high": dict(zip(ways, (own(3, 0), own(3, 1), own(4, 0), own(3, 0)), strict=True)),
        "even": dict.fromkeys(ways, own(2, 1)),
        "low": dict(zip(ways, (own(0, 4), own(1, 3), own(0, 4), own(0, 4)), strict=True)),
    }
    return play(rows, own(2, 0), drills=drills)


@pytest.fixture(scope="module")
def made() -> Results:
    return many()


def marks(found: Board) -> dict[tuple[str, str], tuple[str, str]]:
    """Row and column -> its mark, if it has one, and its number."""
    return {
        (row.name, head.head): ("" if score.judgement == "open" else score.shape, score.text)
        for row in found.rows
        for head, score in zip(found.columns, row.scores, strict=True)
    }


def show(made: Results, width: int) -> str:
    """What the terminal has."""
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    terminal.show(made, out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def read_terminal(made: Results, width: int) -> dict[tuple[str, str], tuple[str, str]]:
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for part in show(made, width).split("\n\n"):
        head, *lines = [line for line in part.splitlines() if line] or [""]
        if "backend" not in head:
            head, *lines = lines or [""]
        if not head.startswith("backend"):
            continue
        names = re.split(r"\s{2,}", head.strip())
        starts = [head.index(name) for name in names]
        for line in (each for each in lines if not each.startswith(" ")):
            cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            for name, cell in zip(names[1:], cells[1:], strict=True):
                found[cells[0], name] = _split(cell)
    return found


def _split(cell: str) -> tuple[str, str]:
    mark = cell[:1] if cell[:2].endswith(" ") and cell[:1] in SHAPES.values() else ""
    return mark, cell.removeprefix(mark).strip()


def read_summary(made: Results) -> dict[tuple[str, str], tuple[str, str]]:
    lines = [
        line.strip("| ").split(" | ") for line in markdown.write_summary(made).splitlines() if line.startswith("| ")
    ]
    heads, rows = lines[0], lines[2:]
    found = {}
    for name, *cells in rows:
        for head, cell in zip(heads[1:], cells, strict=True):
            text = unescape(re.sub(r"\*", "", cell))
            numbers = re.sub(r" \(.*", "", text) if " (" in text else text
            found[re.sub(r"</code>.*|<code>", "", name), head] = _split(numbers)
    return found


ROW = re.compile(r'<tr[^>]*data-row="[^"]+"><th scope="row">([^<]+)(.*?)(?=<tr|</tbody>)', re.DOTALL)
CELL = re.compile(r'<td class="(\w+) [^"]*" data-head="([^"]+)"(.*?)(?=<td|$)', re.DOTALL)
NUMBER = re.compile(r'>(?:<span class="mark"[^>]*>[^<]*</span>)?([^<>]+)</(?:a|span)>')


def read_page(made: Results) -> dict[tuple[str, str], tuple[str, str]]:
    found = {}
    for name, cells in ROW.findall(page.write_page(made)):
        for judgement, head, told in CELL.findall(cells):
            text = next(each for each in NUMBER.findall(told) if each not in SHAPES.values())
            found[name, head] = "" if judgement == "open" else SHAPES[judgement], unescape(text)
    return found


@pytest.mark.slow
def test_terminal_summary_and_page_show_the_same_mark_and_number_in_every_cell(made: Results) -> None:
    expected = marks(board.collect(made))
    assert len(expected) > 20 and {mark for mark, _ in expected.values()} == {*SHAPES.values(), ""} - {SHAPES["open"]}
    for shown in (read_terminal(made, 80), read_terminal(made, 200), read_summary(made), read_page(made)):
        assert shown == expected


def paid() -> Results:
    """Jobs at a thousand tokens a story: more are done by one row than by no memory, none by the other."""

    def own(done: int) -> dict[str, list[Said]]:
        hits: list[Said] = [(done, 4)] * 6
        spent: dict[str, list[Said]] = {"tokens_total": [1000.0] * 6, "tokens_per_job": ["not-applicable"] * 6}
        spent["source_verified"] = ["unsupported"] * 6
        return {"decisions_right": hits, "jobs_done": hits, "stale_use": hits, "recall": hits, **spent}

    ways = [Way("append", "trusting"), Way("append", "newest"), Way("curated", "trusting"), Way("curated", "newest")]
    rows = {"able": (1, 1, 2, 3), "a-name-that-is-long-to-fold": (0, 0, 0, 0)}
    return play({name: dict(zip(ways, map(own, jobs), strict=True)) for name, jobs in rows.items()}, own(1))


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_terminal_says_on_how_many_jobs_a_cost_rests_as_every_output_does(width: int) -> None:
    text = show(paid(), width)
    assert max(map(len, text.splitlines())) <= width
    table = text.partition("\u25cf good")[0]
    assert re.findall(r"  (\S+ of 24 jobs)", table) == ["6 of 24 jobs", "12\u201318 of 24 jobs"]
    assert re.search(r"333\u2013500 .*\n.*12\u201318 of 24 jobs.*\n.*append 1,000", table)
    for other in (markdown.write_summary(paid()), page.write_page(paid())):
        assert other.count("12\u201318 of 24 jobs done, without memory 6") == 1


@pytest.mark.slow
def test_terminal_summary_and_page_end_with_the_same_sentences(made: Results) -> None:
    plain = [show(made, 200), markdown.write_summary(made), unescape(re.sub(r"<[^>]+>", "", page.write_page(made)))]
    for line in verdict.judge(made, board.collect(made)):
        assert all(line.text in " ".join(text.split()) for text in plain), line.text


def test_a_time_says_at_its_head_that_a_drill_took_it() -> None:
    made = board.collect(results({}, {"x": {"recall_seconds": 0.008}}))
    (head,) = (each for each in made.columns if each.id == columns.SPEED.id)
    assert "drill" in head.head.lower() and "drill keeping" in head.beside
    assert trust.DEFINITIONS["recall_seconds"].column == head.id
    assert [each.drill for each in trust.METRICS if each.definition.name == "recall_seconds"] == ["keeping"]


def test_tables_say_what_the_scoreboard_shows_instead_only_where_it_does(made: Results) -> None:
    told = ways.tell_primary(made)
    assert told.endswith(
        "The scoreboard shows each backend under the way of writing that suits it best and ranges over the ways of "
        "reading."
    )
    one = play({"x": {Way("append", "trusting"): {"recall": [(1, 2)]}}})
    assert ways.tell_primary(one) == (
        "One way of working for all rows: write append (the agent only adds notes), read trusting (it takes the first "
        "note it gets), noise 0."
    )
