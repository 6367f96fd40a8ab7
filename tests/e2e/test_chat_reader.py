"""The chat reader through the program: a perfect and a bad model on every kind, recordings, and what goes wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.log.calls import ModelCall
from harness.log.events import Worked
from harness.log.folder import Folder
from harness.log.reader import Log
from harness.machine import bubblewrap
from harness.play.environment import Settings
from harness.play.readers import chat
from harness.play.story import Story
from tasks import loader
from tests.e2e.conftest import MEASURED, SMALL, Cli, find_log, only
from tests.support.fake_performer import FakePerformer, know
from tests.support.fake_upstream import KEY, Handler, completion, served
from tests.support.logs import canonical
from tests.support.nights import leave_to_night

pytestmark = [
    MEASURED,
    pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work"),
]
RUN = ("run", "-b", "bm25", *SMALL, "--reader", "chat", "--model", "fake-performer")


@pytest.fixture
def fake() -> Iterator[FakePerformer]:
    with served(FakePerformer()) as running:
        yield running


def live(fake: FakePerformer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": fake.url, "OPENAI_API_KEY": KEY}


def calls(played: Log) -> list[ModelCall]:
    return [call for event in played.list_events(Worked) for call in played.calls(event)]


def cells(folder: Path, backend: str) -> list[dict[str, Any]]:
    found = json.loads((folder / "results.json").read_text())["cells"]
    return [cell for cell in found if (cell["backend"], cell["read_policy"]) == (backend, "model")]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("wanted", "form"), leave_to_night([("right", "chat"), ("stale", "chat"), ("right", "chat-json")], 3)
)
def test_of_every_kind_who_knows_everything_is_right_and_who_takes_the_worst_is_wrong(
    cli: Cli, fake: FakePerformer, tmp_path: Path, wanted: Any, form: str
) -> None:
    firsts = {file.parent: file for file in sorted(paths.TASKS.glob("*/*.toml"), reverse=True)}.values()
    told = loader.load(firsts, paths.FIXTURES, paths.cache_root())
    loaded = {scenario.id: Story(scenario, repo) for scenario, repo in told}
    fake.find_job, fake.decide = Settings(tmp_path, {}, loaded).find_job, know(wanted)
    stories = [word for name in loaded for word in ("-s", name)]
    done = cli(
        "run", "-b", "full_context", *stories, *SMALL[2:], "--trial", "full-context", "--reader", form,
        "--model", "fake-performer", "--chat", "model", "--seed", "3", "--out", tmp_path / "runs", env=live(fake),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = cells(only(tmp_path / "runs"), "full_context")
    counts = [each["measures"]["decisions_right"] for each in found]
    assert len({cell["kind"] for cell in found}) == len(found) == 12
    assert all(each["hits"] == (each["of"] if wanted == "right" else 0) for each in counts)
    logs, _ = Folder(only(tmp_path / "runs")).logs()
    for played in logs.values():
        assert {call.outcome for call in calls(played)} == {"acted", "finished"}
        assert not any(use.refused for call in calls(played) for use in call.uses)
        for worked in played.list_events(Worked):
            options = {
                each.id: each for _, job in played.scenario.jobs() if job.id == worked.job for each in job.decisions
            }
            for choice in worked.choices:
                option = options[choice.decision].option(choice.value)
                assert option is not None and (option.verdict == "right") == (wanted == "right")
                assert (choice.fact, choice.origin) in {(option.fact, "memory"), (option.fact, "nowhere")}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_recorded_run_is_replayed_and_a_changed_prompt_is_a_miss_with_a_diff(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tapes, words = tmp_path / "tapes", (*RUN[:-2], "--trial", "bm25", "--seed", "2")
    done = cli(*words, "--chat", "stand-in", "--record", tapes, "--out", tmp_path / "first")
    assert (done.returncode, done.stderr) == (0, "")
    again = (*words, "--model", "coldwarm-performer-1", "--chat", tapes)
    done = cli(*again, "--out", tmp_path / "again")
    assert (done.returncode, done.stderr) == (0, "")
    first = find_log(only(tmp_path / "first"), "bm25")
    assert calls(first) and canonical(find_log(only(tmp_path / "again"), "bm25").events) == canonical(first.events)
    monkeypatch.setattr(chat, "SYSTEM", chat.SYSTEM.replace("Do the task", "Do your task"))
    done = cli(*again, "--out", tmp_path / "changed")
    assert done.returncode == 3 and "chat@coldwarm-performer-1" in done.stderr
    missed = calls(find_log(only(tmp_path / "changed"), "bm25"))
    assert {call.outcome for call in missed} == {"failed"}
    assert "Do the task" in missed[0].why and "Do your task" in missed[0].why
    (cell,) = cells(only(tmp_path / "changed"), "bm25")
    assert cell["measures"]["decisions_right"]["hits"] == 0, "failed stays in the denominator"
    assert cell["measures"]["stale_use"]["status"] != "measured", "who decided nothing is not clean"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_seed_has_names_of_its_own_and_an_overflowing_context_fails_one_job(
    cli: Cli, fake: FakePerformer, tmp_path: Path
) -> None:
    fake.find_job, fake.decide, answered = lambda *_: None, know("right"), fake.heard

    def heard(handler: Handler, body: Any) -> None:
        if "Rehearse" in json.dumps(body):
            fake.requests.append(body)
            handler.answer(400, completion("", error={"message": "maximum context length is 8 tokens"}))
        else:
            answered(handler, body)

    fake.heard = heard  # type: ignore[method-assign]
    words = (*RUN, "--trial", "bm25", "--chat", "model", "--seeds", "2", "--allow-faults", "chat@fake-performer=9")
    done = cli(*words, "--out", tmp_path, env=live(fake))
    assert done.returncode == 0
    logs, _ = Folder(only(tmp_path)).logs()
    names = [set(re.findall(r"gantry-nine[\w-]*", each.scenario.model_dump_json())) for each in logs.values()]
    assert [len(each) for each in names] == [1, 1] and len(names[0] | names[1] | {"gantry-nine"}) == 3
    for played in logs.values():
        assert [call.outcome for call in calls(played)] == ["finished", "failed"]
        assert played.closed is not None and played.closed.status == "complete"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_salted_jobs_stand_beside_those_of_the_scripted_reader(cli: Cli, tmp_path: Path) -> None:
    words = ("run", "-q", "-b", "bm25", "-s", "told-on-a-call", "-n", "20", "-d", "none", "--write", "append")
    for name, more in {"scripted": (), "model": ("--reader", "chat", "--chat", "stand-in")}.items():
        done = cli(*words, *more, "--out", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
    shown = cli("calibrate", only(tmp_path / "scripted"), only(tmp_path / "model")).stdout
    played = find_log(only(tmp_path / "model"), "bm25")
    of = sum(len(event.choices) for event in played.list_events(Worked))
    rows = {line.split(" | ")[0]: line for line in shown.splitlines() if line.startswith("| ")}
    assert (
        rows["| <code>bm25</code>, append, 20"].split(" | ")[1] == str(of) == rows["| cold: no memory"].split(" | ")[1]
    )
    assert "have no scripted one" not in shown and "in jobs that the model did" in shown
    plain = find_log(only(tmp_path / "scripted"), "bm25")
    assert played.opened.digests["scenario"] != plain.opened.digests["scenario"], "its names are its own"
