"""The suite deep, told in facts, as it was spoken in pieces of ours, and captured by each backend itself.

`python -m benchmarks.feeds RUN RUN RUN > benchmarks/results/deep_feeds.json` writes what three runs found, which are
`coldwarm run --suite deep -d none -n 100 --write append` of the same backends, one with each `--feed`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import get_args

from benchmarks.results.__main__ import Table
from harness.log.folder import Folder
from harness.model.results import Results
from harness.model.trial import Feed, Measured, ReadPolicy

FEEDS: Sequence[Feed] = get_args(Feed)
COLUMNS = ("right", "right, newest", "acted on stale", "recalled", "tokens a question")


def main() -> None:
    runs = dict[Feed, Results]()
    for place in map(Path, sys.argv[1:]):
        results = Results.model_validate_json((place / "results.json").read_text("utf-8"))
        runs[Folder.open(place).read().selection.feed] = results
    if {*runs} != {*FEEDS}:
        sys.exit(f"give a run of each --feed: {', '.join(FEEDS)}")
    print(json.dumps(tabulate(runs), indent=2, ensure_ascii=False))


def tabulate(runs: Mapping[Feed, Results]) -> Table:
    told = runs["facts"]
    day, suite = datetime.strptime(told.run.id[:8], "%Y%m%d"), told.run.suite
    stories, decisions = len(told.stories), sum(story.decisions for story in told.stories)
    return {
        "title": f"The suite deep by what a memory is told: {stories} stories, {decisions} decisions, noise 100",
        "conditions": f"{day:%Y-%m-%d}, commit {(told.run.commit or 'unknown')[:8]}, "
        f"suite {suite.version if suite else 'unknown'}; append, read trusting, k 5, 800 tokens",
        "columns": ["row", "fed", *COLUMNS],
        "rows": [[name, feed, *count(runs[feed], name)] for name in told.backends for feed in FEEDS],
    }


def count(results: Results, name: str) -> Iterator[str]:
    """In the order of COLUMNS."""

    def add(measure: str, policy: ReadPolicy = "trusting") -> tuple[float, float, int]:
        """The sums over stories of value, hits and cases."""
        own = [each for each in results.cells if (each.backend or each.arm) == name]
        found = [each.measures.get(measure) for each in own if each.read_policy in (policy, None)]
        measured = [each for each in found if isinstance(each, Measured)]
        hits = sum(each.hits or 0 for each in measured)
        return sum(each.value for each in measured), hits, sum(each.of or 0 for each in measured)

    counted: Sequence[tuple[str, ReadPolicy]] = (
        ("decisions_right", "trusting"), ("decisions_right", "newest"),
        ("stale_use", "trusting"), ("recall", "trusting"),
    )  # fmt: skip
    for measure, policy in counted:
        _, hits, of = add(measure, policy)
        yield f"{hits:g} of {of}" if of else "n/a"
    tokens, _, asked = add("tokens_recall")
    yield f"{tokens / asked:,.0f}" if asked else "n/a"


if __name__ == "__main__":
    main()
