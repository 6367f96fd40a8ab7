"""Regression: a run against its baseline and against the gates of a team.

A run folder may hold both, as `gates.toml` and `baseline.json`; then its results say what became of them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.log.folder import Folder, find_option
from harness.model.results import Results
from harness.regress import baseline, gates, judging, pairing
from harness.regress.baseline import Baseline, RegressError
from harness.regress.gates import Gates

__all__ = ["RegressError", "check", "judge_run", "keep"]
GATES, BASELINE = "gates.toml", "baseline.json"


def check(gates_file: Path | None, baseline_file: Path | None) -> None:
    """Reads both before anything is played. Raises RegressError."""
    _demands(*(None if path is None else (_content(path), str(path)) for path in (gates_file, baseline_file)))


def keep(folder: Folder, gates_file: Path | None, baseline_file: Path | None) -> None:
    """Copies both into a run's folder, where `judged` finds them again."""
    for source, name in ((gates_file, GATES), (baseline_file, BASELINE)):
        if source is not None:
            (folder.root / name).write_bytes(_content(source))


def judge_run(results: Results, folder: Folder) -> Results:
    """The results with all that baseline and gates in the run's folder say of them. Raises RegressError."""
    files = (folder.root / GATES, folder.root / BASELINE)
    asked, before = _demands(*((_content(path), path.name) if path.exists() else None for path in files))
    if asked and (given := find_option(results.run.command, "--gates")):
        asked = replace(asked, name=given)
    if before:
        now = baseline.of(results)
        found = {"baseline": pairing.against(before, now), "changes": pairing.changes(before, now)}
        results = results.model_copy(update=found)
    return results.model_copy(update={"gates": judging.judge(asked, results)}) if asked else results


InputFile = tuple[bytes, str]


def _demands(gates_file: InputFile | None, baseline_file: InputFile | None) -> tuple[Gates | None, Baseline | None]:
    asked = gates.read(*gates_file) if gates_file else None
    before = baseline.read(*baseline_file) if baseline_file else None
    if asked and before is None and (first := asked.needs_baseline):
        raise RegressError(f"{asked.name}:{first.line}: margin: needs a baseline to compare with: give --baseline FILE")
    return asked, before


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RegressError(f"{path}: cannot be read: {error.strerror}") from None
