"""Memories that answer no question and that nothing but their meaning tells from facts.

Each takes kind, scope, source, confidence and expiry from an item that the story itself writes, its batch from the
story, and its sentence from a fact of another one (`donors`). A tenth are lures: facts that hold nowhere where a
session asks, in words of their own, under their scope and not before they hold. The classifier reads each candidate
first; any other text that asserts, denies or mentions a fact is dropped.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from functools import cache, partial
from itertools import count
from pathlib import PurePosixPath
from typing import NamedTuple

from harness.adapter import Item, Scope, Source, applies
from harness.log.parts import Written
from harness.model import canary
from harness.model.facts import CANARY, Fact, Stratum
from harness.model.scenario import Learn, Scenario, Session
from harness.play import donors
from harness.play.donors import Donor
from harness.repo.checkout import Repo
from harness.text.classify import Classifier, Reading

LURES, LOOK_ALIKE = 0.1, 0.5
"""Shares of the noise: told of another place, and about a topic of the story but of another repository."""
ENOUGH = 12
"""Donors among which a sentence is drawn; where fewer have the shape that is wanted, others are taken in."""
LONG = 55
"""Characters of a text that is longer than most."""
UNEVEN, UNEVEN_SPOKEN = 0.25, 0.05
"""By how much the batches of a story differ in size. A session that was spoken teaches little, so that the size of its
batch would tell noise from facts.
"""
PATIENCE = 100
"""Sentences of one shape that may be turned down before any donor will do."""


class Batch(NamedTuple):
    """Steps that are written by one call."""

    number: int
    session: Session
    own: int


class Pattern(NamedTuple):
    """The metadata of one item that the story writes."""

    kind: str
    scope: Scope
    stratum: Stratum
    erasable: bool
    named: bool
    marks: tuple[bool, ...]
    cites: bool
    confidence: float | None
    lasts: timedelta | None


def generate(scenario: Scenario, repo: Repo, classifier: Classifier, amount: int, seed: int) -> list[Written]:
    """`amount` distinct memories in story order; the same for the same story, amount and seed."""
    return [written for written, _ in draw_with_donors(scenario, repo, classifier, amount, seed)]


def draw_with_donors(
    scenario: Scenario, repo: Repo, classifier: Classifier, amount: int, seed: int
) -> list[tuple[Written, str]]:
    """Noise, each text with the id of the story that its sentence comes from."""
    draw = random.Random(f"{scenario.id} {seed}")  # noqa: S311  reproducible on purpose
    batches = list_batches(scenario)
    if not amount or not batches:
        return []
    maker = _Maker(scenario, repo, classifier, draw)
    found: list[tuple[Written, str]] = []
    for batch, share in zip(batches, share_out(scenario, amount, draw), strict=True):
        for _ in range(share):
            item, story = maker.item(batch.session)
            found.append((Written(name=f"noise:{batch.number}:{len(found)}", item=item), story))
    return found


def list_marks(text: str) -> tuple[bool, ...]:
    """What is seen of a text before it is read."""
    return text.endswith("."), *(sign in text for sign in ":,`"), len(text) > LONG


def find_batch(written: Written) -> int:
    """The number of the story's batch to which a memory belongs."""
    return int(written.name.split(":")[1])


def list_lures(scenario: Scenario) -> tuple[Fact, ...]:
    """The facts that hold nowhere where a probe or a job asks, but for those that carry a canary."""
    asking = {scenario.place(session) for session, _ in (*scenario.probes(), *scenario.jobs())}
    return tuple(
        fact
        for fact in scenario.facts
        # a canary is to be found in texts of its own fact alone
        if not fact.erasable and not any(applies(scenario.home(fact), place) for place in asking)
    )


def list_batches(scenario: Scenario) -> list[Batch]:
    return [
        Batch(number, session, sum(len(step.facts if isinstance(step, Learn) else step.texts) for step in steps))
        for number, (session, steps) in enumerate(scenario.writes())
    ]


def share_out(scenario: Scenario, amount: int, draw: random.Random) -> list[int]:
    """How many memories each batch gets. How large it becomes does not depend on how much the story puts into it."""
    batches, uneven = list_batches(scenario), UNEVEN_SPOKEN if scenario.spoken else UNEVEN
    weights = [draw.uniform(1 - uneven, 1 + uneven) for _ in batches]
    whole = amount + sum(each.own for each in batches)
    shares = [
        max(0, round(whole * weight / sum(weights)) - each.own) for each, weight in zip(batches, weights, strict=True)
    ]
    # rounding leaves a rest, and so does a batch that the story alone has filled
    while (over := sum(shares) - amount) != 0:
        at = draw.randrange(len(shares))
        shares[at] = max(0, shares[at] - (1 if over > 0 else -1))
    return shares


class _Maker:
    """Makes the memories of one story, one by one."""

    def __init__(self, scenario: Scenario, repo: Repo, classifier: Classifier, draw: random.Random) -> None:
        self._scenario, self._repo, self._classifier, self._draw = scenario, repo, classifier, draw
        self._patterns = list(_list_patterns(scenario))
        self._donors = donors.list_strangers(scenario)
        # a sentence is drawn again and again
        self._is_related = cache(partial(donors.is_related, about=donors.list_topics(scenario)))
        self._lures = list_lures(scenario)
        self._outside = frozenset(fact.id for fact in self._lures)
        self._seen = {fact.phrase(step.stratum).text for fact, step in _list_learnt(scenario)}
        # a list in story order, as the order of a set differs from process to process
        self._sources = list(dict.fromkeys(fact.source for fact in scenario.facts if fact.source is not None))
        self._places = {_place(str(each.path)) for each in self._sources}
        self._near: dict[tuple[str, bool], list[Donor]] = {}
        self._others = list(scenario.others)
        if self._others:  # a story without draws what it drew before
            draw.shuffle(self._others)

    def item(self, session: Session) -> tuple[Item, str]:
        pattern = self._draw.choice(self._patterns)
        if self._draw.random() < LURES and (lure := self._lure(session, pattern)) is not None:
            return lure, self._scenario.id
        source = self._source(session) if pattern.cites else Source(session=self._cite(session))
        text, story = self._other() or self._sentence(pattern, source)
        expires = (session.at + pattern.lasts).isoformat() if pattern.lasts else None
        item = Item(text, pattern.scope, session.at.isoformat(), pattern.kind, source, pattern.confidence, expires)
        return item, story

    # --- lures ---

    def _lure(self, session: Session, pattern: Pattern) -> Item | None:
        """A fact of another place in words that the story does not use, or None if there is none left by then."""
        said = [
            (fact, text.text)
            for fact in self._lures
            for text in fact.own_texts()
            if fact.since <= session.at and text.text not in self._seen and self._allows(text.text, fact)
        ]
        if not said:
            return None
        fact, text = self._draw.choice([each for each in said if list_marks(each[1]) == pattern.marks] or said)
        self._seen.add(text)
        # a commit that the session cannot have seen would tell noise from facts
        cited = fact.source if fact.source and self._reaches(session, fact.source) else Source()
        return Item(
            text,
            self._scenario.home(fact),
            session.at.isoformat(),
            fact.type,
            Source(cited.commit, cited.path, cited.line, self._cite(session)),
            fact.confidence,
            fact.until.isoformat() if fact.until and fact.until > session.at else None,
        )

    def _allows(self, text: str, lure: Fact | None) -> bool:
        # by the rules alone: a text of the story itself would be recognised, whatever it says
        reading: Reading = self._classifier.by_rules(text)
        if lure is None:
            return not reading.named
        return reading.asserted == {lure.id} and reading.named <= self._outside and not reading.unclear

    def _other(self) -> tuple[str, str] | None:
        """What else is true of the story's own repository, as long as there is some that tells none of its facts."""
        while self._others:
            text = self._others.pop()
            if text not in self._seen and self._allows(text, None):
                self._seen.add(text)
                return text, self._scenario.id
        return None

    # --- sentences of other stories ---

    def _sentence(self, pattern: Pattern, source: Source) -> tuple[str, str]:
        """A sentence that no other memory has, and the story that it comes from. What is hard to find is asked less."""
        for tries in count():
            donor = self._draw.choice(self._alike(pattern) if tries < 2 * PATIENCE else self._donors)
            text = donor.text(pattern.stratum)
            if donor.fact.erasable:
                # drawn each time, as no two memories may carry the same canary
                text = text.replace(CANARY, canary.make(self._scenario.id, "noise", self._draw.random()))
            # a sentence that names its file has to name the one that is cited here
            if donor.fact.source is not None and donor.fact.source.path and source.path:
                text = text.replace(donor.fact.source.path, source.path)
            here = self._tell(text, donor, pattern.scope)
            if here in self._seen:
                here = self._tell(donors.vary(text, donor.fact, self._draw), donor, pattern.scope)
            if not here or here in self._seen:
                continue
            named = donors.mentions(here, pattern.scope.repo) == pattern.named or tries >= 3 * PATIENCE
            marked = list_marks(here) == pattern.marks or tries >= PATIENCE
            # read last, as that takes longest
            if named and marked and self._allows(here, None):
                self._seen.add(here)
                return here, donor.story
        raise AssertionError("endless")

    def _tell(self, text: str, donor: Donor, place: Scope) -> str:
        """The sentence as it is told here; empty if it would speak of a topic of the story as if it held here."""
        said = donors.split_words(text)
        if not self._is_related(said):
            return donors.rename(text, donor.home, place)
        elsewhere = donors.mentions(text, donor.home.repo)
        return text if elsewhere and self._draw.random() < LOOK_ALIKE else ""

    def _alike(self, pattern: Pattern) -> list[Donor]:
        """The donors of the same kind, with a canary or without."""
        key = pattern.kind, pattern.erasable
        if key not in self._near:
            sure = [each for each in self._donors if each.fact.erasable == pattern.erasable] or list(self._donors)
            kind = [each for each in sure if each.fact.type == pattern.kind]
            self._near[key] = kind if len(kind) >= ENOUGH else sure
        return self._near[key]

    # --- sources ---

    def _source(self, session: Session) -> Source:
        """A line that the story has not cited, where it might: as far down as one that it cites, in a file that it has
        cited; else in another one like those. Without a line if the repository has none so far down."""
        cited = [each for each in self._sources if self._reaches(session, each)]
        taken = {(each.path, each.line) for each in cited}
        for _ in range(PATIENCE if cited else 0):
            place, line = self._draw.choice(cited), self._draw.choice(cited).line or 1
            commit, path = str(place.commit), str(place.path)
            if (path, line) not in taken and self._says(commit, path, line):
                return Source(commit, path, line, self._cite(session))
        # of all, not of `cited`: by now the story may have cited nothing
        line = self._draw.choice(self._sources).line or 1
        paths = [path for path in sorted(self._repo.files(session.commit)) if self._says(session.commit, path, line)]
        free = [path for path in paths if (path, line) not in taken]
        like = [path for path in free if _place(path) in self._places]
        if not paths:
            return Source(session=self._cite(session))
        return Source(session.commit, self._draw.choice(like or free or paths), line, self._cite(session))

    def _cite(self, session: Session) -> str:
        """The session that noise cites, as a fact does: with a message of it, where there are any."""
        messages = len(session.transcript)
        return f"{session.id}#{self._draw.randint(1, messages)}" if messages else session.id

    def _says(self, commit: str, path: str, line: int) -> bool:
        return bool((self._repo.line(commit, path, line) or "").strip())

    def _reaches(self, session: Session, source: Source) -> bool:
        return source.commit is not None and self._repo.contains(session.commit, source.commit)


def _place(path: str) -> tuple[str, str]:
    """The folder and the ending of a file."""
    plain = PurePosixPath(path)
    return str(plain.parent), plain.suffix


def _list_learnt(scenario: Scenario) -> Iterator[tuple[Fact, Learn]]:
    for _, step in scenario.steps():
        if isinstance(step, Learn):
            yield from ((scenario.by_id[name], step) for name in step.facts)


def _list_patterns(scenario: Scenario) -> Iterator[Pattern]:
    for session, steps in scenario.writes():
        for step in steps:
            if isinstance(step, Learn):
                for fact in map(scenario.by_id.__getitem__, step.facts):
                    lasts = fact.until - session.at if fact.until and fact.until > session.at else None
                    scope = scenario.home(fact)
                    text = fact.phrase(step.stratum).text
                    yield Pattern(
                        fact.type, scope, step.stratum, fact.erasable, donors.mentions(text, scope.repo),
                        list_marks(text), fact.source is not None, fact.confidence, lasts,
                    )  # fmt: skip
            else:
                scope = step.scope or scenario.place(session)
                for remark in step.texts:
                    kind, cited = scenario.kind_of(step, remark), remark.cites is not None
                    named = donors.mentions(remark.text, scope.repo)
                    yield Pattern(
                        kind, scope, "plain", False, named, list_marks(remark.text), cited, step.confidence, None
                    )
