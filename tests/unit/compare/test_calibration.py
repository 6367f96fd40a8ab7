"""A model beside the scripted reader: which decisions count, how agreement is counted, and when nothing can be said."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from harness.compare import calibration, stats
from harness.compare.calibration import Calibration, CalibrationError, Condition, PairedDecision, PolicyFit, Taken
from harness.log.calls import ModelCall
from harness.log.events import Worked
from harness.log.folder import Folder
from harness.model.scenario import Scenario
from harness.model.trial import READ_POLICIES, ReadPolicy, list_policies
from harness.report.outputs import markdown
from tests.support.logs import NEW, OLD, STORY, Tape, story

Answers = Mapping[str, str | None]


def write(root: Path, *tapes: Tape) -> Folder:
    (root / "logs").mkdir(parents=True, exist_ok=True)
    for tape in tapes:
        tape.log().path.replace(root / "logs" / f"{tape.trial.id}.1.jsonl")
    return Folder(root)


def tape(root: Path, reader: str, name: str = "store", scenario: Scenario = STORY) -> Tape:
    made = Tape(root, name, scenario=scenario)
    opened = made.events[0].model_copy(
        update={"trial": made.trial.model_copy(update={"reader": reader}), "policies": list_policies(reader)}
    )
    made.events[0] = opened
    made.trial = made.trial.model_copy(update={"reader": reader})
    return made


def scripted(root: Path, tool: Mapping[ReadPolicy, str | None], *, shown: str = OLD, **more: object) -> Tape:
    made = tape(root, "scripted", **more)  # type: ignore[arg-type]
    made.recall("decision", "order/tool", [shown], "second").recall("decision", "order/port", [shown], "second")
    for policy in READ_POLICIES:
        made.work("order", {"tool": tool[policy], "port": "8123"}, policy=policy)
    return made


def asked(root: Path, tool: str | None, *, outcome: str = "chose", shown: str = OLD, **more: object) -> Tape:
    """The model is asked for the tool only; for the port nothing came back that it could have chosen from."""
    made = tape(root, "choice@m", **more)  # type: ignore[arg-type]
    made.recall("decision", "order/tool", [shown], "second").recall("decision", "order/port", [shown], "second")
    made.work("order", {"tool": tool, "port": "8123"}, policy="model")
    worked = made.events[-1]
    assert isinstance(worked, Worked)
    call = ModelCall.model_validate({"decision": "tool", "prompt": "which?", "outcome": outcome})
    made.events[-1] = worked.model_copy(update={"calls": (call,)})
    return made


ALL: dict[ReadPolicy, str | None] = {
    "trusting": "alphadeploy",
    "newest": "betadeploy",
    "verifying": None,
    "careful": None,
}


def test_decisions_are_paired_by_cell_and_counted_by_policy(tmp_path: Path) -> None:
    folder = write(tmp_path, scripted(tmp_path, ALL), asked(tmp_path, "betadeploy"))
    (found,) = calibration.calibrate([folder])
    (row,) = found.rows
    assert (found.reader, row.decisions, found.unasked, found.otherwise, found.unpaired) == ("choice@m", 1, 1, 0, 0)
    assert dict(row.equal) == {"trusting": 0, "newest": 1, "verifying": 0, "careful": 0}
    assert dict(row.model) == {"right": 1} and dict(row.scripted["trusting"]) == {"stale": 1}
    assert found.nearest is None and {fit.ranks for fit in found.fits} == {"cannot-say"}


def test_two_runs_are_read_as_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    folders = [write(one, scripted(one, ALL)), write(two, asked(two, "betadeploy"))]
    assert calibration.calibrate(folders)[0].rows[0].decisions == 1


@pytest.mark.parametrize("outcome", ["failed", "unreadable", "refused", "empty", "timed-out"])
def test_what_came_to_nothing_stays_in_the_count_and_agrees_with_nobody(tmp_path: Path, outcome: str) -> None:
    folder = write(tmp_path, scripted(tmp_path, ALL), asked(tmp_path, None, outcome=outcome))
    (row,) = calibration.calibrate([folder])[0].rows
    assert (row.decisions, dict(row.model), set(row.equal.values())) == (1, {"failed": 1}, {0})


def test_an_open_decision_is_equal_to_an_open_one(tmp_path: Path) -> None:
    folder = write(tmp_path, scripted(tmp_path, ALL), asked(tmp_path, None, outcome="unknown"))
    assert calibration.calibrate([folder])[0].rows[0].equal["verifying"] == 1


def test_who_was_shown_something_else_is_left_out_and_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, scripted(tmp_path, ALL), asked(tmp_path, "betadeploy", shown=NEW))
    found = calibration.calibrate([folder])[0]
    assert (found.rows, found.otherwise) == ((), 1)
    assert "shown other entries" in markdown.write_calibration([found])


@pytest.mark.parametrize(
    ("tapes", "why"),
    [
        (lambda root: [scripted(root, ALL)], "none of these runs is by a reader with a model"),
        (lambda root: [asked(root, "betadeploy")], "none of these runs is by the scripted reader"),
        (lambda root: [asked(root, "betadeploy", name="other"), scripted(root, ALL)], "no cell in common"),
    ],
)
def test_runs_without_a_common_cell_are_one_line(tmp_path: Path, tapes: Callable[[Path], list[Tape]], why: str) -> None:
    with pytest.raises(CalibrationError, match=why) as caught:
        calibration.calibrate([write(tmp_path, *tapes(tmp_path))])
    assert "\n" not in str(caught.value)


def does_jobs(root: Path, tool: str | None, *, outcome: str = "finished", **more: object) -> Tape:
    """The model does the whole job: it asks the memory once, in words of its own, and its calls are steps."""
    made = tape(root, "chat@m", **more)  # type: ignore[arg-type]
    made.recall("decision", "order/tool", [NEW], "second", query="in my words")
    return work(made, tool, "model", outcome)


def does_jobs_cold(root: Path, tool: str | None) -> Tape:
    return work(cold(root, "chat@m"), tool, None, "finished")


def cold(root: Path, reader: str) -> Tape:
    made = Tape(root, None)
    made.trial = made.trial.model_copy(update={"reader": reader})
    made.events[0] = made.events[0].model_copy(update={"trial": made.trial})
    return made


def work(made: Tape, tool: str | None, policy: ReadPolicy | None, outcome: str) -> Tape:
    made.work("order", {"tool": tool, "port": "8123"}, policy=policy)
    calls = [
        ModelCall.model_validate({"decision": "", "prompt": "go on", "outcome": each}) for each in ("acted", outcome)
    ]
    made.events[-1] = made.events[-1].model_copy(update={"calls": tuple(calls)})
    return made


def test_of_a_reader_that_does_jobs_every_decision_counts_whatever_it_was_shown(tmp_path: Path) -> None:
    found = calibration.calibrate([write(tmp_path, scripted(tmp_path, ALL), does_jobs(tmp_path, "betadeploy"))])[0]
    (row,) = found.rows
    assert (found.jobs, row.decisions, found.unasked, found.otherwise) == (True, 2, 0, 0)
    assert dict(row.equal) == {"trusting": 1, "newest": 2, "verifying": 1, "careful": 1}
    page = markdown.write_calibration([found])
    assert "2 decisions in jobs that the model did" in page and "words of its own" in page


def test_what_a_job_left_open_after_a_limit_has_failed_and_what_it_did_before_counts(tmp_path: Path) -> None:
    tapes = [scripted(tmp_path, ALL), does_jobs(tmp_path, None, outcome="timed-out")]
    (row,) = calibration.calibrate([write(tmp_path, *tapes)])[0].rows
    assert row.model["failed"] == 1 and row.decisions == 2
    assert row.equal["verifying"] == 1, "the port; what failed agrees with nobody, also where the other left it open"


def test_the_cold_arm_is_a_row_that_is_not_ranked(tmp_path: Path) -> None:
    plain = cold(tmp_path, "scripted").work("order", {"tool": "alphadeploy", "port": "8123"}, policy=None)
    tapes = [scripted(tmp_path, ALL), does_jobs(tmp_path, "betadeploy"), plain, does_jobs_cold(tmp_path, "betadeploy")]
    found = calibration.calibrate([write(tmp_path, *tapes)])[0]
    first, second = found.rows
    assert (first.condition.backend, first.condition.ranked, first.decisions) == ("cold", False, 2)
    assert second.condition.ranked and (found.conditions, found.fits[0].of) == (1, 2)
    assert set(first.equal.values()) == {1}
    assert "| cold: no memory | 2 |" in markdown.write_calibration([found])


def test_a_reader_that_is_asked_has_no_cold_row(tmp_path: Path) -> None:
    plain, own = (
        cold(tmp_path, reader).work("order", {"tool": "alphadeploy", "port": "8123"}, policy=None)
        for reader in ("scripted", "choice@m")
    )
    tapes = [scripted(tmp_path, ALL), asked(tmp_path, "betadeploy"), plain, own]
    found = calibration.calibrate([write(tmp_path, *tapes)])[0]
    assert [row.condition.backend for row in found.rows] == ["store"] and found.unpaired == 0


def test_another_fixture_is_another_cell(tmp_path: Path) -> None:
    other = asked(tmp_path, "betadeploy")
    other.events[0] = other.events[0].model_copy(update={"digests": {"fixture": "f2"}})
    with pytest.raises(CalibrationError, match="no cell in common"):
        calibration.calibrate([write(tmp_path, scripted(tmp_path, ALL), other)])


# --- the order of the rows --------------------------------------------------------------------------------------------


def draw(model: Mapping[str, float], rule: Mapping[str, float], stories: int) -> Iterator[PairedDecision]:
    """Decisions of many stories: how often each backend's are right under the model and under every policy."""
    chance = random.Random(7)
    for backend in model:
        for at in range(stories * 3):
            right = [chance.random() < share[backend] for share in (model, rule)]
            taken = [Taken("new", "right") if each else Taken("old", "stale") for each in right]
            condition = Condition(backend, "append", 20, control=False)
            yield PairedDecision("m", condition, f"s{at % stories}", taken[0], dict.fromkeys(READ_POLICIES, taken[1]))


def fit(decisions: Iterator[PairedDecision]) -> PolicyFit:
    return calibration._fit("trusting", list(decisions))


FAR = {"a": 0.05, "b": 0.5, "c": 0.95}


def test_orders_that_are_alike_are_called_alike() -> None:
    found = fit(draw(FAR, FAR, 20))
    assert (found.tau, found.ranks, found.why) == (1.0, "alike", "")
    assert found.tau_interval and found.tau_interval.low > 0


def test_orders_the_other_way_round_are_called_so() -> None:
    found = fit(draw(FAR, {name: 1 - share for name, share in FAR.items()}, 20))
    assert (found.tau, found.ranks) == (-1.0, "otherwise")


@pytest.mark.parametrize(
    ("model", "stories", "why"),
    [
        ({"a": 0.5, "b": 0.5, "c": 0.5}, 20, "holds 0"),
        ({"a": 0.1, "b": 0.9}, 20, "needs 3 conditions, here is no more than 2"),
        (FAR, 9, "needs 10 scenarios, every condition has 9"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, 20, "tied"),
    ],
)
def test_where_nothing_can_be_said_it_says_why(model: Mapping[str, float], stories: int, why: str) -> None:
    found = fit(draw(model, {name: FAR[name] for name in model}, stories))
    assert found.ranks == "cannot-say" and why in found.why


def test_the_nearest_policy_leads_in_every_resample_or_there_is_none() -> None:
    near, far = Taken("new", "right"), Taken("old", "stale")
    condition = Condition("a", "append", 20, control=False)
    rules: dict[ReadPolicy, Taken] = {"trusting": far, "newest": near, "verifying": far, "careful": far}
    told = [PairedDecision("m", condition, f"s{at}", near, rules) for at in range(12)]
    assert calibration._find_nearest(told) == "newest"
    assert calibration._find_nearest(told[:9]) is None
    assert (
        calibration._find_nearest(
            [*told[:6], *(each.__class__("m", condition, each.scenario, far, rules) for each in told[6:])]
        )
        is None
    )


@pytest.mark.slow
def test_the_interval_of_tau_tells_by_its_side_of_0_and_the_page_says_so(tmp_path: Path) -> None:
    """Orders that are alike in truth, over few scenarios: its ends miss that, and its side of 0 is never wrong."""
    random_, covered, wrong, runs = random.Random(7), 0, 0, 60
    for _ in range(runs):
        own = [random_.gauss(0.5, 0.1) for _ in range(4)]
        left, right = ([[float(random_.random() < share) for _ in range(10)] for share in own] for _ in range(2))
        _, high = stats.bootstrap_kendall(left, right) or (-1.0, 1.0)
        covered, wrong = covered + (high >= 1), wrong + (high < 0)
    assert covered < 0.9 * runs and wrong <= 0.05 * runs
    found = calibration.calibrate([write(tmp_path, scripted(tmp_path, ALL), asked(tmp_path, "betadeploy"))])
    said = " ".join(markdown.write_calibration(found).split())
    assert "tau less often than that, the fewer scenarios there are" in said and "read its side of 0 alone" in said


def test_tau_is_that_of_scipy() -> None:
    kendalltau = pytest.importorskip("scipy.stats").kendalltau
    chance = random.Random(3)
    for _ in range(50):
        left, right = ([[float(chance.randint(0, 3))] for _ in range(6)] for _ in range(2))
        wanted = kendalltau([x for (x,) in left], [y for (y,) in right]).statistic
        found = stats.kendall(left, right)
        assert found == pytest.approx(wanted) if found is not None else wanted != wanted


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_shows_counts_names_and_what_cannot_be_said(tmp_path: Path) -> None:
    evil = "st|ore<b>"
    made: list[Calibration] = calibration.calibrate(
        [write(tmp_path, scripted(tmp_path, ALL, name=evil), asked(tmp_path, "betadeploy", name=evil))]
    )
    page = markdown.write_calibration(made)
    assert "1 decision that the model was asked for, in 1 scenario and 1 condition" in page
    assert "Cannot say which scripted policy is nearest to the model: newest" in page
    assert (
        "| <code>st&#124;ore&lt;b&gt;</code>, append, 0 | 1 | 1 / 0 / 0 / 0 / 0 / 0 | 0 / 1 / 0 / 0 / 0 / 0 | 0 of 1 |"
        in page
    )
    assert "cannot say: an order needs 3 conditions" in page


def test_stories_of_both_are_averaged_before_they_are_resampled(tmp_path: Path) -> None:
    twins = [story(id=f"rename/twin{at}") for at in range(12)]
    tapes = [scripted(tmp_path, ALL, scenario=each) for each in twins]
    tapes += [asked(tmp_path, "betadeploy", scenario=each) for each in twins]
    found = calibration.calibrate([write(tmp_path, *tapes)])[0]
    assert (found.scenarios, found.nearest) == (12, "newest")
    assert [fit.share for fit in found.fits] == [0.0, 1.0, 0.0, 0.0] and found.fits[1].interval
