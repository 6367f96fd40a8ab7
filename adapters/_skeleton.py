"""TITLE: an adapter, written by `coldwarm new adapter`. It works as it stands; your backend goes where HERE stands.

    coldwarm conform MODULE:Skeleton            checks it against the contract, a line for each check
    coldwarm run -b NAME=MODULE:Skeleton -s forgotten-runbook -n 0    plays a short story; tables call it NAME

Both find this file in the working folder, or in a folder of COLDWARM_ADAPTER_PATH. It runs in a process of its own that
may write below `space.root` only and reach the gateway only. It imports `harness.adapter`, the standard library and,
inside `open`, the SDK. The whole contract: docs/adapters.md, and the docstrings of harness/adapter/contract.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from harness.adapter import Ack, BaseAdapter, BaseMemory, Hit, Item, Layer, Memory, Scope, Space, Usage

from harness.adapter import applies, delete_and_add, read_item, to_wire  # isort: skip

WORD = re.compile(r"\w+")


class SkeletonMemory(BaseMemory):
    """An open store. HERE: calls of your SDK in place of the JSON file. What is raised is logged as its fault."""

    def __init__(self, space: Space) -> None:
        self.path = Path(space.root, "memories.json")  # an empty root is a new store, else what was left there
        self.rows: dict[str, Item] = {}
        if self.path.exists():
            self.rows = {name: read_item(row) for name, row in json.loads(self.path.read_text("utf-8")).items()}

    # --- needed of every backend ----------------------------------------------------------------------------------

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        """Store; one Ack for each item, in order, with the ids it got. A blank text is not stored: an Ack without ids.

        Returning acknowledges the write: from then on a kill of this process must not lose it.
        """
        acks = [Ack((uuid4().hex,) if item.text.strip() else ()) for item in items]
        self.rows |= {name: item for ack, item in zip(acks, items, strict=True) for name in ack.ids}
        self._save()
        return acks

    def settle(self, seconds: float) -> bool:
        """Wait until recall sees every acknowledged write; False if that took longer. Here a write is seen at once."""
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """At most k hits that hold in `scope`, best first; [] means that nothing is known.

        HERE: your search. `harness.adapter.embed(space, texts)` gives vectors of the run's one embedder. This toy
        counts the words that query and text share.

        Args:
            at: The time of the story, as ISO 8601.
        """
        asked = {*WORD.findall(query.casefold())}
        scores = {n: float(len(asked & {*WORD.findall(item.text.casefold())})) for n, item in self.rows.items()}
        best = sorted((name for name in self.rows if scores[name]), key=lambda name: -scores[name])
        return [self._hit(name, scores[name]) for name in best if self._is_visible(name, scope)][:k]

    def close(self) -> None:
        """Release everything. A reopening is always a new process."""

    # --- optional: delete a method that your backend lacks, and its name from `native` or `emulated` below ----------

    def entries(self, scope: Scope) -> list[Hit]:
        """All live memories of exactly this scope, past any page limit."""
        return [self._hit(name) for name, item in self.rows.items() if item.scope == scope]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        """The memory of this id. Unknown, deleted, or not to be seen from this scope: None."""
        return self._hit(memory_id) if self._is_visible(memory_id, scope) else None

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        """Replace text and fields under the same id. Unknown id or blank text: change nothing, Ack without ids."""
        if not self._is_visible(memory_id, scope) or not item.text.strip():
            return Ack(())
        self.rows[memory_id] = item
        self._save()
        return Ack((memory_id,))

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """Delete; one bool for each id, in order: True if it was there. An unknown id is False and no error."""
        gone = [self._is_visible(name, scope) and self.rows.pop(name) is not None for name in memory_ids]
        self._save()
        return gone

    def forget_scope(self, scope: Scope) -> None:
        """Delete everything of exactly this scope, and nothing of its neighbours. An unknown scope is no error."""
        self.rows = {name: item for name, item in self.rows.items() if item.scope != scope}
        self._save()

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """Store `item` as the successor of these memories. Unknown ids are passed over; the item is stored anyway."""
        return delete_and_add(self, scope, memory_ids, item)

    def usage(self) -> Usage:
        """Tokens and calls of chat models inside the backend since it was opened; all 0 if it has none."""
        return Usage()

    # history(scope, memory_id) -> list[str]: every text that an audit still gives for an id; of an unknown one: [].
    # snapshot() -> str: a mark that stays valid across reopening.
    # restore(mark): makes the whole store what it was at the mark, without what was deleted since.

    # --- this toy's own ---------------------------------------------------------------------------------------------

    def _hit(self, name: str, score: float | None = None) -> Hit:
        """Fill what your backend gives back; leave out what it does not keep, and do not declare it below."""
        item = self.rows[name]
        return Hit(name, item.text, score, item.source, item.at, item.scope, confidence=item.confidence)

    def _is_visible(self, name: str, place: Scope) -> bool:
        return name in self.rows and applies(self.rows[name].scope, place)

    def _save(self) -> None:
        draft = self.path.with_suffix(".part")  # the whole file or nothing, whenever the process is killed
        draft.write_text(json.dumps({name: to_wire(item) for name, item in self.rows.items()}), encoding="utf-8")
        draft.replace(self.path)


class Skeleton(BaseAdapter):
    """The factory. It is made without arguments and must not import the SDK before `open`."""

    name = "NAME"
    settings: ClassVar[Sequence[str]] = ()
    """Names that `-b NAME=MODULE:Skeleton,key=value` may set; they reach `open` as space.settings."""
    secrets: ClassVar[Sequence[str]] = ()
    """Environment variables without which it cannot open, an API key for example. No log holds their values."""
    embeds = False
    """True if it cannot do without `harness.adapter.embed`: a run says at once that no embedder is installed."""
    clients: ClassVar[Sequence[str]] = ()
    """Languages in which an agent can use the memory: ("Python", "TypeScript"), or ("any",) for files, HTTP and MCP."""
    imports: ClassVar[Sequence[str]] = ()
    """Modules of the SDK that may be imported once for many opens, which is faster. HERE."""

    # What it can do. `native`: the backend does it. `emulated`: this file does it, and says how. What neither names is
    # unsupported and is never counted against you; `unsupported` may say why.
    native = (
        "entries", "get", "update", "forget", "forget_scope", "usage",
        "ranked",  # hits come best first
        "abstains",  # recall gives [] where nothing fits
        "persistent",  # what was acknowledged is there after reopening
        "scope_org", "scope_repo", "scope_branch", "scope_user",  # memories of another one are not seen
    )  # fmt: skip
    emulated: ClassVar = {
        "supersede": "delete and add, not atomic",
        "source": "echoed: stored with the text as it was given",
        "created": "echoed: the time of the story, stored with the text",
    }
    unsupported: ClassVar = {
        "history": "no earlier text is kept",
        "snapshot": "the file has no versions",
        "restore": "the file has no versions",
        "compact": "a deletion already rewrites the file",
        "expiry": "nothing reads the date",
        "multi_process": "rows are kept in memory; the file has no lock",
        "extracts": "no model inside rewrites what it is told",
    }

    def version(self) -> str:
        """HERE: `importlib.metadata.version("your-sdk")`. Logs name it, so no release is taken for another."""
        return "1"

    def open(self, space: Space) -> Memory:
        """Open the store below space.root. HERE: import the SDK.

        Install the SDK where coldwarm is, as its extras are: `uv pip install your-sdk` in the same environment.
        """
        return SkeletonMemory(space)

    def storage(self, space: Space) -> list[Layer]:
        """Every file or folder below space.root that may hold data: what is scanned after a deletion. Never opens it.

        HERE: format is "sqlite" for SQLite files, "file" for all others, "remote" for what is not on this disk.
        """
        return [Layer("memories", "memories.json", "file")]
