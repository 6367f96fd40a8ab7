"""Facts: what a story knows to be true, and the texts that say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints

from harness.adapter import Scope, Source
from harness.model.trial import Model

# no argument of a command can hold a NUL; a commit's hash is SHA-1 or SHA-256
SLUG, LINE, WORD, COMMIT = r"^[a-z0-9]+(-[a-z0-9]+)*$", r"^[^\r\n]+$", r"^[^\x00]*$", r"^[0-9a-f]{40}([0-9a-f]{24})?$"
PATTERNS = {
    SLUG: "must be lower-case letters, digits and single hyphens, as in two-names-ago",
    LINE: "must be one line",
    WORD: "must not contain a NUL character",
    COMMIT: "must be a whole commit id, 40 or 64 hexadecimal digits",
}
"""What each pattern of a text asks for, in words."""
Slug = Annotated[str, StringConstraints(pattern=SLUG, max_length=60)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=LINE)]
Stratum = Literal["identifier", "plain", "paraphrase"]
STRATA: tuple[Stratum, ...] = ("identifier", "plain", "paraphrase")
MemoryType = Literal["project", "episodic", "procedural", "user"]
CANARY = "{canary}"


class Text(Model):
    """A text of the harness and what it says about facts. Of a fact's own texts, the fact itself is implied."""

    text: Line
    asserts: tuple[Slug, ...] = ()
    denies: tuple[Slug, ...] = ()
    mentions: tuple[Slug, ...] = ()


def _read_text(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


Phrase = Annotated[Text, BeforeValidator(_read_text)]


class Remark(Text):
    """A text that is remembered as it is.

    Attributes:
        cites: A fact that it asserts, whose source it repeats.
    """

    cites: Slug | None = None


RemarkPhrase = Annotated[Remark, BeforeValidator(_read_text)]


class Fact(Model):
    """A statement that the story knows to be true from `since` until it is superseded, forgotten or `until`.

    Attributes:
        forms: The parts of the fact, each a list of alternatives; a text carries the fact if it holds, at identifier
            boundaries, one alternative of every part. `source` makes the fact in-repo; without it, it is told-only.
    """

    id: Slug
    type: MemoryType
    since: AwareDatetime
    until: AwareDatetime | None = None
    scope: Scope = Scope()
    source: Source | None = None
    confidence: float | None = Field(None, gt=0, le=1)
    supersedes: Slug | None = None
    forms: tuple[Annotated[tuple[Line, ...], Field(min_length=1)], ...] = Field(min_length=1)
    identifier: Phrase
    plain: Phrase
    paraphrase: Phrase
    rewrites: tuple[Phrase, ...] = Field(min_length=3)

    def phrase(self, stratum: Stratum) -> Text:
        """The phrasing in a stratum, with the fact itself among what it asserts."""
        text: Text = getattr(self, stratum)
        return self._own(text)

    def own_texts(self) -> Iterator[Text]:
        """All phrasings, then all rewrites, each asserting the fact."""
        yield from (self.phrase(stratum) for stratum in STRATA)
        yield from (self._own(text) for text in self.rewrites)

    def _own(self, text: Text) -> Text:
        return text if self.id in text.asserts else text.model_copy(update={"asserts": (self.id, *text.asserts)})

    @property
    def erasable(self) -> bool:
        """Whether its texts carry a canary, so that a forget step may name it."""
        return CANARY in self.plain.text
