"""Calls to the memory that an agent makes to write down what it learns, and to ask for its decisions.

Not those that the story makes: probes, noise, deletions on request, and looks at what is stored.
"""

from __future__ import annotations

from harness.log.events import Event, Listed, Recalled, Retired, Wrote
from harness.metrics.metric import StoryMetric, amount, metric
from harness.metrics.view import View, find_purpose
from harness.metrics.words import COST, Words
from harness.model.trial import Measure

MEMORY_CALLS = "memory_calls"


def memory_calls(view: View) -> Measure:
    return amount(sum(_count(view, event) for event in view.log.events), len(view.scenario.jobs()))


def _count(view: View, event: Event) -> int:
    if isinstance(event, Wrote):
        return int(event.purpose != "noise")
    if isinstance(event, Retired):
        # what lapses takes no call: its write has told when it ends
        return {"expire": len(event.ids), "lapse": 0}.get(event.op, 1)
    if isinstance(event, Recalled):
        return int(event.purpose in ("lookup", find_purpose(view.read_policy)))
    return int(isinstance(event, Listed) and event.stage == "lookup")


METRICS: tuple[StoryMetric, ...] = (
    metric(
        MEMORY_CALLS, "lower", "calls",
        "calls to memory by which the agent writes (a batch is one, an update that ends a memory is one each), looks "
        "up before it writes, lists for that, and asks for decisions; of: jobs", memory_calls, reads=True, whole=True,
        aside="what a way of working takes beside its tokens", words=Words(COST, place=50, contrasted=65),
        label="calls to memory",
    ),
)  # fmt: skip
