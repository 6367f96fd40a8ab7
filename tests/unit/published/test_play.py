"""How a set is put to a backend: what the whole plays with a real one is in tests/e2e/test_import.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.published import play
from harness.published.locomo import LOCOMO
from tests.support.published_files import write_locomo


class FakeSetting:
    """Notes what is asked of it, and lends no store."""

    def __init__(self, embeds: bool) -> None:
        self.noted: list[str] = []
        self.playable = SimpleNamespace(embeds=embeds, spec=SimpleNamespace(label="made"))
        self.children = SimpleNamespace(warm=lambda texts, who: self.noted.append(f"warm {texts[0]}"))

    def lend(self) -> Any:
        self.noted.append("lend")
        raise ConnectionError


@pytest.mark.parametrize(
    ("embeds", "noted"), [(True, ["warm I grew tomatoes on the balcony.", "lend"]), (False, ["lend"])]
)
def test_the_model_is_loaded_before_the_first_call_has_its_deadline(
    tmp_path: Path, embeds: bool, noted: list[str]
) -> None:
    setting: Any = FakeSetting(embeds)
    with pytest.raises(ConnectionError):
        play.play(LOCOMO.load(write_locomo(tmp_path)), setting, 5, tmp_path / "out")
    assert setting.noted == noted
