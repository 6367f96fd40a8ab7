"""Disk space that a store takes for each question, although nothing is written to it."""

from __future__ import annotations

from harness.log.transcript import Transcript
from harness.metrics.metric import amount, failed, not_applicable
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.trial import Measure

FIRST, LITTLE, OFTEN = "asked first", "asked little", "asked often"


def bytes_per_question(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "persistent"):
        return lacking
    if transcript.drilled.backend.served:
        return not_applicable("its server writes logs and pages of its own accord")
    looks = {step: [*transcript.looks(step)] for step in (FIRST, LITTLE, OFTEN)}
    if not all(looks.values()):
        return not_applicable("no store was asked, closed and looked at again and again")
    if problem := next((look.problem for each in looks.values() for _, look in each if look.problem), None):
        return failed(problem)
    first, little, often = (sum(look.bytes for _, look in each) for each in looks.values())
    if not often:
        return not_applicable("no declared layer has bytes")
    more = _count_questions(transcript, OFTEN) - _count_questions(transcript, LITTLE)
    if more <= 0:
        return failed("the questions were not answered")
    lines = [f"L{line}" for step in (LITTLE, OFTEN) for line, look in looks[step] if look.bytes]
    # takes off what an opening adds by itself, with the one round of questions that `more` leaves out
    grown = often - little - max(0, little - first)
    return amount(max(0, grown) / more, more, receipts=lines)


def _count_questions(transcript: Transcript, step: str) -> int:
    return sum(call.fault is None for op in ("recall", "entries") for _, call in transcript.calls(op, step))


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "bytes_per_question", KEEPING, "lower", "bytes",
        "bytes by which all files that are found grow from one closing to the next, but for those by which they grew "
        "from the closing before / recalls and listings, more than those before; nothing is written meanwhile, and a "
        "store that shrank grew by 0",
        bytes_per_question,
        aside="no column asks for room on disk", varies="pages are filled as it happens",
        label="disk space that one question takes",
    ),
)  # fmt: skip
