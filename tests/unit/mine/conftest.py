"""A repository of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.foreign import Foreign


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    return Foreign(tmp_path / "shop")
