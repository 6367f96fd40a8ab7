"""Real agent programs through the program: a perfect and a bad model on every kind, recordings, and what goes wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.agents import profile, program, selection
from harness.agents.profile import Profile
from harness.backend.environments import EnvironmentFault
from harness.gateway.chat.standin import PUPIL
from harness.log.blobs import Ref
from harness.log.events import Corrected, Recalled, Worked
from harness.log.folder import Folder
from harness.machine import bubblewrap
from harness.play.environment import Settings
from harness.play.story import Story
from tasks import loader
from tests.e2e.conftest import PLAYED, SMALL, Cli, find_log, one_line, only
from tests.e2e.test_chat_reader import calls, cells, live
from tests.support.fake_performer import FakePerformer, know
from tests.support.fake_upstream import Handler, completion, served
from tests.support.logs import canonical
from tests.support.nights import leave_to_night

pytestmark = [
    PLAYED,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work"),
]
DEEP = ("harbour-and-ferry", "ledger-of-seeds", "night-train")
PROGRAMS = ("mini-swe-agent", "claude-code", "codex", "gemini-cli", "opencode", "qwen-code")
FEW = ("cross-repo", "preference", "stale-deploy-rule")
"""Kinds of story that are played where not everything is: what is asked and checked of the others depends on no
program, and the chat reader is tried on all of them."""


@pytest.fixture(scope="module", params=leave_to_night(PROGRAMS, len(PROGRAMS)))
def agent(request: pytest.FixtureRequest, cache: Path) -> Iterator[Profile]:
    """An agent program that is installed here."""
    found = profile.read(request.param)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("COLDWARM_CACHE", str(cache))
        try:
            program.install(found)
        except EnvironmentFault as fault:
            if os.environ.get("COLDWARM_INDEX") == "required":
                pytest.fail(f"{fault} (COLDWARM_INDEX=required)")
            pytest.skip(str(fault))
        yield found


@pytest.fixture
def fake() -> Iterator[FakePerformer]:
    with served(FakePerformer()) as running:
        yield running


@pytest.mark.parametrize("wanted", leave_to_night(["right", "stale"], 2))
def test_who_knows_everything_is_right_and_who_takes_the_worst_is_wrong(
    cli: Cli, agent: Profile, fake: FakePerformer, tmp_path: Path, wanted: Any
) -> None:
    check_that_all_is_as_wanted(cli, agent, fake, tmp_path, FEW, wanted)


@pytest.mark.nightly
@pytest.mark.parametrize("agent", PROGRAMS[:1], indirect=True)
def test_who_knows_everything_is_right_in_every_kind_of_story(
    cli: Cli, agent: Profile, fake: FakePerformer, tmp_path: Path
) -> None:
    kinds = {file.parent.name for file in paths.TASKS.glob("*/*.toml")}
    check_that_all_is_as_wanted(cli, agent, fake, tmp_path, sorted(kinds), "right")


def check_that_all_is_as_wanted(
    cli: Cli, agent: Profile, fake: FakePerformer, tmp_path: Path, kinds: Sequence[str], wanted: Any
) -> None:
    """Plays the first story of each kind by a model that takes every option of that verdict."""
    firsts = {file.parent.name: file for file in sorted(paths.TASKS.glob("*/*.toml"), reverse=True)}
    told = loader.load([firsts[kind] for kind in kinds], paths.FIXTURES, paths.cache_root())
    loaded = {scenario.id: Story(scenario, repo) for scenario, repo in told}
    fake.find_job, fake.decide = Settings(tmp_path, {}, loaded).find_job, know(wanted)
    stories = [word for name in loaded for word in ("-s", name)]
    done = cli(
        "run", "-b", "full_context", *stories, *SMALL[2:], "--trial", "full-context", "--reader", f"agent:{agent.name}",
        "--model", "fake-performer", "--chat", "model", "--seed", "3", "--jobs", "2", "--out", tmp_path / "runs",
        env=live(fake),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = cells(only(tmp_path / "runs"), "full_context")
    counts = [each["measures"]["decisions_right"] for each in found]
    assert sorted(cell["kind"] for cell in found) == sorted(kinds)
    assert all(each["hits"] == (each["of"] if wanted == "right" else 0) for each in counts)
    logs, _ = Folder(only(tmp_path / "runs")).logs()
    for played in logs.values():
        options = {
            (job.id, each.id): each for _, job in played.scenario.jobs() for each in job.decisions
        }  # fmt: skip
        asked = {event.ref for event in played.list_events(Recalled) if event.purpose == "decision"}
        assert asked == {f"{job}/{decision}" for job, decision in options}, "it asked the memory once for each point"
        for worked in played.list_events(Worked):
            steps = played.calls(worked)
            assert steps[-1].outcome == "finished" and not steps[-1].why
            assert {each.outcome for each in steps[:-1]} == {"acted"}
            assert worked.told is not None and worked.told.prompt > 0 < worked.told.completion, "it counts itself"
            for choice in worked.choices:
                option = options[worked.job, choice.decision].option(choice.value)
                assert option is not None and (option.verdict == "right") == (wanted == "right")
                assert choice.fact == option.fact


@pytest.mark.nightly
def test_deep_stories_are_right_for_who_remembers_all_and_wrong_for_who_remembers_what_was_superseded(
    cli: Cli, agent: Profile, tmp_path: Path
) -> None:
    """As `benchmarks/results/agents_deep.json` has it."""
    stories = [word for name in DEEP for word in ("-s", name)]
    done = cli(
        "run", "--suite", "deep", "-b", "none", *stories, *SMALL[2:], "--trial", "oracle", "--trial", "stale-oracle",
        "--reader", f"agent:{agent.name}", "--chat", "stand-in", "--out", tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    for name, wanted in (("oracle", [9, 9, 13]), ("stale_oracle", [0, 0, 0])):
        found = cells(only(tmp_path), name)
        counts = [cell["measures"]["decisions_right"] for cell in found]
        assert sorted(right["hits"] for right in counts) == wanted and len(found) == len(DEEP)
        assert sorted(right["of"] for right in counts) == [9, 9, 13]
        for cell, right in zip(found, counts, strict=True):
            assert len(right.get("receipts", ())) == right["of"] - right["hits"]
            assert cell["measures"]["jobs_unfinished"]["hits"] == 0
    logs, _ = Folder(only(tmp_path)).logs()
    for played in logs.values():
        jobs = [job for _, job in played.scenario.jobs()]
        for job, worked in zip(jobs, played.list_events(Worked), strict=True):
            assert [each.decision for each in worked.checks] == [each.id for each in job.decisions]
            assert played.calls(worked)[-1].outcome == "finished" and worked.diff


def test_a_change_in_code_is_judged_by_hidden_tests_that_the_program_never_sees(
    cli: Cli, agent: Profile, tmp_path: Path
) -> None:
    done = cli(
        "run", "--suite", "deep", "-s", "ledger-of-seeds", "-b", "none", *SMALL[2:], "--trial", "oracle",
        "--reader", f"agent:{agent.name}", "--chat", "stand-in", "--out", tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    played = find_log(only(tmp_path), "oracle")
    decisions = {f"{job.id}/{each.id}" for _, job in played.scenario.jobs() for each in job.decisions}
    assert {event.ref for event in played.list_events(Recalled) if event.purpose == "decision"} == decisions
    jobs = list(played.list_events(Worked))
    assert [check.value for work in jobs for check in work.checks] == [
        each.right.value for _, job in played.scenario.jobs() for each in job.decisions
    ]
    assert all(choice.origin == "memory" for work in jobs for choice in work.choices)
    for work in jobs:
        seen = [text for call in played.calls(work) for text in (call.prompt, *(use.result for use in call.uses))]
        kept = [each if isinstance(each, str) else played.blobs.text(each) for each in (work.diff, work.printed or "")]
        assert all(kept) and not any("hidden/" in text for text in (*seen, *kept))


@pytest.mark.nightly
def test_who_needs_two_corrections_is_green_after_three_rounds_and_repeats_one(
    cli: Cli, agent: Profile, tmp_path: Path
) -> None:
    done = cli(
        "run", "-b", "none", *SMALL, "--trial", "oracle", "--trial", "cold", "--reader", f"agent:{agent.name}",
        "--model", PUPIL, "--chat", "stand-in", "--rounds", "3", "--out", tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (cell,) = cells(only(tmp_path), "oracle")
    found = cell["measures"]
    assert [found[name]["hits"] for name in ("decisions_right", "jobs_done", "jobs_done_corrected")] == [0, 0, 2]
    assert (found["rounds_until_done"]["value"], found["rounds_until_done"]["known"]) == (3, "exact")
    assert (found["repeated_corrections"]["hits"], found["repeated_corrections"]["of"]) == (1, 1)
    played = find_log(only(tmp_path), "oracle")
    later = played.list_events(Corrected)
    assert [(each.job, each.number) for each in later] == [
        (job, number) for job in ("hotfix-order", "hotfix-rehearsal") for number in (2, 3)
    ]
    asked = [each for each in played.list_events(Recalled) if each.purpose == "correction"]
    assert len(asked) == 10, "each round asks once for each point"
    spent = sum(each.prompt + each.completion for each in later) + sum(each.asking + each.tokens for each in asked)
    assert found["tokens_of_rounds"]["value"] == found["tokens_total"]["value"] + spent
    cold = find_log(only(tmp_path), None)
    assert len(cold.list_events(Corrected)) == 4
    own = json.loads((only(tmp_path) / "results.json").read_text())["cells"]
    (bare,) = (each["measures"]["rounds_until_done"] for each in own if each["backend"] is None)
    assert (bare["value"], bare["known"]) == (4, "at-least"), "a job that is not done says so"


def test_cold_is_the_same_program_without_the_memory(
    cli: Cli, agent: Profile, fake: FakePerformer, tmp_path: Path
) -> None:
    fake.find_job = lambda *_: None
    done = cli(
        "run", "-b", "bm25", *SMALL, "--trial", "cold", "--reader", f"agent:{agent.name}", "--chat", "stand-in",
        "--out", tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    played = find_log(only(tmp_path), None)
    steps = calls(played)
    assert {each.outcome for each in steps} == {"acted", "finished"}
    assert not any("recall" in f"{each.prompt} {use.tool}" for each in steps for use in each.uses)
    assert not any(choice.value for worked in played.list_events(Worked) for choice in worked.choices)


@pytest.mark.parametrize("way", ["file", "both", "auto", "auto+tools", "file+auto", "both+auto"])
def test_its_own_memory_file_holds_what_earlier_sessions_told(
    cli: Cli, agent: Profile, tmp_path: Path, way: str
) -> None:
    words = ("run", "-b", "notes", *SMALL, "--trial", "oracle", "--trial", "stale-oracle", "--trial", "notes")
    reads = ("--reader", f"agent:{agent.name}+{way}", "--chat", "stand-in")
    if not (agent.auto_memory if "auto" in way else agent.own_file):
        line = one_line(cli(*words, *reads, "--out", tmp_path), 2)
        assert f"has no {'auto memory' if 'auto' in way else 'memory file of its own'}" in line
        return
    done = cli(*words, *reads, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for name, hits in (("oracle", 5), ("stale_oracle", 0)):
        (cell,) = cells(only(tmp_path), name)
        assert (cell["measures"]["decisions_right"]["hits"], cell["measures"]["decisions_right"]["of"]) == (hits, 5)
        assert cell["measures"]["jobs_unfinished"]["hits"] == 0, "its model saw the file"
    played = find_log(only(tmp_path), "notes")
    used = [use.tool for call in calls(played) for use in call.uses]
    assert any(each.endswith("recall") for each in used) == selection.parse(f"x+{way}").way.tools
    assert all(choice.origin == "memory" for worked in played.list_events(Worked) for choice in worked.choices)


@pytest.mark.nightly
def test_what_is_written_in_its_auto_memory_is_there_in_its_next_job(
    cli: Cli, agent: Profile, fake: FakePerformer, tmp_path: Path
) -> None:
    if agent.auto_memory is None:
        pytest.skip("it has none that can be switched on")
    folder = program.HOME / agent.auto_memory.folder
    command = f"cd {folder} && cat *; echo 'Night crew.' >> crews.md; echo '- [Crews](crews.md)' >> MEMORY.md"

    def answer(handler: Handler, body: dict[str, Any] | None) -> None:
        begun = any(each["role"] == "assistant" for each in (body or {})["messages"])
        call = {"name": "Bash", "arguments": json.dumps({"command": command, "description": "looks and writes"})}
        calls = [] if begun else [{"id": "a", "type": "function", "function": call}]
        message = {
            "role": "assistant",
            "content": "DONE" if begun else None,
            **({"tool_calls": calls} if calls else {}),
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop" if begun else "tool_calls"}
        fake.requests.append(body)
        handler.answer(200, completion("", "fake-performer-1", choices=[choice]))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fake, "heard", answer)
        done = cli(
            "run", "-b", "notes", *SMALL, "--trial", "notes", "--reader", f"agent:{agent.name}+auto",
            "--model", "fake-performer", "--chat", "model", "--out", tmp_path, env=live(fake),
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    played = find_log(only(tmp_path), "notes")
    jobs = played.list_events(Worked)
    first, second = (played.calls(each)[0].uses[0].result for each in jobs)
    assert "Notes from earlier sessions" in first and "Night crew." not in first
    assert second.count("- [Crews](crews.md)") == second.count("Night crew.") == 1
    prompts = [json.dumps(each) for each in fake.requests]
    assert [("[Crews](crews.md)" in each) for each in prompts if "Night crew." not in each] == [False, True]
    for each in jobs:
        assert isinstance(each.printed, Ref) and "kept for later jobs: " in played.blobs.text(each.printed)


@pytest.mark.nightly
def test_a_recorded_run_is_replayed_and_a_changed_prompt_is_a_miss_with_a_diff(
    cli: Cli, agent: Profile, tmp_path: Path
) -> None:
    tapes, words = tmp_path / "tapes", ("run", "-b", "bm25", *SMALL, "--trial", "bm25", "--seed", "2")
    reads = ("--reader", f"agent:{agent.name}")
    done = cli(*words, *reads, "--chat", "stand-in", "--record", tapes, "--out", tmp_path / "first")
    assert (done.returncode, done.stderr) == (0, "")
    again = ("--model", "coldwarm-performer-1", "--chat", tapes)
    done = cli(*words, *reads, *again, "--out", tmp_path / "again")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = (find_log(only(tmp_path / name), "bm25") for name in ("first", "again"))
    assert calls(first) == calls(second) and canonical(first.events) == canonical(second.events)
    changed = tmp_path / "changed.toml"
    text = selection.locate(agent.name).read_text("utf-8")
    changed.write_text(text.replace("A memory of", "Some memory of").replace("ask a memory", "ask some memory"))
    done = cli(*words, "--reader", f"agent:{changed}", *again, "--out", tmp_path / "missed")
    assert done.returncode == 3 and f"agent:{changed}@coldwarm-performer-1" in done.stderr
    missed = calls(find_log(only(tmp_path / "missed"), "bm25"))
    assert {each.outcome for each in missed} == {"failed"}
    assert "ome memory" in missed[0].why
    (cell,) = cells(only(tmp_path / "missed"), "bm25")
    assert cell["measures"]["decisions_right"]["hits"] == 0, "failed stays in the denominator"


@pytest.mark.nightly
def test_who_goes_on_without_its_memory_or_ends_by_a_limit_of_its_own_is_told_of(
    cli: Cli, agent: Profile, tmp_path: Path
) -> None:
    """All exit with 0."""
    text = selection.locate(agent.name).read_text("utf-8")
    changes = {
        "claude-code": ('"command": "${memory}"', '"command": "${memory}-gone"', "it never opened its memory"),
        "codex": ('"${memory}", required=true', '"${memory}-gone", required=false', "it never opened its memory"),
        "gemini-cli": ('"command": "${memory}"', '"command": "${memory}-gone"', "it never opened its memory"),
        "opencode": ('"command": ["${memory}"]', '"command": ["${memory}-gone"]', "it never opened its memory"),
        "qwen-code": ('"command": "${memory}"', '"command": "${memory}-gone"', "it never opened its memory"),
        "mini-swe-agent": ('"-t",', '"-c", "agent.step_limit=2", "-t",', "a limit of its own (LimitsExceeded)"),
    }
    old, new, why = changes[agent.name]
    assert old in text
    changed = tmp_path / "changed.toml"
    changed.write_text(text.replace(old, new))
    label = f"agent:{changed}@coldwarm-performer-1"
    done = cli(
        "run", "-b", "bm25", *SMALL, "--trial", "bm25", "--reader", f"agent:{changed}", "--chat", "stand-in",
        "--allow-faults", f"{label}=9", "--out", tmp_path / "runs",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends = [each for each in calls(find_log(only(tmp_path / "runs"), "bm25")) if each.model.startswith("changed ")]
    assert ends and all(why in each.why and not each.answered for each in ends)
