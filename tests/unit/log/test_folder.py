"""The folder of a run: attempts, what counts as the log of a trial, and what is no folder of a run."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import commands
from harness.log.folder import Folder, FolderError, RunFile, commit, join_command
from harness.machine import leftovers
from harness.model.scenario import Scenario
from harness.model.trial import Selection, Spec
from tests.support.logs import STORY, Tape, story
from tests.support.runs import run

RUN = RunFile(
    id="x", version="1", commit=None, dirty=None, command="coldwarm run", tokens="t", embedder="e", trials=(),
    selection=Selection(backends=(Spec(adapter="none"),)),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder.create(tmp_path / "out")
    made.write(RUN)
    return made


def attempt(folder: Folder, closed: bool = True, scenario: Scenario = STORY) -> Path:
    """A log of the one trial of these tests, under the name of its next attempt."""
    tape = Tape(folder.root, scenario=scenario)
    log = tape.log("complete" if closed else None)
    return Path(shutil.move(log.path, folder.new_log(tape.trial.id)))


def test_a_new_folder_is_the_latest(tmp_path: Path) -> None:
    first, second = Folder.create(tmp_path), Folder.create(tmp_path)
    assert first.root != second.root and (tmp_path / "latest").resolve() == second.root
    second.write(RUN)
    assert Folder.open(tmp_path / "latest").root == second.root and second.read() == RUN


def test_attempts_are_numbered_and_never_overwritten(folder: Folder) -> None:
    paths = [attempt(folder, closed) for closed in (False, True, False)]
    assert [path.name.rsplit(".", 2)[1] for path in paths] == ["1", "2", "3"]
    (log,) = folder.logs()[0].values()
    assert log.path == paths[1], "the newest that is closed"


def test_a_log_that_cannot_be_read_is_never_left_out_unsaid(folder: Folder) -> None:
    log = attempt(folder)
    assert [[*logs] for logs in folder.whole_stories()] == [[log.name.rsplit(".", 2)[0]]]
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(FolderError, match="not a regular file; restore it"):
        list(folder.whole_stories())
    for command in (["cost", folder.root], ["calibrate", folder.root], ["export", "spans", folder.root, "spans"]):
        done = CliRunner().invoke(commands, [str(each) for each in command])
        assert done.exit_code == 2 and str(log) in done.stderr and not Path("spans").exists()


def test_for_the_next_attempt_a_folder_is_listed_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = attempt(folder), Folder(folder.root)
    trial = first.name.rsplit(".", 2)[0]
    assert [each.new_log(trial).name for each in (folder, other)] == [f"{trial}.2.jsonl"] * 2
    for number in (2, 3):
        first.with_name(f"{trial}.{number}.jsonl").touch()
    monkeypatch.setattr(Path, "iterdir", None)
    assert [each.new_log(trial).name for each in (folder, other)] == [f"{trial}.4.jsonl"] * 2


def test_of_open_attempts_the_newest_counts(folder: Folder) -> None:
    paths = [attempt(folder, closed=False) for _ in range(11)]
    (log,) = folder.logs()[0].values()
    assert log.path == paths[-1]


def test_an_attempt_that_never_began_hides_nothing(folder: Folder) -> None:
    good = attempt(folder)
    for content in (b"", b'{"kind":"opened","log_sch'):
        attempt(folder).write_bytes(content)
    logs, problems = folder.logs()
    assert [log.path for log in logs.values()] == [good] and problems == []


def test_a_damaged_log_is_a_line_and_hides_nothing(folder: Folder) -> None:
    good, bad = attempt(folder), attempt(folder)
    bad.write_bytes(b"\x00\n")
    (folder.root / "logs" / "notes.txt").write_text("not a log")
    (folder.root / "logs" / "no-number.jsonl").write_text("not a log")
    logs, problems = folder.logs()
    assert [log.path for log in logs.values()] == [good]
    assert len(problems) == 1 and problems[0].startswith(f"{bad}:1: ")


def test_logs_come_story_by_story(tmp_path: Path) -> None:
    folder = run(tmp_path)
    told = [{log.scenario.id for log in logs.values()} for logs, _ in folder.stories()]
    assert told == [{"rename/story"}, {"rename/twin"}]
    assert [set(logs) for logs, _ in folder.stories()] == [
        {log.trial.id for log in folder.logs()[0].values() if log.scenario.id == each} for (each,) in told
    ]


def test_a_trial_whose_story_was_changed_between_attempts_comes_once(folder: Folder) -> None:
    attempt(folder)
    newest = attempt(folder, scenario=story(title="Told anew"))
    ((logs, _),) = folder.stories()
    assert [log.path for log in logs.values()] == [newest]


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"{}", b"[]", b'{"id": 3}', b"[" * 100_000])
def test_what_is_no_run_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(FolderError) as caught:
        Folder.open(tmp_path)
    assert str(tmp_path) in str(caught.value) and len(str(caught.value).splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"[]"])
def test_what_is_wrong_with_all_of_run_json_has_one_colon(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(FolderError, match=r"/run\.json: (Invalid JSON|Input should be an object)"):
        Folder.open(tmp_path)


@pytest.mark.parametrize("below", ["logs", "drills"])
def test_logs_that_cannot_be_read_are_not_called_missing(folder: Folder, below: str) -> None:
    shutil.rmtree(folder.root / below, ignore_errors=True)
    (folder.root / below).symlink_to(below)  # like a folder of somebody else, which root could read
    with pytest.raises(FolderError, match=rf"/{below}: its logs cannot be read: .*; mend that"):
        Folder.open(folder.root)


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/nowhere", "latest-is-a-folder"])
def test_where_nothing_can_be_written_is_one_line(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "latest-is-a-folder" / "latest" / "full").mkdir(parents=True)
    with pytest.raises(FolderError, match="choose another with --out") as caught:
        Folder.create(tmp_path / where)
    assert len(str(caught.value).splitlines()) == 1


def test_run_json_is_replaced_as_a_whole(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = folder.file.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            folder.write(RUN.model_copy(update={"id": "y"}))
    assert folder.file.read_bytes() == before


def test_outside_of_a_checkout_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == (None, None)


def test_a_run_belongs_to_one_process(folder: Folder) -> None:
    with (
        folder.claim(),
        pytest.raises(FolderError, match="another process plays this run"),
        Folder(folder.root).claim(),
    ):
        pass
    with folder.claim():
        assert folder.file.exists()


@pytest.mark.parametrize(("keep", "left"), [(False, False), (True, True)])
def test_stores_of_a_run_that_was_killed_are_cleared_unless_they_were_asked_for(
    folder: Folder, keep: bool, left: bool
) -> None:
    killed, next_ = folder, Folder.create(folder.root.parent)
    killed.write(RUN.model_copy(update={"keep": keep}))
    (killed.work / "a-store").mkdir(parents=True)
    (killed.root / leftovers.LOCK).touch()  # its holder has died
    with next_.claim():
        assert (killed.work / "a-store").exists() is left and killed.file.exists()


def test_stores_of_a_run_at_work_are_left_alone(folder: Folder) -> None:
    next_ = Folder.create(folder.root.parent)
    (folder.work / "a-store").mkdir(parents=True)
    with folder.claim(), next_.claim():
        assert (folder.work / "a-store").exists()


def test_the_latest_is_never_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Folder.create(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            Folder.create(tmp_path)
    assert (tmp_path / "latest").resolve() == first.root


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("run -b chroma --out /home/ana/runs -n 0", "run -b chroma -n 0"),
        ("run --out=/home/ana/runs -b chroma", "run -b chroma"),
        ("run -b chroma --out", "run -b chroma"),
        ("run -b 'my store' --outer x", "run -b 'my store' --outer x"),
    ],
)
def test_a_command_is_kept_without_the_folder_that_it_writes_to(words: str, kept: str) -> None:
    assert join_command(shlex.split(words)) == kept
