"""Values that changed -> chains of facts of which the last one still stands at the pinned commit."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath

from harness.mine import exclusions, python, shapes, value_names, versions, wording, worth
from harness.mine.shapes import ChangeKind
from harness.mine.value_changes import Renamed, Seen
from harness.mine.wording import Wording
from harness.mine.worth import Worth
from harness.repo.changes import Commit, read_texts
from harness.repo.checkout import Repo
from harness.text.classify import holds


@dataclass(frozen=True)
class Stand:
    """A value and where it stood: a commit, since when at the latest, a file, a line, and what was around it."""

    commit: str
    at: datetime
    path: str
    line: int
    value: str


@dataclass(frozen=True)
class Candidate:
    """A chain of facts that a story may tell.

    Attributes:
        id: The same for the same change, whatever else is mined.
        what: What the value is of, as a sentence names it.
        key: The word of the line that names it, empty if the value tells enough by itself.
        before, after: What stands around the value in the file's line at the pinned commit.
        file: The name of the file at the pinned commit.
        commits: Those that changed it: one fewer than stands.
    """

    id: str
    kind: ChangeKind
    what: str
    key: str
    file: str
    before: str
    after: str
    stands: tuple[Stand, ...]
    commits: tuple[Commit, ...]

    @property
    def changed(self) -> datetime:
        return self.stands[-1].at

    @property
    def worth(self) -> Worth:
        old, new = (stand.value for stand in self.stands[-2:])
        return worth.judge_worth(self.kind, self.file, self.key, old, new, self.before)

    @property
    def rank(self) -> int:
        """By what it is drawn, the highest first: its worth; a line for agents that was wrong comes before all."""
        return self.worth + bool(worth.AGENT_FILE.search(self.file))

    @cached_property
    def wording(self) -> Wording:
        """How it is asked for: without one it would be no candidate."""
        found = wording.find(self.kind, self.what, self.key, [stand.value for stand in self.stands])
        assert found is not None
        return found

    @property
    def folder(self) -> str:
        return str(PurePosixPath(self.file).parent)


@dataclass
class Chain:
    """The changes of one value, and where it stood before, between and after them."""

    seen: list[Seen]
    stands: list[Stand]


def chain_changes(seen: Iterable[Seen | Renamed], times: Mapping[str, datetime]) -> list[Chain]:
    """The changes of one value in the order of time; a file keeps its chains when it is renamed."""
    open_: dict[str, dict[str, Chain]] = {}
    for each in seen:
        if isinstance(each, Renamed):
            if each.old in open_:
                open_.setdefault(each.new, {}).update(open_.pop(each.old))
            continue
        old, new, commit = each.shape.old, each.shape.new, each.commit
        chains = open_.setdefault(each.files[1], {})
        known = chains.get(f"{each.kind}\0{each.name}")
        # a change in between that was not read, as a bot's, leaves a gap that no chain may bridge
        if known is None or known.stands[-1].value != old:
            first = Stand(commit.parent, times[commit.parent], each.files[0], each.lines[0], old)
            known = chains[f"{each.kind}\0{each.name}"] = Chain([], [first])
        known.seen.append(each)
        known.stands.append(Stand(commit.hash, commit.at, each.files[1], each.lines[1], new))
    return [each for chains in open_.values() for each in chains.values()]


def list_candidates(repo: Repo, chains: Sequence[Chain], reasons: Counter[str]) -> list[Candidate]:
    """Candidates whose newest value stands in one line of its file only; oldest first."""
    candidates = []
    # all at once, as each call starts git anew
    texts = read_texts(repo, [(each.stands[-1].commit, each.stands[-1].path) for each in chains])
    for each, text in zip(chains, texts, strict=True):
        if text is None:
            reasons["binary, very large, or no UTF-8 text"] += 1
            continue
        outcome = exclusions.skip_text(text) or _make(each, each.stands[-1].path, text)
        if isinstance(outcome, str):
            reasons[outcome] += 1
        else:
            candidates.append(outcome)
    return _list_newest(sorted(candidates, key=lambda each: (each.changed, each.id)), reasons)


def _list_newest(candidates: Sequence[Candidate], reasons: Counter[str]) -> list[Candidate]:
    """The newest of the candidates that one question would ask for: it alone may be what holds now."""
    # the oldest come first, so the newest of a key stays
    newest = {(each.file, each.what.casefold()): each for each in candidates}
    if len(newest) < len(candidates):
        reasons["what a later change is asked for by, too"] += len(candidates) - len(newest)
    return [each for each in candidates if newest[each.file, each.what.casefold()] is each]


def _make(chain: Chain, path: str, text: str) -> Candidate | str:
    """A candidate, or why it is none."""
    last = chain.seen[-1]
    stands, commits = _cut_repeated(chain.stands, [each.commit for each in chain.seen])
    if len(stands) < 2:
        return "change that was taken back"
    place = _find_line(last, text, [each.value for each in stands[:-1]])
    if isinstance(place, str):
        return place
    number, before, after = place
    if last.kind == "text" and _is_declared(last.shape.new, text):
        return "variable of an example"
    section = value_names.find_section(path, text.split("\n"), number).lower()
    released = re.match(r"[\d^~=<>*v$]|\w+:", last.shape.new) or last.shape.key in ("type", "scope", "classifier")
    if re.search("dependencies|overrides|resolutions|^require(?:-dev)?$", section) and released:
        return "pin of a dependency"
    if reason := exclusions.skip_section(section, last.shape.key):
        return reason
    what, key = value_names.name(last, path, text.split("\n"), number, before, after)
    if not what or wording.find(last.kind, what, key, [each.value for each in stands]) is None:
        return "nothing that a question could call it by"
    values = [each.value for each in stands]
    reason = _skip_told(what, key, values) or exclusions.skip_secret(text.split("\n"), number, before, after, values)
    if reason:
        return reason
    name = hashlib.sha256("\0".join([path, last.name, *values]).encode()).hexdigest()[:12]
    return Candidate(name, last.kind, what, key, path, before, after, tuple(stands), tuple(commits))


def _skip_told(what: str, key: str, values: Sequence[str]) -> str | None:
    """Why its sentences would not tell one value from another."""
    if versions.is_counted(what, values):
        return "version bump"
    if any(holds(what, ((value,),)) for value in values):
        return "name that holds the value"
    if any(holds(a, ((b,),)) for a in values for b in values if a != b):
        return "value that holds the other one"
    return None if key or _tells_alone(values) else "value that tells nothing by itself"


def _cut_repeated(stands: Sequence[Stand], commits: Sequence[Commit]) -> tuple[Sequence[Stand], Sequence[Commit]]:
    """The end of a chain in which no value comes twice, as one text could not tell which of the two it means."""
    seen: set[str] = set()
    for at in range(len(stands) - 1, -1, -1):
        folded = " ".join(stands[at].value.casefold().split())
        if folded in seen:
            return stands[at + 1 :], commits[at + 1 :]
        seen.add(folded)
    return stands, commits


def _find_line(last: Seen, text: str, older: Sequence[str]) -> tuple[int, str, str] | str:
    """Where the value stands in a file by now: the line, and what is around the value; or why nowhere."""
    value = last.shape.new
    if last.name.startswith("python "):
        try:
            literal = python.list_literals(text).get(last.name.removeprefix("python "))
        except ValueError:
            return "no Python of today"
        if literal is None or literal.value != value:
            return "value that is not in a line of its own"
        number, before, after = literal.line, literal.before, literal.after
    else:
        rows = [(at, row.strip()) for at, row in enumerate(text.split("\n"), 1)]
        keyed = bool(last.shape.key)
        start = last.shape.before + value
        places = [(at, row) for at, row in rows if row == start + last.shape.after or (keyed and row.startswith(start))]
        if not places:
            return "value that is not in a line of its own"
        number, row = places[0]
        if keyed and _stands_again(last, text.split("\n"), number):
            return "value of several things of one name"
        before, after = last.shape.before, row[len(start) :]
        # `port = 80` begins `port = 8080`, too
        if after[:1].isalnum():
            return "value that is not in a line of its own"
    if not says_value_only(before, after, text, value, older):
        return "line that says several things at once"
    return number, before, after


def _stands_again(last: Seen, rows: Sequence[str], number: int) -> bool:
    """Whether a key stands elsewhere in its file in a part of the same name, or so does its line in another part."""
    path, before = last.files[1], last.shape.before
    if shapes.classify_file(path) not in ("toml", "ini", "yaml", "json", "xml"):
        return False
    own = value_names.find_section(path, rows, number)
    others = [at for at, row in enumerate(rows, 1) if at != number and row.strip().startswith(before)]
    line = rows[number - 1].strip()
    return any(rows[at - 1].strip() == line or value_names.find_section(path, rows, at) == own for at in others)


def _tells_alone(values: Sequence[str]) -> bool:
    """Whether each value is so much of a name that no other sentence holds it by chance."""
    return all(
        len(value) >= 5 and re.search(r"[a-zA-Z]", value) and not re.fullmatch(r"[a-z]+", value) for value in values
    )


def _is_declared(name: str, text: str) -> bool:
    """Whether the code in a document declares it: then it is a name of that example only."""
    return bool(re.search(rf"\b(?:const|let|var|function|def|fn|func)\s+{re.escape(name)}\b", text))


def says_value_only(before: str, after: str, text: str, value: str, older: Iterable[str]) -> bool:
    """Whether the lines of a file say this value only; where nothing stands around it, none of the older ones."""
    found = list_values(before, after, text)
    # with nothing around the value, every line of the file counts as one
    return found == {value} if before or after else value in found and found.isdisjoint(older)


def list_values(before: str, after: str, text: str) -> set[str]:
    """What the lines of a file say between these two, as the check of a short decision reads it."""
    # not splitlines(): the check takes lines as a file gives them, which do not end at a form feed
    rows = (row.strip() for row in text.removesuffix("\n").split("\n"))
    # in a shorter row the end of `before` would be the begin of `after`, as one quote for two
    return {
        row[len(before) : len(row) - len(after)]
        for row in rows
        if row.startswith(before) and row.endswith(after) and len(row) >= len(before) + len(after)
    }
