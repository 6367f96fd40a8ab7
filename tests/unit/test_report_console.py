"""The table on the terminal and the summary: same rows, same words, harmless whatever a backend is called."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from harness import compare
from harness.report import console, markdown, tables
from harness.results import Results
from tests.runs import run

HOSTILE = "[red]x[/]\x1b[2J|`@you`<b>"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return compare.results(run(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return compare.results(run(tmp_path_factory.mktemp("hostile"), label=HOSTILE))


def shown(results: Results, width: int = 80, **how: bool) -> str:
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False, **how)
    console.show(results, out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_table_fits_eighty_columns(results: Results, snapshot: SnapshotAssertion) -> None:
    text = "\n".join(line.rstrip() for line in shown(results).splitlines())
    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot


def test_the_summary(results: Results, snapshot: SnapshotAssertion) -> None:
    assert markdown.summary(results) == snapshot


def test_nothing_of_a_name_reaches_the_terminal_alive(hostile: Results) -> None:
    text = shown(hostile, width=120, force_terminal=True, no_color=True)
    assert "\x1b[2J" not in text
    assert "[red]x[/]" in text.replace("\n", "")


def test_without_colour_no_colour_is_sent(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(results, force_terminal=True)
    assert not [code for code in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m") if code in text]


def test_names_break_no_table_and_mention_nobody(hostile: Results) -> None:
    text = markdown.summary(hostile)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {len(tables.COLUMNS) + 2}
    assert not [mark for mark in ("@you", "<b>", "`@", "\x1b") if mark in text]


def test_rows_stand_by_name_and_controls_apart(results: Results) -> None:
    lines = tables.lines(results)
    assert [(line.name, line.group) for line in lines] == [
        ("absent", "ranked"), ("keeper", "ranked"), ("store", "ranked"),
        ("none", "control"), ("oracle", "control"), ("stale_oracle", "control"), ("cold", "cold"),
    ]  # fmt: skip
    assert {figure.text for figure in lines[0].figures} == {"not run"}


def test_remembering_nothing_never_reads_as_clean(results: Results) -> None:
    none = next(line for line in tables.lines(results) if line.name == "none")
    by_measure = dict(zip([column.measure for column in tables.COLUMNS], none.figures, strict=True))
    stale, deleted = by_measure["stale_use"], by_measure["deleted_from_bytes"]
    assert not stale.measured or "recalled nothing" in stale.note
    assert (deleted.text, deleted.measured) == ("unsupported", False)


def test_every_reason_for_a_missing_number_is_told_once(results: Results) -> None:
    missing = tables.missing(results)
    assert len({(each.word, each.reason, each.backends, each.measures) for each in missing}) == len(missing)
    told = {(name, backend) for each in missing for name in each.measures for backend in each.backends}
    for name, row in results.backends.items():
        for measure, pooled in row.measures.items():
            assert ((measure, name) in told) == bool(pooled.reasons)


def test_what_a_run_cannot_say_is_always_said(results: Results) -> None:
    text = " ".join(tables.cannot_say(results))
    assert "understands every text perfectly" in text
    assert "with 2 scenarios, fewer than 10, no interval is given" in text
    assert all(each.detectable in text for each in results.comparisons)
    assert text[:40] in " ".join(shown(results).split())
