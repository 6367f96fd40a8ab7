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
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import cramjam
import lz4.block
import lz4.frame
import pytest

from harness.adapter import Layer
from harness.log.folder import RunFile
from harness.log.parts import Sighting
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


BARE: dict[str, Callable[[bytes], bytes]] = {
    "deflate": lambda data: zlib.compress(data, wbits=-15),
    "lz4": lz4.block.compress,
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
}
"""Without a head of their own: values of rows alone are unpacked from them."""
TEXTS = {"utf-8": CANARY.encode(), "utf-16": CANARY.encode("utf-16-be"), "base64": base64.b64encode(CANARY.encode())}


@pytest.fixture
def own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python that coldwarm is installed in."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
@pytest.mark.usefixtures("own_python")
@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("packing", PACKED)
def test_what_was_packed_is_unpacked_and_shown(tmp_path: Path, packing: str, form: str) -> None:
    (tmp_path / "store.bin").write_bytes(b"head" + PACKED[packing]((b"say " + TEXTS[form] + b"\n") * 20))
    layer = Layer("store", "store.bin", "file")
    seen = find_seen(tmp_path, layer, f"{form} in {packing}")
    assert len(run(tmp_path, repeat(layer, seen, CANARY)).splitlines()) == 20


@pytest.mark.slow
@pytest.mark.usefixtures("own_python")
@pytest.mark.parametrize(
    ("packing", "pack"), [*PACKED.items(), *BARE.items()], ids=[*PACKED, *(f"bare {name}" for name in BARE)]
)
def test_what_was_packed_in_rows_is_unpacked_and_shown(
    tmp_path: Path, packing: str, pack: Callable[[bytes], bytes]
) -> None:
    """Also of a value that fills more than a page, beside values that are not packed."""
    root = tmp_path / "a#b?c%20d"
    root.mkdir()
    with closing(sqlite3.connect(root / "x.db")) as link, link:
        link.execute('create table "a.b\'""c" (id integer, "order" blob)')
        long = b"".join(sha256(str(at).encode()).digest() for at in range(400))
        values = [pack(TEXTS["utf-8"] + b" " * 40), pack(long + TEXTS["utf-8"] + long), b"else", None, "text", 5]
        link.executemany('insert into "a.b\'""c" values (?, ?)', enumerate(values))
    layer = Layer("db", "x.db", "sqlite")
    seen = find_seen(root, layer, f"utf-8 in {packing}")
    assert (seen.count, seen.place.startswith("rows")) == (2, True)
    assert len(run(tmp_path, repeat(layer, seen, CANARY, root.name)).splitlines()) == 2


def find_seen(root: Path, layer: Layer, form: str) -> Sighting:
    found = scan(root, layer, Needles({"x": CANARY})).sightings
    return next(each for each in found if each.form == form)


@pytest.mark.parametrize("pack", [None, zlib.compress])
def test_a_vector_that_lies_nowhere_in_one_piece_has_no_command_and_says_why(
    tmp_path: Path, pack: Callable[[bytes], bytes] | None
) -> None:
    vector = array("f", [(-1) ** at * (1 + at / 8) for at in range(2000)]).tobytes()
    with closing(sqlite3.connect(tmp_path / "x.db")) as link, link:
        link.execute("create table t (vector blob)")
        link.execute("insert into t values (?)", [pack(vector) if pack else vector])
    layer = Layer("db", "x.db", "sqlite")
    seen = [
        each for each in scan(tmp_path, layer, Needles({}, {"v": vector})).sightings if each.place == "rows t.vector"
    ]
    commands = [repeat(layer, each, "") for each in seen]
    assert commands and all(each.startswith("# no command: ") for each in commands)
    assert run(tmp_path, commands[0]) == ""


def test_a_text_that_rows_spell_has_no_command_and_says_why(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as link, link:
        link.execute("create table grams (three text)")
        link.executemany("insert into grams values (?)", [(CANARY[at : at + 3],) for at in range(len(CANARY) - 2)])
    layer = Layer("db", "x.db", "sqlite")
    command = repeat(layer, find_seen(tmp_path, layer, "trigrams"), CANARY)
    assert command.startswith("# no command: ")
    assert run(tmp_path, command) == ""


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
    "-b bm25 --clock story",
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
