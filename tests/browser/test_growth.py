"""The section on growth in a real browser: found from the contents, with axe, on a phone, on paper, without script."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.folder import Folder
from harness.report.model import evidence
from harness.report.outputs import page as html
from tests.browser.conftest import Opener
from tests.browser.reading import A4, in_view, unfolded
from tests.support.growing import grow, list_samples

SECTION = "document.getElementById('growth').parentElement"


@pytest.fixture(scope="module")
def grown(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    results, parts = evidence.read(folder)
    seen = evidence.gather(results, parts)._replace(samples=list_samples("keeper", "store"))
    page = tmp_path_factory.mktemp("grown") / "report.html"
    page.write_text(html.render(grow(results), seen), "utf-8")
    return page


@pytest.mark.parametrize(("width", "medium", "scheme"), [(1280, "", "dark"), (360, "", ""), (A4, "print", "")])
def test_axe_finds_nothing(opened: Opener, grown: Path, axe: str, width: int, medium: str, scheme: str) -> None:
    page = unfolded(opened(grown, width=width))
    with page.media(medium, prefers_color_scheme=scheme, prefers_reduced_motion="reduce"):
        page.run(f"{axe}; 0")
        found = page.run(f"axe.run({SECTION}, {{resultTypes: ['violations']}}).then((said) => said.violations)")
    assert [(each["id"], [node["target"] for node in each["nodes"]][:5]) for each in found] == []


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_wider_than_the_screen(opened: Opener, grown: Path, width: int) -> None:
    page = unfolded(opened(grown, "#growth", width=width))
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_the_contents_lead_there_and_numbers_lead_to_cells_without_script(opened: Opener, grown: Path) -> None:
    page = opened(grown, "#growth", script=False)
    assert in_view(page, "growth") and page.complaints() == []
    assert page.run(f"{SECTION}.querySelectorAll('svg').length") == 1
    links = page.run(f"[...{SECTION}.querySelectorAll('td a')].map((one) => one.getAttribute('href').slice(1))")
    assert len(links) == 12
    assert page.run(f"{links}.every((id) => document.getElementById(id))")
