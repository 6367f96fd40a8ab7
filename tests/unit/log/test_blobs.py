"""Blobs: in place before they are named, checked when they are read."""

from __future__ import annotations

import errno
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from harness.log.blobs import INLINE, BlobError, Blobs, Ref, Unwritable, pack, unpack


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=5000))
def test_bytes_come_back(tmp_path: Path, data: bytes) -> None:
    blobs = Blobs(tmp_path)
    ref = blobs.put(data)
    assert (ref.blob, ref.bytes) == (hashlib.sha256(data).hexdigest(), len(data))
    assert blobs.get(ref) == data == Blobs(tmp_path).get(ref)
    assert blobs.text(ref) == data.decode("utf-8", "replace")


def test_equal_bytes_are_kept_once_and_never_written_again(tmp_path: Path) -> None:
    first = Blobs(tmp_path).put(b"a diff")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    before = file.stat()
    assert Blobs(tmp_path).put(b"a diff") == first
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("data", [b"", b"x", b"y" * 300_000])
def test_many_writers_of_equal_bytes_do_not_disturb_each_other(tmp_path: Path, data: bytes) -> None:
    """The very same object from all threads: an empty diff is one, as the empty bytes are a singleton."""
    start, failed = threading.Barrier(8), []

    def put(number: int) -> None:
        blobs = Blobs(tmp_path / str(number))
        stores = [blobs, *(Blobs(tmp_path / "shared") for _ in range(20))]
        start.wait()
        for store in stores:
            try:
                store.put(data)
            except OSError as error:
                failed.append(error)

    for turn in range(5):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(8)))
        assert not failed, turn
        assert Blobs(tmp_path / "shared").get(Blobs(tmp_path / "other").put(data)) == data
        assert not list(tmp_path.rglob("*.part"))
        for path in (tmp_path / "shared").rglob("*"):
            if path.is_file():
                path.unlink()


def test_a_kill_in_mid_write_leaves_no_half_blob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(tmp_path)
    whole = Path.write_bytes

    def torn(self: Path, data: bytes) -> int:
        whole(self, data[:3])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", torn)
        with pytest.raises(KeyboardInterrupt):
            blobs.put(b"a long diff")
    ref = Ref(blob=hashlib.sha256(b"a long diff").hexdigest(), bytes=11)
    with pytest.raises(BlobError, match="is missing"):
        blobs.get(ref)
    assert blobs.put(b"a long diff") == ref and blobs.get(ref) == b"a long diff"


def test_missing_flipped_and_unreadable_blobs_are_one_line(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    ref = blobs.put(b"a diff")
    file = tmp_path / ref.blob[:2] / ref.blob
    for damage, words in (
        (lambda: file.write_bytes(b"A diff"), "does not hold the bytes"),
        (lambda: file.write_bytes(b""), "does not hold the bytes"),
        (file.unlink, "is missing below"),
        (file.mkdir, "cannot be read: "),
    ):
        damage()
        with pytest.raises(BlobError) as caught:
            blobs.get(ref)
        assert words in str(caught.value) and ref.blob in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "\x00", "A" * 64, "0" * 63, "0" * 65, f"{'0' * 64}\n"])
def test_a_name_that_is_no_digest_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        Ref(blob=name, bytes=0)


def test_small_payloads_stay_in_the_event(tmp_path: Path) -> None:
    kind = TypeAdapter(list[str])
    small, large = ["x" * (INLINE - 4)], ["x" * (INLINE - 3)]
    blobs = Blobs(tmp_path)
    assert pack(blobs, kind, small) is small and not list(tmp_path.iterdir())
    ref = pack(blobs, kind, large)
    assert isinstance(ref, Ref)
    assert (unpack(blobs, kind, small), unpack(blobs, kind, ref)) == (small, large)


def test_what_is_longer_than_it_was_is_not_read_to_its_end(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    ref = blobs.put(b"text" * INLINE)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    with file.open("r+b") as whole:
        whole.truncate(2**40)
    with pytest.raises(BlobError, match="does not hold"):
        blobs.check(ref)


def test_a_full_disk_keeps_no_half_blob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_bytes(path: Path, data: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(Unwritable, match="full"):
        Blobs(tmp_path).put(b"a diff")
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
