"""Small logs for tests of what reads them: one story, and what happened told event by event."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from harness.adapter import CAPABILITIES, Hit, Item, Layer, Scope, Source
from harness.log.blobs import Blobs
from harness.log.calls import Draft, ModelCall
from harness.log.events import (
    Closed,
    Corrected,
    Drafted,
    Event,
    Forgot,
    Listed,
    Metered,
    Opened,
    Recalled,
    Resolved,
    Route,
    Scanned,
    Sought,
    Stage,
    Worked,
    Wrote,
)
from harness.log.lines import Writer
from harness.log.parts import Check, Checked, Choice, Found, Read, Sighting, Span, Written
from harness.log.reader import Log, read
from harness.model.backend import Backend, Declared, Fault
from harness.model.scenario import Scenario
from harness.model.trial import READ_POLICIES, ReadPolicy, Trial, list_policies

HOME = Scope(repo="shop", org="lantern")
CANARIES = {"pin": "cw-pin-41b7", "key": "cw-key-93d2"}
PEACE = Fault(kind="crashed", op="recall", message="the child\nended with signal 9")
OLD, NEW, LURE = "Deploy with alphadeploy", "Deploy with betadeploy", "The sibling deploys with gammadeploy"
PORT, BOTH, NOISE = "The port is 8123", "Deploy with alphadeploy, deploy with betadeploy", "Lunch is at noon"
AT_ONCE = "Two tools on one list: alphadeploy and betadeploy"
PIN, KEY = f"The pin is {CANARIES['pin']}", f"The key is {CANARIES['key']}"
_numbers = itertools.count(1)


def fact(name: str, plain: str, form: str, since: str, **more: Any) -> dict[str, Any]:
    """A fact whose other texts are made from its plain one."""
    return {
        "id": name,
        "type": "project",
        "since": f"{since}T09:00:00+00:00",
        "forms": [[form]],
        "plain": plain,
        "identifier": f"[id] {plain}",
        "paraphrase": f"They say: {plain}",
        "rewrites": [f"{word}: {plain}" for word in ("Note", "Memo", "Reminder")],
        **more,
    }


def probe(name: str, gold: Sequence[str], *strata: str, history: bool = False) -> dict[str, Any]:
    ask = {stratum: f"{name} {stratum}?" for stratum in strata or ("plain",)}
    return {"do": "probe", "id": name, "ask": ask, "gold": list(gold), "history": history}


def job(name: str) -> dict[str, Any]:
    """Two decisions: the tool (right, stale, lure) and the port (right, lure)."""
    edit = [{"path": "order.txt", "old": "?", "new": "{value}"}]
    tool = [("betadeploy", "right", "new"), ("alphadeploy", "stale", "old"), ("gammadeploy", "lure", "lure")]
    port = [("8123", "right", "port"), ("gammadeploy", "lure", "lure")]
    return {
        "do": "job",
        "id": name,
        "goal": "Ship it",
        "relevant": ["order.txt"],
        "decisions": [
            {
                "id": key,
                "question": f"Which {key}?",
                "edits": edit,
                "check": ["true"],
                "options": [{"value": value, "verdict": verdict, "fact": name} for value, verdict, name in options],
            }
            for key, options in (("tool", tool), ("port", port))
        ],
    }


def story(**changes: Any) -> Scenario:
    """Learn the old tool, replace it, ask in between and after, two jobs, then delete two secrets."""
    whole = {
        "id": "rename/story",
        "schema": 1,
        "version": 1,
        "kind": "rename",
        "title": "A tool is replaced",
        "story": "A tool is replaced.",
        "fixture": "shop",
        "scope": {"repo": "shop", "org": "lantern"},
        "facts": [
            fact("old", OLD, "alphadeploy", "2025-01-01"),
            fact("new", NEW, "betadeploy", "2025-02-01", supersedes="old"),
            fact("lure", LURE, "gammadeploy", "2025-01-01", scope={"repo": "sibling", "org": "lantern"}),
            fact("port", PORT, "8123", "2025-01-01", source={"commit": "c1", "path": "ship.toml", "line": 3}),
            fact("pin", "The pin is {canary}", "{canary}", "2025-01-01"),
            fact("key", "The key is {canary}", "{canary}", "2025-01-01"),
        ],
        "sessions": [
            {
                "id": "first", "at": "2025-01-10T09:00:00+00:00", "by": "ada", "commit": "c1",
                "steps": [
                    {"do": "learn", "facts": ["old", "port", "pin", "key"]},
                    probe("tool-before", ["old"]),
                ],
            },
            {
                "id": "second", "at": "2025-02-10T09:00:00+00:00", "by": "ben", "commit": "c2",
                "steps": [
                    {"do": "learn", "facts": ["new"]},
                    {"do": "remember", "texts": [{"text": AT_ONCE, "asserts": ["old", "new"]}]},
                    probe("tool-after", ["new"], "plain", "paraphrase"),
                    probe("tool-and-port", ["new", "port"]),
                    probe("nothing", []),
                    probe("tool-past", ["old"], history=True),
                    job("order"),
                ],
            },
            {
                "id": "third", "at": "2025-03-10T09:00:00+00:00", "by": "ada", "commit": "c2",
                "steps": [job("drill"), {"do": "forget", "facts": ["pin", "key"]}],
            },
        ],
    }  # fmt: skip
    return Scenario.model_validate({**whole, **changes})


STORY = story()


def hit(text: str, name: str = "", **more: Any) -> Hit:
    return Hit(memory_id=name or text, text=text, **more)


class Tape:
    """Collects the events of one trial; `log` writes them to a file and reads it back."""

    def __init__(
        self,
        folder: Path,
        backend: str | None = "store",
        *,
        control: bool = False,
        unsupported: Sequence[str] = (),
        extracts: bool = False,
        scenario: Scenario = STORY,
        **trial: Any,
    ) -> None:
        self.folder, self.scenario, self.blobs = folder, scenario, Blobs(folder / "blobs")
        base: dict[str, Any] = {
            "backend": backend, "scenario": scenario.id, "write_policy": "append" if backend else None, "noise": 0,
            "seed": 1, "reader": "scripted", "k": 3, "budget": 100,
        }  # fmt: skip
        self.trial = Trial.model_validate({**base, **trial})
        support = {
            word: Declared(level="unsupported", note=f"no {word}") if word in unsupported else Declared(level="native")
            for word in CAPABILITIES
            if word not in ("extracts", "masks")
        }
        support["extracts"] = Declared(level="native" if extracts else "unsupported")
        made = Backend(name=backend, version="1", support=support, control=control) if backend else None
        place = self.blobs.put(scenario.model_dump_json(by_alias=True).encode())
        self.events: list[Event] = [
            Opened(
                trial=self.trial,
                backend=made,
                scenario=place,
                digests={},
                canaries=CANARIES,
                policies=tuple(each for each in list_policies(self.trial.reader) if each != "filtered")
                if backend
                else (),
            )
        ]

    @property
    def line(self) -> int:
        """The line of the last event."""
        return len(self.events)

    def add(self, event: Event) -> Tape:
        self.events.append(event)
        return self

    def log(
        self, status: Literal["complete", "failed", "unsupported"] | None = "complete", fault: Fault | None = None
    ) -> Log:
        """`status` None: cut off before the closing event."""
        events = [*self.events, Closed(status=status, fault=fault)] if status else self.events
        path = self.folder / f"log-{next(_numbers)}.jsonl"
        with Writer(path) as writer:
            for event in events:
                writer.append(event)
        return read(path, self.blobs)

    # --- what happens in a story ---

    def at(self, session: str) -> datetime:
        return next(each.at for each in self.scenario.sessions if each.id == session)

    def learn(self, session: str, *facts: str, ids: Sequence[tuple[str, ...]] | None = None, **more: Any) -> Tape:
        """Facts in plain words; each is stored under its text unless `ids` says otherwise."""
        items = []
        for name in facts:
            known = self.scenario.by_id[name]
            text = known.plain.text.replace("{canary}", CANARIES.get(name, ""))
            source = known.source or Source()
            made = Source(source.commit, source.path, source.line, session)
            items.append(
                Written(name=f"fact:{name}", item=Item(text, HOME, self.at(session).isoformat(), "project", made))
            )
        event = {"op": "remember", "purpose": "learn", "tokens": 10 * len(items), **more}
        stored = tuple((item.item.text,) for item in items) if ids is None else tuple(ids)
        return self.add(Wrote(session=session, items=tuple(items), ids=stored, **event))

    def draft(
        self,
        session: str,
        told: Sequence[str],
        kept: Mapping[str, Sequence[int]],
        known: Sequence[str] = (),
        **more: Any,
    ) -> Tape:
        """What a chat writer made of a transcript; `kept` is text -> the known memories that it replaces."""
        at = self.at(session)
        lines = (Written(f"line:{at}", Item(text, HOME, at.isoformat(), "project")) for text in told)
        drafts = (Draft(text=text, sources=(1,), replaces=tuple(gone)) for text, gone in kept.items())
        event = {"secret": "s3cret", "prompt": 0, "completion": 0, "calls": (), **more}
        made = {"told": tuple(lines), "known": tuple(map(hit, known)), "kept": tuple(drafts), **event}
        return self.add(Drafted(session=session, at=at, **made))

    def recall(self, purpose: str, ref: str, hits: Sequence[Hit | str], session: str, **more: Any) -> Tape:
        """Hits of one entry each, 10 tokens an entry."""
        made = tuple(each if isinstance(each, Hit) else hit(each) for each in hits)
        spans = tuple(Span(hit=i, start=0, end=len(each.text), tokens=10) for i, each in enumerate(made))
        event = {
            "purpose": purpose, "ref": ref, "session": session, "at": self.at(session), "query": ref, "scope": HOME,
            "k": self.trial.k, "pool": 20, "found": Found(hits=made, entries=spans), "asking": 2,
            "tokens": 10 * len(made),
        }  # fmt: skip
        return self.add(Recalled.model_validate({**event, **more}))

    def probe(self, name: str, *hits: Hit | str, stratum: str = "plain", **more: Any) -> Tape:
        session = next(session.id for session, each in self.scenario.probes() if each.id == name)
        return self.recall("probe", name, hits, session, stratum=stratum, **more)

    def work(
        self,
        job: str,
        values: Mapping[str, str | None],
        *,
        policy: ReadPolicy | None = "trusting",
        origin: str = "memory",
        reads: Sequence[tuple[str, str, int]] = (),
        exit: int = 0,
        number: int = 1,
        visible: int | None = None,
        calls: Sequence[ModelCall] | None = None,
    ) -> Tape:
        """Decisions and what their checks see, in a round of a job. A read is (path, digest, tokens); `visible` is the
        exit code of a visible test."""
        session = next(session for session, each in self.scenario.jobs() if each.id == job)
        made = Worked if number == 1 else partial(Corrected, number=number, review="Review")
        tests = () if visible is None else (Check(decision="run", command=("true",), exit=visible, output=""),)
        return self.add(
            made(
                visible=tests,
                job=job,
                session=session.id,
                at=session.at,
                read_policy=policy,
                choices=tuple(
                    Choice.model_validate(
                        {
                            "decision": key,
                            "value": value,
                            "origin": "nowhere" if value is None else origin,
                            "entry": 0 if value is not None and origin == "memory" else None,
                        }
                    )
                    for key, value in values.items()
                ),
                reads=tuple(Read(decision="tool", path=path, digest=name, tokens=cost) for path, name, cost in reads),
                prompt=100,
                completion=5,
                diff="",
                checks=tuple(
                    Check(decision=key, command=("true",), exit=exit, value=value, output="")
                    for key, value in values.items()
                ),
                calls=None if calls is None else tuple(calls),
            )
        )

    def jobs(self, tool: str | None, port: str | None = "8123", **more: Any) -> Tape:
        """Both jobs under every read policy; a cold tape has none."""
        for name in ("order", "drill"):
            if self.trial.backend:
                for key in ("tool", "port"):
                    self.recall("decision", f"{name}/{key}", [OLD], "second" if name == "order" else "third")
            for policy in READ_POLICIES if self.trial.backend else (None,):
                self.work(name, {"tool": tool, "port": port}, policy=policy, **more)
        return self

    def played(self) -> Tape:
        """Up to the jobs: a store that keeps all and ranks the newest first."""
        self.learn("first", "old", "port", "pin", "key").probe("tool-before", OLD)
        self.learn("second", "new")
        for stratum in ("plain", "paraphrase"):
            self.probe("tool-after", NEW, OLD, stratum=stratum)
        return self.probe("tool-and-port", NEW).probe("nothing").probe("tool-past", OLD)

    # --- deletion ---

    def look(self, stage: Stage, found: Mapping[tuple[str, str], bool | None]) -> Tape:
        """(route, fact) -> whether it was found."""
        for (route, name), value in found.items():
            made: Route = route  # type: ignore[assignment]  # validated by the model
            self.add(Sought(stage=stage, route=made, fact=name, found=value))
        return self

    def forget(self, *facts: str, said: bool = True) -> Tape:
        for name in facts:
            self.add(Forgot(session="third", fact=name, ids=(name,), said=(said,)))
        return self

    def listed(self, stage: Stage, *hits: Hit | str, fault: Fault | None = None) -> Tape:
        made = tuple(each if isinstance(each, Hit) else hit(each) for each in hits)
        return self.add(Listed(stage=stage, scope=HOME, hits=made, fault=fault))

    def scanned(self, stage: Stage, layer: str, *facts: str, problem: str | None = None, declared: bool = True) -> Tape:
        seen = tuple(Sighting(fact=name, path=layer, form="utf-8", count=1, offset=0) for name in facts)
        where = Layer(layer, layer, "file")
        made = {"layer": where, "declared": declared, "files": 1, "bytes": 9, "sightings": seen, "problem": problem}
        return self.add(Scanned(stage=stage, **made))

    def metered(self, prompt: int | None = None, **embeddings: Mapping[str, int]) -> Tape:
        used = {"prompt": prompt, "completion": prompt and 1, "calls": prompt and 1}
        return self.add(Metered(embeddings=embeddings, **used))

    def resolved(self, says: str | None, state: str, head: str = "c2", **source: Any) -> Tape:
        made = Checked.model_validate({"source": Source(**source), "says": says, "state": state})
        return self.add(Resolved(head=head, sources=(made,)))


def cold(folder: Path, tool: str | None, port: str | None = "8123", *, reader: str = "scripted", **more: Any) -> Log:
    return Tape(folder, None, reader=reader).jobs(tool, port, origin="repo", **more).log()


def controls(folder: Path, reader: str = "scripted") -> list[Log]:
    """Both gold controls, which do on the tool decisions what they are for; on the port both are right."""
    return [
        Tape(folder, name, control=True, reader=reader).played().jobs(tool).log()
        for name, tool in (("oracle", "betadeploy"), ("stale_oracle", "alphadeploy"))
    ]


def canonical(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events without timings, sizes of files and what programs tell of themselves: what two runs of one trial must have
    in common."""
    apart = {"took", "worked", "stored", "printed", "told"}
    return [event.model_dump(mode="json", exclude=apart, exclude_none=True) for event in events]
