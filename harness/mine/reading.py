"""Who reads a value, by its name in the newest commit of a repository: nothing, its own file alone, or others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from harness.mine.candidates import Candidate
from harness.mine.exclusions import NUMBER
from harness.repo.checkout import Repo
from harness.repo.series import run_git

_NAME = re.compile(r"[A-Za-z_]\w*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""A setting that a program reads from its environment, by name. Of other settings a tool that knows its keys is the
reader, and nothing in the repository has to name them."""


def list_read(repo: Repo, candidates: Iterable[Candidate], reasons: Counter[str]) -> list[Candidate]:
    """All but those whose name stands in no other place, or, of a number, in no other file: who works there sees it.

    What has left the repository since was read in its time.
    """
    found = list(candidates)
    own = {each.id: each.key for each in found if _needs_reader(each)}
    files = _count_files(repo, set(own.values()))
    remaining = []
    for each in found:
        # one with no count is kept: nothing in the repository has to read it
        counts = files.get(own[each.id], Counter()) if each.id in own else Counter[str]()
        if counts.total() == 1:
            reasons["value that nothing reads"] += 1
        elif len(counts) == 1 and each.kind == "constant" and NUMBER.fullmatch(each.stands[-1].value):
            reasons["number that only its own file reads"] += 1
        else:
            remaining.append(each)
    return remaining


def _needs_reader(candidate: Candidate) -> bool:
    if not _NAME.fullmatch(candidate.key):
        return False
    return candidate.kind == "constant" or (candidate.kind == "setting" and bool(_VARIABLE.fullmatch(candidate.key)))


def _count_files(repo: Repo, names: Collection[str]) -> dict[str, Counter[str]]:
    """Name -> how often each file says it as a whole word."""
    counts: dict[str, Counter[str]] = {}
    if not names:
        return counts
    # -z, as a path may hold a colon; no textconv, as nothing that a repository configures may run
    output = run_git("grep", "-I", "-o", "-w", "-F", "-z", "--no-textconv", "-f", "-", repo.history.commits[-1], "--",
                   at=repo.path, stdin="".join(f"{name}\n" for name in sorted(names)).encode())  # fmt: skip
    for row in output.stdout.decode("utf-8", "replace").split("\n"):
        path, _, name = row.partition("\0")
        counts.setdefault(name, Counter())[path] += 1
    return counts
