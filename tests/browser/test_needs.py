"""What do you need? Rows that fit all that is ticked, why the others do not, from keys and without a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Page
from tests.browser.conftest import Opener
from tests.browser.reading import change

STATES = (
    "Object.fromEntries([...document.querySelectorAll('.choices tbody tr')]"
    ".map((row) => [row.dataset.row, row.className]))"
)


def states(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.run(STATES)
    return found


def tick(page: Page, need: str) -> None:
    page.click(f"#choose [value={need}]")


def reasons(page: Page, row: str) -> list[str]:
    """The reasons that are shown of a row, by need."""
    found: list[str] = page.run(
        f"[...document.querySelectorAll('.choices [data-row={row}] li')]"
        ".filter((one) => one.getClientRects().length).map((one) => one.dataset.need)"
    )
    return found


def test_each_tick_narrows_and_says_why(opened: Opener, report: Path) -> None:
    page = opened(report)
    assert page.run("document.getElementById('choices').hidden") is True, "nothing is asked for yet"
    assert page.text("#answer") == ""
    tick(page, "reset")
    alone = states(page)
    tick(page, "deletion")
    both = states(page)
    assert set(alone.values()) <= {"fits", "open", "out"} and alone["absent"] == "open"
    assert all(both[row] == "out" for row, state in alone.items() if state == "out"), "no need takes back another"
    assert both["store"] == "out" and "deletion" in reasons(page, "store")
    fit = [row for row, state in both.items() if state == "fits"]
    assert page.text("#answer").startswith(f"{len(fit)} of 3 fit")
    order = ["fits", "open", "out"]
    assert sorted(both.values(), key=order.index) == list(both.values()), "those that fit stand first"
    assert page.complaints() == []


def test_a_budget_counts_the_worst_way_of_reading_and_stands_in_the_address(opened: Opener, report: Path) -> None:
    page = opened(report)
    paid = page.run("Number(document.querySelector('.choices [data-row=keeper]').dataset.tokens)")
    for budget, within in ((int(paid) + 1, True), (int(paid) - 1, False)):
        change(page, "choose", "budget", str(budget))
        assert ("budget" in reasons(page, "keeper")) is not within or states(page)["keeper"] == "open"
    assert states(page)["keeper"] == "out"
    again = opened(report, page.run("location.hash"))
    assert states(again) == states(page)
    again.click("#choose [type=reset]")
    assert set(states(again).values()) == {""}


def test_the_price_of_tokens_says_what_a_job_costs(opened: Opener, report: Path) -> None:
    page = opened(report, "#choose?price=2.5")
    row = "document.querySelector('.choices [data-row=keeper]')"
    low, high = (page.run(f"Number({row}.dataset.{name})") for name in ("low", "tokens"))
    ends = dict.fromkeys(f"{float(f'{each * 2.5e-6:.2g}'):g}" for each in (low, high))
    assert page.run(f"{row}.querySelector('.money').textContent").endswith(f"{'–'.join(ends)} for each completed job")
    assert page.run("document.querySelector('.choices').checkVisibility()") is True
    change(page, "choose", "price", "0")
    assert page.run(f"{row}.querySelector('.money').textContent") == ""


def test_what_fits_is_shown_on_the_scoreboard_by_a_link(opened: Opener, report: Path) -> None:
    page = opened(report, "#choose?need=inspected")
    fit = [row for row, state in states(page).items() if state == "fits"]
    assert fit
    page.click("#answer a")
    page.until(f"document.querySelector('#pick output').innerText === '{len(fit)} of 3 backends'")
    assert page.run("location.hash").startswith("#board?row=")
    shown = page.run(
        "[...document.querySelectorAll('#board-1 tbody tr:not(.cold)')].filter((row) => !row.hidden)"
        ".map((row) => row.dataset.row)"
    )
    assert sorted(shown) == sorted(fit)


def test_what_nobody_offers_asks_for_nothing(opened: Opener, report: Path) -> None:
    page = opened(report, "#choose?need=magic&budget=-7")
    assert set(states(page).values()) == {""} and page.text("#answer") == ""
    assert page.complaints() == []


def test_paper_says_what_was_asked_for(opened: Opener, report: Path) -> None:
    page = opened(report, "#choose?need=server&budget=4000")
    with page.media("print"):
        assert page.text("#answer").endswith(": No server may run; at most 4,000 tokens a job.")
        assert page.run("document.querySelector('.choices').checkVisibility()") is True


def test_a_backend_is_found_by_name(opened: Opener, report: Path) -> None:
    page = opened(report)
    change(page, "choose", "has", "KEEP")
    shown = page.run(
        "[...document.querySelectorAll('.choices tbody tr')].filter((row) => row.getClientRects().length)"
        ".map((row) => row.dataset.row)"
    )
    assert shown == ["keeper"]


def test_keys_tick_and_the_answer_is_said(opened: Opener, report: Path) -> None:
    page = opened(report)
    page.run("document.querySelector('#choose input').focus()")
    page.press(" ")
    assert "need=" in page.run("location.hash") and " of 3 fit" in page.text("#answer")
    assert page.run("document.getElementById('answer').role") == "status"


@pytest.mark.parametrize("script", [True, False])
def test_without_a_script_each_need_is_answered_by_itself(opened: Opener, report: Path, script: bool) -> None:
    page = opened(report, script=script)
    seen = "document.querySelector('{}').checkVisibility()"
    assert page.run(seen.format("#choose")) is script
    assert page.run(seen.format("#each dl")) is not script
    assert page.run("document.querySelector('#each dl').textContent").count("has to") > 2
