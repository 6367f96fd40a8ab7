"""What one trial asked of the models, by phase, and what a whole run may ask of its chat model."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from math import inf, isfinite
from typing import NamedTuple

from harness.gateway.alternate_embedders import SwitchedEmbedder
from harness.model.dates import list_todays

_log = logging.getLogger(__name__)
READING = "reading"
"""The phase of a key that belongs to a reader of ours, not to a backend."""
PATIENCE = 600.0
SILENT = 5.0
"""Seconds that a chat call waits at least before a failure of who asked, for half of its time, is the endpoint's."""


@dataclass(frozen=True)
class PhaseCount:
    """What was asked for in one phase, cached or not.

    Attributes:
        tokens, cut_tokens: Word pieces seen and cut off.
    """

    calls: int = 0
    texts: int = 0
    tokens: int = 0
    cut_texts: int = 0
    cut_tokens: int = 0

    def __add__(self, other: PhaseCount) -> PhaseCount:
        return PhaseCount(
            self.calls + other.calls,
            self.texts + other.texts,
            self.tokens + other.tokens,
            self.cut_texts + other.cut_texts,
            self.cut_tokens + other.cut_tokens,
        )


@dataclass(frozen=True)
class ChatCount:
    """Chat calls of one phase.

    Attributes:
        prompt, completion: Tokens, as the upstream says and no less than our own count, and of `counted` calls as
            counted here, because it did not say. `failed` calls are among `calls`, with the tokens that they are
            known to have cost.
        cached: Of `prompt`, what the upstream says it read from a cache.
        short: Calls of which the upstream counts far fewer prompt tokens than were sent.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    counted: int = 0
    failed: int = 0
    cached: int = 0
    short: int = 0

    def __add__(self, other: ChatCount) -> ChatCount:
        return ChatCount(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.counted + other.counted,
            self.failed + other.failed,
            self.cached + other.cached,
            self.short + other.short,
        )

    def to_log(self) -> dict[str, int]:
        """The count as a log has it: of an upstream without a cache that counts as we do it is what it was before."""
        return {name: count for name, count in vars(self).items() if count or name not in ("cached", "short")}


class ChatFault(NamedTuple):
    """A chat call that was answered with an error: where, with which status, and what the client was told."""

    phase: str
    status: int
    message: str


class Meter:
    """Counts of one key. The engine sets `phase`; a call counts where it arrived.

    An embeddings call counts only if it was answered; a chat call always, because what fails can cost.

    Attributes:
        day: The story's, which a prompt is given in place of today's; None: it is left as it is. A library tells its
            model the day to work out "yesterday" by, and takes it from the clock; a team captures a session on the day
            on which it was held.
        began: The days that a clock may have shown when the meter was made: a library may have looked at it then.
        switched: Another embedder answers; None: the run's own.
        given_up: Why its chat model is asked no more; empty: it is.
    """

    def __init__(self) -> None:
        self.phase = ""
        self.day: date | None = None
        self.began = list_todays()
        self.switched: SwitchedEmbedder | None = None
        self._counts: dict[str, PhaseCount] = {}
        self._chat: dict[str, ChatCount] = {}
        self._models: Counter[str] = Counter()
        self._faults: Counter[ChatFault] = Counter()
        self._lock = threading.Lock()
        self._ended = threading.Condition()
        self._under_way = self._unanswered = 0
        self._outage = (-inf, "")
        self.given_up = ""
        self._waiting = list[float]()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """An embeddings call is being answered; what raises in it leaves it without an answer."""
        with self._ended:
            self._under_way += 1
        # counts as unanswered until the block has come to its end
        got = 1
        try:
            yield
            got = 0
        finally:
            with self._ended:
                self._under_way -= 1
                self._unanswered += got
                self._ended.notify_all()

    def unanswered(self) -> int:
        """Valid embeddings calls that got no vectors up to now: we failed, or were so late that nobody waited any more.

        Waits for the calls under way, `PATIENCE` seconds at most; then they count, too.
        """
        with self._ended:
            self._ended.wait_for(lambda: not self._under_way, PATIENCE)
            return self._unanswered + self._under_way

    def note_outage(self, why: str) -> None:
        """A chat call got no answer, by the doing of the endpoint."""
        with self._lock:
            self._outage = (time.monotonic(), why)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A chat call is waiting for its answer."""
        began = time.monotonic()
        with self._lock:
            self._waiting.append(began)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.remove(began)

    def find_outage(self, since: float) -> str:
        """What the chat endpoint did to a call of this key since a moment of the monotonic clock; empty: nothing."""
        with self._lock:
            (when, why), began = self._outage, min(self._waiting, default=inf)
        if when >= since:
            return why
        now = time.monotonic()
        if now - began < max(SILENT, (now - since) / 2):
            return ""
        more = "look at it; a slow one gets more time by --call-seconds"
        return f"the chat model has not answered for {now - began:.0f} s: {more}"

    def counts(self) -> dict[str, PhaseCount]:
        """Phase -> count of embeddings, of the phases that had a call."""
        with self._lock:
            return dict(self._counts)

    def chat(self) -> dict[str, ChatCount]:
        """Phase -> count of chat calls, of the phases that had one."""
        with self._lock:
            return dict(self._chat)

    def models(self) -> dict[str, int]:
        """Name under which the chat model answered -> calls. Several names: the upstream changed its model."""
        with self._lock:
            return dict(self._models)

    def faults(self) -> dict[ChatFault, int]:
        """Chat calls that were answered with an error -> how often."""
        with self._lock:
            return dict(self._faults)

    def add(self, phase: str, count: PhaseCount) -> None:
        with self._lock:
            self._counts[phase] = self._counts.get(phase, PhaseCount()) + count

    def add_chat(self, phase: str, count: ChatCount, model: str = "", fault: ChatFault | None = None) -> None:
        with self._lock:
            self._chat[phase] = self._chat.get(phase, ChatCount()) + count
            # in lists: of a bare string a Counter would count the letters, of a bare fault its fields
            self._models.update([model] if model else [])
            self._faults.update([fault] if fault else [])


@dataclass(frozen=True)
class Budget:
    """What all chat calls of a run may cost together. None: no limit.

    Raises ValueError for what limits nothing or everything.

    Attributes:
        tokens: Prompt and completion together.
        money: In the currency of the prices, which are per million tokens and the user's to know.
    """

    tokens: int | None = None
    money: float | None = None
    prompt_price: float = 0.0
    completion_price: float = 0.0

    def __post_init__(self) -> None:
        if self.tokens is not None and self.tokens < 1:
            raise ValueError("a budget in tokens must be at least 1")
        if not all(isfinite(price) and price >= 0 for price in (self.prompt_price, self.completion_price)):
            raise ValueError("a price per million tokens must be a number from 0 on")
        if self.money is None:
            return
        if not (isfinite(self.money) and self.money > 0):
            raise ValueError("a budget in money must be a number above 0")
        if not self.prompt_price and not self.completion_price:
            raise ValueError("a budget in money needs the price of a million tokens, prompt and completion")


class Spending(NamedTuple):
    """What the chat calls of a run have cost so far.

    Attributes:
        money: At the prices of the budget, 0 without prices.
    """

    tokens: int
    money: float


class Ledger:
    """The chat tokens of a run against its budget, and the names under which its model answered. Safe for threads.

    The call that crosses the budget is answered (as are those that are under way with it), no later one. What comes
    from a recording counts as what it cost when it was recorded.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._prompt = self._completion = 0
        self._names: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spending:
        with self._lock:
            prompt, completion = self._prompt, self._completion
        money = (prompt * self.budget.prompt_price + completion * self.budget.completion_price) / 1_000_000
        return Spending(prompt + completion, money)

    @property
    def used_up(self) -> str:
        """The limit that is reached, in words; empty while there is none."""
        spent = self.spent
        if self.budget.tokens is not None and spent.tokens >= self.budget.tokens:
            return f"{self.budget.tokens} chat tokens"
        if self.budget.money is not None and spent.money >= self.budget.money:
            return f"{self.budget.money:g} for chat calls"
        return ""

    def add(self, prompt: int, completion: int, asked: str, answered: str) -> None:
        """The tokens of a call.

        Args:
            answered: The model's name, empty if none answered.
        """
        with self._lock:
            self._prompt += prompt
            self._completion += completion
            if not answered:
                return
            known = self._names.setdefault(asked, [])
            if known and answered not in known:
                _log.warning("asked for the model %s, %s answers now, before %s", asked, answered, ", ".join(known))
            if answered not in known:
                known.append(answered)
