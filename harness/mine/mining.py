"""A repository -> a folder with a suite, whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Literal

from harness.machine import shortage
from harness.mine import candidates, misled, reading, stories, toml
from harness.mine.candidates import Candidate
from harness.mine.stories import MinedStory
from harness.mine.tested import TestJudge
from harness.mine.told import UNTOLD, Spoken, Telling, find_tellings
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

REPORT = "mined.json"
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
    """

    repo: Repo
    location: str
    commits: Sequence[Commit]
    candidates: Sequence[Candidate]
    dropped: Sequence[Candidate]
    reasons: Mapping[str, int]
    misled: Mapping[str, int | None]
    told: Mapping[str, Sequence[Telling]] = field(default_factory=dict)


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
        return "worth less than --min-worth" if each.worth < self.least else None


ANY = Wanted()


def search(
    named: str, commit: str | None, amount: int, decided: Mapping[str, Judgement], cache: Path, wanted: Wanted = ANY,
    spoken: Callable[[str], Iterable[Spoken]] | None = None,
) -> Mined:  # fmt: skip
    """The candidates of the newest `amount` first-parent commits up to a commit.

    Args:
        spoken: The name of a repository -> what sessions said there; given, only what these said before it changed is
            a candidate.

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
    told = find_tellings(found, spoken(Clone(location, "").name)) if spoken else {}
    if spoken:
        reasons[UNTOLD] += len(found) - len(told)
        found = [each for each in found if each.id in told]
    dropped = [each for each in found if decided.get(each.id) == "drop"]
    if dropped:
        reasons["dropped by hand"] += len(dropped)
    kept = [each for each in found if each not in dropped]
    if not kept:
        raise MineError(
            f"{named}: nothing to mine in {format_count(len(commits) - 1, 'change')} ({tell_most(reasons)}); "
            "name a repository with more history"
        )
    return Mined(repo, location, commits, kept, dropped, reasons, misled.count_days(repo, kept), told)


def tell_most(reasons: Counter[str]) -> str:
    """Why most of what changed is no candidate."""
    return "; ".join(f"{reason}: {count}" for reason, count in reasons.most_common(3)) or "no text file changed"


def check_free(folder: Path) -> None:
    """Raises MineError if no suite may be written there."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise MineError(f"{folder}: is there already, and not empty; name a new folder")
    except OSError as error:
        raise MineError(f"{folder}: cannot be written: {shortage.tell(error)}") from None


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
    if judge:
        stories = [judge.judge(mined.repo, each) for each in stories]
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    except OSError as error:
        raise MineError(f"{folder}: cannot be written: {shortage.tell(error)}") from None
    try:
        kept = _write_stories(draft, stories, fixtures, cache, reasons)
        if not kept:
            raise MineError(
                f"{mined.location}: {format_count(len(mined.candidates), 'candidate')}, too few for a story that holds "
                f"({tell_most(reasons)}); "
                "read more of the history with --commits"
            )
        (draft / REPORT).write_text(
            json.dumps(_report(mined, kept, seed, reasons), indent=1, ensure_ascii=False) + "\n"
        )
        draft.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    except OSError as error:
        raise MineError(f"{folder}: cannot be written: {shortage.tell(error)}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # once it was renamed there is none
    return kept


def list_used(mined: Mined, stories: Iterable[MinedStory]) -> list[Candidate]:
    """What stories tell, oldest first."""
    used = {name for story in stories for name in story.used}
    return [each for each in mined.candidates if each.id in used]


def list_stories(mined: Mined, amount: int, seed: int, reasons: Counter[str]) -> list[MinedStory]:
    """Up to `amount` stories. Candidates of a group that does not hold get another chance beside other ones."""
    made, left = list[MinedStory](), list(mined.candidates)
    for turn in range(DRAWS):
        for group in stories.draw(mined.repo, left, amount - len(made), f"{seed} {turn}"):
            try:
                story = stories.write(mined.repo, mined.location, group, mined.candidates, len(made) + 1, seed, reasons)
            except FixtureError as error:  # a link out of the tree, in which no job may work
                reasons[f"story that does not hold: {error}"] += 1
                continue
            if story is not None:
                made.append(story)
                left = stories.list_apart(left, [each for each in left if each.id in story.used])
        if len(made) == amount:
            break
    return made


def _write_stories(
    draft: Path, stories: Sequence[MinedStory], fixtures: Path, cache: Path, reasons: Counter[str]
) -> list[MinedStory]:
    """Every job is done once in a real work tree; a story of which anything does not hold is left out."""
    (draft / MINED).mkdir()
    files = {story.name: draft / MINED / f"{story.name}.toml" for story in stories}
    for story in stories:
        files[story.name].write_text(toml.dump(story.data), encoding="utf-8")
    problems = suite.validate(list(files.values()), fixtures, cache) if files else []
    kept = []
    for story in stories:
        start = f"{files[story.name]}: "
        wrong = [line.removeprefix(start) for line in problems if line.startswith(start)]
        if wrong:
            reasons[f"story that does not hold: {wrong[0][:120]}"] += 1
            files[story.name].unlink()
        else:
            kept.append(story)
    return kept


def _report(mined: Mined, kept: Sequence[MinedStory], seed: int, reasons: Mapping[str, int]) -> dict[str, object]:
    used = {name: story.name for story in kept for name in story.used}
    return {
        "label": MINED,
        "repository": mined.location,
        "commit": mined.repo.history.commits[-1],
        "changes": len(mined.commits) - 1,
        "seed": seed,
        "stories": len(kept),
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
