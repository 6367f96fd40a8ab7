"""Recall of gold facts: a fact is recalled if one of the first k entries asserts it.

The k entries have to fit the token budget. An entry is one memory, so a hit that packs several gets no extra ones. An
answer without ranks, such as a file, is read up to the budget. Chance is that of the same draw. Logs of protocol 1
count k entries of any backend, and hold those of an unranked one in an order drawn by seed.

Every probe with gold counts, whether or not the backend stored the fact: what is not stored is not recalled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import comb

from harness.log.events import Forgot, Recalled, Retired, Wrote
from harness.metrics import columns
from harness.metrics.metric import mean, metric, not_applicable, proportion, unsupported
from harness.metrics.seen import PhrasingSeen, RecalledEntry
from harness.metrics.view import Record, View
from harness.metrics.words import RECALLED, Between, Progress, Words
from harness.model.facts import STRATA, Stratum
from harness.model.scenario import Learn
from harness.model.trial import Measure

NO_PROBE = "no probe of this sort in the scenario"
LEAST_POOL = 5
"""Rank measures need a pool of at least this many times k: with fewer memories, any order looks good."""


def _brings(question: PhrasingSeen, entries: Sequence[RecalledEntry]) -> bool:
    """Whether one of these entries asserts a gold fact."""
    return not question.fault and any(entry.asserted.intersection(question.probe.gold) for entry in entries)


def is_answered(question: PhrasingSeen) -> bool:
    """Whether one of the best entries answers it: asserts a gold fact, or, asked of the past, mentions it."""
    if not question.probe.history:
        return _brings(question, question.best)
    gold = set(question.probe.gold)
    return not question.fault and any(gold & (entry.asserted | entry.reading.mentioned) for entry in question.best)


def _share(questions: Sequence[PhrasingSeen], right: Callable[[PhrasingSeen], bool]) -> Measure:
    """How many questions came out right; the receipts are those that did not."""
    verdicts = [(question, right(question)) for question in questions]
    missed = [line for question, good in verdicts if not good for line in question.receipt]
    return proportion(sum(good for _, good in verdicts), len(verdicts), missed, none=NO_PROBE)


def recall(view: View, stratum: Stratum | None = None) -> Measure:
    questions = view.record.questions_in(stratum) if stratum else view.record.known_questions
    return _share(questions, is_answered)


def recall_upper(view: View) -> Measure:
    """The other bound of recall: unclear entries count as asserting all that they assert."""

    def right(question: PhrasingSeen) -> bool:
        gold = set(question.probe.gold)
        return not question.fault and any(gold & entry.reading.asserted for entry in question.best)

    return _share(view.record.known_questions, right)


def recall_in_budget(view: View) -> Measure:
    return _share(view.record.known_questions, lambda question: _brings(question, question.window))


def precision_in_budget(view: View) -> Measure:
    return mean([_precision(question, question.window) for question in view.record.known_questions], none=NO_PROBE)


def unclear_entries(view: View) -> Measure:
    entries = [entry for question in view.record.questions for entry in question.window]
    unclear = [entry.receipt for entry in entries if entry.reading.unclear]
    return proportion(len(unclear), len(entries), unclear, none="no probe brought an entry")


def facts_stored(view: View) -> Measure:
    told = {name for _, step in view.scenario.steps() if isinstance(step, Learn) for name in step.facts}
    return proportion(len(told & view.record.stored.keys()), len(told), none="the scenario teaches nothing")


# --- within the first k -----------------------------------------------------------------------------------------------


def _first(view: View, question: PhrasingSeen) -> tuple[RecalledEntry, ...]:
    return question.entries[: view.log.trial.k]


def recall_any_at_k(view: View) -> Measure:
    return _share(view.record.known_questions, lambda question: _brings(question, _first(view, question)))


def _parts(view: View, question: PhrasingSeen) -> float:
    """The share of the gold facts that the first k entries assert."""
    gold = set(question.probe.gold)
    found = {fact for entry in _first(view, question) for fact in entry.asserted & gold}
    return 0.0 if question.fault else len(found) / len(gold)


def recall_all_at_k(view: View) -> Measure:
    # of more facts than k, k memories of one fact each cannot hold all
    questions = [q for q in view.record.known_questions if len(set(q.probe.gold)) <= view.log.trial.k]
    return _share(questions, lambda question: _parts(view, question) == 1)


def recall_avg_at_k(view: View) -> Measure:
    return mean([_parts(view, question) for question in view.record.known_questions], none=NO_PROBE)


def precision_at_k(view: View) -> Measure:
    return mean([_precision(q, _first(view, q)) for q in view.record.known_questions], none=NO_PROBE)


def _precision(question: PhrasingSeen, entries: Sequence[RecalledEntry]) -> float:
    return sum(_brings(question, [entry]) for entry in entries) / len(entries) if entries else 0.0


def mrr(view: View) -> Measure:
    if not view.record.supports("ranked"):
        return not_applicable(f"unranked: {view.record.support('ranked').note or 'no order'}")
    questions = view.record.known_questions
    least = LEAST_POOL * view.log.trial.k
    # a probe that was not reached has no pool of its own: it counts, as a miss, if the largest one is enough
    most = max((q.event.pool for q in questions if q.event), default=0)
    eligible = [q for q in questions if (q.event.pool if q.event else most) >= least]
    none = f"pool of {most} memories is below {least}, {LEAST_POOL} times k" if questions else NO_PROBE
    if questions and not eligible:
        return view.record.explain_uncontrolled(none, "remember", "supersede")
    return mean([_reciprocal(view, question) for question in eligible], none=none)


def _reciprocal(view: View, question: PhrasingSeen) -> float:
    entries = enumerate(_first(view, question), 1)
    return next((1 / rank for rank, entry in entries if _brings(question, [entry])), 0.0)


def chance_at_k(view: View) -> Measure:
    """What drawing k of the stored memories blindly would recall; nothing stored: nothing drawn."""
    if view.log.trial.feed == "native":
        return not_applicable("each backend cuts a session in its own way, so that nobody told what a memory holds")
    return mean(list(_chances(view.record)), none="no probe with gold was reached")


def _chances(record: Record) -> Iterator[float]:
    # those not reached share the key None, which no line of a log is
    asked = {q.line: q for q in record.known_questions}
    carriers: defaultdict[str, set[str]] = defaultdict(set)
    for line, event in enumerate(record.log.events, 1):
        if isinstance(event, Wrote) and event.ids is not None:
            _drop_gone(carriers, event.replaces)
            for written, ids in zip(record.log.items(event), event.ids, strict=False):
                for fact in () if written.noise else record.classifier.read(written.item.text).asserted:
                    carriers[fact].update(ids)
        elif isinstance(event, Forgot | Retired) and event.said is not None:
            _drop_gone(carriers, event.ids)
        elif isinstance(event, Recalled) and line in asked:
            gold = {name for fact in asked[line].probe.gold for name in carriers[fact]}
            # of an unranked backend more than k may be shown; logs of protocol 1 do not say how many were
            yield _chance(event.pool, len(gold), max(event.k, event.shown or 0))


def _drop_gone(carriers: dict[str, set[str]], ids: Sequence[str]) -> None:
    for names in carriers.values():
        names.difference_update(ids)


def _chance(pool: int, gold: int, k: int) -> float:
    drawn = min(k, pool)
    # of an empty pool nothing is drawn: comb(0, 0) is 1, so that no case divides by 0
    return 1 - comb(max(pool - gold, 0), drawn) / comb(pool, drawn)


# --- other probes -----------------------------------------------------------------------------------------------------


def abstention(view: View) -> Measure:
    support = view.record.support("abstains")
    if not support.supported:
        return unsupported(support.note or "does not abstain")
    unanswerable = [question for question in view.record.questions if not question.probe.gold]
    if not unanswerable:
        return not_applicable(NO_PROBE)
    answered = {q.stratum for q in view.record.known_questions if _brings(q, q.best)}
    eligible = [question for question in unanswerable if question.stratum in answered]
    if not eligible:
        none = "it answered no probe of the same stratum, so that its silence means nothing"
        return view.record.explain_uncontrolled(none, "recall", "remember", "supersede")
    silent = [_is_silent(view, question) for question in eligible]
    wrong = [line for question, good in zip(eligible, silent, strict=True) if not good for line in question.receipt]
    right = sum(silent)
    return proportion(
        right, len(eligible), wrong, none=NO_PROBE, unanswered=sum(question.fault for question in eligible)
    )


def _is_silent(view: View, question: PhrasingSeen) -> bool:
    """What nobody stored is no entry, and no silence either."""
    return question.event is not None and not (
        question.fault or question.entries or view.record.list_unread(question.event)
    )


def history_recall(view: View) -> Measure:
    return _share([q for q in view.record.questions if q.probe.gold and q.probe.history], is_answered)


_RECALL = (
    "probes (not of history) of which one of the first k entries within the token budget, of an unranked backend any "
    "entry within it, asserts a gold fact / probes with gold"
)
_K = "; in reading order; a fault counts 0"
_ASKED = {"identifier": "by identifier", "plain": "plainly", "paraphrase": "in other words"}
_CUT = "another cut of what `recall` counts"
RECALL, CHANCE, PAST = "recall", "chance_at_k", "history_recall"
METRICS = (
    metric(
        RECALL, "higher", "proportion", f"{_RECALL}; unclear entries assert nothing; a fault is a miss", recall,
        version=2, words=Words(
            RECALLED, 10, thing="answers recalled", did="brought back {} answers",
            answers=True, cells="recalled", between=Between(10), contrasted=10, progress=Progress(10, "recalled"),
        ),
        label="answers recalled", column=columns.RECALLED.at(),
    ),
    *(
        metric(
            f"recall_{s}", "higher", "proportion", f"{_RECALL}; {s} phrasings only", partial(recall, stratum=s),
            version=2, aside=_CUT, words=Words(RECALLED, place=20), label=f"answers recalled when asked {_ASKED[s]}",
        )
        for s in STRATA
    ),
    metric(
        "recall_upper", "higher", "proportion", f"{_RECALL}; unclear entries count as they assert", recall_upper,
        version=2, aside=_CUT, words=Words(RECALLED, place=20),
        label="answers recalled, unclear ones counted",
    ),
    metric(
        "recall_in_budget", "higher", "proportion",
        "probes of which an entry within the token budget asserts a gold fact, however many entries fit / probes with "
        "gold", recall_in_budget,
        aside="whoever packs many memories into one hit has more of them here, and not in `recall`",
        words=Words(RECALLED, place=20, decisive=10, contrasted=15),
        label="answers recalled within the token budget",
    ),
    metric(
        "precision_in_budget", "higher", "proportion",
        "mean share of the entries within the token budget that assert a gold fact; nothing returned counts 0",
        precision_in_budget, aside="what else comes back is paid for, and stands in the column of cost",
        words=Words(RECALLED, place=40),
        label="useful share of the token budget",
    ),
    metric(
        "unclear_entries", "neither", "proportion",
        "entries within the budget that assert rivals without order / such entries of all probes", unclear_entries,
        words=Words(RECALLED, place=60),
        label="answers that contradict themselves",
    ),
    metric(
        "facts_stored", "higher", "proportion",
        "facts of which a write was acknowledged with an id / facts that the story teaches", facts_stored,
        aside="what is not stored is not recalled", words=Words(RECALLED, place=55),
        label="facts stored",
    ),
    metric(
        "recall_any_at_k", "higher", "proportion",
        f"probes of which the first k entries assert a gold fact / probes with gold{_K}", recall_any_at_k,
        source="LongMemEval", aside=_CUT, words=Words(RECALLED, place=20),
        label="any right answer among the first k",
    ),
    metric(
        "recall_all_at_k", "higher", "proportion",
        f"probes of which the first k entries assert every gold fact / probes with at most k gold facts{_K}",
        recall_all_at_k, source="LongMemEval", aside=_CUT, words=Words(RECALLED, place=20),
        label="all right answers among the first k",
    ),
    metric(
        "recall_avg_at_k", "higher", "proportion",
        f"mean share of the gold facts that the first k entries assert{_K}", recall_avg_at_k, source="LongMemEval",
        aside=_CUT, words=Words(RECALLED, place=20),
        label="share of right answers among the first k",
    ),
    metric(
        "precision_at_k", "higher", "proportion",
        f"mean share of the first k entries that assert a gold fact; nothing returned counts 0{_K}", precision_at_k,
        source="standard", aside="what else comes back is paid for, and stands in the column of cost",
        words=Words(RECALLED, place=40),
        label="useful share of the first k",
    ),
    metric(
        "mrr", "higher", "proportion",
        f"mean of 1 / rank of the first entry that asserts a gold fact, 0 if none of the first k does; ranked backends "
        f"only, probes with a pool of at least {LEAST_POOL} k memories", mrr, source="standard",
        aside=_CUT, words=Words(RECALLED, place=35),
        label="how early the answer comes (MRR)",
    ),
    metric(
        CHANCE, "neither", "proportion",
        "mean of 1 - C(N - g, k) / C(N, k): N memories stored at the time of the probe, g of them written as texts "
        "that assert a gold fact (all parts, where the backend split one); of an unranked backend k is as many entries "
        "as fit the token budget", chance_at_k, words=Words(RECALLED, place=30),
        label="recall by drawing blindly",
    ),
    metric(
        "abstention", "higher", "proportion",
        "probes without an answer for which nothing came back / such probes in strata of which a probe with gold was "
        "answered; what nobody stored is an answer, too", abstention, source="own, after LongMemEval", version=3,
        aside="no column promises silence about what is not known", words=Words(RECALLED, place=45),
        label="unknown questions met with silence",
    ),
    metric(
        PAST, "higher", "proportion",
        "probes about the past, asked as of the last session in which the gold fact held, of which one of the first k "
        "entries within the budget asserts or mentions it / such probes", history_recall, version=3,
        aside="no column is about the past; `recall` leaves these probes out",
        words=Words(RECALLED, contrasted=17),
        label="past rules recalled when asked for",
    ),
)  # fmt: skip
