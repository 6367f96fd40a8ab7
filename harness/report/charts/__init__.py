"""Charts as inline SVG, one a question: same bytes for same logs, readable in grey, no style that leaks."""

from __future__ import annotations

from collections.abc import Sequence

from harness.metrics.footprint import Sample
from harness.model.results import Results
from harness.report.charts import (
    cost_chart,
    deletion_chart,
    footprint,
    frontier,
    growth,
    losses_chart,
    noise,
    policies,
    stale,
    stories,
    ways_chart,
    work_chart,
)
from harness.report.charts.chart import Chart
from harness.report.model import growth as growing

__all__ = ["Chart", "draw_charts"]


def draw_charts(results: Results, samples: Sequence[Sample] = ()) -> list[Chart]:
    """The charts that this run has data for, in the order of the page's questions.

    Args:
        samples: What was timed and weighed; without them that chart is left out.
    """
    drawn = (
        frontier.chart(results),
        work_chart.chart(results),
        noise.chart(results),
        stale.chart(results),
        stories.chart(results),
        cost_chart.chart(results),
        footprint.chart(results, samples),
        deletion_chart.chart(results),
        losses_chart.chart(results),
        growth.chart(growing.list_levels(results, samples)),
        policies.chart(results) or ways_chart.chart(results),
    )
    return [chart for chart in drawn if chart is not None]
