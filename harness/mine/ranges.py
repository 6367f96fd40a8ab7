"""A range of commits -> a first story of somebody's own: short, whole, and theirs to change.

The agent learns what some values were at the start of the range, then what they are at its end; it is asked for them
and works there. What no commit says stands in the file as lines to uncomment.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from string import Template

from pydantic import ValidationError

from harness.mine import mining, stories
from harness.mine.candidates import Candidate, Stand
from harness.mine.mining import MineError
from harness.mine.shapes import KINDS
from harness.mine.stories import HASH, Chained
from harness.mine.toml import write as say
from harness.model.scenario import Scenario
from harness.repo.changes import Commit, list_commits, read_texts
from harness.repo.checkout import Repo, build
from harness.repo.checks import WorkTrees
from harness.repo.clone import URL, Clone, locate
from harness.repo.names import find_commit
from harness.report.words import format_count
from harness.selftest import job_checks
from harness.selftest.proof import ScenarioProof
from tasks import proofs, short, skeleton

CHAINS = 3
"""Values that the story tells: with more it would be no file to read at once."""
COMMITS = 3000
"""First-parent commits of the longest range that is read."""
MOMENTS = 32
"""Commits of a range at which it is tried how many values were other ones."""
# no str.format: TOML is full of braces
STORY = Template("""\
# What changed in $repository from $between, as a first story of your own. It holds as it is: change the
# words, take out what nobody would ask, and uncomment what no commit can know (#~). docs/scenarios.md explains it.
schema = 1
version = 1 # raise it with every change that changes what is played
kind = $kind
title = $title
story = $story
fixture = $fixture
scope = $scope

# True from `since` until another one supersedes it. `says` stands for forms, sentences and rewrites. The line at
# `source` must say the value and the word `key`; without a key, `what`.
facts = [
$facts
  #~ { id = "told", type = "user", since = $first, says = { what = "the reviewer", value = "desk-redstart" } },
]

[[sessions]]
id = "before"
at = $first
by = "team"
commit = $start
steps = [
  { do = "learn", facts = $old },
  #~ { do = "learn", facts = ["told"] },
]

[[sessions]]
id = "after"
at = $second
by = "team"
commit = $end
steps = [{ do = "learn", facts = $new }]

[[sessions]]
id = "work"
at = $third
by = "team"
commit = $end
steps = [
  #~ { do = "remember", texts = [{ text = $note, asserts = [$wrong] }] }, # a trap: the newest text is wrong
$probes
  #~ { do = "probe", id = "told", asks = "told" },
  { do = "probe", id = "earlier", asks = $newest, history = true },
  { do = "probe", id = "unknown", ask = { plain = "Where may visitors park?" } },
  $job,
]
""")
"""What stands behind #~ was only told, or is a trap: no commit can know it."""


@dataclass(frozen=True)
class Drafted:
    """A story as it was written.

    Attributes:
        told, found: Values that it tells, of those that changed in the range.
        changes: First-parent commits of the range.
    """

    file: Path
    lines: int
    told: int
    found: int
    changes: int


def write(name: str, suite: Path, repository: str, between: str, cache: Path) -> Drafted:
    """Writes `<suite>/<name>.toml`, a story that holds, of what changed from one commit to another ("A..B").

    Raises ScenarioError for a name that is none or taken, FixtureError for what is no whole repository or no commit of
    it, MineError where the range tells no story. Each is one line, and no file is written then.
    """
    file = skeleton.find_place(name, suite)
    location = locate(repository, Path.cwd())
    start, end = _find_ends(location, between)
    repo = build(Clone(location, end), cache)
    # this history holds only what leads to its end
    if start == end or start not in repo.history.parents:
        raise MineError(f"{between}: {end[:HASH]} does not come after {start[:HASH]}; write the older commit first")
    commits = list_commits(repo, COMMITS, start)
    reasons: Counter[str] = Counter()
    found = mining.find_candidates(repo, commits, reasons)
    remaining = _choose(repo, found, commits, reasons)
    while remaining:
        chains = _take(remaining)
        text = _tell(file, repo, between, chains, commits)
        wrong = _find_wrong(repo, file, text, chains)
        if not wrong:
            skeleton.put(file, text)
            return Drafted(file, text.count("\n"), len(chains), len(found), len(commits) - 1)
        reasons["sentence or check that does not hold"] += len(wrong)
        remaining = [each for each in remaining if each not in [one.candidate for one in chains if one.name in wrong]]
    raise MineError(
        f"{between}: nothing that a story could tell changed in {format_count(len(commits) - 1, 'change')} "
        f"({mining.tell_most(reasons)}); "
        "name a longer range, or write by hand: coldwarm new scenario --fixture"
    )


def _find_ends(location: str, between: str) -> tuple[str, str]:
    start, dots, end = between.partition("..")
    # to git, A...B is another kind of range
    if not (start and dots) or end.startswith("."):
        raise MineError(f"{between}: is no range of commits; write OLDER..NEWER, as in v1.0..HEAD or HEAD~50..HEAD")
    return find_commit(location, start), find_commit(location, end or "HEAD")


# --- which changes ----------------------------------------------------------------------------------------------------


def _choose(
    repo: Repo, candidates: Sequence[Candidate], commits: Sequence[Commit], reasons: Counter[str]
) -> list[Candidate]:
    """Those of which one session can learn old values and a later one the new ones; one of each kind comes first."""
    last = commits[-1]
    end = Stand(last.hash, last.at, "", 0, "")
    standing = [*stories.list_standing(repo, candidates, end)]
    moments = commits[: -1 : max(1, len(commits) // MOMENTS)]
    sound = max((_list_held(repo, standing, moment) for moment in moments), key=len)
    if len(sound) < len(candidates):
        reasons["value that was not there when the others were"] += len(candidates) - len(sound)
    turns: Counter[str] = Counter()
    ranked = []
    for each in sorted(sound, key=lambda each: (each.changed, each.id), reverse=True):
        ranked.append((turns[each.kind], KINDS.index(each.kind), each))
        turns[each.kind] += 1
    # ranks alone: candidates have no order
    return [each for *_, each in sorted(ranked, key=lambda one: one[:2])]


def _list_held(repo: Repo, candidates: Sequence[Candidate], moment: Commit) -> list[Candidate]:
    """Candidates with another value at a commit than now, from there on, without what was in between."""
    then = [(each, _find_stand(each, moment)) for each in candidates]
    earlier = [(each, stand) for each, stand in then if stand is not each.stands[-1]]
    # in pairs: the commit where the value is cited, and the moment
    places = [(commit, stand.path) for _, stand in earlier for commit in (stand.commit, moment.hash)]
    texts = read_texts(repo, places)
    found = []
    for (each, stand), cited, text in zip(earlier, texts[::2], texts[1::2], strict=True):
        if cited is None or text is None:  # too large, or no UTF-8 at that time
            continue
        line = cited.split("\n")[stand.line - 1].strip()
        rows = [row.strip() for row in text.split("\n")]
        if line in rows:
            first = Stand(moment.hash, moment.at, stand.path, rows.index(line) + 1, stand.value)
            found.append(replace(each, stands=(first, each.stands[-1]), commits=each.commits[-1:]))
    return found


def _find_stand(candidate: Candidate, moment: Commit) -> Stand:
    """The newest one by then; else the first."""
    return next((each for each in reversed(candidate.stands) if each.at <= moment.at), candidate.stands[0])


def _take(candidates: Sequence[Candidate]) -> list[Chained]:
    """The first ones that stand apart from each other."""
    taken: list[Candidate] = []
    for each in candidates:
        if len(taken) < CHAINS and all(stories.stand_apart(one, each) for one in taken):
            taken.append(each)
    return [Chained(name, each) for name, each in zip(stories.name_chains(taken), taken, strict=True)]


def _find_wrong(repo: Repo, file: Path, text: str, chains: Sequence[Chained]) -> set[str]:
    """The chains that do not hold, with all that `coldwarm validate` proves."""
    data = tomllib.loads(text)
    try:
        scenario = Scenario.model_validate({**short.expand(data), "id": f"{data['kind']}/{file.stem}"})
    except ValidationError:
        # the error names no chain: the last one goes, and the others are tried again
        return {chains[-1].name}
    wrong = stories.find_wrong(repo, scenario, chains)
    if not wrong:
        proof = ScenarioProof(file, proofs.add_hashes(scenario, repo)[0], repo)
        job_checks.try_out(proof, WorkTrees())
        keys = [each.key.split(".") for each in proof.breaches]
        wrong = {each.name for each in chains if any(each.name in key for key in keys)}
        # a breach that names no chain must not pass for none
        wrong |= {chains[-1].name} if keys and not wrong else set()
    return wrong


# --- the file ---------------------------------------------------------------------------------------------------------


def _tell(file: Path, repo: Repo, between: str, chains: Sequence[Chained], commits: Sequence[Commit]) -> str:
    start, last = chains[0].candidate.stands[0], commits[-1]
    facts = [[*stories.list_facts(each)] for each in chains]
    subjects = "; ".join(each.candidate.what for each in chains)
    oldest = short.phrase(chains[0].candidate.what, start.value, start.path)["plain"]
    decisions = [stories.make_decision(each, 1, each.candidate.file) for each in chains]
    return STORY.substitute(
        repository=_plain(repo.name),
        between=_plain(between.replace("..", " to ")),
        kind=say(file.parent.name),
        title=say(file.stem.replace("-", " ").capitalize()),
        story=say(f"Some of what changed in {repo.name}: {subjects}. Who remembers the old values works against it."),
        fixture=say({"git": _point(file, repo), "commit": last.hash}),
        scope=say({"repo": repo.name}),
        facts="\n".join(_list_facts(chains, facts)),
        start=say(start.commit[:HASH]),
        end=say(last.hash[:HASH]),
        first=say(start.at),
        second=say(last.at + timedelta(hours=1)),
        third=say(last.at + timedelta(hours=2)),
        old=say([pair[0]["id"] for pair in facts]),
        new=say([pair[1]["id"] for pair in facts]),
        note=say(f"From an old page: {oldest}"),
        wrong=say(facts[0][0]["id"]),
        newest=say(chains[0].newest),
        probes="\n".join(f"  {say({'do': 'probe', 'id': each.name, 'asks': each.newest})}," for each in chains),
        job=say({"do": "job", "id": "now", "decisions": decisions}),
    )


def _list_facts(chains: Sequence[Chained], facts: Sequence[Sequence[dict[str, object]]]) -> Iterator[str]:
    for each, (old, new) in zip(chains, facts, strict=True):
        (commit,) = each.candidate.commits
        yield f"  {say(_order(old))},"
        yield f"  {say(_order(new))}, # {commit.hash[:HASH]} {_plain(commit.subject)}"


def _order(fact: dict[str, object]) -> dict[str, object]:
    """What a person reads first comes first."""
    return {key: fact[key] for key in ("id", "says", "since", "supersedes", "source") if key in fact}


def _plain(subject: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in subject)[:60].strip()


def _point(file: Path, repo: Repo) -> str:
    """From the story's folder, as a suite and its repository move together."""
    assert isinstance(repo.origin, Clone)
    location = repo.origin.location
    if URL.fullmatch(location):
        return location
    return os.path.relpath(Path(location).resolve(), file.absolute().parent.resolve())
