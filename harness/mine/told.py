"""Values that a team's own sessions mentioned and that changed later: a memory of these sessions is out of date."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from harness.mine.candidates import Candidate, Stand
from harness.text.clauses import holds

UNTOLD = "said in no session before it changed"
_WORD = re.compile(r"[^\W_]{3,}")


class Spoken(NamedTuple):
    """A message of a session, by its number in it, from 1.

    Attributes:
        at: Its own time, else that of the last message before it that has one, else the session's.
    """

    session: str
    at: datetime
    number: int
    text: str


class Telling(NamedTuple):
    """A message that said a value while it held, and before it changed."""

    session: str
    message: int
    value: str


def find_tellings(candidates: Sequence[Candidate], messages: Iterable[Spoken]) -> Mapping[str, Sequence[Telling]]:
    """Candidate -> the first message of each session that said an older value of it, with a word of what it is of."""
    found = defaultdict[str, dict[tuple[str, str], Telling]](dict)
    spans = [(each, *one) for each in candidates for one in itertools.pairwise(each.stands)]
    for message in messages:
        # a quick look before holds(), which normalises the whole text each time
        folded = message.text.casefold()
        for each, stand, until in spans:
            # Since when the oldest value held is not known: the commit before its change is as far as one looked.
            since = stand.at if stand is not each.stands[0] else message.at
            if since <= message.at < until.at and stand.value.casefold() in folded and _is_told(each, stand, message):
                telling = Telling(message.session, message.number, stand.value)
                found[each.id].setdefault((message.session, stand.value), telling)
    return {name: [*own.values()] for name, own in found.items()}


def _is_told(candidate: Candidate, stand: Stand, message: Spoken) -> bool:
    """Whether a message speaks of a stand. A value alone, such as 3, may be one of anything."""
    value, words = _list_words(stand.value), _list_words(message.text)
    named = _list_words(f"{candidate.key} {candidate.what}")
    return holds(message.text, [[stand.value]]) and not named.isdisjoint(words - value)


def _list_words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
