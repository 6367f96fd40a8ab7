"""The releases that adapters declare, beside those that coldwarm installs for them."""

from __future__ import annotations

import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement

from harness import paths
from harness.backend import registry
from harness.backend.worker import load
from harness.machine import npm

REFERENCES = [entry.reference for entry in registry.list_adapters().values() if entry.reference]


EXTRAS = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OURS = {Requirement(line).name for lines in EXTRAS.values() for line in lines}


def list_declared(reference: str) -> list[Requirement]:
    """What an adapter needs of Python's packages."""
    return [Requirement(text) for text in load(reference).packages if not text.startswith(npm.PREFIX)]


def test_every_release_that_an_extra_pins_is_one_that_its_adapter_works_with() -> None:
    pinned = [Requirement(line) for lines in EXTRAS.values() for line in lines if "==" in line]
    pins = {each.name: str(each.specifier).removeprefix("==") for each in pinned}
    declared = [each for reference in REFERENCES for each in list_declared(reference)]
    checked = {each.name for each in declared if each.name in pins and each.specifier.contains(pins[each.name])}
    assert checked == {each.name for each in declared if each.name in pins} >= {"chromadb", "mem0ai", "letta-client"}


@pytest.mark.parametrize("reference", REFERENCES)
def test_an_adapter_with_an_sdk_declares_its_releases(reference: str) -> None:
    adapter, declared = load(reference), list_declared(reference)
    if elsewhere := [each.name for each in declared if each.name not in OURS]:
        pytest.skip(f"{elsewhere[0]} comes with an environment of its own")
    assert all(version(each.name) for each in declared)
    assert adapter.packages or adapter.version() == "1", "without a package its version is our own"
