"""Measures over runs in a real browser: clean under axe, narrow and dark, without script."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.regress import baseline, trend, trend_page
from tests.browser.chromium import Chromium
from tests.browser.conftest import Opener
from tests.browser.reading import A4, unfolded
from tests.support.made_results import results


@pytest.fixture(scope="session")
def drawn(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        baseline.make_baseline(
            results({"x": {"recall": [(at, 9)]}, "<b>y": {"recall": [(9, 9)]}}, run=f"r{at}", k=5 + at // 3)
        )
        for at in range(5)
    ]
    file = tmp_path_factory.mktemp("trend") / "trend.html"
    file.write_text(trend_page.write_page(runs, [trend.collect(runs, "recall")]), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("width", "medium", "scheme"), [(1280, "", ""), (1280, "", "dark"), (390, "", "dark"), (A4, "print", "")]
)
def test_it_is_clean(opened: Opener, drawn: Path, axe: str, width: int, medium: str, scheme: str) -> None:
    one = unfolded(opened(drawn, width=width))
    assert one.requests() == [drawn.as_uri()] and one.complaints() == []
    with one.media(medium, prefers_color_scheme=scheme):
        if width == 390:
            assert one.run("document.scrollingElement.scrollWidth") <= 390
        one.run(f"{axe}; 0")
        found = one.run("axe.run({resultTypes: ['violations']}).then((said) => said.violations)")
    assert [(each["id"], [node["target"] for node in each["nodes"]][:5]) for each in found] == []
    assert one.run("document.querySelectorAll('figure svg').length") == 1
