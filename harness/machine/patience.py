"""Deadlines that count the time in which we ran: not what passed while this process, or the whole machine, stood still.

A process that is stopped, or a laptop that sleeps, wakes up long after the moment for which it asked. So a deadline is
waited for in short spans, and a span that took longer counts as its own length. Who is waited for may stand still as
well: on a busy machine it is kept from running by others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

from harness.machine import processes

SPAN = 0.25
"""Seconds after which it is looked at whether anything stood still."""
ALLOWANCE = 300.0
"""Seconds for which who is waited for may be stopped from outside, or kept from running."""
BUSY = "other programs had the processors"


class Patience:
    """Seconds for which somebody is waited for, in one wait or in many.

    Attributes:
        left: Seconds that still count.
        paused: Seconds in which we did not run.
    """

    def __init__(self, seconds: float, excuse: Callable[[], str] = lambda: "") -> None:
        """Args: excuse: What kept who is waited for from running in the span that has just passed; empty: it counts."""
        self.left, self.paused, self._excuse = seconds, 0.0, excuse
        self._excused_spans = Counter[str]()

    @property
    def used_excuse(self) -> str:
        """The most frequent excuse, once there were as many as count; before that empty."""
        return self._excused_spans.most_common(1)[0][0] if self._excused_spans.total() * SPAN >= ALLOWANCE else ""

    def wait(self, ready: Callable[[float], object], span: float = SPAN) -> bool:
        """Whether it is ready within one span. `ready` waits for so many seconds. Raises TimeoutError."""
        span = min(span, max(self.left, 0.0))
        began = time.monotonic()
        found = bool(ready(span))
        took = time.monotonic() - began
        self.paused += max(0.0, took - span)
        if not found and not self.used_excuse and (excuse := self._excuse()):
            self._excused_spans[excuse] += 1
        else:
            # all of it where nothing came: if `ready` gives up early each time, the deadline still comes
            self.left -= min(took, span) if found else span
        if not found and self.left <= 0:
            raise TimeoutError
        return found


class Rivals:
    """Whether other programs keep some processes from running.

    They do in a span in which those got less than half a processor and would have taken as much more. Who takes more
    threads than there are processors waits for itself, and gets what there is.
    """

    def __init__(self, leaders: Callable[[], Iterable[int]]) -> None:
        self._leaders = leaders
        self._before: processes.Share | None = None

    def keep(self) -> bool:
        """Whether they did since this was last asked, a span ago. Most waits end within one: the first looks only."""
        before, self._before = self._before, processes.measure_share(self._leaders())
        if before is None:
            return False
        return self._before.got - before.got < SPAN / 2 <= self._before.waited - before.waited
