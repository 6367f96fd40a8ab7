"""Names that occur once in the newest commit of a repository: nothing reads what is set under such a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from harness.mine.candidates import Candidate
from harness.repo.checkout import Repo
from harness.repo.series import run_git

_NAME = re.compile(r"[A-Za-z_]\w*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""A setting that a program reads from its environment, by name. Of other settings a tool that knows its keys is the
reader, and nothing in the repository has to name them."""


def list_read(repo: Repo, candidates: Iterable[Candidate], reasons: Counter[str]) -> list[Candidate]:
    """All but those whose name stands in no other place; what has left the repository since was read in its time."""
    found = list(candidates)
    own = {each.id: each.key for each in found if _needs_reader(each)}
    counts = _count(repo, set(own.values()))
    kept = [each for each in found if each.id not in own or counts[own[each.id]] != 1]
    if len(kept) < len(found):
        reasons["value that nothing reads"] += len(found) - len(kept)
    return kept


def _needs_reader(candidate: Candidate) -> bool:
    if not _NAME.fullmatch(candidate.key):
        return False
    return candidate.kind == "constant" or (candidate.kind == "setting" and bool(_VARIABLE.fullmatch(candidate.key)))


def _count(repo: Repo, names: Collection[str]) -> Counter[str]:
    """Name -> how often the files say it as a whole word."""
    if not names:
        return Counter()
    said = run_git("grep", "-I", "-h", "-o", "-w", "-F", "--no-textconv", "-f", "-", repo.history.commits[-1], "--",
               at=repo.path, stdin="".join(f"{name}\n" for name in sorted(names)).encode())  # fmt: skip
    return Counter(said.stdout.decode("utf-8", "replace").split("\n"))
