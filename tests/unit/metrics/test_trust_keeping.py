"""What is kept: writes, ranks, silence, odd texts and fields, each with the answer that makes it fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Item, Layer, Scope, Source, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Handled, Looked, Op
from harness.metrics.trust import fields, keeping, replacing, writes
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, Measured, NotMeasured
from tests.support.drill_player import measured
from tests.support.measures import counts, value
from tests.support.transcripts import transcript

METRICS = (*writes.METRICS, *keeping.METRICS, *fields.METRICS, *replacing.METRICS)

HOME, SIBLING = Scope("shop", "acme"), Scope("shop-admin", "acme")
FIRST, LIVE = ("right", "like", "odd", "old", "past", "bare"), ("right", "odd", "bare", "new", "next")
FAULT = Fault(kind="crashed", op="recall", message="no more")
Change = Callable[[str, Op, str, Hit], Hit | None]
"""(step, operation, piece, the hit as it should be) -> as it is; None: it does not come back."""


def piece(name: str, role: str, text: str, scope: Scope = HOME, **more: Any) -> Piece:
    bare = role == "bare"
    source = None if bare else Source("c" * 40, f"docs/{name}.md", 3, f"session-{name}")
    day = 9 if role == "edit" else len(name)
    item = Item(text, scope, f"2026-01-0{day}T09:00:00+01:00", "project", source, None if bare else 0.5)
    return Piece(name=name, role=role, item=item, **more)


PLAN = Plan(
    pieces=(
        piece("right", "answer", "Old logs go after 3 nights", query="How long are logs kept?"),
        piece("like", "look-alike", "Logs are kept for 9 days", SIBLING, twin="right"),
        piece("odd", "odd", "two\n\n  lines of \x1b[31mred"),
        piece("old", "plain", "The port is 1"),
        piece("past", "plain", "The host is one"),
        piece("bare", "bare", "Nobody knows who said this"),
        piece("new", "edit", "The port is 2", twin="old"),
        piece("next", "successor", "The host is two", twin="past"),
    )
)
IDS = {name: f"id-{name}" for name in PLAN.by_name} | {"new": "id-old"}


def sound(step: str, op: Op, name: str, hit: Hit) -> Hit | None:
    return hit


class Play:
    """The whole drill as a sound backend answers it, but for the change. failing: "step operation" of what fails.

    unknown: what comes to the question to which nothing is known.
    """

    def __init__(
        self,
        change: Change = sound,
        *,
        unacknowledged: str = "",
        failing: tuple[str, ...] = (),
        unknown: tuple[str, ...] = (),
    ) -> None:
        self.change, self.failing, self.events = change, failing, list[Event]()
        acks = [{"ids": [] if name == unacknowledged else [IDS[name]]} for name in FIRST]
        self.call("written", "remember", FIRST, acks)
        self.call("written", "settle", [], True)
        self.listing("written", HOME, [name for name in FIRST if name != "like"])
        self.listing("written", SIBLING, ["like"])
        for name in FIRST:
            self.recall("own", name, [name])
        self.recall("asked", "right", ["right", "odd"])
        self.recall("unknown", "right", unknown)
        self.call("revised", "update", ["new"], {"ids": ["id-old"]}, memory_id="id-old")
        self.call("revised", "supersede", ["next"], {"ids": ["id-next"]}, memory_ids=["id-past"])
        self.listing("revised", HOME, LIVE)
        self.events.append(Handled(step="revised", what="closed"))
        self.events.append(Looked(step="closed", layer=Layer("file", "a.db", "file"), files=1, bytes=600))
        self.events.append(Handled(step="reopened", what="opened"))
        self.listing("reopened", HOME, LIVE)

    def call(self, step: str, op: Op, about: Any, answer: Any, **request: Any) -> None:
        fault = FAULT if f"{step} {op}" in self.failing else None
        self.events.append(
            Called(
                step=step, op=op, about=tuple(about), request=request, answer=None if fault else answer, fault=fault,
                took=0.25,
            )
        )  # fmt: skip

    def hits(self, step: str, op: Op, names: Any) -> list[Any]:
        found = (self.change(step, op, name, whole(name)) for name in names)
        return [to_wire(hit) for hit in found if hit is not None]

    def listing(self, step: str, scope: Scope, names: Any) -> None:
        self.call(step, "entries", names, self.hits(step, "entries", names), scope=to_wire(scope))

    def recall(self, step: str, name: str, names: Sequence[str]) -> None:
        scope = to_wire(PLAN.by_name[name].item.scope)
        self.call(step, "recall", [name], self.hits(step, "recall", names), scope=scope, k=5, query="?")

    def line(self, step: str, op: Op, at: int = 0) -> str:
        """The nth call of this kind, after the opening."""
        lines = [
            f"L{number}"
            for number, event in enumerate(self.events, 2)
            if isinstance(event, Called) and (event.step, event.op) == (step, op)
        ]
        return lines[at]

    def measures(self, folder: Path, lacks: Mapping[str, str] = {}) -> Mapping[str, Measure]:
        return measured(METRICS, transcript(folder, PLAN, self.events, drill="keeping", lacks=lacks))


def whole(name: str) -> Hit:
    item = PLAN.by_name[name].item
    return Hit(IDS[name], item.text, 0.9, item.source, item.at, item.scope, confidence=item.confidence)


def changed(op: Op, name: str, how: Callable[[Hit], Hit | None], *steps: str) -> Change:
    def change(step: str, of: Op, which: str, hit: Hit) -> Hit | None:
        return how(hit) if (of, which) == (op, name) and step in (steps or (step,)) else hit

    return change


GOOD: Mapping[str, tuple[int, int]] = {
    "writes_not_acknowledged": (0, 6),
    "writes_kept": (6, 6),
    "writes_listed": (6, 6),
    "entries_unaccounted": (0, 6),
    "settled": (1, 1),
    "settled_too_early": (0, 6),
    "odd_texts_exact": (1, 1),
    "self_reachability": (6, 6),
    "own_text_first": (6, 6),
    "answer_among_look_alikes": (1, 1),
    "recalls_malformed": (0, 7),
    "unknown_answered_with_silence": (1, 1),
    "source_survives_writing": (5, 5),
    "date_survives_writing": (6, 6),
    "confidence_survives_writing": (5, 5),
    "scope_survives_writing": (6, 6),
    "kept_after_reopening": (5, 5),
    **{f"{field}_survives_{op}": (1, 1) for field in fields.FIELDS for op in ("update", "supersede")},
    **{f"{field}_survives_reopening": (4, 4) for field in ("source", "confidence")},
    **{f"{field}_survives_reopening": (5, 5) for field in ("date", "scope")},
    "texts_whole": (13, 13),
    "scores_out_of_order": (0, 1),
    "answers_invented": (0, 2),
    "calls_failed": (0, 18),
}


def test_a_sound_backend_keeps_all(tmp_path: Path) -> None:
    found = Play().measures(tmp_path)
    assert {name: counts(found[name]) for name in GOOD} == GOOD
    unplayed = {"batch_kept", "several_superseded", "expiry_by_wall_clock", "expiry_lost", "ids_reissued"}
    unplayed |= {"wordless_text_found", "ended_late", "ended_early", "numbers_as_told", "updated_found"}
    unplayed |= {"short_questions_answered", "many_found_at_once", "forgotten_at_once", "lost_by_forgetting_at_once"}
    unplayed |= {"same_text_updated", "kept_beside_a_batch", "changed_after_a_hit", "found_after_a_miss"}
    unplayed |= {"history_tells_all_versions", "history_of_equal_text", "right_before_look_alike", "last_text_served"}
    unplayed |= {"deprecated_recalled", "deprecated_lost", "deprecated_altered", "deprecated_undeleted"}
    unplayed |= {"recall_seconds_p95", "recall_seconds_p99", "write_seconds_p95", "delete_seconds"}
    unplayed |= {"first_answer_seconds", "source_survives_deletion", "filtered_missed", "filtered_wrong"}
    unplayed |= {"processor_seconds", "bytes_per_question", "kept_through_days"}
    aside = {"recall_seconds", "write_seconds", "bytes_per_memory", "undeclared_bytes", "first_date_after_update"}
    aside |= {"update_seconds", "list_seconds"}
    assert set(found) - set(GOOD) == {*aside, *unplayed}
    assert {found[name].status for name in unplayed} == {"not-applicable"}, "an older transcript lacks these steps"
    seconds, size = found["recall_seconds"], found["bytes_per_memory"]
    assert isinstance(seconds, Measured) and (seconds.value, seconds.of) == (0.25, 8)
    assert isinstance(size, Measured) and (size.value, size.of, size.known) == (100, 6, "exact")


def lost(hit: Hit) -> None:
    return None


def under(**fields: Any) -> Callable[[Hit], Hit]:
    return lambda hit: replace(hit, **fields)


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        (changed("entries", "right", lost, "written"),
         {"writes_listed": (5, 6), "entries_unaccounted": (0, 5), "settled_too_early": (1, 6)}),
        (changed("entries", "right", lost), {"writes_listed": (5, 6), "entries_unaccounted": (0, 5),
         "kept_after_reopening": (4, 4), "texts_whole": (12, 12)}
         | {f"{field}_survives_reopening": (3, 3) for field in ("source", "confidence")}
         | {f"{field}_survives_reopening": (4, 4) for field in ("date", "scope")}),
        (changed("recall", "bare", lost),
         {"self_reachability": (5, 6), "own_text_first": (5, 6), "recalls_malformed": (0, 6), "texts_whole": (12, 12)}),
        (changed("recall", "odd", under(memory_id="id-right"), "asked"),
         {"recalls_malformed": (1, 7), "texts_whole": (12, 13), "answers_invented": (1, 2)}),
        (changed("recall", "odd", under(text="two"), "own"),
         {"texts_whole": (12, 13), "self_reachability": (6, 6)}),
        (changed("recall", "odd", under(score=0.95), "asked"), {"scores_out_of_order": (1, 1)}),
        (changed("entries", "odd", under(text="two lines of \x1b[31mred"), "written"), {"odd_texts_exact": (0, 1)}),
        (changed("recall", "odd", under(text="two lines of \x1b[31mred"), "own"), {"odd_texts_exact": (0, 1)}),
        (changed("recall", "right", under(source=None), "own"), {"source_survives_writing": (4, 5)}),
        (changed("entries", "bare", under(source=Source(path="README.md")), "written"),
         {"source_survives_writing": (5, 6)}),
        (changed("entries", "like", under(created="2026-01-04T09:00:00Z")), {"date_survives_writing": (5, 6)}),
        (lambda _step, _op, name, hit: replace(hit, created=None) if name == "like" else hit,
         {"date_survives_writing": (5, 6)}),
        (changed("entries", "like", under(confidence=1.0)), {"confidence_survives_writing": (4, 5)}),
        (changed("entries", "bare", under(confidence=1.0)), {"confidence_survives_writing": (5, 6)}),
        (changed("entries", "like", under(scope=HOME)), {"scope_survives_writing": (5, 6)}),
        (changed("entries", "new", under(source=whole("old").source), "revised"),
         {"source_survives_update": (0, 1), "source_survives_reopening": (3, 3)}),
        (changed("entries", "new", under(text="The port is 1"), "revised", "reopened"),
         {f"{field}_survives_update": (0, 1) for field in fields.FIELDS}
         | {"source_survives_reopening": (3, 3), "date_survives_reopening": (4, 4)}),
        (changed("entries", "next", under(source=None), "revised"),
         {"source_survives_supersede": (0, 1), "source_survives_reopening": (3, 3)}),
        (changed("entries", "right", lost, "reopened"),
         {"kept_after_reopening": (4, 5)}
         | {f"{field}_survives_reopening": (3, 4) for field in ("source", "confidence")}
         | {f"{field}_survives_reopening": (4, 5) for field in ("date", "scope")}),
        (changed("entries", "right", under(source=Source("c")), "reopened"), {"source_survives_reopening": (3, 4)}),
    ],
)  # fmt: skip
def test_each_loss_moves_its_measure(tmp_path: Path, change: Change, moved: Mapping[str, tuple[int, int]]) -> None:
    found = Play(change).measures(tmp_path)
    assert {name: counts(found[name]) for name in GOOD} == {**GOOD, **moved}
    assert all(found[name].receipts for name, (hits, of) in moved.items() if 0 < hits < of)


@pytest.mark.parametrize(
    ("created", "kept", "first"),
    [
        (PLAN.by_name["new"].item.at, (1, 1), (0, 1)),
        (PLAN.by_name["old"].item.at, (1, 1), (1, 1)),
        ("2031-01-01T00:00:00Z", (0, 1), (0, 1)),
        (None, (0, 1), (0, 1)),
    ],
)
def test_an_updated_memory_may_say_when_it_was_first_made(
    tmp_path: Path, created: str | None, kept: tuple[int, int], first: tuple[int, int]
) -> None:
    found = Play(changed("entries", "new", under(created=created), "revised")).measures(tmp_path)
    assert counts(found["date_survives_update"]) == kept and counts(found["first_date_after_update"]) == first
    assert bool(found["date_survives_update"].receipts) == (kept == (0, 1))


def test_a_text_without_a_word_is_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [piece("odd", "odd", "?! ... ---") if each.name == "odd" else each for each in PLAN.pieces]
    monkeypatch.setitem(globals(), "PLAN", Plan(pieces=tuple(texts)))
    found = Play(changed("recall", "odd", lost, "own")).measures(tmp_path)
    assert counts(found["wordless_text_found"]) == (0, 1)
    assert counts(found["self_reachability"]) == counts(found["own_text_first"]) == (5, 5)


def test_receipts_name_the_call_that_shows_it(tmp_path: Path) -> None:
    play = Play(changed("recall", "odd", lost, "own"))
    found = play.measures(tmp_path)
    assert found["self_reachability"].receipts == (f"{play.line('own', 'recall', 2)} odd stored at L2",)
    play = Play(changed("entries", "next", under(source=None), "revised"))
    found = play.measures(tmp_path / "other")
    stored = play.line("revised", "supersede")
    expected = f"{play.line('revised', 'entries')} next stored at {stored}"
    assert found["source_survives_supersede"].receipts == (expected,)


def test_a_second_copy_is_unaccounted_and_stands_for_no_other(tmp_path: Path) -> None:
    play = Play()
    twice = replace(whole("old"), memory_id="unheard", source=None, created=None, confidence=None, scope=SIBLING)
    play.call("written", "entries", [], [to_wire(whole("old")), to_wire(twice)], scope=to_wire(HOME))
    found = play.measures(tmp_path)
    assert counts(found["entries_unaccounted"]) == (1, 7)
    for name in ("source_survives_writing", "date_survives_writing", "scope_survives_writing"):
        assert counts(found[name]) == GOOD[name]


def test_a_write_without_an_id_is_not_acknowledged_and_not_lost(tmp_path: Path) -> None:
    found = Play(unacknowledged="old").measures(tmp_path)
    assert counts(found["writes_not_acknowledged"]) == (1, 6)
    assert counts(found["writes_kept"]) == (5, 5)


def test_failed_calls_count_as_the_worst(tmp_path: Path) -> None:
    play = Play(failing=("own recall", "unknown recall", "written entries", "reopened entries"))
    found = play.measures(tmp_path)
    assert counts(found["calls_failed"]) == (10, 18)
    failed = ("self_reachability", "own_text_first", "writes_kept", "writes_listed", "unknown_answered_with_silence",
              "odd_texts_exact")  # fmt: skip
    assert [found[name].status for name in failed] == ["failed"] * len(failed)
    for name in ("kept_after_reopening", "source_survives_reopening"):
        assert found[name].status == "failed" or counts(found[name])[0] == 0, name
    seconds = found["recall_seconds"]
    assert isinstance(seconds, Measured) and seconds.of == 1


def test_what_no_look_brings_is_lost(tmp_path: Path) -> None:
    found = Play(lambda step, op, name, hit: None if name == "past" else hit).measures(tmp_path)
    assert counts(found["writes_kept"]) == counts(found["writes_listed"]) == (5, 6)


def test_a_wait_that_ends_too_early_is_shown_by_what_comes_later(tmp_path: Path) -> None:
    play = Play(changed("recall", "bare", lost, "own"))
    play.recall("again", "bare", ["bare"])
    found = play.measures(tmp_path)
    assert counts(found["settled_too_early"]) == (1, 6) and counts(found["settled"]) == (1, 1)
    assert found["settled_too_early"].receipts == (play.line("again", "recall"),)


def test_a_wait_that_says_that_it_was_too_short_promises_nothing(tmp_path: Path) -> None:
    play = Play(changed("recall", "bare", lost, "own"))
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Called) and event.op == "settle")
    play.events[at] = play.events[at].model_copy(update={"answer": False})
    found = play.measures(tmp_path)
    assert found["settled_too_early"].status == "not-applicable" and counts(found["settled"]) == (0, 1)


def test_a_breach_is_a_malformed_recall(tmp_path: Path) -> None:
    play = Play()
    breach = Fault(kind="breach", op="recall", message="returned 6 hits for k = 5")
    play.events.append(Called(step="wide", op="recall", about=("right",), request={"k": 5}, fault=breach))
    assert counts(play.measures(tmp_path)["recalls_malformed"]) == (1, 8)


def test_a_whole_file_is_found_by_its_text(tmp_path: Path) -> None:
    """Under another id, and with more around it."""
    found = Play(lambda step, op, name, hit: Hit("NOTES.md", f"- 2026 {hit.text} (docs)")).measures(tmp_path)
    assert counts(found["self_reachability"]) == (6, 6)
    assert counts(found["odd_texts_exact"]) == (1, 1)
    assert counts(found["kept_after_reopening"]) == (5, 5)
    assert counts(found["writes_kept"]) == (0, 6)
    assert found["confidence_survives_writing"].status == "not-applicable"


@pytest.mark.parametrize(
    ("capability", "names"),
    [
        ("ranked", {"own_text_first", "answer_among_look_alikes", "scores_out_of_order", "right_before_look_alike"}),
        ("abstains", {"unknown_answered_with_silence"}),
        ("expiry", {"expiry_by_wall_clock", "expiry_lost", "ended_late", "ended_early"}),
        (
            "forget",
            {
                "ids_reissued",
                "deprecated_undeleted",
                "forgotten_at_once",
                "lost_by_forgetting_at_once",
                "delete_seconds",
                "source_survives_deletion",
            },
        ),
        (
            "source",
            {"same_text_updated", "source_survives_deletion", *(name for name in GOOD if name.startswith("source_"))},
        ),
        ("created", {"first_date_after_update", *(name for name in GOOD if name.startswith("date_"))}),
        ("entries", {"entries_unaccounted", "writes_listed", "list_seconds"}),
        ("scope_repo", {"answer_among_look_alikes", *(name for name in GOOD if name.startswith("scope_"))}),
        (
            "update",
            {
                "first_date_after_update",
                "history_of_equal_text",
                "history_tells_all_versions",
                "same_text_updated",
                "updated_found",
                "update_seconds",
                *(name for name in GOOD if name.endswith("_update")),
            },
        ),
        ("supersede", {"several_superseded", *(name for name in GOOD if name.endswith("_supersede"))}),
        (
            "persistent",
            {
                "bytes_per_memory",
                "bytes_per_question",
                "first_answer_seconds",
                "undeclared_bytes",
                *(name for name in GOOD if name.endswith("_reopening")),
            },
        ),
    ],
)
def test_what_is_lacking_is_unsupported(tmp_path: Path, capability: str, names: set[str]) -> None:
    found = Play().measures(tmp_path, {capability: "never was"})
    refused = {name: each for name, each in found.items() if each.status == "unsupported"}
    assert set(refused) == names
    assert all(isinstance(each, NotMeasured) and "never was" in each.reason for each in refused.values())


def test_who_has_no_field_for_a_confidence_loses_none(tmp_path: Path) -> None:
    """It declares no filter by one and never shows one. Who shows a single one has the field."""
    lacks, name = {"filter_confidence": "never was"}, "confidence_survives_writing"
    bare = Play(lambda _step, _op, _name, hit: replace(hit, confidence=None))
    assert counts(bare.measures(tmp_path / "filter")[name]) == (0, 5)
    assert bare.measures(tmp_path / "none", lacks)[name].status == "unsupported"
    one = Play(lambda _step, _op, name, hit: replace(hit, confidence=None) if name != "right" else hit)
    assert counts(one.measures(tmp_path / "one", lacks)[name]) == (1, 5)


def test_silence_counts_only_beside_an_answer(tmp_path: Path) -> None:
    found = Play(changed("recall", "right", lost, "asked")).measures(tmp_path)
    assert counts(found["answer_among_look_alikes"]) == (0, 1)
    assert found["unknown_answered_with_silence"].status == "not-applicable"
    assert counts(Play(unknown=("odd",)).measures(tmp_path / "talks")["unknown_answered_with_silence"]) == (0, 1)


def test_a_source_that_never_was_right_cannot_survive(tmp_path: Path) -> None:
    found = Play(lambda step, op, name, hit: replace(hit, source=None)).measures(tmp_path)
    assert counts(found["source_survives_writing"]) == (0, 5)
    for name in ("source_survives_update", "source_survives_supersede", "source_survives_reopening"):
        assert found[name].status == "not-applicable"


@pytest.mark.parametrize(
    ("look", "status", "known"),
    [
        ({"bytes": 600, "problem": "half of it cannot be read"}, "measured", "at-least"),
        ({"bytes": 0, "problem": "remote"}, "not-applicable", None),
    ],
)
def test_bytes_that_cannot_be_read(tmp_path: Path, look: Any, status: str, known: str | None) -> None:
    play = Play()
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Looked))
    play.events[at] = Looked(step="closed", layer=Layer("file", "a.db", "file"), files=1, **look)
    size = play.measures(tmp_path)["bytes_per_memory"]
    assert size.status == status and getattr(size, "known", None) == known


def test_bytes_are_those_that_are_found_and_not_those_that_are_declared(tmp_path: Path) -> None:
    play = Play()
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Looked))
    layers = {"db": Layer("db", "empty", "file"), "far": Layer("far", "far", "remote")}
    elsewhere = Looked(step="closed", layer=Layer("else", "..", "file"), declared=False, files=2, bytes=600)
    play.events[at : at + 1] = [Looked(step="closed", layer=layers["db"], files=1, bytes=0), elsewhere]
    found = play.measures(tmp_path / "db")
    assert value(found["bytes_per_memory"]) == 100 and counts(found["undeclared_bytes"]) == (600, 600)
    play.events[at] = Looked(step="closed", layer=layers["far"], files=0, bytes=0, problem="remote")
    assert play.measures(tmp_path / "far")["bytes_per_memory"].status == "not-applicable"


def test_no_look_at_the_disk_is_a_failure(tmp_path: Path) -> None:
    play = Play()
    play.events = [event for event in play.events if not isinstance(event, Looked)]
    assert play.measures(tmp_path)["bytes_per_memory"].status == "failed"


def test_a_store_that_takes_nothing_has_nothing_to_show(tmp_path: Path) -> None:
    play = Play(lambda step, op, name, hit: None)
    play.events[0] = Called(step="written", op="remember", about=FIRST, answer=[{"ids": []} for _ in FIRST])
    found = play.measures(tmp_path)
    assert counts(found["writes_not_acknowledged"]) == (6, 6)
    clean = {name for name, each in found.items() if each.status == "measured"} - {"writes_not_acknowledged"}
    assert clean == {"calls_failed", "recall_seconds", "update_seconds", "list_seconds"}


def test_failed_calls_are_counted_even_if_the_drill_was_cut_off() -> None:
    assert {metric.definition.name for metric in METRICS if not metric.whole} == {"calls_failed"}
    assert {metric.drill for metric in METRICS} == {"keeping"}
