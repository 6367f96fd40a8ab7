"""Environments of backends: made from wheels in a folder, shared, never half there, and one line for what is amiss."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from harness.adapter import Space
from harness.backend import client, environments, interpreters, registry
from harness.backend.client import MemoryFault
from harness.backend.registry import RegistryError
from harness.cli import commands
from harness.log.trial_cache import TrialCache
from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Spec
from harness.play import sources
from harness.play.backends import describe_all
from harness.play.environment import Settings
from harness.play.reuse import Reuse
from tests.support import wheels
from tests.support.wheels import lend_tiny, release

ASKED = "t=tiny:Tiny@2.0"
MAKE = f"""
from harness.backend import environments, interpreters, registry
(spec,) = interpreters.name_releases([registry.parse({ASKED!r})])
print(environments.get_environment(spec).fresh)
"""


@pytest.fixture(autouse=True)
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lend_tiny(tmp_path, monkeypatch)
    release(folder, "2.0")
    release(folder, "2.1")
    return folder


def asked(text: str = ASKED) -> Spec:
    (spec,) = interpreters.name_releases([registry.parse(text)])
    return spec


def refused(text: str) -> str:
    with pytest.raises(MemoryFault) as caught:
        environments.get_environment(asked(text))
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- what is asked for ---------------------------------------------------------------------------------------------


def test_a_release_is_part_of_the_label_and_of_no_setting() -> None:
    spec = registry.parse("mem0@2.0.4,store=faiss")
    assert (spec.adapter, spec.release, spec.pinned, spec.label) == ("mem0", "2.0.4", True, "mem0@2.0.4+store=faiss")
    assert asked("mem0@2.0.4,python=3.12").label == "mem0@2.0.4-py3.12"


def test_what_is_no_version_is_said_before_anything_is_made() -> None:
    with pytest.raises(RegistryError, match="'newest' is no version"):
        registry.parse("mem0@newest")


def test_an_adapter_without_packages_has_no_releases() -> None:
    with pytest.raises(RegistryError, match="declares no packages"):
        environments.get_environment(asked("notes@1.0"))


def test_a_setting_that_the_adapter_does_not_know_comes_before_its_packages() -> None:
    with pytest.raises(RegistryError, match=r"server cannot be 'unknown'; known: .*server-memory"):
        environments.get_environment(asked("mcp@1.0,server=unknown"))


# --- what is made ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_environment_that_lacks_a_package_is_made_anew() -> None:
    made = environments.get_environment(asked())
    shutil.rmtree(made.folder / next(each for each in made.made.entries if each.endswith(".dist-info")))
    assert not environments.list_made()
    environments._STARTED.clear()
    assert environments.get_environment(asked()).fresh


@pytest.mark.slow
def test_a_backend_runs_with_the_release_that_was_asked_for(tmp_path: Path) -> None:
    for text, version in ((ASKED, "2.0"), ("t=tiny:Tiny@2.1", "2.1")):
        root = tmp_path / version
        root.mkdir()
        launch = interpreters.make_launcher(asked(text))
        memory = client.open_memory(
            "tiny:Tiny", Space(str(root), "http://127.0.0.1:1", "k", 0, 1), tmp_path / f"home{version}", launch=launch
        )
        memory.close()
        assert (memory.description.version, (root / "sdk.txt").read_text()) == (version, version)


@pytest.mark.slow
def test_the_lock_has_hashes_and_says_nothing_of_where_it_is_from(wheelhouse: Path) -> None:
    lock = environments.get_environment(asked()).lock
    assert "tinysdk==2.0" in lock and "--hash=sha256:" in lock
    assert str(wheelhouse) not in lock and "index" not in lock and "find-links" not in lock


@pytest.mark.slow
def test_a_second_run_finds_it_there_and_asks_for_nothing(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = environments.get_environment(asked())
    monkeypatch.setattr(environments, "_STARTED", {})
    for wheel in wheelhouse.iterdir():
        wheel.unlink()
    again = environments.get_environment(asked())
    assert first.fresh and not again.fresh and again.folder == first.folder
    assert "made in" in first.describe("t") and "there from an earlier run" in again.describe("t")


@pytest.mark.slow
def test_files_are_hard_linked_to_the_cache_of_uv() -> None:
    (module,) = environments.get_environment(asked()).folder.rglob("tinysdk/__init__.py")
    assert module.stat().st_nlink > 1


@pytest.mark.slow
def test_a_lock_makes_the_same_again_and_a_wheel_that_changed_is_refused(
    wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = environments.add_lock(asked())
    (made,) = environments.list_made()
    assert environments.remove(made) is False, "this very process uses it"
    shutil.rmtree(made.folder)
    monkeypatch.setattr(environments, "_STARTED", {})
    assert environments.get_environment(locked).folder == made.folder
    shutil.rmtree(made.folder)
    shutil.rmtree(Path(os.environ["UV_CACHE_DIR"]))
    monkeypatch.setattr(environments, "_STARTED", {})
    wheels.make_wheel(wheelhouse, "tinysdk", "2.0", {"tinysdk/__init__.py": "SAYS = 'another'\n"})
    with pytest.raises(MemoryFault, match=r"(?i)hash"):
        environments.get_environment(locked)
    assert not environments.list_made()


# --- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_release_that_does_not_exist() -> None:
    said = refused("t=tiny:Tiny@2.9")
    assert said.startswith("no environment can be made for t@2.9: Python 3.") and "no version of tinysdk==2.9" in said
    assert said.endswith("; its newest releases are 2.1, 2.0")


def test_a_release_that_its_adapter_does_not_work_with() -> None:
    assert refused("t=tiny:Tiny@3.1") == (
        "no environment can be made for t@3.1: its adapter needs tinysdk<3,>=1; its newest releases are 2.1, 2.0"
    )


@pytest.mark.slow
def test_without_an_index_nobody_knows_which_releases_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    said = refused("t=tiny:Tiny@3.2")
    assert "needs tinysdk<3,>=1; which releases there are cannot be asked: Failed to fetch" in said


def test_packages_that_exclude_each_other(wheelhouse: Path) -> None:
    release(wheelhouse, "2.2", needs=["tinyother==1"])
    wheels.make_wheel(wheelhouse, "tinyother", "2")
    said = refused("t=tiny:Tiny@2.2")
    assert "there is no version of tinyother==1" in said and "you require tinysdk==2.2" in said


def test_a_release_for_a_newer_python(wheelhouse: Path) -> None:
    release(wheelhouse, "2.3", python=">=3.99")
    assert "requires Python >=3.99" in refused("t=tiny:Tiny@2.3")


@pytest.mark.slow
def test_a_python_that_is_not_installed() -> None:
    assert refused(f"{ASKED},python=3.98").endswith(
        "Python 3.98 is not installed here: uv python install 3.98, or name another with python=PATH"
    )


def test_an_index_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    said = refused("t=tiny:Tiny@2.7")
    assert "Failed to fetch" in said and "Connection refused" in said


@pytest.mark.slow
def test_a_wheel_that_is_broken(wheelhouse: Path) -> None:
    (wheelhouse / "tinysdk-2.4-py3-none-any.whl").write_bytes(b"PK no archive")
    assert "tinysdk" in refused("t=tiny:Tiny@2.4")
    assert not environments.list_made()


def test_no_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("harness.machine.uv.shutil", SimpleNamespace(which=lambda *_, **__: None))  # for uv alone
    said = refused(ASKED)
    assert "it takes uv, which is not installed" in said and "[env]" in said


@pytest.mark.slow
def test_half_made_by_somebody_who_was_killed_is_made_anew_and_the_rest_removed() -> None:
    made = environments.get_environment(asked())
    shutil.rmtree(made.folder)
    half = made.folder.with_name(f"{made.folder.name}.part-dead")
    (half / "bin").mkdir(parents=True)
    environments._STARTED.clear()
    assert environments.get_environment(asked()).folder == made.folder
    assert not half.exists() and [each.folder for each in environments.list_made()] == [made.folder]


@pytest.mark.slow
def test_an_environment_whose_interpreter_has_gone_is_made_anew() -> None:
    made = environments.get_environment(asked())
    (made.folder / "bin" / "python").unlink()
    assert not environments.list_made()
    environments._STARTED.clear()
    assert environments.get_environment(asked()).fresh


@pytest.mark.slow
def test_two_processes_that_make_the_same_make_it_once() -> None:
    both = [subprocess.Popen([sys.executable, "-c", MAKE], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(each.communicate(timeout=100)[0].strip() for each in both) == ["False", "True"]
    assert len(environments.list_made()) == 1


# --- what a run makes of it ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_plays_what_can_be_made_and_says_what_cannot() -> None:
    selection = Selection(backends=tuple(map(asked, (ASKED, "t=tiny:Tiny@2.9"))))
    found = describe_all(selection)
    played = found.playables["t@2.0"]
    assert played.backend.version == "2.0" and "tinysdk==2.0" in played.spec.lock
    assert played.backend.settings["lock"] == environments.get_environment(asked()).digest[:16]
    (unplayed,) = found.unplayed
    assert unplayed.backend == "t@2.9" and not found.undescribed, "the others play on"


@pytest.mark.slow
def test_a_finished_trial_is_taken_for_one_of_the_same_lock_only(
    tmp_path: Path, wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLDWARM_ALLOW_READ", raising=False)
    sources.digest_installed.cache_clear()  # of what a test before may have installed

    def key() -> str | None:
        environments._STARTED.clear()
        playables = describe_all(Selection(backends=(asked(),))).playables
        settings = Settings(root=tmp_path / "run", playables=playables, embedder=None)
        trial = DrillTrial(drill="deletion", backend="t@2.0", size=20, seed=1, k=5)
        return Reuse(TrialCache(tmp_path / "trials"), settings).key(trial)

    first = key()
    assert first == key()
    release(wheelhouse, "2.0", needs=["tinyother"])
    wheels.make_wheel(wheelhouse, "tinyother", "1")
    shutil.rmtree(environments.find_root())
    assert key() not in (None, first)


# --- what a person sees ----------------------------------------------------------------------------------------------


def elsewhere(code: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which has ended."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)


@pytest.mark.slow
def test_env_lists_and_prunes() -> None:
    runner = CliRunner()
    assert runner.invoke(commands, ["env"]).output.startswith("0 environments")
    assert elsewhere(MAKE).stdout == "True\n"
    listed = runner.invoke(commands, ["env"]).output
    assert listed.startswith("t@2.0: tinysdk==2.0 and 0 other packages, Python 3.") and "used today" in listed
    assert "there are: t@2.0" in runner.invoke(commands, ["env", "prune", "x"]).stderr
    assert runner.invoke(commands, ["env", "prune", "--older", "1"]).output == "removed: 0\n"
    assert runner.invoke(commands, ["env", "prune", "t"]).output == "removed: 1\n"
    assert not environments.list_made()


@pytest.mark.slow
def test_what_is_in_use_is_not_removed() -> None:
    made = environments.get_environment(asked())
    kept = CliRunner().invoke(commands, ["env", "prune"])
    assert kept.exit_code == 3 and "in use: t@2.0" in kept.output and made.folder.exists()


@pytest.mark.slow
@pytest.mark.backend
def test_a_release_of_a_real_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skipped where there is no index: then nothing was tried."""
    for name in ("UV_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_OFFLINE", "UV_NO_CONFIG"):
        monkeypatch.delenv(name)
    try:
        made = environments.get_environment(asked("bm25@0.3.0"))
    except MemoryFault as error:
        if "Failed to fetch" in str(error):
            pytest.skip(f"no index can be reached: {error}")
        raise
    assert "bm25s==0.3.0" in made.made.packages and "numpy" in made.lock
