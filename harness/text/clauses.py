"""What a text says of the names in it: asserted, denied or only mentioned. Knows language, and no fact.

A name is a name first: whatever words it is made of ("Zeit Now"), they tell nothing of it or of its neighbours.
The rules are few and literal on purpose: a text that they misread is visible in the table of cases, and a text
that the harness wrote itself never needs them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

Role = Literal["asserted", "denied", "mentioned"]
ROLES: tuple[Role, ...] = ("asserted", "denied", "mentioned")

# --- normal form ------------------------------------------------------------------------------------------------------

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# An apostrophe between letters stays (don't); any other quote goes. After `"key":` a space keeps key and value apart.
QUOTE = re.compile(r"(?:[\"`]|(?<!\w)'|'(?!\w))([:,])?")
TYPOGRAPHIC = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ′‹›", "'"),
        **dict.fromkeys("“”„‟″«»´", '"'),
        **dict.fromkeys("‐‑−", "-"),
        **dict.fromkeys("–—―", " - "),
    }
)


SHORT = 1000
"""Characters of the longest text whose normal form is remembered: forms, entries, lines; not dumps."""


def normalise(text: str) -> str:
    """NFKC, casefold, one space for each run of white space or control characters, no quotes and backticks.

    Typographic quotes and dashes become plain ones first; invisible format characters and terminal colours go, as
    no reader sees them. Idempotent.
    """
    # A long text is met once, and would push thousands of short ones out of the cache.
    return _normalise(text) if len(text) <= SHORT else _normalise.__wrapped__(text)


@lru_cache(maxsize=16_384)
def _normalise(text: str) -> str:
    # one pass is not enough: an n preceded by an apostrophe becomes a quote and an n, and the quote goes with the next
    while (done := _pass(text)) != text:
        if done.isascii():  # what the next pass would change is not plain
            return done
        text = done
    return text


_PIECES = re.compile(rf"\S{{1,{SHORT}}}|\s{{1,{SHORT}}}")


def _compose(text: str) -> str:
    """NFKC; of a long text word by word, as the time for one run of combining marks grows with its square."""
    pieces = [text] if len(text) <= SHORT else _PIECES.findall(text)
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces)


def _pass(text: str) -> str:
    if not text.isascii():
        # quotes first: of an acute accent that stands for one, NFKC makes a space and a combining accent
        text = _compose(text.translate(TYPOGRAPHIC))
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    if not text.isprintable():
        # ANSI first: without its escape character, the rest of a colour code would stay as text
        text = CONTROL.sub(" ", ANSI.sub("", text))
    text = text.casefold()
    if '"' in text or "'" in text or "`" in text:
        text = QUOTE.sub(lambda found: found[1] + " " if found[1] else "", text)
    return " ".join(text.split())


# --- accepted forms ---------------------------------------------------------------------------------------------------

WORD = r"\w\u0300-\u036f"  # letters of any script, digits, underscore, combining marks


class ClauseSpan(NamedTuple):
    start: int
    end: int


def unite(spans: Iterable[ClauseSpan]) -> list[ClauseSpan]:
    """Places as ordered, disjoint spans."""
    union: list[ClauseSpan] = []
    for span in sorted(spans):
        if union and span.start < union[-1].end:
            union[-1] = ClauseSpan(union[-1].start, max(union[-1].end, span.end))
        else:
            union.append(span)
    return union


@cache
def _compile_form(form: str) -> re.Pattern[str]:
    """`form` as a whole identifier: no word character or hyphen beside it, nor one behind a joining . / : or @."""
    return re.compile(rf"(?<![{WORD}-])(?<![{WORD}][./:@]){re.escape(form)}(?![{WORD}-])(?![./:@][{WORD}])")


def find(text: str, form: str) -> list[ClauseSpan]:
    """Where a form stands as a whole identifier. Both are in normal form; an empty form stands nowhere."""
    return [ClauseSpan(*found.span()) for found in _compile_form(form).finditer(text)] if form and form in text else []


def holds(text: str, forms: Sequence[Sequence[str]]) -> bool:
    """Whether a text holds one alternative of every part, at identifier boundaries."""
    text = normalise(text)
    return all(any(find(text, normalise(form)) for form in part) for part in forms)


# --- words that tell ----------------------------------------------------------------------------------------------


def _compile_words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])")


LONGEST = 400  # characters; a longer clause is cut, so that hostile text costs linear time

_DATE = (
    r"(?:the\s+)?(?:(?:start|end|middle|beginning)\s+of\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\s+)?(?:\d{4}\b|q[1-4]\b|"
    r"last\s+\w+|yesterday|recently|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:[a-z]{2,6})?\b)"
)
# Words that open a clause after a comma, a colon or "and".
_OPENERS = (
    r"now|nowadays|currently|today|since\s+then|instead|formerly|previously|originally|we|you|they|it|it's|i|this|that|"
    r"there|which|who|is|are|was|were|has|have|use|run|deploy|push|call|prefer|switch|go|please|always|never|not|"
    r"do\s+not|don't|superseding|replacing"
)
_CONJUNCTIONS = r"and|but|so|yet|because|since|as|while|whereas|although|though|however|then|unless|until|if|when"
_SPLITTERS = (
    rf"but|whereas|although|though|however|unless|except|because|before(?!\s+{_DATE})|without|while|after\s+which"
)
# "A <these> B": A is of the past.
_SUCCEEDED = (
    r"(?:->|=>|→|⇒|➔|⟶)|(?<![\w-])(?:(?:replaced|superseded|succeeded|supplanted)\s+(?:by|with)|"
    r"renamed(?!\s+from\s)(?:\s+(?:to|as))?|(?:moved|changed|switched|migrated|converted|ported)\s+(?:over\s+)?to|switch(?:es)?\s+to|became|gave\s+way\s+to|"
    r"in\s+favou?r\s+of|(?:is|are)\s+now\s+(?:called|named|known\s+as))(?![\w-])"
)
_BECAME = rf"(?:(?:which|that|and|is|are|was|were|has|been|since|now|later)\s+){{0,6}}(?:{_SUCCEEDED})"
SUCCEEDED = re.compile(_SUCCEEDED)
# What became of the words before it does not open a clause: in "A, which was replaced by B" it tells of A.
BOUNDARY = re.compile(
    rf"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?]+(?=\s|$)|;|"
    rf"[,:]\s+(?!{_BECAME})(?=(?:{_CONJUNCTIONS}|{_OPENERS})\b)|"
    rf"\s-+\s+(?!{_BECAME})|"
    rf"\s(?=(?:{_SPLITTERS})\b)|\s(?=until\s(?!{_DATE}))|"
    rf"\s(?!{_BECAME})(?:and|then|so)\s+(?=(?:{_OPENERS})\b)|"
    rf"(?<!\bis)(?<!\bare)(?<!\bhas)(?<!\bhave)\s(?!{_BECAME})(?=(?:now|nowadays|currently)\s)"
)
BECAME = re.compile(_BECAME)
ASIDE = re.compile(r"(?<![\w(])\(([^()]{0,300})\)")

_USABLE = (
    r"(?:be\s+)?(?:used|run|in\s+use|valid|true|allowed|permitted|supported|correct|right|current|needed|required|active|"
    r"recommended|touched)(?![\w-])"
)
_USED = rf"(?:{_USABLE}|(?:be\s+)?(?:use|apply|applies|works?|exists?)(?![\w-]))"
# "not only", "don't forget" deny nothing; "not allowed," denies what stands before.
NEGATION = _compile_words(
    r"(?:(?:do|does|did|is|are|was|were|ca|wo|should|must|would|could|has|have|had|need)n'?t|cannot|not|never|neither|"
    rf"nor|avoid(?:s|ing)?)(?!\s+(?:only|just|merely|forget|hesitate)|\s+{_USABLE}\s*,)"
)
_NEAR = r"(?:\s+(?!(?:we|you|they|it|i|and|or)\s)[^\s,:]+){0,2}?\s+"  # up to two words of the same noun phrase
DENIED_AFTER = re.compile(
    rf"{_NEAR}(?:(?:is|are|must|should|can|may|will|do|does)(?:\s+not|n'?t)|cannot|can't|won't|never)\s+{_USED}"
)
PAST_AFTER = re.compile(
    rf"{_NEAR}(?:(?:is|are|does)\s+no\s+longer(?![\w-])|no\s+longer\s+{_USED}|"
    r"kept\s+(?:failing|breaking|crashing|hanging)(?![\w-])|"
    r"(?:is|are|was|were|has\s+been|have\s+been|got)\s+(?:now\s+|since\s+|since\s+been\s+)?(?:deprecated|obsolete|outdated|"
    r"retired|decommissioned|gone|dead|removed|abandoned|legacy|history|dropped|phased\s+out|shut\s+down|replaced|"
    r"superseded)(?![\w-]))"
)
# "was changed" tells of a change that holds; "is used to deploy" and "the tool used to deploy is" tell of today.
PAST = _compile_words(
    r"(?:was|were)(?!\s+(?:\w+ly\s+|then\s+|just\s+)?(?:changed|moved|switched|renamed|set|updated|migrated|decided|agreed|"
    r"chosen|introduced|added|adopted|made|configured|bumped|raised|lowered|replaced|superseded|fixed|confirmed|enabled)\b)|"
    r"had\s+(?:been|\w{2,}ed)|formerly|previously|originally|historically|back\s+then|in\s+the\s+past|at\s+that\s+time|"
    r"(?<!is\s)(?<!are\s)(?<!be\s)(?<!been\s)(?<!being\s)used\s+to(?!\s+(?!be\s)(?:\w+\s+){1,2}(?:is|are)\b)"
)
# "frozen until May" holds today; "we deployed ... until May" does not.
UNTIL = _compile_words(rf"(?:until|till|before|up\s+to)\s+{_DATE}")
PAST_VERB = _compile_words(
    r"(?:we|i|you|he|she|it|they|everyone)\s+(?:\w+ly\s+)?(?:\w{2,}ed|went|ran|did|had|lived|came|stood)"
)
OLD = _compile_words(r"old|former|earlier|prior|previous|legacy|deprecated|obsolete|outdated|retired")
BY_MEANS = _compile_words(r"with|using|via|by|to|than|in")

# Regions of a clause that tell of what is gone; each has one group.
CHANGE = _compile_words(
    r"moved?|moving|switch(?:ed|ing)?|chang(?:ed?|ing)|migrat(?:ed?|ing|ion)|renamed?|upgraded?|bumped|went|transition\w*"
)
TRANSPORT = _compile_words(
    r"(?:deploy|ship|releas|push|cop|sync|merg|promot|send|publish|upload|pull|build|branch|roll|run|tag|cherry-pick)"
    r"(?:e|s|es|ed|d|y|ies|ied|ing|ment|ments)?"
)
FROM_TO = re.compile(r"(?<![\w-])from\s(.{1,120}?)\s(?:to|into|onto)(?![\w-])")
GONE = (
    re.compile(
        r"(?<![\w-])(?:instead\s+of|rather\s+than|in\s+place\s+of|in\s+lieu\s+of|as\s+opposed\s+to)\s+"
        r"(\S+.*?)(?=[,:]\s|\s(?:we|you|they|it|is|are|use|run)\s|$)"
    ),
    re.compile(
        r"(?<![\w-])(?:no\s+longer|no\s+more(?!\s+than)|stop(?:s|ped)?\s+(?:using|running)|stop(?:ped)?\s+\w+ing|"
        r"(?:away|off)\s+from|dropped|ditched|abandoned|retired|got\s+rid\s+of)\s"
        r"(.*?)(?=\sin\s+favou?r\s+of\s|,\s(?!.*\s(?:or|nor|and)\s)|$)"
    ),
    re.compile(
        r"(?<![\w-])(?:replac(?:e|es|ed|ing)|supersed(?:e|es|ed|ing)|swapp?(?:ed|ing)?)\s(?!(?:by|with)\s)"
        r"(.*?)(?=\s(?:with|by|for)\s|$)"
    ),
    re.compile(r"(?<![\w-])renamed\s+from\s(.*?)(?=\s(?:to|as|into|in|by|on|at)\s|,\s|$)"),
)


# --- clauses --------------------------------------------------------------------------------------------------------


def _mask(text: str, names: Sequence[ClauseSpan]) -> str:
    """A text of the same length in which each name is one word that tells nothing. Digits and hyphens stay, as a name
    may be a date."""
    pieces, done = [], 0
    for start, end in names:
        pieces += [text[done:start], _NO_DIGIT.sub("x", text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


_NO_DIGIT = re.compile(r"[^\d-]")


def tells(form: str) -> bool:
    """Whether a form in normal form is nothing but a word that tells: never, don't, was, old, renamed to."""
    return any(pattern.fullmatch(form) for pattern in (NEGATION, PAST, OLD, SUCCEEDED))


def carries(form: str) -> bool:
    """Whether a form is nothing but a word of transport: what it carries from A to B is no change."""
    return TRANSPORT.fullmatch(form) is not None


class Clauses:
    """The clauses of a text in normal form, and the role of the names in it: ordered and disjoint spans (`united`)."""

    def __init__(self, text: str, names: Sequence[ClauseSpan]) -> None:
        outer, asides = _lift(_mask(text, names))
        self._asides = [(start, clause) for at, words in asides for start, clause in _split(words, at)]
        self._outer = list(_split(outer, 0))
        self._read: dict[int, _Clause] = {}

    def role(self, span: ClauseSpan) -> Role:
        """How the name at `span` is meant.

        An aside of nothing else is a name for the words before it, and meant as they are: "the old way (A) is dead".
        """
        aside = self._find_holding(self._asides, span.start)
        if aside and len(aside[1].strip()) == span.end - span.start:
            aside = None
        at, words = aside or self._find_holding(self._outer, span.start) or (0, "")
        if at not in self._read:
            self._read[at] = _Clause(words, at)
        return self._read[at].role(span)

    @staticmethod
    def _find_holding(clauses: list[tuple[int, str]], place: int) -> tuple[int, str] | None:
        index = bisect_right(clauses, place, key=lambda clause: clause[0]) - 1
        return clauses[index] if index >= 0 and place < clauses[index][0] + len(clauses[index][1]) else None


def _lift(text: str) -> tuple[str, list[tuple[int, str]]]:
    """A text without its asides in parentheses, spaces in their place, and the asides with their positions.

    An aside that says what became of the words before it ("A (replaced by B)") stays.
    """
    pieces: list[str] = []
    asides: list[tuple[int, str]] = []
    done = 0
    for found in ASIDE.finditer(text):
        inside = found[1]
        if stays := BECAME.match(inside) is not None:
            # as long as with its parentheses, so that positions stay those of the whole text
            inside = f" {inside} "
        else:
            asides.append((found.start(1), inside))
        pieces += [text[done : found.start()], inside if stays else " " * len(found[0])]
        done = found.end()
    return "".join([*pieces, text[done:]]), asides


def _split(text: str, at: int) -> Iterator[tuple[int, str]]:
    """The clauses of a text that stands at `at`, none longer than LONGEST."""
    start = 0
    for end in (*(found.end() for found in BOUNDARY.finditer(text)), len(text)):
        while start < end:
            stop = min(end, start + LONGEST)
            yield at + start, text[start:stop]
            start = stop


class _Clause:
    """Words that stand at `at` in a text; all spans are positions in that text."""

    def __init__(self, words: str, at: int) -> None:
        self.words, self.at = words, at
        self.negations = self._marks(NEGATION)
        self.past = self._marks(PAST)
        if PAST_VERB.search(words):
            self.past += self._marks(UNTIL)
        self.old = self._marks(OLD)
        self.succeeded = self._marks(SUCCEEDED)
        self.gone = [self._span(found, 1) for pattern in GONE for found in pattern.finditer(words)]
        # "deploy the gate from A to B" says nothing against A; "we moved from A to B" does
        for found in FROM_TO.finditer(words):
            before = words[: found.start()]
            if CHANGE.search(before) or not TRANSPORT.search(" ".join(before.split()[-3:])):
                self.gone.append(self._span(found, 1))

    def role(self, span: ClauseSpan) -> Role:
        if any(self._denies(mark, span) for mark in self.negations):
            return "denied"
        rest = self.words[span.end - self.at :]
        if DENIED_AFTER.match(rest):
            return "denied"
        return "mentioned" if self._of_the_past(span) or PAST_AFTER.match(rest) else "asserted"

    def _of_the_past(self, span: ClauseSpan) -> bool:
        # a turn ends the reach of a word of the past: "it was A -> B" leaves B as current
        return (
            any(mark.start >= span.end for mark in self.succeeded)
            or any(area.start <= span.start < area.end for area in self.gone)
            or any(
                not any(mark.end <= turn.start and turn.end <= span.start for turn in self.succeeded)
                for mark in self.past
            )
            or any(self._qualifies(mark, span) for mark in self.old)
        )

    def _denies(self, mark: ClauseSpan, span: ClauseSpan) -> bool:
        return mark.end <= span.start and len(self._between(mark, span)) <= 3

    def _qualifies(self, mark: ClauseSpan, span: ClauseSpan) -> bool:
        """ "the old A", "old deploy tool: A", but not "remove old branches with A"."""
        between = self._between(mark, span)
        return mark.end <= span.start and len(between) <= 2 and not any(BY_MEANS.fullmatch(word) for word in between)

    def _between(self, mark: ClauseSpan, span: ClauseSpan) -> list[str]:
        words = self.words[mark.end - self.at : max(0, span.start - self.at)].split()
        return [word for word in words if any(map(str.isalnum, word))]

    def _marks(self, pattern: re.Pattern[str]) -> list[ClauseSpan]:
        return [self._span(found, 0) for found in pattern.finditer(self.words)]

    def _span(self, found: re.Match[str], group: int) -> ClauseSpan:
        return ClauseSpan(self.at + found.start(group), self.at + found.end(group))
