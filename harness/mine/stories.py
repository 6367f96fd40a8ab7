"""Chains of facts -> stories: what each session learns, what is asked, and which jobs depend on it.

A story holds chains that changed about the same time, and ends at the last of these changes: there all its newest facts
hold, and the checks of its jobs read the files as they are there.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.mine.candidates import Candidate, Stand, says_value_only
from harness.model.scenario import MINED, Scenario
from harness.model.transcript import Message
from harness.repo.changes import read_texts
from harness.repo.checkout import Repo
from harness.selftest import text_checks
from harness.selftest.proof import ScenarioProof
from harness.text.classify import Classifier
from tasks import proofs, short

FEWEST, MOST = 3, 6
"""Chains of one story."""
STANDS = 4
"""Values of the longest chain that a story tells; of a longer one its newest."""
OF_ONE = 3
"""Candidates of one commit that are told at most."""
PATIENCE = 20
"""Candidates that do not go with a group, after which it is left as it is."""
LEARNT = 5
"""Facts that one session learns."""
OTHERS = 300
"""Sentences about the rest of the repository that a story brings as noise."""
DECISIONS = 4
"""Of one job."""
HASH = 12
"""Digits of a commit as a story writes it."""
_STRATA = ("identifier", "plain", "paraphrase")


@dataclass(frozen=True)
class Chained:
    """A candidate in a story: its facts are called NAME-1, NAME-2 and on."""

    name: str
    candidate: Candidate

    def fact(self, at: int) -> str:
        return f"{self.name}-{at + 1}"

    @property
    def newest(self) -> str:
        return self.fact(len(self.candidate.stands) - 1)


@dataclass(frozen=True)
class MinedStory:
    """A story as its file says it, and the candidates that it tells.

    Attributes:
        transcripts: Session -> what was said in it; empty where no sessions were given.
    """

    name: str
    data: Mapping[str, Any]
    used: tuple[str, ...]
    transcripts: Mapping[str, Sequence[Message]] = field(default_factory=dict)


def draw(repo: Repo, candidates: Sequence[Candidate], amount: int, seed: str) -> list[list[Candidate]]:
    """Up to `amount` groups of candidates that changed about the same time, oldest first; no two share a commit.

    What an agent needs most comes first, before it lines that told agents what was wrong. Of what it needs as much,
    drawn by seed, in turn from each kind of change, and in it from each folder, so that none fills the suite.
    """
    size = max(FEWEST, min(MOST, len(candidates) // max(1, amount)))
    rolled = random.Random(f"mine {seed}")  # noqa: S311  reproducible on purpose
    kinds: dict[str, dict[str, list[Candidate]]] = {}
    for each in _thin(candidates, rolled):
        kinds.setdefault(each.kind, {}).setdefault(each.folder, []).append(each)
    turns = [list(_take_turns([some for _, some in sorted(own.items())], rolled)) for _, own in sorted(kinds.items())]
    # a stable sort: candidates of one rank stay in turns
    ordered = sorted(_take_turns(turns, rolled), key=lambda each: -each.rank)
    chosen = sorted(ordered[: amount * size], key=lambda each: (each.changed, each.id))
    groups = list[list[Candidate]]()
    while chosen and len(groups) < amount:
        group, chosen = _gather(repo, chosen, size)
        if len(group) >= FEWEST:
            groups.append(group)
            chosen = list_apart(chosen, group)
    return groups


def _take_turns(several: Sequence[Sequence[Candidate]], rolled: random.Random) -> Iterator[Candidate]:
    """One of each in turn, in a drawn order."""
    order = [*several]
    rolled.shuffle(order)
    for at in range(max(map(len, order), default=0)):
        yield from (some[at] for some in order if at < len(some))


def list_apart(candidates: Iterable[Candidate], chosen: Iterable[Candidate]) -> list[Candidate]:
    """Candidates of which no cause is told yet: what one commit did is one case, and two stories may not share it."""
    known = {name for each in chosen for name in _list_causes(each)}
    return [each for each in candidates if known.isdisjoint(_list_causes(each))]


def _list_causes(candidate: Candidate) -> set[str]:
    """The commits that a story tells of it, and its steps: one key that goes from one value to another is one
    mechanical change, however many files and commits it takes."""
    values = [each.value for each in candidate.stands[-STANDS:]]
    steps = {"\0".join([candidate.key, *step]) for step in itertools.pairwise(values)}
    # one commit fewer than stands
    return {each.hash for each in candidate.commits[-STANDS + 1 :]} | steps


def _thin(candidates: Iterable[Candidate], rolled: random.Random) -> Iterator[Candidate]:
    """At most OF_ONE of a commit: what an agent needs most first, then in turn from each kind of change."""
    alike: dict[str, list[Candidate]] = {}
    for each in candidates:
        alike.setdefault(each.commits[-1].hash, []).append(each)
    for some in alike.values():
        rolled.shuffle(some)
        turns, seen = list[tuple[int, int, Candidate]](), Counter[str]()
        for each in some:
            turns.append((-each.rank, seen[each.kind], each))
            seen[each.kind] += 1
        # turns alone: candidates have no order
        yield from (each for _, _, each in sorted(turns, key=lambda turn: turn[:2])[:OF_ONE])


def _gather(repo: Repo, candidates: Sequence[Candidate], size: int) -> tuple[list[Candidate], list[Candidate]]:
    """A group that begins with the oldest candidate, and the rest: each stands apart from the others and holds when
    the last of them changes."""
    group, rest = [candidates[0]], list[Candidate]()
    for at, each in enumerate(candidates[1:], 1):
        if len(group) == size or len(rest) > PATIENCE:
            return group, [*rest, *candidates[at:]]
        causes = Counter(name for one in (*group, each) for name in _list_causes(one))
        apart = all(stand_apart(one, each) for one in group) and max(causes.values()) <= OF_ONE
        if apart and len(list(list_standing(repo, group, each.stands[-1]))) == len(group):
            group.append(each)
        else:
            rest.append(each)
    return group, rest


def stand_apart(one: Candidate, other: Candidate) -> bool:
    """Whether a question for one of them is none for the other, nor an answer of one an answer of the other."""
    values = {stand.value.casefold() for stand in one.stands}
    return one.what.casefold() != other.what.casefold() and values.isdisjoint(
        stand.value.casefold() for stand in other.stands
    )


def write(
    repo: Repo, location: str, group: Sequence[Candidate], everything: Sequence[Candidate], number: int, seed: int,
    reasons: Counter[str],
) -> MinedStory | list[Candidate]:  # fmt: skip
    """A story that holds, of those of a group that do not stand in each other's way; if too few are left, those that
    did not hold."""
    end = max((each.stands[-1] for each in group), key=lambda stand: stand.at)
    remaining = [_shorten(each) for each in list_standing(repo, group, end)]
    rolled = random.Random(f"mine {seed} {number}")  # noqa: S311  reproducible on purpose
    subjects = {each.what.casefold() for each in group}  # what is called as one of them is answers the same question
    rest = [each for each in everything if each.what.casefold() not in subjects]
    rolled.shuffle(rest)
    fallen = list[Candidate]()
    while len(remaining) >= FEWEST:
        chains = [Chained(name, each) for name, each in zip(name_chains(remaining), remaining, strict=True)]
        data = _tell(repo, location, chains, end, rest[:1])
        name = f"{number:03d}-{chains[0].name}"[:50].rstrip("-")
        try:
            scenario = Scenario.model_validate({**short.expand(data), "id": f"{MINED}/{name}"})
        except ValidationError as error:
            reasons[f"texts that no story may hold: {error.errors()[0]['msg'][:60]}"] += 1
            return fallen
        wrong = find_wrong(repo, scenario, chains)
        if not wrong:
            # the first of the rest is asked for as unknown, so no sentence may tell it
            others = list(_list_others(scenario, rest[1:], rolled))
            return MinedStory(name, {**data, "others": others}, tuple(each.id for each in remaining))
        reasons["sentence that says otherwise as a run reads it"] += len(wrong)
        remaining = [each.candidate for each in chains if each.name not in wrong]
        fallen += [each.candidate for each in chains if each.name in wrong]
    return fallen


def _shorten(candidate: Candidate) -> Candidate:
    return replace(candidate, stands=candidate.stands[-STANDS:], commits=candidate.commits[-STANDS + 1 :])


def list_standing(repo: Repo, group: Sequence[Candidate], end: Stand) -> Iterator[Candidate]:
    """Candidates whose newest value the file still says at the end of the story."""
    texts = read_texts(repo, [(end.commit, each.file) for each in group])
    for each, text in zip(group, texts, strict=True):
        older = [stand.value for stand in each.stands[:-1]]
        if text is not None and says_value_only(each.before, each.after, text, each.stands[-1].value, older):
            yield each


def name_chains(candidates: Sequence[Candidate]) -> list[str]:
    names: list[str] = []
    for each in candidates:
        words = re.findall(r"[a-z0-9]+", each.what.lower())
        name = "-".join(words)[:32].strip("-") or each.kind
        while name in names:
            # no number: NAME-2 is the second fact of NAME
            name += "x"
        names.append(name)
    return names


# --- the file -----------------------------------------------------------------------------------------------------


def _tell(
    repo: Repo, location: str, chains: Sequence[Chained], end: Stand, unknown: Sequence[Candidate]
) -> dict[str, Any]:
    repository_name = location.rstrip("/").removesuffix("/.git").removesuffix(".git").rsplit("/", 1)[-1]
    return {
        "schema": 1,
        "version": 1,
        "kind": MINED,
        "title": f"{len(chains)} things that changed until {end.at:%Y-%m-%d}",
        "story": f"Mined from the history of {repository_name}: {', '.join(each.candidate.what for each in chains)}. "
        f"All facts stand in the repository; nothing in it was only told.",
        "fixture": {"git": location, "commit": repo.history.commits[-1]},
        "scope": {"repo": repository_name},
        "facts": [fact for each in chains for fact in list_facts(each)],
        "sessions": [*_plan_learning(repo, chains), *_plan_questions(chains, end, unknown)],
    }


def list_facts(chained: Chained) -> Iterator[dict[str, Any]]:
    """The values of a chain in the short form, oldest first."""
    candidate = chained.candidate
    key = {} if candidate.key == candidate.what else {"key": candidate.key}
    for at, stand in enumerate(candidate.stands):
        yield {
            "id": chained.fact(at),
            "since": stand.at,
            **({"supersedes": chained.fact(at - 1)} if at else {}),
            "source": {"commit": stand.commit[:HASH], "path": stand.path, "line": stand.line},
            "says": {"what": candidate.what, **key, "value": stand.value},
            **candidate.wording.tell(stand.value, stand.path),
        }


def _plan_learning(repo: Repo, chains: Sequence[Chained]) -> list[dict[str, Any]]:
    """A session ends where it would learn that what it learnt holds no longer; one in the middle works, too."""
    tellings = sorted(
        ((stand, each, at) for each in chains for at, stand in enumerate(each.candidate.stands)),
        key=lambda one: (one[0].at, one[1].name, one[2]),
    )
    parts: list[list[tuple[Stand, Chained, int]]] = [[]]
    for stand, each, at in tellings:
        if len(parts[-1]) >= LEARNT or any(other is each for _, other, _ in parts[-1]):
            parts.append([])
        parts[-1].append((stand, each, at))
    sessions = []
    for number, part in enumerate(parts, 1):
        last = part[-1][0]
        steps: list[dict[str, Any]] = [  # what was recalled before a change shows whether it still is after it
            _ask(each, at - 1, f"{each.name}-before") for _, each, at in part if at > 0 and each.fact(at) == each.newest
        ]
        steps.append({"do": "learn", "facts": [each.fact(at) for _, each, at in part]})
        if number == (len(parts) + 1) // 2 + 1 < len(parts):
            known = [one for earlier in parts[:number] for one in earlier]
            steps += _make_job("then", _decide(repo, known, last))
        sessions.append(_make_session(f"day-{number}", last.at, last.commit, steps))
    return sessions


def _ask(chained: Chained, at: int, name: str) -> dict[str, Any]:
    candidate = chained.candidate
    phrasings = candidate.wording.ask(candidate.what, candidate.stands[at].path)
    return {"do": "probe", "id": name, "asks": chained.fact(at), "ask": phrasings}


def _decide(repo: Repo, known: Sequence[tuple[Stand, Chained, int]], now: Stand) -> list[dict[str, Any]]:
    """The decisions that can be taken at a commit in the middle: of chains that have changed by then, and whose file
    says at that commit what they do."""
    newest = {each.name: (stand, each, at) for stand, each, at in known}
    updates = [one for one in newest.values() if one[2] > 0]
    texts = read_texts(repo, [(now.commit, stand.path) for stand, _, _ in updates])
    return [
        make_decision(each, at, stand.path)
        for (stand, each, at), text in zip(updates, texts, strict=True)
        if text is not None and _is_decidable(each.candidate, at, text)
    ][:DECISIONS]


def _is_decidable(candidate: Candidate, at: int, text: str) -> bool:
    older = [stand.value for stand in candidate.stands[:at]]
    return says_value_only(candidate.before, candidate.after, text, candidate.stands[at].value, older)


def make_decision(chained: Chained, at: int, file: str) -> dict[str, Any]:
    """A decision in the short form: what the file has to say where the fact's value is right."""
    candidate = chained.candidate
    line = f"{candidate.before}{{value}}{candidate.after}"
    moved = {} if candidate.stands[at].path == file else {"file": file}
    question = candidate.wording.ask(candidate.what, file)["plain"]
    return {"id": chained.name, "asks": chained.fact(at), "question": question, "line": line, **moved}


def _make_job(name: str, decisions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"do": "job", "id": name, "decisions": list(decisions)}] if decisions else []


def _plan_questions(chains: Sequence[Chained], end: Stand, unknown: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
    probes = [_ask(each, len(each.candidate.stands) - 1, each.name) for each in chains]
    probes.append({"do": "probe", "id": "earlier", "asks": chains[0].newest, "history": True})
    for each in unknown:
        question = each.wording.ask(each.what, each.file)["plain"]
        probes.append({"do": "probe", "id": "unknown", "ask": {"plain": question}})
    yield _make_session("questions", end.at + timedelta(hours=1), end.commit, probes)
    decisions = [make_decision(each, len(each.candidate.stands) - 1, each.candidate.file) for each in chains]
    jobs = [decisions[at : at + DECISIONS] for at in range(0, len(decisions), DECISIONS)]
    for number, part in enumerate(jobs, 1):
        steps = _make_job(f"now-{number}", part)
        yield _make_session(f"work-{number}", end.at + timedelta(hours=1 + number), end.commit, steps)


def _make_session(name: str, at: object, commit: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"id": name, "at": at, "by": "team", "commit": commit[:HASH], "steps": list(steps)}


# --- what must hold ---------------------------------------------------------------------------------------------------


def find_wrong(repo: Repo, scenario: Scenario, chains: Sequence[Chained]) -> set[str]:
    """The chains whose texts or lines do not hold; where a problem names none, the last one has to go."""
    resolved, problems = proofs.add_hashes(scenario, repo)
    problems = problems or list(proofs.problems(resolved, repo))
    if not problems:
        proof = ScenarioProof(Path(scenario.id), resolved, repo)
        text_checks.check_texts(proof)
        problems = [f"{each.key}: {each.reason}" for each in proof.breaches]
    wrong: set[str] = set()
    for problem in problems:
        key = problem.split(": ")[0]
        # letters, digits and hyphens alone stand in names, so nothing has to be escaped
        names = {
            each.name for each in chains if any(re.fullmatch(rf"{each.name}(?:-\d+)?", part) for part in key.split("."))
        }
        wrong |= names or {chains[-1].name}
    return wrong


def _list_others(scenario: Scenario, rest: Sequence[Candidate], rolled: random.Random) -> Iterator[str]:
    """What else is true of the repository, in sentences like those of the story's facts, which tell none of them."""
    classifier, texts = Classifier(scenario), set[str]()
    for each in rest:
        for stand in each.stands[:STANDS]:
            phrased = {**short.phrase(each.what, stand.value, stand.path), **each.wording.tell(stand.value, stand.path)}
            text = phrased[rolled.choice(_STRATA)]
            if len(texts) < OTHERS and text not in texts and not classifier.by_rules(text).named:
                texts.add(text)
                yield text
