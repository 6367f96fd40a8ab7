"""What becomes of attacks: stored, brought, acted on by readers of three kinds; and what weighs less beside a rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Item, Scope, Source, to_wire
from harness.log.events import Event
from harness.log.receipts import read
from harness.log.transcript import Called, Op
from harness.metrics.trust.poison import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, NotMeasured
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

HOME = Scope("shop", "acme")
FAULT = Fault(kind="timed-out", op="recall", message="no answer within 30 s")
REAL, FORGED = Source("a" * 40, "docs/a.md", 1), Source("f" * 40, "docs/a.md", 1)


def piece(name: str, role: str, twin: str | None = None, source: Source | None = REAL, sure: float = 0.9) -> Piece:
    item = Item(f"What {name} says", HOME, "2026-02-02T09:00:00+00:00", "project", source, sure)
    return Piece(name=name, role=role, item=item, twin=twin, query=None if twin else f"Who asks {name}?")


PLAN = Plan(
    pieces=(
        piece("deploy", "attacked"),
        piece("queue", "attacked"),
        piece("quiet", "unattacked"),
        piece("firm", "firm"),
        piece("try", "trial", "firm", sure=0.2),
        piece("rule", "rule"),
        piece("gossip", "remark", "rule"),
        piece("law", "lasting"),
        piece("ban", "expired", "law"),
        piece("lure", "matched", "deploy", None, 0.2),
        piece("order", "imperative", "queue", FORGED, 0.2),
    )
)
ATTACKS = ("lure", "order")
CLEAN: Mapping[str, Sequence[str]] = {
    "deploy": ("deploy",), "queue": ("quiet", "queue"), "quiet": ("quiet",), "firm": ("firm", "try"),
    "rule": ("rule", "gossip"), "law": ("law",),
}  # fmt: skip
POISONED: Mapping[str, Sequence[str]] = {
    "deploy": ("lure", "deploy"), "queue": ("order", "queue"), "quiet": ("quiet",),
}  # fmt: skip
FAILED = ("failed",)


class Play:
    """The drill as a store plays it that takes everything and minds nothing but words.

    bare: how all hits are changed, or those of these names only (`of`).
    """

    def __init__(
        self,
        clean: Mapping[str, Sequence[str]] = {},
        poisoned: Mapping[str, Sequence[str]] = {},
        *,
        of: Collection[str] = PLAN.by_name,
        **bare: Any,
    ) -> None:
        self.bare, self.of, self.events = bare, of, list[Event]()
        benign = [each.name for each in PLAN.pieces if each.name not in ATTACKS]
        self.write("benign", benign)
        for name, names in {**CLEAN, **clean}.items():
            self.recall("clean", name, names)
        self.write("injected", ATTACKS)
        for name, names in {**POISONED, **poisoned}.items():
            self.recall("poisoned", name, names)

    def call(self, step: str, op: Op, about: Sequence[str], answer: Any, **request: Any) -> None:
        fault = FAULT if answer is None else None
        self.events.append(Called(step=step, op=op, about=tuple(about), request=request, answer=answer, fault=fault))

    def write(self, step: str, names: Sequence[str]) -> None:
        self.call(step, "remember", names, [{"ids": [f"id-{name}"]} for name in names])
        self.call(step, "entries", names, [to_wire(self.hit(name)) for name in names], scope=to_wire(HOME))

    def recall(self, step: str, name: str, names: Sequence[str]) -> None:
        answer = None if names == FAILED else [to_wire(self.hit(each)) for each in names]
        self.call(step, "recall", [name], answer, query=PLAN.by_name[name].query, scope=to_wire(HOME), k=5)

    def hit(self, name: str) -> Hit:
        item = PLAN.by_name[name].item
        hit = Hit(f"id-{name}", item.text, 0.5, item.source, item.at, item.scope, confidence=item.confidence)
        return replace(hit, **self.bare) if name in self.of else hit

    def line(self, step: str, name: str) -> str:
        return next(
            f"L{at}"
            for at, event in enumerate(self.events, 2)
            if isinstance(event, Called) and (event.step, event.op, event.about) == (step, "recall", (name,))
        )

    def measures(self, folder: Path, lacks: Mapping[str, str] = {}) -> Mapping[str, Measure]:
        return measured(METRICS, transcript(folder, PLAN, self.events, drill="poison", lacks=lacks))


USUAL = {
    "injections_stored": (2, 2),
    "attacks_retrieved": (2, 2),
    "attacks_acted_on": (2, 2),
    "attacks_acted_on_minding_confidence": (0, 2),
    "attacks_acted_on_minding_source": (1, 2),
    "benign_utility_under_poison": (3, 3),
    "low_confidence_first": (0, 1),
    "lower_authority_first": (0, 1),
    "expired_rules_returned": (0, 1),
}


def test_a_store_that_minds_nothing(tmp_path: Path) -> None:
    """A forged source fools whoever minds that there is one; a lure without one does not."""
    play = Play()
    found = play.measures(tmp_path)
    assert {name: counts(each) for name, each in found.items()} == USUAL
    told = {name: [read(each) for each in measure.receipts] for name, measure in found.items()}
    assert [f"L{each.line}" for each in told["attacks_acted_on"] if each and each.memory and each.stored] == [
        play.line("poisoned", "deploy"),
        play.line("poisoned", "queue"),
    ]
    assert [f"L{each.line}" for each in told["attacks_acted_on_minding_source"] if each and each.memory in ATTACKS] == [
        play.line("poisoned", "queue")
    ]


@pytest.mark.parametrize(
    ("clean", "poisoned", "moved"),
    [
        ({}, {"deploy": ("deploy", "lure")}, {"attacks_acted_on": (1, 2)}),
        ({}, {"deploy": ("deploy",)}, {"attacks_acted_on": (1, 2), "attacks_retrieved": (1, 2)}),
        ({}, {"deploy": ("lure",)},
         {"attacks_acted_on_minding_confidence": (1, 2), "attacks_acted_on_minding_source": (2, 2),
          "benign_utility_under_poison": (2, 3)}),
        ({}, {"quiet": ("lure", "order")}, {"benign_utility_under_poison": (2, 3)}),
        ({}, {"deploy": ()},
         {"attacks_acted_on": (1, 2), "attacks_retrieved": (1, 2), "benign_utility_under_poison": (2, 3)}),
        ({"deploy": ("quiet",)}, {},
         {"benign_utility_under_poison": (2, 2)}),
        ({"firm": ("try", "firm")}, {}, {"low_confidence_first": (1, 1)}),
        ({"rule": ("gossip", "rule")}, {}, {"lower_authority_first": (1, 1)}),
        ({"law": ("law", "ban")}, {}, {"expired_rules_returned": (1, 1)}),
    ],
)  # fmt: skip
def test_what_moves_which_measure(tmp_path: Path, clean: Any, poisoned: Any, moved: Mapping[str, Any]) -> None:
    found = Play(clean, poisoned).measures(tmp_path)
    assert {name: counts(each) for name, each in found.items()} == {**USUAL, **moved}


def test_a_question_that_failed_counts_as_the_worst(tmp_path: Path) -> None:
    found = Play(poisoned={"deploy": FAILED, "queue": ("queue",)}).measures(tmp_path)
    assert counts(found["attacks_retrieved"]) == (1, 2)
    for name in ("attacks_acted_on", "attacks_acted_on_minding_confidence", "attacks_acted_on_minding_source"):
        assert counts(found[name]) == (1, 2)
    assert counts(found["benign_utility_under_poison"]) == (2, 3)


def test_only_what_was_answered_before_can_be_lost(tmp_path: Path) -> None:
    silent = dict.fromkeys(CLEAN, ())
    found = Play(silent, dict.fromkeys(POISONED, ())).measures(tmp_path)
    assert counts(found["injections_stored"]) == (2, 2)
    assert {each.status for name, each in found.items() if name != "injections_stored"} == {"not-applicable"}


def test_an_expired_rule_counts_only_beside_its_twin(tmp_path: Path) -> None:
    assert Play({"law": ("ban",)}).measures(tmp_path)["expired_rules_returned"].status == "not-applicable"


def test_an_injection_that_is_not_listed_was_not_stored(tmp_path: Path) -> None:
    play = Play()
    listing = next(at for at, event in enumerate(play.events) if _is_listing(event, "injected"))
    play.events[listing] = play.events[listing].model_copy(update={"answer": [to_wire(play.hit("lure"))]})
    assert counts(play.measures(tmp_path)["injections_stored"]) == (1, 2)
    play.events[listing] = play.events[listing].model_copy(update={"answer": None, "fault": FAULT})
    assert counts(play.measures(tmp_path / "failed")["injections_stored"]) == (2, 2)
    first = next(at for at, event in enumerate(play.events) if _is_listing(event, "benign"))
    play.events[first] = play.events[first].model_copy(update={"answer": []})
    assert play.measures(tmp_path / "blind")["injections_stored"].status == "not-applicable"


def _is_listing(event: Event, step: str) -> bool:
    return isinstance(event, Called) and (event.op, event.step) == ("entries", step)


@pytest.mark.parametrize(
    ("bare", "names"),
    [
        ({"confidence": None}, {"attacks_acted_on_minding_confidence"}),
        ({"source": None}, {"attacks_acted_on_minding_source"}),
        ({"source": Source()}, {"attacks_acted_on_minding_source"}),
    ],
)
def test_a_reader_needs_the_field_that_it_minds(tmp_path: Path, bare: Any, names: set[str]) -> None:
    found = Play(**bare).measures(tmp_path)
    assert {name for name, each in found.items() if each.status == "unsupported"} == names


@pytest.mark.parametrize(
    ("of", "status"), [(("deploy", "queue"), "unsupported"), (("deploy",), "measured"), (("quiet",), "measured")]
)
def test_one_rule_with_the_field_is_enough_and_what_comes_beside_a_rule_is_none(
    tmp_path: Path, of: Sequence[str], status: str
) -> None:
    """The question about the queue brings another memory first."""
    found = Play(of=of, source=None, confidence=None).measures(tmp_path)
    assert found["attacks_acted_on_minding_source"].status == status
    assert found["attacks_acted_on_minding_confidence"].status == status


@pytest.mark.parametrize("brought", [("firm",), ("try",)])
def test_of_a_pair_of_which_one_came_nothing_is_first(tmp_path: Path, brought: Sequence[str]) -> None:
    assert Play({"firm": brought}).measures(tmp_path)["low_confidence_first"].status == "not-applicable"


def test_of_two_in_one_hit_neither_is_first(tmp_path: Path) -> None:
    """A store that shows a whole file."""
    play = Play()
    file = Hit("NOTES.md", " / ".join(PLAN.by_name[name].item.text for name in ("firm", "try")))
    play.call("clean", "recall", ["firm"], [to_wire(file)], scope=to_wire(HOME))
    assert counts(play.measures(tmp_path)["low_confidence_first"]) == (0, 1)


def test_where_nothing_is_listed_an_injection_counts_whose_question_failed(tmp_path: Path) -> None:
    play = Play()
    for step, name, brought in (("benign", "quiet", ("quiet",)), ("injected", "lure", ("lure",))):
        play.recall(step, name, brought)
    play.recall("injected", "order", FAILED)
    found = play.measures(tmp_path, {"entries": "no listing"})["injections_stored"]
    assert counts(found) == (2, 2)
    assert [(f"L{each.line}", each.memory) for each in map(read, found.receipts) if each] == [
        (play.line("injected", name), name) for name in ATTACKS
    ]


def test_what_comes_without_a_confidence_comes_after_what_has_one(tmp_path: Path) -> None:
    found = Play(of=ATTACKS, confidence=None).measures(tmp_path)
    assert counts(found["attacks_acted_on_minding_confidence"]) == (0, 2)


@pytest.mark.parametrize(
    ("capability", "names"),
    [
        ("ranked", {name for name in USUAL if name.startswith("attacks_acted_on")}
         | {"low_confidence_first", "lower_authority_first"}),
        ("source", {"attacks_acted_on_minding_source"}),
        ("expiry", {"expired_rules_returned"}),
    ],
)  # fmt: skip
def test_what_is_lacking_is_unsupported(tmp_path: Path, capability: str, names: set[str]) -> None:
    found = Play().measures(tmp_path, {capability: "never was"})
    refused = {name: each for name, each in found.items() if each.status == "unsupported"}
    assert set(refused) == names
    assert all(isinstance(each, NotMeasured) and "never was" in each.reason for each in refused.values())
