"""What was computed of a run that is made by hand, for the folders whose tests share it."""

from __future__ import annotations

import pytest

from harness.compare import statements
from harness.log.folder import Folder
from harness.model.results import Results


@pytest.fixture(scope="module")
def results(folder: Folder) -> Results:
    return statements.compute_results(folder)
