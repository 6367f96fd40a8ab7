"""Recorded sessions of a team's agents: `import sessions`."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import paths
from harness.cli.common import BAD, COULD_NOT_RUN, GOOD, open_terminal, say, shorten, stop, tell
from harness.cli.options import FOLDER, with_call_seconds
from harness.machine import files, shortage

if TYPE_CHECKING:
    from harness.model.trial import Feed, Spec
    from harness.sessions.importing import Imported

REASONS = 12
"""Reasons that are told on the terminal; the list has all of them."""


@click.command()
@click.argument("recorded", metavar="PATH...", type=FOLDER, nargs=-1, required=True)
@click.option("--to", "folder", type=FOLDER, help="New or empty folder. Default: one with today's date.")
@click.option("--backend", "-b", "backends", multiple=True, help="Put the sessions to it. As `run -b`; repeatable.")
@click.option(
    "--feed",
    type=click.Choice(["sessions", "native"]),
    default="sessions",
    show_default=True,
    help="How a backend is told a session: in pieces of ours, or captured in its own way.",
)
@click.option("--out", type=FOLDER, default=paths.RUNS / "captured", help="Where logs and figures of -b are written.")
@with_call_seconds
def sessions(
    recorded: tuple[Path, ...],
    folder: Path | None,
    backends: tuple[str, ...],
    feed: Feed,
    out: Path,
    call_seconds: float | None,
) -> None:
    """Read recorded sessions into transcripts without secrets.

    A PATH is a file, or a folder that is searched. The form of a file is told by what stands in it.

    \b
    Claude Code     ~/.claude/projects
    Codex           ~/.codex/sessions
    opencode        ~/.local/share/opencode, or what `opencode export` writes
    qwen-code       ~/.qwen/projects
    Gemini CLI      ~/.gemini/tmp
    mini-swe-agent  its trajectory.json
    messages        lists as OpenAI's chat API has them, JSON or a list or message a line
    spans           OpenTelemetry GenAI spans with messages, as OTLP JSON
    \b
    Writes one file a session, sessions.json with their times, repositories and commits, and read.json with all
    that was read and left out. Nothing leaves the machine.
    \b
    Example: coldwarm import sessions ~/.claude/projects --to team-sessions
             coldwarm import sessions team-sessions -b chroma -b notes
    \b
    With -b they are told to backends: what each captures, what that costs, and what it keeps of secrets. In place
    of yours stand invented ones. A folder that was imported before is told as it is.
    """
    from harness.backend import interpreters, registry
    from harness.sessions.folder import is_imported

    try:
        specs = list(interpreters.name_releases(map(registry.parse, backends)))
    except registry.RegistryError as error:
        stop(error)
    if len(recorded) == 1 and is_imported(recorded[0]):
        if folder or not specs:
            stop(f"{recorded[0]}: was imported already: put it to backends with -b, without --to")
        folder = recorded[0]
    else:
        folder = _import(recorded, folder)
    if specs:
        _put(folder, specs, feed, out, call_seconds)


def _import(recorded: tuple[Path, ...], folder: Path | None) -> Path:
    from harness.report.progress import say_during
    from harness.sessions import importing
    from harness.sessions.folder import SessionsError

    folder = folder or paths.RUNS / "sessions" / time.strftime("%Y%m%d-%H%M%S")
    try:
        with say_during(open_terminal(), "reading sessions"):
            imported = importing.run(recorded, folder)
    except SessionsError as error:
        stop(error)
    except OSError as error:
        # A folder that is not empty is bad input; all else is the machine's doing.
        bad = error.errno == errno.ENOTEMPTY
        stop(f"{folder}: {shortage.tell(error)}; choose another with --to", BAD if bad else COULD_NOT_RUN)
    _tell(imported, folder)
    return folder


def _put(folder: Path, specs: Sequence[Spec], feed: Feed, out: Path, wait: float | None) -> None:
    """Tells the sessions to one backend after the other; what cannot be told is one line, and exit code 3."""
    from harness.backend import interpreters, registry
    from harness.backend.client import MemoryFault
    from harness.conformance import DEADLINES, open_setting
    from harness.gateway.embedder import EmbedderError
    from harness.report.progress import say_during
    from harness.sessions import captured
    from harness.sessions import feed as feeding
    from harness.sessions.folder import SessionsError

    captures: list[captured.Captured] = []
    deadlines, cache = DEADLINES.allow(wait), paths.cache_root() / "embeddings.sqlite"
    try:
        run_folder = files.make_folder(out, time.strftime("%Y%m%d-%H%M%S"))
        for spec in specs:
            try:
                with open_setting(spec, None, deadlines, cache) as setting:
                    observe = setting.playable.backend.support["observe"]
                    if feed == "native" and not observe.supported:
                        say(f"{spec.label} captures no session ({observe.note}); it was not told")
                        # In no capture, by which the exit code below is 3.
                        continue
                    with say_during(open_terminal(), f"telling {spec.label}"):
                        captures.append(captured.count(*feeding.play(folder, setting, feed, run_folder)))
            except MemoryFault as error:
                say(f"{interpreters.explain_missing(spec, error)}; {spec.label} was not told")
    except (SessionsError, registry.RegistryError) as error:
        # What the backends before it captured has figures all the same.
        if not captures:
            stop(error)
        say(error)
    except (EmbedderError, OSError) as error:
        say(error)
    for line in captured.list_lines(captures):
        tell(line)
    if captures:
        tell(f"figures: {shorten(captured.write(run_folder, captures))}")
    sys.exit(
        COULD_NOT_RUN if len(captures) < len(specs) or any(each.faults or not each.ended for each in captures) else GOOD
    )


def _tell(imported: Imported, folder: Path) -> None:
    from harness.report.words import format_count

    entries: Sequence[str] = sorted({entry.program for entry in imported.entries.values()})
    messages = sum(entry.messages for entry in imported.entries.values())
    further = sum(entry.part > 1 for entry in imported.entries.values())
    tell(
        f"{format_count(len(imported.entries) - further, 'session')} of {', '.join(entries)} with "
        f"{format_count(messages, 'message')}, from "
        f"{format_count(len(imported.listed), 'file')}; {format_count(imported.secrets, 'secret')} cut out in "
        f"{format_count(imported.cut, 'place')}"
    )
    if further:
        tell(f"{format_count(further, 'further part')} of long sessions, each listed as a session")
    undated = sum(entry.dated == "file" and entry.part == 1 for entry in imported.entries.values())
    if undated:
        tell(f"{format_count(undated, 'session')} without a time that can be read: dated by the file")
    reasons = imported.left_out.most_common()
    if reasons:
        tell("left out:")
    for reason, count in reasons[:REASONS]:
        tell(f"{count:>8,}  {reason}")
    if len(reasons) > REASONS:
        tell(f"and {format_count(len(reasons) - REASONS, 'more reason')}, in read.json")
    tell(f"sessions: {shorten(folder)}")
