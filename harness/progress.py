"""How a run tells that it goes on: a bar on a terminal, plain lines in CI; one line of numbers for each trial."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness import metrics
from harness.drill import DrillTrial
from harness.log import Log
from harness.metrics import trust
from harness.model import Measured, Trial
from harness.report.trust import sound
from harness.report.words import visible
from harness.transcript import Transcript

SHOWN = (("recall", "recalled"), ("decisions_right", "decided right"), ("stale_exposure", "shown stale"))


class Lines:
    """One line when a trial ends. On a terminal a bar names what is being played."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._playing: list[str] = []
        self._bar = Progress(
            BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"), console=console
        )
        self._task = self._bar.add_task("", total=0)

    def planned(self, trials: int, finished: int) -> None:
        again = f", {finished} of them finished before" if finished else ""
        self._console.print(f"{trials} trials{again}", highlight=False)
        self._bar.update(self._task, total=trials, completed=finished)
        if self._console.is_terminal:
            self._bar.start()

    def started(self, trial: Trial | DrillTrial) -> None:
        self._playing.append(trial.id)
        self._show()

    def finished(self, log: Log | Transcript) -> None:
        self._playing.remove(log.trial.id)
        self._bar.advance(self._task)
        self._show()
        text = drilled(log) if isinstance(log, Transcript) else line(log)
        self._console.print(f"{time.monotonic() - self._start:6.1f} s  {text}", highlight=False, markup=False)

    def noted(self, line: str) -> None:
        self._console.print(f"{time.monotonic() - self._start:6.1f} s  {visible(line)}", highlight=False, markup=False)

    def ended(self) -> None:
        self._bar.stop()

    def _show(self) -> None:
        self._bar.update(self._task, description=", ".join(self._playing))


def line(log: Log) -> str:
    """What a trial showed, for the console; read by the trusting policy."""
    trial = log.trial
    policy = f"{trial.write_policy}, noise {trial.noise}" if trial.backend else "no memory"
    head = (
        f"{(trial.backend or 'cold').rpartition(':')[2]:<13.13} {trial.scenario.rpartition('/')[2]:<20.20} {policy:<19}"
    )
    if log.closed is None or log.closed.status != "complete":
        fault = log.closed.fault if log.closed else None
        why = f"{fault.kind} in {fault.op}: {fault.message}" if fault else "no closing event"
        return f"{head} {log.closed.status if log.closed else 'incomplete'}: {visible(' '.join(why.split())[:120])}"
    cell = metrics.score([log])[0]
    numbers = []
    for name, word in SHOWN:
        measure = cell.measures[name]
        if isinstance(measure, Measured) and measure.hits is not None:
            numbers.append(f"{word} {measure.hits:g}/{measure.of}")
    return f"{head} {'  '.join(numbers)}"


def drilled(transcript: Transcript) -> str:
    """What a drill showed, for the console: measures at their best value are counted, others named."""
    trial, (cell,) = transcript.trial, trust.score([transcript])
    head = f"{trial.backend.rpartition(':')[2]:<13.13} {'drill ' + trial.drill:<20.20} {f'{trial.size} memories':<19}"
    if cell.status != "complete":
        return f"{head} {cell.status}: {visible(cell.reason[:120])}"
    judged = {name: m for name, m in cell.measures.items() if isinstance(m, Measured) and m.hits is not None}
    faulty = [f"{name} {m.hits:g}/{m.of}" for name, m in judged.items() if sound(trust.DEFINITIONS[name], m) is False]
    more = f", {len(faulty) - 3} more" if len(faulty) > 3 else ""
    return f"{head} {len(judged) - len(faulty)} of {len(judged)} sound" + "".join(f"  {f}" for f in faulty[:3]) + more
