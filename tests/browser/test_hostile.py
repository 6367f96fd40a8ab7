"""The report of a run in which a backend says hostile things, in a real browser: nothing of it runs or breaks out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.report import words
from tests.browser.chromium import Page
from tests.browser.conftest import Opener
from tests.browser.reading import A4, unfolded
from tests.support import hostile_texts

OURS = (
    "a b bdi body button caption code dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 head "
    "header html i input label legend li main meta nav ol option output p pre script section select small span style "
    "summary table tbody td template th thead title tr ul wbr svg"
)
"""What the templates use; inside of a picture matplotlib uses more."""


def poked(page: Page) -> Page:
    """After everything was opened, and every event that a payload could wait for was fired at everything."""
    unfolded(page)
    page.run(
        """document.querySelectorAll('body *').forEach((one) => {
            for (const kind of ['mouseover', 'focus', 'toggle', 'load', 'error', 'animationstart', 'pointerenter'])
                one.dispatchEvent(new Event(kind));
        })"""
    )
    return page


@pytest.mark.parametrize("script", [True, False])
def test_nothing_runs_and_nothing_is_asked_for(opened: Opener, evil: Path, script: bool) -> None:
    page = opened(evil, script=script)
    if script:
        poked(page)
    assert page.run("window.obeyed ?? Object.prototype.obeyed ?? null") is None
    assert page.requests() == [evil.as_uri()]
    assert page.complaints() == []
    assert page.run("document.title") == "coldwarm: what memory changed"


def test_no_text_becomes_markup(opened: Opener, evil: Path) -> None:
    """Not even harmless markup, which the policy would let in: elements, attributes, comments and links are ours."""
    page = unfolded(opened(evil))
    inside = "[...document.querySelectorAll('*')].filter((one) => !one.closest('svg') || one.localName === 'svg')"
    tags = set(page.run(f"[...new Set({inside}.map((one) => one.localName))]"))
    assert tags <= set(OURS.split())
    written = f"{inside}.filter((one) => !one.matches('.far'))"  # whose style is ours, to lay them out
    named = set(page.run(f"[...new Set({written}.flatMap((one) => one.getAttributeNames()))]"))
    assert not [name for name in named if name.startswith("on") or name in ("style", "src", "srcdoc", "autofocus")]
    links = page.run("[...document.querySelectorAll('[href]')].map((one) => one.getAttribute('href'))")
    assert links and all(link.startswith("#") for link in links)
    counts = "['script', 'style'].map((tag) => document.getElementsByTagName(tag).length)"
    assert page.run(counts) == [1, 1]
    forms = "[...document.forms].map((one) => one.id || one.dataset.view)"
    assert set(page.run(forms)) <= {"choose", "pick", "receipts", "filter", "timelines"}
    ids = page.run("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    comments = """(() => {
        const walk = document.createTreeWalker(document, NodeFilter.SHOW_COMMENT);
        let n = 0;
        while (walk.nextNode()) n++;
        return n;
    })()"""
    assert page.run(comments) == 0


def test_every_text_is_there_to_be_read(opened: Opener, evil: Path) -> None:
    """As words, its hidden codes as tokens: harmless is not the same as gone."""
    page = unfolded(opened(evil))
    told = page.run("document.body.textContent")
    missing = [name for name, text in hostile_texts.TEXTS.items() if words.make_visible(text[:60]) not in told]
    assert missing == []
    assert not [char for char in set(told) - set("\n\t") if words.make_visible(char) != char]


@pytest.mark.parametrize("width", [360, A4, 1280])
def test_the_layout_holds(opened: Opener, evil: Path, width: int) -> None:
    page = unfolded(opened(evil, width=width))
    assert page.run("document.scrollingElement.scrollWidth") <= width
    outside = page.run(
        f"""[...document.querySelectorAll('body *')].filter((one) => one.getClientRects().length
            && !one.closest('.scroll, svg, nav') && one.getBoundingClientRect().right > {width} + 1)
            .map((one) => one.outerHTML.slice(0, 160))"""
    )
    assert outside == []
    heights = page.run("[...document.querySelectorAll('.told, table, dd')].map((one) => one.scrollHeight)")
    assert heights and max(heights) < 60000


def test_words_beside_hostile_ones_keep_their_direction(opened: Opener, evil: Path) -> None:
    """An override in one text turns nothing around it: each stands in a box of its own direction."""
    page = unfolded(opened(evil))
    assert page.run("document.querySelectorAll('bdi').length") > 0
    naked = page.run(
        """[...document.querySelectorAll('bdi')].filter((one) => !['isolate', 'isolate-override', 'plaintext']
            .includes(getComputedStyle(one).unicodeBidi)).map((one) => one.outerHTML.slice(0, 100))"""
    )
    assert naked == []


def test_a_fragment_is_a_name_and_no_query(opened: Opener, evil: Path) -> None:
    for fragment in (
        "#<img src=x onerror=obeyed=1>",
        "#cells?has=<script>obeyed=1</script>",
        "#board?row=<b>&good='\"]",
        "#a'\"]*,a",
    ):
        page = opened(evil, fragment)
        assert page.complaints() == [] and page.run("window.obeyed ?? null") is None
        assert page.run(f"document.documentElement.innerHTML.includes({json.dumps(fragment[1:])})") is False
