"""How a string or a vector may stand in stored bytes: what a scan looks for, and what a receipt tells to look for."""

from __future__ import annotations

import base64
import json
import pickle
import re
from array import array
from collections.abc import Iterator

TEXT = ("utf-8", "json", "utf-16", "utf-32", "base64", "hex", "reversed", "trigrams", "another case")
"""Forms of a string, the plainest first."""
VECTOR = ("float32", "float16", "bfloat16", "int8 floats", "float64", "decimal floats", "pickled floats")
"""Forms of a vector, all with "float" in their name: little-endian numbers, decimal ones as in JSON, a pickled list."""
PACKED = ("zlib", "gzip", "deflate", "bz2", "xz", "zstd", "lz4", "snappy")
"""What is unpacked and searched in all of these forms. Streams that do not say what they are, bare `deflate`, `snappy`
and blocks of `lz4`, only as a value of a SQLite row, `deflate` also inside of ZIP."""
CASED = frozenset({"base64"})
"""Forms that are another string in another case."""
_GLUES = (b"", b" ", b",", b";", b"|", b"\n", b"\0", b'","', b'", "', b"', '")
"""What stands between the trigrams of a text where they are kept in order."""


def describe_searched() -> str:
    """The encodings that are searched, in words, for a definition."""
    return f"as {', '.join((*TEXT, *VECTOR))}, plain or in {', '.join(PACKED)}"


def encode_text(text: str) -> dict[bytes, str]:
    """Every byte string that gives the text away -> its form; where two forms are equal, the plainer one."""
    found: dict[bytes, str] = {}
    for form, data in _list_texts(text):
        if data:
            found.setdefault(data, form)
    return found


def _list_texts(text: str) -> Iterator[tuple[str, bytes]]:
    # A lone surrogate passes, as a backend may store it as it came.
    data = text.encode("utf-8", "surrogatepass")
    yield "utf-8", data
    escaped = json.dumps(text)[1:-1]
    yield "json", escaped.encode()
    # an escaped backslash is taken as a pair, so that a u behind it begins no escape
    yield "json", re.sub(r"\\(?:u....|.)", _raise_case, escaped).encode()
    yield "json", json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    for order in ("utf-16-le", "utf-16-be"):
        # Plain text without its outer zeros is the same in both orders; with them, each would be met in the other.
        yield "utf-16", text.encode(order, "surrogatepass").strip(b"\0")
        yield "utf-32", text.encode(order.replace("16", "32"), "surrogatepass").strip(b"\0")
    for before in range(3):
        yield from (("base64", each) for each in _encode_base64(data, before))
    yield "hex", data.hex().encode()
    yield "hex", data.hex().upper().encode()
    yield "reversed", text[::-1].encode("utf-8", "surrogatepass")
    for order in ("utf-16-le", "utf-16-be"):
        yield "reversed", text[::-1].encode(order, "surrogatepass").strip(b"\0")
    grams = split_trigrams(text)
    for glue in _GLUES if len(grams) > 2 else ():
        yield "trigrams", glue.join(grams)
    # the scan folds the case of ASCII letters by itself, and of no others
    if not text.isascii():
        yield from (("another case", each.encode("utf-8", "surrogatepass")) for each in (text.upper(), text.lower()))


def split_trigrams(text: str) -> list[bytes]:
    """Every three neighbouring characters."""
    return [text[at : at + 3].encode("utf-8", "surrogatepass") for at in range(len(text) - 2)]


def _raise_case(escape: re.Match[str]) -> str:
    return "\\u" + escape[0][2:].upper() if escape[0][1] == "u" else escape[0]


def _encode_base64(data: bytes, before: int) -> Iterator[bytes]:
    """Standard and URL-safe, `before` bytes after a boundary of three, without the characters that neighbours share."""
    # a character has six bits: what is cut also depends on bytes that are not known
    head = (before * 8 + 5) // 6
    tail = (before + len(data)) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(bytes(before) + data)[head:tail]


def encode_vector(data: bytes) -> dict[bytes, str]:
    """Every byte string that is the vector (little-endian float32) -> its form."""
    import numpy as np  # here: a report needs the forms of texts only

    single = np.frombuffer(data, "<f4")
    values = array("d", single.astype("f8")).tolist()
    listed = pickle.dumps(values, protocol=2)
    # a component beyond the range of float16 becomes infinite, of which numpy would warn
    with np.errstate(over="ignore"):
        half = single.astype("<f2")
    # in the pickle, the numbers stand between the mark "(" and the opcodes APPENDS and STOP
    return {
        data: "float32",
        half.tobytes(): "float16",
        single.astype("<f8").tobytes(): "float64",
        json.dumps(values)[1:-1].encode(): "decimal floats",
        json.dumps(values, separators=(",", ":"))[1:-1].encode(): "decimal floats",
        listed[listed.index(b"(") + 1 : -2]: "pickled floats",
    }
