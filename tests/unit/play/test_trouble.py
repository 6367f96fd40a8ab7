"""What goes wrong inside a trial, and in a command: an outcome with a name, never the end of everything."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import cli, metrics, paths
from harness.cli import common
from harness.gateway.embedder import EmbedderError
from harness.gateway.gateway import Gateway, GatewayError
from harness.log.blobs import Blobs, Unwritable
from harness.log.events import Closed, Sought
from harness.log.folder import Folder, commit
from harness.log.lines import Writer
from harness.log.reader import read
from harness.machine import git, leftovers, shortage
from harness.metrics import faults
from harness.model.backend import Fault
from harness.model.dates import parse_moment
from harness.play import trouble
from harness.play.store import Hindered
from tests.support.limits import limited
from tests.support.logs import Tape

SURROGATE = "a\ud800b"


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[tuple[Tape, Writer]]:
    tape = Tape(tmp_path)
    with Writer(tmp_path / "one.jsonl") as log:
        log.append(tape.events[0])
        yield tape, log


@pytest.mark.parametrize("error", [OverflowError("year 0"), RecursionError(), OSError(5, "torn"), KeyError(SURROGATE)])
def test_what_breaks_inside_a_trial_closes_it_as_ours(
    tmp_path: Path, writer: tuple[Tape, Writer], error: Exception
) -> None:
    tape, log = writer
    with trouble.fence(log, Closed, tape.blobs):
        raise error
    told = read(tmp_path / "one.jsonl", tape.blobs)
    assert told.closed and told.closed.status == "failed" and told.closed.fault and not told.final and told.sealed
    assert told.closed.fault.kind == "harness" and type(error).__name__ in told.closed.fault.message
    trace = tmp_path / told.closed.fault.message.rpartition(" ")[2]
    assert trace.read_text().startswith("Traceback") and f"{__name__.rpartition('.')[2]}.py" in trace.read_text()
    assert not faults.of_trial(told)  # no call of the backend's failed


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_what_the_machine_lacks_closes_a_trial_as_its_doing(
    tmp_path: Path, writer: tuple[Tape, Writer], number: int
) -> None:
    tape, log = writer
    with trouble.fence(log, Closed, tape.blobs):
        raise RuntimeError("the work tree") from OSError(number, os.strerror(number))
    told = read(tmp_path / "one.jsonl", tape.blobs)
    assert told.closed and told.closed.fault and not told.final and told.closed.fault.kind == "machine"
    assert "coldwarm" not in told.closed.fault.message and not faults.of_trial(told)
    (cell, *_) = metrics.score([told])
    assert cell.status == "failed" and {each.status for each in cell.measures.values()} == {"not-run"}


def test_a_call_that_the_machine_failed_is_none_of_the_backends(tmp_path: Path, writer: tuple[Tape, Writer]) -> None:
    tape, log = writer
    lacking = Fault(kind="machine", op="remember", message="no room is left: make room", at="store.py:7")
    with trouble.fence(log, Closed, tape.blobs):
        raise Hindered(lacking)
    told = read(tmp_path / "one.jsonl", tape.blobs)
    assert told.closed and not told.final and told.closed.fault.at == lacking.at
    assert told.closed.fault.message == "no room is left: make room; --resume plays it again"
    assert not faults.of_trial(told)


def test_an_event_that_cannot_be_written_is_ours_and_leaves_no_gap(tmp_path: Path, writer: tuple[Tape, Writer]) -> None:
    tape, log = writer
    with trouble.fence(log, Closed, tape.blobs):
        log.append(Sought.model_construct(stage="after", route="get", fact="pin", where=SURROGATE))
    told = read(tmp_path / "one.jsonl", tape.blobs)
    assert told.closed and told.closed.fault and told.closed.fault.kind == "harness"


@pytest.mark.parametrize(
    "error", [Unwritable(errno.ENOSPC, "full", "log"), EmbedderError("gone"), KeyboardInterrupt(), SystemExit(3)]
)
def test_what_no_trial_can_do_without_ends_the_run(
    tmp_path: Path, writer: tuple[Tape, Writer], error: BaseException
) -> None:
    tape, log = writer
    with pytest.raises(type(error)), trouble.fence(log, Closed, tape.blobs):
        raise error
    assert read(tmp_path / "one.jsonl", tape.blobs).closed is None


def test_a_log_at_the_limit_of_file_sizes_says_so(tmp_path: Path) -> None:
    with (
        limited(resource.RLIMIT_FSIZE, 100),
        Writer(tmp_path / "log.jsonl") as log,
        pytest.raises(Unwritable) as caught,
    ):
        log.append(Closed(status="failed", fault=Fault(kind="harness", op="play", message="long" * 50)))
    assert shortage.explain_error(caught.value).endswith("ulimit -f unlimited")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
        (OSError(errno.ENOSPC, "No space left on device"), "make room"),
        (OSError(errno.EROFS, "Read-only file system"), "the file system is read-only: mount it for writing"),
        (OSError("torn"), "torn"),
    ],
)
def test_what_cannot_be_written_says_what_to_do_if_the_machine_lacks_something(error: OSError, says: str) -> None:
    assert says in shortage.tell(error)


def test_a_log_is_not_closed_twice(writer: tuple[Tape, Writer]) -> None:
    tape, log = writer
    with pytest.raises(ValueError, match="late"), trouble.fence(log, Closed, tape.blobs):
        log.append(Closed(status="complete"))
        raise ValueError("late")


def test_a_full_disk_under_a_blob_is_no_trials_doing(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("not a folder")
    with pytest.raises(Unwritable, match="blobs"):
        Blobs(tmp_path / "blobs").put(b"x")


# --- dates ----------------------------------------------------------------------------------------------------------

DATES = (
    "0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00", "2025-01-01",
    "2025-01-01T00:00:00Z", "20250101T000000Z", "2025-W01-1", "1969-12-31T23:59:59+00:00", "2025-06-30T23:59:60Z",
    "2025-06-30T24:00:00Z", "yesterday", "", None, "\ud800", "\u0662\u0660\u0662\u0665-01-01", "1e400", "0" * 10_000,
)  # fmt: skip


def test_dates_of_every_form_can_be_put_in_order() -> None:
    found = [when for text in DATES if (when := parse_moment(text))]
    assert len(found) == 8 and all(one <= other for one, other in pairwise(sorted(found)))
    assert parse_moment("2025-01-01T00:00:00") == datetime(2025, 1, 1, tzinfo=UTC)
    assert parse_moment("0001-01-01T00:00:00") is not None and parse_moment("2025-06-30T23:59:60Z") is None


@pytest.mark.slow
@given(st.text() | st.datetimes(timezones=st.none() | st.timezones()).map(datetime.isoformat))
def test_no_date_is_an_error(text: str) -> None:
    assert (parse_moment(text) or datetime.min.replace(tzinfo=UTC)) >= datetime.min.replace(tzinfo=UTC)


# --- folders --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    top = tmp_path / "top"
    nest(top, 1500)
    leftovers.remove(top)
    assert not top.exists()
    leftovers.remove(top)


def nest(top: Path, depth: int) -> None:
    top.mkdir()
    here = os.open(top, os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(30, "Read-only file system", "/runs/one"), "coldwarm: /runs/one: the file system is read-only"),
        (RecursionError("too deep\nby far"), "coldwarm: RecursionError: too deep by far; a fault of coldwarm"),
        (ValueError("::error::\x1b[2J"), "ValueError"),
    ],
)
def test_anything_else_is_one_line_and_could_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], error: Exception, says: str
) -> None:
    @click.command()
    def breaks() -> None:
        raise error

    monkeypatch.setattr(cli, "commands", breaks)
    monkeypatch.setattr(cli, "_heed_signals", lambda: ())
    monkeypatch.setattr(sys, "argv", ["coldwarm"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as ending:
        cli.main()
    said = capsys.readouterr().err
    assert ending.value.code == 3 and len(said.splitlines()) == 1 and says in said
    assert "\x1b" not in said and "::error" not in said
    if not isinstance(error, OSError):
        (trace,) = tmp_path.glob("coldwarm-traceback-*.txt")
        assert str(trace) in said and "raise error" in trace.read_text()


@pytest.mark.slow
def test_a_gateway_that_cannot_start_is_no_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "the gateway on 127.0.0.1 is cut off (Network is unreachable)"

    def refuse(_: Gateway) -> Gateway:
        raise GatewayError(why)

    monkeypatch.setattr(Gateway, "__enter__", refuse)
    monkeypatch.setattr(cli, "_heed_signals", lambda: ())
    for words in (["conform", "notes", "--fresh"], ["promises", "-b", "notes"], ["doctor", "--out", str(tmp_path)]):
        monkeypatch.setattr(sys, "argv", ["coldwarm", *words])
        with pytest.raises(SystemExit) as ending:
            cli.main()
        said = capsys.readouterr()
        *_, last = (said.out if words[0] == "doctor" else said.err).splitlines()
        assert ending.value.code == 3 and last.endswith(why)
        assert last.split()[0] == ("BAD" if words[0] == "doctor" else "coldwarm:")


def test_a_run_that_was_removed_before_it_is_scored_could_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        common.score_run(Folder(tmp_path / "gone"))
    said = capsys.readouterr().err
    assert ending.value.code == 3 and str(tmp_path / "gone") in said and "removed or changed meanwhile" in said


@pytest.mark.slow
@pytest.mark.parametrize("words", ["selftest suite -s forgotten-runbook", "list", "validate"])
def test_a_machine_without_git_is_one_line_and_could_not_run(tmp_path: Path, words: str) -> None:
    done = run_command(words, tmp_path, "PATH=/nonexistent", COLDWARM_CACHE=str(tmp_path / "cache"))
    said = "coldwarm: git was not found on the PATH; install git 2.31 or newer\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", said)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["--help", "list"])
def test_a_reader_that_has_gone_is_no_broken_gate(word: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "harness", word], cwd=paths.ROOT, stdout=theirs, stderr=subprocess.PIPE, check=False
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (3, b"")


# --- the shell --------------------------------------------------------------------------------------------------------


def run_command(words: str, tmp_path: Path, shell: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """What a user sees of a command, in a shell that says this before."""
    command = f"{shell} exec {sys.executable} -m harness {words}"
    environment = {**os.environ, "TMPDIR": str(tmp_path), **env}
    return subprocess.run(
        ["bash", "-c", command], cwd=paths.ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "says"),
    [
        ("ulimit -n 32;", "only 32 files may be open at a time"),
        ("ulimit -v 300000;", "293 MiB of address space"),
        ("ulimit -v 1000000;", "16 trials side by side need 4096 MiB of address space, and get 977 MiB"),
        ("ulimit -v 1000000;", "MiB: ulimit -v unlimited\n"),  # `demo`, which says it as well, has no -j
        ("ulimit -f 20;", "a file may have 20,480 bytes only, and 262,144 are needed: ulimit -f unlimited"),
    ],
)
def test_a_low_limit_is_one_line(tmp_path: Path, shell: str, says: str) -> None:
    done = run_command("run -s none -b none -d keeping -j 16", tmp_path, shell)
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1 and says in done.stderr


@pytest.mark.slow
def test_a_temporary_folder_that_no_module_path_can_name_is_refused(tmp_path: Path) -> None:
    (place := tmp_path / "a:b").mkdir()
    done = run_command("list", place)
    assert done.returncode == 2 and f"{place}: ':' in its name" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("columns", "width"), [("0", 80), ("1", 80), ("-5", 80), ("wide", 80), ("9" * 30, 80), ("100", 100)]
)
def test_a_width_that_is_none_is_80(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    with monkeypatch.context() as patched:  # else pytest itself would take it for the width of its report
        patched.setenv("COLUMNS", columns)
        assert common.open_terminal().width == width


@pytest.mark.slow
def test_a_folder_whose_name_cannot_be_written_down_is_refused(tmp_path: Path) -> None:
    done = run_command("run -s none -b none --out $'o\\xffut'", tmp_path)
    assert done.returncode == 2 and "its name is not UTF-8" in done.stderr and "Traceback" not in done.stderr


def test_a_locale_without_a_letter_of_a_name_is_what_is_told(tmp_path: Path) -> None:
    narrow = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run_command(r"cost $'o\xc3\xa4ut'", tmp_path, **narrow)
    assert done.returncode == 2 and "this locale has only ascii: set LC_ALL=C.UTF-8" in done.stderr


def test_a_temporary_folder_that_is_named_from_here_is_meant_from_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", ".")
    monkeypatch.setattr(cli, "_heed_signals", list)
    monkeypatch.setattr(cli, "commands", _Failing(ValueError("none")))
    with pytest.raises(SystemExit):
        cli.main()
    assert os.environ["TMPDIR"] == str(tmp_path)


def test_the_repository_of_our_caller_is_not_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = commit()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, value in (("GIT_DIR", ".git"), ("GIT_WORK_TREE", "."), ("GIT_INDEX_FILE", ".git/index")):
        monkeypatch.setenv(name, str(tmp_path / value))
    git.forget_caller()
    assert commit() == expected and "GIT_DIR" not in os.environ


def test_a_copy_that_found_no_room_names_its_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "commands", _Failing(OSError(28, "No space left on device", "/from", None, "/to")))
    monkeypatch.setattr(cli, "_heed_signals", list)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    assert capsys.readouterr().err == "coldwarm: /to: no room is left on a disk of this machine: make room\n"


class _Failing:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def main(self, **_: object) -> None:
        raise self._error
