"""The shortest way to a report: `demo`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import choose_exit_code, open_page, score_run, shorten, tell, tell_written
from harness.cli.options import with_open, with_out
from harness.cli.play import run

if TYPE_CHECKING:
    from harness.log.folder import Folder
    from harness.model.results import Results
    from harness.model.trial import Measured, WritePolicy

STORY = "incident-override/replay-storm"
MEMORY, NOTES = "bm25", "notes"
BACKENDS = (MEMORY, NOTES)


@click.command()
@with_out
@with_open
def demo(out: Path, browse: bool) -> None:
    """Show in half a minute what a memory gains, and one fault.

    A keyword index (BM25) and a notes file play a story in which what was remembered changes. Needs no SDK, no key
    and no network.
    """
    from harness.cli import playing

    tell(f"Playing the story {STORY} without a memory, and with two of them: half a minute.")
    # Read from the command, so that the defaults are those of `run`.
    options = run.make_context("run", []).params
    # `run` opens the page itself: `play` has no such parameter.
    del options["browse"]
    options |= {
        "backends": BACKENDS, "scenarios": (STORY,), "noise": (20,), "drilled": ("none",), "jobs": 2, "fresh": True,
        "out": out, "quiet": True,
    }  # fmt: skip
    folder = playing.play(**options)
    written = tell_written(folder, *score_run(folder))
    for line in _tell(written.said, folder):
        tell(line)
    tell(f"report: {shorten(written.page)}")
    if browse:
        open_page(written.page)
    sys.exit(choose_exit_code(written.said))


def _tell(results: Results, folder: Folder) -> Iterator[str]:
    """What was gained and what went wrong, as it was measured."""
    from harness.metrics.acting import STALE_USE
    from harness.metrics.completion import DECISIONS_RIGHT

    (story,) = results.stories
    cold, appended, curated = (
        _find(results, DECISIONS_RIGHT, *which) for which in ((None, None), (MEMORY, "append"), (MEMORY, "curated"))
    )
    stale = _find(results, STALE_USE, MEMORY, "append")
    if not (cold and appended and curated and stale):
        yield "The story did not come to its end, so there is nothing to compare."
        return
    gained = (curated.hits or 0) - (cold.hits or 0)
    yield ""
    yield f"The story: {story.title}."
    yield f"An agent does {story.jobs} jobs in a repository and takes {story.decisions} decisions. Earlier"
    yield "sessions told it what it should know, and some of that has changed since."
    yield ""
    yield f"What a memory gains: {'more right decisions' if gained > 0 else 'nothing in this story'}."
    yield f"  without a memory                              {_share(cold)} decisions right"
    yield f"  with BM25, which looks up before it writes    {_share(curated)} decisions right"
    yield ""
    yield f"A fault: {'it acts on rules that no longer hold' if stale.hits else 'none in this story'}."
    yield f"  with the same BM25, when it only appends      {_share(appended)} decisions right"
    yield f"  decided by a rule that had been replaced      {_share(stale)} decisions"
    yield from _show_stale(folder)
    yield ""


def _find(results: Results, measure: str, backend: str | None, write: WritePolicy | None) -> Measured | None:
    """A measure of the reader that takes the first memory it finds."""
    for cell in results.cells:
        read = results.run.conditions.headline_read if backend else None
        if (cell.backend, cell.write_policy, cell.read_policy) == (backend, write, read):
            pooled = cell.measures[measure]
            return pooled if pooled.status == "measured" else None
    return None


def _share(measured: Measured) -> str:
    return f"{measured.hits or 0:g} of {measured.of}"


def _show_stale(folder: Folder) -> Iterator[str]:
    """The first decision that followed what had been replaced: the question, what was taken, what is right."""
    from harness.metrics.view import Record

    for log in folder.logs()[0].values():
        if (log.trial.backend, log.trial.write_policy) != (MEMORY, "append"):
            continue
        for _, work in (record := Record(log)).works("trusting"):
            choices = {choice.decision: choice.value for choice in work.choices}
            for (job, name), judged in record.find_decided("trusting").items():
                if job == work.job and judged.verdict == "stale" and choices.get(name):
                    yield f"  For example: {judged.decision.question}"
                    yield f"    it took {choices[name]}, and right is {judged.decision.right.value}"
                    return
