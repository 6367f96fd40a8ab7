"""One cell as its measures see it: its log, indexed once, and the logs of its controls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TypeVar, cast, get_args

from harness.adapter import Hit
from harness.log.events import Event, Forgot, Recalled, RecallPurpose, Retired, Round, Worked, Wrote
from harness.log.parts import Choice
from harness.log.reader import Log
from harness.metrics.seen import UNFINISHED, Decided, Key, PhrasingSeen, RecalledEntry
from harness.model.backend import Declared, Fault
from harness.model.facts import Stratum
from harness.model.job import Decision
from harness.model.scenario import Probe, Scenario, Session
from harness.model.trial import Arm, NotMeasured, ReadPolicy
from harness.text.classify import Classifier, FactVerdict

E = TypeVar("E", bound=Event)
T = TypeVar("T")


def once(compute: Callable[[Record], T]) -> Callable[[Record], T]:
    """A function of a record that is computed once, however many cells and measures ask."""

    @wraps(compute)
    def known(record: Record) -> T:
        if compute not in record.memo:
            record.memo[compute] = compute(record)
        return cast("T", record.memo[compute])

    return known


class Record:
    """A log, indexed. Everything in it is computed once, however many cells and measures ask."""

    def __init__(self, log: Log, classifier: Classifier | None = None) -> None:
        self.log = log
        self.classifier = classifier or Classifier(log.scenario, log.opened.canaries)
        self.memo: dict[object, object] = {}
        self._entries: dict[int, tuple[RecalledEntry, ...]] = {}
        self._decision_questions: dict[RecallPurpose, defaultdict[Key, list[tuple[int, Recalled]]]] = {}
        self._decided: dict[ReadPolicy | None, Mapping[Key, Decided]] = {}
        self._places = {session.id: log.scenario.place(session) for session in log.scenario.sessions}

    @property
    def scenario(self) -> Scenario:
        return self.log.scenario

    def of(self, kind: type[E]) -> list[tuple[int, E]]:
        """Events of one kind in the log, with their lines."""
        return self.log.of(kind)

    @cached_property
    def _recalls(self) -> Mapping[RecallPurpose, list[tuple[int, Recalled]]]:
        found: dict[RecallPurpose, list[tuple[int, Recalled]]] = {each: [] for each in get_args(RecallPurpose)}
        for line, event in self.of(Recalled):
            found[event.purpose].append((line, event))
        return found

    def recalls(self, purpose: RecallPurpose) -> list[tuple[int, Recalled]]:
        """The questions that were asked for one purpose, with their lines."""
        return self._recalls[purpose]

    @property
    def failed(self) -> bool:
        return self.log.closed is not None and self.log.closed.status == "failed"

    @cached_property
    def started(self) -> bool:
        """Whether a probe or a job was reached, so that there is something to measure."""
        return bool(self.of(Worked) or self.recalls("probe"))

    @cached_property
    def _faults(self) -> list[tuple[int, Fault]]:
        """Faults of all calls, with their lines."""
        faults = ((line, getattr(event, "fault", None)) for line, event in enumerate(self.log.events, 1))
        return [(line, fault) for line, fault in faults if fault]

    def explain_uncontrolled(self, reason: str, *ops: str) -> NotMeasured:
        """Why there is nothing to measure: it has failed if a call of one of these operations did."""
        for line, fault in self._faults:
            # a refusal was declared as unsupported: it is no failure
            if fault.op in ops and fault.kind != "refused":
                why = f"{reason}; {fault.op} {fault.kind}: {' '.join(fault.message.split())}"
                return NotMeasured(status="failed", reason=why[:400], receipts=(f"L{line}",))
        return NotMeasured(status="not-applicable", reason=reason)

    def support(self, capability: str) -> Declared:
        """What the adapter declares; the cold arm has no backend and supports nothing."""
        backend = self.log.opened.backend
        if backend is None:
            return Declared(level="unsupported", note="no memory")
        return backend.find_support(capability)

    def supports(self, capability: str) -> bool:
        return self.support(capability).supported

    # --- what came back ---

    def entries(self, line: int, event: Recalled) -> tuple[RecalledEntry, ...]:
        """All entries of a recall in reading order."""
        known = self._entries.get(line)
        if known is None:
            try:
                known = self._entries[line] = tuple(self._read(line, event))
            except Exception as error:
                # `broken.describe` says at which line of the log it broke
                error.add_note(f"L{line}")
                raise
        return known

    def list_unread(self, event: Recalled) -> list[Hit]:
        """The hits without an entry, which no reader was shown: what nobody stored, and blank texts."""
        found = self.log.find_answer(event)
        read = {span.hit for span in found.entries}
        return [hit for at, hit in enumerate(found.hits) if at not in read]

    def _read(self, line: int, event: Recalled) -> Iterator[RecalledEntry]:
        found, spent = self.log.find_answer(event), 0
        for position, span in enumerate(found.entries):
            hit = found.hits[span.hit]
            text = hit.text[span.start : span.end]
            raw = self.classifier.hear(text)
            reading = raw.demote() if hit.superseded else raw
            spent += span.tokens
            yield RecalledEntry(
                line=line,
                position=position,
                text=text,
                hit=hit,
                tokens=span.tokens,
                in_budget=spent <= self.log.trial.budget,
                raw=raw,
                reading=reading,
            )

    def verdict(self, entry: RecalledEntry) -> FactVerdict:
        """One word for display: how the entry stands where and when it was read."""
        event = self.log.events[entry.line - 1]
        assert isinstance(event, Recalled)
        return self.classifier.verdict(entry.reading, event.at, self._places[event.session])

    @cached_property
    def questions(self) -> tuple[PhrasingSeen, ...]:
        """Every phrasing of every probe of the story, reached or not, in story order."""
        recalled = {(event.ref, event.stratum): (line, event) for line, event in self.recalls("probe")}
        return tuple(
            self._question(session, probe, stratum, recalled.get((probe.id, stratum)))
            for session, probe in self.scenario.probes()
            for stratum, _ in probe.ask.phrasings()
        )

    def _question(
        self, session: Session, probe: Probe, stratum: Stratum, recalled: tuple[int, Recalled] | None
    ) -> PhrasingSeen:
        line, event = recalled or (None, None)
        entries = self.entries(*recalled) if recalled else ()
        return PhrasingSeen(session, probe, stratum, line, event, entries)

    @cached_property
    def known_questions(self) -> tuple[PhrasingSeen, ...]:
        """Questions with a right answer that is no longer history: the primary ones."""
        return tuple(q for q in self.questions if q.probe.gold and not q.probe.history)

    def questions_in(self, stratum: Stratum) -> list[PhrasingSeen]:
        return [question for question in self.known_questions if question.stratum == stratum]

    def list_decision_questions(self, policy: ReadPolicy | None) -> Mapping[Key, list[tuple[int, Recalled]]]:
        """Job and decision -> the questions that were asked for it when read in this way, with their lines."""
        purpose = find_purpose(policy)
        if purpose not in self._decision_questions:
            found = self._decision_questions[purpose] = defaultdict(list)
            for line, event in self.recalls(purpose):
                job, _, decision = event.ref.partition("/")
                found[job, decision].append((line, event))
        return self._decision_questions[purpose]

    @cached_property
    def decision_lines(self) -> Mapping[Key, int]:
        """Job and decision -> line of the last of them, without a filter."""
        return {key: questions[-1][0] for key, questions in self.list_decision_questions(None).items()}

    # --- what was stored ---

    @cached_property
    def stored(self) -> Mapping[str, int]:
        """Fact -> line of the first write of it that was acknowledged with an id; what a model worded is read."""
        lines: dict[str, int] = {}
        for line, event in self.of(Wrote):
            for written, ids in zip(self.log.items(event), event.ids or (), strict=False):
                kind, _, fact = written.name.partition(":")
                if kind == "fact" and ids:
                    lines.setdefault(fact, line)
                elif kind == "draft" and ids:
                    reading = self.classifier.read(written.item.text)
                    lines |= {name: line for name in reading.asserted - lines.keys() if not reading.unclear}
        return lines

    @cached_property
    def pool(self) -> int:
        """Memories alive at the end, by the ids that were acknowledged."""
        alive: set[str] = set()
        for event in self.log.events:
            if isinstance(event, Wrote) and event.ids is not None:
                alive.difference_update(event.replaces)
                alive.update(name for ids in event.ids for name in ids)
            # as in the play itself, what is marked as ended is not alive any more
            elif isinstance(event, Forgot | Retired) and event.said is not None:
                alive.difference_update(event.ids)
        return len(alive)

    # --- what was done ---

    def is_ended(self, event: Round) -> bool:
        """Whether who works by steps ended the job itself: no fault, no limit and no kill did."""
        steps = [call for call in self.log.calls(event) if not call.decision]
        # a call for a decision is no step; who makes no steps ends each job
        return not steps or steps[-1].answered

    def works(self, policy: ReadPolicy | None) -> list[tuple[int, Worked]]:
        return [(line, event) for line, event in self.of(Worked) if event.read_policy == policy]

    def find_decided(self, policy: ReadPolicy | None) -> Mapping[Key, Decided]:
        """Every decision that was reached, by job and decision."""
        if policy not in self._decided:
            self._decided[policy] = dict(self._decisions(policy))
        return self._decided[policy]

    def _decisions(self, policy: ReadPolicy | None) -> Iterator[tuple[Key, Decided]]:
        jobs = {job.id: job for _, job in self.scenario.jobs()}
        for line, event in self.works(policy):
            ended = self.is_ended(event)
            choices = {choice.decision: choice for choice in event.choices}
            model_calls = self.log.calls(event)
            calls, last = {call.decision: call for call in model_calls}, model_calls[-1] if model_calls else None
            decisions = {decision.id: decision for decision in jobs[event.job].decisions}
            for check in event.checks:
                choice, decision = choices.get(check.decision), decisions[check.decision]
                seen = decision.judge(check.exit, check.value)
                yield (
                    (event.job, decision.id),
                    Decided(
                        line=line,
                        job=jobs[event.job],
                        decision=decision,
                        verdict=seen if ended or seen != "right" else UNFINISHED,
                        origin=choice.origin if choice else "nowhere",
                        entry=choice.entry if choice else None,
                        asked=_find_question_line(
                            self.list_decision_questions(policy).get((event.job, decision.id), ()), choice
                        ),
                        # What a model left open in its job, it may have declined, or not come to.
                        call=calls.get(decision.id)
                        or (calls.get("") and last if not (choice and choice.value) else None),
                    ),
                )


def find_purpose(policy: ReadPolicy | None) -> RecallPurpose:
    """Under which purpose a way of reading asks for its decisions."""
    return "filtered" if policy == "filtered" else "decision"


def _find_question_line(questions: Sequence[tuple[int, Recalled]], choice: Choice | None) -> int | None:
    """The line of the question that a choice was taken from."""
    if choice is None or choice.query is None:
        return questions[-1][0] if questions else None
    return next((line for line, event in questions if event.query == choice.query), None)


@dataclass(frozen=True)
class View:
    """One cell, and the closed complete logs of the same story that measure it: cold, and the two gold controls."""

    record: Record
    read_policy: ReadPolicy | None = None
    cold: Record | None = None
    oracle: Record | None = None
    stale_oracle: Record | None = None

    @property
    def log(self) -> Log:
        return self.record.log

    @property
    def scenario(self) -> Scenario:
        return self.record.scenario

    @property
    def arm(self) -> Arm:
        return "warm" if self.log.trial.backend else "cold"

    @property
    def decided(self) -> Mapping[Key, Decided]:
        return self.record.find_decided(self.read_policy)

    @cached_property
    def decisions(self) -> list[tuple[Key, Decision, Decided | None]]:
        """All decisions of the story, and how each was taken; None if the trial did not get there."""
        return [
            ((job.id, decision.id), decision, self.decided.get((job.id, decision.id)))
            for _, job in self.scenario.jobs()
            for decision in job.decisions
        ]
