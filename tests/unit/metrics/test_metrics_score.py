"""Cells: one for each read policy, with every measure, whatever became of the trial."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import metrics
from harness.metrics import DEFINITIONS, METRICS, score, views
from harness.metrics.metric import wilson
from harness.metrics.view import Record
from harness.model.trial import READ_POLICIES, Measured, NotMeasured
from tests.support.logs import NEW, OLD, PEACE, STORY, Tape, cold, controls, hit, story

STALENESS = {name for name in DEFINITIONS if "stale" in name or name.startswith("update_")}
DELETION = {name for name in DEFINITIONS if name.startswith(("deleted_", "deletion_", "over_"))}


def test_every_measure_has_one_definition() -> None:
    assert len(DEFINITIONS) == len(METRICS)
    assert all(each.formula and each.source and each.version >= 1 for each in DEFINITIONS.values())


def test_a_warm_trial_has_a_cell_for_each_read_policy_and_a_cold_one_has_one(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("betadeploy").log()
    cells = score([log, cold(tmp_path, "betadeploy")])
    assert [cell.read_policy for cell in cells] == [*READ_POLICIES, None]
    assert [cell.arm for cell in cells] == ["warm"] * len(READ_POLICIES) + ["cold"]
    assert len({cell.id for cell in cells}) == len(cells)
    assert all(list(cell.measures) == list(DEFINITIONS) for cell in cells)
    assert cells[0].log == log.path.name
    assert cells[0].log_sha256 == log.sha256
    assert cells[0].kind == "rename"
    assert cells[0].status == "complete"
    assert [view.read_policy for view in views([log])] == list(READ_POLICIES)


def test_only_what_depends_on_reading_differs_between_policies(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played()
    for job in ("order", "drill"):
        tape.work(job, {"tool": "alphadeploy", "port": "8123"}, policy="trusting")
        tape.work(job, {"tool": "betadeploy", "port": "8123"}, policy="newest")
        tape.work(job, {"tool": "betadeploy", "port": None}, policy="verifying")
    trusting, newest, verifying, _ = score([tape.log()])
    values = [cell.measures["decisions_right"] for cell in (trusting, newest, verifying)]
    assert [value.hits for value in values if isinstance(value, Measured)] == [2, 4, 2]
    for metric in METRICS:
        name = metric.definition.name
        if not metric.reads:
            assert trusting.measures[name] == newest.measures[name] == verifying.measures[name]


def test_the_cold_arm_says_nothing_about_memory(tmp_path: Path) -> None:
    (cell,) = score([cold(tmp_path, "alphadeploy")])
    measured = {name for name, measure in cell.measures.items() if measure.status == "measured"}
    assert {"decisions_right", "jobs_done", "tokens_agent", "tokens_total"} <= measured
    assert cell.measures["recall"] == NotMeasured(status="not-applicable", reason="the cold arm has no memory")
    assert not measured & (STALENESS | DELETION)


def test_the_pool_is_what_is_alive_at_the_end(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", "port", "pin", ids=[("a",), ("b", "c"), ("pin",)])
    tape.learn("second", "new", ids=[("d",)], op="supersede", replaces=("a",)).forget("pin")
    assert score([tape.log()])[0].pool == 3


# --- trials that did not get to their end -----------------------------------------------------------------------------


def test_an_incomplete_log_measures_nothing(tmp_path: Path) -> None:
    for cell in score([Tape(tmp_path).played().log(None)]):
        assert cell.status == "incomplete"
        assert {(measure.status, getattr(measure, "reason", "")) for measure in cell.measures.values()} == {
            ("failed", "the log is incomplete")
        }


def test_an_unsupported_trial_says_so_everywhere(tmp_path: Path) -> None:
    fault = PEACE.model_copy(update={"kind": "refused", "op": "supersede", "message": "cannot replace"})
    cell = score([Tape(tmp_path, write_policy="curated").log("unsupported", fault)])[0]
    assert cell.status == "unsupported"
    assert cell.reason == "supersede: cannot replace"
    assert {measure.status for measure in cell.measures.values()} == {"unsupported"}


def test_a_trial_that_fails_before_its_first_probe_fails_everywhere_in_one_line(tmp_path: Path) -> None:
    cell = score([Tape(tmp_path).learn("first", "old").log("failed", PEACE)])[0]
    assert cell.status == "failed"
    reasons = {getattr(measure, "reason", "") for measure in cell.measures.values()}
    assert reasons == {"recall: the child ended with signal 9"}
    assert {measure.status for measure in cell.measures.values()} == {"failed"}


def test_what_a_failed_trial_did_not_reach_counts_as_worst(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", "port", "pin", "key").probe("tool-before", OLD).learn("second", "new")
    cell = score([tape.log("failed", PEACE), *controls(tmp_path), cold(tmp_path, "betadeploy")])[0]
    measures = cell.measures
    assert _counts(measures["recall"]) == (1, 4)
    assert _counts(measures["update_failed"]) == (3, 3)
    assert measures["stale_exposure"].status == measures["update_stale_only"].status == "failed"
    assert _counts(measures["decisions_right"]) == (0, 4)
    assert _counts(measures["checks_failed"]) == (4, 4)
    assert _counts(measures["harm"]) == (2 + 2, 4)
    assert measures["stale_use"].status == "failed"
    assert measures["tokens_total"].status == "failed"
    assert {measures[name].status for name in DELETION} == {"failed"}


def _counts(measure: object) -> tuple[float | None, int | None]:
    assert isinstance(measure, Measured), measure
    return measure.hits, measure.of


# --- one log by itself ------------------------------------------------------------------------------------------------


def test_a_preview_is_what_the_first_policy_scores_without_other_logs(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played()
    for policy, tool in zip(READ_POLICIES, ("alphadeploy", "betadeploy", None, "betadeploy"), strict=True):
        tape.work("order", {"tool": tool, "port": "8123"}, policy=policy)
    names = ("recall", "decisions_right", "missing", "harm", "tokens_agent")
    log = tape.log()
    seen = metrics.preview(log, names)
    assert seen == {name: score([log])[0].measures[name] for name in names}
    assert _counts(seen["decisions_right"]) == (1, 4) and seen["harm"].status == "not-applicable"


def test_a_preview_that_breaks_says_so_of_all_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "Classifier", None)
    seen = metrics.preview(Tape(tmp_path).log(), ["recall", "harm"])
    assert {name: (each.status, getattr(each, "reason", "")[:20]) for name, each in seen.items()} == {
        "recall": ("failed", "coldwarm broke on it"), "harm": ("failed", "coldwarm broke on it"),
    }  # fmt: skip


def test_a_trial_that_cannot_be_scored_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, broken = Tape(tmp_path).played().log(), Tape(tmp_path, seed=2).played().log()
    pool = vars(Record)["pool"].func
    monkeypatch.setattr(Record, "pool", property(lambda record: pool(record) // (2 - record.log.trial.seed)))
    *cells, last = score([sound, broken])
    assert [cell.measures["recall"].status for cell in cells] == ["measured"] * len(READ_POLICIES)
    assert {(each.status, getattr(each, "reason", "")[:39]) for each in last.measures.values()} == {
        ("failed", "coldwarm broke on it: ZeroDivisionError")
    }
    assert (last.trial, last.log, last.status) == (broken.trial.id, broken.path.name, "failed")


# --- nothing passes by being absent -----------------------------------------------------------------------------------

OPERATIONS = ("supersede", "forget", "history", "source", "created", "ranked", "persistent", "usage", "verdict")


def _nothing(folder: Path, answer: str | None) -> Tape:
    """A backend that stores nothing, and answers with nothing or with one constant sentence."""
    tape = Tape(folder, "none", control=True, unsupported=OPERATIONS)
    hits = [hit(answer, "constant")] if answer else []
    for session in ("first", "second"):
        facts = ("old", "port", "pin", "key") if session == "first" else ("new",)
        tape.learn(session, *facts, ids=[() for _ in facts])
    for _, probe in STORY.probes():
        for stratum, _ in probe.ask.phrasings():
            tape.probe(probe.id, *hits, stratum=stratum, pool=0)
    return tape


@pytest.mark.parametrize("answer", [None, "I cannot say for certain"])
@pytest.mark.parametrize("tool", [None, "betadeploy", "alphadeploy"])
def test_remembering_nothing_is_never_clean(tmp_path: Path, answer: str | None, tool: str | None) -> None:
    tape = _nothing(tmp_path, answer)
    tape.jobs(tool, tool and "8123", origin="repo").look("before", {("search", "pin"): False, ("search", "key"): False})
    cells = score([tape.log(), *controls(tmp_path), cold(tmp_path, tool, tool and "8123")])
    for cell in cells[:3]:
        assert _counts(cell.measures["recall"]) == (0, 4)
        assert _counts(cell.measures["facts_stored"]) == (0, 5)
        assert cell.measures["abstention"].status == "not-applicable"
        suspects = STALENESS | DELETION | {"harm", "lure_use", "new_harmful_action", "unclear_entries"}
        for name in suspects:
            measure = cell.measures[name]
            assert DEFINITIONS[name].better == "neither" or measure.status != "measured", (name, measure)


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 3000), st.data())
def test_wilson_agrees_with_scipy(of: int, data: st.DataObject) -> None:
    stats = pytest.importorskip("scipy.stats")
    hits = data.draw(st.integers(0, of))
    ours, theirs = wilson(hits, of), stats.binomtest(hits, of).proportion_ci(method="wilson")
    assert ours.low == pytest.approx(theirs.low, abs=1e-6)
    assert ours.high == pytest.approx(theirs.high, abs=1e-6)
    assert 0 <= ours.low <= hits / of + 1e-6 and hits / of - 1e-6 <= ours.high <= 1


def test_bounds_have_six_decimals_and_stay_within_what_a_share_can_be() -> None:
    assert [(each.low, each.high) for each in (wilson(0, 3), wilson(1, 3), wilson(3, 3))] == [
        (0, 0.561497), (0.061492, 0.79234), (0.438503, 1),
    ]  # fmt: skip


def test_every_proportion_keeps_its_counts(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().jobs("alphadeploy")
    other = Tape(tmp_path, scenario=story()).played().probe("tool-before", NEW).jobs(None, "gammadeploy")
    seen = 0
    for cell in score([tape.log(), other.log(), cold(tmp_path, None), *controls(tmp_path)]):
        for name, measure in cell.measures.items():
            if isinstance(measure, Measured) and DEFINITIONS[name].unit == "proportion":
                assert measure.hits is not None
                assert measure.of
                assert 0 <= measure.hits <= measure.of
                assert measure.value == measure.hits / measure.of
                assert measure.interval is None or measure.interval.low <= measure.value <= measure.interval.high
                seen += 1
    assert seen > 200


def test_scoring_twice_gives_the_same(tmp_path: Path) -> None:
    logs = [Tape(tmp_path).played().jobs("alphadeploy").log(), cold(tmp_path, None), *controls(tmp_path)]
    assert score(logs) == score(list(logs))


def test_controls_are_those_of_the_same_seed_and_story(tmp_path: Path) -> None:
    log = Tape(tmp_path, seed=2).played().jobs("alphadeploy").log()
    (first, *_) = score([log, *controls(tmp_path), cold(tmp_path, "betadeploy")])
    assert first.measures["stale_use"].status == "not-applicable"
    assert first.measures["decisions_right"].status == "measured"
    assert first.measures["help"].status == "not-applicable"  # cold is right everywhere: it was found
    assert "every decision" in getattr(first.measures["help"], "reason", "")
    (view, *_) = views([log, *controls(tmp_path)])
    assert (view.cold, view.oracle, view.stale_oracle) == (None, None, None)


def test_a_backend_that_calls_itself_oracle_is_no_control(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("alphadeploy").log()
    liar = Tape(tmp_path, "oracle", control=False).played().jobs("betadeploy").log()
    assert all(view.oracle is None for view in views([log, liar]))


# --- the control beside a trial ---------------------------------------------------------------------------------------

SAME = {"seed": 1, "k": 5, "budget": 100, "write_policy": "append", "noise": 20, "reader": "scripted", "id": "b"}
FARTHER = ({"noise": 0}, {"noise": 100}, {"write_policy": "curated"}, {"budget": 200}, {"k": 6})
"""Each is farther away than the one before."""


def _record(backend: str | None, **changed: object) -> Any:
    trial = SimpleNamespace(**{**SAME, **changed})
    named = SimpleNamespace(name=backend, control=True) if backend else None
    return SimpleNamespace(log=SimpleNamespace(trial=trial, opened=SimpleNamespace(backend=named)))


@pytest.mark.parametrize("at", range(len(FARTHER)))
def test_the_control_beside_a_trial_is_the_one_most_like_it(at: int) -> None:
    trial, others = _record("chroma"), [_record("oracle", **each) for each in FARTHER[at:]]
    assert metrics._nearest(trial, [*others[::-1], _record("none")], "oracle") is others[0]


def test_of_controls_that_are_alike_the_quieter_comes_first_and_then_the_name() -> None:
    loud, quiet = _record("oracle", noise=50), _record("oracle", noise=30)
    assert metrics._nearest(_record("chroma"), [loud, quiet], "oracle") is quiet
    first, last = _record("oracle", id="a"), _record("oracle", id="c")
    assert metrics._nearest(_record("chroma"), [last, first], "oracle") is first


def test_only_the_cold_arm_may_have_another_seed_and_none_another_reader() -> None:
    trial, strange = _record("chroma"), _record("oracle", seed=2)
    assert metrics._nearest(trial, [strange, _record("oracle", reader="choice")], "oracle") is None
    cold, same = _record(None, seed=2), _record(None, k=6)
    assert metrics._nearest(trial, [cold, same], None) is same
    assert metrics._nearest(trial, [cold, strange], None) is cold


def test_what_was_never_played_is_a_cell_too(tmp_path: Path) -> None:
    trials = [Tape(tmp_path).log().trial, cold(tmp_path, None).trial]
    warm, bare = (metrics.make_unscored(trial, "no readable log") for trial in trials)
    assert (warm.arm, warm.read_policy, bare.arm, bare.read_policy) == ("warm", "trusting", "cold", None)
    assert warm.kind == STORY.kind == warm.scenario.partition("/")[0]
    assert (warm.status, warm.pool, warm.reason, warm.log) == ("not-run", 0, "no readable log", "")
    assert {measure.status for measure in warm.measures.values()} == {"not-run"}
