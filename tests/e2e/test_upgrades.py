"""`ladder` and `bisect` over releases of a store that breaks at one of them: tiny wheels in a folder, no index."""

from __future__ import annotations

import re
from math import ceil, log2
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli import commands
from tests.support.wheels import lend_tiny, make_wheel

ADAPTER = """
from importlib.metadata import version

from adapters.notes import Notes


class Tiny(Notes):
    name = "tiny"
    packages = ("tinysdk>=1,<3",)

    def version(self):
        return version("tinysdk")

    def open(self, space):
        import tinysdk
        memory = super().open(space)
        if not tinysdk.DELETES:
            memory.forget = lambda scope, ids: [True for _ in ids]
        return memory
"""
RELEASES = [f"1.{minor}" for minor in range(9)]
BROKEN = 5
"""The first release that calls a memory deleted and keeps it."""
MEASURE = "forgetting_said_and_done"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lend_tiny(tmp_path, monkeypatch, ADAPTER)
    for at, version in enumerate(RELEASES):
        make_wheel(folder, "tinysdk", version, {"tinysdk/__init__.py": f"DELETES = {at < BROKEN}\n"})
    return folder


def run(tmp_path: Path, *words: str) -> Result:
    return CliRunner().invoke(commands, [*words, "--out", str(tmp_path / "runs")])


@pytest.mark.nightly
def test_bisect_finds_the_release_that_broke_in_few_steps(tmp_path: Path) -> None:
    said = run(tmp_path, "bisect", "t=tiny:Tiny", "1.0", "1.8", "--measure", MEASURE, "--drill-size", "20")
    assert said.exit_code == 0, said.output
    assert f"first release whose {MEASURE} is like that of 1.8: 1.5 (last that is like 1.0: 1.4)" in said.output
    (steps,) = re.findall(r"both ends and (\d+) of the 7 releases", said.output)
    assert int(steps) <= ceil(log2(8))


@pytest.mark.nightly
def test_bisect_passes_over_a_release_that_cannot_be_made(tmp_path: Path, wheelhouse: Path) -> None:
    make_wheel(wheelhouse, "tinysdk", "1.4", needs=["nowhere==1"])
    said = run(tmp_path, "bisect", "t=tiny:Tiny", "1.3", "1.5", "--measure", MEASURE, "--drill-size", "20")
    assert said.exit_code == 3, said.output
    assert "it may also be one of these, which could not be judged: 1.4" in said.output


@pytest.mark.nightly
def test_bisect_says_that_nothing_changed(tmp_path: Path) -> None:
    said = run(tmp_path, "bisect", "t=tiny:Tiny", "1.0", "1.2", "--measure", MEASURE, "--drill-size", "20")
    assert (said.exit_code, "there is no change to look for" in said.output) == (3, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("1.8", "1.0", "--measure", MEASURE), "1.8 is not older than 1.0"),
        (("1.0", "1.8", "--measure", "goodness"), "there is no such measure"),
    ],
)
def test_bisect_refuses_what_it_cannot_look_for(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    said = run(tmp_path, "bisect", "t=tiny:Tiny", *words)
    assert (said.exit_code, says in said.output) == (2, True)


def test_a_ladder_shows_where_a_measure_broke_and_nothing_else(tmp_path: Path) -> None:
    asked = ["-s", "none", "-d", "deletion", "--drill-size", "20"]
    said = run(tmp_path, "ladder", "t=tiny:Tiny", "1.0", "1.4", "1.5", *asked)
    assert said.exit_code == 1, said.output
    quiet, broken = re.findall(r"^t@\S+ -> t@\S+: .*", said.output, re.MULTILINE)[-2:]
    assert quiet.startswith("t@1.0 -> t@1.4: nothing changed") and "worse" in broken
    pages = sorted((tmp_path / "runs" / "latest" / "upgrades").iterdir())
    assert [each.name for each in pages] == ["t@1.0 to t@1.4.html", "t@1.4 to t@1.5.html"]
    assert "(drill deletion)" in pages[1].read_text()


def test_a_ladder_goes_on_without_a_release_that_does_not_exist(tmp_path: Path) -> None:
    asked = ["-s", "none", "-d", "deletion", "--drill-size", "20"]
    said = run(tmp_path, "ladder", "t=tiny:Tiny", "1.0", "1.9", "1.4", *asked)
    assert said.exit_code == 3 and "t@1.0 -> t@1.4: nothing changed" in said.output
    assert "no version of tinysdk==1.9" in said.output
