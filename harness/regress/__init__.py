"""Regression: a run against its baseline and against the gates of a team.

A run folder may hold both, as `gates.toml` and `baseline.json`; then its results say what became of them.
"""

from __future__ import annotations

from pathlib import Path

from harness.log.folder import Folder, find_option
from harness.machine import documents, files
from harness.machine.documents import DocumentError
from harness.model.results import Results
from harness.model.trial import Selection
from harness.regress import baseline, baseline_files, claims, gate_verdicts, gates, pairing, unanswerable
from harness.regress.baseline import Baseline, RegressError
from harness.regress.gates import Gates

__all__ = ["RegressError", "check", "judge", "judge_claims", "judge_run", "keep"]
GATES, BASELINE = "gates.toml", "baseline.json"


def check(gates_file: Path | None, baseline_file: Path | None, selection: Selection) -> None:
    """Reads both before anything is played. Raises RegressError, also for a gate that such a run cannot answer."""
    gates, _ = _read_files(gates_file, baseline_file)
    if gates:
        unanswerable.check(gates, selection)


def keep(folder: Folder, gates_file: Path | None, baseline_file: Path | None) -> None:
    """Copies both into a run's folder, where `judged` finds them again."""
    for source, name in ((gates_file, GATES), (baseline_file, BASELINE)):
        if source is not None:
            files.write(folder.root / name, _read_content(source))


def judge(results: Results, gates_file: Path | None, baseline_file: Path | None) -> Results:
    """The results with all that a baseline and gates say of them. Raises RegressError."""
    return _judge(results, *_read_files(gates_file, baseline_file))


def judge_claims(results: Results, file: Path) -> Results:
    """The results with what was found of each registered claim. Raises RegressError."""
    return results.model_copy(update={"claims": claims.judge(claims.read(file), results)})


def judge_run(results: Results, folder: Folder) -> Results:
    """Judges a run by what lies in its folder; gates are called as the run's command calls them."""
    demands, earlier = (path if path.exists() else None for path in (folder.root / GATES, folder.root / BASELINE))
    gates, before = _read_files(demands, earlier, find_option(results.run.command, "--gates") or GATES)
    return _judge(results, gates, before)


def _judge(results: Results, gates: Gates | None, before: Baseline | None) -> Results:
    if before:
        now = baseline.make_baseline(results)
        update = {"baseline": pairing.judge_comparability(before, now), "changes": pairing.list_changes(before, now)}
        results = results.model_copy(update=update)
    # last, as margins are judged by what changed
    return results.model_copy(update={"gates": gate_verdicts.judge(gates, results, before)}) if gates else results


def _read_files(
    gates_file: Path | None, baseline_file: Path | None, name: str | None = None
) -> tuple[Gates | None, Baseline | None]:
    """Both. Raises RegressError.

    Args:
        name: What the file of gates is called, if not by its path.
    """
    demands = gates.read(_read_content(gates_file), name or str(gates_file)) if gates_file else None
    before = baseline_files.read(_read_content(baseline_file), str(baseline_file)) if baseline_file else None
    if demands and before is None and (first := demands.needs_baseline):
        raise RegressError(
            f"{demands.name}:{first.line}: margin: needs a baseline to compare with: give --baseline FILE"
        )
    return demands, before


def _read_content(path: Path) -> bytes:
    try:
        return documents.read_bytes(path)
    except DocumentError as error:
        raise RegressError(f"{path}: {error}") from None
