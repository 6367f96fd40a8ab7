"""The page on which a person keeps or drops what was mined, in a real browser: what it saves, `coldwarm mine` reads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.mine import mining, review_page
from tests.browser.chromium import PATIENCE
from tests.browser.conftest import Opener
from tests.support.foreign import Foreign, live

EARLIER = {"of another history": "drop"}


def search(foreign: Foreign, decided: dict[str, mining.Judgement]) -> mining.Mined:
    return mining.search(str(foreign.path), None, 3000, decided, foreign.path.parent / "cache")


def saved(folder: Path) -> dict[str, mining.Judgement]:
    file, end = folder / "decisions.json", time.monotonic() + PATIENCE
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return review_page.read(file)


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    made = Foreign(tmp_path / "shop")
    live(made)
    return made


def test_what_was_decided_is_saved_and_can_be_taken_back(opened: Opener, foreign: Foreign, tmp_path: Path) -> None:
    page, first, second = tmp_path / "page.html", tmp_path / "first", tmp_path / "second"
    review_page.write(search(foreign, {}), page, review_page.read(_written(tmp_path)))
    shown = opened(page)
    shown.save_to(first)
    one = shown.run("document.querySelector('.candidate').dataset.id")
    shown.click(f"[data-id='{one}'] [data-judge=drop]")
    assert "0 kept, 1 dropped" in shown.text("#state")
    shown.click("#save")
    assert saved(first) == {**EARLIER, one: "drop"}
    mined = search(foreign, saved(first))
    assert one in {each.id for each in mined.dropped} - {each.id for each in mined.candidates}
    review_page.write(mined, page, saved(first))
    again = opened(page)
    again.save_to(second)
    again.click(f"[data-id='{one}'] [data-judge=keep]")
    again.click("#save")
    assert saved(second) == {**EARLIER, one: "keep"}
    assert not shown.complaints() and not again.complaints()


def _written(folder: Path) -> Path:
    file = folder / "earlier.json"
    file.write_text('{"candidates": {"of another history": "drop"}}')
    return file


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing(opened: Opener, foreign: Foreign, tmp_path: Path, axe: str, width: int) -> None:
    review_page.write(search(foreign, {}), tmp_path / "page.html", {})
    page = opened(tmp_path / "page.html", width=width)
    page.run(f"{axe}; 0")
    assert page.run("axe.run({resultTypes: ['violations']}).then((said) => said.violations)") == []
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
