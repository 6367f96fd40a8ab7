"""What a team's sessions said and what changed later becomes the stories; what no session said does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli.mine import mine
from harness.cli.play import run as play
from harness.log.events import Recalled
from harness.log.folder import Folder
from harness.model.scenario import Learn, Scenario
from tasks import loader
from tasks.transcripts import quote
from tests.support.foreign import CODE, CONFIG, DOCS, Foreign


def live_long(foreign: Foreign) -> None:
    """Four values change, a month apart; the last commit is of June."""
    steps = [
        (3, "0.5", "harborline", 40, "make check"), (3, "0.5", "kestrelway", 40, "make check"),
        (7, "0.5", "kestrelway", 40, "make check"), (7, "2.5", "kestrelway", 40, "make check"),
        (7, "2.5", "kestrelway", 65, "make check"), (7, "2.5", "kestrelway", 65, "pytest -n auto"),
    ]  # fmt: skip
    for month, (retries, pause, lane, budget, command) in enumerate(steps, 1):
        foreign.at = f"2026-{month:02}-01T12:00:00+00:00"
        foreign.commit(
            {
                "shop/waits.py": CODE.format(retries=retries, pause=pause),
                "shop/orders.py": "from shop.waits import RETRIES, wait\n",
                "pyproject.toml": CONFIG.format(lane=lane, budget=budget),
                "README.md": DOCS.format(command=command),
            }
        )


def write_sessions(folder: Path, *said: tuple[str, str, str, str]) -> Path:
    """Sessions of an import: id, day, repository, what its user said, a line a message; `@DAY` begins a dated one."""
    (folder / "sessions").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for name, day, repository, text in said:
        rows.append(
            {
                "id": name, "at": f"{day}T09:00:00Z", "dated": "recorded", "program": "codex", "recorded_id": name,
                "file": "f", "repository": repository, "branch": "", "commit": "", "messages": 1,
            }
        )  # fmt: skip
        messages = ""
        for line in text.splitlines():
            own, _, words = line.rpartition("@")[2].partition(" ") if line.startswith("@") else ("", "", line)
            dated = f"at = {own}T09:00:00Z\n" if own else ""
            messages += f'[[messages]]\nrole = "user"\n{dated}content = {json.dumps(words)}\n'
        (folder / "sessions" / f"{name}.toml").write_text(messages)
    (folder / "sessions.json").write_text(json.dumps({"schema": 1, "secrets": 0, "sessions": rows}))
    return folder


def run(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(mine, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
def test_only_what_a_session_said_before_it_changed_is_told(foreign: Foreign, tmp_path: Path) -> None:
    live_long(foreign)
    name = foreign.path.name
    sessions = write_sessions(
        tmp_path / "sessions",
        ("lane", "2026-01-15", name, "The lane is harborline, as ever."),
        ("retries", "2026-02-15", name, "Leave RETRIES at 3, please."),
        ("budget", "2026-03-15", "", "Our budget: 40 for a build."),
        ("late", "2026-05-20", name, "wait has a pause of 0.5, I think."),
        ("elsewhere", "2026-03-20", "another", "Set pause=0.5 in wait."),
        ("bare", "2026-03-21", name, "0.5 of it is done."),
    )
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--sessions", sessions, "--min-worth", "1")
    assert code == 0, said
    assert "3 sessions said 3 values that changed later" in said
    assert "said in no session before it changed" in said
    report = json.loads((tmp_path / "suite" / "mined.json").read_text())
    told = {each["told"][0]["session"]: each for each in report["candidates"]}
    assert {name: each["told"][0]["value"] for name, each in told.items()} == {
        "lane": "harborline", "retries": "3", "budget": "40",
    }  # fmt: skip
    ((story, _),) = loader.load(loader.find(tmp_path / "suite"), tmp_path, tmp_path / "cache")
    forms = {form for fact in story.facts for form in fact.forms[-1]}
    assert {"harborline", "3", "7", "40", "65"} <= forms and forms.isdisjoint({"0.5", "2.5"})
    decided = {each.right.value for _, job in story.jobs() for each in job.decisions}
    assert {"kestrelway", "7", "65"} <= decided


@pytest.mark.slow
def test_a_value_is_told_at_the_time_of_its_message_which_counts_from_one(foreign: Foreign, tmp_path: Path) -> None:
    live_long(foreign)
    sessions = write_sessions(
        tmp_path / "sessions",
        (
            "long",
            "2025-01-15",
            "",
            "Hello.\n@2026-02-15 Leave RETRIES at 3.\nThe wait has a pause of 0.5.\nBudget: 40.",
        ),
        ("late", "2026-01-15", "", "@2026-02-15 The lane is harborline.\nStill, harborline is the lane."),
    )
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--sessions", sessions, "--min-worth", "1")
    assert code == 0, said
    report = json.loads((tmp_path / "suite" / "mined.json").read_text())
    told = [each for candidate in report["candidates"] for each in candidate["told"]]
    assert sorted((each["session"], each["message"], each["value"]) for each in told) == [
        ("long", 2, "3"), ("long", 3, "0.5"), ("long", 4, "40"),
    ]  # fmt: skip


def test_sessions_that_said_nothing_of_it_and_no_sessions_are_one_line(foreign: Foreign, tmp_path: Path) -> None:
    live_long(foreign)
    nothing = write_sessions(tmp_path / "nothing", ("hello", "2026-01-15", "", "Hello."))
    for folder, words in ((nothing, "said in no session"), (tmp_path, "coldwarm import sessions PATH")):
        code, said = run(foreign.path, "--to", tmp_path / "suite", "--sessions", folder)
        assert code == 2 and words in said and not (tmp_path / "suite").exists()


CALL = """
[[messages]]
role = "assistant"
content = ""
[[messages.tool_calls]]
id = "c1"
[messages.tool_calls.function]
name = "shell"
arguments = '{"command": "cat pyproject'
[[messages]]
role = "tool"
tool_call_id = "c1"
content = """


def make_story(foreign: Foreign, folder: Path, *said: tuple[str, str, str, str]) -> Scenario:
    """The one that is mined of the long life and these sessions."""
    live_long(foreign)
    sessions = write_sessions(folder / "sessions", *said)
    return mine_story(foreign, folder, "--sessions", sessions)


def mine_story(foreign: Foreign, folder: Path, *words: str | Path) -> Scenario:
    code, said = run(foreign.path, "--to", folder / "suite", "--min-worth", "1", *words)
    assert code == 0 and ("--feed sessions" in said) == ("--sessions" in words), said
    ((story, _),) = loader.load(loader.find(folder / "suite"), folder, folder / "cache")
    return story


def feed_suite(folder: Path, feed: str, backend: str) -> Result:
    words = (
        "--suite",
        folder / "suite",
        "--feed",
        feed,
        "-b",
        backend,
        "-d",
        "none",
        "-n",
        "0",
        "--out",
        folder / feed,
    )
    return CliRunner().invoke(play, [*map(str, words)])


@pytest.mark.slow
def test_a_session_stands_in_the_story_as_it_was_recorded(foreign: Foreign, tmp_path: Path) -> None:
    live_long(foreign)
    sessions = write_sessions(
        tmp_path / "sessions",
        ("two", "2026-01-15", "", "Which lane do we use?\nSince ever: harborline. The key is {canary:secret-1}."),
        ("again", "2026-01-20", "", "The lane is harborline."),
        ("call", "2026-02-15", "", "Leave RETRIES at 3."),
        ("budget" + "-of" * 18, "2026-03-15", "", "Our budget: 40 for a build; RETRIES is 7, and was 3."),
    )
    with (sessions / "sessions" / "call.toml").open("a") as file:
        file.write(CALL + quote('lane = "kestrelway" for shop, sorted 1.2' + ".3" * 90) + "\n")
    story = mine_story(foreign, tmp_path, "--sessions", sessions)
    heard = {session.id: session for session in story.sessions if session.id.startswith("said-")}
    lane = next(each for each in story.facts if each.forms[-1] == ("harborline",))
    assert {name: session.at.isoformat() for name, session in heard.items()} == {
        "said-again": "2026-01-20T09:00:00+00:00", "said-call": "2026-02-15T09:00:00+00:00",
        f"said-2-budget{'-of' * 15}-o": "2026-03-15T09:00:00+00:00",
    }  # fmt: skip
    assert heard["said-again"].transcript[0].tells == (lane.id,) and lane.since <= heard["said-again"].at
    told = heard["said-call"].transcript
    assert [message.role for message in told] == ["user", "assistant", "tool"]
    assert json.loads(told[1].tool_calls[0].function.arguments) == {"cut": '{"command": "cat pyproject'}
    assert [story.by_id[name].forms[-1][0] for name in told[2].tells] == ["kestrelway"], "which holds by then"
    (words,) = heard[f"said-2-budget{'-of' * 15}-o"].transcript
    assert {story.by_id[name].forms[-1][0] for name in words.tells} == {"40", "7"}
    assert [story.by_id[name].forms[-1][0] for name in words.mentions] == ["3"], "which holds no longer"
    made_up = [message for each in story.sessions if each.id.startswith("day-") for message in each.transcript]
    assert {story.by_id[name].forms[-1][0] for each in made_up for name in each.tells} == {"kestrelway", "7", "65"}


@pytest.mark.slow
def test_what_two_messages_say_together_is_told_by_both_and_marks_of_secrets_go(
    foreign: Foreign, tmp_path: Path
) -> None:
    lines = "Which budget do we have?\nKeep to it {canary:secret-1}.\nOur build needs 40 of tool shop."
    story = make_story(
        foreign,
        tmp_path,
        ("two", "2026-02-15", "", lines),
        ("lane", "2026-01-15", "", "The lane is harborline."),
        ("retries", "2026-02-16", "", "RETRIES is 3."),
    )
    (two,) = (session.transcript for session in story.sessions if session.id == "said-two")
    assert [bool(message.tells) for message in two] == [True, False, True]
    assert two[1].content == "Keep to it [redacted]."


@pytest.mark.slow
def test_a_session_that_went_on_tells_nothing_after_it_was_changed(foreign: Foreign, tmp_path: Path) -> None:
    story = make_story(
        foreign,
        tmp_path,
        ("long", "2026-01-15", "", "@2026-01-15 The lane is harborline.\n@2026-03-15 wait has a pause of 0.5."),
        ("retries", "2026-02-15", "", "RETRIES is 3."),
        ("budget", "2026-04-15", "", "The budget is 40."),
    )
    assert "said-long" in {session.id for session in story.sessions}
    for session, step in story.steps():
        late = [name for name in step.facts if name in story.successor] if isinstance(step, Learn) else []
        assert all(session.at < story.successor[name].since for name in late), session.id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("day", "text"),
    [
        ("2025-06-15", "RETRIES is 3."),  # before anything was committed
        ("2026-02-15", "For retry we take 3."),  # another word than the story's
    ],
)
def test_a_session_that_cannot_stand_there_is_left_out_and_the_commit_tells_it(
    foreign: Foreign, tmp_path: Path, day: str, text: str
) -> None:
    story = make_story(
        foreign,
        tmp_path,
        ("odd", day, "", text),
        ("lane", "2026-01-15", "", "The lane is harborline."),
        ("budget", "2026-03-15", "", "The budget is 40."),
        ("pause", "2026-03-16", "", "wait has a pause of 0.5."),
    )
    assert "said-odd" not in {session.id for session in story.sessions}
    assert story.spoken and all(session.transcript for session in story.sessions)


@pytest.mark.slow
def test_a_memory_is_fed_what_was_said(foreign: Foreign, tmp_path: Path) -> None:
    make_story(
        foreign,
        tmp_path,
        ("lane", "2026-01-15", "", "Mind you: the lane is harborline."),
        ("retries", "2026-02-15", "", "Leave RETRIES at 3, says Ada."),
        ("budget", "2026-03-15", "", "The budget is 40."),
    )
    for feed in ("sessions", "native"):
        done = feed_suite(tmp_path, feed, "notes")
        assert done.exit_code == 0, done.output
        logs, problems = Folder(tmp_path / feed / "latest").logs()
        (log,) = (each for each in logs.values() if each.trial.backend == "notes")
        texts = {hit.text for event in log.list_events(Recalled) for hit in log.find_answer(event).hits}
        assert not problems and any("Mind you: the lane is harborline." in text for text in texts), feed


@pytest.mark.slow
def test_a_suite_without_sessions_says_how_it_gets_some(foreign: Foreign, tmp_path: Path) -> None:
    live_long(foreign)
    story = mine_story(foreign, tmp_path)
    refused = feed_suite(tmp_path, "sessions", "none")
    assert refused.exit_code == 2 and f"{story.id} has no transcripts; it was mined without your" in refused.output
    assert "--sessions FOLDER" in refused.output and "deep" not in refused.output
