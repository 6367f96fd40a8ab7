"""Faults of dates: zones that are dropped or taken for another, clocks that were changed, ends that are moved."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters._base import moment
from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

SUMMERS = (("2024-03-31", "2024-10-27"), ("2025-03-30", "2025-10-26"))
"""First and last day on which the clock at home is two hours ahead of UTC; it is changed at 01:00 UTC."""


class _Redating(ReferenceMemory):
    """Stores another date than it is told."""

    def dated(self, at: str) -> str:
        raise NotImplementedError

    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        return super().columns(replace(item, at=self.dated(item.at)), vector)


class _Ending(ReferenceMemory):
    """Stores another end than it is told."""

    def moved(self, end: datetime) -> datetime:
        raise NotImplementedError

    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        expires = item.expires and self.moved(datetime.fromisoformat(item.expires)).isoformat()
        return super().columns(replace(item, expires=expires), vector)


class _Dated(Planted):
    must = ("date_survives_writing",)


def _shift_month(told: datetime, months: int) -> datetime:
    """The same day of another month, or the last that it has."""
    year, month = divmod(told.year * 12 + told.month - 1 + months, 12)
    # a month may be too short for the day: its last one then
    for day in range(told.day, 0, -1):
        try:
            return told.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return told


def _change(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T01:00:00+00:00")


class TakesEveryClockForUtc(_Dated):
    """The offset of a date is dropped, and what is left is read as UTC."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            return datetime.fromisoformat(at).replace(tzinfo=UTC).isoformat()


class KnowsNoSummer(_Dated):
    """The clock at home is an hour ahead of UTC, in summer, too."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            return at.replace("+02:00", "+01:00")


class StoresTheClockAtHome(_Dated):
    """Dates are stored as the clock at home shows them: one hour of each October comes twice."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            told = datetime.fromisoformat(at).astimezone(UTC)
            shown = told + timedelta(hours=1 + any(_change(begin) <= told < _change(end) for begin, end in SUMMERS))
            # of the hour that comes twice nothing tells which one is meant: it is read as the one of summer
            summer = shown - timedelta(hours=2)
            read = any(_change(begin) <= summer < _change(end) for begin, end in SUMMERS)
            return (summer if read else shown - timedelta(hours=1)).isoformat()


class DropsSeconds(_Dated):
    """A date has minutes, and no seconds."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            return datetime.fromisoformat(at).replace(second=0).isoformat()


class KnowsNoLeapDay(_Dated):
    """29 February is 1 March."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            return at.replace("-02-29T", "-03-01T")


class EndsMonthsAtTheThirtieth(_Dated):
    """A month has thirty days."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            return re.sub(r"-31T", "-30T", at)


class DatesFromTheEpoch(_Dated):
    """There is no time before 1970."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            return max(datetime.fromisoformat(at), datetime.fromtimestamp(0, UTC)).isoformat()


class RestoresUtc(Planted):
    """A mark has dates without their offsets, and a restore calls them UTC."""

    must = ("restored_exactly",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.db.execute("UPDATE memories SET at = substr(at, 1, 19) || '+00:00' WHERE mark = 0")


class EndsADayEarly(Planted):
    """A memory ends with the day before its last."""

    must = ("ended_early",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end - timedelta(days=1)


class EndsADayLate(Planted):
    """A memory holds for the day on which it ends."""

    must = ("ended_late",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end + timedelta(days=1)


class HoldsAtItsEnd(Planted):
    """A memory holds up to its end and at it: the comparison is off by an equals sign."""

    must = ("ended_late",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            # one millisecond: the reference leaves out what ends at the very moment
            return end + timedelta(milliseconds=1)


class EndsAMonthLate(Planted):
    """Months are counted from 0 on the way in, and from 1 on the way out."""

    must = ("ended_late",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return _shift_month(end, 1)


class EndsAYearEarly(Planted):
    """A memory ends a year too early."""

    must = ("ended_early",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return _shift_month(end, -12)


class EndsAYearLate(Planted):
    """A memory ends a year too late."""

    must = ("ended_late",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return _shift_month(end, 12)


class EndsByTheClockThere(Planted):
    """The offset of an end is dropped, and what is left is read as UTC."""

    must = ("ended_early", "ended_late")

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end.replace(tzinfo=UTC)


class EndsAtMidnight(Planted):
    """An end is a day: a memory holds until it is over."""

    must = ("ended_late",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end.replace(hour=0, minute=0, second=0) + timedelta(days=1)


class EndsOnTheFirstOfMarch(Planted):
    """What ends on 29 February ends a day later."""

    must = ("ended_late",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end + timedelta(days=(end.month, end.day) == (2, 29))


class EndsBeforeTheEndOfTheMonth(Planted):
    """A month has 28 days: what ends later ends then."""

    must = ("ended_early",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end.replace(day=min(end.day, 28))


class EndsBefore2038(Planted):
    """Seconds since 1970 are counted in 31 bits."""

    must = ("ended_early",)

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return min(end, datetime.fromtimestamp(2**31 - 1, UTC))


class ComparesClocks(Planted):
    """An end is compared with the time that is asked about by what their clocks show, whatever their zones."""

    must = ("ended_early", "ended_late")

    class Memory(_Ending):
        def moved(self, end: datetime) -> datetime:
            return end.replace(tzinfo=UTC)

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return super().recall(query, scope, k, datetime.fromisoformat(at).replace(tzinfo=UTC).isoformat())


class EndsOnTheDayAfterReopening(Planted):
    """Ends are kept as days, which a fresh process reads as their beginning."""

    must = ("ended_early",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("UPDATE memories SET expires = expires - expires % 86400 WHERE mark = 0")


class MovesTheEndOnUpdate(Planted):
    """An update gives a memory a day more than it is told."""

    must = ("ended_late",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            end = item.expires and (datetime.fromisoformat(item.expires) + timedelta(days=1)).isoformat()
            return super().update(scope, memory_id, replace(item, expires=end))


class WritesTwoDigits(_Dated):
    """A year is written with two digits, and read as one between 1969 and 2068."""

    class Memory(_Redating):
        def dated(self, at: str) -> str:
            # as POSIX reads two digits: from 69 on they are of the last century
            century = "19" if at[2:4] >= "69" else "20"
            return f"{century}{at[2:]}"


class ExpiredTakePlaces(Planted):
    """The k nearest are taken first, and what has ended is left out of them: fewer come back."""

    must = ("ended_early",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            ends = {row["id"]: row["expires"] for row in self.visible(scope)}
            # at that time nothing had ended, so what has ended by now is among the k
            hits = super().recall(query, scope, k, "1000-01-01T00:00:00+00:00")
            return [hit for hit in hits if (end := ends[hit.memory_id]) is None or end > moment(at)]
