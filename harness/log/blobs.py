"""Content-addressed payloads: a blob is renamed into place before any event names it, and checked when it is read."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import Field, TypeAdapter

from harness.log.redaction import Redactor
from harness.machine import files
from harness.model.trial import Model

T = TypeVar("T")
INLINE = 4096
"""Payloads up to this many bytes stay in the event."""
REMEMBERED = 2_000_000
"""Bytes of blobs whose values are kept: what all trials of a story with some hundred memories are told."""


class BlobError(Exception):
    """A blob that is missing, or whose bytes are not those that its name promises."""


class Unwritable(OSError):  # noqa: N818  what cannot be done, not whose error it is
    """The folder of the run cannot be written, as on a full disk: that ends the run, not a trial."""


class Ref(Model):
    """The name of a blob: sha256 of its bytes."""

    blob: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int


class Blobs:
    """A folder of blobs, shared by all logs of a run. Safe for concurrent writers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.redactor = Redactor()
        """Keeps the secrets of the run out of what is written here and in its logs."""
        self._seen: set[str] = set()
        self._sound: set[str] = set()
        self._values: OrderedDict[tuple[str, TypeAdapter[Any]], tuple[Any, int]] = OrderedDict()
        self._kept, self._lock = 0, threading.Lock()

    def put(self, data: bytes) -> Ref:
        """Raises Unwritable."""
        # redacted before it is hashed: the name is that of the bytes on disk
        data = self.redactor.data(data)
        name = hashlib.sha256(data).hexdigest()
        if name not in self._seen:
            path = self._path(name)
            try:
                if not _is_whole(path, data):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    # processes and threads that put the same blob at once have a draft each
                    draft = path.with_name(f"{name}.{os.getpid()}.{threading.get_ident()}.part")
                    try:
                        draft.write_bytes(data)
                        draft.replace(path)
                    finally:
                        draft.unlink(missing_ok=True)
            except OSError as error:
                raise Unwritable(error.errno, error.strerror, str(path)) from None
            self._seen.add(name)
        return Ref(blob=name, bytes=len(data))

    def find(self, name: str) -> Ref:
        """A blob that nothing but its name is known of. Raises BlobError."""
        path = self._path(name)
        try:
            return Ref(blob=name, bytes=path.stat().st_size)
        except OSError as error:
            raise BlobError(f"blob {name} below {self.root} cannot be read: {error.strerror}") from None

    def get(self, ref: Ref) -> bytes:
        return b"".join(self.stream(ref))

    def stream(self, ref: Ref) -> Iterator[bytes]:
        """The bytes of a blob piece by piece. Raises BlobError, after the last piece if they are not those promised;
        what is longer is not read to its end."""
        found, size = hashlib.sha256(), 0
        try:
            for piece in files.read_pieces(self._path(ref.blob)):
                size += len(piece)
                if size > ref.bytes:
                    break
                found.update(piece)
                yield piece
        except FileNotFoundError:
            raise BlobError(f"blob {ref.blob} is missing below {self.root}") from None
        except OSError as error:
            raise BlobError(f"blob {ref.blob} below {self.root} cannot be read: {error.strerror}") from None
        if found.hexdigest() != ref.blob:
            raise BlobError(f"blob {ref.blob} below {self.root} does not hold the bytes that its name promises")

    def check(self, ref: Ref) -> None:
        """Checks that a blob is there and whole; looked at once. Raises BlobError."""
        if ref.blob not in self._sound:
            for _ in self.stream(ref):
                pass
            self._sound.add(ref.blob)

    def value(self, ref: Ref, kind: TypeAdapter[T]) -> T:
        """What the JSON in it says; not to be changed, as the next who asks gets the same. Raises as `get`, and
        ValidationError."""
        # equal bytes are one blob, whatever type of value asks for them
        key = ref.blob, kind
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast("T", self._values[key][0])
        data = self.get(ref)
        found = kind.validate_json(data)
        with self._lock:
            # it was read without the lock, so another thread may have kept it meanwhile
            if key not in self._values and len(data) <= REMEMBERED:
                self._values[key] = found, len(data)
                self._kept += len(data)
                while self._kept > REMEMBERED:
                    _, (_, size) = self._values.popitem(last=False)
                    self._kept -= size
        return found

    def text(self, ref: Ref) -> str:
        return self.get(ref).decode("utf-8", "replace")

    def _path(self, name: str) -> Path:
        return self.root / name[:2] / name


def _is_whole(path: Path, data: bytes) -> bool:
    """Whether a blob is there, and whole: who can write into the folder may have put something else in its place."""
    try:
        # the size first, as what stands there may be far larger than the blob
        return path.lstat().st_size == len(data) and files.read_whole(path) == data
    except OSError:
        return False


def pack(blobs: Blobs, kind: TypeAdapter[T], value: T) -> T | Ref:
    """The value itself if its JSON is small, else the blob that holds it."""
    data = kind.dump_json(value)
    return value if len(data) <= INLINE else blobs.put(data)


def unpack(blobs: Blobs, kind: TypeAdapter[T], value: Any) -> T:
    return blobs.value(value, kind) if isinstance(value, Ref) else value
