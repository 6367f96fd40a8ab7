"""The readings of a text: as it stands, unescaped, without breaks of lines, and decoded where it may be encoded.

What is found in a reading has a place in the text, so that it can be cut out there.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

_DEEPEST = 3
"""Escapes in escapes, and encodings in encodings, that are read."""
_ESCAPE = re.compile(
    r"\\u\{([0-9A-Fa-f]{1,6})\}|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|%([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{1,4});"
    r"|&#(\d{1,5});|\\([0-3][0-7]{2})|=([0-9A-F]{2})(?:(?==[0-9A-F\n])|(?<==[0-9A-F]{2}=[0-9A-F]{2}))|&(quot|apo"
    r"s|amp|lt|gt);|\\([nrt\"'\\/])|([=\\]\n[ \t]*|[\u200b-\u200d\u2060\ufeff\u00ad]|\r(?=\n)"
    r"|(?:\x1b|\^\[)\[[0-9;]{0,20}m|[\"'][ \t]{0,3}(?:\+|\.{1,2}|\\\n)\s{0,20}[\"'])"
)
_NAMED = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">", "n": "\n", "r": "\n", "t": "\t"}
_STRING = re.compile(r'"((?:[^"\\\n]|\\.){8,})"')
_LIST = re.compile(r"(?<![\w\])])\[\s{0,20}[\"'][^\[\]]{4,2000}[\"']\s{0,20}\]")
_BETWEEN = re.compile(r"\[\s{0,20}[\"']|[\"']\s{0,20},\s{0,20}[\"']|[\"']\s{0,20}\]")
"""What begins and ends a list of texts, and what stands between two."""
_GUTTER = re.compile(
    r"(?m)^[ \t]*(?:\d{1,6}(?:[\t→|:]|: ) ?|[-+>|*#\"'`] ?)(?=(?:[^\s\"']{16,}|[0-9A-Fa-fx,:%=\\ ]{1,"
    r"3200})[\"',\\]{0,3}$)"
)
"""What a listing, a patch or a quotation puts before a line that may be a part of something encoded."""
_MARGINS = (
    re.compile(r"(?m)^(?:[ \t]{0,8}\d{1,6}(?:\t|→|:[ ]?(?!\d)| ?[|│][ ]?)|[\w./-]{1,80}[:-]\d{1,6}[:-])(?=[^\n])"),
    re.compile(r"(?m)^[+>|][ \t]?(?=[^\n])"),
)
"""What a listing or a search, and a patch or a quotation, puts before each line."""
_BREAK = re.compile(r"\n[ \t]{0,40}(?:\d{1,6}(?:[\t→|:]|: ) ?)?[ \t>|│┃║*#\"'`]{0,12}(?=[\w+/=%.~\\-])")
_BESIDE = " \t\"'`+,|│┃║"
"""What may stand between a run and the end of its line."""
_NEAR = 80
"""Characters of it at the most."""
_READABLE = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f\ufffd]{10,}")
"""What of decoded bytes may be text: most of a picture is not."""
_PLAIN_NEXT = re.compile(r"[A-Z]?[a-z]*(?:[\s.,;:!?)]|\Z)")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(
    r"(?<![0-9A-Fa-f])(?:0x|\\?x)?[0-9A-Fa-f]{2}(?:[ :,;-]{0,3}?(?:0x|\\?x)?[0-9A-Fa-f]{2}){7,}[0-9A-Fa-f]?"
)
_DECIMAL = re.compile(r"(?<![\d.])\d{2,3}(?:\s?,\s{0,12}\d{2,3}){7,}(?![\d.])")
_DUMPED = re.compile(r"(?m)^[^\n]{0,12}?\b[0-9a-fA-F]{5,16}:?[ \t]{1,4}(\S{1,8}(?: {1,5}\S{1,8}){0,31})[^\n]*$")
_SPELT = re.compile(
    r"(?m)^[^\n]{0,12}?\b[0-9a-f]{6,16}((?: {3}\S| {4}| {2}\\[nrt0abfv]| [0-3][0-7]{2}){1,16})["
    r"\"',]*$"
)
"""As `od -c` has it: four columns a byte."""
_BYTES = {2: 1, 3: 1, 4: 2, 6: 2, 8: 4}
"""Characters of a cell of a dump -> bytes."""
_CELLS: tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...] = (
    (re.compile(r"(?:[0-9a-fA-F]{2}){1,2}|[0-9a-fA-F]{8}"), bytes.fromhex),
    (re.compile(r"[0-9a-fA-F]{4}|[0-9a-fA-F]{8}"), lambda cell: bytes.fromhex(cell)[::-1]),  # little-endian words
    (re.compile(r"[0-3][0-7]{2}"), lambda cell: bytes([int(cell, 8)])),
    (re.compile(r"[01][0-7]{5}"), lambda cell: int(cell, 8).to_bytes(2, "little")),
)
"""How the cells of a dump look, and what each says."""


class View(NamedTuple):
    """A reading of a text.

    Attributes:
        places: Where each character begins and ends in the text; None: it is the text, or a block of it, see `block`.
        block: What is cut out of the text if anything is found, whatever its place in the reading.
        named: Whether what stands before a value counts: not where lines were joined.
    """

    text: str
    places: tuple[list[int], list[int]] | None = None
    block: tuple[int, int] | None = None
    named: bool = True

    def locate(self, start: int, end: int) -> tuple[int, int]:
        if self.block is not None:
            return self.block
        return (self.places[0][start], self.places[1][end - 1]) if self.places else (start, end)


def read(text: str) -> Iterator[View]:
    """Every reading, the text itself first."""
    return _read(View(text), 1)


def _read(view: View, depth: int) -> Iterator[View]:
    for each in _unescape(view):
        if listed := _strip_margin(each):
            yield listed
        for bare in filter(None, (each, _strip(each))):
            yield bare
            yield from _read_decoded(bare, depth)
            if listed := _list_arguments(bare):
                yield listed
            if joined := _join(bare, words=True):
                yield from _unescape(joined)
            if joined := _join(bare, words=False):
                yield from _read_decoded(joined, depth)
        if depth < _DEEPEST and each.text[:1] in ("{", "[", '"'):  # each text of JSON, from its begin to its end
            for found in _STRING.finditer(each.text):
                yield from _read(_cut(each, *found.span(1)), depth + 1)


def _read_decoded(view: View, depth: int) -> Iterator[View]:
    for start, end, decoded in _decode(view.text):
        if not (runs := _READABLE.findall(decoded)):
            continue
        inner = View("\0".join(runs), None, view.locate(start, end))
        if depth < _DEEPEST - 1:
            yield from (each._replace(block=inner.block) for each in _read(inner, depth + 1))
        else:
            yield inner


def _cut(view: View, start: int, end: int) -> View:
    starts, ends = view.places or (range(len(view.text)), range(1, len(view.text) + 1))
    return View(view.text[start:end], ([*starts[start:end]], [*ends[start:end]]), view.block)


def _strip(view: View) -> View | None:
    """Without what stands before each line, if that is something."""
    found = [(each.start(), each.end(), "") for each in _GUTTER.finditer(view.text)]
    # the second _replace is the tuple's own method
    return _replace(view, found)._replace(named=False) if len(found) > 1 else None


def _strip_margin(view: View) -> View | None:
    """Without what stands before most lines, so that several of them are read together."""
    lines = sum(map(bool, view.text.split("\n")))
    for margin in _MARGINS:
        found = [(each.start(), each.end(), "") for each in margin.finditer(view.text)]
        if len(found) * 2 > lines:
            return _replace(view, found)
    return None


def _unescape(view: View) -> Iterator[View]:
    for _ in range(_DEEPEST + 1):
        yield view
        pieces = list(_ESCAPE.finditer(view.text))
        if not pieces:
            return
        view = _replace(view, [(found.start(), found.end(), _tell(found)) for found in pieces])


def _tell(found: re.Match[str]) -> str:
    kind, inner = found.lastindex or 0, found[found.lastindex or 0]
    if kind in (9, 10):
        return _NAMED.get(inner, inner)
    if kind == 11:
        return ""
    code = int(inner, {6: 10, 7: 8}.get(kind, 16))
    # half of a character, or none at all: no text may hold it
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else found[0][:1]


def _replace(view: View, pieces: list[tuple[int, int, str]]) -> View:
    """A reading with pieces of it replaced, each by one character or none."""
    text = view.text
    starts, ends = view.places or (range(len(text)), range(1, len(text) + 1))
    texts, begins, stops, at = list[str](), list[int](), list[int](), 0
    for start, end, instead in [*pieces, (len(text), len(text), "")]:
        texts += [text[at:start], instead]
        begins += starts[at:start]
        stops += ends[at:start]
        if instead:
            begins.append(starts[start])
            stops.append(ends[end - 1])
        at = end
    return View("".join(texts), (begins, stops), view.block, view.named)


def _list_arguments(view: View) -> View | None:
    """With each list of texts as the words of a command, if there is one."""
    lists = ([*_BETWEEN.finditer(view.text, *parts.span())] for parts in _LIST.finditer(view.text))
    parts = [each for listed in lists if len(listed) > 2 for each in listed]
    pieces = [(each.start(), each.end(), " " if "," in each[0] else "") for each in parts]
    return _replace(view, pieces) if pieces else None


def _join(view: View, *, words: bool) -> View | None:
    """Without the breaks inside of what may be one long run.

    Args:
        words: Breaks stay before a plain word, which begins a sentence's next line.
    """
    text, breaks = view.text, list[tuple[int, int, str]]()
    for found in _BREAK.finditer(text):
        near = max(0, found.start() - _NEAR)
        before = text[near : found.start()].rstrip(_BESIDE)
        if before and (before[-1].isalnum() or before[-1] in "_+/=%.~\\-"):
            start = near + len(before)
            if not (words and _PLAIN_NEXT.match(text, found.end())):
                breaks.append((start, found.end(), ""))
    return _replace(view, breaks)._replace(named=False) if breaks else None


def _decode(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of a text that may be encoded, with each of what they may say."""
    for found in _BASE64.finditer(text):
        yield from ((*found.span(), decoded) for decoded in _decode_base64(found[0]))
    for found in _HEX.finditer(text):
        digits = re.sub(r"0x|[^0-9A-Fa-f]", "", found[0])
        # a line of an odd width may begin in the middle of a byte
        for run in (digits, digits[1:]):
            yield (*found.span(), bytes.fromhex(run[: len(run) // 2 * 2]).decode("utf-8", "replace"))
    for found in _DECIMAL.finditer(text):
        codes = [int(each) for each in found[0].split(",")]
        if max(codes) < 256:
            yield (*found.span(), bytes(codes).decode("utf-8", "replace"))
    yield from _read_dumps(text)


def _decode_base64(run: str) -> Iterator[str]:
    """At each place of a group of four at which it may begin: a word may stand before it."""
    letters = run.replace("-", "+").replace("_", "/").rstrip("=")
    for skipped in range(4):
        rest = letters[skipped:]
        # a single letter in the last group stands for no byte, and is refused
        rest = rest[: len(rest) - (len(rest) % 4 == 1)]
        try:
            data = base64.b64decode(rest + "=" * (-len(rest) % 4))
        except (ValueError, binascii.Error):
            continue
        yield data.decode("utf-8", "replace")
        # Windows encodes commands in UTF-16, in which every second byte of plain text is 0
        if data[1::2].count(0) > len(data) // 4:
            yield data.decode("utf-16-le", "replace")


def _read_dumps(text: str) -> Iterator[tuple[int, int, str]]:
    """Blocks of lines that each have an address and bytes, as xxd, hexdump and od write them."""
    for block in _list_blocks(_DUMPED, text):
        for cell, decode in _CELLS:
            content = b"".join(decode(each) for line in block for each in _list_cells(line[1], cell))
            if len(content) > 7:
                yield block[0].start(), block[-1].end(), content.decode("utf-8", "replace")
    for block in _list_blocks(_SPELT, text):
        columns = (line[1][at : at + 4] for line in block for at in range(0, len(line[1]), 4))
        yield block[0].start(), block[-1].end(), "".join(each.strip()[:1] or " " for each in columns)


def _list_blocks(pattern: re.Pattern[str], text: str) -> Iterator[list[re.Match[str]]]:
    """Neighbouring lines."""
    lines = list(pattern.finditer(text))
    cuts = [at for at, (one, other) in enumerate(pairwise(lines), 1) if one.end() + 1 != other.start()]
    return (lines[begin:end] for begin, end in pairwise([0, *cuts, len(lines)]) if begin < end)


def _list_cells(line: str, cell: re.Pattern[str]) -> list[str]:
    """The first 16 bytes of a line; behind its cells the same stands as text."""
    cells, size = list[str](), 0
    for each in (each.strip("\"',") for each in line.split()):
        # what is no cell counts as more than a line holds, and ends it
        size += _BYTES.get(len(each), 99)
        if not cell.fullmatch(each) or size > 16 or (cells and len(each) > len(cells[0])):
            break
        cells.append(each)
    return cells
