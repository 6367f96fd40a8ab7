"""Gates, baselines and shards from end to end: what turns a run red, and what leaves it green."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from harness.log.folder import Folder
from tests.e2e.conftest import SMALL, Cli, one_line, only, results
from tests.support.faulty_backends import lend

pytestmark = pytest.mark.slow

OWN = """
from dataclasses import replace
from uuid import uuid4
from harness.adapter import Ack
from tests.support.faulty_backends import Sound, SoundMemory

class Memory(SoundMemory):
    def remember(self, items):
        names = [uuid4().hex for _ in items]
        self.items.update(zip(names, items))
        return [Ack((name,)) for name in names]

    def hit(self, name):
        hit = super().hit(name)
        return hit

class Own(Sound):
    memory = Memory

    def version(self):
        return "1"
"""
DROPS = OWN.replace("return hit\n", "return replace(hit, source=None) if len(hit.text) % 2 else hit\n").replace(
    'return "1"', 'return "2"'
)
GATES = """# what we demand of our store
[[gate]]
name = "sources are kept"
measure = "source_coverage"
backends = "own_store:Own"
margin = 0.05

[[gate]]
name = "rules are found"
measure = "recall"
backends = "*"
at_least = 0.05
"""


class Team:
    """A team with a store of its own, a file of gates, and a baseline of its store as it is."""

    def __init__(self, root: Path, cli: Cli) -> None:
        self.root, self.cli = root, cli
        self.home, self.gates, self.baseline = root / "home", root / "gates.toml", root / "baseline.json"
        self.home.mkdir()
        lend(self.home)
        self.gates.write_text(GATES)
        self.store(OWN)
        before = self.play("before")
        assert (before.returncode, before.stderr) == (0, "")
        saved = cli("baseline", "save", only(root / "before"), "-o", self.baseline)
        assert saved.returncode == 0 and "1 scenario, 1 backend of run" in saved.stdout

    def store(self, text: str) -> None:
        (self.home / "own_store.py").write_text(text)

    def play(self, out: str, *more: str | Path):  # type: ignore[no-untyped-def]  # as Cli says
        asked = ("-b", "own_store:Own", *SMALL, "--out", self.root / out, *more)
        return self.cli("run", *asked, env={"COLDWARM_ADAPTER_PATH": str(self.home)})

    def gated(self, out: str):  # type: ignore[no-untyped-def]  # as Cli says
        return self.play(out, "--gates", self.gates, "--baseline", self.baseline)


@pytest.fixture(scope="module")
def team(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Team:
    return Team(tmp_path_factory.mktemp("team"), cli)


# --- gates --------------------------------------------------------------------------------------------------------


def test_a_store_that_starts_to_drop_sources_is_red_with_one_clear_line(team: Team, cli: Cli) -> None:
    team.store(DROPS)
    try:
        line = one_line(team.gated("drops"), 1)
    finally:
        team.store(OWN)
    folder = only(team.root / "drops")
    assert re.fullmatch(
        r"coldwarm: gate 'sources are kept' broken: own_store:Own: source_coverage \d+/\d+ against (\d+)/\1 in "
        r"baseline \S+ over 1 scenario, 1 cell worse and 0 better, difference -0\.\d+, a margin of 0\.05 allowed "
        r"\(\S+/gates\.toml:2\); see cell own-store-own-forgotten-runbook-\S+",
        line,
    )
    found = results(folder)
    assert [gate["verdict"] for gate in found["gates"]] == ["broken", "held"]
    moved = {each["measure"]: each for each in found["changes"]}["source_coverage"]
    assert moved["broken"] and moved["difference"] < -0.05
    for command in ("score", "report"):  # the folder holds what it is judged by
        before = (folder / "results.json").read_bytes()
        assert one_line(cli(command, folder), 1) == line
        assert (folder / "results.json").read_bytes() == before
    compared = cli("compare", team.baseline, folder)
    assert "own_store:Own 1 -> 2" in compared.stdout and "source_coverage" in compared.stdout


@pytest.mark.nightly
def test_an_unchanged_store_stays_green_ten_times_in_ten(team: Team, cli: Cli) -> None:
    """Played anew each time, with other ids, and scored from the same logs."""
    for number in range(3):
        done = team.gated(f"same-{number}")
        assert (done.returncode, done.stderr) == (0, "")
        folder = only(team.root / f"same-{number}")
        assert {gate["verdict"] for gate in results(folder)["gates"]} == {"held"}
        compared = cli("compare", team.baseline, folder)
        assert (compared.returncode, compared.stderr) == (0, "") and "WORSE" not in compared.stdout
    for _ in range(7):
        assert (cli("score", folder).returncode, cli("score", folder).stderr) == (0, "")


def test_a_gated_cell_that_was_not_measured_is_three_and_a_broken_gate_one(team: Team, cli: Cli) -> None:
    folder = Path(shutil.copytree(only(team.root / "before"), team.root / "absent"))
    absent = GATES.replace('"own_store:Own"', '"letta"')
    (folder / "gates.toml").write_text(absent)
    (folder / "baseline.json").write_bytes(team.baseline.read_bytes())
    assert "gate 'sources are kept' not measured: letta: " in one_line(cli("score", folder), 3)
    (folder / "gates.toml").write_text(absent.replace("at_least = 0.05", "at_least = 2"))
    done = cli("score", folder)
    assert done.returncode == 1 and [" broken: " in line for line in done.stderr.splitlines()] == [False, True]


@pytest.mark.parametrize(
    ("gates", "baseline", "said"),
    [
        (GATES, None, "gates.toml:2: margin: needs a baseline to compare with: give --baseline FILE"),
        (GATES.replace("margin", "marign"), None, "gates.toml:6: marign: unknown key; did you mean margin?"),
        (GATES, "{}", "baseline.json: not a baseline of this coldwarm"),
        (None, None, "gates.toml: cannot be read: No such file or directory"),
        (
            '[[gate]]\nname = "g"\nmeasure = "recall"\nbackends = "bm52"\nat_least = 0.5',
            None,
            "gates.toml:1: gate 'g': backend 'bm52' is not played by this run; it plays none",
        ),
    ],
)
def test_what_cannot_be_judged_is_one_line_before_anything_is_played(
    cli: Cli, tmp_path: Path, gates: str | None, baseline: str | None, said: str
) -> None:
    words = ["--gates", tmp_path / "gates.toml"]
    if gates is not None:
        (tmp_path / "gates.toml").write_text(gates)
    if baseline is not None:
        (tmp_path / "baseline.json").write_text(baseline)
        words += ["--baseline", tmp_path / "baseline.json"]
    assert said in one_line(cli("run", "-b", "none", *SMALL, "--out", tmp_path / "out", *words), 2)
    assert not (tmp_path / "out").exists()


def test_a_finished_run_is_judged_without_playing(team: Team, cli: Cli, tmp_path: Path) -> None:
    folder = only(team.root / "before")
    before = sorted(path.name for path in folder.rglob("*"))
    held = cli("gate", folder, "--gates", team.gates, "--baseline", team.baseline)
    assert (held.returncode, held.stderr) == (0, "")
    assert [line.partition(": ")[0] for line in held.stdout.splitlines()] == [
        "gate 'sources are kept' held", "gate 'rules are found' held",
    ]  # fmt: skip
    strict, packed = tmp_path / "strict.toml", tmp_path / "run.tar.xz"
    strict.write_text(GATES.replace("margin", "at_least").replace("at_least = 0.05", "at_least = 2"))
    assert cli("pack", folder, "-o", packed).returncode == 0
    for run in (folder, packed):
        broken = cli("gate", run, "--gates", strict)
        assert broken.returncode == 1 and broken.stdout.count(" broken: ") == 2
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert "was played without gates: give --gates FILE" in one_line(cli("gate", folder), 2)
    assert "margin: needs a baseline" in one_line(cli("gate", folder, "--gates", team.gates), 2)
    strict.write_text(GATES.replace('"own_store:Own"', '"own_store:Won"').replace("margin", "at_least"))
    assert "did you mean own_store:Own?" in one_line(cli("gate", folder, "--gates", strict), 2)


# --- compare ------------------------------------------------------------------------------------------------------


def test_compare_ends_as_it_found(team: Team, cli: Cli, tmp_path: Path) -> None:
    folder = only(team.root / "before")
    same = cli("compare", folder, team.baseline)
    assert same.returncode == 0 and "did not change" in same.stdout and max(map(len, same.stdout.splitlines())) <= 200
    plain = json.loads(cli("compare", team.baseline, folder / "results.json", "--json").stdout)
    words = {each["verdict"]: each["reason"] for each in plain["changes"]}
    assert words.keys() == {"no-difference-shown", "not-comparable"} and "lower bounds" in words["not-comparable"]
    other = results(folder)
    other["run"]["conditions"]["k"] = 7
    (tmp_path / "other.json").write_text(json.dumps(other))
    assert "nothing of" in one_line(cli("compare", team.baseline, tmp_path / "other.json"), 3)
    assert "cannot be read" in one_line(cli("compare", team.baseline, tmp_path / "nowhere"), 2)
    other["run"]["conditions"]["k"] = 5
    other["cells"] = other["backends"] = None
    other |= {"cells": [], "backends": {}}
    (tmp_path / "other.json").write_text(json.dumps(other))
    gone = cli("compare", team.baseline, tmp_path / "other.json")
    assert gone.returncode == 1 and "not played in the new run" in gone.stdout
    assert "cannot be written" in one_line(cli("baseline", "save", folder, "-o", "/proc/nowhere"), 2)


@pytest.mark.parametrize("command", [("compare",), ("baseline", "save"), ("merge",)])
def test_every_command_explains_itself(cli: Cli, command: tuple[str, ...]) -> None:
    done = cli(*command, "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: commands {' '.join(command)} ")


# --- shards ---------------------------------------------------------------------------------------------------------

SHARED = (
    "-b",
    "bm25",
    "-b",
    "notes",
    "-s",
    "forgotten-runbook",
    "-s",
    "told-on-a-call",
    "-n",
    "0",
    "--write",
    "append",
)
DRILLED = ("--drill", "poison", "--drill-size", "20")


@pytest.fixture(scope="module")
def shards(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A run, and the same one in two shards."""
    root = tmp_path_factory.mktemp("shards")
    for name, more in (("whole", ()), ("one", ("--shard", "1/2")), ("two", ("--shard", "2/2"))):
        done = cli("run", *SHARED, *DRILLED, "--out", root / name, *more)
        assert (done.returncode, done.stderr) == (0, "")
    return only(root / "whole"), [only(root / "one"), only(root / "two")]


def unlike(folder: Path, *digests: str) -> str:
    """results.json without the run's id and command, and without the digests that are named."""
    text = (folder / "results.json").read_text()
    own = [
        r'"id":"\d{8}-\d{6}-[0-9a-f]{4}"',
        r'"command":"[^"]*"',
        *(rf'"{name}":"[0-9a-f]{{64}}"' for name in digests),
    ]
    return re.sub("|".join(own), "", text)


def test_two_shards_make_the_run_that_was_played_whole(
    cli: Cli, shards: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    whole, parts = shards
    for part in parts:
        assert {trial.scenario for trial in Folder(part).read().trials} != set()
    done = cli("merge", *parts, "--out", tmp_path / "played")
    assert (done.returncode, done.stderr) == (0, "")
    timed = ("log_sha256", "transcript_sha256", "logs")  # logs hold how long calls took
    assert unlike(only(tmp_path / "played"), *timed) == unlike(whole, *timed)
    for part in parts:  # with the logs of the whole run not even these differ
        copy = Path(shutil.copytree(part, tmp_path / part.parent.name))
        for path in [*copy.glob("logs/*"), *copy.glob("drills/*")]:
            shutil.copy(whole / path.relative_to(copy), path)
        shutil.copytree(whole / "blobs", copy / "blobs", dirs_exist_ok=True)
    done = cli("merge", tmp_path / "two", tmp_path / "one", "--out", tmp_path / "equal")
    assert done.returncode == 0 and unlike(only(tmp_path / "equal")) == unlike(whole)


def test_a_shard_that_is_missing_is_said_and_gates_wait_for_all(
    cli: Cli, shards: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    _, parts = shards
    line = one_line(cli("merge", parts[0], "--out", tmp_path / "out"), 3)
    assert "shards 2/2 are missing" in line and one_line(cli("report", only(tmp_path / "out")), 3) == line
    (tmp_path / "gates.toml").write_text(GATES.replace('"own_store:Own"', '"bm25"').replace("margin", "at_most"))
    refused = cli("run", *SHARED, "--shard", "1/2", "--gates", tmp_path / "gates.toml", "--out", tmp_path / "no")
    assert "give them to `coldwarm merge`" in one_line(refused, 2)
    gated = cli("merge", *parts, "--gates", tmp_path / "gates.toml", "--out", tmp_path / "gated")
    assert "gate 'sources are kept' broken: bm25" in gated.stderr and gated.returncode == 1
    assert "not of the form 2/4" in one_line(cli("run", *SHARED, "--shard", "3/2", "--out", tmp_path / "no"), 2)
    assert "not a shard" in one_line(cli("merge", shards[0], "--out", tmp_path / "no"), 2)
    assert not (tmp_path / "no").exists()
