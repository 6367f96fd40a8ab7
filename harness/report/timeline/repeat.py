"""The commands by which a reviewer plays a trial again, and sees with his own eyes what a scan saw."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.adapter import Layer
from harness.compare.rows import GOLD
from harness.log.folder import RunFile, find_option
from harness.log.parts import Sighting
from harness.model.drill import DrillTrial
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, SCRIPTED, Selection, Trial, split_reader
from harness.report.words import make_visible
from harness.text import encodings

_NAME = r'\w+|"(?:[^"]|"")*"'
_ROWS = re.compile(rf"rows ({_NAME})\.({_NAME})")
_NUMBERS = {"float32": "f4", "float64": "f8", "float16": "x2", "bfloat16": "x2", "int8 floats": "d1"}
"""How od shows the forms of a vector."""
# As zlib's `wbits`: with a head of its own, with that of gzip, with none.
_BITS = {"zlib": 15, "gzip": 31, "deflate": -15}
_UNPACKERS = {
    **{name: f"__import__('zlib').decompressobj({bits})" for name, bits in _BITS.items()},
    "bz2": "__import__('bz2').BZ2Decompressor()",
    "xz": "__import__('lzma').LZMADecompressor()",
    # what these import is installed where coldwarm is
    "lz4": "__import__('lz4.frame').frame.LZ4FrameDecompressor()",
    "zstd": "__import__('harness.scan.packed').scan.packed.zstd.ZstdDecompressor()",
    "snappy": "__import__('harness.scan.unframed').scan.unframed.Snappy()",
}
"""Packing -> what Python unpacks it with."""
SHOWN = 64
"""Bytes of a vector that are shown."""
_MOST = 4096


@dataclass(frozen=True)
class Replay:
    """What a run was played with, from which each of its trials gets the command that plays it again.

    A command holds every condition that the id of its trial rests on: it plans that trial, and keeps its store.

    Attributes:
        suite: The options of a suite of one's own, as the run was given them.
    """

    selection: Selection
    suite: tuple[str, ...] = ()

    @classmethod
    def of(cls, file: RunFile) -> Replay:
        """Of a run as its `run.json` describes it."""
        options = {"--suite": ("--suite", "--tasks"), "--fixtures": ("--fixtures",)}
        found = ((option, find_option(file.command, *names)) for option, names in options.items())
        return cls(file.selection, tuple(word for option, path in found if path for word in (option, path)))

    def command(self, trial: Trial | DrillTrial) -> str:
        """One line for a shell. PYTHON stands for an interpreter that a backend has to itself, API_KEY for a secret of
        that name: neither is kept."""
        conditions = self._drill(trial) if isinstance(trial, DrillTrial) else self._story(trial)
        words = ["coldwarm", "run", *conditions, *self._usual(trial), "--trial", trial.id, "--keep"]
        # shlex leaves control characters as they are, and a terminal would heed them.
        return shlex.join(make_visible(word, _MOST) for word in words)

    def _story(self, trial: Trial) -> Iterator[str]:
        yield from (*self._backend(trial.backend), "-s", self._scenario(trial.scenario))
        if trial.write_policy:
            yield from ("-n", str(trial.noise), "--write", trial.write_policy)
        yield from ("-d", "none")
        if trial.budget != DEFAULT_BUDGET:
            yield from ("--budget", str(trial.budget))
        if trial.undated:
            yield "--undated"
        if trial.feed != "facts":
            yield from ("--feed", trial.feed)
        if trial.clock != "wall":
            yield from ("--clock", trial.clock)
        if trial.rounds > 1:
            yield from ("--rounds", str(trial.rounds))
        (reader, reading), (writer, writing) = split_reader(trial.reader), split_reader(trial.writer)
        for option, name in (("--reader", reader), ("--writer", writer)):
            if name != SCRIPTED:
                yield from (option, name)
        if model := reading or writing:
            yield from ("--model", model)
        yield from self.suite

    def _drill(self, trial: DrillTrial) -> Iterator[str]:
        for label in filter(None, (trial.older, trial.backend)):  # the one that hands its store over comes first
            yield from self._backend(label)
        yield from ("-s", "none", "-d", trial.drill, "--drill-size", str(trial.size))

    def _usual(self, trial: Trial | DrillTrial) -> Iterator[str]:
        if trial.seed != 1:
            yield from ("--seed", str(trial.seed))
        if trial.k != DEFAULT_K:
            yield from ("-k", str(trial.k))
        if chat := self.selection.chat:
            yield from ("--chat", (chat.folder or "") if chat.answers == "recordings" else chat.answers)

    def _backend(self, label: str | None) -> tuple[str, str]:
        """The cold arm and the controls with gold come along with whatever is played."""
        if label in (None, *GOLD):
            return "-b", "none"
        argument = next((spec.argument for spec in self.selection.backends if spec.label == label), label)
        return "-b", argument or "none"

    def _scenario(self, name: str) -> str:
        """Its file, if the run was given one: the suite does not know it."""
        files = (each for each in self.selection.scenarios if each.endswith(".toml"))
        return next((each for each in files if Path(each).stem == name.rpartition("/")[2]), name)


def repeat(layer: Layer, sighting: Sighting, canary: str, store: str = ".") -> str:
    """One line for a shell, with the store's folder at `store`; a comment that says why, where no command shows it.

    Of a string every offset in the file, or in what was unpacked, or the number of rows that hold it. Of a vector
    (`canary` does not matter) its first bytes as numbers, or those of the stream that it was packed in.
    """
    file = str(PurePosixPath(store, make_visible(sighting.path, _MOST)))
    form, _, packing = sighting.form.partition(" in ")
    rows = _ROWS.fullmatch(sighting.place) if layer.format == "sqlite" else None
    if form in encodings.VECTOR:
        # a vector in a row begins nowhere in the file if it is packed or spread over pages, as 0 says
        if rows and (packing or not sighting.offset):
            return "# no command: the vector is within a value of a row, and nowhere in one piece in the file"
        if packing:
            return f"{_unpack(file, sighting.offset, packing)} | od -A d -t x1 -N {SHOWN}"
        kind = _NUMBERS.get(form, "c")
        return f"od -A d -t {kind} -j {sighting.offset} -N {SHOWN} -- {shlex.quote(file)}"
    if form == "trigrams":
        return "# no command: rows of three characters, each a part of the text, add up to it"
    needles = [needle for needle, each in encodings.encode_text(canary).items() if each == form]
    grep = _grep(needles) if needles else f"grep -aobiF -e {shlex.quote(canary)}"
    if packing:
        unpacked = _unpack_rows(file, rows[1], rows[2], packing) if rows else _unpack(file, sighting.offset, packing)
        return f"{unpacked} | {grep}"
    return _select(file, rows[1], rows[2], needles) if rows and needles else f"{grep} -- {shlex.quote(file)}"


def _grep(needles: list[bytes]) -> str:
    if all(re.fullmatch(rb"[ -~]+", needle) for needle in needles):
        return f"grep -aobF {' '.join(f'-e {shlex.quote(needle.decode())}' for needle in needles)}"
    pattern = "|".join("".join(f"\\x{byte:02x}" for byte in needle) for needle in needles)
    # In the C locale grep reads bytes, not characters.
    return f"LC_ALL=C grep -aobP {shlex.quote(pattern)}"


def _unpack(file: str, offset: int, packing: str) -> str:
    """What a stream at an offset unpacks to."""
    unpacker = _UNPACKERS.get(packing, _UNPACKERS["zlib"])
    script = f"import sys; sys.stdout.buffer.write({unpacker}.decompress(sys.stdin.buffer.read()))"
    # tail counts bytes from 1.
    return f"tail -c +{offset + 1} -- {shlex.quote(file)} | python3 -c {shlex.quote(script)}"


def _unpack_rows(file: str, table: str, column: str, packing: str) -> str:
    """What the values of a column unpack to, one after the other."""
    script = (
        "import sqlite3, sys; from harness.scan.packed import unpack_value; "
        "rows = sqlite3.connect(sys.argv[1], uri=True).execute(sys.argv[2]); "
        f"[sys.stdout.buffer.write(unpack_value(value or b'', {packing!r})) for (value,) in rows]"
    )
    select = f"SELECT CAST({_name(column)} AS BLOB) FROM {_name(table)}"  # noqa: S608  for a person to run
    return shlex.join(["python3", "-c", script, _locate(file), select])


def _select(file: str, table: str, column: str, needles: list[bytes]) -> str:
    # `instr` compares bytes only if both are blobs.
    blob = f"CAST({_name(column)} AS BLOB)"
    where = " OR ".join(f"instr({blob}, {_quote_literal(needle)})" for needle in needles)
    select = f"SELECT count(*) FROM {_name(table)} WHERE {where}"  # noqa: S608  for a person to run
    return shlex.join(["sqlite3", _locate(file), select])


def _name(name: str) -> str:
    # A plain name may be a word of SQL, such as `order`.
    return make_visible(name if name.startswith('"') else f'"{name}"', _MOST)


def _locate(file: str) -> str:
    """The log beside a database belongs to its rows, so the file is read only, but not as if nothing lay beside it."""
    # These three are special in a URI of SQLite.
    return "file:" + "".join(f"%{ord(char):02x}" if char in "%?#" else char for char in file) + "?mode=ro"


def _quote_literal(needle: bytes) -> str:
    # Printable ASCII without the apostrophe, which would end the literal.
    if re.fullmatch(rb"[ -&(-~]+", needle):
        return f"CAST('{needle.decode()}' AS BLOB)"
    return f"X'{needle.hex()}'"
