"""Keyword search: rows in a file of JSON lines, ranked by bm25s. The baseline that a vector store has to beat."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from adapters import _okapi
from adapters._base import RowAdapter, RowMemory, release, sdk, setting
from harness.adapter import FILTERS, Memory, Space


class Bm25Memory(RowMemory):
    def __init__(self, path: Path, library: Any) -> None:
        super().__init__(path)
        self.library, self.numpy = library, sdk("numpy", "coldwarm")
        self.index: Any = None

    def after_change(self, added: Sequence[str] | None = None) -> None:
        super().after_change(added)
        # bm25s has no call that adds texts to an index
        self.index = None

    def words(self, texts: Iterable[str]) -> list[list[str]]:
        split: list[list[str]] = self.library.tokenize(list(texts), return_ids=False, show_progress=False)
        return split

    def weigh(self, texts: Sequence[Sequence[str]]) -> Any:
        index = self.library.BM25()
        index.index(texts, show_progress=False)
        return index

    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        """Whatever shares a word, best first, then in the order of writing."""
        if self.index is None:
            texts = self.words(item.text for item in self.rows.values())
            # bm25s fails at texts without a single word
            if not any(texts):
                return []
            self.index = self.weigh(texts)
        asked = self.words([query])[0]
        # bm25s fails at a question without a word
        if not asked:
            return []
        scores, names = self.numpy.asarray(self.index.get_scores(asked)), list(self.rows)
        seen = self.numpy.flatnonzero(scores > 0)
        # where all are visible, not every name has to be looked up
        if len(visible) < len(names):
            shown = set(visible)
            # the type is told, as an empty list would become floats, which are no indexes
            seen = self.numpy.array([at for at in seen.tolist() if names[at] in shown], dtype=int)
        best = seen[self.numpy.argsort(-scores[seen], kind="stable")[:k]]
        return [(names[at], scores[at].item()) for at in best.tolist()]


class OkapiMemory(Bm25Memory):
    """Ranked as published baselines rank, for figures beside theirs."""

    def words(self, texts: Iterable[str]) -> list[list[str]]:
        return [_okapi.split(text) for text in texts]

    def weigh(self, texts: Sequence[Sequence[str]]) -> Any:
        return _okapi.Index(self.numpy, texts)


class Bm25(RowAdapter):
    name = "bm25"
    clients = ("Python",)
    imports = ("bm25s",)
    packages = ("bm25s>=0.3,<1",)
    native = (*RowAdapter.native, *FILTERS, "ranked", "abstains")
    settings: ClassVar[Sequence[str]] = ("variant",)
    variant = "lucene"

    def version(self) -> str:
        return release("bm25s", "coldwarm")

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.variant = setting(settings, "variant", ("lucene", "okapi"))
        return made

    def open(self, space: Space) -> Memory:
        made = OkapiMemory if self.variant == "okapi" else Bm25Memory
        return made(self.path(space), sdk("bm25s", "coldwarm"))
