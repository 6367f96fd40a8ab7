"""Charts: what they show is in their table, it fits, and their SVG leaks nothing."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import paths
from harness.compare import statements
from harness.log.folder import Folder
from harness.model.results import Results
from harness.report.charts import Chart, draw_charts, policies
from harness.report.charts.chart import SIZE, WIDTH, Scale, Sheet, parse_counts, shorten_name
from tests.support.chart_results import SVG, changed, draw, full, texts

TEXT, USE = f"{SVG}text", f"{SVG}use"


@pytest.fixture(scope="module")
def plain(folder: Folder) -> Results:
    return statements.compute_results(folder)


@pytest.fixture(scope="module")
def results(plain: Results) -> Results:
    """The same with a second noise level, curated writing, a failed and an unsupported row, and deletion drills."""
    return full(plain)


@pytest.fixture(scope="module")
def drawn(results: Results, folder: Folder) -> dict[str, Chart]:
    return draw(results, folder)


def inherit(
    element: ElementTree.Element, above: Mapping[str, str] | None = None
) -> Iterator[tuple[ElementTree.Element, dict[str, str]]]:
    """Every element with its attributes and those of what it stands in."""
    look = {**(above or {}), **element.attrib}
    yield element, look
    for child in element:
        yield from inherit(child, look)


# --- the SVG ----------------------------------------------------------------------------------------------------------


def test_every_question_has_its_chart(drawn: Mapping[str, Chart]) -> None:
    assert {chart.name: chart.topic for chart in drawn.values()} == {
        "recall-by-noise": "recalled", "stale-by-kind": "stale", "against-no-memory": "sure", "stories": "work",
        "tokens": "cost",
        "time-and-storage": "cost", "deletion-layers": "deleted", "policies": "policies",
    }  # fmt: skip


def test_charts_leak_nothing_into_the_page_and_speak(drawn: Mapping[str, Chart]) -> None:
    ids = [set(re.findall(r'\bid="([^"]+)"', chart.svg)) for chart in drawn.values()]
    assert len(set.union(*ids)) == sum(len(own) for own in ids)
    for name, chart in drawn.items():
        assert not re.search(r"<(style|metadata|script|image)|[ ]style=|<\?xml|<!DOCTYPE", chart.svg)
        root = ElementTree.fromstring(chart.svg)
        assert (root.tag, root.get("role")) == (f"{SVG}svg", "img")
        assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
        assert [(each.get("id"), each.text) for each in root[:2]] == [
            (f"{name}-title", chart.title), (f"{name}-desc", chart.says),
        ]  # fmt: skip
        targets = set(re.findall(r'href="#([^"]+)"', chart.svg))
        assert targets < set(re.findall(r'\bid="([^"]+)"', chart.svg)) and all(t.startswith(name) for t in targets)
        assert root.get("viewBox", "").split()[2] == str(WIDTH)


def test_nothing_is_drawn_outside_of_the_sheet_or_too_small_for_a_phone(drawn: Mapping[str, Chart]) -> None:
    for chart in drawn.values():
        root = ElementTree.fromstring(chart.svg)
        height = float(root.get("height", "0"))
        assert root.get("font-size") == str(SIZE) and 'font-size="' not in chart.svg.partition(">")[2]
        assert SIZE * 330 / WIDTH >= 9
        for each, look in inherit(root):
            if each.tag != TEXT:
                continue
            wide = 0.5 * SIZE * len(each.text or "")  # what most letters are at most, on average
            x, y = float(each.get("x", "nan")), float(each.get("y", "nan"))
            left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[look.get("text-anchor", "start")]
            assert left >= -1 and left + wide <= WIDTH + 1 and SIZE / 2 < y < height, each.text


def test_colours_of_words_have_contrast_and_those_of_marks_enough(drawn: Mapping[str, Chart]) -> None:
    def contrast(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)

    for chart in drawn.values():
        for each, look in inherit(ElementTree.fromstring(chart.svg)):
            if each.tag not in (TEXT, USE):
                continue
            colour = look["fill" if each.tag == TEXT else "stroke"]
            assert contrast(colour) >= (4.5 if each.tag == TEXT else 3), colour


@pytest.mark.slow
def test_drawing_ignores_and_keeps_the_users_style(results: Results) -> None:
    import matplotlib

    before = draw_charts(results)
    with matplotlib.rc_context({"font.size": 30, "path.sketch": (1, 100, 2), "svg.fonttype": "path"}):
        assert draw_charts(results) == before
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["cache", "file/cache"], ids=["writable", "not writable"])
def test_drawing_makes_no_home_and_warns_of_none(cache: str, tmp_path: Path) -> None:
    """Containers and other users often have none; matplotlib keeps its list of fonts there."""
    (tmp_path / "file").touch()
    drawing = "from harness.report.charts.chart import Sheet; s = Sheet(); s.text(0, 10, 'port'); s.svg('a', 'b', 'c')"
    places = {"HOME": str(tmp_path / "home"), "COLDWARM_CACHE": str(tmp_path / cache), "TMPDIR": str(tmp_path)}
    unset = {"MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    drawn = subprocess.run(
        [sys.executable, "-c", drawing], cwd=paths.ROOT, env=kept | places, capture_output=True, text=True, check=False
    )
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "", "")
    assert {place.name for place in tmp_path.iterdir()} <= {"file", "cache"}


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=80))
def test_a_hostile_name_is_text_and_stays_short(name: str) -> None:
    sheet = Sheet()
    sheet.text(0, 10, shorten_name(name))
    sheet.mark(5, 5, "circle")
    root = ElementTree.fromstring(sheet.svg("a", f"<b>{name}", name))
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "text", "defs", "path", "use", "g"}
    assert len(shorten_name("long" * 9)) <= 13 and shorten_name("long" * 9) != shorten_name("long" * 8 + "else")


# --- the data ---------------------------------------------------------------------------------------------------------


def test_what_is_drawn_is_in_the_table(drawn: Mapping[str, Chart]) -> None:
    """Every count and word of a chart is one of its table; every row of the table has its counts in the chart."""
    for chart in drawn.values():
        cells = {text for row in chart.rows for text in row}
        assert all(len(row) == len(chart.heads) for row in chart.rows)
        known = {text for text in texts(chart) if parse_counts(text)}
        assert known <= cells, (chart.name, known - cells)
        if chart.name not in ("time-and-storage", "policies", "recall-by-noise", "stories"):  # where others are drawn
            assert {text for row in chart.rows for text in row if parse_counts(text)} <= known, chart.name


def test_each_row_says_its_n(drawn: Mapping[str, Chart]) -> None:
    for name in ("recall-by-noise", "policies"):
        chart = drawn[name]
        for row in chart.rows:
            assert row[1] == "0" or f"{row[0]} ({row[1]})" in texts(chart), (name, row)


@pytest.mark.slow
def test_nine_backends_fit_and_stay_small(results: Results) -> None:
    names = [f"backend-{n}" for n in range(7)]
    cells = [
        c.model_copy(update={"backend": n, "id": n + c.id})
        for n in names
        for c in results.cells
        if c.backend == "store"
    ]
    contrasts = [c.model_copy(update={"backend": n}) for n in names for c in results.contrasts if c.backend == "store"]
    store = results.backends["store"]
    rows = {
        name: store.model_copy(
            update={
                "measures": {
                    key: pooled.model_copy(update={"cells": tuple(name + each for each in pooled.cells)})
                    for key, pooled in store.measures.items()
                }
            }
        )
        for name in names
    }
    many = changed(
        results, backends={**results.backends, **rows}, cells=results.cells + tuple(cells),
        contrasts=results.contrasts + tuple(contrasts),
    )  # fmt: skip
    drawn = {chart.name: chart for chart in draw_charts(many)}
    test_nothing_is_drawn_outside_of_the_sheet_or_too_small_for_a_phone(drawn)
    test_what_is_drawn_is_in_the_table(drawn)
    heads = "".join(texts(drawn["stale-by-kind"]))
    assert all(name in heads for name in names)
    assert sum(len(chart.svg) for chart in drawn.values()) < 250_000


# --- scales -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=9))
def test_decades_hold_all_numbers_in_their_order(values: list[float]) -> None:
    scale = Scale.decades(values, 10, 110)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places) and all(10 <= place <= 110 for place in places)
    assert scale.powers()[0] <= min(values) * (1 + 1e-9) and scale.powers()[-1] >= max(values) * (1 - 1e-9)


@given(st.lists(st.floats(0, 100), max_size=6).map(sorted))
def test_words_that_would_touch_move_apart_in_their_order(heights: list[float]) -> None:
    placed = policies.spread(heights, 13)
    assert all(b - a >= 13 - 1e-6 for a, b in itertools.pairwise(placed))
    if all(b - a >= 13 for a, b in itertools.pairwise(heights)):
        assert placed == pytest.approx(heights)
