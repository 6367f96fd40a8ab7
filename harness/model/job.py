"""Jobs: a change in a repository, the decisions in it, and what each option does to the work tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from harness.model.facts import WORD, Line, Slug
from harness.model.trial import Model

Command = Annotated[tuple[Annotated[str, StringConstraints(pattern=WORD)], ...], Field(min_length=1)]
DecisionOutcome = Literal["right", "stale", "lure", "other", "unresolved", "failed"]
HIDDEN = "hidden"
"""The folder of a work tree into which hidden tests are laid when a job is judged, and never before."""


class Edit(Model):
    """Replaces the one occurrence of `old` in a file; `{value}` stands for the chosen value. No `old`: a new file."""

    path: str
    old: str | None = None
    new: str


class Naive(Model):
    """What a sensible engineer does who knows nothing of the matter: it passes the visible tests, and is not right.

    Attributes:
        value: What the check prints where it saw the code behave so.
        edits: None: it is the wrong option of this value.
    """

    value: Line
    edits: tuple[Edit, ...] = Field((), exclude_if=lambda edits: not edits)


class Option(Model):
    """A value that a decision can take, and the fact that leads there.

    Attributes:
        edits: The change that this option makes; none: that of its decision, with the value filled in.
    """

    value: Line
    verdict: Literal["right", "stale", "lure"]
    fact: Slug
    # left out while empty, so that stories whose options have none keep their digests
    edits: tuple[Edit, ...] = Field((), exclude_if=lambda edits: not edits)


class Decision(Model):
    """A choice in a job. `check` runs in the work tree and prints the value that it sees there, or nothing."""

    id: Slug
    question: Line
    edits: tuple[Edit, ...] = Field((), exclude_if=lambda edits: not edits)
    check: Command
    options: tuple[Option, ...] = Field(min_length=2)
    naive: Naive | None = Field(None, exclude_if=lambda naive: naive is None)

    def option(self, value: str | None) -> Option | None:
        return next((option for option in self.options if option.value == value), None)

    @property
    def right(self) -> Option:
        return next(option for option in self.options if option.verdict == "right")

    @property
    def in_code(self) -> bool:
        """Whether its options are changes of their own, and not a value that is filled in."""
        return any(option.edits for option in self.options)

    def list_values(self) -> list[str]:
        """What its check may see: each option's value, then the naive one if it is of no option."""
        own = [self.naive.value] if self.naive and self.naive.edits else []
        return [*(option.value for option in self.options), *own]

    def list_edits(self, value: str) -> Sequence[Edit]:
        """The change that a value makes, nothing left to fill in."""
        if self.naive is not None and self.naive.edits and value == self.naive.value:
            return self.naive.edits
        option = self.option(value)
        if option is not None and option.edits:
            return option.edits
        return [
            Edit(
                path=each.path.replace("{value}", value),
                old=None if each.old is None else each.old.replace("{value}", value),
                new=each.new.replace("{value}", value),
            )
            for each in self.edits
        ]

    def judge(self, exit_code: int, value: str | None) -> DecisionOutcome:
        """What a check saw in the work tree, by its exit code and the value that it printed."""
        if exit_code != 0:
            return "failed"
        if value is None:
            return "unresolved"
        option = self.option(value)
        return option.verdict if option else "other"

    @model_validator(mode="after")
    def _edited_in_one_way(self) -> Self:
        # `own` is what all options say, and the decision has to say the opposite
        own = {bool(option.edits) for option in self.options}
        if len(own) > 1 or bool(self.edits) in own:
            raise ValueError("edits: of the decision, or of each of its options")
        if self.naive is not None and not self.in_code:
            raise ValueError("naive: needs options with edits of their own")
        if self.naive is not None and not self.naive.edits:
            option = self.option(self.naive.value)
            if option is None or option.verdict == "right":
                raise ValueError("naive: has no edits, and its value is that of no wrong option")
        return self


class Job(Model):
    """A repo task: decide, edit, run the commands, check. `relevant` are the files that a good engineer opens.

    Attributes:
        run: Commands of the job, such as a dry run; whoever does it may read what they print.
        visible: The tests that the repository has; a change that is wrong may pass them.
        hidden: Name -> text of the files that are laid into the folder `hidden` when the job is judged.
    """

    do: Literal["job"]
    id: Slug
    goal: Line
    relevant: tuple[str, ...] = Field(min_length=1)
    decisions: tuple[Decision, ...] = Field(min_length=1, max_length=4)
    run: tuple[Command, ...] = ()
    visible: tuple[Command, ...] = Field((), exclude_if=lambda visible: not visible)
    hidden: Mapping[Annotated[str, StringConstraints(pattern=r"^[\w-]+\.\w+$")], str] = Field(
        {}, exclude_if=lambda hidden: not hidden
    )

    def list_commands(self) -> Iterator[Command]:
        """What whoever does the job may run: its commands and the tests that it can see, and the checks of values."""
        # where there are hidden tests a check runs them, and they are laid only when the job is judged
        # a command that is a check as well is listed once
        yield from dict.fromkeys(
            [*self.run, *self.visible, *(each.check for each in self.decisions if not self.hidden)]
        )
