"""Dates as backends give them, in any form of ISO 8601 or none; today, as prompts tell it; days of what is reused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime

ISO_DAY = "%Y-%m-%d"


def parse_moment(text: str | None) -> datetime | None:
    """None for what is no date; UTC where no zone is named. Two of them can be compared, whatever their zones."""
    try:
        when = datetime.fromisoformat(text or "")
    except (ValueError, OverflowError):
        return None
    return when if when.utcoffset() is not None else when.replace(tzinfo=UTC)


def same_moment(left: str | None, right: str) -> bool:
    """Whether two ISO 8601 times are the same moment, however each is written."""
    try:
        return left is not None and datetime.fromisoformat(left) == datetime.fromisoformat(right)
    except (ValueError, TypeError):
        return False


def list_todays() -> set[date]:
    """The days that a clock may show now: here, and in UTC."""
    return {date.today(), datetime.now(UTC).date()}


def replace_today(text: str, day: date, since: Iterable[date] = (), forms: Iterable[str] = (ISO_DAY,)) -> str:
    """A text in which today is another day.

    Args:
        since: The days on which the writer may have looked at the clock: it may be past midnight by now.
        forms: How the text may say it, as of `date +FORMAT`.
    """
    for today in {*since, *list_todays()}:
        for form in forms:
            text = text.replace(today.strftime(form), day.strftime(form))
    return text


def count_reused(reused: Mapping[str, date], of: int, things: str = "trials") -> str:
    """How many trials, or other things, an earlier run played, and when; empty if none.

    Args:
        reused: Each -> the day of it.
    """
    days = sorted({str(day) for day in reused.values()})
    when = f"from {days[0]} to {days[-1]}" if len(days) > 1 else "".join(days)
    # a span of days begins with `from` itself
    return f"{len(reused)} of {of} {things} reused from {when}".replace("from from", "from") if reused else ""
