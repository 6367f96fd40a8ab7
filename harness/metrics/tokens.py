"""Costs in tokens, by who pays them. Unknown is not 0: a total with an unknown part is a lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from harness.log.events import Drafted, Metered, RecallPurpose, Wrote
from harness.metrics import columns
from harness.metrics.completion import JOBS_DONE, done
from harness.metrics.metric import (
    UNANSWERED,
    StoryMetric,
    amount,
    failed,
    metric,
    not_applicable,
    proportion,
    unsupported,
)
from harness.metrics.view import Record, View, find_purpose
from harness.metrics.words import COST, Between, Words
from harness.model.trial import Measure, Measured, NotMeasured

NO_COLD = "the cold arm was not run"
NO_TEXT = "no text was embedded through the run's endpoint"
Exactness = Literal["exact", "at-least"]


def _count_asked(record: Record, purpose: RecallPurpose) -> int:
    return sum(event.asking + event.tokens for _, event in record.recalls(purpose))


def _count_written(record: Record, purposes: Sequence[str]) -> int:
    return sum(event.tokens for _, event in record.of(Wrote) if event.purpose in purposes)


def _ingest(view: View) -> int:
    drafted = sum(event.prompt + event.completion for _, event in view.record.of(Drafted))
    return _count_written(view.record, ("learn", "remark")) + _count_asked(view.record, "lookup") + drafted


def _recall(view: View) -> int:
    return _count_asked(view.record, find_purpose(view.read_policy))


def _agent(view: View) -> int:
    return sum(event.prompt + event.completion for _, event in view.record.works(view.read_policy))


def _backend(view: View) -> tuple[int, Exactness]:
    """Tokens of models inside the backend, and how exact a sum of them and all others is.

    The cold arm has none, and what is not told is at least 0.
    """
    if view.arm == "cold":
        return 0, "exact"
    told = tokens_backend(view)
    tokens, known = (int(told.value), told.known) if isinstance(told, Measured) else (0, "at-least")
    asked: tuple[RecallPurpose, ...] = "lookup", find_purpose(view.read_policy)
    return tokens, _find_exactness(view, *asked) if known == "exact" else "at-least"


def _find_exactness(view: View, *purposes: RecallPurpose) -> Exactness:
    """What did not come back because a question failed was not paid for: the sum is a lower bound."""
    asked = (event for purpose in purposes for _, event in view.record.recalls(purpose))
    return "at-least" if any(event.fault for event in asked) else "exact"


def tokens_ingest(view: View) -> Measure:
    return amount(_ingest(view), known=_find_exactness(view, "lookup"))


def tokens_noise(view: View) -> Measure:
    # in old logs noise was written apart, since then it is mixed into what is learnt
    return amount(_count_written(view.record, ("noise",)) + sum(event.noise for _, event in view.record.of(Wrote)))


def tokens_recall(view: View) -> Measure:
    purpose = find_purpose(view.read_policy)
    asked = view.record.recalls(purpose)
    if asked and all(event.fault for _, event in asked):
        return NotMeasured(status="failed", reason=UNANSWERED, receipts=(f"L{asked[0][0]}",))
    return amount(_recall(view), len(asked), _find_exactness(view, purpose))


def tokens_agent(view: View) -> Measure:
    return amount(_agent(view), len(view.record.works(view.read_policy)))


def tokens_backend(view: View) -> Measure:
    """Calls that passed the endpoint are counted there, for all backends in one way; else the backend's word counts."""
    passed = [count for _, event in view.record.of(Metered) for count in event.chat.values()]
    if passed:
        known: Exactness = "at-least" if any(count["failed"] for count in passed) else "exact"
        tokens = sum(count["prompt"] + count["completion"] for count in passed)
        return amount(tokens, sum(count["calls"] for count in passed), known)
    support = view.record.support("usage")
    if not support.supported:
        return unsupported(support.note or "does not tell what its models used")
    for _, event in view.record.of(Metered):
        if event.prompt is not None and event.completion is not None:
            return amount(event.prompt + event.completion, event.calls)
    return failed("usage is declared, but the backend did not tell it")


def chat_unreported(view: View) -> Measure:
    """What a backend says of its models, against the endpoint that every call of a chat model passes."""
    counted = sum(count["calls"] for _, event in view.record.of(Metered) for count in event.chat.values())
    if not counted:
        return not_applicable("no chat call passed the endpoint")
    support = view.record.support("usage")
    if not support.supported:
        return unsupported(support.note or "does not tell what its models used")
    # there is one, as the calls were counted by it
    ((line, event), *_) = view.record.of(Metered)
    if event.calls is None:
        why = event.fault.message if event.fault else "the backend did not tell it"
        return NotMeasured(status="failed", reason=f"usage is declared, but: {why}", receipts=(f"L{line}",))
    # it may tell of more calls than got to the endpoint
    hidden = max(0, counted - event.calls)
    return proportion(hidden, counted, [f"L{line}"] if hidden else (), none="")


def tokens_total(view: View) -> Measure:
    backend, known = _backend(view)
    return amount(_ingest(view) + _recall(view) + _agent(view) + backend, len(view.scenario.jobs()), known)


def tokens_per_job(view: View) -> Measure:
    total, finished = tokens_total(view), len(done(view))
    # `tokens_total` always has a number, which the type of a measure does not say
    assert isinstance(total, Measured)
    return amount(total.value / finished, finished, total.known) if finished else not_applicable("no job was done")


def break_even(view: View) -> Measure:
    if view.cold is None:
        return not_applicable(NO_COLD)
    jobs = len(view.scenario.jobs())
    if not jobs:
        return not_applicable("the scenario has no job")
    # the cold arm is read in one way, which a view without a policy stands for
    saved = (_agent(View(view.cold)) - _agent(view) - _recall(view)) / jobs
    if saved <= 0:
        return not_applicable("never: a warm job does not cost less than a cold one")
    backend, known = _backend(view)
    return amount((_ingest(view) + backend) / saved, jobs, known)


# --- embeddings -------------------------------------------------------------------------------------------------------


def _count_embedded(view: View, count: str, phases: Sequence[str] | None = None) -> int:
    return sum(
        counts.get(count, 0)
        for _, event in view.record.of(Metered)
        for phase, counts in event.embeddings.items()
        if phases is None or phase in phases
    )


def embedding_tokens(view: View) -> Measure:
    if not _count_embedded(view, "texts"):
        return not_applicable(NO_TEXT)
    phases = ("ingest", "job")
    return amount(_count_embedded(view, "tokens", phases), _count_embedded(view, "texts", phases))


def truncated_share(view: View) -> Measure:
    return proportion(_count_embedded(view, "cut_texts"), _count_embedded(view, "texts"), none=NO_TEXT)


# --- reading the repository -------------------------------------------------------------------------------------------


def _count_repeated(view: View) -> int:
    """Tokens of reads whose content was read in an earlier session."""
    order: dict[str, list[tuple[str, int]]] = {}
    for _, event in view.record.works(view.read_policy):
        order.setdefault(event.session, []).extend((read.digest, read.tokens) for read in event.reads)
    known: set[str] = set()
    total = 0
    for session in view.scenario.sessions:
        reads = order.get(session.id, [])
        total += sum(tokens for digest, tokens in reads if digest in known)
        # after the sum: what one session reads twice repeats no earlier one
        known.update(digest for digest, _ in reads)
    return total


def repeated_context_reduction(view: View) -> Measure:
    if view.cold is None:
        return not_applicable(NO_COLD)
    cold = _count_repeated(View(view.cold))
    if not cold:
        return not_applicable("the cold arm reads nothing again in a later session")
    return amount(1 - _count_repeated(view) / cold, len(view.scenario.jobs()))


def duplicate_reads(view: View) -> Measure:
    known: set[str] = set()
    total, again = 0, []
    for line, event in view.record.works(view.read_policy):
        for read in event.reads:
            total += 1
            if read.digest in known:
                again.append(f"L{line}")
            known.add(read.digest)
    return proportion(len(again), total, list(dict.fromkeys(again)), none="nothing was read in the repository")


def _detours(view: View) -> list[tuple[int, bool, str]]:
    """Per job: reads before the first relevant file (distinct paths, all if there is none), was there one, receipt."""
    relevant = {job.id: set(job.relevant) for _, job in view.scenario.jobs()}
    found = []
    for line, event in view.record.works(view.read_policy):
        paths = list(dict.fromkeys(read.path for read in event.reads))
        first = next((at for at, path in enumerate(paths) if path in relevant[event.job]), None)
        found.append((len(paths) if first is None else first, first is not None, f"L{line}"))
    return found


def false_paths(view: View) -> Measure:
    jobs = _detours(view)
    if not jobs:
        return not_applicable("the scenario has no job")
    return amount(
        sum(detour for detour, _, _ in jobs) / len(jobs), len(jobs), receipts=[line for d, _, line in jobs if d]
    )


def first_relevant(view: View) -> Measure:
    opened = [(detour + 1, line) for detour, reached, line in _detours(view) if reached]
    if not opened:
        return not_applicable("no job opened a relevant file")
    return amount(sum(reads for reads, _ in opened) / len(opened), len(opened), receipts=[line for _, line in opened])


_PART = "a part of `tokens_total`"
_WHY = "why `tokens_total` is what it is"
TOKENS_TOTAL, TOKENS_PER_JOB = "tokens_total", "tokens_per_job"
TOKENS_AGENT, TOKENS_RECALL, TOKENS_INGEST = "tokens_agent", "tokens_recall", "tokens_ingest"
TOKENS_BACKEND, EMBEDDING_TOKENS = "tokens_backend", "embedding_tokens"
METRICS: tuple[StoryMetric, ...] = (
    metric(
        TOKENS_INGEST, "lower", "tokens",
        "texts learnt and remarked, curated look-ups (question, and what the token budget loads of the answer), and "
        "what a model that decides what is kept reads and answers", tokens_ingest, whole=True,
        aside=_PART, version=2, words=Words(COST, place=30),
        label="tokens to write",
    ),
    metric(
        "tokens_noise", "neither", "tokens", "noise written; in no total", tokens_noise, whole=True,
        words=Words(COST, place=40),
        label="tokens of noise",
    ),
    metric(
        TOKENS_RECALL, "lower", "tokens",
        "questions to memory for decisions, and what the token budget loads of the answers; of: such questions",
        tokens_recall, reads=True, whole=True,
        aside=_PART, version=3, words=Words(COST, place=25),
        label="tokens to ask memory",
    ),
    metric(
        TOKENS_AGENT, "lower", "tokens",
        "goals, questions and repository text that the agent reads, and values that it writes; of: jobs", tokens_agent,
        reads=True, cold=True, whole=True, aside=_PART, words=Words(COST, place=20),
        label="tokens the agent reads and writes",
    ),
    metric(
        TOKENS_BACKEND, "lower", "tokens",
        "prompt and completion of models inside the backend over the whole trial, counted at the endpoint (at least, "
        "if a call failed), else as the backend reports them; of: calls",
        tokens_backend, whole=True, aside=_PART, version=2, words=Words(COST, place=35),
        label="tokens of models inside the backend",
    ),
    metric(
        "chat_unreported", "lower", "proportion",
        "chat calls counted at the endpoint that the backend's own report of its usage leaves out / chat calls counted "
        "there", chat_unreported, whole=True, aside="tokens are taken from the endpoint, whatever the backend says",
        label="model calls the backend does not report",
    ),
    metric(
        TOKENS_TOTAL, "lower", "tokens",
        "tokens_ingest + tokens_recall + tokens_agent + tokens_backend; at least, if the backend does not tell; of: "
        "jobs", tokens_total, source="own, after the LoCoMo audit", reads=True, cold=True, whole=True,
        version=2, words=Words(
            COST, 10, thing="tokens", did="took {} tokens a story",
            answers=True, cells="tokens",
            between=Between(60, cold=True), contrasted=60, decisive=30,
        ),
        label="all tokens", column=columns.COST.at(),
    ),
    metric(
        TOKENS_PER_JOB, "lower", "tokens", "tokens_total / jobs done; of: jobs done", tokens_per_job,
        reads=True, cold=True, whole=True, version=3, ratio=(TOKENS_TOTAL, JOBS_DONE),
        words=Words(COST, place=15, contrasted=70),
        label="tokens per completed job", column=columns.COST.at(),
    ),
    metric(
        "break_even", "lower", "jobs",
        "(tokens_ingest + tokens_backend) / tokens that a job saves against cold (agent cold - agent - recall); at "
        "least, if a question failed; of: jobs", break_even, reads=True, whole=True, aside=_WHY, version=3,
        words=Words(COST, place=45),
        label="jobs until memory pays off",
    ),
    metric(
        EMBEDDING_TOKENS, "lower", "word pieces",
        "word pieces that the embedder saw while learning and working (not for probes or deletion); of: texts",
        embedding_tokens, whole=True, aside="paid to no model: beside the total", words=Words(COST, place=60),
        label="text embedded",
    ),
    metric(
        "truncated_share", "lower", "proportion", "texts cut by the embedder's limit / texts embedded",
        truncated_share, whole=True, aside="what is cut is not found, and is missing in `recall`",
        words=Words(COST, place=60),
        label="texts cut by the embedder",
    ),
    metric(
        "repeated_context_reduction", "higher", "ratio",
        "1 - tokens of content read again in a later session, here / cold; below 0 if more is read again than cold",
        repeated_context_reduction, source="RavByte", reads=True, whole=True, aside=_WHY, words=Words(COST),
        label="repeated reading saved",
    ),
    metric(
        "duplicate_reads", "lower", "proportion", "reads of content that was read before, in any session / reads",
        duplicate_reads, source="RavByte", reads=True, cold=True, whole=True, aside=_WHY, words=Words(COST, place=52),
        label="files read twice",
    ),
    metric(
        "false_paths", "lower", "files",
        "files opened before the first relevant one (all, if none was opened), mean over jobs; of: jobs", false_paths,
        source="RavByte", reads=True, cold=True, whole=True, aside=_WHY, words=Words(COST, place=54),
        label="files opened in vain",
    ),
    metric(
        "first_relevant", "lower", "files",
        "files opened up to the first relevant one, mean over the jobs that opened one; of: those jobs",
        first_relevant, source="RavByte", reads=True, cold=True, whole=True, aside=_WHY, words=Words(COST, place=56),
        label="files opened to reach the right one",
    ),
)  # fmt: skip
