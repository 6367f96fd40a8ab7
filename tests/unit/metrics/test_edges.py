"""Cases at the edge of a measure: one more or less, and another number comes out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Layer, Scope, Source, to_wire
from harness.log.events import Event, Forgot
from harness.log.transcript import Called, Looked
from harness.metrics import faults, trust, views
from harness.metrics.broken import BROKE, describe
from harness.metrics.deletion import layers
from harness.metrics.trust import keeping
from harness.metrics.trust.reach import Reach
from harness.metrics.trust.residue import Residue, _look_by_route
from harness.metrics.view import Record
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from harness.text.classify import Classifier
from tests.support.drill_player import measured
from tests.support.logs import OLD, PORT, Tape, cold, hit
from tests.support.measures import counts, measures, unanswered, value
from tests.support.transcripts import transcript

HOME = Scope("shop", "acme")
FAULT = Fault(kind="crashed", op="entries", message="no more")


# --- drills -----------------------------------------------------------------------------------------------------------


def piece(name: str, role: str = "bulk") -> Piece:
    return Piece(name=name, role=role, item=Item(f"Rule {name}", HOME, "2026-01-01T09:00:00Z", "project"))


def call(op: str, about: Sequence[str], answer: object, step: str = "at once", **request: object) -> Called:
    fault = FAULT if answer is None else None
    return Called.model_validate(
        {"step": step, "op": op, "about": about, "request": request, "answer": answer, "fault": fault}
    )


def told(name: str, **more: object) -> dict[str, object]:
    return dict(to_wire(replace(Hit(f"id-{name}", f"Rule {name}"), **more)))  # type: ignore[arg-type]


def stored(names: str, but: str = "", step: str = "bulk") -> Called:
    return call("remember", [*names], [{"ids": [] if name in but else [f"id-{name}"]} for name in names], step)


def ask(name: str, *brought: str, k: int = 5, step: str = "at once") -> Called:
    return call("recall", [name], [told(each) for each in brought], step, query=name, k=k, scope=to_wire(HOME))


def listing(names: str, about: str = "abcd", step: str = "at once") -> Called:
    return call("entries", [*about], [told(each) for each in names], step, scope=to_wire(HOME))


def judge(
    folder: Path, events: Sequence[Event], role: str = "bulk", lacks: Mapping[str, str] = {}
) -> Mapping[str, Measure]:
    plan = Plan(pieces=tuple(piece(name, role) for name in "abcd"))
    return measured(keeping.METRICS, transcript(folder, plan, events, drill="keeping", lacks=lacks))


@pytest.mark.parametrize(
    ("looks", "kept"),
    [
        ([listing("abcd")], 4),
        ([listing("ab")], 2),
        ([listing("ab"), ask("c", "c")], 4),  # all that was asked for is there: the listing is cut
        ([listing("ab"), ask("c", "c"), ask("d", "a")], 3),
        ([listing("ab"), ask("c", "a"), ask("d", "a")], 2),
        ([listing("ab"), ask("a", "a")], 2),  # nothing of what it left out was asked for
        ([], 0),
    ],
)
def test_what_a_listing_of_a_batch_leaves_out_is_lost_unless_all_that_is_asked_for_is_there(
    tmp_path: Path, looks: list[Event], kept: int
) -> None:
    assert counts(judge(tmp_path, [stored("abcd"), *looks])["batch_kept"]) == (kept, 4)


def test_what_a_batch_did_not_acknowledge_is_lost_though_the_listing_is_cut(tmp_path: Path) -> None:
    found = judge(tmp_path, [stored("abcd", but="d"), listing("ab"), ask("c", "c")])["batch_kept"]
    assert counts(found) == (3, 4)


def test_where_nothing_can_be_listed_those_of_a_batch_count_that_are_asked_for(tmp_path: Path) -> None:
    found = judge(tmp_path, [stored("abcd"), ask("a", "a"), ask("b", "c")], lacks={"entries": "no"})["batch_kept"]
    assert counts(found) == (1, 2)


def test_more_hits_than_were_asked_for_are_malformed_where_the_store_ranks(tmp_path: Path) -> None:
    events = [stored("abcd", step="written"), ask("a", "a", "b", k=1, step="own"), ask("b", "b", k=1, step="own")]
    assert counts(judge(tmp_path / "ranks", events, "answer")["recalls_malformed"]) == (1, 2)
    found = judge(tmp_path / "does not", events, "answer", {"ranked": "no"})["recalls_malformed"]
    assert counts(found) == (0, 2)


def test_filtered_recalls_can_be_malformed_too(tmp_path: Path) -> None:
    def filtered(*brought: str) -> Called:
        return call("recall_where", ["a"], [told(each) for each in brought], "own", query="a", k=2, where={})

    events = [stored("abcd", step="written"), filtered("a", "b"), filtered("a", "b", "c"), filtered("b", "b")]
    found = judge(tmp_path, events, "answer")["recalls_malformed"]
    assert (counts(found), found.receipts) == ((2, 3), ("L4", "L5"))


def test_the_second_place_is_not_the_first(tmp_path: Path) -> None:
    events = [stored("abcd", step="written"), ask("a", "b", "a", step="own"), ask("b", "b", "a", step="own")]
    found = judge(tmp_path, events, "answer")
    assert (counts(found["own_text_first"]), counts(found["self_reachability"])) == ((1, 2), (2, 2))


def test_a_listing_that_failed_may_have_shown_what_nobody_wrote(tmp_path: Path) -> None:
    events = [stored("abcd", step="written"), listing("ab", step="written"), listing("c", step="written")]
    broken = call("entries", [*"abcd"], None, "written", scope=to_wire(HOME))
    assert counts(judge(tmp_path / "sound", events, "answer")["entries_unaccounted"]) == (0, 3)
    assert counts(judge(tmp_path / "broken", [*events, broken], "answer")["entries_unaccounted"]) == (1, 4)


def test_scores_that_differ_by_rounding_are_equal(tmp_path: Path) -> None:
    def ranked(second: float) -> Called:
        hits = [told("a", score=0.5), told("b", score=second)]
        return call("recall", ["a"], hits, "own", query="a", k=5, scope=to_wire(HOME))

    events = [stored("abcd", step="written"), ranked(0.5 + 5e-7), ranked(0.5 + 2e-6), ranked(0.6)]
    assert counts(judge(tmp_path, events, "answer")["scores_out_of_order"]) == (2, 3)


def test_a_memory_that_both_first_looks_failed_to_show_is_one(tmp_path: Path) -> None:
    broken = [call("entries", ["b"], None, "written", scope=to_wire(HOME)),
              call("recall", ["b"], None, "own", query="b", k=5, scope=to_wire(HOME))]  # fmt: skip
    events = [stored("ab", step="written"), call("settle", [], True, "written"), listing("a", "a", "written"), *broken]
    assert unanswered(judge(tmp_path, events, "answer")["settled_too_early"]) == (1, 2, 1)


def test_what_nobody_declared_comes_last(tmp_path: Path) -> None:
    looks = [
        Looked(step="before", layer=Layer(name, name, "file"), declared=name != "beside", files=1, bytes=1)
        for name in ("beside", "db", "log", "beside", "db")
    ]
    told = transcript(tmp_path, Plan(pieces=(piece("a", "plain"),)), looks, drill="deletion")
    assert Residue(told).layers() == ["db", "log", "beside"]


def test_a_look_that_failed_after_the_deletion_says_so_and_one_before_shows_nothing(tmp_path: Path) -> None:
    told = transcript(tmp_path, Plan(pieces=(piece("a", "forget"),)), [stored("a", step="written")], drill="deletion")
    looks = [_look_by_route(Reach.of(told), step, "search", ["a"]) for step in ("before", "after")]
    assert [look.reason for look in looks] == ["", "1 of 1 calls failed or were not made"]
    assert {look.verdict for look in looks} == {"not-seen-before"}


def test_which_measures_hang_on_the_machine() -> None:
    assert {each.definition.name for each in trust.METRICS if each.by_chance} == trust.BY_CHANCE != set()


def test_a_call_about_an_odd_text_and_a_plain_one_was_not_provoked(tmp_path: Path) -> None:
    plan = Plan(pieces=(piece("a", "plain"), piece("b", "odd")))
    refusal = Fault(kind="crashed", op="recall", message="no")

    def provoked(*about: str) -> list[bool]:
        calls = [ask("a", "a", step="own"), Called(step="own", op="recall", about=about, fault=refusal)]
        told = transcript(tmp_path / "-".join(about), plan, calls, drill="keeping")
        return [each.provoked for each in faults.of_drill(told)]

    assert (provoked("b"), provoked("b", "a"), provoked("a")) == ([True], [False], [False])


def test_without_a_memory_no_id_can_be_shaped_after_another(tmp_path: Path) -> None:
    plan = Plan(pieces=(piece("a", "plain"),))
    metric = next(each for each in trust.METRICS if each.definition.name == "unknown_id_called_deleted")
    found = measured((metric,), transcript(tmp_path, plan, [], drill="deletion"))["unknown_id_called_deleted"]
    assert found.status == "not-applicable"


def test_what_broke_is_one_line_of_bounded_length_with_its_place() -> None:
    try:
        raise ValueError("two\nlines " + "x" * 500)
    except ValueError as error:
        said = describe(error)
    what = said.removeprefix(BROKE).partition(" (test_edges.py:")[0]
    assert len(what) == 200 and what.startswith("ValueError: two lines xxx") and said.endswith(")")
    with pytest.raises(json.JSONDecodeError) as deep:
        json.loads("{")
    assert " (decoder.py:" in describe(deep.value)


# --- stories ----------------------------------------------------------------------------------------------------------


def test_a_store_that_cannot_replace_says_so_in_its_own_words(tmp_path: Path) -> None:
    tape = Tape(tmp_path, write_policy="curated", unsupported=["supersede"]).played().jobs("betadeploy")
    found = measures(tape)["update_omission"]
    assert (found.status, getattr(found, "reason", "")) == ("unsupported", "no supersede")


def test_without_a_memory_nothing_is_supported(tmp_path: Path) -> None:
    log = cold(tmp_path, "betadeploy")
    record = Record(log, Classifier(log.scenario, {}))
    assert not record.supports("forget") and record.support("forget").note == "no memory"


def test_a_deletion_of_which_one_id_was_refused_is_not_called_done(tmp_path: Path) -> None:
    looks = {("search", "pin"): True, ("search", "key"): True}
    tape = Tape(tmp_path).played().jobs("betadeploy").look("before", looks).forget("key")
    tape.add(Forgot(session="third", fact="pin", ids=("pin", "more"), said=(True, False)))
    found = measures(tape.look("after", dict.fromkeys(looks, False)))["deletion_acknowledged"]
    assert counts(found) == (1, 1)


def test_a_layer_that_was_not_looked_at_after_the_deletion_says_so(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().jobs("betadeploy").scanned("before", "db", "pin").forget("pin")
    (layer,) = layers(tape.log())
    assert (layer.problem, layer.before, layer.unread) == ("not looked at after the deletion", ("pin",), False)


def test_a_control_with_as_much_noise_stands_beside_a_trial(tmp_path: Path) -> None:
    """Of the others the one with the least."""
    controls = [Tape(tmp_path, "oracle", control=True, noise=noise).played().jobs("a").log() for noise in (0, 20, 5)]
    for noise, nearest in ((0, 0), (5, 5), (20, 20), (7, 0)):
        view = views([*controls, Tape(tmp_path, noise=noise).played().jobs("b").log()])[-1]
        assert view.oracle is not None and view.oracle.log.trial.noise == nearest


def test_of_several_equal_texts_the_source_that_fits_best_counts(tmp_path: Path) -> None:
    for session in ("first", "second"):
        tape = Tape(tmp_path / session).learn("first", "port").learn("second", "port", ids=[("again",)])
        source = replace(tape.scenario.by_id["port"].source or Source(), session=session)
        hits, of = counts(measures(tape.probe("tool-before", hit(PORT, source=source)))["source_fidelity"])
        assert hits == of != 0
    lost = measures(Tape(tmp_path).learn("first", "port").probe("tool-before", hit(PORT)))["source_fidelity"]
    assert value(lost) == 0 and lost.receipts == ("L3:e0",)


def test_of_several_equal_texts_the_date_of_any_counts(tmp_path: Path) -> None:
    for at, kept in (("first", 1), ("second", 1), ("third", 0)):
        tape = Tape(tmp_path / at).learn("first", "port").learn("second", "port", ids=[("again",)])
        tape.probe("tool-before", hit(PORT, created=tape.at(at).isoformat()))
        assert counts(measures(tape)["dates_kept"]) == (kept, 1)


def test_what_was_deleted_is_no_chance_any_more_and_what_was_to_be_is(tmp_path: Path) -> None:
    for said, chance in (((True,), 1 / 2), (None, 5 / 6)):
        tape = Tape(tmp_path / str(said), k=2).learn("first", "old", "port", ids=[("a", "b"), ("c",)])
        tape.add(Forgot(session="first", fact="old", ids=("a",), said=said, fault=None if said else FAULT))
        found = measures(tape.probe("tool-before", OLD, pool=4))["chance_at_k"]
        assert value(found) == pytest.approx(chance)
