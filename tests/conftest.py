"""What holds for all tests."""

import gc
import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from harness.machine import leftovers
from tests.support.passes import Passes

GIVEN, OWN = dict(os.environ), leftovers.process_folder()  # a killed process's is cleared by the next

# Mem0 reads both when it is first imported, by whichever test that is: with the defaults it would report to its vendor,
# and all workers would share one locked folder.
os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=tempfile.mkdtemp(prefix="mem0-", dir=OWN))

# A test that is about playing must play. What tests the trial cache says COLDWARM_FRESH=0. No proof of the checkout may
# take what was played here, where anything may be patched.
os.environ.update(COLDWARM_FRESH="1", COLDWARM_PROOFS=tempfile.mkdtemp(prefix="proofs-", dir=OWN))

# How long an example takes to be drawn is the machine's doing, as is how long it takes to run.
settings.register_profile("coldwarm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("coldwarm")

# What is imported and collected lives as long as the process: no search for garbage looks through it again and again.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Passes.of(config, GIVEN))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
