"""Charts as inline SVG, one a question: same bytes for same logs, readable in grey, no style that leaks."""

from __future__ import annotations

from collections.abc import Sequence

from harness.metrics.footprint import Sample
from harness.model.results import Results
from harness.report.charts import cost, decisions, deletion, growth, policies, stories
from harness.report.charts.chart import Chart
from harness.report.model.contrasts import list_levels

__all__ = ["Chart", "draw_charts"]


def draw_charts(results: Results, samples: Sequence[Sample] = ()) -> list[Chart]:
    """The charts that this run has data for, in the order of the page's questions.

    Args:
        samples: What was timed and weighed; without them that chart is left out.
    """
    drawn = (
        decisions.chart_frontier(results),
        decisions.chart_work(results),
        growth.chart_noise(results),
        stories.chart_stale(results),
        stories.chart_stories(results),
        cost.chart_tokens(results),
        growth.chart_footprint(results, samples),
        deletion.chart_deletion(results),
        decisions.chart_losses(results),
        growth.chart_growth(list_levels(results, samples)),
        policies.chart_policies(results) or policies.chart_ways(results),
    )
    return [chart for chart in drawn if chart is not None]
