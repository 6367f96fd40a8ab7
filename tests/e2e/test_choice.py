"""The choice reader through the program: a perfect and a bad model, recordings, and what goes wrong."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.log.calls import ModelCall
from harness.log.events import Worked
from harness.log.folder import Folder
from harness.metrics.view import Record, View
from harness.model.scenario import Scenario
from harness.play.readers import choice
from harness.report.timeline.session import Telling
from tasks import loader
from tests.e2e.conftest import SMALL, Cli, find_log, one_line, only, results
from tests.support.fake_chooser import FakeChooser, choose_by
from tests.support.fake_upstream import KEY, completion, served
from tests.support.logs import canonical
from tests.support.nights import leave_to_night

RUN = ("run", "-b", "bm25", *SMALL, "--reader", "choice", "--model", "fake-chooser")
CELLS = ("bm25", "model")


@pytest.fixture
def fake() -> Iterator[FakeChooser]:
    with served(FakeChooser()) as running:
        yield running


@pytest.fixture(scope="module")
def recorded(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that the stand-in answered, and its recordings. Not to be written to."""
    out = tmp_path_factory.mktemp("out")
    words = ("run", "-b", "bm25", *SMALL, "--reader", "choice")
    done = cli(*words, "--chat", "stand-in", "--record", out / "recordings", "--out", out / "runs")
    assert (done.returncode, done.stderr) == (0, "")
    return only(out / "runs"), out / "recordings"


REPLAY = (*RUN[:-1], "coldwarm-chooser-1")


def calls(folder: Path) -> list[ModelCall]:
    played = find_log(folder, "bm25")
    return [call for event in played.list_events(Worked) for call in played.calls(event)]


def measures(folder: Path) -> dict[str, Any]:
    (cell,) = (cell for cell in results(folder)["cells"] if (cell["backend"], cell["read_policy"]) == CELLS)
    found: dict[str, Any] = cell["measures"]
    return found


def list_right_at_once(folder: Path, scenarios: Iterable[Scenario]) -> list[tuple[str, str]]:
    """Decisions that ended right though no command of their job had refused anything: job and decision."""
    decisions = {
        (job.id, decision.id): decision
        for scenario in scenarios
        for _, job in scenario.jobs()
        for decision in job.decisions
    }
    logs, problems = Folder(folder).logs()
    assert not problems
    worked = [
        event for log in logs.values() if log.trial.backend == "full_context" for event in log.list_events(Worked)
    ]
    assert any(each.refused for event in worked for each in event.choices)
    return [
        (event.job, check.decision)
        for event in worked
        for check, each in zip(event.checks, event.choices, strict=True)
        if decisions[event.job, check.decision].judge(check.exit, check.value) == "right" and not each.refused
    ]


def live(fake: FakeChooser) -> dict[str, str]:
    return {"OPENAI_BASE_URL": fake.url, "OPENAI_API_KEY": KEY}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wanted", leave_to_night(["right", "stale"], 2))
def test_of_every_kind_who_knows_everything_is_right_and_who_takes_the_worst_is_wrong(
    cli: Cli, fake: FakeChooser, tmp_path: Path, wanted: Any
) -> None:
    firsts = {file.parent: file for file in sorted(paths.TASKS.glob("*/*.toml"), reverse=True)}.values()
    loaded = [scenario for scenario, _ in loader.load(firsts, paths.FIXTURES, paths.cache_root())]
    fake.rule = choose_by(wanted, *loaded)
    stories = [word for scenario in loaded for word in ("-s", scenario.id)]
    done = cli(
        "run", "-b", "full_context", *stories, *SMALL[2:], "--trial", "full-context", "--reader", "choice",
        "--model", "fake-chooser", "--chat", "model", "--out", tmp_path, env=live(fake),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = results(only(tmp_path))
    cells = [cell for cell in found["cells"] if (cell["backend"], cell["read_policy"]) == ("full_context", "model")]
    assert len({cell["kind"] for cell in cells}) == len(cells) == 12
    counts = [cell["measures"]["decisions_right"] for cell in cells]
    if wanted == "right":
        assert all(count["hits"] == count["of"] for count in counts)
    else:
        assert sum(count["hits"] for count in counts) < sum(count["of"] for count in counts) / 4
        assert list_right_at_once(only(tmp_path), loaded) == [], "right only after a command refused the worst"
    assert found["run"]["conditions"]["reader"] == "choice@fake-chooser"


@pytest.mark.slow
def test_a_replay_gives_equal_events(cli: Cli, recorded: tuple[Path, Path], tmp_path: Path) -> None:
    folder, recordings = recorded
    done = cli(*REPLAY, "--chat", recordings, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    again = only(tmp_path)
    assert calls(again) and canonical(find_log(again, "bm25").events) == canonical(find_log(folder, "bm25").events)


@pytest.mark.slow
def test_a_changed_prompt_is_a_miss_with_a_diff_and_fails_the_run(
    cli: Cli, recorded: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "SYSTEM", choice.SYSTEM.replace("Take the option", "Pick the option"))
    done = cli(*REPLAY, "--chat", recorded[1], "--out", tmp_path)
    folder = only(tmp_path)
    assert done.returncode == 3 and "choice@coldwarm-chooser-1" in done.stderr
    (first, *_) = asked = calls(folder)
    assert {call.outcome for call in asked} == {"failed"}
    assert '-    "Take the option that holds' in first.why and '+    "Pick the option that holds' in first.why
    right = measures(folder)["decisions_right"]
    assert (right["hits"], right["of"]) == (0, len(asked)), "failed stays in the denominator"
    assert measures(folder)["stale_use"]["status"] != "measured", "who decided nothing is not clean"


@pytest.mark.slow
def test_answers_that_nobody_can_use_are_results_with_receipts(cli: Cli, fake: FakeChooser, tmp_path: Path) -> None:
    fake.rule = lambda _: "Well, that depends."
    done = cli(*RUN, "--chat", "model", "--out", tmp_path, env=live(fake))
    assert (done.returncode, done.stderr) == (0, "")
    assert Counter(call.outcome for call in calls(only(tmp_path))).keys() == {"unreadable"}
    told = Telling(View(Record(find_log(only(tmp_path), "bm25")), "model"), whole=False)
    page = "".join(map(str, told.sessions()))
    assert "names none of the options, or several" in page and "Well, that depends." in page
    assert "You work on a code repository." in page and "Options:" in page


@pytest.mark.slow
def test_calls_that_fail_end_in_receipts_and_exit_3_unless_allowed(cli: Cli, fake: FakeChooser, tmp_path: Path) -> None:
    fake.rule = lambda _: '{"choice": "unknown"}'
    fake.deeds = []
    answered = fake.heard

    def heard(handler: Any, body: Any) -> None:
        if len(fake.requests) % 2:
            answered(handler, body)
        else:
            fake.requests.append(body)
            handler.answer(400, completion("", error={"message": "maximum context length is 8 tokens"}))

    fake.heard = heard  # type: ignore[method-assign]
    words = (*RUN, "--chat", "model", "--out", tmp_path)
    done = cli(*words, env=live(fake))
    assert done.returncode == 3 and "maximum context length" in done.stderr
    assert {"failed", "unknown"} == {call.outcome for call in calls(only(tmp_path))}
    shutil.rmtree(tmp_path)
    done = cli(*words, "--allow-faults", "choice@fake-chooser=99", env=live(fake))
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_an_endpoint_left_without_an_answer_is_played_again(cli: Cli, fake: FakeChooser, tmp_path: Path) -> None:
    fake.rule = lambda _: '{"choice": "unknown"}'

    def is_away(handler: Any, _: Any) -> None:
        handler.answer(404, b"<html>")

    words = (*RUN, "--chat", "model", "--out")
    assert cli(*words, tmp_path / "whole", env=live(fake)).returncode == 0
    answered, fake.heard = fake.heard, is_away  # type: ignore[assignment, method-assign]
    done = cli(*words, tmp_path / "mended", env=live(fake))
    assert (
        done.returncode == 3 and "has nothing there (404)" in done.stderr and "; --resume plays it again" in done.stderr
    )
    mended = only(tmp_path / "mended")
    fake.heard = answered  # type: ignore[method-assign]
    again = ("run", "--resume", mended, "--chat", "model")
    done = cli(*again, env=live(fake))
    assert (done.returncode, done.stderr) == (0, "")
    assert measures(mended) == measures(only(tmp_path / "whole"))
    fake.heard = is_away  # type: ignore[assignment, method-assign]
    assert cli(*again, env=live(fake)).returncode == 0, "nothing is left to be played"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--reader", "choice"), "name it with --model"),
        (("--reader", "choice", "--model", "some"), "asks a chat model: --chat stand-in"),
        (("--reader", "choice@some", "--chat", "stand-in"), "name its model with --model"),
        (("--model", "some"), "reader 'scripted' asks no model: leave out --model"),
        (("--rounds", "2"), "scripted does a job once, agent:PROFILE until it is green"),
    ],
)
def test_what_cannot_be_asked_is_one_line(cli: Cli, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    assert says in one_line(cli("run", "-b", "none", *SMALL, *words, "--out", tmp_path), 2)


@pytest.mark.slow
def test_the_choice_reader_stands_beside_the_scripted_one(
    cli: Cli, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    assert cli("run", "-b", "bm25", *SMALL, "--out", tmp_path).returncode == 0
    done = cli("calibrate", only(tmp_path), recorded[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert "# <code>choice&#64;coldwarm-chooser-1</code> beside the scripted reader" in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("| <code>bm25</code>"))
    assert f"| {len(calls(recorded[0]))} |" in row and "cannot say: an order needs 3 conditions" in done.stdout
    assert "is by a reader with a model" in one_line(cli("calibrate", only(tmp_path)), 2)
