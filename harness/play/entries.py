"""What a recall brought, as whoever asked reads it: entries in reading order, as many as fit the token budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from harness.adapter import Hit
from harness.log.parts import Found, Span
from harness.model.backend import Backend, Fault
from harness.model.dates import parse_moment
from harness.model.trial import Trial
from harness.play.readers import ReadEntry, render
from harness.play.store import Lost
from harness.text.classify import cut
from harness.text.stored_texts import StoredTexts

OWN_SECONDS = 120.0
"""What we spend on one answer ourselves, cutting it and looking up its sources; what takes longer ends the trial."""


@dataclass(frozen=True)
class EntryCutter:
    """Cuts the answers of one trial.

    Attributes:
        count: A text -> its tokens.
        stored: What was stored in this trial so far.
    """

    trial: Trial
    backend: Backend
    count: Callable[[str], int]
    stored: StoredTexts

    def cut(self, hits: Sequence[Hit], until: float) -> tuple[Found, int]:
        """Hits as entries in reading order, and the tokens of all of them. Raises Lost when it is later than `until`.

        What nobody stored has no entry, as no reader is shown it: it would be credited with a guess of the backend.
        """
        entries: list[Span] = []
        total = 0
        for number, hit in enumerate(hits):
            limit_time(until)
            spans = self._divide(hit.text)
            if not (self.backend.words_its_own or self.stored.holds(hit.memory_id, hit.text, spans)):
                continue
            whole = self.count(render(hit.text, hit))
            total += whole
            if len(spans) == 1:
                entries.append(Span(hit=number, start=spans[0][0], end=spans[0][1], tokens=whole))
            else:
                entries += [
                    Span(hit=number, start=a, end=b, tokens=self.count(render(hit.text[a:b], hit))) for a, b in spans
                ]
        return Found(hits=tuple(hits), entries=tuple(self._order(hits, entries))), total

    def count_shown(self, entries: Sequence[Span]) -> int:
        """How many entries, from the first on, whoever asked is shown: those that fit the token budget.

        Of a ranked backend k, however many it packs into one hit. What has no rank is read on, as a file is: k of its
        lines would be no better chosen than any others.
        """
        fitting = self._count_fitting(entries)
        return min(fitting, self.trial.k) if self.backend.supports("ranked") else fitting

    def _count_fitting(self, entries: Sequence[Span]) -> int:
        return sum(spent <= self.trial.budget for spent in accumulate(span.tokens for span in entries))

    def _order(self, hits: Sequence[Hit], entries: Sequence[Span]) -> Sequence[Span]:
        """Entries in reading order: as they came. Where not all of an unranked answer fits the budget, the newest are
        read, as far as dates came back, still in the order in which they came; the others stand behind them.

        The first of a file that grows at its end would leave out whatever was learnt of late.
        """
        if self.backend.supports("ranked"):
            return entries
        dates = [parse_moment(hit.created) for hit in hits]
        dated = [span for span in entries if dates[span.hit] is not None]
        # of equal dates the later one, as a file grows at its end
        newest = sorted(dated, key=lambda span: (dates[span.hit], span.hit, span.start), reverse=True)
        newest += [span for span in entries if dates[span.hit] is None]
        room = self._count_fitting(newest)
        return sorted(newest[:room], key=lambda span: (span.hit, span.start)) + newest[room:]

    def _divide(self, text: str) -> list[tuple[int, int]]:
        """Entries; what a backend made of a session by itself, it brings as it wants it to be read."""
        return [(0, len(text))] if self.trial.feed == "native" and text.strip() else cut(text, self.stored.known)


def read(found: Found, shown: int) -> list[ReadEntry]:
    """The first entries of an answer."""
    # of all entries, shown or not: who replaces a sole entry replaces its whole hit
    held = Counter(span.hit for span in found.entries)
    return [
        ReadEntry(position, found.hits[span.hit].text[span.start : span.end], found.hits[span.hit], held[span.hit] == 1)
        for position, span in enumerate(found.entries[:shown])
    ]


def limit_time(until: float) -> None:
    """Raises Lost when it is later than that."""
    if time.monotonic() > until:
        message = f"reading one answer took us more than {OWN_SECONDS:g} s"
        raise Lost(Fault(kind="limit", op="recall", message=message))
