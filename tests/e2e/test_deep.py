"""The deep suite through the program: fed as facts and as sessions, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import paths
from harness.log.events import Recalled, Worked, Wrote
from harness.machine import bubblewrap
from harness.text.classify import Classifier
from tests.e2e.conftest import PLAYED, Cli, find_log, one_line, only, results

pytestmark = PLAYED
DEAF = "deaf=tests.support.deaf_reference:Deaf"
RUN = ("run", "--suite", "deep", "-s", "ledger-of-seeds", "-b", "vector_file", "-d", "none")


def right(folder: Path, backend: str) -> tuple[float, int]:
    told = results(folder)["backends"][backend]["measures"]["decisions_right"]
    return told["hits"], told["of"]


@pytest.mark.slow
def test_bounds_hold_where_hidden_tests_judge(cli: Cli, tmp_path: Path) -> None:
    done = cli(*RUN, "-n", "0", "--write", "append", "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = only(tmp_path)
    assert results(folder)["run"]["suite"]["version"] == "deep-4"
    assert right(folder, "oracle") == (9, 9) and right(folder, "stale_oracle")[0] < right(folder, "cold")[0] < 9
    log = find_log(folder, "vector_file")
    sources = {
        hit.source.session for event in log.list_events(Recalled) for hit in log.find_answer(event).hits if hit.source
    }
    assert any(str(each).startswith("card-index#") for each in sources)


@pytest.mark.slow
def test_a_transcript_is_fed_in_pieces_that_say_what_they_say(cli: Cli, tmp_path: Path) -> None:
    done = cli(*RUN, "-n", "20", "--feed", "sessions", "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = only(tmp_path)
    log = find_log(folder, "vector_file")
    assert log.trial.feed == "sessions" and "-sessions-" in log.trial.id
    written = [each for event in log.list_events(Wrote) for each in log.items(event)]
    sessions = {session.id for session in log.scenario.sessions}
    own = [each for each in written if each.name.startswith("chunk:")]
    assert {each.name.split(":")[1] for each in own} == sessions
    assert len([each for each in written if each.noise]) == 20 and len(own) + 20 == len(written)
    classifier = Classifier(log.scenario, log.opened.canaries)
    readings = [classifier.read(each.item.text) for each in own]
    assert all(reading.exact for reading in readings)
    learnt = {name for session, step in log.scenario.steps() if step.do == "learn" for name in step.facts}
    assert learnt <= {name for reading in readings for name in reading.asserted}
    assert not any(classifier.read(each.item.text).named for each in written if each.noise)
    assert "fed with sessions" in (folder / "summary.md").read_text()


@pytest.mark.slow
def test_a_session_is_captured_by_each_backend_itself(cli: Cli, tmp_path: Path) -> None:
    done = cli(*RUN, "-b", DEAF, "-n", "10", "--feed", "native", "--out", tmp_path)
    assert done.returncode == 3 and "deaf could not run: --feed native: it captures no session" in done.stderr
    folder = only(tmp_path)
    log = find_log(folder, "vector_file")
    assert log.trial.feed == "native" and "-native-" in log.trial.id
    wrote = log.list_events(Wrote)
    sessions = [item for event in wrote for item in log.items(event) if item.name.startswith("session:")]
    assert {event.op for event in wrote} == {"observe"}
    assert [each.name.partition(":")[2] for each in sessions] == [session.id for session in log.scenario.sessions]
    assert all(len(each.said) == len(own.transcript) for each, own in zip(sessions, log.scenario.sessions, strict=True))
    classifier = Classifier(log.scenario, log.opened.canaries)
    texts = {hit.text for event in log.list_events(Recalled) for hit in log.find_answer(event).hits}
    told = {name for text in texts for name in classifier.hear(text).asserted}
    learnt = {name for _, step in log.scenario.steps() if step.do == "learn" for name in step.facts}
    assert len(told & learnt) > len(learnt) / 2
    assert "captures itself" in (folder / "summary.md").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")
def test_a_reader_that_works_by_tools_is_judged_by_the_same_hidden_tests(cli: Cli, tmp_path: Path) -> None:
    """It sees the job's commands and the repository's tests, and no hidden one."""
    done = cli(*RUN, "-n", "0", "--write", "append", "--reader", "chat", "--chat", "stand-in", "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = only(tmp_path)
    assert right(folder, "oracle") == (9, 9) and right(folder, "stale_oracle") == right(folder, "cold") == (0, 9)
    log = find_log(folder, "oracle")
    told = [call for work in log.list_events(Worked) for call in log.calls(work)]
    assert told and not any("hidden/" in call.prompt for call in told)


@pytest.mark.slow
def test_a_reader_that_takes_options_takes_them_by_what_the_notes_tell(cli: Cli, tmp_path: Path) -> None:
    """Their names are what the code does, which no note says."""
    words = ("--trial", "oracle", "--trial", "cold", "--reader", "choice", "--chat", "stand-in")
    done = cli(*RUN, "-n", "0", "--write", "append", *words, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = only(tmp_path)
    assert right(folder, "oracle") == (9, 9) and 0 < right(folder, "cold")[0] < 9
    done = cli("run", "--resume", folder, "--trial", "oracle")
    assert (done.returncode, done.stderr) == (0, ""), "a run knows the suite that it was given"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--feed", "sessions", "-s", "forgotten-runbook", "-b", "none", "-d", "none"), "has no transcripts"),
        ((*RUN, "--feed", "sessions", "--write", "curated"), "a transcript is only added"),
        ((*RUN, "--feed", "sessions", "-n", "1000"), "at most 300 memories of noise"),
        ((*RUN, "--feed", "sessions", "--writer", "chat", "--chat", "stand-in"), "--feed sessions with --writer"),
        ((*RUN, "--feed", "native", "--write", "curated"), "--feed native with --write curated"),
    ],
    ids=["no transcripts", "looked up", "too much noise", "a writer", "captured"],
)
def test_what_cannot_be_fed_is_said_in_one_line(cli: Cli, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = cli(*words, "--out", tmp_path)
    assert said in one_line(done, 2)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_suite_is_found_by_its_name_and_by_its_folder(cli: Cli) -> None:
    named, placed = cli("list", "--suite", "deep"), cli("list", "--suite", paths.DEEP)
    assert named.stdout == placed.stdout and "migration/ledger-of-seeds" in named.stdout
