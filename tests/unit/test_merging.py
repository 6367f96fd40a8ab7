"""Shards: what is dealt to which, and that what they played apart becomes the run that it would have been."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import compare, merging, plan, registry
from harness.drill import DrillTrial
from harness.folder import Folder, FolderError, RunFile
from harness.model import Selection, Spec
from harness.plan import Shard
from tests.runs import run

OWN = {"id": "", "command": ""}


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
    merged = merging.merge([shard(whole, number) for number in order], tmp_path / "out")
    assert merged.read().model_copy(update=OWN) == whole.read().model_copy(update=OWN)
    assert merged.read().id == merged.root.name and "2 of 2 shards" in merged.read().command
    one, other = (compare.results(folder) for folder in (whole, merged))
    assert one.model_copy(update={"run": one.run.model_copy(update=OWN)}) == other.model_copy(
        update={"run": other.run.model_copy(update=OWN)}
    )


def test_a_missing_shard_is_said_and_stays_said(whole: Folder, tmp_path: Path) -> None:
    merged = merging.merge([shard(whole, 2, 3)], tmp_path / "out")
    assert merged.read().missing == compare.results(merged).run.missing == ("1/3", "3/3")
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
    whole: Folder, tmp_path: Path, other: dict[str, object], said: str
) -> None:
    parts = [shard(whole, 1), shard(whole, 2, **other)]
    with pytest.raises(FolderError) as caught:
        merging.merge(parts, tmp_path / "out")
    assert said in str(caught.value) and str(parts[1]) in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="not the folder of a run"):
        merging.merge([tmp_path], tmp_path / "out")


def test_drills_stand_as_in_the_plan_whoever_played_them(whole: Folder, tmp_path: Path) -> None:
    names = ("b", "a", registry.SOUND)
    selection = Selection(backends=(Spec(adapter="b"), Spec(adapter="a")), drills=("keeping", "deletion"))
    every: list[DrillTrial] = plan.drilled(selection, names)
    parts = []
    for number in (1, 2):
        dealt = [name for at, name in enumerate(names) if Shard(number, 2).takes(at)]
        mine = tuple(each for each in every if each.backend in dealt)
        parts.append(shard(whole, number, selection=selection.model_dump(), drills=mine))
    assert merging.merge(parts, tmp_path / "out").read().drills == tuple(every)
