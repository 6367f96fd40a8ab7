"""A small finished run on disk, made of tapes: two stores, the controls, the cold arm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.adapter import Source
from harness.log.events import Opened
from harness.log.folder import Folder, RunFile
from harness.model.results import Unplayed
from harness.model.scenario import Scenario
from harness.model.trial import READ_POLICIES, Selection, Spec
from tests.support.logs import KEY, NEW, OLD, PIN, STORY, Tape, hit, story

CITED = Source(commit="c1", path="ship.toml", line=3, session="first")


def run(
    root: Path,
    label: str = "store",
    stale: str = OLD,
    source: Source = CITED,
    stories: int = 2,
    tool: str = "alphadeploy",
    **file: Any,
) -> Folder:
    """`label` acts on the stale rule in the text `stale`, as its `tool` says, and keeps deleted bytes; `keeper` does
    not."""
    twins = [story(id=f"rename/twin{at or ''}") for at in range(stories - 1)]
    tapes = [tape for each in (STORY, *twins) for tape in _tapes(root, each, label, stale, source, tool)]
    (root / "logs").mkdir(exist_ok=True)
    for tape in tapes:
        opened = tape.events[0]
        assert isinstance(opened, Opened)
        tape.events[0] = opened.model_copy(update={"digests": {"scenario": "5c" * 32, "fixture": "f1" * 32}})
        tape.log().path.replace(root / "logs" / f"{tape.trial.id}.1.jsonl")
    folder = Folder(root)
    folder.write(
        RunFile.model_validate(
            {
                "id": "a-run", "version": "9.9", "commit": "ab" * 20, "dirty": False, "command": "coldwarm run",
                "selection": Selection(backends=(Spec(adapter="keeper"),), noise=(0,), k=3, budget=100),
                "embedder": "an-embedder", "tokens": "words", "trials": tuple(tape.trial for tape in tapes),
                "unplayed": (Unplayed(backend="absent", reason="not installed", allowed=True),), **file,
            }
        )
    )  # fmt: skip
    return folder


def _tapes(root: Path, scenario: Scenario, label: str, stale: str, source: Source, tool: str) -> Iterator[Tape]:
    yield _erased(_deciding(Tape(root, label, scenario=scenario), stale, tool, source), "file", "pin", "key")
    yield _erased(_deciding(Tape(root, "keeper", scenario=scenario), NEW, "betadeploy", source), "file")
    yield Tape(
        root, "none", control=True, unsupported=("forget", "source", "ranked", "persistent"), scenario=scenario
    ).jobs(None)
    yield Tape(root, "oracle", control=True, scenario=scenario).played().jobs("betadeploy")
    yield Tape(root, "stale_oracle", control=True, scenario=scenario).played().jobs("alphadeploy")
    yield Tape(root, None, scenario=scenario).jobs("alphadeploy", origin="repo")


def _deciding(tape: Tape, text: str, tool: str, source: Source) -> Tape:
    tape.played().resolved("tool = 'x'", "gone", commit=source.commit, path=source.path, line=source.line)
    for job, session in (("order", "second"), ("drill", "third")):
        for key in ("tool", "port"):
            tape.recall("decision", f"{job}/{key}", [hit(text, "m1", source=source), NEW], session)
        for policy in READ_POLICIES:
            tape.work(job, {"tool": tool, "port": "8123"}, policy=policy)
    return tape


def _erased(tape: Tape, layer: str, *kept: str) -> Tape:
    routes = [(route, name) for route in ("search", "entries") for name in ("pin", "key")]
    tape.look("before", dict.fromkeys(routes, True)).listed("before", PIN, KEY, NEW)
    tape.scanned("before", layer, "pin", "key").forget("pin", "key")
    tape.look("after", dict.fromkeys(routes, False)).listed("after", NEW).scanned("after", layer, *kept)
    return tape.look("reopened", dict.fromkeys(routes, False))
