"""Recall: what counts as brought back, within which window, and what a miss or a fault is worth."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Hit
from harness.log.parts import Found, Span
from harness.metrics.view import Record
from harness.model.trial import Measure, Measured
from tests.support.logs import BOTH, LURE, NEW, NOISE, OLD, PEACE, PORT, Tape, hit
from tests.support.measures import counts, measures, value


def learnt(folder: Path, **more: object) -> Tape:
    tape = Tape(folder, **more)  # type: ignore[arg-type]  # passes on what Tape takes
    return tape.learn("first", "old", "port", "pin", "key").learn("second", "new")


def test_primary_recall_is_over_probes_with_gold_that_are_not_history(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-before", NOISE, OLD).probe("tool-after", NEW, stratum="plain")
    missed = tape.probe("tool-after", OLD, LURE, stratum="paraphrase").line
    found = measures(tape.probe("tool-and-port", PORT).probe("nothing", NOISE).probe("tool-past", OLD))
    assert counts(found["recall"]) == (3, 4)
    assert found["recall"].receipts == (f"L{missed}",)
    assert counts(found["recall_plain"]) == (3, 3)
    assert counts(found["recall_paraphrase"]) == (0, 1)
    assert found["recall_identifier"].status == "not-applicable"
    assert counts(found["history_recall"]) == (1, 1)
    assert counts(found["abstention"]) == (0, 1)


def test_only_what_fits_the_budget_was_recalled(tmp_path: Path) -> None:
    tape = learnt(tmp_path, budget=20).probe("tool-before", NOISE, LURE, OLD)
    found = measures(tape.probe("tool-after", NOISE, NEW).probe("tool-and-port", NEW))
    assert counts(found["recall_plain"]) == (2, 3)
    assert counts(found["recall_any_at_k"]) == (3, 4)  # a k of 3 sees all three entries, the fourth was not asked


def packed(tape: Tape, name: str, *texts: str) -> Tape:
    """One hit that holds several memories, each an entry of 10 tokens."""
    whole = "\n".join(texts)
    starts = [whole.index(text) for text in texts]
    spans = tuple(
        Span(hit=0, start=start, end=start + len(text), tokens=10) for start, text in zip(starts, texts, strict=True)
    )
    return tape.probe(name, found=Found(hits=(hit(whole),), entries=spans))


def test_memories_packed_into_one_hit_are_as_many_entries(tmp_path: Path) -> None:
    others = [f"{NOISE} {number}" for number in range(24)]
    alone = measures(learnt(tmp_path, budget=1000).probe("tool-before", *others[:3]))
    found = measures(packed(learnt(tmp_path, budget=1000), "tool-before", *others, OLD))
    assert counts(found["recall"]) == counts(alone["recall"]) == (0, 4)
    assert counts(found["recall_in_budget"]) == (1, 4)
    assert counts(found["precision_in_budget"]) == (1 / 25, 4)
    first = measures(packed(learnt(tmp_path, budget=1000), "tool-before", OLD, *others))
    assert counts(first["recall"]) == (1, 4)  # what it puts first is what it was asked for
    assert counts(first["precision_in_budget"]) == (1 / 25, 4)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([NOISE, OLD, LURE, PORT, NEW, BOTH]), min_size=1, max_size=12, unique=True),
    st.integers(1, 6),
    st.integers(5, 200),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_packing_never_raises_recall(tmp_path: Path, texts: list[str], k: int, budget: int) -> None:
    apart = measures(learnt(tmp_path, k=k, budget=budget).probe("tool-before", *texts[:k]))
    joined = measures(packed(learnt(tmp_path, k=k, budget=budget), "tool-before", *texts))
    assert counts(joined["recall"]) == counts(apart["recall"])


def test_what_a_reader_is_shown_is_what_counts_whatever_k_is(tmp_path: Path) -> None:
    texts = [NOISE, LURE, PORT, NEW, OLD]
    found = [
        measures(learnt(tmp_path, unsupported=["ranked"], budget=1000).probe("tool-before", *texts, shown=shown))
        for shown in (None, 4, 5)
    ]
    assert [counts(each["recall"]) for each in found] == [(0, 4), (0, 4), (1, 4)]  # None: of protocol 1, k of 3
    blind, *_, read = (value(each["chance_at_k"]) for each in found)
    assert blind < read


def test_the_budget_is_a_prefix_and_not_a_choice_of_small_entries(tmp_path: Path) -> None:
    tape = learnt(tmp_path, budget=15).probe("tool-before", OLD, NEW, PORT)
    (line, event) = Record(tape.log()).recalls("probe")[0]
    entries = Record(tape.log()).entries(line, event)
    assert [entry.in_budget for entry in entries] == [True, False, False]
    assert [entry.receipt for entry in entries] == [f"L{line}:e{n}" for n in range(3)]


def test_entries_carry_the_verdict_of_their_time_and_place(tmp_path: Path) -> None:
    record = Record(learnt(tmp_path).probe("tool-after", NEW, OLD, LURE, BOTH, NOISE, hit(OLD, superseded=True)).log())
    (line, event) = record.recalls("probe")[0]
    assert [record.verdict(entry) for entry in record.entries(line, event)] == [
        "current", "superseded", "out-of-scope", "unclear", "other", "mentioned",
    ]  # fmt: skip


def test_unclear_entries_recall_nothing_and_bound_recall_from_above(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-before", OLD).probe("tool-after", BOTH, NOISE)
    unclear = tape.line
    found = measures(tape.probe("tool-after", NEW, stratum="paraphrase").probe("tool-and-port", PORT))
    assert counts(found["recall"]) == (3, 4)
    assert counts(found["recall_upper"]) == (4, 4)
    assert counts(found["unclear_entries"]) == (1, 5)
    assert found["unclear_entries"].receipts == (f"L{unclear}:e0",)


def test_a_marked_entry_is_history_and_no_recall(tmp_path: Path) -> None:
    marked = hit(OLD, superseded=True)
    found = measures(learnt(tmp_path).probe("tool-before", marked).probe("tool-past", marked))
    assert counts(found["recall"]) == (0, 4)
    assert counts(found["history_recall"]) == (1, 1)


def test_measures_at_k_by_hand(tmp_path: Path) -> None:
    tape = learnt(tmp_path, k=2, budget=1000)
    tape.probe("tool-before", NOISE, OLD)  # rank 2: any 1, all 1, avg 1, precision 1/2, 1/2
    tape.probe("tool-after", NOISE, PORT, NEW)  # rank 3, outside k
    tape.probe("tool-after", NEW, stratum="paraphrase")  # 1, 1, 1, 1, 1
    tape.probe("tool-and-port", PORT, NOISE)  # 1, 0, 1/2, 1/2, 1
    found = measures(tape)
    assert counts(found["recall"]) == (3, 4)
    assert counts(found["recall_in_budget"]) == (4, 4)
    assert counts(found["recall_any_at_k"]) == (3, 4)
    assert counts(found["recall_all_at_k"]) == (2, 4)
    assert counts(found["recall_avg_at_k"]) == (2.5, 4)
    assert counts(found["precision_at_k"]) == (2.0, 4)
    assert counts(found["mrr"]) == (2.5, 4)
    assert found["mrr"].interval is None  # type: ignore[union-attr]  # counted above, so measured


def test_probes_with_more_gold_than_k_cannot_be_asked_for_all_of_it(tmp_path: Path) -> None:
    found = measures(learnt(tmp_path, k=1).probe("tool-before", OLD).probe("tool-and-port", NEW))
    assert counts(found["recall_all_at_k"]) == (1, 3)
    assert counts(found["recall_avg_at_k"]) == (1.5, 4)


@pytest.mark.parametrize(("pool", "status"), [(14, "not-applicable"), (15, "measured")])
def test_ranks_need_a_pool_of_five_times_k(tmp_path: Path, pool: int, status: str) -> None:
    assert measures(learnt(tmp_path).probe("tool-before", OLD, pool=pool))["mrr"].status == status


def test_ranks_of_a_trial_that_asked_nothing_are_of_no_memories(tmp_path: Path) -> None:
    found = measures(learnt(tmp_path))["mrr"]
    assert getattr(found, "reason", "") == "pool of 0 memories is below 15, 5 times k"


def test_ranks_need_an_order(tmp_path: Path) -> None:
    found = measures(learnt(tmp_path, unsupported=["ranked"]).probe("tool-before", OLD))
    assert getattr(found["mrr"], "reason", "") == "unranked: no ranked"
    assert counts(found["recall_any_at_k"]) == (1, 4)


def test_chance_draws_from_what_is_alive_and_carries_the_gold(tmp_path: Path) -> None:
    tape = Tape(tmp_path, k=2).learn("first", "old", "port", ids=[("a", "b"), ("c",)])
    tape.learn("second", "new", ids=[("d",)], op="supersede", replaces=("a",))
    tape.probe("tool-before", OLD, pool=4)  # of a and b, b is left: 1 - C(3,2)/C(4,2) = 1/2
    tape.probe("tool-after", NEW, pool=2)  # all are drawn
    tape.probe("tool-after", NEW, stratum="paraphrase", pool=3)  # 1 - C(2,2)/C(3,2) = 2/3
    tape.probe("tool-and-port", NEW, pool=0)  # nothing there
    found = measures(tape)["chance_at_k"]
    assert isinstance(found, Measured)
    assert found.value == pytest.approx((1 / 2 + 1 + 2 / 3 + 0) / 4)


@pytest.mark.parametrize(("ids", "pool", "chance"), [((), 3, 0), (("a",), 0, 0), (("a",), 1, 1), (("a",), 4, 1 / 4)])
def test_chance_is_sure_only_where_there_is_nothing_else_to_draw(
    tmp_path: Path, ids: tuple[str, ...], pool: int, chance: float
) -> None:
    tape = Tape(tmp_path, k=1).learn("first", "old", ids=[ids]).probe("tool-before", OLD, pool=pool)
    assert value(measures(tape)["chance_at_k"]) == pytest.approx(chance)


def test_silence_counts_only_beside_an_answer_in_the_same_stratum(tmp_path: Path) -> None:
    silent = learnt(tmp_path).probe("tool-before").probe("nothing")
    assert measures(silent)["abstention"].status == "not-applicable"
    answered = learnt(tmp_path).probe("tool-before", OLD).probe("nothing")
    assert counts(measures(answered)["abstention"]) == (1, 1)
    other = learnt(tmp_path).probe("tool-after", NEW, stratum="paraphrase").probe("nothing")
    assert measures(other)["abstention"].status == "not-applicable"
    fills = learnt(tmp_path, unsupported=["abstains"]).probe("tool-before", OLD).probe("nothing")
    assert measures(fills)["abstention"].status == "unsupported"


def test_a_fault_is_a_miss_and_no_silence(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-before", OLD).probe("nothing", fault=PEACE)
    found = measures(tape.probe("tool-after", fault=PEACE).probe("tool-past", fault=PEACE))
    assert counts(found["recall"]) == (1, 4)
    assert found["abstention"].status == "failed"
    assert counts(found["history_recall"]) == (0, 1)


def test_facts_that_were_never_stored_are_misses_and_counted(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", "port", ids=[("a",), ()]).learn("second", "new", ids=None)
    tape.add(tape.events.pop().model_copy(update={"ids": None, "fault": PEACE}))
    found = measures(tape.probe("tool-before", OLD))
    assert counts(found["facts_stored"]) == (1, 5)
    assert counts(found["recall"]) == (1, 4)


ANSWERS = st.lists(st.sampled_from([OLD, NEW, PORT, LURE, BOTH, NOISE]), max_size=6)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=ANSWERS, budget=st.integers(1, 70), k=st.integers(1, 7))
def test_one_more_irrelevant_entry_at_the_end_never_helps(
    tmp_path: Path, answer: list[str], budget: int, k: int
) -> None:
    def played(hits: list[Hit | str]) -> dict[str, Measure]:
        return measures(learnt(tmp_path, budget=budget, k=k).probe("tool-after", *hits).probe("tool-and-port", *hits))

    before, after = played([*answer]), played([*answer, hit(NOISE, "last")])
    for name in ("recall", "recall_upper", "recall_any_at_k", "recall_all_at_k", "recall_avg_at_k", "history_recall"):
        assert counts(after[name]) == counts(before[name])
    for name in ("precision_at_k", "mrr"):
        one, other = before[name], after[name]
        if isinstance(one, Measured) and isinstance(other, Measured):
            assert other.value <= one.value
