"""How an agent looks for what it was not told: BM25 over the tracked files, whole files, a fixed cap of tokens."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.repo.checkout import Repo

if TYPE_CHECKING:
    import bm25s

CAP = 6000
"""Tokens of files that an agent opens for one decision before it gives up."""
WORD = re.compile(r"[a-z0-9]+")


def split_words(text: str) -> list[str]:
    """Lower-case runs of letters and digits; identifiers fall into their parts."""
    return WORD.findall(text.lower())


class Explorer:
    """Ranks the files of a commit for a question. One index a commit, built once; ties go by path."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        # trials of one story are played in several threads
        self._lock = threading.Lock()
        self._indexes: dict[str, tuple[list[str], bm25s.BM25]] = {}
        self._ranked: dict[tuple[str, str], list[str]] = {}

    def rank(self, commit: str, question: str) -> Sequence[str]:
        """Paths with a score above 0, best first."""
        with self._lock:
            if (commit, question) not in self._ranked:
                self._ranked[commit, question] = self._rank(commit, question)
            return self._ranked[commit, question]

    def _rank(self, commit: str, question: str) -> list[str]:
        paths, index = self._index(commit)
        known = [word for word in split_words(question) if word in index.vocab_dict]
        # bm25s raises for a question without a single word
        if not known:
            return []
        import numpy as np

        scores = np.asarray(index.get_scores(known))
        return [paths[i] for i in np.argsort(-scores, kind="stable") if scores[i] > 0]

    def _index(self, commit: str) -> tuple[list[str], bm25s.BM25]:
        import bm25s  # here: who plays no job has no use for it

        if commit not in self._indexes:
            files = self._repo.files(commit)
            paths = sorted(files)
            index = bm25s.BM25()
            index.index([split_words(f"{path} {files[path]}") for path in paths], show_progress=False)
            self._indexes[commit] = paths, index
        return self._indexes[commit]
