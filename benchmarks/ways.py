"""Ways of writing by ways of reading, over the suites that were played.

`python -m benchmarks.ways RUN RUN > benchmarks/results/ways.json` writes what runs of `make bench-ways` found: of each
suite one, or several with other backends (`make bench-ways ROWS='none langgraph@3.1.2 ...'`), played alike.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.results.__main__ import Table
from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.report.charts import policies


def main() -> None:
    runs = [Results.model_validate_json((Path(place) / "results.json").read_text("utf-8")) for place in sys.argv[1:]]
    if not runs:
        sys.exit("give the folder of a run of each suite, as make bench-ways plays them")
    print(json.dumps(tabulate(runs), indent=1, ensure_ascii=False))


def tabulate(runs: Sequence[Results]) -> Table:
    suites: dict[str, set[str]] = {}
    for results in runs:
        suites.setdefault(_name(results), set()).add(_tell_conditions(results))
    rows = sorted((row for results in runs for row in _list_rows(results)), key=lambda row: row[:2])
    if any(len(told) > 1 for told in suites.values()) or len({tuple(row[:3]) for row in rows}) < len(rows):
        played = "; ".join(f"{name}: {' or '.join(sorted(told))}" for name, told in sorted(suites.items()))
        sys.exit(f"runs of a suite are of one commit, played alike and with other rows each; these are {played}")
    played = "; ".join(f"{name}: {told.pop()}" for name, told in sorted(suites.items()))
    return {
        "title": "Ways of writing by ways of reading",
        "conditions": f"{played}. Scripted reader; "
        "right decisions by what the agent takes, a range is over the ways of reading. "
        f"Without memory right: {'; '.join(dict.fromkeys(map(_tell_cold, runs)))}.",
        "columns": ["suite", *policies.WAYS_HEADS],
        "rows": rows,
    }


def _tell_conditions(results: Results) -> str:
    held, day = results.run.conditions, datetime.strptime(results.run.id[:8], "%Y%m%d")
    return (
        f"{day:%Y-%m-%d}, commit {(results.run.commit or 'unknown')[:8]}: make bench-ways, "
        f"noise {held.headline_noise}, k {held.k}, {held.budget} tokens"
    )


def _name(results: Results) -> str:
    return f"suite {results.run.suite.version}" if results.run.suite else "suite unknown"


def _tell_cold(results: Results) -> str:
    cold = results.backends[COLD].measures[DECISIONS_RIGHT]
    return f"{cold.hits:g} of {cold.of} ({_name(results)})"


def _list_rows(results: Results) -> Iterator[list[str]]:
    chart = policies.chart_ways(results)
    if chart is None:
        sys.exit(f"{results.run.id} has the usual two ways of writing only: make bench-ways plays all")
    yield from ([_name(results), *row] for row in chart.rows)


if __name__ == "__main__":
    main()
