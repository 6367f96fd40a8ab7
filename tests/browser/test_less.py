"""`report.html` with less than a browser: no script, no style, a phone, paper. It is complete all the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.conftest import Opener, lacking
from tests.browser.reading import A4, OPEN, ROWS, SHOWN, TOLD, squeezed, unfolded

FORMS = "[...document.querySelectorAll('form')]"
JENKINS = "default-src 'none'; img-src 'self'; style-src 'self'"
"""What Jenkins lets an artifact do."""


def printed(pdf: bytes) -> tuple[list[tuple[str, float]], float]:
    """The words of a file with their right ends, and the width of its pages."""
    if not shutil.which("pdftotext"):
        lacking("no pdftotext here: make browser")
    told = subprocess.run(["pdftotext", "-bbox", "-", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    pages = ElementTree.fromstring(told).iter("{http://www.w3.org/1999/xhtml}page")
    widths, words = set(), []
    for each in pages:
        widths.add(float(each.attrib["width"]))
        words += [(word.text or "", float(word.attrib["xMax"])) for word in each]
    (width,) = widths
    return words, width


def test_without_script_the_page_is_complete(opened: Opener, report: Path) -> None:
    page = opened(report, script=False)
    dead = "[...document.querySelectorAll('button, form, select')].some((one) => one.getClientRects().length)"
    assert page.run(dead) is False
    assert page.run(f"{SHOWN}.length") == page.run(f"{ROWS}.length") > 0
    page.run(OPEN)
    said = page.run(TOLD)
    for word in (
        "Which memory should this agent use?",
        "acts on no stale rule",
        "alphadeploy",
        "git -C",
        "coldwarm run",
        "not installed",
    ):
        assert word in said, word
    folded = page.run("[...document.querySelectorAll('details[data-block] .told')].map((one) => one.textContent)")
    assert folded and all(re.search(r"script|log", text) for text in folded)


def test_stripped_as_a_ci_server_does_it_reads_in_order(opened: Opener, report: Path, tmp_path: Path) -> None:
    text = report.read_text("utf-8")
    page = tmp_path / "stripped.html"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{JENKINS}">'
    page.write_text(text.replace("<head>", f"<head>{policy}", 1))
    bare = opened(page)
    assert bare.run("getComputedStyle(document.querySelector('h1')).letterSpacing") == "normal"  # no style of ours
    said = bare.run(TOLD)
    order = [
        said.index(word)
        for word in (
            "coldwarm 9.9",
            "Which memory should this agent use?",
            "The agent's work",
            "What the memory can be trusted with",
            "Which one, and what will it cost?",
            "The comparisons that each point of the verdict rests on",
            "This run cannot say",
            "Every trial under every read policy",
            "predict how often an agent succeeds",
        )
    ]
    assert order == sorted(order)
    assert "Sort" not in said and bare.run(f"{FORMS}.some((one) => one.getClientRects().length)") is False
    sizes = bare.run("[...document.querySelectorAll('figure svg')].map((one) => one.getBoundingClientRect().height)")
    assert sizes and all(height > 20 for height in sizes)


@pytest.mark.parametrize("everything", [False, True])
def test_a_phone_never_scrolls_sideways(opened: Opener, report: Path, everything: bool) -> None:
    page = opened(report, width=360)
    if everything:
        unfolded(page)
    assert page.run("document.scrollingElement.scrollWidth") <= 360


def test_on_paper_the_verdict_and_what_it_rests_on_fit_four_pages_and_nothing_is_cut(
    opened: Opener, report: Path
) -> None:
    """What is folded on the screen is told on paper."""
    page = opened(report)
    wanted = page.run(
        """[...document.querySelectorAll(
            'h1, h2, h3, main p, main li, th[scope=row], dl:not(.needs) > dd, summary, pre, figcaption')]
            .filter((one) => !one.closest('nav, form, .deep, [hidden]')
                && !one.closest('[aria-labelledby=baseline] details:not([open]) > :not(summary)'))
            .map((one) => (one.localName === 'th' ? one.firstChild : one).textContent)"""
    )
    assert len(wanted) > 50
    paper = page.pdf()
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 4
    words, width = printed(paper)
    text = "".join(word for word, _ in words)
    assert [each for each in wanted if squeezed(each)[:60] not in text] == []
    assert [word for word, right in words if right > width] == []
    page.resize(A4)
    with page.media("print"):
        cut = page.run(
            f"""[...document.querySelectorAll('body *')].filter((one) => one.getClientRects().length
                && !one.closest('svg') && (one.getBoundingClientRect().right > {A4} + 1
                || (getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1)))
                .map((one) => one.outerHTML.slice(0, 160))"""
        )
    assert cut == []
