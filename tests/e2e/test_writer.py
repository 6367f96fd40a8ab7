"""The chat writer through the program: a perfect and a bad model, recordings, secrets that are to be erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from harness import paths
from harness.log.events import Drafted
from harness.play import writer
from harness.play.engine import make_canaries
from tasks import loader
from tests.e2e.conftest import SMALL, Cli, find_log, one_line, only, results
from tests.support.fake_chooser import FakeChooser
from tests.support.fake_upstream import KEY, served
from tests.support.fake_writer import write_by
from tests.support.logs import canonical

RUN = ("run", "-b", "bm25", *SMALL, "--writer", "chat")


@pytest.fixture
def fake() -> Iterator[FakeChooser]:
    with served(FakeChooser()) as running:
        yield running


@pytest.fixture(scope="module")
def recorded(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that the stand-in answered, and its recordings. Not to be written to."""
    out = tmp_path_factory.mktemp("out")
    prices = ("--prices", paths.ROOT / "reports" / "prices.toml")
    done = cli(*RUN, *prices, "--chat", "stand-in", "--record", out / "recordings", "--out", out / "runs")
    assert (done.returncode, done.stderr) == (0, "")
    return only(out / "runs"), out / "recordings"


REPLAY = (*RUN, "--model", "coldwarm-writer-1")


def shares(folder: Path) -> dict[str, tuple[float, int]]:
    cell = next(cell for cell in results(folder)["cells"] if cell["backend"] == "bm25")
    named = ((name, each) for name, each in cell["measures"].items() if name.startswith("writer_"))
    return {name: (each["hits"], each["of"]) for name, each in named if each["status"] == "measured"}


@pytest.mark.slow
def test_the_stand_in_writes_and_cost_and_page_say_so(cli: Cli, recorded: tuple[Path, Path]) -> None:
    folder, _ = recorded
    found = shares(folder)
    assert found["writer_failed"] == (0, 5) and found["writer_secrets_kept"] == (0, 5)
    assert found["writer_stale_kept"][0] > 0, "it does not see what holds no longer"
    assert results(folder)["run"]["conditions"]["writer"] == "chat@coldwarm-writer-1"
    assert "writer chat@coldwarm-writer-1" in (folder / "report.html").read_text()
    assert "Chat calls paid" in (folder / "report.html").read_text()
    done = cli("cost", folder)
    assert "| writer | ingest | <code>coldwarm-writer-1</code> | 5 |" in done.stdout
    assert "Money by prices of 2026-" in done.stdout, "the run was told them"


@pytest.mark.slow
def test_a_replay_gives_equal_events_and_asks_no_model(cli: Cli, recorded: tuple[Path, Path], tmp_path: Path) -> None:
    folder, recordings = recorded
    done = cli(*REPLAY, "--chat", recordings, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    again = find_log(only(tmp_path), "bm25")
    assert again.list_events(Drafted) and canonical(again.events) == canonical(find_log(folder, "bm25").events)


@pytest.mark.slow
def test_a_changed_prompt_is_a_miss_with_a_diff_and_fails_the_run(
    cli: Cli, recorded: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SYSTEM", writer.SYSTEM.replace("Never write down", "Do not write down"))
    done = cli(*REPLAY, "--chat", recorded[1], "--out", tmp_path)
    assert done.returncode == 3 and "writer:chat@coldwarm-writer-1" in done.stderr
    played = find_log(only(tmp_path), "bm25")
    asked = [call for event in played.list_events(Drafted) for call in played.calls(event)]
    assert {call.outcome for call in asked} == {"failed"}
    assert "-    " in asked[0].why and '+    "Do not write down a secret' in asked[0].why
    assert shares(only(tmp_path))["writer_failed"] == (5, 5)


@pytest.mark.slow
def test_who_writes_just_what_holds_forgets_what_it_is_told_to_and_who_writes_all_does_not_pass(
    cli: Cli, fake: FakeChooser, tmp_path: Path
) -> None:
    """A story with secrets that are to be erased: they are found under the ids of the model's own memories."""
    files = [paths.TASKS / "secret-erasure" / "customers-card.toml"]
    ((scenario, _),) = loader.load(files, paths.FIXTURES, paths.cache_root())
    found = {}
    wishes: tuple[Literal["perfect", "bad"], ...] = ("perfect", "bad")
    for wanted in wishes:
        fake.rule = write_by(wanted, scenario, make_canaries(scenario, 1))
        done = cli(
            "run", "-b", "reference", "-s", "customers-card", *SMALL[2:], "--trial", "reference", "--writer", "chat",
            "--model", "fake", "--chat", "model", "--out", tmp_path / wanted,
            env={"OPENAI_BASE_URL": fake.url, "OPENAI_API_KEY": KEY},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        cell = next(cell for cell in results(only(tmp_path / wanted))["cells"] if cell["backend"] == "reference")
        found[wanted] = {name: (each.get("hits"), each.get("of")) for name, each in cell["measures"].items()}
    good, bad = found["perfect"], found["bad"]
    assert good["writer_facts_kept"][0] == good["writer_facts_kept"][1] and good["writer_secrets_kept"][0] == 0
    assert good["deleted_from_search"][0] == good["deleted_from_search"][1] and good["deleted_from_search"][1]
    assert bad["writer_secrets_kept"][0] == bad["writer_secrets_kept"][1]
    assert bad["writer_facts_merged"][0] and bad["writer_facts_invented"][0] and bad["writer_stale_kept"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--writer", "chat"), "asks a chat model: --chat stand-in, model, or a folder"),
        (("--writer", "chat", "--chat", "model"), "name it with --model"),
        (("--writer", "chat", "--chat", "stand-in", "-s", "none"), "-s none plays none"),
        (("--writer", "chat", "--chat", "stand-in", "-b", "mem0,infer=true"), "two would write"),
    ],
)
def test_what_makes_no_sense_is_one_line(cli: Cli, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    assert says in one_line(cli("run", *SMALL, *words, "--out", tmp_path), 2)
