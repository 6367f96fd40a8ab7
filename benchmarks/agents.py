"""Agent programs over stories of the suite deep, with a model that is scripted: as good as its memory.

`python -m benchmarks.agents RUN... > benchmarks/results/agents_deep.json` writes what runs of one program each found,
which are `coldwarm run --suite deep -s harbour-and-ferry -s ledger-of-seeds -s night-train -b none -n 0 -d none --write
append --trial cold --trial oracle --trial stale-oracle --reader agent:NAME --chat stand-in`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.results.__main__ import Table
from harness.log.events import Worked
from harness.log.folder import Folder
from harness.model.results import Results
from harness.model.trial import Measured

COLUMNS = (
    "program", "right with the best memory", "right with a stale one", "right without", "jobs that it ended by itself",
    "decisions with a check in the log", "calls of its model", "prompt tokens of a job with a memory",
)  # fmt: skip


def main() -> None:
    runs = [Folder.open(Path(place)) for place in sys.argv[1:]]
    print(json.dumps(tabulate(runs), indent=2, ensure_ascii=False))


def tabulate(runs: Sequence[Folder]) -> Table:
    read = [(run, Results.model_validate_json((run.root / "results.json").read_text("utf-8"))) for run in runs]
    days = sorted({f"{datetime.strptime(own.run.id[:8], '%Y%m%d'):%Y-%m-%d}" for _, own in read})
    commits = sorted({(own.run.commit or "unknown")[:8] for _, own in read})
    stories = sorted(story.id for story in read[0][1].stories)
    return {
        "title": f"Agent programs behind the gateway over {len(stories)} deep stories, their model a stand-in",
        "conditions": f"{' and '.join(days)}, commits {', '.join(commits)} with changes; {', '.join(stories)}; "
        "no noise, append, memory over MCP or by a command; two shared cores",
        "columns": [*COLUMNS],
        "rows": [[*describe(run, own)] for run, own in sorted(read, key=lambda each: each[1].run.conditions.reader)],
    }


def describe(run: Folder, results: Results) -> Iterator[str]:
    """In the order of COLUMNS."""
    yield " and ".join(results.run.programs)

    def add(name: str | None) -> str:
        own = [each.measures["decisions_right"] for each in results.cells if each.backend == name]
        found = [each for each in own if isinstance(each, Measured)]
        return f"{sum(each.hits or 0 for each in found):g} of {sum(each.of or 0 for each in found)}"

    yield from map(add, ("oracle", "stale_oracle", None))
    logs, _ = run.logs()
    jobs = [(played, each) for played in logs.values() for each in played.list_events(Worked)]
    ends = [played.calls(each)[-1].outcome for played, each in jobs]
    checks = sum(len(each.checks) for _, each in jobs)
    warm = [each.prompt for played, each in jobs if played.trial.backend]
    yield f"{ends.count('finished')} of {len(jobs)}"
    yield f"{checks} of {sum(len(job.decisions) for played in logs.values() for _, job in played.scenario.jobs())}"
    yield f"{sum(len(played.calls(each)) - 1 for played, each in jobs)}"
    yield f"{sum(warm) / len(warm):,.0f}"


if __name__ == "__main__":
    main()
