"""What a team's sessions said and what changed later becomes the stories; what no session said does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from tasks import loader
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
