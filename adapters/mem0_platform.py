"""Mem0's hosted service, through its own client. Tried against its documented routes, never against the live service.

The key comes from MEM0_API_KEY. Scopes are user ids as in `mem0`, each after a name drawn once for a store, so that
nothing that another run has left in the account is found; what a run wrote stays there until somebody deletes it.
Reads are asked again where the service was busy or failed. A write is repeated only where the service said that it
refused it (429): it may have landed otherwise.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

from adapters._base import release, sdk, setting
from adapters._mem0_stores import QDRANT
from adapters.mem0 import MEM0, OPENAI, hit, holding_at, metadata, quiet, until, user_id
from harness.adapter import (
    Ack,
    BaseAdapter,
    BaseMemory,
    Hit,
    Item,
    Layer,
    Memory,
    Scope,
    Space,
    Support,
    applies,
    delete_and_add,
)

T = TypeVar("T")
KEY = "MEM0_API_KEY"
PAUSES, LONGEST = (0.5, 1.0, 2.0), 10.0
"""Seconds before each repetition, and the longest that the service's own Retry-After is followed."""
PAGE = 100
LEARN_IDS = 30.0
"""Seconds for which a write waits for the service to say what it stored; what is not done by then has no id."""
DONE, FAILED = "SUCCEEDED", "FAILED"
TOO_MANY, UNKNOWN = "HTTP_429", ("HTTP_404", "HTTP_400")
PASSING = (TOO_MANY, "HTTP_500", "HTTP_502", "HTTP_503", "HTTP_504", "NET_TIMEOUT", "NET_CONNECT", "NET_GENERIC")
"""Codes of the client for what may pass."""
EXTRACTS = Support("native", "the service's own model; facts are added and replace none")


class Failed(RuntimeError):  # noqa: N818  names what happened, as its message does
    """What the service or the way to it answered instead; the client's own words leave out the code."""

    def __init__(self, code: str, error: Exception) -> None:
        super().__init__(f"{code or type(error).__name__}: {error}")
        self.code = code


class PlatformMemory(BaseMemory):
    """`tenant` goes before every user id. `sleep` waits that many seconds."""

    def __init__(self, client: Any, tenant: str, infer: bool, sleep: Callable[[float], None] = time.sleep) -> None:
        self.client, self.tenant, self.infer, self.sleep = client, tenant, infer, sleep
        self.pending: list[str] = []

    # --- asking ---

    def _ask(self, call: Callable[[], T], again: Collection[str]) -> T:
        """Asks once more after each pause, for as long as what goes wrong is one of `again`."""
        for pause in (*PAUSES, None):
            try:
                return call()
            except Exception as error:
                code = _code(error)
                if pause is None or code not in again:
                    raise Failed(code, error) from error
                wanted = (getattr(error, "debug_info", None) or {}).get("retry_after", pause)
                self.sleep(min(LONGEST, float(wanted)))
        # not reached: the last turn returns or raises
        raise AssertionError

    def _read(self, call: Callable[[], T]) -> T:
        return self._ask(call, PASSING)

    def _write(self, call: Callable[[], T]) -> T:
        return self._ask(call, (TOO_MANY,))

    def _user(self, scope: Scope) -> str:
        return self.tenant + user_id(scope)

    def _hit(self, row: Mapping[str, Any]) -> Hit:
        made = hit({**row, "user_id": row["user_id"].removeprefix(self.tenant)})
        return replace(made, superseded=True) if row.get("replaced_by") else made

    # --- writing ---

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        answers = [self._add(item) if item.text.strip() else {} for item in items]
        events = {answer["event_id"]: self._ended(answer) for answer in answers if "event_id" in answer}
        self._await(events, LEARN_IDS)
        self.pending += [name for name, event in events.items() if event is None]
        # an answer without an event tells its ids at once
        return [Ack(_ids(events.get(answer.get("event_id", "")) or answer)) for answer in answers]

    def _add(self, item: Item) -> dict[str, Any]:
        given = {key: value for key, value in metadata(item).items() if value is not None}
        answer: dict[str, Any] = self._write(
            lambda: self.client.add(
                item.text,
                user_id=self._user(item.scope),
                metadata=given,
                infer=self.infer,
                timestamp=int(datetime.fromisoformat(item.at).timestamp()),
                expiration_date=until(item),
            )
        )
        return answer

    @staticmethod
    def _ended(event: dict[str, Any]) -> dict[str, Any] | None:
        """The event if it has come to its end, else None; RuntimeError if the service failed at it."""
        if event.get("status") == FAILED:
            raise RuntimeError(f"the service failed at a write: {event.get('error') or 'it does not say why'}")
        return event if event.get("status", DONE) == DONE else None

    def _await(self, events: dict[str, dict[str, Any] | None], seconds: float) -> None:
        """Fills in the events that end within this time."""
        end, pause = time.monotonic() + seconds, PAUSES[0]
        while waiting := [name for name, event in events.items() if event is None]:
            for name in waiting:
                events[name] = self._ended(self._read(partial(self._event, name)))
            if time.monotonic() + pause > end:
                return
            if None in events.values():
                self.sleep(pause)
                pause = min(LONGEST, 2 * pause)

    def _event(self, name: str) -> dict[str, Any]:
        """The one documented route for which the client has no method."""
        answer = self.client.client.get(f"/v1/event/{name}/")
        answer.raise_for_status()
        event: dict[str, Any] = answer.json()
        return event

    def settle(self, seconds: float) -> bool:
        events: dict[str, dict[str, Any] | None] = dict.fromkeys(self.pending)
        self._await(events, seconds)
        self.pending = [name for name, event in events.items() if event is None]
        return not self.pending

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        """Text, metadata and expiry change; scope and date of a memory cannot."""
        if self.get(scope, memory_id) is None or not item.text.strip():
            return Ack(())
        self._write(
            lambda: self.client.update(memory_id, text=item.text, metadata=metadata(item), expiration_date=until(item))
        )
        return Ack((memory_id,))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self._delete(scope, name) for name in memory_ids]

    def _delete(self, scope: Scope, memory_id: str) -> bool:
        if self.get(scope, memory_id) is None:
            return False
        self._write(lambda: self.client.delete(memory_id))
        return self.get(scope, memory_id) is None

    def forget_scope(self, scope: Scope) -> None:
        """Queued by the service; `settle` waits for it."""
        answer = self._write(lambda: self.client.delete_all(user_id=self._user(scope)))
        self.pending += [answer["event_id"]] if answer.get("event_id") else []

    # --- reading ---

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        if not query.strip() or k < 1:
            return []
        filters = {"OR": [{"user_id": self.tenant + each} for each in holding_at(scope)]}
        found = self._read(lambda: self.client.search(query, filters=filters, top_k=k))  # and its threshold of 0.1
        return [self._hit(row) for row in found["results"][:k]]

    def entries(self, scope: Scope) -> list[Hit]:
        return [self._hit(row) for row in self._rows({"OR": [{"user_id": self._user(scope)}]})]

    def _rows(self, filters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Every page of a listing."""
        number, more = 0, True
        while more:
            number += 1
            page = self._page(filters, number)
            more = bool(page["next"])
            yield from page["results"]

    def _page(self, filters: Mapping[str, Any], number: int) -> Mapping[str, Any]:
        page: Mapping[str, Any] = self._read(lambda: self.client.get_all(filters=filters, page=number, page_size=PAGE))
        return page

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self._row(memory_id)
        found = self._hit(row) if row and str(row.get("user_id")).startswith(self.tenant) else None
        return found if found is not None and found.scope is not None and applies(found.scope, scope) else None

    def _row(self, memory_id: str) -> Mapping[str, Any] | None:
        """None for an id that the service does not know, or would not give.

        An id is a part of the path: an empty one would name the route of all memories, so it is not sent.
        """
        if not memory_id:
            return None
        try:
            row: Mapping[str, Any] = self._read(lambda: self.client.get(memory_id))
        except Failed as error:
            if error.code in UNKNOWN:
                return None
            raise
        return row

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        """Old and new texts, and what was told when they changed."""
        if not memory_id:
            return []
        try:
            events = self._read(lambda: self.client.history(memory_id))
        except Failed as error:
            if error.code in UNKNOWN:
                return []
            raise
        texts = [text for event in events for text in (event.get("old_memory"), event.get("new_memory"))]
        texts += [turn["content"] for event in events for turn in event.get("input") or ()]
        return list(dict.fromkeys(text for text in texts if text))

    def close(self) -> None:
        self.client.client.close()


def _code(error: Exception) -> str:
    """The client's code for what went wrong, as HTTP_429 or NET_TIMEOUT; of an event's route, the same from httpx."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"HTTP_{status}"
    # by name: httpx comes with the client, which is imported in `open` alone
    if type(error).__module__.startswith("httpx"):
        return "NET_GENERIC"
    return str(getattr(error, "error_code", ""))


def _ids(answer: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row["id"] for row in answer.get("results") or () if row.get("id"))


class Mem0Platform(BaseAdapter):
    name = "mem0_platform"
    clients = ("Python", "TypeScript")
    settings: ClassVar[Sequence[str]] = ("infer",)
    imports = ("qdrant_client", "openai")  # as the library imports both, whatever is asked of it
    packages = (MEM0, QDRANT.package, OPENAI)
    secrets = (KEY,)
    infer = False
    native = (
        "entries", "get", "history", "update", "forget", "forget_scope",
        "ranked", "abstains", "created", "expiry", "persistent", "multi_process",
    )  # fmt: skip
    emulated: ClassVar = {
        "supersede": "delete and add, not atomic",
        "source": "echoed: stored as flat metadata",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "the whole scope is one user_id, percent-encoded; wider scopes by an OR of ids; ids are checked here",
        ),
    }
    unsupported: ClassVar = {
        "snapshot": "no versions of a store",
        "restore": "no versions of a store",
        "compact": "the store is out of reach",
        "usage": "the service does not tell",
        "extracts": "stores what it is told, word for word",
    }

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.infer = setting(settings, "infer", ("false", "true")) == "true"
        return made

    @property
    def support(self) -> Mapping[str, Support]:
        return {**super().support, **({"extracts": EXTRACTS} if self.infer else {})}

    def version(self) -> str:
        return f"{release('mem0ai', 'coldwarm[mem0]')}, untested against the live service"

    def open(self, space: Space) -> Memory:
        quiet(space)
        tenant = Path(space.root, "tenant")
        if not tenant.exists():
            tenant.write_text(f"coldwarm-{uuid4().hex[:12]}/")
        return PlatformMemory(self.connect(space), tenant.read_text(), self.infer)

    def connect(self, space: Space) -> Any:
        return sdk("mem0", "coldwarm[mem0]").MemoryClient(api_key=space.settings[KEY])

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("service", "service", "remote"), Layer("home", "mem0home", "file")]
