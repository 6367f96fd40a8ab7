"""A trial that was played, as bytes: to keep for other runs, or to send to another machine.

The first line is the head, the rest a compressed body of the log and the blobs that it names. What is read from a
parcel is material: blobs must be what their names promise, and whoever asked for the log judges it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import cramjam
from pydantic import Field, ValidationError

from harness.log.blobs import Blobs, Ref, Unwritable
from harness.log.reader import Played
from harness.machine import files
from harness.machine.files import DRAFT
from harness.model.trial import Model

_TRACEBACK = re.compile(r"blobs/../([0-9a-f]{64})")


class ParcelError(Exception):
    """Bytes that cannot be believed, or a log that was edited since it was read: one line."""


class Head(Model):
    """The first line.

    Attributes:
        key: What was asked for.
        played: When, by the clock of the machine that did.
        log: Bytes of the log, which the body begins with.
        blobs: Name -> bytes, in the order of the body.
        sha256: Of the compressed body.
    """

    form: Literal[1] = 1
    key: str
    played: date
    log: int = Field(ge=1)
    blobs: Mapping[str, int]
    sha256: str


class Parcel(NamedTuple):
    """The bytes of a log, and of each blob by its name: views of what was decompressed."""

    log: memoryview
    blobs: Mapping[str, memoryview]

    def place(self, target: Path, blobs: Blobs, believe: Callable[[Path], bool] = lambda _: True) -> None:
        """Puts the blobs and then the log in place. Raises ParcelError and Unwritable.

        Args:
            target: Of the log; nothing is there before `believe` has read all of it beside that.
        """
        draft = target.with_suffix(DRAFT)
        # blobs first: a log never names one that is not in place
        for name, data in self.blobs.items():
            if blobs.put(bytes(data)).blob != name:
                raise ParcelError(f"a blob does not hold what its name {name} promises")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(self.log)
            if not believe(draft):
                raise ParcelError("it holds another trial")
            draft.replace(target)
        except OSError as error:
            raise Unwritable(error.errno, error.strerror, str(target)) from None
        finally:
            draft.unlink(missing_ok=True)


def pack(key: str, played: Played) -> bytes:
    """A trial that was just read back. Raises OSError, BlobError and ParcelError."""
    log = files.read_whole(played.path)
    if hashlib.sha256(log).hexdigest() != played.sha256:
        raise ParcelError(f"{played.path}: was edited since it was read")
    refs = {value.blob: value for event in played.events for value in vars(event).values() if isinstance(value, Ref)}
    for name in _TRACEBACK.findall(played.reason):  # of a fault of ours, which names it in words
        refs[name] = played.blobs.find(name)
    compressor, sizes = cramjam.zstd.Compressor(level=3), dict[str, int]()
    compressor.compress(log)
    for name, ref in refs.items():  # one after the other: the listings of a large store are larger than all else
        sizes[name] = 0
        for piece in played.blobs.stream(ref):
            compressor.compress(piece)
            sizes[name] += len(piece)
    body = bytes(compressor.finish())
    head = Head(
        key=key,
        # by its file, as a parcel may be made long after the play
        played=datetime.fromtimestamp(played.path.stat().st_mtime, UTC).date(),
        log=len(log),
        blobs=sizes,
        sha256=hashlib.sha256(body).hexdigest(),
    )
    return head.model_dump_json().encode() + b"\n" + body


def unpack(key: str, data: bytes) -> Parcel:
    """Raises ParcelError for what is damaged, or was packed for another key."""
    line, _, body = data.partition(b"\n")
    try:
        head = Head.model_validate_json(line)
    except ValidationError:
        raise ParcelError("its first line is not that of a trial") from None
    if head.key != key or hashlib.sha256(body).hexdigest() != head.sha256:
        raise ParcelError("it is damaged, or another trial's")
    try:
        whole = memoryview(bytes(cramjam.zstd.decompress(body)))
    except cramjam.DecompressionError:
        raise ParcelError("its body cannot be decompressed") from None
    at, parts = head.log, dict[str, memoryview]()
    for name, size in head.blobs.items():
        parts[name] = whole[at : at + size]
        at += size
    if at != len(whole):
        raise ParcelError("its parts are not as long as its first line says")
    return Parcel(whole[: head.log], parts)
