"""`report.html` in a real browser, opened from the disk as a reviewer does: cells, receipts, keys."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from harness.log.events import Wrote
from harness.log.folder import Folder
from tests.browser.chromium import Page
from tests.browser.conftest import Opener
from tests.browser.reading import A4, ROWS, SHOWN, UNFOLDED, in_view, squeezed, trees, unfolded

LEFT = "Number(document.querySelector('#filter output').textContent.match(/[\\d,]+/)[0].replaceAll(',', ''))"


def column(page: Page, place: int) -> list[str]:
    """What a column of the cells shows, from the first row on."""
    shown: list[str] = page.run(f"{SHOWN}.map((row) => row.cells[{place}].textContent.trim())")
    return shown


def head(place: int) -> str:
    return f"#all-cells thead th:nth-child({place + 1})"


def sorted_by(page: Page, place: int) -> str | None:
    said: str | None = page.run(f"document.querySelector('{head(place)}').getAttribute('aria-sort')")
    return said


def place_of(page: Page, name: str) -> int:
    """The column of a head."""
    heads = page.run("[...document.querySelectorAll('#all-cells thead th')].map((one) => one.textContent)")
    return next(at for at, text in enumerate(heads) if text.strip().startswith(name))


# --- a clean page -----------------------------------------------------------------------------------------------------


def test_nothing_is_asked_for_and_nothing_complains(opened: Opener, report: Path) -> None:
    page = unfolded(opened(report))
    assert page.requests() == [report.as_uri()]
    assert page.complaints() == []


@pytest.mark.parametrize(("width", "medium", "scheme"), [(1280, "", "dark"), (360, "", ""), (A4, "print", "")])
def test_axe_finds_nothing(opened: Opener, report: Path, axe: str, width: int, medium: str, scheme: str) -> None:
    page = unfolded(opened(report, width=width))
    with page.media(medium, prefers_color_scheme=scheme, prefers_reduced_motion="reduce"):
        page.run(f"{axe}; 0")
        found = page.run("axe.run({resultTypes: ['violations']}).then((said) => said.violations)")
    assert [(each["id"], [node["target"] for node in each["nodes"]][:5]) for each in found] == []


def test_nothing_moves_and_a_dark_desktop_gets_a_dark_page(opened: Opener, report: Path) -> None:
    page = opened(report)
    seen = "[...document.querySelectorAll('body, select, input')].map((one) => getComputedStyle(one).backgroundColor)"
    light = page.run(seen)
    with page.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce"):
        dark = page.run(seen)
        assert len(set(dark)) == 1 and not set(dark) & set(light)
        assert page.run("document.getAnimations().length") == 0
    with page.media("print", prefers_color_scheme="dark"):
        assert page.run(seen) == light, "paper is white"


# --- cells: sort, filter, links ---------------------------------------------------------------------------------------


def test_a_click_on_a_head_sorts_numbers_as_numbers_and_words_last(opened: Opener, report: Path) -> None:
    page = opened(report)
    place = place_of(page, "tokens")
    figures = ["9", "1,204", "85", "\u2265 348", "12/24", "n/a", "<i>unsupported</i>"]
    page.run(
        f"""{ROWS}.forEach((row, at) => {{
            row.cells[{place}].textContent = {json.dumps(figures[:5])}[at] ?? "";
            if (at === 5) row.cells[{place}].append(Object.assign(document.createElement("i"), {{textContent: "n/a"}}));
        }})"""
    )
    assert sorted_by(page, place) is None
    page.click(f"{head(place)} .sort")
    assert sorted_by(page, place) == "ascending"
    assert column(page, place)[:5] == ["12/24", "9", "85", "\u2265 348", "1,204"]
    page.click(f"{head(place)} .sort")
    assert sorted_by(page, place) == "descending"
    assert column(page, place)[:5] == ["1,204", "\u2265 348", "85", "9", "12/24"]
    assert set(column(page, place)[5:]) == {"", "n/a"}
    page.click(f"{head(0)} .sort")
    assert (sorted_by(page, place), sorted_by(page, 0)) == (None, "ascending")
    assert column(page, 0) == sorted(column(page, 0), key=str.lower)


def test_a_filter_counts_and_stands_in_the_address(opened: Opener, report: Path) -> None:
    page = opened(report)
    all_rows = page.run(f"{ROWS}.length")
    assert page.run(LEFT) == all_rows
    page.run(
        """(() => {
            for (const [name, value] of [["backend", "keeper"], ["has", "TWIN"]]) {
                const control = document.forms.filter.elements[name];
                control.value = value;
                control.dispatchEvent(new Event("input", {bubbles: true}));
            }
        })()"""
    )
    assert set(column(page, 1)) == {"keeper"} and all("twin" in text for text in column(page, 0))
    assert 0 < page.run(LEFT) == len(column(page, 1)) < all_rows
    page.click(f"{head(3)} .sort")
    again = opened(report, page.run("location.hash"))
    assert column(again, 0) == column(page, 0) and column(again, 3) == column(page, 3)
    assert again.run("document.forms.filter.elements.has.value") == "TWIN" and sorted_by(again, 3) == "ascending"
    again.click("#filter button[type=reset]")
    again.until(f"{LEFT} === {all_rows}")
    assert len(column(again, 0)) == all_rows and sorted_by(again, 3) is None


def test_a_link_to_a_cell_shows_it_even_if_it_was_filtered_away(opened: Opener, report: Path) -> None:
    page = opened(report, "#cells?backend=keeper")
    cell = page.run(f"{ROWS}.find((row) => row.cells[1].textContent === 'store').id")
    page.run(f"location.hash = {json.dumps(cell)}")
    page.until(f"document.getElementById({json.dumps(cell)}).getClientRects().length > 0")
    assert in_view(page, cell)
    assert in_view(opened(report, f"#{cell}"), cell)


def test_a_fragment_that_leads_nowhere_does_no_harm(opened: Opener, report: Path) -> None:
    for fragment in (
        "#nothing-here",
        "#%E0%A4%A",
        "#cells?sort=99",
        "#cells?sort=x&down=1",
        "#board?sort=-1&good=x",
        "#receipts?sort=1",
        "#?",
    ):
        page = opened(report, fragment)
        assert page.complaints() == [], fragment
        assert len(column(page, 0)) == page.run(f"{ROWS}.length"), fragment


# --- receipts ---------------------------------------------------------------------------------------------------------


def test_from_a_figure_in_two_clicks_to_a_timeline(opened: Opener, report: Path) -> None:
    """What `store` recalls, the cells of it, and in the timeline of one the error with its evidence."""
    page = opened(report)
    page.click(".board tr[data-row=store] td.recalled a")
    page.until("document.querySelectorAll('#all-cells tr:target').length")
    cell = page.run("location.hash.slice(1)")
    assert in_view(page, cell)
    page.run(f"document.getElementById({json.dumps(cell)}).parentElement.querySelector('a').id = 'second'")
    page.click("#second")
    page.until("document.querySelector('details[open] .told:target')?.innerText.includes('alphadeploy')")
    trial = page.run("location.hash.slice(1)")
    assert in_view(page, trial)
    told = page.text(f"[id='{trial}']")
    for word in ("stale", "superseded", "git -C", "coldwarm run"):
        assert word in told, word


def test_every_packed_timeline_unfolds_and_says_what_its_log_says(opened: Opener, report: Path, folder: Folder) -> None:
    packed, (logs, _) = trees(report), folder.logs()
    assert packed
    page = unfolded(opened(report))
    for trial, words in packed.items():
        told = f"document.getElementById({json.dumps(trial)}).textContent"
        page.until(f"{told}.replace(/\\s/g, '') === {json.dumps(squeezed(words))}")
        for wrote in (event for event in logs[trial].events if isinstance(event, Wrote)):
            for written in logs[trial].items(wrote):
                assert written.item.text in words, trial
    assert page.complaints() == []


def test_a_link_to_a_packed_timeline_opens_it(opened: Opener, report: Path) -> None:
    page = opened(report)
    packed = page.run("document.querySelector('details[data-block] .told').id")
    page = opened(report, f"#{packed}")
    page.until(UNFOLDED)
    assert in_view(page, packed)
    assert squeezed(page.text(f"[id='{packed}']")).startswith(squeezed(trees(report)[packed])[:40])


# --- without a mouse --------------------------------------------------------------------------------------------------


def test_keys_reach_everything_in_order_and_show_where_they_are(opened: Opener, report: Path) -> None:
    page = opened(report)
    page.run(
        """window.known = [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex]')]
            .filter((one) => one.checkVisibility({contentVisibilityAuto: false}) && one.getClientRects().length)"""
    )
    stops = page.run("known.length")
    assert stops > 20
    for at in range(min(stops, 60)):
        page.press("Tab")
        seen = page.run(
            "[known.indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle, "
            "document.activeElement.outerHTML.slice(0, 100)]"
        )
        assert seen[0] == at and seen[1] != "none", seen
    assert page.run("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length") == 0


@pytest.mark.parametrize("key", ["Enter", " "])
def test_keys_sort_and_open(opened: Opener, report: Path, key: str) -> None:
    page = opened(report)
    page.run(f"document.querySelector('{head(0)} .sort').focus()")
    page.press(key)
    assert sorted_by(page, 0) == "ascending"
    page.run("document.querySelector('details:not([open]) > summary').focus()")
    page.press(key)
    assert page.run("document.activeElement.parentElement.open") is True


def test_what_scrolls_aside_can_be_focused_and_has_a_name(opened: Opener, report: Path) -> None:
    page = unfolded(opened(report, width=360))
    found = page.run(
        """[...document.querySelectorAll('main *')].filter((one) => one.scrollWidth > one.clientWidth + 1
            && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
            .map((one) => [one.tabIndex, one.getAttribute('role'), one.getAttribute('aria-label')])"""
    )
    assert found and all(place == 0 and role == "region" and label for place, role, label in found)


def test_every_control_and_picture_has_a_name_and_heads_skip_no_level(opened: Opener, report: Path) -> None:
    page = opened(report)
    levels = page.run("[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    pictures = page.run(
        """[...document.querySelectorAll('svg:not([aria-hidden])')].map((one) => [one.getAttribute('role'),
            (one.getAttribute('aria-labelledby') ?? '').split(' ')
            .map((id) => document.getElementById(id)?.textContent ?? '').join(' ')])"""
    )
    assert pictures and all(role == "img" and len(name.strip()) > 20 for role, name in pictures)
