"""History independence: does a store that was filled by a detour answer like one that was filled directly?

Only questions that the two direct stores, filled in two orders, answer alike count: other differences may come from
ties or an approximate index. The property is defined by Naor and Teague, Anti-persistence: history independent data
structures, STOC 2001 (here for answers, not for bytes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from harness.adapter import Hit
from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion
from harness.metrics.trust.metric import DrillWords, TrustMetric, trust
from harness.metrics.trust.view import DrillLook, DrillView, line_of
from harness.model.trial import Measure

DIRECT, ORDER, DETOUR, REOPENED = "direct", "other order", "detour", "detour, reopened"
DIGITS = 6
"""Of a score: two that differ less are equal."""


class DetourQuestion(NamedTuple):
    """One question, or one memory's own text, put to the stores of one size; a look that is missing is None.

    Attributes:
        name: The memory that it asks for.
        own: It is asked for by its own text.
        after: As the store came out of the detour, and in a fresh process.
    """

    name: str
    own: bool
    direct: DrillLook | None
    order: DrillLook | None
    after: Sequence[DrillLook]


class DetourView(DrillView):
    @cached_property
    def questions(self) -> Sequence[DetourQuestion]:
        ways: dict[tuple[str, str], dict[str, DrillLook]] = {}
        for line, call in self.transcript.calls("recall"):
            # a step is called WAY SIZE, and the names of ways hold spaces
            way, _, size = call.step.rpartition(" ")
            ways.setdefault((size, str(call.request["query"])), {})[way] = DrillLook(line, call)
        return [self._read_question(query, looks) for (_, query), looks in ways.items()]

    def _read_question(self, query: str, looks: Mapping[str, DrillLook]) -> DetourQuestion:
        name = next(iter(looks.values())).call.about[0]
        after = [looks[step] for step in (DETOUR, REOPENED) if step in looks]
        own = query == self.plan.by_name[name].item.text
        return DetourQuestion(name, own, looks.get(DIRECT), looks.get(ORDER), after)

    def list_hits(self, look: DrillLook | None) -> Sequence[Hit] | None:
        """What came; None if the look failed or is missing."""
        return None if look is None or look.call.fault else self.transcript.hits(look.call)

    def agrees(self, look: DrillLook | None, other: DrillLook | None) -> bool | None:
        """Whether the same texts came, and in the same order if it is one of relevance; None if a look failed.

        Hits of equal scores may come in any order, and any of them may be those that k cuts off.
        """
        one, two = self.list_hits(look), self.list_hits(other)
        if one is None or two is None:
            return None
        if not self.transcript.supports("ranked"):
            return self._list_brought(look) == self._list_brought(other)
        if _arrange_texts(one) == _arrange_texts(two):
            return True
        # k may cut both answers amid hits of one score: if it is the same score, only what stands above it is compared
        floors = {_score(hits[-1]) if hits else None for hits in (one, two)}
        floor = floors.pop()
        ties = not floors and floor is not None and len(one) == len(two)
        return ties and _arrange_texts(one, floor) == _arrange_texts(two, floor)

    def finds(self, question: DetourQuestion, look: DrillLook | None) -> bool | None:
        """Whether a memory's own text brings it; None if the look failed or is missing."""
        return None if self.list_hits(look) is None else question.name in self._list_brought(look)

    def _list_brought(self, look: DrillLook | None) -> frozenset[str]:
        """The memories whose texts stand in an answer, which may be one hit for all of them."""
        return frozenset() if look is None else self.list_shown(look.call)

    def count_changed(self, cases: Sequence[tuple[DetourQuestion, Sequence[bool | None]]], none: str) -> Measure:
        """Of these cases, those of which a look after the detour is not as before.

        Args:
            cases: For each look after the detour whether it is; None if it failed.
        """
        bad = [(self._find_line(question, same), question.name) for question, same in cases if not all(same)]
        unanswered = sum(None in same and False not in same for _, same in cases)
        return proportion(len(bad), len(cases), self.receipts(bad), none=none, unanswered=unanswered)

    def _find_line(self, question: DetourQuestion, same: Sequence[bool | None]) -> int:
        """The line of the look that shows the difference, else of the one that failed."""
        return question.after[same.index(False if False in same else None)].line


def _score(hit: Hit) -> float | None:
    return None if hit.score is None else round(hit.score, DIGITS)


def _arrange_texts(hits: Sequence[Hit], floor: float | None = None) -> Sequence[str]:
    """Their texts in the order in which they came, those of equal scores by text; only those above `floor` if given."""
    if any(hit.score is None for hit in hits):
        return [hit.text for hit in hits]
    # `groupby` joins neighbours alone: equal scores with another between them are no tie, and keep their order
    groups = [(score, sorted(hit.text for hit in group)) for score, group in groupby(hits, _score)]
    return [text for score, texts in groups if floor is None or score != floor for text in texts]


def changed_by_order(transcript: Transcript) -> Measure:
    view = DetourView.of(transcript)
    cases = [
        (question, view.agrees(question.direct, question.order))
        for question in view.questions
        if view.list_hits(question.direct)
    ]
    bad = [(line_of(question.order), question.name) for question, same in cases if not same]
    unanswered = sum(same is None for _, same in cases)
    none = "the store that was filled directly answered no question"
    return proportion(len(bad), len(cases), view.receipts(bad), none=none, unanswered=unanswered)


def changed_by_detour(transcript: Transcript) -> Measure:
    view = DetourView.of(transcript)
    stable = [
        question
        for question in view.questions
        if view.list_hits(question.direct) and view.agrees(question.direct, question.order)
    ]
    cases = [
        (question, [view.agrees(question.direct, look) for look in question.after])
        for question in stable
        if question.after
    ]
    return view.count_changed(cases, "no question was answered alike by two stores filled in two orders")


def lost_by_detour(transcript: Transcript) -> Measure:
    view = DetourView.of(transcript)
    cases = [
        (question, [view.finds(question, look) for look in question.after])
        for question in view.questions
        if question.own and question.after and view.finds(question, question.direct)
    ]
    return view.count_changed(cases, "the store that was filled directly brought no memory by its own text")


DRILL = DrillWords(
    "detour",
    80,
    "Same memories, another way",
    "Does a store that deleted and updated on its way answer as one that was filled directly?",
)
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "answers_changed_by_detour", DRILL, "lower", "proportion",
        "questions to which a store that deleted half of what it was told, and updated a third of the rest back to "
        "what it was, brings other texts in the top k or another order of them, at once or reopened / questions that "
        "two stores filled directly, in two orders, answer alike, and with something", changed_by_detour,
        verbatim=True,
        label="answers changed by deleting and restoring", otherwise="answers unchanged by deleting and restoring",
        column=columns.FOUND.at("changed"),
    ),
    trust(
        "answers_changed_by_order", DRILL, "neither", "proportion",
        "questions that two stores with the same memories, written in two orders, answer otherwise / questions that "
        "both answered, the first with something; ties and approximate indexes, beside which the detour is read",
        changed_by_order, verbatim=True,
        label="answers changed by the order of writing",
    ),
    trust(
        "bystanders_lost_by_detour", DRILL, "lower", "proportion",
        "memories that stayed and that their own text does not bring in the top k after the detour, at once or "
        "reopened / those that it brings from a store filled directly", lost_by_detour, verbatim=True,
        label="untouched memories no longer found", otherwise="untouched memories still found",
        column=columns.FOUND.at("unfound"),
    ),
)  # fmt: skip
