"""What is still found after a switch of the embedder: everything, nothing with an error, or nothing without one.

A memory counts if its own text found it before the switch. Somebody notices a call that fails; nobody notices an answer
without the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from harness.log.transcript import Handled, Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.metric import proportion
from harness.metrics.trust.metric import ASKS, DrillWords, TrustMetric, trust
from harness.metrics.trust.view import DrillView
from harness.model.drill import Piece
from harness.model.trial import Better, Measure

NONE = "no memory was brought by its own text before the switch"


class Switch(DrillView):
    """One of the two switches; its steps are `name written` and `name`."""

    def known(self, name: str) -> list[Piece]:
        return [piece for piece in self.plan.of("kept") if self.sees(f"{name} written", piece.name, "recall")]

    def where(self, name: str, piece: Piece) -> str:
        """The question; without one, what failed to open, else the write."""
        refused = [line for line, event in self.transcript.of(Handled) if event.step == name and event.fault]
        writes = [line for line, call in self.transcript.calls("remember", name) if call.fault]
        # only new memories are written after the switch
        line = next(iter([*refused, *(writes if piece.role == "new" else ())]), None)
        return self.line(name, piece.name) or self.transcript.receipt(line, piece.name)


def found(transcript: Transcript, name: str) -> Measure:
    switch = Switch.of(transcript)
    known = switch.known(name)
    seen = {piece.name: switch.sees(name, piece.name, "recall") for piece in known}
    bad = [piece for piece in known if not seen[piece.name]]
    unanswered = sum(seen[piece.name] is None for piece in bad)
    lines = list(dict.fromkeys(switch.where(name, piece) for piece in bad))
    return proportion(len(known) - len(bad), len(known), lines, none=NONE, unanswered=unanswered)


def silent(transcript: Transcript, name: str) -> Measure:
    switch = Switch.of(transcript)
    known = switch.known(name)
    # None is a call that failed: then somebody was told, and nothing is silent
    bad = [piece for piece in known if switch.sees(name, piece.name, "recall") is False]
    return proportion(len(bad), len(known), [switch.where(name, piece) for piece in bad], none=NONE)


def new_found(transcript: Transcript, name: str) -> Measure:
    """What was not written, or not asked for, as a call failed, is unanswered."""
    switch = Switch.of(transcript)
    new = switch.plan.of("new") if switch.known(name) else ()
    seen = {piece.name: switch.sees(name, piece.name, "recall") for piece in new}
    bad = [piece for piece in new if not seen[piece.name]]
    unanswered = sum(seen[piece.name] is None for piece in bad)
    lines = list(dict.fromkeys(switch.where(name, piece) for piece in bad))
    return proportion(len(new) - len(bad), len(new), lines, none=NONE, unanswered=unanswered)


DRILL = DrillWords(
    "embedder",
    75,
    "Embedder switched",
    "Is what was stored still found when another embedder answers, or does somebody say so?",
)


_ALOUD = "a refusal is as good as an answer, and an answer by luck is none: what is silent counts"


def _trust(
    name: str,
    better: Better,
    formula: str,
    measure: Callable[..., Measure],
    which: str,
    label: str,
    column: Place | None = None,
    aside: str = "",
) -> TrustMetric:
    return trust(
        name, DRILL, better, "proportion", formula, partial(measure, name=which), label=label, column=column,
        aside=aside, whole=False, asks=ASKS,
    )  # fmt: skip


METRICS: tuple[TrustMetric, ...] = tuple(
    each
    for which, tail, short, change, words in (
        ("another", "with_another_embedder", "another embedder", "a change of embedding model",
         "another embedder with vectors of the same length"),
        ("shorter", "with_shorter_vectors", "shorter vectors", "a change to shorter vectors",
         "another embedder with vectors of half the length"),
    )
    for each in (
        _trust(
            f"found_{tail}", "higher",
            f"memories that their own text brings within k when {words} answers / memories that it brought before",
            found, which, f"memories found with {short}", aside=_ALOUD,
        ),
        _trust(
            f"silently_unfound_{tail}", "lower",
            f"memories that their own text does not bring any more when {words} answers, though every call about them "
            "was answered / memories that it brought before", silent, which,
            f"memories no longer found after {change}, without an error", columns.EMBEDDER.at("silent"),
        ),
        _trust(
            f"new_found_{tail}", "higher",
            f"memories written when {words} answers that their own text brings within k / memories that were to be "
            "written then", new_found, which, f"new memories found with {short}", aside=_ALOUD,
        ),
    )
)  # fmt: skip
