"""Ways through the page: contents in sight, each claim to its very case, back after a filter or a link."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import paths
from tests.browser.conftest import Opener
from tests.browser.reading import SHOWN, in_view

BACK = "history.back()"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_contents_are_always_in_sight(opened: Opener, report: Path, width: int) -> None:
    page = opened(report, width=width)
    for place in ("verdict", "cells", "glossary"):
        page.run(f"location.hash = '{place}'")
        page.until(f"Math.abs(document.getElementById('{place}').getBoundingClientRect().top) < 200")
        top = page.run("document.querySelector('nav.parts').getBoundingClientRect().top")
        assert -1 <= top <= 40, place
        reached = page.run(f"document.getElementById('{place}').getBoundingClientRect().top")
        assert reached >= page.run("document.querySelector('nav.parts').getBoundingClientRect().bottom") - 1, place


def test_the_first_key_skips_to_the_verdict(opened: Opener, report: Path) -> None:
    page = opened(report)
    page.press("Tab")
    assert page.run("document.activeElement.className") == "skip"
    page.press("Enter")
    page.until("location.hash === '#verdict'")
    assert in_view(page, "verdict")


@pytest.mark.parametrize("script", [True, False])
def test_each_claim_and_each_cell_leads_to_its_own_case(opened: Opener, report: Path, script: bool) -> None:
    """What it leads to is there, is opened, and is of that backend; without script, too."""
    page = opened(report, script=script)
    links = page.run(
        """[...document.querySelectorAll('.board tbody td a, a.claim')].map((one) => [
            one.closest('tr')?.cells[0].firstChild.textContent ?? one.textContent.split(' (')[0],
            one.getAttribute('href').slice(1), one.closest('td')?.dataset.head ?? ''])"""
    )
    assert len(links) > 10
    for backend, place, _ in links:
        page = opened(report, f"#{place}", script=script)
        found = page.run(
            f"""(() => {{
                const one = document.getElementById({json.dumps(place)});
                return [one !== null, !one?.closest('details:not([open])'), one?.closest('details')?.textContent ?? ''];
            }})()"""
        )
        assert found[:2] == [True, True], place
        if "--" in place:
            assert backend in found[2].split(":")[0], place
    stale = {backend: place for backend, place, head in links if head == "Acts on stale"}
    assert stale["store"] != stale["keeper"] and "store" in stale["store"]


def test_a_deleted_text_that_is_still_there_leads_to_the_receipt_of_that_backend(opened: Opener, report: Path) -> None:
    page = opened(report, script=False)
    place = page.run("document.querySelector('.board td[data-head=Deletion].bad a').getAttribute('href')")
    page = opened(report, place, script=False)
    shown = page.run(f"document.getElementById({json.dumps(place[1:])}).closest('details').innerText")
    assert "store" in shown and "sed -n" in shown


def test_back_undoes_a_filter_and_a_link(opened: Opener, report: Path) -> None:
    page = opened(report)
    every = page.run(f"{SHOWN}.length")
    page.run(
        """(() => {
            const control = document.forms.filter.elements.backend;
            control.value = "keeper";
            control.dispatchEvent(new Event("input", {bubbles: true}));
        })()"""
    )
    assert in_view(page, "filter"), "the result is scrolled to"
    few = page.run(f"{SHOWN}.length")
    assert few < every
    page.run("document.querySelector('a[href=\"#glossary\"]').click()")
    page.until("location.hash === '#glossary'")
    page.run(BACK)
    page.until(f"location.hash.startsWith('#cells?') && {SHOWN}.length === {few}")
    assert page.run("document.forms.filter.elements.backend.value") == "keeper"
    page.run(BACK)
    page.until(f"location.hash === '' && {SHOWN}.length === {every}")
    assert page.run("document.forms.filter.elements.backend.value") == ""


def test_typing_a_filter_is_one_step_back(opened: Opener, report: Path) -> None:
    page = opened(report)
    steps = page.run("history.length")
    for text in ("t", "tw", "twi"):
        page.run(
            f"""(() => {{
                const control = document.forms.filter.elements.has;
                control.value = "{text}";
                control.dispatchEvent(new Event("input", {{bubbles: true}}));
            }})()"""
        )
    assert page.run("history.length") == steps + 1


def test_a_filter_in_the_address_is_scrolled_to(opened: Opener, report: Path) -> None:
    assert in_view(opened(report, "#cells?backend=keeper"), "filter")


def test_the_name_of_a_measure_tells_its_definition_and_leads_to_it(opened: Opener, report: Path) -> None:
    page = opened(report)
    names = page.run(
        """[...document.querySelectorAll('table.measures tbody th a')].map((one) => [one.textContent, one.title,
            document.getElementById(one.getAttribute('href').slice(1))?.textContent ?? ''])"""
    )
    assert len(names) > 20
    for name, title, definition in names:
        assert "_" not in name and len(title) > 10 and name in definition and title in definition
    numbers = page.run(
        """[...document.querySelectorAll('table.board td a[data-term]')].map((one) => [one.title.split(': '),
            document.getElementById(`d-${one.dataset.term}`).textContent])"""
    )
    assert numbers and all(part in definition for parts, definition in numbers for part in parts)


def test_rows_of_drills_without_a_fault_are_folded(opened: Opener) -> None:
    """On the page of a real run, whose drills have rows of both kinds."""
    page = opened(paths.ROOT / "reports" / "sample" / "report.html", script=False)
    folded, shown = page.run(
        """['#trust ~ details tbody tr[id^=t-]', '#trust ~ .scroll tbody tr[id^=t-]'].map((rows) =>
            [...document.querySelectorAll(rows)].map((one) => [one.id, one.textContent.includes('\u25b2')]))"""
    )
    assert folded and shown
    assert [name for name, bad in folded if bad] == []
    assert any(bad for _, bad in shown)


def test_a_cell_that_nothing_links_to_is_found_by_its_id(opened: Opener) -> None:
    """As junit.xml names it: its row has no id of its own, to save bytes."""
    page = opened(paths.ROOT / "reports" / "sample" / "report.html")
    row = "#all-cells tr:not([id]):not(.group)"
    trial, read = page.run(
        f"(({{cells}}) => [cells[0].firstElementChild.hash.slice(1), cells[3].textContent.trim()])"
        f"([...document.querySelectorAll('{row}')].at(-1))"
    )
    page.run(f"location.hash = '{trial}-{read}'")
    page.until("document.querySelector('tr.meant') !== null")
    assert page.run(f"[...document.querySelectorAll('{row}')].at(-1).matches('.meant')")
    page.until("Math.abs(document.querySelector('tr.meant').getBoundingClientRect().top) < 900")
