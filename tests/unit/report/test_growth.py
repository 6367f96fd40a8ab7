"""The section that shows what becomes of backends as their memory grows."""

from __future__ import annotations

import re

import pytest

from harness.model.results import Results
from harness.report.charts import draw_charts, growth
from harness.report.model import evidence
from harness.report.model.contrasts import list_levels
from harness.report.outputs import page as html
from tests.support.growing import LEVELS, grow, list_samples


@pytest.fixture(scope="module")
def grown(results: Results) -> Results:
    return grow(results)


def test_a_level_holds_what_was_measured_at_it(results: Results, grown: Results) -> None:
    levels = list_levels(grown, list_samples("keeper", "store"))
    assert [(each.backend, each.noise) for each in levels] == [
        (name, n) for name in ("keeper", "store") for n in LEVELS
    ]
    for each in levels:
        assert each.recalled.value == results.backends[each.backend].measures["recall"].value
        assert each.exposed.value == results.backends[each.backend].measures["stale_exposure"].value
        assert each.cells and all((f"~n{each.noise}" in cell) == bool(each.noise) for cell in each.cells)
    assert [each.seconds for each in levels[:3]] == [pytest.approx(1e-6 * (noise + 6)) for noise in LEVELS]
    assert [each.bytes for each in levels[:3]] == [1e3, None, 2.001e6]


def test_controls_and_other_policies_are_left_out(grown: Results) -> None:
    held = grown.run.conditions
    for level in list_levels(grown, ()):
        cells = [cell for cell in grown.cells if cell.id in level.cells]
        assert {(c.backend, c.write_policy, c.read_policy, c.noise) for c in cells} == {
            (level.backend, held.headline_write, held.headline_read, level.noise)
        }
        assert level.backend not in ("oracle", "none") and level.seconds is level.bytes is None


@pytest.mark.slow
def test_one_level_is_no_growth(results: Results) -> None:
    assert list_levels(results, list_samples("keeper")) == []
    assert "growth" not in {chart.name for chart in draw_charts(results)}
    assert 'id="growth"' not in html.write_page(results) and 'href="#growth"' not in html.write_page(results)


def test_the_chart_shows_its_table_and_says_both_ends(grown: Results) -> None:
    [chart] = [each for each in draw_charts(grown, list_samples("keeper")) if each.name == "growth"]
    rows = {(row[0], row[1]): row for row in chart.rows}
    assert len(rows) == 6 and rows["keeper", "1,000"][-1] == growth.NO_SAMPLE
    assert rows["keeper", "10,000"][-2:] == ("10.0", "2,001")
    assert rows["store", "0"][-2:] == (growth.NO_SAMPLE, growth.NO_SAMPLE)
    assert chart.says.startswith("Among 10,000 unrelated memories instead of 0: keeper recalls ")
    assert "ms for a recall (before " in chart.says and "keeps 2,001 kB (before 1)" in chart.says
    assert growth.NO_SAMPLE in chart.svg and "keeper" in chart.svg


@pytest.mark.slow
def test_each_number_of_the_page_leads_to_its_cells(grown: Results) -> None:
    page = html.render(grown, evidence.gather(grown, ()))
    section = page[page.index('<h2 id="growth">') : page.index('<h2 id="policies">')]
    table = section[section.index("Table: growth") :]
    links = re.findall(r'<td><a href="#([^"]+)">', table)
    assert len(links) == 12 and all(f'id="{link}"' in page for link in links)
    assert 'href="#growth">Growth</a>' in page and "10,000" in table
