"""`run`, `score` and `report` from end to end: what they write, what they say, how they exit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.backend.registry import ORACLES
from harness.compare import statements
from harness.log.folder import Folder
from harness.log.reader import Log
from tests.e2e.conftest import SMALL, Cli, bytes_of, one_line, only
from tests.support.faulty_backends import lend
from tests.support.logs import canonical
from tests.support.unruly_backends import HEAVY

SECRET = "hunter2-and-more"


@pytest.fixture(scope="module")
def played(program: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a small finished run, and what it printed. Not to be written to."""
    out = tmp_path_factory.mktemp("out")
    done = program("run", "-b", "none", "-b", "bm25", *SMALL, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    return only(out), done.stdout


@pytest.fixture
def copy(played: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of that run, to be harmed."""
    return Path(shutil.copytree(played[0], tmp_path / "run"))


def logs(folder: Path) -> dict[str, Log]:
    found, problems = Folder(folder).logs()
    assert not problems
    return found


def events(folder: Path) -> dict[str, object]:
    return {name: canonical(log.events) for name, log in logs(folder).items()}


# --- what is written -------------------------------------------------------------------------------------------------


def test_a_run_prints_its_table_and_leaves_a_whole_folder(played: tuple[Path, str]) -> None:
    folder, said = played
    assert said.startswith("5 trials\n") and f"report: {folder / 'report.html'}" in said
    for name in ("bm25", "no memory"):
        assert re.search(rf"^{name}\s", said, re.MULTILINE)
    assert "5 with the best memory possible, 0 with the worst memory possible" in said
    names = {path.name for path in folder.iterdir()}
    assert names >= {"run.json", "logs", "blobs", "results.json", "summary.md", "report.html"}
    assert "work" not in names and not list(folder.rglob("*.part"))
    assert folder.parent.joinpath("latest").resolve() == folder
    assert {log.closed.status for log in logs(folder).values() if log.closed} == {"complete"} and len(logs(folder)) == 5


def test_the_controls_with_gold_bound_every_row(played: tuple[Path, str]) -> None:
    cells = json.loads((played[0] / "results.json").read_text())["cells"]
    trusting = {cell["backend"]: cell["measures"] for cell in cells if cell["read_policy"] == "trusting"}
    assert trusting["oracle"]["decisions_right"]["hits"] == trusting["oracle"]["decisions_right"]["of"] == 5
    assert trusting["stale_oracle"]["decisions_right"]["hits"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "report"])
def test_what_is_derived_comes_out_with_equal_bytes(cli: Cli, copy: Path, command: str) -> None:
    derived = ("results.json", "summary.md", "report.html", "results.schema.json")
    before = {name: (copy / name).read_bytes() for name in derived}
    kept = derived if command == "report" else ("results.json",)
    for name in kept:
        (copy / name).unlink()
    for _ in range(2):
        done = cli(command, copy)
        assert (done.returncode, done.stderr) == (0, "")
        assert {name: (copy / name).read_bytes() for name in derived} == before


@pytest.mark.slow
def test_trials_side_by_side_give_equal_events(cli: Cli, played: tuple[Path, str], tmp_path: Path) -> None:
    done = cli("run", "-b", "none", "-b", "bm25", *SMALL, "--jobs", "2", "--out", tmp_path)
    assert done.returncode == 0
    assert events(only(tmp_path)) == events(played[0])


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_faulty_backend_among_good_ones_is_a_receipt_and_not_the_end(program: Cli, tmp_path: Path) -> None:
    faults = ("Crashes", "Raises", "FailsToClose", "FailsToTellStorage", "LiesAboutStorage")
    named = [word for name in faults for word in ("-b", f"tests.support.faulty_backends:{name}")]
    done = program("run", *named, "-b", "none", *SMALL, "--jobs", "2", "--out", tmp_path)
    assert done.returncode == 3 and "Traceback" not in done.stderr + done.stdout
    found = {str(log.trial.backend): log for log in logs(only(tmp_path)).values()}
    status = {name.rpartition(":")[2]: log.closed and log.closed.status for name, log in found.items()}
    assert status == {
        "None": "complete", "oracle": "complete", "stale_oracle": "complete", "none": "complete",
        "Raises": "complete", "LiesAboutStorage": "complete",
        "Crashes": "failed", "FailsToClose": "failed", "FailsToTellStorage": "failed",
    }  # fmt: skip
    receipt = found["tests.support.faulty_backends:Crashes"].closed
    assert receipt is not None and receipt.fault is not None
    assert (receipt.fault.kind, receipt.fault.op) == ("crashed", "recall") and "signal 11" in receipt.fault.message
    unended = [line for line in done.stderr.splitlines() if "did not get to" in line]
    failing = [line for line in done.stderr.splitlines() if "calls failed" in line or "call failed" in line]
    assert len(unended) == 3 and len(failing) == 4 and len(done.stderr.splitlines()) == 7
    assert any(
        "tests.support.faulty_backends:Raises: " in line
        and "--allow-faults tests.support.faulty_backends:Raises=COUNT" in line
        for line in failing
    )
    assert "failed: crashed in recall: the process was ended by signal 11" in done.stdout


@pytest.mark.slow
def test_a_backend_that_cannot_be_described_stops_the_run_unless_it_may_be_missing(cli: Cli, tmp_path: Path) -> None:
    asked = ("run", "-b", "tests.support.faulty_backends:FailsToDescribe", "-b", "none", *SMALL)
    line = one_line(cli(*asked, "--out", tmp_path / "a"), 3)
    assert (
        "tests.support.faulty_backends:FailsToDescribe could not run: raised in describe: RuntimeError: no version"
        in line
    )
    assert "\x1b" not in line
    allowed = cli(*asked, "--allow", "tests.support.faulty_backends:FailsToDescribe", "--out", tmp_path / "b")
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert not (tmp_path / "a").exists(), "it stops before anything is played"
    assert len(logs(only(tmp_path / "b"))) == 4


@pytest.mark.slow
def test_no_secret_is_written_anywhere(cli: Cli, tmp_path: Path) -> None:
    """Not in the command, not in a label, not in what the backend itself quotes when it fails."""
    backend = f"tests.support.faulty_backends:FailsToOpen,api_key={SECRET},store=faiss"
    done = cli("run", "-b", backend, *SMALL, "--out", tmp_path)
    assert done.returncode == 3 and SECRET not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert SECRET.encode() not in path.read_bytes(), path
    folder = only(tmp_path)
    (failed,) = (log for log in logs(folder).values() if log.trial.backend and "faulty" in log.trial.backend)
    assert failed.closed is not None and failed.closed.fault is not None
    assert "[redacted]" in failed.closed.fault.message and "faiss" in failed.closed.fault.message
    assert "repeat it with -b" in one_line(cli("run", "--resume", folder), 2)
    again = cli("run", "--resume", folder, "-b", backend)
    assert again.returncode == 3 and "5 trials" not in again.stdout and "4 of them finished before" in again.stdout


# --- resume ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_finished_run_is_not_played_again(cli: Cli, copy: Path) -> None:
    before = bytes_of(copy)
    done = cli("run", "--resume", copy)
    assert done.returncode == 0 and "5 trials, 5 of them finished before" in done.stdout
    assert bytes_of(copy) == before


@pytest.mark.slow
def test_an_edited_adapter_is_played_again_and_nothing_else(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "own"
    home.mkdir()
    lend(home)
    file, env = home / "own_store.py", {"COLDWARM_ADAPTER_PATH": str(home)}
    file.write_text("from tests.support.faulty_backends import Sound\nclass Own(Sound): ...\n")
    done = cli("run", "-b", "own_store:Own", "-b", "none", *SMALL, "--out", tmp_path / "out", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    folder = only(tmp_path / "out")
    before = bytes_of(folder)
    file.write_text("from tests.support.faulty_backends import Sound\nclass Own(Sound): ...  # changed\n")
    again = cli("run", "--resume", folder, env=env)
    assert again.returncode == 0 and "5 trials, 4 of them finished before" in again.stdout
    after = bytes_of(folder)
    assert {name: after[name] for name in before} == before
    assert [name for name in after if name not in before] == [
        name.replace(".1.jsonl", ".2.jsonl") for name in before if name.startswith("own-store")
    ]
    (log,) = (log for log in logs(folder).values() if log.trial.backend == "own_store:Own")
    assert log.path.name.endswith(".2.jsonl")


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_log_that_was_cut_is_incomplete_and_a_resume_mends_it(cli: Cli, copy: Path) -> None:
    (path,) = copy.glob("logs/bm25-*")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    line = one_line(cli("score", copy), 3)
    assert "bm25-forgotten-runbook" in line and "did not get to" in line
    mended = cli("run", "--resume", copy)
    assert (mended.returncode, mended.stderr) == (0, "") and "4 of them finished before" in mended.stdout
    assert path.read_bytes() == whole[: len(whole) // 2]


@pytest.mark.slow
def test_a_log_without_a_first_event_is_a_trial_that_never_began(cli: Cli, copy: Path) -> None:
    (path,) = copy.glob("logs/none-*")
    path.write_bytes(path.read_bytes()[:20])
    assert "none-forgotten-runbook" in one_line(cli("report", copy), 3)
    mended = cli("run", "--resume", copy)
    assert (mended.returncode, mended.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda line: line.replace(b'"log_schema":2', b'"log_schema":99'), "update coldwarm"),
        (lambda line: b"\x00\xff" + line, ":1: not an opening event"),
        (lambda line: line.replace(b'"protocol":2', b'"protocol":3'), "its seal is broken"),
    ],
)
def test_a_log_that_cannot_be_read_is_one_line(cli: Cli, copy: Path, damage: object, words: str) -> None:
    assert callable(damage)
    (path,) = copy.glob("logs/none-*")
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(damage(first) + b"\n" + rest)
    done = cli("score", copy)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert words in done.stderr.splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines[:3] + lines[4:],
        lambda lines: [*lines[:3], lines[3].replace(b"0", b"1", 1), *lines[4:]],
        lambda lines: [*lines[:3], *lines[2:]],
    ],
    ids=["removed", "changed", "doubled"],
)
def test_a_damaged_log_is_one_trial_that_has_no_result_and_a_resume_plays_it_again(
    cli: Cli, copy: Path, damage: Callable[[list[bytes]], list[bytes]]
) -> None:
    (path,) = copy.glob("logs/bm25-*")
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    done = cli("score", copy)
    assert done.returncode == 3 and f"{path.name}:" in done.stderr.splitlines()[0] and "Traceback" not in done.stderr
    cells = json.loads((copy / "results.json").read_text())["cells"]
    assert {cell["backend"] for cell in cells if cell["status"] == "not-run"} == {"bm25"}
    assert {cell["backend"] for cell in cells if cell["status"] == "complete"} == {None, "none", *ORACLES}
    assert cli("report", copy).returncode == 3
    mended = cli("run", "--resume", copy)
    assert (mended.returncode, mended.stderr) == (0, "") and "4 of them finished before" in mended.stdout


@pytest.mark.slow
def test_a_backend_that_writes_to_its_log_fails_and_the_others_play(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "-b", "tests.support.unruly_backends:ForgesItsLog", "-b", "bm25", *SMALL, "--out", tmp_path)
    every = logs(only(tmp_path)).values()
    found = [log for log in every if log.trial.backend == "tests.support.unruly_backends:ForgesItsLog"]
    for log in found:  # where a child cannot see its log, it cannot write to it
        forged = log.path.with_suffix(".forged").exists()
        assert log.closed and log.closed.status == ("failed" if forged else "complete")
        assert not forged or (done.returncode == 3 and "something else wrote to its log" in done.stdout)
    assert found and all(log.sealed for log in every)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"?")], ids=["missing", "flipped"])
def test_a_blob_that_is_missing_or_flipped_is_one_line(cli: Cli, copy: Path, damage: object) -> None:
    assert callable(damage)
    for path in copy.glob("blobs/*/*"):
        damage(path)
    done = cli("score", copy)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert all(line.startswith("coldwarm: ") for line in done.stderr.splitlines())


@pytest.mark.slow
def test_a_backend_whose_server_cannot_be_had_is_one_line_and_the_others_play(cli: Cli, tmp_path: Path) -> None:
    nowhere = {"LETTA_BASE_URL": "http://127.0.0.1:9"}
    done = cli("run", "-b", "letta", "-b", "bm25", *SMALL, "--out", tmp_path, env=nowhere)
    assert one_line(done, 3).startswith("coldwarm: letta could not run: LETTA_BASE_URL names http://127.0.0.1:9")
    logs, _ = Folder(only(tmp_path)).logs()
    assert {log.trial.backend for log in logs.values()} == {None, "bm25", "oracle", "stale_oracle"}


@pytest.mark.slow
def test_a_resume_of_one_trial_drops_no_other(cli: Cli, copy: Path) -> None:
    before = json.loads((copy / "run.json").read_text())
    lost, other = (next(iter(copy.glob(f"logs/{name}-*.jsonl"))) for name in ("none", "bm25"))
    lost.unlink()
    done = cli("run", "--resume", copy, "--trial", other.name.partition(".")[0])
    assert done.returncode == 3 and "did not get to" in one_line(done, 3)
    after = json.loads((copy / "run.json").read_text())
    assert after["trials"] == before["trials"]
    cells = json.loads((copy / "results.json").read_text())["cells"]
    assert {cell["status"] for cell in cells if cell["backend"] == "none"} == {"not-run"}
    assert cli("run", "--resume", copy).returncode == 0 and lost.exists()


@pytest.mark.slow
def test_a_run_of_some_trials_is_resumed_as_it_was_asked_for(cli: Cli, program: Cli, tmp_path: Path) -> None:
    asked = ("run", "-b", "none", "-b", "bm25", *SMALL, "--out", tmp_path)
    assert cli(*asked, "--trial", "none-").returncode == 0
    assert cli("run", "--resume", only(tmp_path)).returncode == 0
    assert {log.trial.backend for log in logs(only(tmp_path)).values()} == {"none"}
    assert cli("run", "--resume", only(tmp_path), "--trial", "cold-").returncode == 0
    assert {log.trial.backend for log in logs(only(tmp_path)).values()} == {"none", None}


@pytest.mark.slow
def test_a_trial_that_does_not_exist_is_one_line(cli: Cli, tmp_path: Path) -> None:
    line = one_line(cli("run", "-b", "none", *SMALL, "--out", tmp_path, "--trial", "nosuch"), 2)
    assert "--trial nosuch" in line and not list(tmp_path.iterdir())


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("answer", HEAVY)
def test_the_heaviest_answers_end_their_trial_within_bounds(cli: Cli, tmp_path: Path, answer: str) -> None:
    done = cli(
        "run", "-b", f"tests.support.unruly_backends:Weighs,answer={answer}", "-b", "bm25", *SMALL, "--out", tmp_path
    )
    cells = statements.compute_results(Folder(only(tmp_path))).cells
    assert {cell.status for cell in cells if cell.backend == "bm25"} == {"complete"}
    assert done.returncode == (3 if "limit" in done.stderr else 0) and len(done.stderr) < 2000
