"""Before a run is paid for: what it will ask of a chat model, and whether it may."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from harness.cli.common import stop

if TYPE_CHECKING:
    from harness.model.prices import Price, Prices
    from harness.model.scenario import Scenario
    from harness.model.trial import Selection, Trial


def ask(
    screen: Any,
    selection: Selection,
    trials: Sequence[Trial],
    stories: Sequence[Scenario],
    price: Price | tuple[float, float] | None,
    prices: Prices | None,
    *,
    yes: bool,
) -> None:
    """Prints the estimate of a run that a real model answers, and asks; ends the command if the answer is no.

    Not for the stand-in, for recordings, and for an endpoint on this machine without a price.

    Args:
        price: Of a million tokens, prompt and completion; None: nobody said.
    """
    from harness.cli.estimate import estimate
    from harness.model.prices import Price
    from harness.report.words import make_plain

    if selection.chat is None or selection.chat.answers != "model":
        return
    if isinstance(price, tuple):
        # --chat-price comes from no table, so the estimate must not name one.
        price, prices = Price(prompt=price[0], completion=price[1]), None
    free = price is None or not (price.prompt or price.completion)
    if free and is_here(os.environ.get("OPENAI_BASE_URL", "")):
        return
    cost = estimate(trials, stories)
    parts = [f"estimate: {cost.calls:,} chat calls, {cost.prompt:,} + {cost.completion:,} tokens (prompt, answers)"]
    if cost.most:
        parts.append(f"at most {cost.most:,}")
    unit = f" {prices.currency} ({prices})" if prices else " at --chat-price"
    parts.append("price unknown (--prices)" if price is None else f"about {cost.money(price):,.2f}{unit}")
    screen.print(make_plain(f"{'; '.join(parts)}; models inside backends come on top"), markup=False)
    if yes:
        return
    if not sys.stdin.isatty():
        stop("a paid run was not agreed to: --yes starts it where nobody can be asked; --chat-budget limits it")
    # On standard error, as --json has standard output to itself.
    if not click.confirm("start it?", default=False, err=True):
        stop("not started")


def is_here(url: str) -> bool:
    """Whether an endpoint is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
