"""How a run tells that it goes on: a bar on a terminal, plain lines in CI; one line of numbers for each trial."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from harness import metrics
from harness.compare.statements import LARGE
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.metrics import faults, trust
from harness.model.cells import Faults
from harness.model.drill import DrillTrial
from harness.model.results import Unplayed
from harness.model.trial import Measured, Trial
from harness.report.model.evidence import sound
from harness.report.words import format_count, make_plain

SHOWN = {
    name: progress.did
    for name in metrics.list_placed(lambda words: words.progress.place if words.progress else None)
    if (progress := metrics.words_of(name).progress)
}
SLOW = 10.0
"""Seconds after which what goes on is named, and again whenever it has taken twice as long."""


class Watch:
    """Names what takes long. `look` says it once it is due; a thread of its own calls it every second."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._since: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._stopped = threading.Event()

    def began(self, name: str) -> None:
        # In this order, as another thread may look in between, and goes by `_since`.
        self._due[name] = SLOW
        self._since[name] = self._clock()

    def over(self, name: str) -> None:
        # `_due` keeps it: another thread may be looking at this name just now.
        self._since.pop(name, None)

    def start(self) -> None:
        # A daemon, so that it keeps no program alive that ends without `stop`.
        threading.Thread(target=self._watch, name="progress", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def look(self) -> str:
        """What goes on, with how long it has taken where that is long."""
        shown = []
        # A copy, as trials begin and end in other threads meanwhile.
        for name, since in list(self._since.items()):
            took = self._clock() - since
            shown.append(f"{name} for {took:.0f} s" if took >= SLOW else name)
            if took >= self._due[name]:
                self._due[name] = 2 * took
                self._say(f"still at {name}, for {took:.0f} s")
        return ", ".join(shown)

    def _watch(self) -> None:
        while not self._stopped.wait(1):
            self.look()


@contextmanager
def say_during(console: Console, what: str) -> Iterator[None]:
    """Says what goes on if it takes long."""
    watch = Watch(lambda line: console.print(line, highlight=False, markup=False))
    watch.began(what)
    watch.start()
    try:
        yield
    finally:
        watch.stop()


class PlainProgress(Watch):
    """One line when a trial ends, or takes long. On a terminal a bar names what is being played."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(self.noted, clock)
        self._console, self._start = console, clock()
        self._bar = Progress(
            BarColumn(20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            console=console,
            expand=True,
            get_time=clock,
        )
        self._task = self._bar.add_task("", total=0)

    def planned(self, trials: int, finished: int) -> None:
        again = f", {finished} of them finished before" if finished else ""
        self._console.print(f"{format_count(trials, 'trial')}{again}", highlight=False)
        self._bar.update(self._task, total=trials, completed=finished)
        if self._console.is_terminal:
            self._bar.start()
        self.start()

    def lacks(self, unplayed: Iterable[Unplayed]) -> None:
        """Says at once who will not be played, and why."""
        for each in unplayed:
            self.noted(f"{each.backend} is not played: {each.reason}")

    def started(self, trial: Trial | DrillTrial) -> None:
        self.began(trial.id)
        self.look()

    def finished(self, log: Log | Transcript) -> None:
        self.over(log.trial.id)
        self._bar.advance(self._task)
        self.look()
        # Either line has to be measured, which is wasted where nothing is shown.
        if not self._console.quiet:
            self.noted(describe_drill(log) if isinstance(log, Transcript) else format_line(log))

    def broke(self, trial: Trial | DrillTrial, why: str) -> None:
        self.over(trial.id)
        self._bar.advance(self._task)
        self.noted(f"{trial.id} broke: {why}")

    def noted(self, line: str) -> None:
        line_with_time = f"{self._clock() - self._start:6.1f} s  {make_plain(line)}"
        self._console.print(line_with_time, highlight=False, markup=False)

    def ended(self) -> None:
        self.stop()
        self._bar.stop()

    def look(self) -> str:
        """Brings the bar up to what goes on now, too."""
        going = super().look()
        self._bar.update(self._task, description=going)
        return going


def format_line(log: Log) -> str:
    """What a trial showed, for the console; read by the trusting policy."""
    trial = log.trial
    policy = f"{trial.write_policy}, noise {trial.noise}" if trial.backend else "no memory"
    head = (
        # Of `module:Class` the class, as both do not fit.
        f"{(trial.backend or 'cold').rpartition(':')[2]:<13.13} {trial.scenario.rpartition('/')[2]:<20.20} {policy:<19}"
    )
    if log.closed is None or log.closed.status != "complete":
        fault = log.closed.fault if log.closed else None
        why = f"{fault.kind} in {fault.op}: {fault.line}" if fault else "no closing event"
        return f"{head} {log.closed.status if log.closed else 'incomplete'}: {' '.join(why.split())[:120]}"
    measures, numbers = metrics.preview(log, SHOWN), []
    for name, word in SHOWN.items():
        measure = measures[name]
        if isinstance(measure, Measured) and measure.hits is not None:
            numbers.append(f"{word} {measure.hits:g}/{measure.of}")
    return f"{head} {'  '.join(numbers)}{_describe_failing(faults.of_trial(log))}"


def _describe_failing(failing: list[Faults]) -> str:
    """How many calls failed that no drill provoked, and the first of them."""
    own = [each for each in failing if not each.provoked]
    if not own:
        return ""
    calls = format_count(sum(each.count for each in own), "call")
    return f"  {calls} FAILED: {own[0].kind} in {own[0].op}: {own[0].message[:120]}"


def describe_drill(transcript: Transcript) -> str:
    """What a drill showed, for the console: measures at their best value are counted, others named.

    A large one is measured for the report alone, in a process that ends with it.
    """
    trial = transcript.trial
    head = f"{trial.backend.rpartition(':')[2]:<13.13} {'drill ' + trial.drill:<20.20} {f'{trial.size} memories':<19}"
    if trial.size >= LARGE:
        return f"{head} {transcript.status}, measured for the report"
    (cell,) = trust.score([transcript])
    if cell.status != "complete":
        return f"{head} {cell.status}: {cell.reason[:120]}"
    judged = {name: m for name, m in cell.measures.items() if isinstance(m, Measured) and m.hits is not None}
    faulty = [f"{name} {m.hits:g}/{m.of}" for name, m in judged.items() if sound(trust.DEFINITIONS[name], m) is False]
    more = f", {len(faulty) - 3} more" if len(faulty) > 3 else ""
    broken = sum(each.status == "failed" for each in cell.measures.values())
    failed = f", {broken} failed" if broken else ""
    line = f"{head} {len(judged) - len(faulty)} of {len(judged)} sound{failed}"
    return line + "".join(f"  {f}" for f in faulty[:3]) + more + _describe_failing(faults.of_drill(transcript))
