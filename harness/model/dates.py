"""Dates as backends give them: any form of ISO 8601, any year, or no date at all."""

from __future__ import annotations

from datetime import UTC, datetime


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
