"""Two runs side by side in a real browser: the worst first, receipts of both, no script, clean under axe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.log import pack
from harness.log.folder import Folder
from harness.regress import baseline_files, comparison_page
from harness.report import write
from harness.report.model import evidence
from tests.browser.chromium import Chromium
from tests.browser.conftest import Opener
from tests.browser.reading import A4, unfolded
from tests.support.logs import NEW, OLD
from tests.support.runs import run


@pytest.fixture(scope="session")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Then `store` brought back the new rule, now the old one; twelve stories, so that it is more than chance."""
    made = []
    for stale, tool in ((NEW, "betadeploy"), (OLD, "alphadeploy")):
        root = tmp_path_factory.mktemp("side")
        folder: Folder = run(root, stale=stale, tool=tool, stories=12)
        write(folder, *evidence.read(folder))
        made.append(root)
    return made[0], made[1]


@pytest.fixture(scope="session")
def compared(chromium: Chromium, sides: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("compared") / "compare.html"
    file.write_text(comparison_page.write_page(*map(baseline_files.load_evidence, sides)), encoding="utf-8")
    return file


def test_packed_runs_give_the_same_bytes(sides: tuple[Path, Path], compared: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.tar.xz" for n in (1, 2)]
    for side, file in zip(sides, files, strict=True):
        pack.pack(side, file)
    again = comparison_page.write_page(*map(baseline_files.load_evidence, files))
    assert again.encode() == compared.read_bytes()


def test_what_got_worse_stands_first_with_the_same_case_of_both_runs(opened: Opener, compared: Path) -> None:
    without = opened(compared, script=False)
    words = without.run("[...document.querySelectorAll('.changes .word')].map((one) => one.textContent.trim())")
    worse = [word.endswith("worse") for word in words]
    assert worse[0] and worse == sorted(worse, reverse=True), words
    without.click(".behind summary")
    assert without.run("document.querySelector('.behind details').open") is True
    sides = without.run("[...document.querySelector('.pair').querySelectorAll('.told')].map((one) => one.innerText)")
    asked = [re.search("asked (.*)", side) for side in sides]
    assert len(sides) == 2 and sides[0] != sides[1]
    assert asked[0] and asked[1] and asked[0][1] == asked[1][1], "the same question"
    assert [side.count("sed -n") for side in sides] == [1, 1]


def test_a_link_to_the_cases_of_a_row_opens_them(opened: Opener, compared: Path) -> None:
    one = opened(compared, "#row-1-cases", script=False)
    assert one.run("document.getElementById('row-1-cases').closest('details').open") is True


@pytest.mark.parametrize(
    ("width", "medium", "scheme"), [(1280, "", ""), (1280, "", "dark"), (390, "", "dark"), (A4, "print", "")]
)
def test_it_is_clean(opened: Opener, compared: Path, axe: str, width: int, medium: str, scheme: str) -> None:
    one = unfolded(opened(compared, width=width))
    assert one.requests() == [compared.as_uri()] and one.complaints() == []
    with one.media(medium, prefers_color_scheme=scheme):
        if width == 390:
            assert one.run("document.scrollingElement.scrollWidth") <= 390
        one.run(f"{axe}; 0")
        found = one.run("axe.run({resultTypes: ['violations']}).then((said) => said.violations)")
    assert [(each["id"], [node["target"] for node in each["nodes"]][:5]) for each in found] == []
