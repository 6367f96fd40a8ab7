"""What a reader or a writer asked its chat model, and what came of it: a part of the record of a job or a session."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, TypeAdapter

from harness.model.trial import Model


class ToolUse(Model):
    """A tool that a chat model used in a job.

    Attributes:
        arguments: As it wrote them.
        result: What it was told.
        refused: It was not done: the tool, its arguments or what they ask for are not allowed.
    """

    tool: str
    arguments: str
    result: str
    refused: bool = False


class ModelCall(Model):
    """What a reader or a writer asked a chat model, and what came of it.

    Attributes:
        decision: For which it was asked; empty: a step in the whole job.
        prompt: The messages as text; of a step, those that are new, without the results of the tools before.
        answer: What it said, whatever it was worth.
        outcome: chose, unknown: it took one of the options, or said that it cannot tell. acted: it used tools.
            finished: it ended the job.
            wrote: it said what to remember. unreadable: it said something else.
            refused, empty: it said nothing that counts.
            failed, timed-out: no answer came.
        why: Of the other outcomes, of a step after which the job was ended, and what was odd about a job; else empty.
        model: The name under which it answered.
        prompt_tokens, completion_tokens: As the upstream counts them, and no less than our own count.
        cached_tokens: Of the prompt, what it says it read from a cache.
        unread_tokens: Of the prompt, what it does not count although it was sent.
        passing: No answer came by the doing of the endpoint; another try may get one.
    """

    decision: str
    prompt: str
    answer: str = ""
    outcome: Literal[
        "chose", "unknown", "acted", "finished", "wrote", "unreadable", "refused", "empty", "failed", "timed-out"
    ]  # fmt: skip
    why: str = ""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    # What most calls lack is not written, so that their logs keep their bytes.
    cached_tokens: int = Field(0, exclude_if=lambda cached: not cached)
    unread_tokens: int = Field(0, exclude_if=lambda unread: not unread)
    uses: tuple[ToolUse, ...] = Field((), exclude_if=lambda uses: not uses)
    passing: bool = Field(False, exclude_if=lambda passing: not passing)

    @property
    def answered(self) -> bool:
        """Whether the model took a decision, declined to in the way that it was offered, ended its job itself, or said
        what to remember."""
        return self.outcome in ("chose", "unknown", "finished", "wrote")


class OwnCount(Model):
    """Tokens that an agent program says a job took: nothing relies on them.

    Attributes:
        prompt: Those from a cache included.
    """

    prompt: int = Field(ge=0)
    completion: int = Field(ge=0)


class Draft(Model):
    """A memory as a model worded it.

    Attributes:
        sources: The lines of the transcript that it comes from, counted from 1.
        replaces: The known memories in whose place it stands, counted from 1.
    """

    text: str
    sources: tuple[int, ...]
    replaces: tuple[int, ...] = ()


DRAFTS: TypeAdapter[tuple[Draft, ...]] = TypeAdapter(tuple[Draft, ...])
CALLS: TypeAdapter[tuple[ModelCall, ...]] = TypeAdapter(tuple[ModelCall, ...])
