"""The store that tutorials show: texts and embeddings in one JSON file, rewritten at each write; cosine over all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from adapters._base import RowAdapter, RowMemory, sdk
from harness.adapter import FILTERS, Memory, Space, embed


class VectorFileMemory(RowMemory):
    def __init__(self, path: Path, space: Space, numpy: Any) -> None:
        self.space, self.numpy, self.matrix = space, numpy, None
        self.vectors: dict[str, tuple[Any, str]] = {}  # by text, with its JSON: formatting is what a rewrite costs
        # last, as it loads the file, which fills the vectors
        super().__init__(path)

    def load(self, text: str) -> None:
        for row in json.loads(text):
            self.vectors[row["text"]] = self.vector(row.pop("embedding"))
            self.read_row(row)

    def vector(self, values: list[float]) -> tuple[Any, str]:
        return self.numpy.array(values, dtype="float32"), json.dumps(values)

    def after_change(self, added: Sequence[str] | None = None) -> None:
        texts = dict.fromkeys(item.text for item in self.rows.values())
        # by text: what an update keeps or a batch repeats is embedded once
        fresh = [text for text in texts if text not in self.vectors]
        self.vectors.update(zip(fresh, map(self.vector, embed(self.space, fresh)), strict=True))
        self.vectors = {text: self.vectors[text] for text in texts}
        self.matrix = None
        # without `added`: nothing can be appended to a JSON array
        super().after_change()

    def dump(self, ids: Iterable[str]) -> str:
        rows = (f'{self.line(name)[:-1]}, "embedding": {self.vectors[self.rows[name].text][1]}}}' for name in ids)
        return "[" + ",\n".join(rows) + "]\n"

    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        if not query.strip():
            return []
        if self.matrix is None:
            self.matrix = self.numpy.stack([self.vectors[item.text][0] for item in self.rows.values()])
        asked, _ = self.vector(embed(self.space, [query])[0])
        scores = dict(zip(self.rows, (self.matrix @ asked).tolist(), strict=True))
        return [(name, scores[name]) for name in sorted(visible, key=lambda name: -scores[name])[:k]]


class VectorFile(RowAdapter):
    name = "vector_file"
    clients = ("Python",)
    imports = ("numpy",)
    embeds = True
    file = "memories.json"
    native = (*RowAdapter.native, *FILTERS, "ranked")
    unsupported: ClassVar = {**RowAdapter.unsupported, "abstains": "always the k nearest, however far"}

    def open(self, space: Space) -> Memory:
        return VectorFileMemory(self.path(space), space, sdk("numpy", "coldwarm"))
