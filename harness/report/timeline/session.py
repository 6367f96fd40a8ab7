"""One trial told in story time, as a tree of words: what was written, asked, decided and deleted, and what went wrong.

The read policies of a trial read the same memories, so they are rows of each decision, not stories of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from harness.log.events import Drafted, Forgot, Recalled, Settled, Worked, Wrote
from harness.log.parts import Check
from harness.metrics import recall, staleness
from harness.metrics.seen import PhrasingSeen
from harness.metrics.view import Record, View
from harness.model.job import Decision, Job
from harness.model.scenario import Session
from harness.model.trial import ReadPolicy
from harness.report import words
from harness.report.timeline.decisions import DecisionTaken, describe_origin, draw_reader, merge_alike
from harness.report.timeline.nodes import (
    BLOCK,
    Node,
    draw_note,
    format_fact,
    list_entries,
    make_node,
    make_proof,
    place,
    quote,
    show,
)
from harness.report.timeline.steps import (
    describe_deletions,
    tell_drafting,
    tell_rounds,
    tell_rules,
    tell_steps,
    tell_transcript,
)

_UPDATE: Mapping[staleness.UpdateOutcome, str] = {
    "current_only": "", "both_flagged": "the old one marked beside it", "both_current_first": "the old one after it",
    "both_stale_first": "the old one first", "stale_only": "only the old one", "neither": "", "failed": "",
}  # fmt: skip
_SAID = {
    "draft": "as the model put it", "chunk": "a piece of the transcript", "session": "as it was spoken",
    "rewritten": "in the words of the new line",
}  # fmt: skip
_WORST: tuple[staleness.UpdateOutcome, ...] = ("both_stale_first", "stale_only")


@dataclass(frozen=True)
class Telling:
    """One trial.

    Attributes:
        whole: Also what each probe brought, and the work of jobs that went well.
    """

    view: View
    whole: bool

    @property
    def record(self) -> Record:
        return self.view.record

    def sessions(self) -> Iterator[Node]:
        """Each session that was reached, in story time."""
        # Not every event belongs to a session.
        reached = {getattr(event, "session", None) for event in self.record.log.events}
        for session in self.record.scenario.sessions:
            if session.id in reached:
                at = make_node("b", "", f"{session.at:%Y-%m-%d}")
                who = f" {session.id} by {session.by}"
                head = make_node("p", "when", at, who, draw_note(f"at {session.commit[:7]}"))
                transcript = tell_transcript(session) if self.whole else ()
                yield make_node("div", "session", head, *transcript, *self._steps(session))

    def _steps(self, session: Session) -> Iterator[Node]:
        """What happened in a session, in the order of the log; writes without anything in between are one list."""
        steps = [*self._tell_writing(session), *self._tell_asking(session), *self._tell_working(session)]
        # By the line alone: steps of one line keep the order in which they were told.
        steps.sort(key=lambda step: step[0])
        for listed_, group in groupby((step for _, step in steps), key=lambda step: step.tag == "li"):
            if listed_:
                yield make_node("ul", "writes", *group)
            else:
                yield from group

    def _tell_writing(self, session: Session) -> Iterator[tuple[int, Node]]:
        for line, drafted in self.record.of(Drafted):
            if drafted.session == session.id:
                yield from ((line, each) for each in tell_drafting(self.record, drafted, whole=self.whole))
        for line, wrote in self.record.of(Wrote):
            if wrote.session == session.id:
                yield from ((line, each) for each in self._wrote(wrote))
        yield from tell_rules(self.record, session)
        for line, settled in self.record.of(Settled):
            if settled.session == session.id and not settled.ok:
                why = f": {settled.fault.kind}, {show(settled.fault.message)}" if settled.fault else ""
                yield line, make_node("p", "bad", f"\u2715 not every acknowledged write could be read back{why}")

    def _tell_asking(self, session: Session) -> Iterator[tuple[int, Node]]:
        lookups = [each for each in self.record.recalls("lookup") if each[1].session == session.id]
        if lookups:
            yield from ((lookups[0][0], each) for each in self._lookups(lookups))
        probes: dict[str, list[PhrasingSeen]] = {}
        for question in self.record.questions:
            if question.session.id == session.id:
                probes.setdefault(question.probe.id, []).append(question)
        for phrasings in probes.values():
            yield (
                min((each.line for each in phrasings if each.line is not None), default=self._end),
                self._probe(phrasings),
            )

    def _tell_working(self, session: Session) -> Iterator[tuple[int, Node]]:
        for at, job in self.record.scenario.jobs():
            if at.id == session.id:
                lines = [line for (name, _), line in self.record.decision_lines.items() if name == job.id]
                lines += [line for line, event in self.record.of(Worked) if event.job == job.id]
                yield from ((min(lines, default=self._end), each) for each in self._job(job))
        forgot = [line for line, event in self.record.of(Forgot) if event.session == session.id]
        if forgot:
            yield forgot[0], make_node("div", "erased", *describe_deletions(self.record))

    @property
    def _end(self) -> int:
        """After everything: where what was not reached stands."""
        return len(self.record.log.events)

    # --- what was written ---

    def _wrote(self, event: Wrote) -> Iterator[Node]:
        items = self.record.log.items(event)
        why = f"{event.fault.kind}: {show(event.fault.message)}" if event.fault else "the outcome is unknown"
        if noise := sum(written.noise for written in items):
            lost = "" if event.ids is not None else f", {why}"
            yield make_node("li", "quiet", f"+ {words.format_count(noise, 'unrelated text')}{lost}")
        answers = event.ids if event.ids is not None else (None,) * len(items)
        for written, ids in zip(items, answers, strict=False):
            if written.noise:
                continue
            kind, _, name = written.name.partition(":")
            notes = [
                name if kind == "fact" else _SAID.get(kind, "as it was said"),
                place(written.item.source),
                self._changes(event, name),
            ]
            if written.item.scope != self.record.scenario.scope:
                notes.append(f"for {_describe_scope(written.item.scope)}")
            stored = why if ids is None else "no id: nothing was stored" if not ids else ""
            if ids and len(ids) > 1:
                notes.append(f"became {len(ids)} memories")
            mark = make_node("b", "bad" if stored else "", "\u2715 " if stored else "+ ")
            notes.append(stored)
            yield make_node("li", "", mark, quote(written.item.text), draw_note(*notes))

    def _changes(self, event: Wrote, name: str) -> str:
        known = self.record.scenario.by_id.get(name)
        old = known.supersedes if known else None
        if event.replaces:
            return f"in place of {words.format_count(len(event.replaces), 'memory', 'memories')}"
        if old is None:
            return ""
        return f"{old} holds no longer; it stays beside this"

    def _lookups(self, lookups: Sequence[tuple[int, Recalled]]) -> Iterator[Node]:
        """What a curating writer looked up before it wrote."""
        faults = [event.fault for _, event in lookups if event.fault]
        summary = make_node("summary", "quiet", f"{words.format_count(len(lookups), 'look-up')} before writing")
        if self.whole:
            parts = [
                make_node("div", "", make_node("p", "q", quote(event.query)), list_entries(self.record, line, event))
                for line, event in lookups
                if self.record.scenario.predecessors(event.ref)
            ]
            yield make_node("details", "", summary, *parts)
        for fault in faults:
            yield make_node("p", "bad", f"\u2715 look-up {fault.kind}: {show(fault.message)}")

    # --- what was asked ---

    @cached_property
    def _updates(self) -> Mapping[int | None, staleness.UpdateOutcome]:
        return {update.question.line: update.outcome for update in staleness.updates(self.record)}

    def _probe(self, phrasings: Sequence[PhrasingSeen]) -> Node:
        probe = phrasings[0].probe
        known = [self._outcome(question) for question in phrasings]
        bad = [worst for _, worst in known]
        answered = sum(recall.is_answered(question) for question in phrasings)
        if probe.gold:
            mark = "\u2715" if any(bad) else "\u25cf" if answered == len(phrasings) else "\u25cb"
            total = f"{answered} of {words.format_count(len(phrasings), 'phrasing')} recalled"
        else:
            mark, total = "\u25cb", "nothing is known of it"
        if any(bad):
            total += f", {next(word for word, worst in known if worst)}"
        question = next(
            (q.event.query for q in phrasings if q.event and q.stratum == "plain"), probe.ask.phrasings()[0][1]
        )
        cls = "bad" if any(bad) else "quiet" if answered == len(phrasings) or not probe.gold else ""
        head = make_node("span", "", f"{mark} asked ", quote(question, 160), draw_note(f"{probe.id}: {total}"))
        if not self.whole:
            return make_node("p", f"asked {cls}".strip(), head)
        parts = [self._tell_phrasing(q, word) for q, (word, _) in zip(phrasings, known, strict=True)]
        gold = [make_node("p", "q", f"right: {name}, ", quote(format_fact(self.record, name))) for name in probe.gold]
        return make_node("details", f"asked {cls}".strip(), make_node("summary", "", head), *gold, *parts)

    def _outcome(self, question: PhrasingSeen) -> tuple[str, bool]:
        """What became of one phrasing, and whether it went wrong; a fact not recalled is no fault of trust."""
        if question.event is None:
            return "not reached", True
        if question.event.fault:
            return f"{question.event.fault.kind}: {show(question.event.fault.message)}", True
        if not question.probe.gold:
            return f"{len(question.entries)} came back", False
        update = self._updates.get(question.line)
        recalled = "recalled" if recall.is_answered(question) else "not recalled"
        worst = update in _WORST
        return (
            _UPDATE[update] if worst else f"{recalled}, {_UPDATE[update]}".rstrip(", ")
        ) if update else recalled, worst

    def _tell_phrasing(self, question: PhrasingSeen, word: str) -> Node:
        event, line = question.event, question.line
        if event is None or line is None:
            return make_node("p", "q", f"{question.stratum}: {word}")
        head = make_node(
            "p", "q", f"{question.stratum} ", quote(event.query), draw_note(f"{word}; {_describe_pool(event)}")
        )
        return make_node("div", "", head, list_entries(self.record, line, event, gold=question.probe.gold))

    # --- what was done ---

    def _job(self, job: Job) -> Iterator[Node]:
        works = [event for _, event in self.record.of(Worked) if event.job == job.id]
        has_questions = any(name == job.id for name, _ in self.record.decision_lines)
        if works or has_questions:
            yield make_node("p", "job", make_node("b", "", "job "), show(job.goal), draw_note(job.id))
            decided = [self._tell_decision(job, decision, works) for decision in job.decisions]
            yield from decided
            telling = self.whole or any("bad" in each.cls for each in decided)
            yield from tell_steps(self.record, works, whole=telling)
            yield from tell_rounds(self.record, job, whole=telling)
            if works and telling:
                trees = self._trees(works)
                yield make_node(
                    "details", "", make_node("summary", "quiet", "diff of the work tree, checks and output"), *trees
                )
            if not works:
                yield make_node("p", "bad", "\u2715 the job was not finished")

    def _tell_decision(self, job: Job, decision: Decision, works: Sequence[Worked]) -> Node:
        taken = list(merge_alike(self._list_taken(job, decision, self.record, works)))
        beside = list(merge_alike(self._contrast(job, decision)))
        bad = any(each.bad for each in taken)
        options = ", ".join(f"{each.verdict}: {show(each.value, 160)} ({each.fact})" for each in decision.options)
        rows = [draw_reader(each, "") for each in taken] + [draw_reader(each, "beside") for each in beside]
        parts: list[Node | None] = [
            make_node(
                "p",
                "q",
                "\u2715 " if bad else "",
                make_node("bdi", "", show(decision.question)),
                draw_note(options),
            ),
            make_node("ul", "taken", *rows),
        ]
        parts += self._evidence(job, decision, works, bad)
        parts += self._tell_calls(decision, works)
        return make_node("div", "decision bad" if bad else "decision", *parts)

    def _list_taken(
        self, job: Job, decision: Decision, record: Record, works: Sequence[Worked]
    ) -> Iterator[tuple[str, DecisionTaken]]:
        for work in works:
            choice = next((each for each in work.choices if each.decision == decision.id), None)
            judged = record.find_decided(work.read_policy).get((job.id, decision.id))
            value = "nothing" if choice is None or choice.value is None else show(choice.value, 160)
            outcome = judged.verdict if judged else "failed"
            yield work.read_policy or "cold", DecisionTaken((), outcome, value, describe_origin(choice))

    def _contrast(self, job: Job, decision: Decision) -> Iterator[tuple[str, DecisionTaken]]:
        """The same decision without memory, with only gold, with only superseded facts, where these were played."""
        usual = next(iter(self.record.log.opened.reads), None)
        others: list[tuple[str, Record | None, ReadPolicy | None]] = [("cold", self.view.cold, None)]
        others += [("oracle", self.view.oracle, usual), ("stale oracle", self.view.stale_oracle, usual)]
        for name, record, policy in others:
            # Of a control, its own decisions stand above already.
            if record is not None and record.log.trial.id != self.record.log.trial.id:
                works = [work for _, work in record.works(policy) if work.job == job.id]
                yield from ((name, taken) for _, taken in self._list_taken(job, decision, record, works))

    def _evidence(self, job: Job, decision: Decision, works: Sequence[Worked], bad: bool) -> Iterator[Node | None]:
        """What came back for it, and what git says of what was chosen; open if it went wrong."""
        key = job.id, decision.id
        taken = [found for work in works if (found := self.record.find_decided(work.read_policy).get(key))]
        # Where no reader decided, the question that was asked.
        lines = dict.fromkeys(each.asked for each in taken) or [self.record.decision_lines.get(key)]
        for line in lines:
            event = self.record.log.events[line - 1] if line else None
            chosen = sorted({each.entry for each in taken if each.asked == line and each.entry is not None})
            if line is None or not isinstance(event, Recalled) or not (bad or self.whole):
                continue
            entries = list_entries(self.record, line, event, cited=chosen, gold=(decision.right.fact,))
            head = make_node("span", "", "asked ", quote(event.query, 200), draw_note(_describe_pool(event)))
            if bad:
                yield make_node("p", "q", head)
                yield entries
                yield self._prove(line, event, chosen, decision)
            else:
                yield make_node("details", "", make_node("summary", "quiet", head), entries)

    def _tell_calls(self, decision: Decision, works: Sequence[Worked]) -> Iterator[Node]:
        """What the reader asked its chat model, word for word, and what it said."""
        for call in (call for work in works for call in self.record.log.calls(work) if call.decision == decision.id):
            head = f"{show(call.model or 'no model', 60)}: {call.outcome}"
            tokens = f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens"
            if not call.answered:
                yield make_node("p", "bad", f"\u2715 the model's answer is {call.outcome}: {show(call.why, 400)}")
            if self.whole or not call.answered:
                summary = make_node("summary", "quiet", head, draw_note(tokens))
                prompt = make_node("pre", "", words.make_visible(call.prompt, BLOCK, lines=True))
                answer = words.make_visible(call.answer or call.why, BLOCK, lines=True) or "(nothing)"
                yield make_node("details", "", summary, prompt, make_node("pre", "", answer))

    def _prove(self, line: int, event: Recalled, chosen: Sequence[int], decision: Decision) -> Node | None:
        """The line that the chosen memory cites, and the line that says what is right."""
        entries = self.record.entries(line, event)
        cited = [make_proof(self.record, entries[each].hit.source) for each in chosen if each < len(entries)]
        right = self.record.scenario.by_id[decision.right.fact].source
        # The oracle is told what is right, so it is in its log that git says what stands at that source.
        known = [make_proof(self.view.oracle or self.record, right)]
        lines = [
            f"{found.command}\n# {word}{f': {found.prints}' if found.prints else ''}"
            for word, proofs in (("memory cites", cited), ("right is", known))
            for found in proofs
            if found is not None
        ]
        return make_node("pre", "", "\n".join(dict.fromkeys(lines))) if lines else None

    def _trees(self, works: Sequence[Worked]) -> Iterator[Node]:
        """Each different work tree once, with who left it so, and what the checks saw in it."""
        groups: dict[tuple[str, tuple[Check, ...]], list[str]] = {}
        for work in works:
            diff = work.diff if isinstance(work.diff, str) else self.record.log.blobs.text(work.diff)
            groups.setdefault((diff, (*work.ran, *work.checks)), []).append(work.read_policy or "cold")
        for (diff, checks), who in groups.items():
            yield make_node("p", "q", words.join_words(who))
            yield make_node("pre", "", words.make_visible(diff, BLOCK, lines=True) or "(no change)")
            ran = [
                f"$ {' '.join(show(word, 200) for word in check.command)}\n"
                f"{words.make_visible(check.output, BLOCK, lines=True)}(exit {check.exit})"
                for check in checks
            ]
            yield make_node("pre", "", "\n".join(ran))


def _describe_pool(event: Recalled) -> str:
    return f"k {event.k}, {event.pool:,} stored"


def _describe_scope(scope: object) -> str:
    parts = {name: getattr(scope, name, None) for name in ("org", "repo", "branch", "user")}
    return show(", ".join(f"{name} {value}" for name, value in parts.items() if value), 120)
