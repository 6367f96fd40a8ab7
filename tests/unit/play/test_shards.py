"""Shards: what is dealt to which, and that what they played apart becomes the run that it would have been."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness import cli
from harness.compare import statements
from harness.log.folder import Folder, FolderError, RunFile
from harness.model.backend import SOUND
from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Spec
from harness.play import plan, shards
from harness.play.plan import Shard
from tests.support.runs import run

OWN = {"id": "", "command": ""}


@pytest.mark.slow
@given(st.integers(1, 12), st.integers(0, 60))
def test_every_place_is_dealt_once_and_shares_differ_by_one_at_most(of: int, places: int) -> None:
    shares = [[at for at in range(places) if Shard(number, of).takes(at)] for number in range(1, of + 1)]
    assert sorted(at for share in shares for at in share) == list(range(places))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "a/b", "1/4 ", "-1/4", "1/4/4", "1/99999"])
def test_what_is_no_share_is_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not of the form 2/4") as caught:
        Shard.parse(text)
    assert "\n" not in str(caught.value)
    assert str(Shard.parse("2/4")) == "2/4"


# --- merging --------------------------------------------------------------------------------------------------------


@pytest.fixture
def whole(tmp_path: Path) -> Folder:
    return run(tmp_path / "whole")


def shard(whole: Folder, number: int, of: int = 2, **other: object) -> Path:
    """The share of a run that was played whole."""
    file, root = whole.read(), whole.root.parent / f"shard-{number}-{len(other)}"
    scenarios = list(dict.fromkeys(trial.scenario for trial in file.trials))
    mine = {name for at, name in enumerate(scenarios) if Shard(number, of).takes(at)}
    trials = tuple(trial for trial in file.trials if trial.scenario in mine)
    (root / "logs").mkdir(parents=True)
    shutil.copytree(whole.root / "blobs", root / "blobs")
    for trial in trials:
        shutil.copy(whole.root / "logs" / f"{trial.id}.1.jsonl", root / "logs")
    own = {"id": f"own-{number}", "command": "its own", "shard": f"{number}/{of}", "trials": trials}
    Folder(root).write(RunFile.model_validate({**file.model_dump(), **own, **other}))
    return root


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_merged_run_is_the_whole_one_but_for_its_id_and_command(
    whole: Folder, tmp_path: Path, order: tuple[int, int]
) -> None:
    merged = shards.merge([shard(whole, number) for number in order], tmp_path / "out")
    assert merged.read().model_copy(update=OWN) == whole.read().model_copy(update=OWN)
    assert merged.read().id == merged.root.name and "2 of 2 shards" in merged.read().command
    one, other = (statements.compute_results(folder) for folder in (whole, merged))
    assert one.model_copy(update={"run": one.run.model_copy(update=OWN)}) == other.model_copy(
        update={"run": other.run.model_copy(update=OWN)}
    )


def test_a_merged_run_says_why_a_trial_left_no_log(whole: Folder, tmp_path: Path) -> None:
    parts = [shard(whole, number, unbegun={f"trial-{number}": f"reason {number}"}) for number in (1, 2)]
    merged = shards.merge(parts, tmp_path / "out").read()
    assert merged.unbegun == {"trial-1": "reason 1", "trial-2": "reason 2"}


def test_a_missing_shard_is_said_and_stays_said(whole: Folder, tmp_path: Path) -> None:
    merged = shards.merge([shard(whole, 2, 3)], tmp_path / "out")
    assert merged.read().missing == statements.compute_results(merged).run.missing == ("1/3", "3/3")
    assert {trial.scenario for trial in merged.read().trials} == {"rename/twin"}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"version": "8"}, "its version differs"),
        ({"commit": "cd" * 20}, "its commit differs"),
        ({"selection": Selection(backends=(), k=9)}, "its selection differs"),
        ({"embedder": "another"}, "its embedder differs"),
        ({"shard": "2/3"}, "shard 2/3 does not fit to shard 1/2"),
        ({"shard": "1/2"}, "shard 1/2 is there twice"),
        ({"shard": None}, "not a shard: play it with `coldwarm run --shard 1/4`"),
    ],
)
def test_what_does_not_fit_is_one_line_and_makes_no_run(
    whole: Folder, tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    parts = [shard(whole, 1), shard(whole, 2, **other)]
    with pytest.raises(FolderError) as caught:
        shards.merge(parts, tmp_path / "out")
    assert said in str(caught.value) and str(parts[1]) in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="not the folder of a run"):
        shards.merge([tmp_path], tmp_path / "out")


def test_drills_stand_as_in_the_plan_whoever_played_them(whole: Folder, tmp_path: Path) -> None:
    names = ("b", "a", SOUND)
    selection = Selection(backends=(Spec(adapter="b"), Spec(adapter="a")), drills=("keeping", "deletion"))
    every: list[DrillTrial] = plan.list_drills(selection, names)
    parts = []
    for number in (1, 2):
        dealt = [name for at, name in enumerate(names) if Shard(number, 2).takes(at)]
        mine = tuple(each for each in every if each.backend in dealt)
        parts.append(shard(whole, number, selection=selection.model_dump(), drills=mine))
    assert shards.merge(parts, tmp_path / "out").read().drills == tuple(every)


# --- damage ---------------------------------------------------------------------------------------------------------


def log_of(root: Path) -> Path:
    return min((root / "logs").glob("keeper-*.jsonl"))


def harmed(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda root: log_of(root).write_bytes(change(log_of(root).read_bytes()))


def piped(root: Path) -> None:
    path = log_of(root)
    path.unlink()
    os.mkfifo(path)


def linked(root: Path) -> None:
    path = log_of(root)
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "code", "said"),
    [
        (harmed(lambda log: log.replace(b'"closed"', b'"clozed"')), 3, "not an event of schema"),
        (
            harmed(lambda log: b"".join(log.splitlines(keepends=True)[:2] + log.splitlines(keepends=True)[3:])),
            3,
            "removed",
        ),
        (harmed(lambda log: log[: len(log) // 2]), 3, "did not get to its end"),
        (harmed(lambda log: log[::-1]), 3, "not an opening event"),
        (lambda root: log_of(root).unlink(), 3, "did not get to its end"),
        (lambda root: (root / "run.json").write_bytes(b"{"), 2, "run.json"),
        (lambda root: (root / "run.json").unlink(), 2, "not the folder of a run"),
        (piped, 2, "cannot be copied"),
        (linked, 2, "cannot be copied"),
    ],
    ids=["changed", "removed", "cut", "reversed", "gone", "run file", "no run file", "pipe", "link"],
)
def test_a_damaged_shard_is_said_in_one_line(
    whole: Folder, tmp_path: Path, damage: Callable[[Path], object], code: int, said: str
) -> None:
    parts = [shard(whole, 1), shard(whole, 2)]
    damage(parts[1])
    done = CliRunner().invoke(cli.commands, ["merge", *map(str, parts), "--out", str(tmp_path / "out")])
    assert done.exit_code == code and isinstance(done.exception, SystemExit)
    lines = done.stderr.splitlines()
    assert (
        said in done.stderr and "Traceback" not in done.output and all(each.startswith("coldwarm: ") for each in lines)
    )
    if code == 2:
        assert len(lines) == 1 and str(parts[1]) in lines[0] and not list((tmp_path / "out").glob("*"))
    else:
        results = statements.compute_results(Folder((tmp_path / "out" / "latest").resolve()))
        broken = {cell.trial for cell in results.cells if cell.status in ("not-run", "incomplete")}
        assert len(broken) == 1 and {cell.status for cell in results.cells} > {"complete"}


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_damaged_blob_takes_the_place_of_no_whole_one(whole: Folder, tmp_path: Path, damaged: int) -> None:
    parts = [shard(whole, 1), shard(whole, 2)]
    for blob in (parts[damaged - 1] / "blobs").glob("*/*"):
        blob.write_bytes(b"?")
    results = statements.compute_results(shards.merge(parts, tmp_path / "out"))
    assert not results.run.problems and {cell.status for cell in results.cells} == {"complete"}


# --- seals ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_logs_without_a_seal_are_counted_and_said(whole: Folder) -> None:
    assert statements.compute_results(whole).run.unsealed == 0
    path = log_of(whole.root)
    old = re.sub(rb'\{"n":\d+,', b"{", path.read_bytes(), flags=re.MULTILINE)
    old = re.sub(rb',"troubles".*\}$', b"}", old.rstrip()).replace(b'"log_schema":2', b'"log_schema":1')
    path.write_bytes(old + b"\n")
    done = CliRunner().invoke(cli.commands, ["report", str(whole.root)])
    said = "Not sealed: 1 log of an older coldwarm"
    assert done.exit_code == 0 and said in done.stderr and said in " ".join(done.stdout.split())
    for name in ("summary.md", "report.html"):
        assert said in (whole.root / name).read_text()
