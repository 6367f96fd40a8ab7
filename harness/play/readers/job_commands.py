"""What a job's own commands, such as its dry run, say of what was decided: whoever does the job runs and reads them.

Cold and warm alike: what a command refuses is given up for what it tells instead, else for the next best that is known.
A command that refuses nothing decides only what nobody told.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from harness.log.parts import Check, Choice
from harness.model.job import Decision, Job, Option
from harness.play.readers import Context, Outcome
from harness.text.classify import Reading, holds

Decide = Callable[[Decision, AbstractSet[str]], Choice]
"""Decides anew, without the values that were refused."""
MOST = 4
"""Runs after which whoever does the job leaves it as it is: few decisions have more options."""
# a hyphen belongs to a word, so that a name like `retry-failed` refuses nothing
_REFUSES = re.compile(
    r"(?<![\w-])(?:refus(?:ed|es)|missing|unknown|not known|not found|no such|invalid|fail(?:s|ed)|"
    r"do(?:es)? not (?:fit|know|exist))(?![\w-])",
    re.IGNORECASE,
)


def run_commands(context: Context, job: Job, outcome: Outcome, decide: Decide) -> None:
    """Does what nobody told as who knows nothing does it, and runs the job's commands until they refuse nothing new."""
    refused: dict[str, tuple[str, ...]] = {each.id: () for each in job.decisions}
    told = [choice.value is not None for choice in outcome.choices]
    for at, decision in enumerate(job.decisions):
        outcome.choices[at] = _fill_in(decision, outcome.choices[at], ())
    for _ in range(MOST if job.run else 0):
        printed = context.try_out({choice.decision: choice.value for choice in outcome.choices})
        outcome.prompt += sum(context.count(each.output) for each in printed)
        before = list(outcome.choices)
        for at, decision in enumerate(job.decisions):
            choice, gone = outcome.choices[at], refused[decision.id]
            other, is_refused = _read_printed(context, decision, choice, printed, gone, told=told[at])
            if other is None and not is_refused:
                continue
            if choice.value is not None and is_refused:
                refused[decision.id] = gone = (*gone, choice.value)
            if other is None:
                other = _fill_in(decision, decide(decision, frozenset(gone)), gone)
            if other.value is not None:  # where nobody knows better, it stays
                outcome.choices[at], told[at] = other.model_copy(update={"refused": gone}), True
        if outcome.choices == before:
            return


def _fill_in(decision: Decision, choice: Choice, refused: Sequence[str]) -> Choice:
    """A choice that was left open, with what is done by who knows nothing."""
    naive = decision.naive.value if decision.naive is not None else None
    return choice.model_copy(update={"value": naive}) if choice.value is None and naive not in refused else choice


def _read_printed(
    context: Context, decision: Decision, choice: Choice, printed: Sequence[Check], gone: Sequence[str], *, told: bool
) -> tuple[Choice | None, bool]:
    """The other option that the commands tell, and whether they refuse the one that was taken."""
    other, is_refused = None, False
    for ran in printed:
        for line in ran.output.splitlines():
            refuses = bool(_REFUSES.search(line))
            is_refused |= refuses and choice.value is not None and holds(line, [[choice.value]])
            if told and not (ran.exit or refuses):
                continue
            option = match_option(context, decision, line)
            if other is None and option is not None and option.value not in (choice.value, *gone):
                other = Choice(
                    decision=decision.id, value=option.value, origin="run", fact=option.fact,
                    path=shlex.join(ran.command),
                )  # fmt: skip
    return other, is_refused or (other is not None and told)


def match_option(context: Context, decision: Decision, text: str) -> Option | None:
    """The one option that a text of the repository, or of a command, asserts."""
    return find_option(context.classifier.read, decision, text)


def find_option(read: Callable[[str], Reading], decision: Decision, text: str) -> Option | None:
    """The one option that a text asserts; a text that asserts several decides nothing."""
    reading = read(text)
    if reading.unclear:
        return None
    asserted = [option for option in decision.options if option.fact in reading.asserted]
    return asserted[0] if len(asserted) == 1 else None
