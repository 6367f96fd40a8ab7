"""A whole adapter: it keeps texts and vectors in a JSON file. `tests/unit/test_guide.py` plays it as it stands here.

With COLDWARM_ADAPTER_PATH=docs/examples: coldwarm run -b shelf:ShelfAdapter
"""

import json
from pathlib import Path
from uuid import uuid4

from harness.adapter import Ack, BaseAdapter, BaseMemory, Hit, Layer, Usage  # isort: skip
from harness.adapter import applies, delete_and_add, embed, read_item, to_wire  # isort: skip


class Shelf(BaseMemory):
    def __init__(self, space):
        self.space, self.path = space, Path(space.root, "shelf.json")
        self.rows = json.loads(self.path.read_text()) if self.path.exists() else {}

    def remember(self, items):
        names = [(uuid4().hex,) if item.text.strip() else () for item in items]  # a blank text is not stored
        kept = [item for item in items if item.text.strip()]
        vectors = embed(self.space, [item.text for item in kept])
        for (name,), item, vector in zip(filter(None, names), kept, vectors, strict=True):
            self.rows[name] = {"item": to_wire(item), "vector": vector}
        self.path.write_text(json.dumps(self.rows))
        return [Ack(name) for name in names]

    def settle(self, seconds):
        return True  # a write is visible when it returns

    def recall(self, query, scope, k, at):
        asked = embed(self.space, [query])[0] if query.strip() else [0.0] * self.space.dims
        near = {n: sum(a * b for a, b in zip(asked, row["vector"], strict=True)) for n, row in self.rows.items()}
        hits = (self.hit(n, near[n]) for n in sorted(near, key=near.get, reverse=True))
        return [hit for hit in hits if applies(hit.scope, scope)][:k]

    def hit(self, name, score=None):
        item = read_item(self.rows[name]["item"])
        return Hit(
            name, item.text, score, source=item.source, created=item.at, scope=item.scope, confidence=item.confidence
        )

    def entries(self, scope):
        return [hit for name in self.rows if (hit := self.hit(name)).scope == scope]

    def forget(self, scope, memory_ids):
        gone = [self.rows.pop(name, None) is not None for name in memory_ids]
        self.path.write_text(json.dumps(self.rows))
        return gone

    def supersede(self, scope, memory_ids, item):
        return delete_and_add(self, scope, memory_ids, item)

    def usage(self):
        return Usage()  # no model inside

    def close(self): ...


class ShelfAdapter(BaseAdapter):
    name, embeds = "shelf", True
    native = (
        "entries",
        "forget",
        "ranked",
        "persistent",
        "usage",
        "scope_org",
        "scope_repo",
        "scope_branch",
        "scope_user",
    )
    emulated = {"supersede": "delete and add", "source": "echoed", "created": "echoed"}  # noqa: RUF012

    def version(self):
        return "1"

    def open(self, space):
        return Shelf(space)

    def storage(self, space):
        return [Layer("shelf", "shelf.json", "file")]
