from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.adapter import Space
from harness.backend import client
from harness.backend.client import Deadlines
from harness.backend.forkserver import ForkServers
from harness.backend.store import ChildStore
from harness.gateway.cache import EmbeddingCache
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.log.blobs import Blobs
from harness.log.lines import Writer
from harness.log.transcript import Called, Drilled, Ended, Handled, Looked, Transcript, read
from harness.metrics.trust.deletion import METRICS
from harness.model.backend import Backend
from harness.model.canary import memory_word
from harness.model.drill import DrillTrial
from harness.model.trial import Measured, NotMeasured
from harness.play.drills.deletion import AROUND, BATCH, DRILL, GONE, HOME, KINDS, LARGE, LASTING, SMALLEST, plan
from harness.play.drills.stage import DrillSession
from tests.support.fakes import FakeEmbedder
from tests.support.measures import value

HOME_NAMED = {"repo": HOME.repo, "org": HOME.org, "user": HOME.user}


def played(folder: Path, adapter: str) -> Transcript:
    """The smallest drill, for real: every open is a process, every look reads files."""
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway, ForkServers(folder / "forkservers") as fork_servers:
        return _played(folder, adapter, gateway, fork_servers)


def _played(folder: Path, adapter: str, gateway: Gateway, fork_servers: ForkServers) -> Transcript:
    said = client.describe(adapter, folder / "home")
    backend = Backend(name=said.name, version=said.version, support=said.support)
    trial = DrillTrial(backend=said.name, drill="deletion", size=SMALLEST, seed=1, k=5)
    gateway.register(trial.id)
    space = Space(str(folder / "trial/store"), gateway.url, trial.id, FakeEmbedder().dims, 1)
    host = ChildStore(adapter, backend, folder / "trial/store", space, Deadlines(), fork_servers.launch)
    blobs, made = Blobs(folder / "blobs"), plan(SMALLEST, 1)
    with Writer(folder / "log.jsonl") as log:
        log.append(Drilled(trial=trial, backend=backend, plan=blobs.put(made.model_dump_json().encode()), digests={}))
        DRILL.play(DrillSession(trial, made, host, blobs, log.append, gateway.vectors))
        log.append(Ended(status="complete"))
    return read(folder / "log.jsonl", blobs)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return played(tmp_path_factory.mktemp("reference"), "adapters.reference:Reference")


# --- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(SMALLEST, 1200), st.integers(0, 2**32))
def test_a_plan_has_the_size_it_was_asked_for(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    amounts = Counter(piece.role for piece in made.pieces)
    beside = ("revision", "successor", "later", "question")
    assert sum(amounts.values()) - sum(amounts[role] for role in beside) == size - size // 2 + amounts["scope"]
    assert amounts["scope"] == max(size // 2, LARGE) > 100 and amounts["later"] > 2 * size
    assert min(amounts[role] for role in ("forget", "update", "supersede", "expire")) >= 3
    assert min(amounts[role] for role in ("same", *AROUND)) >= 2
    texts = [piece.item.text for piece in made.pieces]
    assert len(set(texts)) == len(texts) == len(made.by_name)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_a_canary_is_found_in_its_own_memory_only(seed: int) -> None:
    made = plan(SMALLEST, seed)
    for piece in made.pieces:
        if piece.canary:
            holders = [other for other in made.pieces if piece.canary in other.item.text]
            revised = {other.twin if other.role == "revision" else other.name for other in holders}
            assert revised == {piece.twin if piece.role == "revision" else piece.name}
            assert piece.canary.isascii() and piece.query
            assert (memory_word(piece.canary) in piece.query) == (piece.role == "question")


@pytest.mark.slow
def test_no_query_carries_the_word_that_bytes_are_searched_for(reference: Transcript) -> None:
    words = [memory_word(piece.canary) for piece in reference.plan.pieces if piece.canary and piece.role != "question"]
    asked = [str(call.request["query"]) for _, call in reference.calls("recall")]
    assert words and asked and not [query for query in asked if any(word in query for word in words)]


def test_the_plan_that_is_played_passes_page_limits_and_purge_thresholds() -> None:
    amounts = Counter(piece.role for piece in plan(DRILL.size, 1).pieces)
    assert (amounts["forget"], amounts["scope"], amounts["later"]) == (12, 250, 1100)


def test_a_scope_that_is_forgotten_holds_memories_of_every_kind() -> None:
    made = plan(SMALLEST, 1)
    marked = [piece for piece in made.of("scope") if piece.canary]
    assert {piece.item.kind for piece in marked} == set(KINDS)
    assert {piece.item.expires for piece in marked} == {LASTING, None}
    revised = {piece.twin for piece in made.of("revision")} & {piece.name for piece in marked}
    assert 0 < len(revised) < len(marked) / 2, "the others are looked for in other words, too"


def test_a_plan_has_a_least_size() -> None:
    assert plan(20, 1).pieces == plan(SMALLEST, 1).pieces


@pytest.mark.slow
def test_no_other_text_is_near_to_a_deleted_one() -> None:
    """Else a surviving vector would look like one that should be gone."""
    made = plan(SMALLEST, 7).pieces
    vectors = Embedder().encode([piece.item.text for piece in made]).vectors
    removed = [at for at, piece in enumerate(made) if piece.canary and piece.role in ("forget", "scope", "update")]
    near = vectors[removed] @ vectors.T
    for row, at in enumerate(removed):
        near[row, at] = -1
        for other, piece in enumerate(made):
            if piece.role == "revision" and piece.twin == made[at].name:
                near[row, other] = -1  # the same memory, and deleted with it
    assert float(np.max(near)) < 0.9


# --- the play ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_reference_forgets(reference: Transcript) -> None:
    assert not [event for _, event in reference.of(Called) if event.fault]
    timed = [event for event in reference.events if isinstance(event, Called | Handled | Looked)]
    assert list(dict.fromkeys(event.step for event in timed)) == [
        "before",
        "opened",
        "deleted",
        "too late",
        "after",
        "closed",
        "reopened",
        "killed",
        "churned",
        "compacted",
    ]
    for metric in METRICS:
        name, measure = metric.definition.name, metric.measure(reference)
        if name == "replaced_text_gone_after_closing":  # its history keeps them on purpose
            assert isinstance(measure, NotMeasured) and "history" in measure.reason
        elif name != "forgotten_from_paraphrase":  # which needs an embedder that knows what words mean
            assert isinstance(measure, Measured) and measure.of, (name, measure)
            assert measure.value == (1 if metric.definition.better == "higher" else 0), name


@pytest.mark.slow
def test_the_deletions_as_they_go_over_the_wire(reference: Transcript) -> None:
    forgets = [call for _, call in reference.calls("forget", "deleted")]
    assert [len(call.about) for call in forgets] == [1, 2, 3, *[0] * 4]
    answers = [[True, False], [True] * 2, [False, *[True] * 3], *[[False]] * 3, []]
    assert [reference.answer(call) for call in forgets] == answers
    (unknown,), (empty,), (begun,), none = (cast(list[str], call.request["memory_ids"]) for call in forgets[3:])
    (bystander, *_) = (reference.ids(call) for _, call in reference.calls("remember") if "same-other-0" in call.about)
    assert (empty, none) == ("", []) and any(name.startswith(begun) for ids in bystander for name in ids)
    twice, _, behind = (cast(list[str], call.request["memory_ids"]) for call in forgets[:3])
    assert len(twice) == 2 and len({*twice}) == 1, "one that is named twice was there once"
    assert behind[0] == unknown, "it hides nothing behind it"
    known = {name for _, call in reference.calls("remember") for ids in reference.ids(call) for name in ids}
    assert unknown not in known and {len(name) for name in known} == {len(unknown)}
    ((_, scope),) = reference.calls("forget_scope")
    assert scope.request == {"scope": {"repo": GONE.repo, "org": GONE.org, "user": GONE.user}}
    assert len(scope.about) == LARGE
    ((line, _),) = reference.calls("snapshot", "before")
    assert line < min(at for at, _ in reference.looks("before")), "what a mark keeps is looked for"
    assert [call.request["scope"] for call in forgets] == [
        *[HOME_NAMED] * 2,
        {**HOME_NAMED, "branch": "main"},
        *[HOME_NAMED] * 4,
    ]
    ((_, late),) = reference.calls("update", "too late")
    assert late.about == forgets[0].about[:1] and reference.ids(late) == ((),), "nothing is there to be changed"
    assert [len(call.about) for _, call in reference.calls("update", "deleted")] == [2] * 3
    superseding = [call for _, call in reference.calls("supersede", "deleted")]
    assert [len(call.about) for call in superseding] == [2] * 3
    branch = {**HOME_NAMED, "branch": "main"}
    assert [call.request["scope"] for call in superseding] == [branch, HOME_NAMED, branch]
    assert [len(cast(list[str], call.request["memory_ids"])) for call in superseding] == [1, 2, 1], "named twice"
    assert max(len(call.about) for _, call in reference.calls("remember")) <= BATCH


@pytest.mark.slow
def test_a_store_that_acknowledged_nothing_is_asked_to_forget_no_unknown_id(tmp_path: Path) -> None:
    seen = played(tmp_path, "tests.support.faulty_backends:KeepsNothing")
    asked = [call.request["memory_ids"] for _, call in seen.calls("forget", "deleted")]
    assert seen.status == "complete" and asked and not any(asked)


@pytest.mark.slow
def test_what_is_not_offered_is_never_called(tmp_path: Path) -> None:
    seen = played(tmp_path, "adapters.notes:Notes")
    assert {call.op for _, call in seen.of(Called)} == {
        "remember", "settle", "recall", "entries", "forget", "supersede",
    }  # fmt: skip
    assert "compacted" not in {event.what for _, event in seen.of(Handled)}
    found = {metric.definition.name: metric.measure(seen) for metric in METRICS}
    assert value(found["forgotten_by_every_route"]) == value(found["text_gone_after_churn"]) == 1
    assert {each.status for name, each in found.items() if "scope_forgotten" in name} == {"unsupported"}


@pytest.mark.slow
def test_a_backend_that_deletes_nothing_is_not_even_opened(tmp_path: Path) -> None:
    seen = played(tmp_path, "adapters.refusal:Refusal")
    assert [type(event) for event in seen.events] == [Drilled, Ended]
    assert {metric.measure(seen).status for metric in METRICS} == {"unsupported"}
