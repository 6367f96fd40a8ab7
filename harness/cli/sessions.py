"""Recorded sessions of a team's agents: `import sessions`."""

from __future__ import annotations

import errno
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import paths
from harness.cli.common import BAD, COULD_NOT_RUN, FOLDER, shorten, stop, tell, terminal

if TYPE_CHECKING:
    from harness.sessions.importing import Imported

REASONS = 12
"""Reasons that are told on the terminal; the list has all of them."""


@click.command()
@click.argument("recorded", metavar="PATH...", type=FOLDER, nargs=-1, required=True)
@click.option("--to", "folder", type=FOLDER, help="New or empty folder. Default: one with today's date.")
def sessions(recorded: tuple[Path, ...], folder: Path | None) -> None:
    """Read recorded sessions of agents into transcripts without secrets.

    A PATH is a file, or a folder that is searched. The form of a file is told by what stands in it.

    \b
    Claude Code  ~/.claude/projects
    Codex        ~/.codex/sessions
    opencode     ~/.local/share/opencode/storage, or what `opencode export` writes
    messages     lists as OpenAI's chat API has them, JSON or a list or message a line
    spans        OpenTelemetry GenAI spans with messages, as OTLP JSON
    \b
    Writes one file a session, sessions.json with their times, repositories and commits, and read.json with all
    that was read and left out. Nothing leaves the machine.
    \b
    Example: coldwarm import sessions ~/.claude/projects --to team-sessions
    """
    from harness.report.progress import say_during
    from harness.sessions import importing
    from harness.sessions.folder import SessionsError

    folder = folder or paths.RUNS / "sessions" / time.strftime("%Y%m%d-%H%M%S")
    try:
        with say_during(terminal(), "reading sessions"):
            imported = importing.run(recorded, folder)
    except SessionsError as error:
        stop(error)
    except OSError as error:
        bad = error.errno == errno.ENOTEMPTY
        stop(f"{folder}: {error.strerror}; choose another with --to", BAD if bad else COULD_NOT_RUN)
    _tell(imported, folder)


def _tell(imported: Imported, folder: Path) -> None:
    from harness.report.words import plural

    entries: Sequence[str] = sorted({entry.program for entry in imported.entries.values()})
    messages = sum(entry.messages for entry in imported.entries.values())
    tell(
        f"{plural(len(imported.entries), 'session')} of {', '.join(entries)} with {plural(messages, 'message')}, from "
        f"{plural(len(imported.listed), 'file')}; {plural(imported.secrets, 'secret')} cut out in "
        f"{plural(imported.cut, 'place')}"
    )
    reasons = imported.left_out.most_common()
    if reasons:
        tell("left out:")
    for reason, count in reasons[:REASONS]:
        tell(f"{count:>8,}  {reason}")
    if len(reasons) > REASONS:
        tell(f"and {plural(len(reasons) - REASONS, 'more reason')}, in read.json")
    tell(f"sessions: {shorten(folder)}")
