"""The figures of a published set, named as its papers and tools name them, from the logs alone.

A call that failed counts as an answer that holds nothing, and is counted beside the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log2
from statistics import fmean

from harness.adapter import Hit
from harness.model.trial import Model
from harness.published.play import Answered
from harness.published.sets import Question

Recalled = Sequence[str]
"""The units that came back for a question, best first; what no acknowledged id stands for is an empty name."""


class Figure(Model):
    """A share of questions, or a mean over them.

    Attributes:
        says: What it is, and who tells it so.
        total: The sum over the questions; with `of` questions, the figure is their quotient.
    """

    name: str
    says: str
    total: float
    of: int

    @property
    def value(self) -> float | None:
        return self.total / self.of if self.of else None


class Pool(Model):
    """How many memories the stores held, and how many questions were asked of so few that k memories are all."""

    fewest: int
    mean: float
    most: int
    within_k: int


class Figures(Model):
    """What was measured of one backend.

    Attributes:
        failed: Questions whose call failed or was not reached.
        unknown: Memories that came back under an id that nothing was acknowledged with.
        unended: Stores whose play did not come to its end.
    """

    backend: str
    version: str
    unit: str
    k: int
    questions: int
    failed: int
    unknown: int
    unended: int
    pool: Pool
    figures: tuple[Figure, ...]


def compute(played: Sequence[Answered], ks: Sequence[int]) -> Figures:
    """Computes the figures of every store that was played against one backend; there is at least one."""
    posed = played[0].posed
    recalls = [
        (one, question, hits)
        for one in played
        for question, hits in zip(one.haystack.questions, one.answers, strict=True)
    ]
    sizes = [len(one.haystack.documents) for one in played]
    answers = [(question, _name(one, hits or ())) for one, question, hits in recalls]
    return Figures(
        backend=posed.backend,
        version=posed.described.version,
        unit=posed.unit,
        k=posed.k,
        questions=len(recalls),
        failed=sum(hits is None for _, _, hits in recalls),
        unknown=sum(hit.memory_id not in one.ids for one, _, hits in recalls for hit in hits or ()),
        unended=sum(one.ended is None or one.ended.status != "complete" for one in played),
        pool=Pool(
            fewest=min(sizes), mean=fmean(sizes), most=max(sizes),
            within_k=sum(len(one.haystack.documents) <= posed.k for one, _, _ in recalls),
        ),
        figures=tuple(
            _count_passes(played, posed.k)
            # only a set of changes says what must not come back
            if any(each.lacks for _, each, _ in recalls)
            else _list_figures(answers, [k for k in ks if k <= posed.k] or [posed.k], posed.unit)
        ),
    )  # fmt: skip


def _name(one: Answered, hits: Iterable[Hit]) -> list[str]:
    return [one.ids.get(hit.memory_id, "") for hit in hits]


Answers = Sequence[tuple[Question, Recalled]]


def _list_figures(answers: Answers, ks: Sequence[int], unit: str) -> Iterator[Figure]:
    """Recall for sets that name what answers, staleness for those that name what was replaced as well."""
    if any(question.stale for question, _ in answers):
        for way in dict.fromkeys(question.way for question, _ in answers):
            stale_answers = [(question, names) for question, names in answers if question.way == way and question.stale]
            for k in ks:
                yield from _rank_staleness(stale_answers, k, way)
        return
    for k in ks:
        yield from _recall(answers, k, "session", lambda question: question.sessions, _find_session)
        # of turns several places may be one session's, which then has no rank
        if unit == "session":
            yield _compute_ndcg(answers, k, "session", lambda question: question.sessions)
    if unit == "turn" and any(question.turns for question, _ in answers):
        for k in ks:
            yield from _recall(answers, k, "turn", lambda question: question.turns, lambda name: name)
            yield _compute_ndcg(answers, k, "turn", lambda question: question.turns)


def _find_session(name: str) -> str:
    """The session of a document: a turn is named after it."""
    return name.partition(":")[0]


def _recall(
    answers: Answers, k: int, unit: str, gold: Callable[[Question], Sequence[str]], place: Callable[[str], str]
) -> Iterator[Figure]:
    shares = []
    for question, names in answers:
        wanted = set(gold(question))
        found = wanted & {place(name) for name in names[:k]}
        shares.append(len(found) / len(wanted) if wanted else None)
    known = [share for share in shares if share is not None]
    of = f"questions with evidence that is named; the first {k} memories"
    yield _mean(
        f"recall_any@{k} ({unit})", f"at least one {unit} of the evidence / {of}", [float(s > 0) for s in known]
    )
    yield _mean(f"recall_all@{k} ({unit})", f"every {unit} of the evidence / {of}", [float(s == 1) for s in known])
    yield _mean(f"recall_avg@{k} ({unit})", f"mean share of the {unit}s of the evidence / {of}", known)
    yield _mean(
        f"recall_avg@{k} ({unit}, all questions)",
        "the same over all questions; one without evidence counts 1",
        [1.0 if share is None else share for share in shares],
    )


def _compute_ndcg(answers: Answers, k: int, unit: str, gold: Callable[[Question], Sequence[str]]) -> Figure:
    """The second place counts as much as the first: LongMemEval's code divides by log2 of the place."""
    # written out, as log2 of the first place is 0; that of the second is 1
    gains = [1.0, *(1 / log2(place) for place in range(2, k + 1))]
    shares = []
    for question, names in answers:
        if wanted := set(gold(question)):
            # fewer than k may have come back, or more
            placed = enumerate(zip(gains, names, strict=False))
            # what comes back in several pieces gains once, at its first place
            gained = sum(gain for at, (gain, name) in placed if name in wanted and name not in names[:at])
            shares.append(gained / sum(gains[: len(wanted)]))
    return _mean(
        f"ndcg_any@{k} ({unit})", f"gain of the {unit}s of the evidence by place, as LongMemEval divides", shares
    )


def _count_passes(played: Sequence[Answered], k: int) -> Iterator[Figure]:
    """Passed cases: what must be said came back for the final query, and nothing forbidden did; probed: for no direct
    question either. A case that the backend declares it cannot carry out is left out, or counts as failed."""
    able = [_judge(one) for one in played if not one.unable]
    for at, name, condition in (
        (0, "probed=False", "nothing forbidden came back for the final query"),
        (1, "probed=True", "nor for a query made of what is forbidden"),
    ):
        passed = [float(each[at]) for each in able]
        meaning = f"cases in which what must come back did, and {condition}; the first {k} memories"
        yield _mean(f"pass@{k} ({name})", meaning, passed)
        yield _mean(
            f"pass@{k} ({name}, strict)", f"{meaning}; of all cases", [*passed, *[0.0] * (len(played) - len(able))]
        )


def _judge(one: Answered) -> tuple[bool, bool]:
    # as one text: what has to come back may stand in several memories
    texts = [None if hits is None else " ".join(hit.text for hit in hits).casefold() for hits in one.answers]
    final, first = one.haystack.questions[0], texts[0]
    complete = first is not None and all(each.casefold() in first for each in final.contains)
    clean = [text is not None and not any(each.casefold() in text for each in final.lacks) for text in texts]
    return complete and clean[0], complete and all(clean)


def _rank_staleness(answers: Answers, k: int, way: str) -> Iterator[Figure]:
    """Ranks of sessions: of the one that tells the rule as it holds now, and of those that tell an earlier version."""
    current, stale, first, missing = [], [], [], []
    for question, names in answers:
        top = [_find_session(name) for name in names[:k]]
        now = min((top.index(each) for each in question.sessions if each in top), default=None)
        old = min((top.index(each) for each in question.stale if each in top), default=None)
        current.append(float(now is not None))
        stale.append(float(old is not None))
        first.append(float(old is not None and (now is None or old < now)))
        missing.append(float(old is not None and now is None))
    of = f"rules that were changed, asked for {way}; the first {k} memories"
    yield _mean(f"current_recalled@{k}, {way}", f"the session with the rule as it holds / {of}", current)
    yield _mean(f"stale_exposed@{k}, {way}", f"a session with an earlier version / {of}", stale)
    yield _mean(f"stale_first@{k}, {way}", f"a session with an earlier version comes first / {of}", first)
    yield _mean(
        f"current_missing_stale_present@{k}, {way}", f"an earlier version, and not the one that holds / {of}", missing
    )


def _mean(name: str, meaning: str, values: Sequence[float]) -> Figure:
    return Figure(name=name, says=meaning, total=sum(values), of=len(values))
