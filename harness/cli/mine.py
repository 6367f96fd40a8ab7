"""A repository's own history as a suite: `mine`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import paths
from harness.cli.common import open_terminal, shorten, spell, stop, tell
from harness.cli.options import FOLDER

if TYPE_CHECKING:
    from harness.mine.mining import Mined
    from harness.mine.recorded_sessions import Recorded
    from harness.mine.stories import MinedStory
    from harness.mine.tested import TestJudge
    from harness.mine.worth import Worth
    from harness.model.transcript import Message


def _ask(text: str) -> bool | None:
    """None: the person ends it, or nobody is there to answer."""
    click.echo(text)
    try:
        verdict = click.prompt("Would you ask it?", type=click.Choice(["y", "n", "q"]), default="q", show_default=False)
    except click.Abort:
        return None
    return {"y": True, "n": False}.get(verdict)


@click.command()
@click.argument("repository", metavar="REPO")
@click.option("--to", "folder", type=FOLDER, help="Folder of the suite: new, or empty.")
@click.option(
    "--stories", type=click.IntRange(1, 1000), default=30, show_default=True, help="Maximum number of scenarios"
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed for the draw over time, kinds and folders.")
@click.option("--commit", help="The newest commit that is read: branch, tag or hash. Default: HEAD.")
@click.option(
    "--commits",
    type=click.IntRange(1),
    default=3000,
    show_default=True,
    help="Newest first-parent commits that are read.",
)
@click.option("--review", type=FOLDER, help="Write a page on which a person keeps or drops each candidate.")
@click.option("--decisions", type=FOLDER, help="What such a page saved: what was dropped is left out.")
@click.option(
    "--min-worth",
    type=click.IntRange(1, 3),
    default=2,
    show_default=True,
    help="3: what an agent runs, installs or deploys by; 2: what it writes code by, too; 1: all.",
)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only what changed since this day.")
@click.option("--path", "below", multiple=True, help="Only files below this folder, or this file. May be repeated.")
@click.option(
    "--sessions",
    type=FOLDER,
    help="Only what your team's sessions said before it changed: a folder of `import sessions`.",
)
@click.option(
    "--tests",
    metavar="COMMAND",
    help="Have this test command of the repository judge the decisions that it can tell apart.",
)
@click.option(
    "--check",
    type=click.IntRange(1),
    metavar="N",
    help="Ask you of N facts in stories whether each is worth asking.",
)
def mine(
    repository: str,
    folder: Path | None,
    stories: int,
    seed: int,
    commit: str | None,
    commits: int,
    review: Path | None,
    decisions: Path | None,
    min_worth: Worth,
    since: datetime | None,
    below: tuple[str, ...],
    sessions: Path | None,
    tests: str | None,
    check: int | None,
) -> None:
    """Write a private suite from the history of a repository.

    REPO is a clone on this machine. Reads values of settings, constants and default arguments, names of modules,
    functions and flags, and commands in documents, as the first-parent commits changed them. REPO is only read, and
    nothing that it configures runs, but what --tests names: in copies, without network.

    What was only told, and what somebody prefers, no history knows: write such stories by hand.

    \b
    Example: coldwarm mine ../our-service --to our-suite
             coldwarm run --suite our-suite -b chroma -d none
    """
    from harness.mine import mining, review_page, review_sample
    from harness.repo.checkout import FixtureError
    from harness.report.progress import say_during
    from harness.sessions.folder import SessionsError, is_imported

    if sessions is not None and not is_imported(sessions):
        command = f"coldwarm import sessions PATH --to {spell(sessions)}"
        stop(f"{sessions}: holds no imported sessions: make it with `{command}`")
    if folder is None and review is None and check is None:
        stop("say what is wanted: --to DIR for a suite, --review PAGE.html for a page of its candidates, --check N")
    day = since.replace(tzinfo=UTC) if since else None
    wanted = mining.Wanted(min_worth, day, below)
    mined_stories = None
    judge = _open_judge(tests) if tests else None
    try:
        # An unusable folder is told before the history is read, which may take long.
        if folder is not None:
            mining.check_free(folder)
        decided = review_page.read(decisions) if decisions else {}
        with say_during(open_terminal(), "reading the history"):
            recorded = _open_sessions(sessions) if sessions else None
            mined = mining.search(repository, commit, commits, decided, paths.cache_root(), wanted, recorded)
        _tell_found(mined, with_sessions=sessions is not None)
        if review is not None:
            review_page.write(mined, review, decided)
            tell(f"page: {shorten(review)}; it saves decisions.json, which --decisions reads")
        if folder is not None:
            with say_during(open_terminal(), "writing and proving the stories"):
                mined_stories = mining.write(mined, folder, stories, seed, paths.FIXTURES, paths.cache_root(), judge)
            tell(f"{shorten(folder)}: {len(mined_stories)} of {stories} stories")
            if judge is not None:
                _tell_tested(judge)
            tell(f"Play it: coldwarm run --suite {spell(folder)} -b chroma -d none")
            _tell_transcripts(mined_stories, folder)
        if check is not None:
            if mined_stories is None:
                mined_stories = mining.list_stories(mined, stories, seed, Counter())
            tell(review_sample.judge(mined, mining.list_used(mined, mined_stories), seed, check, _ask).tell())
    except (mining.MineError, FixtureError, SessionsError) as error:
        stop(error)


def _open_judge(tests: str) -> TestJudge:
    import shlex

    from harness.mine.tested import TestJudge
    from harness.repo import programs

    try:
        # Called for its refusal: a wrong COLDWARM_TEST_ENV is told before the history is read.
        programs.find_environment()
        return TestJudge(tuple(shlex.split(tests)))
    except programs.ProgramsError as error:
        stop(error)
    except ValueError as error:
        stop(f"--tests: {error}")


def _tell_found(mined: Mined, *, with_sessions: bool) -> None:
    """What there is to tell, and what was left out; `with_sessions`: sessions were given."""
    from harness.mine import misled
    from harness.report.words import format_count

    # The oldest commit is only what the first change starts from.
    tell(
        f"{format_count(len(mined.candidates), 'candidate')} in "
        f"{format_count(len(mined.commits) - 1, 'change')}; left out:"
    )
    for reason, count in sorted(mined.reasons.items(), key=lambda pair: -pair[1]):
        tell(f"{count:>8,}  {reason}")
    if with_sessions:
        sessions = {each.session for own in mined.told.values() for each in own}
        tell(
            f"{format_count(len(sessions), 'session')} said {format_count(len(mined.told), 'value')} that changed later"
        )
    if mined.misled:
        tell(misled.tell(mined.misled))


def _tell_tested(judge: TestJudge) -> None:
    from harness.repo import programs
    from harness.report.words import format_count, make_visible

    tell(
        f"The tests judge {judge.judged} of {format_count(judge.tried, 'decision')} that were tried; "
        "of the others a check reads the real file."
    )
    if judge.unsteady:
        tell(f"Of {format_count(judge.unsteady, 'decision')} they judged otherwise when run again, and judge nothing.")
    if judge.failing:
        reason = make_visible(next(iter(judge.failing.values())))
        tell(
            f"At {format_count(len(judge.failing), 'commit')} they fail without any change, and judge nothing: {reason}"
        )
        tell(
            "They see the work tree, the system's programs and the Python that runs coldwarm, and no network"
            + ("." if programs.find_environment() else f"; {programs.VARIABLE}=.venv shows them your own environment.")
        )


def _open_sessions(folder: Path) -> Recorded:
    """The sessions of an import. What is read of them raises SessionsError."""
    from harness.mine.recorded_sessions import Recorded
    from harness.mine.told import Spoken
    from harness.sessions.folder import read_index, read_session

    entries = {entry.id: entry for entry in read_index(folder).sessions}

    @lru_cache(maxsize=8)  # a session may be of megabytes, and tell many values
    def read(name: str) -> tuple[Message, ...]:
        messages: list[Message] = []
        at = entries[name].at
        for message in read_session(folder, entries[name]).messages:
            # Not every message has a time: one without is dated by the last that has one.
            at = message.at or at
            messages.append(message.model_copy(update={"at": at}))
        return tuple(messages)

    def list_spoken(repository: str) -> Iterator[Spoken]:
        for entry in entries.values():
            # A session that names no repository may be of this one.
            if entry.repository in ("", repository):
                for number, message in enumerate(read(entry.id), 1):
                    yield Spoken(entry.id, message.at or entry.at, number, message.content)

    return Recorded(list_spoken, read)


def _tell_transcripts(stories: Sequence[MinedStory], folder: Path) -> None:
    """How to feed the transcripts of stories that have some."""
    from harness.mine.recorded_sessions import RECORDED
    from harness.report.words import format_count

    if any(story.transcripts for story in stories):
        sessions = {name for story in stories for name in story.transcripts if name.startswith(RECORDED)}
        tell(f"{format_count(len(sessions), 'session')} of your team's in them, and a line for each value of a commit.")
        tell(f"Feed what was said: coldwarm run --suite {spell(folder)} --feed sessions -b chroma -d none")
