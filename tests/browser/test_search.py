"""Receipts and timelines are searched in a real browser, packed ones too."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.folder import Folder
from harness.report.model import evidence
from harness.report.model.evidence import BadCase
from harness.report.outputs import page as html
from tests.browser.chromium import Page
from tests.browser.conftest import Opener
from tests.browser.reading import change, in_view, trees

COMMANDS = ("sed -n '3p' drills/a.jsonl",)


def left(view: str) -> str:
    return f"document.querySelector('form[data-view={view}] output').innerText"


def look(page: Page, view: str, text: str) -> None:
    page.run(f"document.querySelector('form[data-view={view}]').name = '{view}'")
    change(page, view, "has", text)


@pytest.fixture(scope="module")
def proven(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with receipts of a drill: two backends, two measures, texts of their own."""
    results, parts = evidence.read(folder)
    drill = results.trust[0].id
    cases = [
        BadCase(f"drill--{measure}-{at}", backend, measure, f"a.jsonl, line {at}", "", (text,), COMMANDS)
        for at, (backend, measure, text) in enumerate(
            [
                ("store", "text_gone_after_closing", "the pin 4711 lies in store.db"),
                ("store", "writes_kept", "came back: 3 memories"),
                ("keeper", "text_gone_after_closing", "the pin 0815 lies in keeper.db"),
            ]
        )
    ]
    seen = evidence.gather(results, parts)._replace(receipts={drill: cases})
    page = tmp_path_factory.mktemp("proven") / "report.html"
    page.write_text(html.render(results, seen), "utf-8")
    return page


def shown(page: Page) -> list[str]:
    found: list[str] = page.run(
        "[...document.querySelectorAll('details.receipt')].filter((one) => one.getClientRects().length)"
        ".map((one) => one.querySelector('[id]').id.split('--')[1])"
    )
    return found


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("STORE", ["text_gone_after_closing-0", "writes_kept-1"]),
        ("text_gone_after_closing", ["text_gone_after_closing-0", "text_gone_after_closing-2"]),
        ("store 4711", ["text_gone_after_closing-0"]),
        ("acknowledged writes lost", ["writes_kept-1"]),
        ("4711 0815", []),
        ("  ", ["text_gone_after_closing-0", "writes_kept-1", "text_gone_after_closing-2"]),
    ],
)
def test_receipts_are_found_by_backend_measure_and_text(
    opened: Opener, proven: Path, text: str, kept: list[str]
) -> None:
    page = opened(proven)
    look(page, "receipts", text)
    page.until(f"{left('receipts')} === '{len(kept)} of 3 receipts'")
    assert shown(page) == kept
    again = opened(proven, page.run("location.hash"))
    again.until(f"{left('receipts')} === '{len(kept)} of 3 receipts'")
    assert shown(again) == kept and again.complaints() == []
    again.click("form[data-view=receipts] [type=reset]")
    again.until(f"{left('receipts')} === '3 of 3 receipts'")
    assert len(shown(again)) == 3


def test_a_link_to_a_receipt_shows_it_even_if_it_was_searched_away(opened: Opener, proven: Path) -> None:
    page = opened(proven, "#receipts?has=keeper")
    page.until(f"{left('receipts')} === '1 of 3 receipts'")
    place = page.run("document.querySelector('details.receipt [id]').id")
    page.run(f"location.hash = '{place}'")
    page.until(f"{left('receipts')} === '3 of 3 receipts'")
    assert in_view(page, place)


def test_packed_timelines_are_found_by_what_they_hold(opened: Opener, report: Path) -> None:
    packed = trees(report)
    page = opened(report)
    total = page.run("document.querySelectorAll('details.timeline').length")
    holds = {trial for trial, words in packed.items() if "alphadeploy" in words and "superseded" in words}
    assert len(packed) == total and 0 < len(holds) < total
    look(page, "timelines", "superseded alphadeploy")
    page.until(f"{left('timelines')} === '{len(holds)} of {total} timelines'")
    found = page.run(
        "[...document.querySelectorAll('details.timeline')].filter((one) => one.getClientRects().length)"
        ".map((one) => one.querySelector('.told').id)"
    )
    assert set(found) == holds, "those in a fold, too, which was opened"
    page.run("location.hash = 'glossary'")
    page.until(f"{left('timelines')} === '{total} of {total} timelines'")


def test_words_that_were_typed_on_win_over_a_slower_search(opened: Opener, report: Path) -> None:
    page = opened(report)
    page.run(
        """(() => {
            const field = document.querySelector("form[data-view=timelines] input");
            for (const text of ["a", "alphadeploy", "nowhere at all"]) {
                field.value = text;
                field.dispatchEvent(new Event("input", {bubbles: true}));
            }
        })()"""
    )
    page.until(f"{left('timelines')}.startsWith('0 of')")
    page.run("new Promise((done) => setTimeout(done, 50))")
    assert page.run(left("timelines")).startswith("0 of")
