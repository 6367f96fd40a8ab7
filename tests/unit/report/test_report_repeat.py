"""The commands of receipts: what the scan saw, grep, sqlite3 and od see, really run; a trial's plans that trial."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import lzma
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable
from pathlib import Path

import cramjam
import lz4.frame
import pytest

from harness.adapter import Layer
from harness.log.folder import RunFile
from harness.model.drill import DrillTrial
from harness.model.trial import SCRIPTED, Selection, Spec, Trial
from harness.report.timeline.repeat import Replay, repeat
from harness.scan.disk import Needles, scan
from tests.support.commands import planned, select_options

CANARY = "cw0123456789abcdef0123"
HARD = 'Zoë\'s "key" \\ 日本 $(id)'


def run(root: Path, command: str) -> str:
    done = subprocess.run(["sh", "-c", command], cwd=root, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@pytest.mark.parametrize("canary", [CANARY, HARD])
def test_grep_prints_the_offsets_that_the_scan_saw(tmp_path: Path, canary: str) -> None:
    forms = {
        "utf-8": canary.encode(),
        "utf-16": canary.encode("utf-16-be"),
        "json": json.dumps(canary)[1:-1].encode(),
        "base64": base64.b64encode(b"1" + canary.encode() + b"23"),
        "hex": canary.encode().hex().encode(),
    }
    if canary.isascii():
        del forms["json"]  # the same as UTF-8
    for form, data in forms.items():
        root = tmp_path / f"it's a {form}"
        root.mkdir()
        (root / "a 'file'").write_bytes(b"\xff\x00--" + data + b"\n\n" + data + b"!")
        layer = Layer("all", ".", "file")
        seen = next(each for each in scan(root, layer, Needles({"x": canary})).sightings if each.form == form)
        lines = run(tmp_path, repeat(layer, seen, canary, root.name)).splitlines()
        offsets = [int(line.partition(":")[0]) for line in lines if line[:1].isdigit()]
        assert (seen.count, seen.offset) == (2, offsets[0]) and len(offsets) == 2, (form, lines)


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs the sqlite3 command")
@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("canary", [CANARY, HARD])
def test_sqlite3_counts_the_rows_that_the_scan_saw(tmp_path: Path, mode: str, canary: str) -> None:
    root = tmp_path / "a#b?c%20d"
    root.mkdir()
    link = sqlite3.connect(root / "x.db")
    link.execute(f"pragma journal_mode = {mode}")
    link.execute('create table "a.b\'""c" (id integer, "order" text)')
    link.executemany('insert into "a.b\'""c" values (?, ?)', [(1, f"say {canary}"), (2, canary), (3, "else")])
    link.commit()
    layer = Layer("db", "x.db", "sqlite")
    seen = [each for each in scan(root, layer, Needles({"x": canary})).sightings if each.place.startswith("rows")]
    assert [(each.form, each.count) for each in seen] == [("utf-8", 2)]
    assert run(tmp_path, repeat(layer, seen[0], canary, root.name)) == "2\n"
    link.close()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "zlib": zlib.compress,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lz4": lz4.frame.compress,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    "snappy": lambda data: bytes(cramjam.snappy.compress(data)),
}


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKED)
def test_what_was_packed_is_unpacked_and_shown(tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the Python that coldwarm is installed in."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "store.bin").write_bytes(b"head" + PACKED[packing](f"say {CANARY} ".encode() * 20))
    found = scan(tmp_path, Layer("store", "store.bin", "file"), Needles({"x": CANARY})).sightings
    seen = next(each for each in found if each.form == f"utf-8 in {packing}")
    assert run(tmp_path, repeat(Layer("store", "store.bin", "file"), seen, CANARY)).count(CANARY) == 20


def test_od_shows_the_numbers_of_a_vector(tmp_path: Path) -> None:
    numbers = array("f", [(-1) ** at * (1 + at / 8) for at in range(32)])
    (tmp_path / "index.bin").write_bytes(b"head" + numbers.tobytes())
    layer = Layer("index", "index.bin", "file")
    (seen,) = scan(tmp_path, layer, Needles({}, {"v": numbers.tobytes()})).sightings
    shown = run(tmp_path, repeat(layer, seen, "")).split("\n")
    assert [float(word) for line in shown for word in line.split()[1:]] == list(numbers[:16])


def test_a_hostile_path_is_data_in_a_command(tmp_path: Path) -> None:
    name = "$(touch made)`touch made`;touch made \n\x1b[31m"
    (tmp_path / name).write_text(CANARY)
    layer = Layer("all", ".", "file")
    (seen,) = scan(tmp_path, layer, Needles({"x": CANARY})).sightings
    command = repeat(layer, seen, CANARY)
    assert "\x1b" not in command and "\n" not in command
    subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True)
    assert not (tmp_path / "made").exists()


# --- a trial again ------------------------------------------------------------------------------------------------


STORY = "stale-deploy-rule/forgotten-runbook"
SELECTIONS = [
    "-b chroma",
    "-b bm25 -n 0",
    "-b bm25 -b mem0,store=faiss -n 3 -n 7",
    "-b chroma@1.5.9 -b chroma@1.6.0 -d upgrade --drill-size 20",
    "-b mem0@2.0.4,python=3.12,store=faiss -d deletion --seed 4",
    "-b mine=my_store:MyStore -b my_store:Other -k 9 --budget 100 --seed 3 --undated",
    "-b bm25 --drill-size least --seeds 2",
    "-b bm25 --reader choice --chat stand-in --seed 2",
    "-b bm25 --reader chat --model a-model --chat model",
    "-b chroma --writer chat --model a-model --chat recordings/of-one --undated",
    "-b letta,api_key=very-secret -d keeping",
]


@pytest.mark.slow
@pytest.mark.parametrize("words", SELECTIONS)
def test_each_trial_of_a_run_has_a_command_that_plans_that_very_trial(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDWARM_UNCONTAINED", "1")  # it is planned, also where nothing contains a command
    asked = f"coldwarm run {words} -s {STORY}"
    replay = Replay(select_options(asked))
    trials = planned(asked)
    assert {type(trial) for trial in trials} == {Trial, DrillTrial}
    for trial in trials:
        command = replay.command(trial)
        assert planned(command) == [trial], command
        assert "very-secret" not in command


def test_rounds_stand_in_the_command_where_there_are_several() -> None:
    asked = f"coldwarm run -b bm25 -s {STORY}"
    replay, trial = Replay(select_options(asked)), next(each for each in planned(asked) if isinstance(each, Trial))
    assert "--rounds" not in replay.command(trial)
    assert " --rounds 3 " in replay.command(trial.model_copy(update={"rounds": 3}))


def test_a_run_of_another_suite_says_where_it_is() -> None:
    file = "ours/migration/first.toml"
    asked = f"coldwarm run -b bm25 -s {file} -n 0 --tasks=ours --fixtures 'our repos'"
    given = RunFile(
        id="r", version="1", commit=None, dirty=None, command=asked, embedder="", tokens="", trials=(),
        selection=Selection(backends=(), scenarios=(file,)),
    )  # fmt: skip
    trial = Trial(scenario="migration/first", noise=0, seed=1, reader=SCRIPTED, k=5, budget=800)
    words = shlex.split(Replay.of(given).command(trial))
    assert words[words.index("-s") + 1] == file
    assert words[words.index("--suite") :][:4] == ["--suite", "ours", "--fixtures", "our repos"]


def test_an_interpreter_that_was_not_kept_is_a_word_in_capitals() -> None:
    spec = Spec(adapter="mem0", release="2.0.4", settings={"store": "faiss", "api_key": "x"})
    assert spec.argument == "mem0,api_key=API_KEY,python=PYTHON,store=faiss"


def test_a_name_from_a_damaged_log_cannot_leave_its_word() -> None:
    trial = Trial(backend="x; rm -rf /\x1b[2J", scenario="a/$(id)", noise=0, seed=1, reader=SCRIPTED, k=5, budget=1)
    command = Replay(Selection(backends=())).command(trial)
    assert "\x1b" not in command and shlex.split(command)[3].startswith("x; rm") and "'a/$(id)'" in command
