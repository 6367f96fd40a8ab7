"""Backends in other interpreters: what their labels say, where their children run, and what is said of bad ones."""

from __future__ import annotations

import json
import re
import sys
import venv
from pathlib import Path

import pytest

from harness.adapter import Space
from harness.backend import client, interpreters, python, registry, staging
from harness.backend.forkserver import ForkServers
from harness.backend.registry import RegistryError
from harness.log.transcript import read
from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Spec, digest
from harness.play.backends import describe_all
from harness.play.environment import Environment, Settings
from harness.play.trial import play_trial
from tests.support.fakes import FakeEmbedder
from tests.support.faulty_backends import lend

ADAPTER = """
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from adapters.notes import Notes


class Tiny(Notes):
    name = "tiny"
    imports = ("tinysdk",)

    def version(self):
        try:
            return version("tinysdk")
        except PackageNotFoundError as error:
            raise RuntimeError("tinysdk is not installed") from error

    def open(self, space):
        import sys, tinysdk
        Path(space.root, "sdk.txt").write_text(f"{tinysdk.SAYS} {sys.prefix}")
        return super().open(space)
"""


def environment(folder: Path, **packages: str) -> str:
    """A second interpreter, with these packages and nothing else."""
    venv.create(folder, with_pip=False, symlinks=True)
    (place,) = folder.glob("lib/python*/site-packages")
    for name, version in packages.items():
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(f"SAYS = {version!r}\n")
        (place / f"{name}-{version}.dist-info").mkdir()
        (place / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> str:
    return environment(tmp_path_factory.mktemp("old") / "venv", tinysdk="2.0.4")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> str:
    return environment(tmp_path_factory.mktemp("new") / "venv", tinysdk="2.1.0")


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    lend(tmp_path / "own")
    (tmp_path / "own" / "tiny.py").write_text(ADAPTER)


def spec(python: str, **settings: str) -> Spec:
    return Spec(adapter="tiny:Tiny", python=python, settings=settings)


def labels(*pythons: str) -> list[str]:
    return [each.label for each in interpreters.name_releases(map(spec, pythons))]


def refused(*pythons: str) -> str:
    with pytest.raises(RegistryError) as caught:
        interpreters.name_releases(map(spec, pythons))
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- labels ----------------------------------------------------------------------------------------------------------


def test_a_setting_names_the_interpreter_and_no_adapter_sees_it() -> None:
    asked = registry.parse("mem0,store=faiss,python=/some/where/python")
    assert (asked.python, dict(asked.settings), asked.label) == (
        "/some/where/python", {"store": "faiss"}, "mem0+store=faiss",
    )  # fmt: skip


@pytest.mark.slow
def test_a_label_says_which_release_the_interpreter_has(old: str, new: str) -> None:
    assert labels(old, new, old) == ["tiny:Tiny@2.0.4", "tiny:Tiny@2.1.0", "tiny:Tiny@2.0.4"]
    (one,) = interpreters.name_releases([spec(str(Path(old).parent.parent))])
    assert (one.label, one.python) == ("tiny:Tiny@2.0.4", old), "a virtual environment has one interpreter"
    ours = Spec(adapter="notes")
    assert interpreters.name_releases([ours]) == (ours,) and ours.label == "notes"


@pytest.mark.slow
def test_of_two_with_the_same_release_the_packages_tell_them_apart(tmp_path: Path, old: str) -> None:
    other = environment(tmp_path / "venv", tinysdk="2.0.4", beside="1.0")
    first, second = labels(old, other)
    assert first != second and all(re.fullmatch(r"tiny:Tiny@2\.0\.4-[0-9a-f]{7}", each) for each in (first, second))
    assert labels(other, old) == [second, first]
    twin = environment(tmp_path / "twin", tinysdk="2.0.4")
    assert "two of its interpreters have the same version and packages" in refused(old, twin)


def test_of_two_pythons_with_the_same_release_the_version_tells_them_apart(
    tmp_path: Path, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, other = python.find(old), python.Interpreter(str(tmp_path / "other"), "3.99.1", "f" * 64)
    monkeypatch.setattr(interpreters, "find", lambda place: found if place == old else other)
    monkeypatch.setattr(interpreters, "_release", lambda spec: "2.0.4")
    assert labels(old, "other") == [f"tiny:Tiny@2.0.4-py{found.version}", "tiny:Tiny@2.0.4-py3.99.1"]


@pytest.mark.slow
def test_where_the_release_is_not_known_the_python_stands_for_it(tmp_path: Path) -> None:
    bare = environment(tmp_path / "venv")
    version = ".".join(map(str, sys.version_info[:3]))
    assert labels(bare) == [f"tiny:Tiny@py{version}"]
    cast = describe_all(Selection(backends=interpreters.name_releases([spec(bare)])))
    (missing,) = cast.unplayed
    assert missing.backend == f"tiny:Tiny@py{version}"
    assert missing.reason.endswith(f"tinysdk is not installed (in its own interpreter, Python {version})")


@pytest.mark.slow
def test_no_path_is_written_down(old: str) -> None:
    (named,) = interpreters.name_releases([spec(old)])
    assert "venv" not in named.model_dump_json() and digest(named) == digest(named.model_copy(update={"python": "x"}))
    cast = describe_all(Selection(backends=(named,)))
    said = cast.playables[named.label].backend
    found = python.find(old)
    assert said.version == "2.0.4" and said.settings == {"python": f"{found.version} ({found.identity[:16]})"}


@pytest.mark.slow
def test_what_was_written_down_gets_its_interpreter_again(old: str, new: str) -> None:
    (named,) = interpreters.name_releases([spec(old)])
    written = Spec.model_validate_json(named.model_dump_json())
    assert interpreters.restore_interpreter(written, old) == named
    with pytest.raises(RegistryError, match=r"has the release 2\.1\.0 now"):
        interpreters.restore_interpreter(written, new)
    with pytest.raises(RegistryError, match="name it again with -b"):
        interpreters.restore_interpreter(written, None)


# --- what is no interpreter ------------------------------------------------------------------------------------------


def script(place: Path, text: str) -> str:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return str(place)


def test_a_bad_interpreter_is_one_line(tmp_path: Path) -> None:
    assert refused(str(tmp_path / "nowhere")) == f"python={tmp_path}/nowhere: no such interpreter"
    assert refused(str(tmp_path)).endswith("no such interpreter")
    assert refused(script(tmp_path / "other", "echo hello")).endswith("it does not run as a Python")
    assert refused(script(tmp_path / "broken", "exit 1")).endswith("it does not run as a Python")
    said = json.dumps({"version": "3.8.18", "path": "x", "packages": []})
    assert refused(script(tmp_path / "early", f"echo '{said}'")).endswith(
        "it is Python 3.8.18; a backend needs 3.11 or newer"
    )
    with pytest.raises(RegistryError, match="is a control without an adapter"):
        interpreters.name_releases([Spec(adapter="oracle", python=sys.executable)])


# --- children --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_releases_stand_side_by_side_in_one_run(old: str, new: str, tmp_path: Path) -> None:
    specs = interpreters.name_releases([spec(old), spec(new)])
    cast = describe_all(Selection(backends=specs))
    settings = Settings(tmp_path / "run", cast.playables, embedder=FakeEmbedder, keep=True)
    trials = [DrillTrial(backend=each.label, drill="durability", size=4, seed=1, k=5) for each in specs]
    with Environment(settings) as place:
        played = [read(play_trial(trial, place), place.blobs) for trial in trials]
    assert [each.ended and each.ended.status for each in played] == ["complete", "complete"]
    assert [each.drilled.backend.version for each in played] == ["2.0.4", "2.1.0"]
    assert len({each.drilled.digests["settings"] for each in played}) == 2
    for where, trial, said in zip((old, new), trials, ("2.0.4", "2.1.0"), strict=True):
        kept = (tmp_path / "run/work" / trial.id / "store/sdk.txt").read_text()
        assert kept == f"{said} {Path(where).parent.parent}"
    for where in (old, new):
        assert not [path for path in (tmp_path / "run/drills").iterdir() if where in path.read_text()]


@pytest.mark.slow
def test_each_interpreter_has_a_fork_server_of_its_own(old: str, new: str, tmp_path: Path) -> None:
    with ForkServers(tmp_path / "work/forkservers") as servers:
        for python in (old, new, old):
            launch = interpreters.make_launcher(spec(python), servers.launch)
            root = tmp_path / "work" / Path(python).parent.parent.parent.name / "store"
            root.mkdir(parents=True, exist_ok=True)
            space = Space(str(root), "http://127.0.0.1:9/v1", "key", 8, 1)
            client.open_memory("tiny:Tiny", space, root.parent / "home", launch=launch).close()
            assert Path(python).parent.parent.name in (root / "sdk.txt").read_text()
        assert len([each for each in servers._parents.values() if each is not None]) == 2


def test_an_adapter_from_our_packages_is_lent_alone(old: str, tmp_path: Path) -> None:
    """Else all that is installed beside it would hide what the interpreter has."""
    import pydantic

    found = staging.find_modules("pydantic:BaseModel", tmp_path / "trial", old)
    place = Path(pydantic.__file__).parent
    assert str(place) in found.reads and str(place.parent) not in (*found.path, *found.reads)
    assert Path(found.path[0], "pydantic").resolve() == place


# --- a release that the adapter does not know ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_release_out_of_the_adapters_range_is_said_before_anything_is_opened(
    tmp_path: Path, old: str, new: str
) -> None:
    path = tmp_path / "own" / "tiny.py"
    path.write_text(ADAPTER.replace('name = "tiny"', 'name = "tiny"\n    packages = ("tinysdk>=2.1,<3", "beside>=1")'))
    specs = interpreters.name_releases([spec(old), spec(new)])
    found = describe_all(Selection(backends=specs))
    ((late,), why) = found.unplayed, "tinysdk 2.0.4 is installed, and its adapter needs tinysdk>=2.1,<3"
    assert (late.backend, late.reason) == ("tiny:Tiny@2.0.4", why)
    assert not found.undescribed and "tiny:Tiny@2.1.0" in found.playables, "the other row plays on"
    launch = interpreters.make_launcher(specs[0])
    with pytest.raises(client.MemoryFault, match=why):
        client.open_memory("tiny:Tiny", Space(str(tmp_path), "", "", 0, 1), tmp_path / "h", launch=launch)
    assert not (tmp_path / "sdk.txt").exists()


def test_what_is_no_requirement_breaks_the_contract(tmp_path: Path, old: str) -> None:
    (tmp_path / "own" / "tiny.py").write_text(ADAPTER.replace('"tiny"', '"tiny"\n    packages = ("tinysdk at 2",)'))
    with pytest.raises(client.MemoryFault, match="'tinysdk at 2' is no requirement"):
        client.describe("tiny:Tiny", tmp_path / "h", launch=interpreters.make_launcher(spec(old)))
