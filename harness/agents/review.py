"""A reviewer's message after a round of a job: which checks fail, and what they saw; never what would be right.

Checks of values print what they see, and their complaints may name the value that they expect, so only the kind of a
complaint is told. Whoever does the job can run the repository's own tests, so the end of their output is told.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from harness.log.parts import Check
from harness.model.job import Decision, Job
from harness.repo.checks import Work

HEAD = "Review after round {}"
TELLS = """. The work that stands here was turned down. Mend what follows, wherever it is by now, and leave
the rest as it is. What would be right is not said here."""
SHOWN = 2000
"""Characters of what a visible test printed, its end."""
_ERROR = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception))\b", re.MULTILINE)


def write(job: Job, work: Work, number: int) -> str:
    """The review of a round; empty: all checks see what is right, and the visible tests pass."""
    found = [*_tell_checks(job, work), *(_tell_test(each) for each in work.visible if each.exit)]
    return "\n".join([HEAD.format(number) + TELLS, *found]) if found else ""


def _tell_checks(job: Job, work: Work) -> Iterator[str]:
    checks = {each.decision: each for each in work.checks}
    for decision in job.decisions:
        check = checks[decision.id]
        if decision.judge(check.exit, check.value) != "right":
            yield f"- Check {decision.id} ({decision.question}): {_tell_seen(decision, check)}"


def _tell_seen(decision: Decision, check: Check) -> str:
    if check.exit:
        kind = _ERROR.findall(check.output)[-1:]
        return f"it does not come to its end, exit {check.exit}{''.join(f' ({each})' for each in kind)}"
    if check.value is None:
        return "it finds nothing settled"
    # Any other value may be of an author's making: a check must not be made to read hidden files aloud.
    return f"it sees `{check.value}`" if check.value in decision.list_values() else "it sees something else"


def _tell_test(check: Check) -> str:
    return f"- Test {shlex.join(check.command)}: exit {check.exit}\n{check.output.strip()[-SHOWN:]}"
