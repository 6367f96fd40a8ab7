"""The memory file of an agent program, such as CLAUDE.md: what the harness puts there, and what the program writes."""

from __future__ import annotations

from harness.agents.memory import LONGEST
from harness.play.readers.tools import NOTHING, Toolbox

HEAD, FOOT = "# Notes from earlier sessions", "(end of the notes)"
MOST = 20
"""Lines of its own that are kept of one job."""


def write_notes(toolbox: Toolbox, caution: str) -> str:
    """What the memory brings for the points of a job, each line once. Of a memory that is read whole, that is all."""
    brought = [toolbox.recall(each, each.question) for each in toolbox.job.decisions]
    lines = dict.fromkeys(line for text in brought for line in text.splitlines())
    return "\n".join([HEAD, caution, "", *(lines or [NOTHING]), "", FOOT, ""])


def keep_added(toolbox: Toolbox, given: str, left: str) -> int:
    """Remembers what the program wrote into its file itself, a line a memory, so that later jobs have it there: how
    many lines it kept."""
    remember = toolbox.context.remember
    added = [line.strip().removeprefix("- ") for line in list_added(given, left)]
    # remember() tells whether a line was kept, and True counts as 1
    return sum(remember(line[:LONGEST]) for line in added[:MOST]) if remember is not None else 0


def list_added(given: str, left: str) -> list[str]:
    """The lines of what was left that were not given."""
    known = {*given.splitlines()}
    return [line for line in left.splitlines() if line.strip() and line not in known]
