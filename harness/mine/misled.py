"""The days for which a line that instructs agents was wrong before it was corrected.

It was wrong from the commit that removed the old value from all other files. If other files still hold the value, or
never held it, nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from statistics import median

from harness.mine.candidates import Candidate
from harness.mine.worth import AGENT_FILE
from harness.repo.checkout import Repo
from harness.repo.series import run_git
from harness.report.words import format_count

_DAY = 24 * 3600
_OTHERS = (".", *(f":(exclude,glob)**/{name}" for name in (
    "AGENTS*.md", "CLAUDE*.md", "GEMINI*.md", "CONVENTIONS.md", "WARP*.md", ".cursorrules", ".windsurfrules",
    ".clinerules", ".cursor/**", ".github/copilot-instructions.md", ".github/instructions/**",
)))  # fmt: skip


def count_days(repo: Repo, candidates: Iterable[Candidate]) -> dict[str, int | None]:
    """Candidate in a file for agents -> days from when its old value left the rest of the repository; None: unknown."""
    return {each.id: _count(repo, each) for each in candidates if AGENT_FILE.search(each.file)}


def tell(days: Mapping[str, int | None]) -> str:
    """`3 lines for agents were corrected; of 2 it is known for how many days they were wrong: 0 to 41, median 20`"""
    known = [each for each in days.values() if each is not None]
    start = f"{format_count(len(days), 'line')} for agents {'was' if len(days) == 1 else 'were'} corrected"
    if not known:
        return f"{start}; of none it is known for how long it was wrong"
    span = f"{min(known)} to {max(known)} days, median {median(known):g}"
    return f"{start}; of {len(known)} it is known for how long it was wrong: {span}"


def _count(repo: Repo, candidate: Candidate) -> int | None:
    """By the last commit, up to the one that corrected it, which changed how often other files say the old value."""
    corrected = candidate.commits[-1]
    gone = _find_gone(candidate.stands[-2].value, candidate.stands[-1].value)
    if (
        not gone
        or run_git("grep", "-q", "-I", "-F", "-e", gone, corrected.hash, "--", *_OTHERS, at=repo.path).returncode == 0
    ):
        return None
    # neither a textconv nor a diff program: nothing that a repository configures may run
    log = run_git("log", "-1", "--first-parent", "--diff-merges=first-parent", "--no-patch", "--format=%ct",
               f"-S{gone}", "--no-textconv", "--no-ext-diff", corrected.hash, "--", *_OTHERS, at=repo.path)  # fmt: skip
    when = log.stdout.decode().strip()
    # the clocks of committers run back
    return max(0, int(corrected.at.timestamp()) - int(when)) // _DAY if when.isdecimal() else None


def _find_gone(old: str, new: str) -> str:
    """The longest word that the new value has no more, if it is more than a plain one."""
    words = [word for word in old.split() if word not in new.split() and len(word) > 2]
    return max((word for word in words if re.search(r"[\W\d_]", word)), key=len, default="")
