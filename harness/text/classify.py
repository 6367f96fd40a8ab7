"""Text that came out of a memory -> entries -> the facts that each asserts, denies or mentions, and how they stand."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Literal

from harness.adapter import Scope
from harness.model.facts import CANARY, Fact, Text
from harness.model.scenario import Remember, Scenario, Standing
from harness.text.chunks import Chunk, Heard, cut_transcript
from harness.text.clauses import ROLES, Clauses, Role, carries, find, holds, normalise, tells, unite

__all__ = ["Classifier", "FactVerdict", "KnownTexts", "Reading", "cut", "find", "holds", "normalise"]

FactVerdict = Literal["current", "superseded", "out-of-scope", "retracted", "unclear", "mentioned", "partial", "other"]
WORST_FIRST: tuple[Standing, ...] = ("retracted", "superseded", "out-of-scope", "current")
CACHED = 65536  # readings kept; a run's distinct texts, and a bound for hostile ones


@dataclass(frozen=True)
class Reading:
    """What one text says of facts, by id. A fact is in one set at most: asserted before denied, mentioned, partial.

    Attributes:
        unclear: Rivals asserted together, or one fact asserted and denied.
        exact: Decided by equality with a harness text.
    """

    asserted: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()
    partial: frozenset[str] = frozenset()
    unclear: bool = False
    exact: bool = False

    @property
    def named(self) -> frozenset[str]:
        """Every fact of which the text tells at least a part."""
        return self.asserted | self.denied | self.mentioned | self.partial

    def demote(self) -> Reading:
        """Under the backend's own superseded mark: what it asserts is only mentioned."""
        return replace(self, asserted=frozenset(), mentioned=self.mentioned | self.asserted, unclear=False)

    @classmethod
    def hear(cls, chunk: Chunk) -> Reading:
        return cls(chunk.asserted, chunk.denied, chunk.mentioned, exact=True)

    @classmethod
    def annotate(cls, texts: Iterable[Text]) -> Reading:
        """What the annotations of one harness text say; of several equal ones, all of them."""
        texts = list(texts)
        asserted = frozenset(name for text in texts for name in text.asserts)
        denied = frozenset(name for text in texts for name in text.denies) - asserted
        mentioned = frozenset(name for text in texts for name in text.mentions) - asserted - denied
        return cls(asserted, denied, mentioned, exact=True)


# What list markup or a log puts around a text; equality looks past it.
# It is matched against the normal form, which has no capitals: a ticked box is [x] alone.
_LEAD = re.compile(
    r"(?:(?:[-*+•>#|]+|\d{1,3}[.)]|\[[ x]\])\s+|[\[(]?\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d\S*?)?[\])]?:?\s+)+"
)


def _strip_text(text: str) -> str:
    """A text in normal form without leading bullet, number or date stamp and without its last full stop."""
    lead = _LEAD.match(text)
    return text[lead.end() if lead else 0 :].removesuffix(".").rstrip()


class Classifier:
    """Reads texts against the facts of one scenario.

    Attributes:
        canaries: Fact id -> the random string that stands for {canary} in this fact's texts and forms. A text whose
            canary is absent or altered is not that harness text.
    """

    def __init__(self, scenario: Scenario, canaries: Mapping[str, str] | None = None) -> None:
        self._scenario = scenario
        self._canaries = canaries or {}
        self._forms = {
            fact.id: [frozenset(normalise(self._fill(form, fact)) for form in part) - {""} for part in fact.forms]
            for fact in scenario.facts
        }
        self._needles = sorted({form for parts in self._forms.values() for part in parts for form in part})
        self._rivals = self._chains()
        self._decisive = {name: self._find_telling(name) for name in self._forms}
        self._names = {name: self._list_names_beside(name) for name in self._forms}
        self._cache: dict[str, Reading] = {}
        self._known: dict[str, Reading] = {}

    def texts(self) -> Mapping[str, Reading]:
        """Every harness text in normal form -> its annotations."""
        return self._texts

    def read(self, text: str) -> Reading:
        """What a text says: by equality with a harness text, else by the rules for clauses."""
        known = self._cache.get(text)
        if known is None:
            if len(self._cache) >= CACHED:
                self._cache.clear()
            plain = normalise(text)
            known = self._texts.get(plain) or self._cores.get(_strip_text(plain)) or self._by_rules(plain)
            self._cache[text] = known
        return known

    def hear(self, text: str) -> Reading:
        """What a text says that came out of a memory: also by the messages that stand in it, as it may have been told
        sessions."""
        found = self.read(text)
        if found.exact or not self._scenario.spoken:
            return found
        if text not in self._known:
            if len(self._known) >= CACHED:
                self._known.clear()
            chunk = self._heard.read(text)
            self._known[text] = Reading.hear(chunk) if chunk else found
        return self._known[text]

    def by_rules(self, text: str) -> Reading:
        """What a text says by the rules for clauses alone, as if the harness had not written it."""
        return self._by_rules(normalise(text))

    def standings(self, reading: Reading, at: datetime, place: Scope) -> Mapping[str, Standing]:
        """How each asserted fact stands at a story time, seen from a place."""
        return {name: self._scenario.find_standing(name, at, place) for name in sorted(reading.asserted)}

    def verdict(self, reading: Reading, at: datetime, place: Scope) -> FactVerdict:
        """One word for display. `unclear` first; then the worst standing of what is asserted, so that a current
        fact hides no stale one beside it: retracted, superseded, out-of-scope, current. Nothing asserted:
        `mentioned` (denied facts too), `partial`, and `other` if no fact occurs."""
        if reading.unclear:
            return "unclear"
        found = set(self.standings(reading, at, place).values())
        for standing in WORST_FIRST:
            if standing in found:
                return standing
        if reading.denied or reading.mentioned:
            return "mentioned"
        return "partial" if reading.partial else "other"

    # --- what is known beforehand ---

    def _fill(self, text: str, fact: Fact) -> str:
        return text.replace(CANARY, self._canaries.get(fact.id, CANARY))

    @cached_property
    def _texts(self) -> Mapping[str, Reading]:
        return self._annotations(normalise)

    @cached_property
    def _cores(self) -> Mapping[str, Reading]:
        return self._annotations(lambda text: _strip_text(normalise(text)))

    def _annotations(self, key: Callable[[str], str]) -> Mapping[str, Reading]:
        grouped: dict[str, list[Text]] = {}
        for fact in self._scenario.facts:
            for text in fact.own_texts():
                grouped.setdefault(key(self._fill(text.text, fact)), []).append(text)
        for _, step in self._scenario.steps():
            for text in step.texts if isinstance(step, Remember) else ():
                grouped.setdefault(key(text.text), []).append(text)
        spoken = {
            key(chunk.text): Reading.hear(chunk)
            for session in self._scenario.sessions
            for chunk in cut_transcript(session, self._scenario.facts, self._canaries)
        }
        # a text of markup alone has an empty core, which would equal that of any other such text
        return spoken | {text: Reading.annotate(group) for text, group in grouped.items() if text}

    def _chains(self) -> Mapping[str, frozenset[str]]:
        """Fact -> its rivals: what it replaced and what replaced it, over any number of steps."""
        before = {name: frozenset(self._scenario.predecessors(name)) for name in self._forms}
        return {name: before[name] | {other for other in before if name in before[other]} for name in before}

    def _find_telling(self, name: str) -> list[int]:
        """The parts that tell a fact from its rivals: those that share no form with a part of one; else all."""
        shared = {form for rival in self._rivals[name] for part in self._forms[rival] for form in part}
        parts = self._forms[name]
        return [index for index, part in enumerate(parts) if not part & shared] or list(range(len(parts)))

    def _list_names_beside(self, name: str) -> frozenset[str]:
        """The forms that are names where this fact is read: its own, and those of all facts.

        Not a longer name that holds one of its own: in "the old spelling A", the words around A tell of A. Nor what is
        nothing but a word that tells, if it is no value but one of several parts ("never", "fridays"): beside other
        facts it is that word again.
        """
        own = frozenset(form for part in self._forms[name] for form in part)
        found = {form for form in own if not carries(form)}
        for other, parts in self._forms.items():
            for index, part in enumerate(parts):
                value = len(parts) == 1 or (self._rivals[other] and index in self._decisive[other])
                found |= {form for form in part if value or not (tells(form) or carries(form))}
        return frozenset(form for form in found if form in own or not any(find(form, mine) for mine in own))

    @cached_property
    def _heard(self) -> Heard:
        return Heard(self._scenario.sessions, self._scenario.facts, self._canaries)

    # --- the rules ---

    def _by_rules(self, text: str) -> Reading:
        present = {form: spans for form in self._needles if form in text and (spans := find(text, form))}
        if not present:
            return Reading()
        heard: dict[frozenset[str], Clauses] = {}
        sets: defaultdict[Role | Literal["partial"], set[str]] = defaultdict(set)
        clash = False
        for name, parts in self._forms.items():
            places = [[span for form in part & present.keys() for span in present[form]] for part in parts]
            if not any(places):
                continue
            if not all(places):
                sets["partial"].add(name)
                continue
            # clauses depend on the forms that are masked as names, so facts with the same ones share them
            names = self._names[name].intersection(present)
            if names not in heard:
                heard[names] = Clauses(text, unite(span for form in names for span in present[form]))
            clauses = heard[names]
            roles = [{clauses.role(span) for span in places[index]} for index in self._decisive[name]]
            sets[_join_roles(roles)].add(name)
            clash |= _join_roles(roles) == "asserted" and any("denied" in said for said in roles)
        clash |= any(self._rivals[name] & sets["asserted"] for name in sets["asserted"])
        asserted, denied, mentioned = (frozenset(sets[role]) for role in ROLES)
        return Reading(asserted, denied, mentioned, frozenset(sets["partial"]), unclear=clash)


def _join_roles(roles: list[set[Role]]) -> Role:
    """The role of a fact from the roles in which its telling parts occur: it is asserted if each part is somewhere."""
    if all("asserted" in said for said in roles):
        return "asserted"
    return "denied" if any("denied" in said and "asserted" not in said for said in roles) else "mentioned"


# --- entries --------------------------------------------------------------------------------------------------------

# Not within a longer word: "Outrun atlas." does not hold "run atlas."
_START = re.compile(r"(?<!\w)\S")
_LETTER = re.compile(r"\w")
_BULLET = re.compile(r"\s*(?:(?:[-*+•>#|]+|\d{1,3}[.)]|\[[ xX]\])\s+)*")
# What a backend writes around a text on the same line: dates, and a label or two words in brackets.
# Possessive throughout: the alternatives overlap, and backtracking would try every way to split a long run of digits.
_WRAPPING = re.compile(
    r"(?:[^\w\s(\[{<]|\s|\d[\d:.TZ+-]*+|[(\[{<]\s*+[^\s()\[\]{}<>]*+(?:\s++[^\s()\[\]{}<>]++)?+\s*+[)\]}>])*+"
)
_LINE = re.compile(r"[^\r\n]+")
_WIDTHS = (96, 48, 24, 12, 6, 3, 1)


class KnownTexts:
    """The remembered texts, with their lengths by how they begin, so that they are found anywhere in a dump."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._starts: dict[int, dict[str, tuple[int, ...]]] = {}
        self._whole: set[str] = set()
        self.add(texts)

    def __contains__(self, text: str) -> bool:
        """Whether this is a remembered text without blank ends."""
        return text in self._whole

    def add(self, texts: Iterable[str]) -> None:
        """More remembered texts; white space around them does not count, blank ones are left out."""
        for text in map(str.strip, texts):
            width = next((width for width in _WIDTHS if width <= len(text)), 0)
            if width:
                self._whole.add(text)
                starts = self._starts.setdefault(width, {})
                lengths = starts.get(text[:width], ())
                if len(text) not in lengths:
                    starts[text[:width]] = tuple(sorted((*lengths, len(text)), reverse=True))
        # the widest first, as `longest` takes the first text that fits
        self._starts = {width: self._starts[width] for width in _WIDTHS if width in self._starts}

    def longest(self, text: str, start: int) -> int:
        """Where the longest remembered text that stands at `start`, not inside a longer word, ends; else `start`."""
        for width, starts in self._starts.items():
            for length in starts.get(text[start : start + width], ()):
                end = start + length
                if text[start:end] in self._whole and not _joins(text, end):
                    return end
        return start


def _joins(text: str, end: int) -> bool:
    return end < len(text) and bool(_LETTER.match(text[end])) and bool(_LETTER.match(text[end - 1]))


def cut(text: str, known: KnownTexts) -> list[tuple[int, int]]:
    """The entries of a hit's text as (start, end), in order and disjoint.

    Each remembered text that stands there verbatim is one, leftmost and longest first. The rest goes by line, without
    bullets and blank ends; beside a remembered text, mere wrapping (date, source or label in brackets) is none.
    """
    if text in known:
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    done = 0
    for found in _START.finditer(text):
        start = found.start()
        if start >= done and (end := known.longest(text, start)) > start:
            spans += _find_lines(text, done, start)
            spans.append((start, end))
            done = end
    return spans + _find_lines(text, done, len(text))


def _find_lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The lines between two places, of which the first and the last may share theirs with a remembered text."""
    spans: list[tuple[int, int]] = []
    for line in _LINE.finditer(text, start, end):
        shares = (line.start() == start > 0 and text[start - 1] not in "\r\n") or (
            line.end() == end < len(text) and text[end] not in "\r\n"
        )
        if shares and _WRAPPING.fullmatch(text, line.start(), line.end()):
            continue
        bullet = _BULLET.match(text, line.start(), line.end())
        first = bullet.end() if bullet else line.start()
        last = first + len(text[first : line.end()].rstrip())
        if _LETTER.search(text, first, last):
            spans.append((first, last))
    return spans
