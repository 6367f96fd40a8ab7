"""The secrets that stand under a heading: in tables of a text, of a database, of HTML, and in lists of values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from harness.secrets.names import Name, tell_kind
from harness.secrets.values import is_mixed, is_odd, is_plain

_WIDEST, _LONGEST = 1000, 500
"""Characters of a heading, and rows under one."""
_LOGIN = re.compile(r"(?i)[\"'`* ]*(?:user(?:[ _]?name)?|login|e-?mail|account|name|host|service|id|key)[\"'`* ]*")
_NAME = re.compile(r"[A-Za-z][\w.-]{0,30}(?: [\w-]{1,20}){0,2}")
_RULE = re.compile(r"[-+|:=\s─-╿]+")
"""A line of a table that holds no values."""
_QUOTES = " \t\"'`*"
_SEPARATORS = tuple(re.compile(each) for each in (r"[|│┃║]", r"\t", r",", r";", r"[ ]{2,}"))
_INSERT = re.compile(r"(?i)\binsert into [^\s(]{1,100} ?\(([^()\n]{4,1000})\)\s{0,20}values\s{0,20}")
_VALUES = re.compile(r"\(((?:[^()'\"]|'(?:[^'\\]|\\.|''){0,2000}'|\"[^\"]{0,2000}\"){1,5000})\)\s{0,20},?\s{0,20}")
_VALUE = re.compile(r"'((?:[^'\\]|\\.|''){0,2000})'|\"([^\"]{0,2000})\"|[^,\s][^,]{0,200}")
_DOCUMENT = re.compile(r"(?m)^[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?Secret\b")
_DATA = re.compile(
    r"(?m)^([ \t]*)[\"']?(?:data|stringData)[\"']?:[ \t{]*\n((?:\1[ \t]+\S[^\n]{0,9000}(?:\n|\Z)){1,100})"
)
_DATUM = re.compile(r"(?m)^[ \t]+[\"']?[\w.-]{1,100}[\"']?:[ \t]+[\"']?([^\s\"'|>{][^\s\"']{3,9000})[\"',]{0,2}$")


class _Cell(NamedTuple):
    text: str
    start: int


def find(text: str, lower: str, named: Iterable[Name]) -> Iterator[tuple[int, int]]:
    """Where the values of columns stand that are named like a secret."""
    until = 0
    for name in named:
        start = text.rfind("\n", max(0, name.begin - _WIDEST), name.begin) + 1
        # a start of 0 is that of the first line, or of one whose begin is out of reach
        # a name before `until` stands in a line that was read as a heading, or in a row under it: it heads no table
        if name.kind and name.begin >= until and (start or name.begin < _WIDEST):
            places, until = _read_table(text, start, _find_end(text, name.end))
            yield from places
    yield from _find_inserted(text) if "insert into" in lower else ()
    yield from _find_kept(text) if "kind" in lower else ()


def _find_end(text: str, at: int) -> int:
    end = text.find("\n", at, at + _WIDEST)
    return end if end >= 0 else min(len(text), at + _WIDEST)


def _read_table(text: str, start: int, end: int) -> tuple[list[tuple[int, int]], int]:
    """The secrets under a line that may be a heading, and where the table ends."""
    for separator in _SEPARATORS:
        heading = _split(text, start, end, separator)
        if len(heading) < 2 or not all(_NAME.fullmatch(cell.text) for cell in heading):
            continue
        kinds = [tell_kind(cell.text) for cell in heading]
        login = any(_LOGIN.fullmatch(cell.text) for cell in heading)
        rows = list(_list_rows(text, end + 1, separator, len(heading)))
        cells = [(kind, cell) for row in rows for kind, cell in zip(kinds, row, strict=True)]
        secrets = [cell for kind, cell in cells if kind and _is_secret(cell.text, kind, login=login)]
        return [(cell.start, cell.start + len(cell.text)) for cell in secrets], rows[-1][-1].start if rows else end
    return [], end


def _list_rows(text: str, at: int, separator: re.Pattern[str], cells: int) -> Iterator[list[_Cell]]:
    """Rows of a table, from its begin until one has other columns."""
    for _ in range(_LONGEST):
        end = _find_end(text, at)
        if end <= at:
            return
        if not _RULE.fullmatch(text, at, end):
            row = _split(text, at, end, separator)
            if len(row) != cells:
                return
            yield row
        at = end + 1


def _split(text: str, start: int, end: int, separator: re.Pattern[str]) -> list[_Cell]:
    """The cells of a line without what is around them; one at its edge may be empty and is none."""
    cells, at = list[_Cell](), start
    for found in [*separator.finditer(text, start, end), None]:
        stop = found.start() if found else end
        inner = text[at:stop].lstrip(_QUOTES)
        cells.append(_Cell(inner.rstrip(_QUOTES), stop - len(inner)))
        at = found.end() if found else end
    if cells and not cells[0].text:
        cells = cells[1:]
    return cells[:-1] if cells and not cells[-1].text else cells


def _is_secret(value: str, kind: str, *, login: bool) -> bool:
    """Whether a cell under a secret's name is one.

    Args:
        login: Whether another column says whose it is, so that a word may be a password.
    """
    if len(value) < 4 or " " in value or is_plain(value):
        return False
    if kind != "password":
        return is_odd(value)
    return is_mixed(value) or (login and (len(value) > 5 or not value.isalpha()))


def _find_inserted(text: str) -> Iterator[tuple[int, int]]:
    """In the rows of an INSERT."""
    for heading in _INSERT.finditer(text):
        kinds = [tell_kind(each.strip(" `\"'[]")) for each in heading[1].split(",")]
        at = heading.end()
        while any(kinds) and (row := _VALUES.match(text, at)):
            at = row.end()
            # not strict, as a row may hold more or fewer values than its heading
            for kind, value in zip(kinds, _VALUE.finditer(text, *row.span(1)), strict=False):
                group = value.lastindex or 0
                if kind and group and len(value[group]) > 3 and not is_plain(value[group]):
                    yield value.span(group)


def _find_kept(text: str) -> Iterator[tuple[int, int]]:
    """In a Secret of Kubernetes, where every value is one."""
    until = 0
    for document in _DOCUMENT.finditer(text):
        start = max(
            until, text.rfind("\n---", max(0, document.start() - 20_000), document.start()), document.start() - 20_000
        )
        end = text.find("\n---", document.end(), document.end() + 20_000)
        end = until = end if end >= 0 else min(len(text), document.end() + 20_000)
        for data in _DATA.finditer(text, max(0, start), end):
            yield from (found.span(1) for found in _DATUM.finditer(text, *data.span(2)) if not is_plain(found[1]))
