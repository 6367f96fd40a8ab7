"""What the chat calls of a run cost: tokens by payer and phase, money by a table of prices, seconds; for each job done.

Tokens are those that the upstream counted, so they differ from the measures of cost, which count alike for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from harness import metrics
from harness.log.calls import ModelCall
from harness.log.events import Drafted, Metered, Recalled, Wrote
from harness.log.folder import Folder
from harness.metrics.rounds import find_done, list_rounds
from harness.metrics.view import View
from harness.model.prices import Prices
from harness.model.trial import SCRIPTED, WritePolicy, split_reader

Payer = Literal["reader", "writer", "backend"]


class Condition(NamedTuple):
    """What one row is about; the backend is None for the cold arm."""

    # taken by place elsewhere (planning.spend, sorting below): a new field goes to the end
    reader: str
    backend: str | None
    write_policy: WritePolicy | None
    noise: int
    writer: str = SCRIPTED


@dataclass
class Spent:
    """Chat calls of one payer in one phase, to one model; the model is empty where the log does not tell one.

    Attributes:
        short: Calls of which the endpoint counts far fewer prompt tokens than were sent.
    """

    payer: Payer
    phase: str
    model: str
    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    short: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    def money(self, prices: Prices) -> float | None:
        """None: the table has no price for this model."""
        price = prices.models.get(self.model)
        return None if price is None else price.cost(self.prompt, self.completion, self.cached)


@dataclass
class ReportedUsage:
    """What agent programs say that their jobs took, and what the endpoint counted of the same rounds of them.

    Attributes:
        rounds: Of jobs, of which they say it.
        differing: Of these, rounds of which the endpoint counted otherwise.
        own, counted: Prompt tokens and answers.
        silent: Rounds of which they say nothing.
    """

    rounds: int = 0
    differing: int = 0
    own: tuple[int, int] = (0, 0)
    counted: tuple[int, int] = (0, 0)
    silent: int = 0

    def absorb(self, other: ReportedUsage) -> None:
        self.rounds += other.rounds
        self.differing += other.differing
        self.own = self.own[0] + other.own[0], self.own[1] + other.own[1]
        self.counted = self.counted[0] + other.counted[0], self.counted[1] + other.counted[1]
        self.silent += other.silent


@dataclass
class Cost:
    """One row.

    Attributes:
        done: Jobs of which every decision is right.
        working: Seconds that the reader took for its jobs, questions to the memory included; writing: that the memory
            took to be written and looked up in before, and a model that writes. Both as the machine was.
        untimed: Jobs of logs from before their seconds were written down.
        told: What agent programs count of their own.
    """

    condition: Condition
    jobs: int = 0
    done: int = 0
    working: float = 0.0
    writing: float = 0.0
    untimed: int = 0
    told: ReportedUsage = field(default_factory=ReportedUsage)
    spent: dict[tuple[Payer, str, str], Spent] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.spent.values())

    @property
    def calls(self) -> int:
        return sum(each.calls for each in self.spent.values())

    def absorb(self, other: Cost) -> None:
        """Adds what other stories took under the same condition."""
        self.jobs += other.jobs
        self.done += other.done
        self.working += other.working
        self.writing += other.writing
        self.untimed += other.untimed
        self.told.absorb(other.told)
        for each in other.spent.values():
            spent = _sum_row(self, each.payer, each.phase, each.model)
            spent.calls += each.calls
            spent.prompt += each.prompt
            spent.cached += each.cached
            spent.completion += each.completion
            spent.short += each.short

    def money(self, prices: Prices) -> float | None:
        """None: a model of it has no price."""
        sums = [each.money(prices) for each in self.spent.values() if each.calls]
        # the filter is for mypy: no None is left there
        return None if None in sums else sum(each for each in sums if each is not None)

    def list_unpriced(self, prices: Prices) -> list[str]:
        return sorted({each.model for each in self.spent.values() if each.calls and each.money(prices) is None})


def list_costs(folders: Sequence[Folder]) -> list[Cost]:
    """A row for each reader, backend, write policy and noise, cold first. Raises FolderError and BlobError."""
    return join(
        row
        for folder in folders
        for logs in folder.whole_stories()
        for row in cost_story(metrics.views(list(logs.values())))
    )


def cost_story(views: Iterable[View]) -> list[Cost]:
    """The costs of one story, in no order."""
    costs: dict[Condition, Cost] = {}
    for view in _list_views(views):
        trial = view.log.trial
        key = Condition(trial.reader, trial.backend, trial.write_policy, trial.noise, trial.writer)
        _add(costs.setdefault(key, Cost(key)), view)
    return list(costs.values())


def join(rows: Iterable[Cost]) -> list[Cost]:
    """One row of each condition, cold first."""
    costs: dict[Condition, Cost] = {}
    for row in rows:
        costs.setdefault(row.condition, Cost(row.condition)).absorb(row)
    # None cannot be compared with a name; the empty one puts the cold arm first
    return [
        costs[key]
        for key in sorted(costs, key=lambda key: (key.reader, key.backend or "", str(key[2]), key.noise, key.writer))
    ]


def _list_views(views: Iterable[View]) -> Iterator[View]:
    """One of each trial: that of the read policy which the headline shows."""
    for view in views:
        if view.read_policy in (None, *view.log.opened.reads[:1]):
            yield view


def _add(row: Cost, view: View) -> None:
    record, log = view.record, view.log
    row.jobs += len(view.scenario.jobs())
    row.done += len(find_done(view))
    for work in (event for rounds in list_rounds(view).values() for _, event in rounds):
        row.working += work.took or 0.0
        row.untimed += work.took is None
        calls = log.calls(work)
        if split_reader(log.trial.reader)[0].startswith("agent:"):
            calls = calls[:-1]  # the last says how the program ended, and asked nobody
            row.told.silent += work.told is None
        if work.told is not None:
            own = work.told.prompt, work.told.completion
            counted = sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls)
            row.told.absorb(ReportedUsage(1, own != counted, own, counted))
        for call in calls:
            _add_call(_sum_row(row, "reader", "job", call.model or split_reader(log.trial.reader)[1]), call)
    for _, drafted in record.of(Drafted):
        row.writing += drafted.took or 0.0
        for call in log.calls(drafted):
            _add_call(_sum_row(row, "writer", "ingest", call.model or split_reader(log.trial.writer)[1]), call)
    row.writing += sum(event.took or 0.0 for _, event in record.of(Wrote))
    row.writing += sum(event.took or 0.0 for _, event in record.of(Recalled) if event.purpose == "lookup")
    for _, metered in record.of(Metered):
        models = list(metered.models)
        for phase, count in metered.chat.items():
            # a phase's calls are not told apart by model: several models share a row, which then has no price
            spent = _sum_row(row, "backend", phase, models[0] if len(models) == 1 else ", ".join(models))
            _count(spent, count)


def _add_call(spent: Spent, call: ModelCall) -> None:
    spent.calls += 1
    spent.prompt += call.prompt_tokens
    spent.cached += call.cached_tokens
    spent.completion += call.completion_tokens
    spent.short += call.unread_tokens > 0


def _count(spent: Spent, count: Mapping[str, int]) -> None:
    spent.calls += count["calls"]
    spent.prompt += count["prompt"]
    # a log leaves `cached` and `short` out where they are 0
    spent.cached += count.get("cached", 0)
    spent.completion += count["completion"]
    spent.short += count.get("short", 0)


def _sum_row(row: Cost, payer: Payer, phase: str, model: str) -> Spent:
    return row.spent.setdefault((payer, phase, model), Spent(payer, phase, model))
