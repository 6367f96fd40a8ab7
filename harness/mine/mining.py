"""A repository -> a folder with a suite, whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Literal, NoReturn

from pydantic import ValidationError

from harness.machine import shortage
from harness.mine import candidates, misled, reading, stories, toml
from harness.mine.candidates import Candidate
from harness.mine.recorded_sessions import Recorded, StorySessions
from harness.mine.stories import MinedStory
from harness.mine.tested import TestJudge
from harness.mine.told import UNTOLD, Telling, find_tellings
from harness.mine.value_changes import list_seen
from harness.mine.worth import Worth
from harness.model.scenario import MINED
from harness.repo.changes import Commit, list_commits
from harness.repo.checkout import Repo, build
from harness.repo.clone import Clone, locate
from harness.repo.names import find_commit
from harness.repo.series import FixtureError
from harness.report.words import format_count
from harness.selftest import suite
from tasks import transcripts

REPORT = "mined.json"
WORTH_LESS = "worth less than --min-worth"
DRAWS = 9
"""Times that stories are drawn from the candidates that are in none yet."""
Judgement = Literal["keep", "drop"]


class MineError(Exception):
    """Why there is no suite. One line."""


@dataclass(frozen=True)
class Mined:
    """What a history has to offer.

    Attributes:
        dropped: Candidates that a person dropped: only a page shows them.
        reasons: Why something is no candidate -> how often.
        misled: Candidate in a file for agents -> for how many days it was wrong, None if nobody knows.
        told: Candidate -> what sessions said of it before it changed; empty where no sessions were given.
        sessions: These sessions.
    """

    repo: Repo
    location: str
    commits: Sequence[Commit]
    candidates: Sequence[Candidate]
    dropped: Sequence[Candidate]
    reasons: Mapping[str, int]
    misled: Mapping[str, int | None]
    told: Mapping[str, Sequence[Telling]] = field(default_factory=dict)
    sessions: StorySessions | None = None


@dataclass(frozen=True)
class Wanted:
    """Which candidates are wanted.

    Attributes:
        least: Their least worth.
        since: Only what changed later.
        below: Only files below one of these folders, or these files.
    """

    least: Worth = 1
    since: datetime | None = None
    below: tuple[str, ...] = ()

    def refuse(self, each: Candidate) -> str | None:
        """Why it is not wanted."""
        if self.since is not None and each.changed < self.since:
            return "changed before --since"
        if self.below and not any(PurePosixPath(each.file).is_relative_to(path) for path in self.below):
            return "outside of --path"
        return WORTH_LESS if each.worth < self.least else None


ANY = Wanted()


def search(
    named: str, commit: str | None, amount: int, decided: Mapping[str, Judgement], cache: Path, wanted: Wanted = ANY,
    recorded: Recorded | None = None,
) -> Mined:  # fmt: skip
    """The candidates of the newest `amount` first-parent commits up to a commit.

    Args:
        recorded: Sessions; given, only what these said before it changed is a candidate.

    Raises MineError where there are none, FixtureError for what is no whole repository.
    """
    location = locate(named, Path.cwd())
    repo = build(Clone(location, find_commit(location, commit or "HEAD")), cache)
    commits = list_commits(repo, amount)
    if len(commits) < 2:
        raise MineError(f"{named}: has one commit, so nothing can have changed; name a repository with a history")
    reasons: Counter[str] = Counter()
    found = list[Candidate]()
    for each in find_candidates(repo, commits, reasons):
        if reason := wanted.refuse(each):
            reasons[reason] += 1
        else:
            found.append(each)
    # the name of a clone does not depend on a commit
    tellings = find_tellings(found, recorded.list_spoken(Clone(location, "").name)) if recorded else {}
    if recorded:
        reasons[UNTOLD] += len(found) - len(tellings)
        found = [each for each in found if each.id in tellings]
    dropped = [each for each in found if decided.get(each.id) == "drop"]
    if dropped:
        reasons["dropped by hand"] += len(dropped)
    remaining = [each for each in found if each not in dropped]
    if not remaining:
        raise MineError(
            f"{named}: nothing to mine in {format_count(len(commits) - 1, 'change')} ({tell_most(reasons)}); "
            f"{_advise(repo, commits, reasons)}"
        )
    sessions = StorySessions(repo, commits, recorded, tellings) if recorded else None
    return Mined(
        repo, location, commits, remaining, dropped, reasons, misled.count_days(repo, remaining), tellings, sessions
    )


def tell_most(reasons: Counter[str]) -> str:
    """Why most of what changed is no candidate."""
    return "; ".join(f"{reason}: {count}" for reason, count in reasons.most_common(3)) or "no text file changed"


def _advise(repo: Repo, commits: Sequence[Commit], reasons: Mapping[str, int]) -> str:
    """What may bring more candidates."""
    if repo.history.parents[commits[0].hash]:
        return "read more of the history with --commits"
    return "take those, too, with --min-worth 1" if reasons.get(WORTH_LESS) else "name a repository with more history"


def refuse(place: Path, error: OSError) -> NoReturn:
    """Says why nothing can be written there: what the machine lacks as OSError, which names the full folder."""
    if shortage.explain_error(error, place.parent):
        raise OSError(error.errno, error.strerror, error.filename or str(place)) from None
    raise MineError(f"{place}: cannot be written: {shortage.tell(error)}") from None


def check_free(folder: Path) -> None:
    """Raises MineError if no suite may be written there."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise MineError(f"{folder}: is there already, and not empty; name a new folder")
    except OSError as error:
        refuse(folder, error)


def find_candidates(repo: Repo, commits: Sequence[Commit], reasons: Counter[str]) -> list[Candidate]:
    """What these commits changed, oldest first; what is left out is counted with its reason."""
    chains = candidates.chain_changes(list_seen(repo, commits, reasons), {each.hash: each.at for each in commits})
    return reading.list_read(repo, candidates.list_candidates(repo, chains, reasons), reasons)


def write(
    mined: Mined, folder: Path, amount: int, seed: int, fixtures: Path, cache: Path, judge: TestJudge | None = None
) -> list[MinedStory]:
    """Writes up to `amount` stories that hold into a folder that is new or empty, at once when all is whole.

    Args:
        judge: Has the repository's tests judge what they can.
    """
    check_free(folder)
    reasons = Counter(mined.reasons)
    stories = list_stories(mined, amount, seed, reasons)
    if mined.sessions:
        stories = list(_add_sessions(mined, stories, reasons))
    if judge:
        stories = [judge.judge(mined.repo, each) for each in stories]
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        # beside the folder: a rename works within one file system only
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    except OSError as error:
        refuse(folder, error)
    try:
        sound = _write_stories(draft, stories, fixtures, cache, reasons)
        if not sound:
            raise MineError(
                f"{mined.location}: {format_count(len(mined.candidates), 'candidate')}, too few for a story that holds "
                f"({tell_most(reasons)}); {_advise(mined.repo, mined.commits, reasons)}"
            )
        (draft / REPORT).write_text(
            json.dumps(_report(mined, sound, seed, reasons), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        # mkdtemp lets in nobody but its owner
        draft.chmod(0o755)
        if folder.exists():
            # fails if somebody filled it meanwhile
            folder.rmdir()
        draft.rename(folder)
    except OSError as error:
        refuse(folder, error)
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # once it was renamed there is none
    return sound


def list_used(mined: Mined, stories: Iterable[MinedStory]) -> list[Candidate]:
    """What stories tell, oldest first."""
    used = {name for story in stories for name in story.used}
    return [each for each in mined.candidates if each.id in used]


def list_stories(mined: Mined, amount: int, seed: int, reasons: Counter[str]) -> list[MinedStory]:
    """Up to `amount` stories. Of a group of which too few hold, these get another chance beside other ones."""
    mined_stories, remaining = list[MinedStory](), list(mined.candidates)
    for turn in range(DRAWS):
        # another seed each turn, or the same groups would be drawn again
        for group in stories.draw(mined.repo, remaining, amount - len(mined_stories), f"{seed} {turn}"):
            try:
                story = stories.write(
                    mined.repo, mined.location, group, mined.candidates, len(mined_stories) + 1, seed, reasons
                )
            except FixtureError as error:  # a link out of the tree, in which no job may work
                reasons[f"story that does not hold: {error}"] += 1
                continue
            if isinstance(story, list):
                fallen = {each.id for each in story}
                remaining = [each for each in remaining if each.id not in fallen]
            else:
                mined_stories.append(story)
                remaining = stories.list_apart(remaining, [each for each in remaining if each.id in story.used])
        if len(mined_stories) == amount:
            break
    return mined_stories


def _add_sessions(mined: Mined, stories: Iterable[MinedStory], reasons: Counter[str]) -> Iterator[MinedStory]:
    assert mined.sessions is not None
    for each in stories:
        try:
            yield mined.sessions.add(each, mined.candidates)
        except ValidationError as error:
            reasons[f"story that no session may stand in: {error.errors()[0]['msg'][:60]}"] += 1


def _write_stories(
    draft: Path, stories: Sequence[MinedStory], fixtures: Path, cache: Path, reasons: Counter[str]
) -> list[MinedStory]:
    """Every job is done once in a real work tree; a story of which anything does not hold is left out."""
    (draft / MINED).mkdir()
    files = {story.name: draft / MINED / f"{story.name}.toml" for story in stories}
    for story in stories:
        files[story.name].write_text(toml.dump(story.data), encoding="utf-8")
        for session, messages in story.transcripts.items():
            files[story.name].with_suffix("").mkdir(exist_ok=True)
            (files[story.name].with_suffix("") / f"{session}.toml").write_text(transcripts.write(messages), "utf-8")
    problems = suite.validate(list(files.values()), fixtures, cache) if files else []
    sound = []
    for story in stories:
        start = f"{files[story.name]}: "
        wrong = [line.removeprefix(start) for line in problems if line.startswith(start)]
        if wrong:
            reasons[f"story that does not hold: {wrong[0][:120]}"] += 1
            files[story.name].unlink()
            shutil.rmtree(files[story.name].with_suffix(""), ignore_errors=True)
        else:
            sound.append(story)
    return sound


def _report(mined: Mined, sound: Sequence[MinedStory], seed: int, reasons: Mapping[str, int]) -> dict[str, object]:
    used = {name: story.name for story in sound for name in story.used}
    return {
        "label": MINED,
        "repository": mined.location,
        "commit": mined.repo.history.commits[-1],
        "changes": len(mined.commits) - 1,
        "seed": seed,
        "stories": len(sound),
        "left_out": dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        "cannot_know": "what was only told, and what somebody prefers: every fact here stands in the repository",
        "candidates": [
            {
                "id": each.id,
                "kind": each.kind,
                "what": each.what,
                "ask": each.wording.ask(each.what, each.file)["plain"],
                "file": each.file,
                "values": [stand.value for stand in each.stands],
                "commits": [commit.hash for commit in each.commits],
                "story": used.get(each.id),
                **({"told": [telling._asdict() for telling in mined.told[each.id]]} if each.id in mined.told else {}),
                **({"days_wrong": mined.misled[each.id]} if each.id in mined.misled else {}),
            }
            for each in mined.candidates
        ],
    }
