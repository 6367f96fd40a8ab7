"""Sequences of operations as programs against Mem0 alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adapters._program import VECTORS, Write, number, write_program
from harness.adapter import Call, Scope

DIMS = ', "embedding_model_dims": 384'
CONFIGURED: Mapping[str, str] = {"qdrant": DIMS, "chroma": "", "faiss": f'{DIMS}, "distance_strategy": "cosine"'}
"""Vector store -> what it is told beside its place."""
HEAD = """
import os
import random
import tempfile

root, ids = tempfile.mkdtemp(), []
os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=root)

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

%(vectors)s

class Embedder(EmbeddingBase):
    def embed(self, text, memory_action=None):
        return embed([text])[0]

    def embed_batch(self, texts, memory_action=None):
        return embed(texts)


def open_memory():
    unused = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9/v1"}
    store = {"collection_name": "memories", "path": f"{root}/store"%(configured)s}
    memory = Memory.from_config({
        "vector_store": {"provider": "%(store)s", "config": store},
        "embedder": {"provider": "openai", "config": unused},
        "llm": {"provider": "openai", "config": unused},
        "history_db_path": f"{root}/history.db",
    })
    memory.embedding_model = Embedder()
    return memory


def remember(texts, user_id, expires=None):
    for text in texts:
        kept = {"agent_id": "%(agent)s", "metadata": {"scope": user_id}, "expiration_date": expires}
        ids.append(memory.add(text, user_id=user_id, infer=False, **kept)["results"][0]["id"])


def names(rows):
    return [f"m{ids.index(row['id']) + 1}" for row in rows]


memory = open_memory()
"""
"""`ids` are those of all memories, in the order of storing; what comes back is printed as m1, m2, ..."""


def write_mem0_program(
    calls: Sequence[Call],
    store: str,
    agent: str,
    user_id: Callable[[Scope], str],
    holding_at: Callable[[Scope], list[str]],
) -> str:
    """ "" if there is a step that Mem0 has no call for.

    Args:
        user_id: That of a scope.
        holding_at: Those of all scopes that hold at a place.
    """
    if any(len(call.of) > 1 for call in calls if call.op in ("update", "get", "history", "recall")):
        return ""

    def remember(call: Call) -> str:
        ends = f", expires={call.expires[:10]!r}" if call.expires else ""
        return f"remember({call.texts}, {user_id(call.scope)!r}{ends})"

    def there(call: Call, of: int) -> str:
        """Mem0 knows no scope of an id, so that it is asked first whose it is."""
        owners = holding_at(call.scope)
        return f'if (found := memory.get({number(of)})) and found["user_id"] in {owners}:'

    def forget(call: Call) -> str:
        return "\n".join(f"{there(call, of)}\n    memory.delete({number(of)})" for of in call.of)

    def update(call: Call) -> str:
        ends = repr(call.expires[:10]) if call.expires else None
        changed = f"{number(call.of[0])}, text={call.texts}[0], expiration_date={ends}"
        return f"{there(call, call.of[0])}\n    memory.update({changed})"

    def search(call: Call) -> str:
        owners = holding_at(call.scope)
        # FAISS knows equality only, and filters after its search
        wanted = owners if store == "faiss" else {"in": owners}
        reach = "len(ids)" if store == "faiss" else "10"
        filters = {"agent_id": agent, "scope": wanted}
        return f'names(memory.search({call.texts}, filters={filters}, top_k={reach})["results"][:10])'

    listed = 'names(memory.get_all(filters={{"user_id": {}}}, top_k=1_000_000)["results"])'
    # Mem0's own close keeps the lock of the store
    closed = "memory.close()\nmemory.vector_store.client.close()\n" if store != "faiss" else "memory.close()\n"
    writers: Mapping[str, Write] = {
        "remember": remember,
        "supersede": lambda call: f"{forget(call)}\n{remember(call)}",
        "update": update,
        "forget": forget,
        "forget_scope": lambda call: f"memory.delete_all(user_id={user_id(call.scope)!r})",
        "entries": lambda call: listed.format(repr(user_id(call.scope))),
        "get": lambda call: f"memory.get({number(call.of[0])})",
        "history": lambda call: f"memory.history({number(call.of[0])})",
        "recall": search,
        "reopen": lambda call: f"{closed}memory = open_memory()",
    }
    head = HEAD % {"vectors": VECTORS, "configured": CONFIGURED[store], "store": store, "agent": agent}
    return write_program(head, calls, writers)
