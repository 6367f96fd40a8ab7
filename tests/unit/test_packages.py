"""The releases that adapters declare, beside those that coldwarm installs for them."""

from __future__ import annotations

import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement

from harness import paths
from harness.backend import registry
from harness.backend.worker import load

REFERENCES = [entry.reference for entry in registry.list_adapters().values() if entry.reference]


def test_every_release_that_an_extra_pins_is_one_that_its_adapter_works_with() -> None:
    extras = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pinned = [Requirement(line) for lines in extras.values() for line in lines if "==" in line]
    pins = {each.name: str(each.specifier).removeprefix("==") for each in pinned}
    declared = [Requirement(text) for reference in REFERENCES for text in load(reference).packages]
    checked = {each.name for each in declared if each.name in pins and each.specifier.contains(pins[each.name])}
    assert checked == {each.name for each in declared if each.name in pins} >= {"chromadb", "mem0ai", "letta-client"}


@pytest.mark.parametrize("reference", REFERENCES)
def test_an_adapter_with_an_sdk_declares_its_releases(reference: str) -> None:
    adapter = load(reference)
    installed = {Requirement(text).name for text in adapter.packages}
    assert all(version(name) for name in installed)
    assert adapter.packages or adapter.version() == "1", "without a package its version is our own"
