"""The scoreboard in a real browser: sorted, filtered and subset, both tables together, from keys and from a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Page
from tests.browser.conftest import Opener
from tests.browser.reading import change

TABLES = ("board-1", "board-2")
LEFT = "document.querySelector('#pick output').innerText"


def names(page: Page, table: str) -> list[str]:
    """The rows that are shown, from the top."""
    rows: list[str] = page.run(
        f"[...document.querySelectorAll('#{table} tbody tr')].filter((row) => row.getClientRects().length)"
        ".map((row) => row.dataset.row)"
    )
    return rows


def tick(page: Page, name: str, value: str) -> None:
    page.run(f"document.querySelector('#pick [name={name}][value={value}]').click()")


def judged(page: Page, column: str) -> dict[str, str]:
    """Backend -> the word of its cell."""
    found: dict[str, str] = page.run(
        f"Object.fromEntries([...document.querySelectorAll('.board td.{column}')]"
        ".map((cell) => [cell.parentElement.dataset.row, cell.classList[0]]))"
    )
    return found


def test_a_head_sorts_both_tables_words_last_and_no_memory_first(opened: Opener, report: Path) -> None:
    page = opened(report)
    head = "#board-1 .sort[data-sort=decisions]"
    for direction, rows in (("ascending", ["store", "keeper"]), ("descending", ["keeper", "store"])):
        page.click(head)
        assert page.run(f"document.querySelector('{head}').closest('th').ariaSort") == direction
        for table in TABLES:
            assert names(page, table) == ["cold", *rows, "absent"], direction
    page.click("#board-2 .sort[data-sort=name]")
    assert [names(page, table) for table in TABLES] == [["cold", "absent", "keeper", "store"]] * 2
    assert page.run("document.querySelectorAll('.board [aria-sort=ascending]').length") == 2
    assert page.complaints() == []


def test_a_share_sorts_before_a_larger_one_of_fewer_cases(opened: Opener, report: Path) -> None:
    """By the number that is meant, not by the letters of its cell."""
    page = opened(report)
    shares = page.run(
        "[...document.querySelectorAll('#board-1 td.decisions[data-value]')]"
        ".map((cell) => [Number(cell.dataset.value), cell.querySelector('a').textContent])"
    )
    for value, text in shares:
        hits, of = (int(part) for part in text.split(" of "))
        assert value == pytest.approx(hits / of)


def test_what_stands_beneath_the_first_number_is_never_bold(opened: Opener, report: Path) -> None:
    """The caption says of which way of writing the number in bold is: where nothing was judged, too."""
    page = opened(report)
    beneath = page.run(
        "[...document.querySelectorAll('#board-1 td.decisions')].filter((cell) => cell.querySelector('a'))"
        ".map((cell) => { const one = document.createElement('small');"
        " one.append(cell.querySelector('a').cloneNode(true)); cell.append(one);"
        " const [first, last] = [cell, one].map((each) => getComputedStyle(each.querySelector('a')).fontWeight);"
        " return [cell.classList[0], first, last]; })"
    )
    assert beneath and {tuple(each) for each in beneath} >= {("open", "600", "400")}
    assert {tuple(each[1:]) for each in beneath} == {("600", "400")}


def test_rows_are_found_by_name_by_what_they_are_good_in_and_by_choice(opened: Opener, report: Path) -> None:
    page = opened(report)
    change(page, "pick", "has", "KEEP")
    assert [names(page, table) for table in TABLES] == [["cold", "keeper"]] * 2
    assert page.run(LEFT) == "1 of 3 backends"
    page.click("#pick [type=reset]")
    assert len(names(page, "board-1")) == 4 and page.run(LEFT) == "3 of 3 backends"

    stale, gone = judged(page, "stale"), judged(page, "deleted")
    both = [row for row in ("keeper", "store", "absent") if stale[row] == gone[row] == "good"]
    assert 0 < len(both) < 3
    tick(page, "good", "stale")
    tick(page, "good", "deleted")
    assert [names(page, table) for table in TABLES] == [["cold", *both]] * 2
    assert page.text("#pick summary").endswith("Acts on stale, Deletion")

    page.click("#pick [type=reset]")
    tick(page, "row", "absent")
    tick(page, "row", "store")
    assert [names(page, table) for table in TABLES] == [["cold", "store", "absent"]] * 2


def test_what_was_chosen_stands_in_the_address_and_back_undoes_it(opened: Opener, report: Path) -> None:
    page = opened(report)
    page.click(".sort[data-sort=decisions]")
    tick(page, "row", "absent")
    tick(page, "row", "keeper")
    shown = names(page, "board-2")
    again = opened(report, page.run("location.hash"))
    assert names(again, "board-2") == shown == ["cold", "keeper", "absent"]
    ticked = "[...document.querySelectorAll('#pick input:checked')].map((one) => one.value)"
    assert again.run(ticked) == ["keeper", "absent"]
    page.run("history.back()")
    page.until(f"{LEFT} === '1 of 3 backends'")
    page.run("location.hash = 'glossary'")
    page.until(f"{LEFT} === '3 of 3 backends'")
    assert names(page, "board-1") == ["cold", "keeper", "store", "absent"], "a link elsewhere shows all, as listed"


def test_one_part_of_the_page_is_chosen_from_at_a_time(opened: Opener, report: Path) -> None:
    """As the address holds one state, and shows the same to whoever gets it."""
    page = opened(report, "#board?row=keeper")
    assert page.run(LEFT) == "1 of 3 backends"
    change(page, "filter", "backend", "store")
    assert page.run(LEFT) == "3 of 3 backends"


def test_what_nobody_offers_shows_no_row_and_does_no_harm(opened: Opener, report: Path) -> None:
    page = opened(report, "#board?sort=toString&good=nothing&down=7")
    assert names(page, "board-1") == ["cold"] and page.run(LEFT) == "0 of 3 backends"
    assert page.complaints() == []


def test_keys_choose_and_close_the_list(opened: Opener, report: Path) -> None:
    page = opened(report)
    page.run("document.querySelector('#pick summary').focus()")
    page.press("Enter")
    page.press("Tab")
    page.press(" ")
    assert page.run("document.activeElement.checked") is True and "good=" in page.run("location.hash")
    page.press("Escape")
    assert page.run("document.querySelector('#pick details').open") is False
    assert page.run("document.activeElement.localName") == "summary"


def test_a_phone_sorts_by_a_list(opened: Opener, report: Path) -> None:
    page = opened(report, width=360)
    assert page.run("document.querySelector('#pick [name=sort]').getClientRects().length") > 0
    change(page, "pick", "sort", "decisions")
    assert names(page, "board-1") == ["cold", "store", "keeper", "absent"]
    page.click("#pick [name=down]")
    assert names(page, "board-1") == ["cold", "keeper", "store", "absent"]
    wide = opened(report)
    assert wide.run("document.querySelector('#pick [name=sort]').getClientRects().length") == 0, "the heads sort there"


def test_a_phone_shows_each_row_as_a_card(opened: Opener, report: Path) -> None:
    """Name, version and numbers stand one below the other, in a frame that holds them."""
    page = opened(report, width=360)
    assert page.run(
        """[...document.querySelectorAll('.board tbody tr')].every(row => {
            const boxes = [...row.children].map(each => each.getBoundingClientRect()).filter(box => box.height);
            const frame = row.getBoundingClientRect();
            return boxes.every((box, at) => box.left >= frame.left && box.right <= frame.right
                && box.width > frame.width / 2 && (!at || box.top >= boxes[at - 1].bottom - 1));
        })"""
    )
