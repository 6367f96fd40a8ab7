"""A new adapter, as its author first meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backend import registry
from harness.backend.client import MemoryFault
from harness.cli.adapter_skeleton import NewAdapterError, write_adapter
from harness.conformance import CHECKS, open_setting
from tests.support.fakes import FakeEmbedder


@pytest.mark.slow
def test_a_new_adapter_keeps_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found in the working folder, without any setting."""
    file, reference = write_adapter("my_store", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert (file.name, reference) == ("my_store.py", "my_store:MyStore")
    with open_setting(registry.parse(f"mine={reference}"), FakeEmbedder()) as place:
        outcomes = [place.judge(check) for check in CHECKS]
    assert [(each.check.name, each.why) for each in outcomes if each.status == "broken"] == []
    assert sum(each.status == "kept" for each in outcomes) >= 35
    assert place.playable.backend.name == "my_store"


@pytest.mark.slow
def test_an_adapter_that_does_not_open_is_known_before_any_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, reference = write_adapter("my_store", tmp_path)
    opening = "return MyStoreMemory(space)"
    assert opening in file.read_text()
    file.write_text(file.read_text().replace(opening, "raise RuntimeError('no server answers')"))
    monkeypatch.chdir(tmp_path)
    with (
        open_setting(registry.parse(reference), FakeEmbedder()) as place,
        pytest.raises(MemoryFault, match="raised in open: RuntimeError: no server answers"),
    ):
        place.try_open()


@pytest.mark.parametrize(
    "name", ["9x", "My_Store", "my-store", "_mine", "class", "", "json", "chroma", "oracle", "numpy"]
)
def test_a_name_that_would_not_be_found_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(NewAdapterError):
        write_adapter(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "my_store.py").write_text("mine")
    with pytest.raises(NewAdapterError, match="is there already"):
        write_adapter("my_store", tmp_path)
    assert (tmp_path / "my_store.py").read_text() == "mine"
