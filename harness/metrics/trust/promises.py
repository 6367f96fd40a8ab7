"""Does every answer to random sequences of operations keep the adapter contract? The shortest one that does not."""

from __future__ import annotations

from harness.log.blobs import unpack
from harness.log.transcript import ANSWERS, STEPS, Broke, Transcript, Tried
from harness.metrics import columns
from harness.metrics.metric import cannot_tell, failed, proportion
from harness.metrics.trust.metric import DrillWords, TrustMetric, trust
from harness.model.cells import BrokenPromise
from harness.model.sequence import Difference
from harness.model.trial import Measure
from harness.promises import words
from harness.promises.oracle import judge

BROKEN_PROMISES = "broken_promises"
ENOUGH = 400
"""Operations below which a promise is not called held. docs/promises.md has how many planted faults so many find."""


def broken_promises(found: Transcript) -> Measure:
    calls = sum(event.calls for _, event in found.of(Tried))
    lines = [f"L{line}" for line, event in found.of(Broke) if _judge(found, event) is not None]
    if len(lines) < len(found.of(Broke)):
        return failed("the answers of the shortest sequence are what the contract says")
    # no operation at all has a reason of its own
    if not lines and 0 < calls < ENOUGH:
        return cannot_tell(f"no promise was broken in {calls:,} operations; {ENOUGH} are needed to say that none is")
    return proportion(len(lines), calls, lines, none="no operation was played")


def find_promise(found: Transcript) -> BrokenPromise | None:
    """What the page tells of it."""
    for _, event in found.of(Broke):
        if differs := _judge(found, event):
            steps = unpack(found.blobs, STEPS, event.steps)
            again = event.other.says if event.other else "every answer was right"
            return BrokenPromise(
                short=words.shorten(steps),
                says=differs.says,
                steps=tuple(words.tell(steps)),
                random=again if event.random else "",
                shrunk=event.shrunk,
                program=event.program,
            )
    return None


def _judge(found: Transcript, event: Broke) -> Difference | None:
    steps, answers = unpack(found.blobs, STEPS, event.steps), unpack(found.blobs, ANSWERS, event.answers)
    return judge(found.drilled.backend, steps, answers)


PROMISES = "promises"
DRILL = DrillWords(
    PROMISES,
    80,
    "Promises kept",
    "Does any sequence of operations get an answer that the adapter contract rules out?",
)
METRICS: tuple[TrustMetric, ...] = (
    trust(
        BROKEN_PROMISES,
        DRILL,
        "lower",
        "proportion",
        "1 if an operation was answered otherwise than a model of the adapter contract says, else 0 / operations "
        "played up to then, in random sequences over scopes with awkward names, marks and filters among them, each "
        "sequence on an empty store; the search ends with the first; where none is found in fewer than 400, it cannot "
        "be told",
        broken_promises,
        varies="a drill ends after 300 s, too, so that a very slow one plays fewer operations",
        verbatim=True,
        version=6,
        asks=(),
        label="broken promises of the contract",
        column=columns.PROMISES.at("broken"),
    ),
)
