"""What logs say, in numbers. Pure functions: no backend, no repository, no model, no clock.

Every module beside this one that defines METRICS adds its own: a measure, with its words, is in one file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from harness.log.reader import Log
from harness.machine.modules import find_defining
from harness.metrics import broken
from harness.metrics.metric import StoryMetric, explain_unmeasured, failed, make_missing, not_applicable
from harness.metrics.view import Record, View
from harness.metrics.words import WORDLESS, Words
from harness.model.cells import Cell, Status
from harness.model.trial import CellKey, Definition, Measure, Trial, list_policies
from harness.text.classify import Classifier

METRICS: tuple[StoryMetric, ...] = tuple(
    metric for module in find_defining("METRICS", __name__, __path__) for metric in module.METRICS
)
DEFINITIONS: Mapping[str, Definition] = {metric.definition.name: metric.definition for metric in METRICS}
WORDS: Mapping[str, Words] = {metric.definition.name: metric.words for metric in METRICS}
FIRST = tuple(sorted(WORDS, key=lambda name: (WORDS[name].topic.first, WORDS[name].place, name)))
"""By topic, in the order of the first screen."""
RATIOS: Mapping[str, tuple[str, str]] = {metric.definition.name: metric.ratio for metric in METRICS if metric.ratio}


def words_of(name: str) -> Words:
    """Words of a measure that results name and that is no more: nothing but its name."""
    return WORDS.get(name, WORDLESS)


def list_placed(place: Callable[[Words], int | None]) -> tuple[str, ...]:
    """The measures that have a place in a list, in its order."""
    found = [(at, name) for name, each in WORDS.items() if (at := place(each)) is not None]
    return tuple(name for _, name in sorted(found))


def score(logs: Sequence[Log]) -> list[Cell]:
    """The cells of all logs, in their order: one for each read policy of a warm trial, one of a cold trial.

    A log of which nothing can be computed, because we break, has one cell that says so.
    """
    return score_and_view(logs)[0]


def preview(log: Log, names: Collection[str]) -> Mapping[str, Measure]:
    """Some measures of one log by itself, read by its first policy; what compares with other logs lacks them."""

    def measure(log: Log) -> Mapping[str, Measure]:
        view = next(_views([log]))[0]
        return {metric.definition.name: _measure(metric, view) for metric in METRICS if metric.definition.name in names}

    return broken.guard(measure, log, lambda why: dict.fromkeys(names, failed(why)))


def score_and_view(logs: Sequence[Log]) -> tuple[list[Cell], list[View]]:
    """Scores logs, and brings what the cells are computed from, for who shows the evidence behind them."""
    views = list[View]()

    def cells(logs: Sequence[Log]) -> Iterator[Cell]:
        for each in _views(logs):
            views.extend(each)
            yield from _score(each)

    unscored = partial(_make_all_unscored, logs)
    return broken.guard(lambda logs: list(cells(logs)), logs, unscored), views


def _make_all_unscored(logs: Sequence[Log], why: str) -> list[Cell]:
    return [make_unscored(log.trial, why, log) for log in logs]


def make_unscored(trial: Trial, reason: str, log: Log | None = None) -> Cell:
    """The cell of a trial without a readable log, or with one that could not be scored: shown, never left out."""
    policy = list_policies(trial.reader)[0] if trial.backend else None
    key = CellKey(trial=trial, arm="warm" if trial.backend else "cold", read_policy=policy)
    return _make(key, log, 0, *make_missing(METRICS, reason, log))


def views(logs: Sequence[Log]) -> list[View]:
    """What the cells are computed from, in the order of `score`; for who shows the evidence behind them."""
    return [view for each in _views(logs) for view in each]


def _views(logs: Sequence[Log]) -> Iterator[list[View]]:
    """The cells of each log in turn."""
    records = _records(logs)
    controls: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        # a control that broke off lacks decisions, which would look as if it got them wrong
        if record.log.closed and record.log.closed.status == "complete" and _name(record) != "":
            controls[record.log.opened.scenario.blob].append(record)
    for record in records:
        # by content: under another version or salt it is another story
        beside = controls[record.log.opened.scenario.blob]
        cold, oracle, stale_oracle = (_nearest(record, beside, name) for name in (None, "oracle", "stale_oracle"))
        yield [View(record, policy, cold, oracle, stale_oracle) for policy in record.log.opened.reads or (None,)]


def _records(logs: Sequence[Log]) -> list[Record]:
    """One classifier for all logs of the same texts: most of them came back from many backends."""
    classifiers: dict[tuple[str, str], Classifier] = {}
    records = []
    for log in logs:
        # a classifier knows canaries, which each seed draws anew; a mapping can be no part of a key
        key = log.opened.scenario.blob, str(sorted(log.opened.canaries.items()))
        if key not in classifiers:
            classifiers[key] = Classifier(log.scenario, log.opened.canaries)
        records.append(Record(log, classifiers[key]))
    return records


def _nearest(record: Record, controls: Sequence[Record], name: str | None) -> Record | None:
    """The log of a control (None: the cold arm) of this story, seed and reader; the one most like this trial.

    The cold arm draws nothing by seed and hears no noise: any seed of it will do.
    """
    trial = record.log.trial
    fitting = [
        other
        for other in controls
        if _name(other) == name
        and other.log.trial.reader == trial.reader
        and (name is None or other.log.trial.seed == trial.seed)
    ]

    def distance(other: Record) -> tuple[bool, bool, bool, bool, bool, int, str]:
        # the id comes last, so that the choice among equals does not depend on the order of the logs
        its = other.log.trial
        return (
            its.seed != trial.seed,
            its.k != trial.k,
            its.budget != trial.budget,
            its.write_policy != trial.write_policy,
            its.noise != trial.noise,
            its.noise,
            its.id,
        )

    return min(fitting, key=distance, default=None)


def _name(record: Record) -> str | None:
    """The name of a control; a row under test has none that could be asked for."""
    backend = record.log.opened.backend
    return backend.name if backend and backend.control else "" if backend else None


def _score(views: Sequence[View]) -> list[Cell]:
    log = views[0].log
    return broken.guard(_cells, views, lambda why: [make_unscored(log.trial, why, log)])


def _cells(views: Sequence[View]) -> list[Cell]:
    # what depends on no way of reading is measured once for all of them
    shared = {metric.definition.name: _measure(metric, views[0]) for metric in METRICS if not metric.reads}
    cells = []
    for view in views:
        read = {metric.definition.name: _measure(metric, view) for metric in METRICS if metric.reads}
        cells.append(_cell(view, {name: read.get(name) or shared[name] for name in DEFINITIONS}))
    return cells


def _measure(metric: StoryMetric, view: View) -> Measure:
    record = view.record
    if unmeasured := explain_unmeasured(record.log):
        return unmeasured
    if view.arm == "cold" and not metric.cold:
        return not_applicable("the cold arm has no memory")
    if record.failed and (metric.whole or not record.started):
        return failed(record.log.reason)
    return broken.guard(metric.measure, view, failed)


def _cell(view: View, measures: Mapping[str, Measure]) -> Cell:
    record, log = view.record, view.log
    key = CellKey(trial=log.trial, arm=view.arm, read_policy=view.read_policy)
    return _make(key, log, record.pool, log.status, log.reason, measures)


def _make(
    key: CellKey, log: Log | None, pool: int, status: Status, reason: str, measures: Mapping[str, Measure]
) -> Cell:
    trial = key.trial
    # without a log the name of the story tells its kind: a story is called KIND/NAME
    return Cell(
        id=key.id,
        trial=trial.id,
        backend=trial.backend,
        scenario=trial.scenario,
        kind=log.scenario.kind if log else trial.scenario.partition("/")[0],
        arm=key.arm,
        write_policy=trial.write_policy,
        read_policy=key.read_policy,
        noise=trial.noise,
        seed=trial.seed,
        reader=trial.reader,
        k=trial.k,
        pool=pool,
        status=status,
        reason=reason,
        log=log.path.name if log else "",
        log_sha256=log.sha256 if log else "",
        measures=measures,
    )
