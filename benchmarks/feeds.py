"""The suite deep, told in facts, as it was spoken in pieces of ours, and captured by each backend itself.

`python -m benchmarks.feeds RUN RUN RUN > benchmarks/results/deep_feeds.json` writes what three runs found, which are
`coldwarm run --suite deep -d none -n 100 --write append` of the same backends, one with each `--feed`.
`python -m benchmarks.feeds losses RUN RUN RUN > benchmarks/results/deep_losses.json`: where each row lost decisions.
`python -m benchmarks.feeds model RUN RUN > benchmarks/results/native_model.json`: the runs of `make bench-native`,
first that of the scripted reader.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import get_args

from benchmarks.results.__main__ import Table, write_table
from harness.log.folder import Folder
from harness.metrics import DEFINITIONS
from harness.metrics.losses import STAGES
from harness.model.results import Results
from harness.model.trial import Feed, Measured, ReadPolicy

FEEDS: Sequence[Feed] = get_args(Feed)
LOST = tuple(f"lost_{stage.name}" for stage in STAGES)
READS: Sequence[ReadPolicy] = ("trusting", "newest")
COLUMNS = ("right", "right, newest", "acted on stale", "recalled", "tokens a question")
SHOWN = (
    "row", "facts captured", "tokens of a model inside", "right", "right, decided by the model", "not captured",
    "captured without its scope", "not retrieved",
)  # fmt: skip
"""What docs/scenarios.md shows of the table of captures; no decision was lost at another stage."""
SECRETS = ("capture_secrets", "capture_forgotten")
CAPTURED = ("capture_kept", "capture_split", "capture_merged", "capture_invented", "capture_stale")


def main() -> None:
    runs, words = dict[Feed, Results](), sys.argv[1:]
    if words[:1] == ["model"]:
        scripted, decided = (read_results(Path(each)) for each in words[1:])
        print(json.dumps(tabulate_captured(scripted, decided), indent=2, ensure_ascii=False))
        return
    make = tabulate_losses if words[:1] == ["losses"] else tabulate
    for place in map(Path, words[make is tabulate_losses :]):
        runs[Folder.open(place).read().selection.feed] = read_results(place)
    if {*runs} != {*FEEDS}:
        sys.exit(f"give a run of each --feed: {', '.join(FEEDS)}")
    print(json.dumps(make(runs), indent=2, ensure_ascii=False))


def read_results(run: Path) -> Results:
    return Results.model_validate_json((run / "results.json").read_text("utf-8"))


def tabulate(runs: Mapping[Feed, Results]) -> Table:
    return {
        **describe(runs["facts"], "The suite deep by what a memory is told"),
        "columns": ["row", "fed", *COLUMNS, *(DEFINITIONS[each].label for each in SECRETS)],
        "rows": [
            [name, feed, *count(runs[feed], name), *(count_cases(runs[feed], name, each) for each in SECRETS)]
            for name in runs["facts"].backends
            for feed in FEEDS
        ],
    }


def tabulate_losses(runs: Mapping[Feed, Results]) -> Table:
    """Of each row the decisions that were right, and at which stage the others were lost."""
    return {
        **describe(runs["facts"], "Where decisions of the suite deep are lost, by what a memory is told"),
        "columns": ["row", "fed", "reads", "right", *(stage.called for stage in STAGES)],
        "rows": [
            [name, feed, read, *(count_cases(runs[feed], name, each, read) for each in ("decisions_right", *LOST))]
            for name in runs["facts"].backends
            for feed in FEEDS
            for read in READS
        ],
    }


def tabulate_captured(results: Results, decided: Results) -> Table:
    """What each row captured of the sessions by itself, where decisions of the scripted reader were lost, and how many
    a model took right.
    """
    held = results.run.conditions
    return {
        **describe(results, "Sessions captured by each backend itself", noise=held.headline_noise),
        "columns": [
            "row",
            *(DEFINITIONS[name].label for name in CAPTURED),
            "tokens of writing",
            "tokens of a model inside",
            *COLUMNS[:4],
            "right, decided by the model",
            *(stage.called for stage in STAGES),
        ],
        "rows": [
            [
                name,
                *(count_cases(results, name, each) for each in CAPTURED),
                *(add_up(results, name, each) for each in ("tokens_ingest", "tokens_backend")),
                *islice(count(results, name), 4),
                count_cases(decided, name, "decisions_right", "model"),
                *(count_cases(results, name, each) for each in LOST),
            ]
            for name in results.backends
        ],
    }


def show_captured(table: Table) -> list[str]:
    """The table of captures as docs/scenarios.md has it, rows by the names of their backends."""
    places = [table["columns"].index(name) for name in SHOWN]
    return list(
        write_table(SHOWN, [[row[0].partition("+")[0], *(row[at] for at in places[1:])] for row in table["rows"]])
    )


def describe(told: Results, title: str, noise: int = 100) -> Table:
    """A table without rows."""
    day, suite = datetime.strptime(told.run.id[:8], "%Y%m%d"), told.run.suite
    stories, decisions = len(told.stories), sum(story.decisions for story in told.stories)
    return {
        "title": f"{title}: {stories} {'story' if stories == 1 else 'stories'}, {decisions} decisions, noise {noise}",
        "conditions": f"{day:%Y-%m-%d}, commit {(told.run.commit or 'unknown')[:8]}, "
        f"suite {suite.version if suite else 'unknown'}; append, read trusting if nothing is said, k 5, 800 tokens",
        "columns": [],
        "rows": [],
    }


def count(results: Results, name: str) -> Iterator[str]:
    """In the order of COLUMNS."""
    yield count_cases(results, name, "decisions_right")
    yield count_cases(results, name, "decisions_right", "newest")
    yield count_cases(results, name, "stale_use")
    yield count_cases(results, name, "recall")
    found = list_measured(results, name, "tokens_recall", "trusting")
    asked = sum(each.of or 0 for each in found)
    yield f"{sum(each.value for each in found) / asked:,.0f}" if asked else "n/a"


def count_cases(results: Results, name: str, measure: str, read: ReadPolicy = "trusting") -> str:
    """`37 of 108`, over all stories."""
    found = list_measured(results, name, measure, read)
    of = sum(each.of or 0 for each in found)
    return f"{sum(each.hits or 0 for each in found):g} of {of}" if of else "n/a"


def add_up(results: Results, name: str, measure: str) -> str:
    """`12,191`, over all stories."""
    return f"{sum(each.value for each in list_measured(results, name, measure, 'trusting')):,.0f}"


def list_measured(results: Results, name: str, measure: str, read: ReadPolicy) -> list[Measured]:
    own = [each for each in results.cells if (each.backend or each.arm) == name and each.read_policy in (read, None)]
    found = (each.measures.get(measure) for each in own)
    return [each for each in found if isinstance(each, Measured)]


if __name__ == "__main__":
    main()
