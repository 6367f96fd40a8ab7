"""Receipts: what a log holds about one verdict, readable, with the command that repeats it by hand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness.adapter import Source
from harness.blobs import Ref
from harness.compare import headline
from harness.events import Began, Checked, Event, Forgot, Recalled, Resolved, Scanned, Sought, Worked
from harness.metrics.view import Record, View
from harness.model import CellKey
from harness.report import tables
from harness.report.words import plural, visible
from harness.results import Cell, Results
from harness.scenario import CANARY, Decision, Job

BOUND = 60
"""Receipts shown in full; the rest is counted."""
TEXT, BLOCK, ENTRIES = 600, 4000, 30
KINDS: Mapping[str, str] = {
    "stale_use": "Acted on a stale rule",
    "deleted_from_bytes": "Deleted, and still in the stored bytes",
    "deleted_from_search": "Deleted, and still found by search",
    "deleted_from_forbidden": "Deleted, and still found by searching for it",
    "deleted_from_entries": "Deleted, and still listed",
    "deleted_from_get": "Deleted, and still returned by its id",
    "deleted_from_history": "Deleted, and still in the audit history",
    "deleted_after_reopening": "Deleted, and back after reopening",
    "source_verified": "Source not proven",
}
"""Measures of which every receipt is a bad case, and what such a case is called."""
_REF = re.compile(r"L(?P<line>\d+)(?::e(?P<entry>\d+))?")
_COMMIT, _PATH = re.compile(r"[0-9a-f]{7,64}"), re.compile(r"\w[\w./-]*")
KEPT = "A store is removed after its trial, so play it again and keep it; grep then counts lines that hold the canary."
STORE = "reports/out/latest/work/{trial}/store/{path}"


@dataclass(frozen=True)
class Shown:
    """One entry as it came back, in the order in which it was read."""

    rank: int
    text: str
    verdict: str
    facts: str
    source: str
    git: str
    in_budget: bool
    cited: bool


@dataclass(frozen=True)
class Step:
    """How a decision was taken under one read policy, and what its check saw."""

    policy: str
    value: str
    origin: str
    verdict: str
    check: str
    output: str
    diff: str


@dataclass(frozen=True)
class Receipt:
    """The evidence behind one verdict.

    about: tells it from others of its kind. facts: label and text. commands: repeat it, from the run's folder (git
    and coldwarm: from the checkout).
    """

    id: str
    title: str
    about: str
    cell: str
    backend: str
    where: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[Shown, ...]
    steps: tuple[Step, ...]
    note: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Receipts:
    """Those shown, how many there are in all, and the anchors that each cell cites."""

    shown: tuple[Receipt, ...]
    total: int
    of_cell: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Cited:
    cell: Cell
    measure: str
    ref: str

    @property
    def id(self) -> str:
        """One receipt for one place of a log, whichever read policies cite it."""
        return f"r-{self.cell.trial}-{self.measure}-{self.ref.replace(':', '')}"


def collect(results: Results, views: Sequence[View]) -> Receipts:
    """Receipts of every kind from every row in turn, so that no backend's crowd out another's; at most BOUND."""
    by_cell = {_cell_id(view): view for view in views}
    queues: dict[tuple[bool, str, str], dict[str, _Cited]] = {}
    for cited in _all(results):
        group = tables.group_of(results, cited.cell)
        primary = group == "ranked" and headline(cited.cell, results.run.conditions)
        key = (not primary, cited.measure, cited.cell.backend or "")
        queues.setdefault(key, {}).setdefault(cited.id, cited)
    first = {each.id for key, queue in queues.items() if not key[0] for each in queue.values()}
    order: dict[str, _Cited] = {}
    for later in (False, True):
        rounds = zip_longest(*(queues[key].values() for key in sorted(queues) if key[0] == later))
        for turn in rounds:
            order |= {each.id: each for each in turn if each and not (later and each.id in first)}
    kept = [each for each in list(order.values())[:BOUND] if each.cell.id in by_cell]
    kinds = list(KINDS)
    kept.sort(key=lambda each: (kinds.index(each.measure), each.cell.backend or "", list(order).index(each.id)))
    anchors = {each.id for each in kept}
    of_cell: dict[str, list[str]] = {}
    for cited in _all(results):
        if cited.id in anchors and cited.id not in of_cell.setdefault(cited.cell.id, []):
            of_cell[cited.cell.id].append(cited.id)
    return Receipts(
        tuple(_receipt(each, by_cell[each.cell.id]) for each in kept),
        len(order),
        {name: tuple(ids) for name, ids in of_cell.items()},
    )


def _cell_id(view: View) -> str:
    return CellKey(trial=view.log.trial, arm=view.arm, read_policy=view.read_policy).id


def _all(results: Results) -> Iterator[_Cited]:
    """Every citation; those of primary cells first, so that a receipt is told from the cell of the headline."""
    for cell in sorted(results.cells, key=lambda cell: not headline(cell, results.run.conditions)):
        for measure in KINDS:
            if measure in cell.measures:
                yield from (_Cited(cell, measure, ref) for ref in cell.measures[measure].receipts)


def _receipt(cited: _Cited, view: View) -> Receipt:
    found = _REF.fullmatch(cited.ref)
    line, entry = (int(found["line"]), found["entry"]) if found else (1, None)
    event = view.log.events[min(line, len(view.log.events)) - 1]
    told = _Telling(view, line, int(entry) if entry is not None else None)
    about, facts, entries, steps, commands = told.of(event)
    policy = f", {cited.cell.write_policy} and {cited.cell.read_policy}" if cited.cell.write_policy else ""
    return Receipt(
        id=cited.id,
        title=KINDS[cited.measure],
        about=about,
        cell=cited.cell.id,
        backend=visible(cited.cell.backend or "cold", 60),
        where=f"{cited.cell.scenario}{policy}, noise {cited.cell.noise}, seed {cited.cell.seed}",
        facts=tuple(facts),
        entries=tuple(entries),
        steps=tuple(steps),
        note=KEPT if isinstance(event, Scanned) else "",
        commands=(f"sed -n {line}p {shlex.quote(f'logs/{view.log.path.name}')}", *dict.fromkeys(commands)),
    )


_Told = tuple[str, list[tuple[str, str]], list[Shown], list[Step], list[str]]


@dataclass(frozen=True)
class _Telling:
    """One event of a view's log, told for people."""

    view: View
    line: int
    entry: int | None

    @property
    def record(self) -> Record:
        return self.view.record

    def of(self, event: Event) -> _Told:
        if isinstance(event, Recalled):
            return self._recalled(event)
        if isinstance(event, Scanned):
            return self._scanned(event)
        if isinstance(event, Sought):
            return self._sought(event)
        if isinstance(event, Worked):
            return event.job, [("job", self._job(event.job).goal)], [], list(self._steps(event.job, None)), []
        if isinstance(event, Forgot):
            said = (
                "no answer" if event.said is None else ", ".join("gone" if each else "not gone" for each in event.said)
            )
            facts = [*self._target(event.fact), ("asked to delete", plural(len(event.ids), "id")), ("answered", said)]
            return event.fact, [*facts, *self._fault(event)], [], [], []
        return (
            event.__class__.__name__.lower(),
            [("event", visible(event.model_dump_json(exclude_none=True), TEXT))],
            [],
            [],
            [],
        )

    # --- what was asked and what came back ---

    def _recalled(self, event: Recalled) -> _Told:
        entries = list(self._entries(event))
        facts = [
            ("asked", f"\u201c{visible(event.query, TEXT)}\u201d"),
            ("on", f"{event.at.date().isoformat()}, session {event.session}, memories stored: {event.pool:,}"),
        ]
        steps: list[Step] = []
        about = visible(event.query, 120)
        if event.purpose == "decision":
            job, _, name = event.ref.partition("/")
            decision = next(each for each in self._job(job).decisions if each.id == name)
            facts = [("decision", visible(decision.question, TEXT)), *facts, *self._options(decision)]
            steps = list(self._steps(job, name))
            taken = next((step.value for step in steps if step.policy == self.view.read_policy), "nothing")
            about = f"{visible(decision.question, 120)} {taken}, not {visible(decision.right.value, 120)}"
        else:
            facts += self._gold(event)
        return (
            about,
            [*facts, *self._fault(event)],
            entries,
            steps,
            [c for each in entries for c in self._shows(each, event)],
        )

    def _entries(self, event: Recalled) -> Iterator[Shown]:
        git = self._git(event)
        for each in self.record.entries(self.line, event)[:ENTRIES]:
            source = each.hit.source
            yield Shown(
                rank=each.position + 1,
                text=visible(each.text, TEXT),
                verdict=self.record.verdict(each),
                facts=", ".join(sorted(each.reading.asserted)),
                source=_source(source),
                git=_said(git.get(source)) if source else "",
                in_budget=each.in_budget,
                cited=each.position == self.entry,
            )

    def _git(self, event: Recalled) -> dict[Source, Checked]:
        """What git said of each source at this session's checkout; a source is looked up once per checkout."""
        began = [each.commit for _, each in self.record.of(Began) if each.session == event.session]
        return {
            checked.source: checked
            for _, resolved in self.record.of(Resolved)
            if resolved.head in began
            for checked in resolved.sources
        }

    def _shows(self, shown: Shown, event: Recalled) -> Iterator[str]:
        """How to see the cited line; only for a source that is a plain hash and path."""
        source = self.record.entries(self.line, event)[shown.rank - 1].hit.source
        if not (shown.cited and source and source.commit and source.path and source.line is not None):
            return
        if _COMMIT.fullmatch(source.commit) and _PATH.fullmatch(source.path):
            yield f"git -C {self._fixture} show {source.commit[:7]}:{source.path} | sed -n {source.line}p"

    @property
    def _fixture(self) -> str:
        """The built fixture in the cache, as a reader's shell finds it from the checkout."""
        digest = self.view.log.opened.digests.get("fixture", "")[:16]
        return f'"${{COLDWARM_CACHE:-.cache}}"/{self.view.scenario.fixture}-{digest}'

    def _gold(self, event: Recalled) -> list[tuple[str, str]]:
        probe = next((probe for _, probe in self.view.scenario.probes() if probe.id == event.ref), None)
        if probe is None or not probe.gold:
            return [("right", "nothing is known of it")]
        return [("right", f"{name}: {self._plain(name)}") for name in probe.gold]

    def _options(self, decision: Decision) -> list[tuple[str, str]]:
        return [(option.verdict, f"{visible(option.value, TEXT)} ({option.fact})") for option in decision.options]

    def _plain(self, name: str) -> str:
        text = self.view.scenario.by_id[name].plain.text
        return visible(text.replace(CANARY, self.view.log.opened.canaries.get(name, CANARY)), TEXT)

    # --- what was done ---

    def _job(self, name: str) -> Job:
        return next(job for _, job in self.view.scenario.jobs() if job.id == name)

    def _steps(self, job: str, name: str | None) -> Iterator[Step]:
        """The decision (None: all of the job) under each read policy of the trial."""
        decisions = {decision.id: decision for decision in self._job(job).decisions}
        for _, work in self.record.of(Worked):
            for check in work.checks if work.job == job else ():
                if name in (None, check.decision):
                    choice = next((each for each in work.choices if each.decision == check.decision), None)
                    yield Step(
                        policy=work.read_policy or "cold",
                        value="nothing" if choice is None or choice.value is None else visible(choice.value, TEXT),
                        origin=_origin(choice.origin, choice.entry, choice.path, choice.line) if choice else "",
                        verdict=decisions[check.decision].seen(check.exit, check.value),
                        check=shlex.join(visible(word, TEXT) for word in check.command),
                        output=visible(check.output, TEXT, lines=True).rstrip("\n") or "nothing",
                        diff=visible(self._text(work.diff), BLOCK, lines=True),
                    )

    def _text(self, value: str | Ref) -> str:
        return self.view.log.blobs.text(value) if isinstance(value, Ref) else value

    # --- what was deleted ---

    def _target(self, fact: str) -> list[tuple[str, str]]:
        canary = self.view.log.opened.canaries.get(fact, "")
        return [("secret", f"{self._plain(fact)}"), ("its canary", canary)]

    def _sought(self, event: Sought) -> _Told:
        found = {True: "found", False: "not found", None: "not looked, or failed"}[event.found]
        facts = [
            *self._target(event.fact),
            ("looked", f"by {event.route}, {event.stage} the deletion"),
            ("outcome", found),
        ]
        if event.where:
            facts.append(("it came back in", f"\u201c{visible(event.where, TEXT)}\u201d"))
        return f"{event.fact}, by {event.route}", [*facts, *self._fault(event)], [], [], [self._again]

    def _scanned(self, event: Scanned) -> _Told:
        asked = {forgot.fact for _, forgot in self.record.of(Forgot)}
        facts = [("layer", f"{visible(event.layer.name, 100)} ({event.layer.format}), {event.bytes:,} bytes")]
        commands = [self._again]
        for sighting in event.sightings:
            if sighting.fact in asked:
                path, canary = visible(sighting.path, 200), self.view.log.opened.canaries.get(sighting.fact, "")
                seen_at = f"{sighting.count} times as {sighting.form}, first at byte {sighting.offset:,} of {path}"
                facts.append((f"still there: {sighting.fact}", f"{canary}, {seen_at}"))
                place = STORE.format(trial=self.view.log.trial.id, path=path)
                commands.append(f"grep -ac {shlex.quote(canary)} {shlex.quote(place)}")
        return visible(event.layer.name, 100), facts, [], [], commands

    @property
    def _again(self) -> str:
        return f"coldwarm run --trial {self.view.log.trial.id} --keep"

    def _fault(self, event: Recalled | Sought | Forgot) -> list[tuple[str, str]]:
        fault = event.fault
        return [("fault", f"{fault.kind} in {fault.op}: {visible(fault.message, TEXT)}")] if fault else []


def _source(source: Source | None) -> str:
    if source is None:
        return "no source"
    place = f"{source.path}:{source.line}" if source.path and source.line is not None else source.path or ""
    parts = [
        place,
        f"@{source.commit[:7]}" if source.commit else "",
        f"session {source.session}" if source.session else "",
    ]
    return visible(" ".join(filter(None, parts)), 300) or "no source"


def _said(checked: Checked | None) -> str:
    if checked is None:
        return ""
    if checked.state == "dangling":
        return "git: no such line at that commit"
    now = f"{checked.path}:{checked.line}" if checked.state in ("moved", "renamed") else ""
    by = f" by {checked.by[:7]}" if checked.by else ""
    state = f"{checked.state}{by}" + (f" to {now}" if now else "")
    return f"git: \u201c{visible(checked.says or '', 300)}\u201d, at the checkout: {visible(state, 300)}"


def _origin(origin: str, entry: int | None, path: str | None, line: int | None) -> str:
    if origin == "memory":
        return f"memory, entry {entry + 1}" if entry is not None else "memory"
    return f"repository, {visible(path or '', 200)}:{line}" if origin == "repo" else "nowhere: left open"
