"""How checks of our own adapters ended, kept for the next time that nothing which decides them has changed.

Only what needs no second look is kept: a check that broke is made again. An adapter from outside of our packages, a
server or a service that runs already, and an interpreter of somebody's own have no key: who knows what is behind them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from harness import paths
from harness.backend import environments, interpreters
from harness.backend.servers import find_named
from harness.conformance import CHECKS, CheckOutcome, Setting
from harness.machine.sealed import SealedEntries, SealedEntry
from harness.model.dates import count_reused
from harness.model.trial import digest
from harness.play import sources

# part of the key: a higher one leaves entries of an earlier form unread
FORM = 1


Final = Literal["kept", "unsupported", "not-applicable"]


class AdapterChecks(SealedEntry):
    """An entry: the checks of one adapter.

    Attributes:
        checks: By name, how each ended and why.
    """

    checks: Mapping[str, tuple[Final, str]]


@dataclass(frozen=True)
class KeptOutcomes:
    """The kept outcomes of one adapter.

    Attributes:
        key: None: nothing of it may be kept.
        day: When they were made.
    """

    key: str | None
    outcomes: Mapping[str, CheckOutcome]
    day: date | None = None

    def describe(self) -> str:
        """One line; empty if there are none."""
        return count_reused(dict.fromkeys(self.outcomes, self.day), len(CHECKS), "checks") if self.day else ""


class OutcomeCache(SealedEntries):
    """A folder of entries. Whatever cannot be kept is not kept."""

    suffix = ".checks"

    def find(self, setting: Setting, *, fresh: bool = False) -> KeptOutcomes:
        """The outcomes of checks that need not be made again.

        Args:
            fresh: None.
        """
        key = make_key(setting)
        entry = self.find_entry(key, AdapterChecks) if key and not fresh else None
        if entry is None:
            return KeptOutcomes(key, {})
        outcomes = (CheckOutcome(each, *entry.checks[each.name]) for each in CHECKS if each.name in entry.checks)
        return KeptOutcomes(key, {each.check.name: each for each in outcomes}, entry.made)

    def keep(self, setting: Setting, before: KeptOutcomes, new_outcomes: Iterable[CheckOutcome]) -> None:
        """Adds what was made now, unless something that decides it was edited meanwhile."""
        if before.key is None or before.key != make_key(setting):
            return
        outcomes = [*before.outcomes.values(), *new_outcomes]
        checks = {each.check.name: (each.status, each.why) for each in outcomes if each.status != "broken"}
        self.keep_entry(AdapterChecks(key=before.key, checks=checks))
        self.prune()


def make_key(setting: Setting) -> str | None:
    """Equal for two settings in which every check must end alike; None: who knows."""
    playable = setting.playable
    spec, reference = playable.spec, playable.entry.reference or ""
    module = reference.partition(":")[0]
    if module.partition(".")[0] not in sources.OURS or paths.list_paths(paths.PLACES):
        return None
    # a secret leads to a service, and nobody knows what stands behind that
    if playable.withheld or (spec.python and not spec.pinned):
        return None
    conditions, served = sources.digest_conditions(), _digest_server(setting)
    if conditions is None or served is None:
        return None
    checks = sources.digest_files(sources.list_sources("harness/conformance"))
    facts = [
        FORM, conditions, checks, sources.digest_module(module), playable.source, spec.label,
        playable.backend.model_dump(mode="json"), dict(interpreters.show(spec)), environments.add_lock(spec).lock,
        _describe_node() if spec.pinned else "", served, setting.embedder, setting.chat,
        repr(setting.children.deadlines),
    ]  # fmt: skip
    return digest(facts)


def _digest_server(setting: Setting) -> str | None:
    """What the programs of its server are installed with; "" if it needs none, None: one that runs already."""
    server = setting.playable.server
    if server is None:
        return ""
    if find_named(server):
        return None
    return sources.digest_installed(tuple(map(str, sorted(paths.SERVERS.glob("*/venv/lib/python*/site-packages")))))


def _describe_node() -> str:
    """Who runs packages of Node, if anybody."""
    node = shutil.which("node")
    return subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout if node else ""
