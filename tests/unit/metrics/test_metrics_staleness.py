"""Updates: which are eligible, how each comes out, and what counts as served stale."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Hit
from harness.metrics import score
from harness.metrics.staleness import OUTCOMES, updates
from harness.metrics.view import Record
from tests.support.logs import AT_ONCE, BOTH, NEW, NOISE, OLD, PEACE, PORT, STORY, Tape, hit, probe, story
from tests.support.measures import counts, measures

MARKED = hit(OLD, superseded=True)


def known(folder: Path, **more: object) -> Tape:
    """The old fact was stored and recalled, the new one stored."""
    tape = Tape(folder, **more)  # type: ignore[arg-type]  # passes on what Tape takes
    return tape.learn("first", "old", "port").probe("tool-before", OLD).learn("second", "new")


def outcome(folder: Path, *hits: Hit | str) -> str:
    tape = known(folder)
    for stratum in ("plain", "paraphrase"):
        tape.probe("tool-after", *hits, stratum=stratum)
    found = updates(Record(tape.probe("tool-and-port", *hits).log()))
    (one,) = {update.outcome for update in found}
    assert len(found) == 3
    return one


def test_every_outcome_by_hand(tmp_path: Path) -> None:
    assert outcome(tmp_path, NOISE, NEW) == "current_only"
    assert outcome(tmp_path, MARKED, NEW) == "both_flagged"
    assert outcome(tmp_path, NEW, OLD) == "both_current_first"
    assert outcome(tmp_path, MARKED, NEW, OLD) == "both_current_first"
    assert outcome(tmp_path, NEW, OLD, hit(NEW, "again")) == "both_current_first"
    assert outcome(tmp_path, OLD, NEW) == "both_stale_first"
    assert outcome(tmp_path, AT_ONCE) == "both_stale_first"
    assert outcome(tmp_path, OLD, NOISE) == "stale_only"
    assert outcome(tmp_path, MARKED) == "stale_only"
    assert outcome(tmp_path, PORT) == "neither"
    assert outcome(tmp_path) == "neither"
    assert outcome(tmp_path, BOTH) == "neither"
    assert outcome(tmp_path, "Moved deploys from alphadeploy to betadeploy") == "current_only"


def test_exposure_has_a_receipt_for_each_entry(tmp_path: Path) -> None:
    tape = known(tmp_path).probe("tool-after", NEW, OLD)
    first = tape.line
    tape.probe("tool-after", MARKED, NEW, stratum="paraphrase").probe("tool-and-port", BOTH, NEW)
    found = measures(tape)
    assert counts(found["stale_exposure"]) == (2, 3)
    assert found["stale_exposure"].receipts == (f"L{first}:e1", f"L{first + 1}:e0")
    assert counts(found["unflagged_stale_exposure"]) == (1, 3)
    assert found["unflagged_stale_exposure"].receipts == (f"L{first}:e1",)
    assert counts(found["stale_exposure_upper"]) == (3, 3)
    assert counts(found["stale_first"]) == (0, 3)
    assert counts(found["updates_eligible"]) == (3, 3)


def test_stale_first_needs_an_order(tmp_path: Path) -> None:
    tape = known(tmp_path).probe("tool-after", OLD, NEW).probe("tool-and-port", OLD)
    assert counts(measures(tape)["stale_first"]) == (3, 3)  # the phrasing that was not asked counts as exposed
    unranked = known(tmp_path, unsupported=["ranked"]).probe("tool-after", OLD, NEW)
    found = measures(unranked)
    assert found["stale_first"].status == "not-applicable"
    assert counts(found["update_both_stale_first"]) == (1, 1)  # of those that were answered


def test_entries_beyond_the_budget_are_not_exposed(tmp_path: Path) -> None:
    tape = known(tmp_path, budget=10).probe("tool-after", NEW, OLD)
    assert counts(measures(tape)["update_current_only"]) == (1, 3)


def test_an_update_needs_the_old_fact_recalled_before(tmp_path: Path) -> None:
    never = Tape(tmp_path).learn("first", "old").probe("tool-before", NOISE).learn("second", "new")
    found = measures(never.probe("tool-after", NEW))
    assert counts(found["updates_eligible"]) == (0, 3)
    for name in (*(f"update_{each}" for each in OUTCOMES), "stale_exposure", "stale_first", "stale_exposure_upper"):
        assert found[name].status == "not-applicable", name
    later = Tape(tmp_path).learn("first", "old").learn("second", "new").probe("tool-after", NEW)
    later.probe("tool-before", OLD)  # too late for the first, in time for none that was asked
    assert counts(measures(later)["updates_eligible"]) == (2, 3)


def test_an_update_needs_the_new_fact_acknowledged(tmp_path: Path) -> None:
    lost = Tape(tmp_path).learn("first", "old").probe("tool-before", OLD).learn("second", "new", ids=[()])
    assert measures(lost.probe("tool-after", OLD))["stale_exposure"].status == "not-applicable"


def test_the_old_fact_must_come_from_its_own_probe(tmp_path: Path) -> None:
    stray = Tape(tmp_path).learn("first", "old").learn("second", "new").probe("tool-past", OLD).probe("nothing", OLD)
    assert measures(stray.probe("tool-after", OLD))["updates_eligible"].value == 0  # type: ignore[union-attr]


def asking_for_both(folder: Path) -> Tape:
    """The old fact and the new one were stored; one probe more is answered by either."""
    sessions = STORY.model_dump(mode="json", by_alias=True)["sessions"]
    sessions[1]["steps"].append(probe("then-and-now", ["old", "new"]))
    return Tape(folder, scenario=story(sessions=sessions)).learn("first", "old").learn("second", "new")


def after(tape: Tape) -> Tape:
    tape.probe("tool-after", NEW).probe("tool-after", NEW, stratum="paraphrase")
    return tape.probe("tool-and-port", NEW)


def test_an_old_fact_that_answers_the_question_is_not_stale(tmp_path: Path) -> None:
    tape = after(asking_for_both(tmp_path).probe("tool-before", OLD)).probe("then-and-now", OLD, NEW, BOTH)
    found = measures(tape)
    for name in ("stale_exposure", "stale_exposure_upper", "unflagged_stale_exposure", "stale_first"):
        assert counts(found[name]) == (0, 4), name
    assert counts(found["update_current_only"]) == (4, 4)


def test_an_answer_is_no_earlier_recall_of_the_old_fact_for_itself(tmp_path: Path) -> None:
    tape = after(asking_for_both(tmp_path)).probe("then-and-now", OLD)
    assert counts(measures(tape)["updates_eligible"]) == (0, 4)


def test_the_call_that_failed_is_told_in_a_line_of_bounded_length(tmp_path: Path) -> None:
    fault = PEACE.model_copy(update={"message": "x" * 1000})
    found = measures(Tape(tmp_path).probe("tool-before", fault=fault))["update_neither"]
    assert found.status == "failed" and found.reason.endswith("xxx") and len(found.reason) == 400


def test_a_fault_is_failed_and_exposed(tmp_path: Path) -> None:
    tape = known(tmp_path).probe("tool-after", fault=PEACE)
    line = tape.line
    found = measures(tape.probe("tool-after", NEW, stratum="paraphrase").probe("tool-and-port", NEW))
    assert counts(found["update_failed"]) == (1, 3)
    assert counts(found["stale_exposure"]) == (1, 3)
    assert found["stale_exposure"].receipts == (f"L{line}",)


def test_updates_that_were_not_reached_are_cited_by_no_line(tmp_path: Path) -> None:
    found = measures(known(tmp_path))["update_neither"]
    assert (found.status, found.receipts) == ("failed", ())


def test_a_curating_writer_that_adds_beside_a_stored_predecessor_omits(tmp_path: Path) -> None:
    kept = Tape(tmp_path, write_policy="curated").learn("first", "old").recall("lookup", "new", [NOISE], "second")
    lookup = kept.line
    found = measures(kept.learn("second", "new").probe("tool-before", OLD))
    assert counts(found["update_omission"]) == (1, 1)
    assert found["update_omission"].receipts == (f"L{lookup}",)
    done = Tape(tmp_path, write_policy="curated").learn("first", "old").recall("lookup", "new", [OLD], "second")
    done.learn("second", "new", op="supersede", replaces=(OLD,)).probe("tool-before", OLD)
    assert counts(measures(done)["update_omission"]) == (0, 1)
    lost = Tape(tmp_path, write_policy="curated").learn("first", "old", ids=[()]).learn("second", "new")
    assert measures(lost.probe("tool-before", OLD))["update_omission"].status == "not-applicable"
    append = measures(known(tmp_path))["update_omission"]
    assert append.status == "not-applicable"


ANSWER = st.lists(st.sampled_from([OLD, NEW, PORT, BOTH, NOISE, MARKED]), max_size=5)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=ANSWER, answers=st.lists(ANSWER, min_size=3, max_size=3), lost=st.booleans(), budget=st.integers(5, 60))
def test_outcomes_are_exclusive_and_sum_to_the_eligible(
    tmp_path: Path, before: list[Hit | str], answers: list[list[Hit | str]], lost: bool, budget: int
) -> None:
    tape = Tape(tmp_path, budget=budget).learn("first", "old", "port").probe("tool-before", *before)
    tape.learn("second", "new").probe("tool-after", *answers[0])
    tape.probe("tool-after", *answers[1], stratum="paraphrase")
    tape.probe("tool-and-port", *answers[2], fault=PEACE if lost else None)
    log = tape.log()
    found = score([log])[0].measures
    total = len(updates(Record(log)))
    assert found["updates_eligible"].hits == total  # type: ignore[union-attr]
    if not total:
        assert {found[f"update_{each}"].status for each in OUTCOMES} == {"failed" if lost else "not-applicable"}
        return
    share = {each: counts(found[f"update_{each}"]) for each in OUTCOMES}
    answered = total - int(share["failed"][0] or 0)
    assert {each: of for each, (_, of) in share.items()} == {
        each: total if each in ("current_only", "failed") else answered for each in OUTCOMES
    }
    assert sum(hits or 0 for hits, _ in share.values()) == total
    shown = [share[each][0] or 0 for each in OUTCOMES if each.startswith("both") or each in ("stale_only", "failed")]
    assert counts(found["stale_exposure"]) == (sum(shown), total)
    assert (counts(found["stale_exposure_upper"])[0] or 0) >= sum(shown)
    assert (counts(found["unflagged_stale_exposure"])[0] or 0) <= sum(shown)
