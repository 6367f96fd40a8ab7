"""Packages that lie outside of their interpreter: by `.pth` files, by editable installations, of a user."""

from __future__ import annotations

import site
import sys
import venv
from functools import partial
from pathlib import Path

import pytest

from harness import paths
from harness.adapter import Scope
from harness.backend import staging
from harness.backend.forkserver import spawn
from harness.machine.site_packages import list_outside
from tests.unit.machine.test_sandbox import opened

ADAPTER = """
from tests.support.faulty_backends import Sound, SoundMemory
from harness.adapter import Hit

class Memory(SoundMemory):
    def recall(self, query, scope, k, at):
        import far, edited
        return [Hit("1", far.SAID + edited.SAID)]

class Brings(Sound):
    def open(self, space): return Memory(space)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Where the packages of an environment at `tmp_path`/venv lie."""
    folder = tmp_path / "venv" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def test_what_pth_files_and_editable_installations_name_is_found(tmp_path: Path, packages: Path) -> None:
    for name in ("plain", "with space", "editable"):
        (tmp_path / name).mkdir()
    (packages / "a.pth").write_bytes(
        f"\ufeff{tmp_path}/plain\n\n# {tmp_path}/editable\nimport sys\n".encode()
        + b"../../../../with space  \n/absent\n\xff\n"
    )
    (packages / "b.pth").mkdir()
    (packages / "c.pth").symlink_to("/dev/zero")
    finder = packages / "__editable___x_finder.py"
    finder.write_text(f"MAPPING: dict[str, str] = {{'x': '{tmp_path}/editable'}}\nNAMESPACES = {{}}\n")
    (packages / "__editable___y_finder.py").write_text("MAPPING = {'y': print('no code is run')}\n")
    found = list_outside([tmp_path / "venv"], own=False)
    assert [each.resolve() for each in found] == [tmp_path / each for each in ("plain", "with space", "editable")]


def test_packages_of_a_user_belong_to_this_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path))
    assert list_outside([], own=True) == [tmp_path] and not list_outside([], own=False)


def test_a_checkout_of_ours_is_not_lent_for_its_pth_file(tmp_path: Path, packages: Path) -> None:
    (packages / "ours.pth").write_text(f"{paths.ROOT}\n{paths.ROOT}/tasks\n")
    python = tmp_path / "venv" / "bin" / "python"
    assert not [each for each in staging.find_modules("adapters.bm25:Bm25", tmp_path / "own", str(python)).reads
                if Path(each) in (paths.ROOT, paths.ROOT / "tasks", paths.ROOT / "harness")]  # fmt: skip


def test_a_child_imports_what_comes_by_pth_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.faulty_backends import lend

    own, made = tmp_path / "own", tmp_path / "venv"
    for name in ("own", "elsewhere", "edited"):
        (tmp_path / name).mkdir()
    lend(own)
    (own / "brings.py").write_text(ADAPTER)
    (tmp_path / "elsewhere" / "far.py").write_text("SAID = 'from '")
    (tmp_path / "edited" / "edited.py").write_text("SAID = 'elsewhere'")
    venv.create(made, with_pip=False, symlinks=True)
    (packages,) = made.glob("lib/python*/site-packages")
    (packages / "far.pth").write_text(f"{tmp_path}/elsewhere\n{tmp_path}/edited\n")
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(own))
    with opened("brings:Brings", tmp_path, partial(spawn, python=str(made / "bin" / "python"))) as memory:
        assert memory.recall("", Scope(), 1, "")[0].text == "from elsewhere"
