"""Deep Lake 4.7.4 as a memory. An example, outside of the distribution: no wheel of coldwarm holds it.

deeplake 4.7.4 declares no licence and holds no licence file (nor does deepframe 0.1.3, which it needs): clear that with
the vendor before you use it. Here are only calls of its interface. With COLDWARM_ADAPTER_PATH=docs/examples:

    coldwarm conform deeplake=deeplake_memory:DeepLake@4.7.4
    coldwarm run -b deeplake=deeplake_memory:DeepLake@4.7.4 -b none -s forgotten-runbook
"""

import json
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from pathlib import Path
from uuid import uuid4

from harness.adapter import Ack, BaseAdapter, BaseMemory, Hit, Layer, Scope  # isort: skip
from harness.adapter import applies, delete_and_add, embed, read_item, to_wire  # isort: skip


def place(scope):  # a word, as queries take no parameters
    return sha256(json.dumps(asdict(scope)).encode()).hexdigest()


class Lake(BaseMemory):
    def __init__(self, space):
        import deeplake

        self.space, path = space, Path(space.root, "lake")
        if (path / "_ready").exists():
            self.rows = deeplake.open(f"file://{path}")
            return
        self.rows = deeplake.create(f"file://{path}")
        for name in ("id", "place", "item"):
            self.rows.add_column(name, "text")
        self.rows.add_column("vector", deeplake.types.Embedding(space.dims))
        self.rows.commit()
        (path / "_ready").touch()

    def remember(self, items):
        kept = [(uuid4().hex if item.text.strip() else "", item) for item in items]
        vectors = iter(embed(self.space, [item.text for name, item in kept if name]))
        rows = [{"id": name, "place": place(item.scope), "item": json.dumps(to_wire(item)), "vector": next(vectors)}
                for name, item in kept if name]  # fmt: skip
        if rows:
            self.rows.append(rows)
            self.rows.commit()
        return [Ack((name,) if name else ()) for name, _ in kept]

    def settle(self, seconds):
        return True

    def recall(self, query, scope, k, at):
        if not query.strip():
            return []
        near = f"COSINE_SIMILARITY(vector, ARRAY{embed(self.space, [query])[0]})"
        each = product(*((None, part) if part is not None else (None,) for part in asdict(scope).values()))
        places = ", ".join(f"'{place(Scope(*parts))}'" for parts in each)
        found = self.rows.query(f"SELECT *, {near} AS score WHERE place IN ({places}) ORDER BY {near} DESC LIMIT {k}")
        return [self._hit(row, float(row["score"])) for row in found]

    def _hit(self, row, score=None):
        item = read_item(json.loads(str(row["item"])))
        return Hit(str(row["id"]), item.text, score, item.source, item.at, item.scope, confidence=item.confidence)

    def entries(self, scope):
        return [self._hit(row) for row in self.rows.query(f"SELECT * WHERE place == '{place(scope)}'")]

    def get(self, scope, memory_id):
        found = self.rows.query(f"SELECT * WHERE id == '{memory_id}'") if memory_id.isalnum() else ()
        return next((hit for hit in map(self._hit, found) if applies(hit.scope, scope)), None)

    def forget(self, scope, memory_ids):
        return [self.get(scope, name) is not None and self._delete(name) for name in memory_ids]

    def _delete(self, name):
        self.rows.delete(list(map(str, self.rows["id"][:])).index(name))
        return self.rows.commit() is None

    supersede = delete_and_add

    def close(self):
        """Each write is committed."""


class DeepLake(BaseAdapter):
    name, embeds, packages, imports = "deeplake", True, ("deeplake>=4.7.4,<5",), ("deeplake",)
    native = ("entries", "get", "forget", "ranked", "persistent")
    emulated = {"supersede": "delete and add, not atomic", "source": "echoed", "created": "echoed"}  # noqa: RUF012
    emulated |= dict.fromkeys(("scope_org", "scope_repo", "scope_branch", "scope_user"), "a column that is filtered by")

    def version(self):
        return version("deeplake")

    def open(self, space):
        return Lake(space)

    def storage(self, space):
        return [Layer("lake", "lake", "file")]
