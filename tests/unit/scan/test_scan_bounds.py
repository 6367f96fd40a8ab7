"""What a scan reads, unpacks and says at the very edge of its bounds."""

from __future__ import annotations

import errno
import os
import random
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.scan import disk, packed, raw
from harness.scan.disk import Needles, Scan, Survey, scan, scan_layers
from harness.scan.needles import Match, compile_needles
from harness.scan.packed import Unpacking

PIN = "cw0123456789abcdef0123"
NEEDLES = Needles({"pin": PIN})


def look(root: Path, name: str = ".") -> Scan:
    return scan(root, Layer("all", name, "file"), NEEDLES)


def write_holes(monkeypatch: pytest.MonkeyPatch, *extents: tuple[int, int]) -> None:
    """As on a file system that tells where something was written."""
    monkeypatch.setattr(raw, "find_written", lambda file, size: iter(extents))


# --- files ---


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    seen = [str(path.relative_to(tmp_path)) for path in raw.list_files(tmp_path, lambda path, why: None)]
    assert seen == ["a", "b/1", "b/2", "c"]
    spared = [path.name for path in raw.list_files(tmp_path, lambda path, why: None, {tmp_path / "a", tmp_path / "b"})]
    assert spared == ["c"]


def test_files_beyond_the_bound_are_not_searched_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "FILES", 2)
    for name in "ab":
        (tmp_path / name).write_text(PIN)
    assert (look(tmp_path).files, look(tmp_path).problem) == (2, None)
    for name in "cd":
        (tmp_path / name).write_text(PIN)
    found = look(tmp_path)
    assert (found.files, found.problem) == (2, "only the first 2 files were searched")


def test_bytes_beyond_the_bound_are_not_searched_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST", 50)
    (tmp_path / "a").write_bytes(bytes(20))
    (tmp_path / "b").write_bytes(bytes(8) + PIN.encode())
    assert (look(tmp_path).problem, len(look(tmp_path).sightings)) == (None, 1)
    (tmp_path / "c").write_bytes(PIN.encode())
    found = look(tmp_path)
    assert found.problem == "'c' was searched in its first 0 of 22 bytes only" and len(found.sightings) == 1
    (tmp_path / "d").write_bytes(b"d")
    assert (look(tmp_path).problem or "").endswith("'d' was searched in its first 0 of 1 bytes only")


def test_holes_are_no_part_of_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST", 50)
    (tmp_path / "a").write_bytes(bytes(400) + PIN.encode() + bytes(100))
    write_holes(monkeypatch, (0, 10), (400, 430), (440, 450))
    assert (look(tmp_path).problem, [each.offset for each in look(tmp_path).sightings]) == (None, [400])
    write_holes(monkeypatch, (0, 20), (400, 431))
    assert look(tmp_path).problem == "'a' was searched in its first 430 of 522 bytes only"


def test_what_could_not_be_read_has_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text(PIN)

    def broken(file: int, size: int, at: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    found = look(tmp_path)
    assert (found.files, found.bytes) == (0, 0) and found.problem == "'a' cannot be read: Input/output error"


def test_what_vanishes_before_its_turn_was_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c").write_text(PIN)
    monkeypatch.setattr(os, "listdir", lambda path: ["b", "c"])
    assert (look(tmp_path).problem, [each.path for each in look(tmp_path).sightings]) == (None, ["c"])


def test_what_a_layer_could_not_look_at_is_not_said_again_of_the_rest(tmp_path: Path) -> None:
    (tmp_path / "layer").mkdir()
    os.mkfifo(tmp_path / "layer/pipe")
    survey = Survey(tmp_path, tmp_path, NEEDLES)
    assert survey.layer(Layer("one", "layer", "file")).problem and survey.rest().problem is None


def test_the_sixth_problem_is_counted(tmp_path: Path) -> None:
    for at in range(5):
        os.mkfifo(tmp_path / f"pipe{at}")
    assert (look(tmp_path).problem or "").endswith("pipe4 is not a regular file and was not followed")
    os.mkfifo(tmp_path / "pipe5")
    assert (look(tmp_path).problem or "").endswith("pipe4 is not a regular file and was not followed; and 1 more")


def test_a_database_that_is_not_there_is_not_called_another_format(tmp_path: Path) -> None:
    (tmp_path / "other").write_text(PIN)
    assert scan(tmp_path, Layer("db", "nowhere.db", "sqlite"), NEEDLES).problem == "nowhere.db holds no file"


def test_what_no_layer_covers_is_looked_at_last(tmp_path: Path) -> None:
    for name in ("layer", "beside"):
        (tmp_path / name).write_text(PIN)
    layer = Layer("one", "layer", "file")
    (one, rest) = scan_layers(Survey(tmp_path, tmp_path, NEEDLES), [layer])
    assert one[:2] == (layer, True) and [each.path for each in one[2].sightings] == ["layer"]
    assert rest[:2] == (disk.UNDECLARED, False) and [each.path for each in rest[2].sightings] == ["beside"]


def test_what_an_adapter_may_not_name_is_said_in_the_words_of_the_system(tmp_path: Path) -> None:
    assert look(tmp_path, "a\0b").problem == "'a\\x00b' cannot be read: embedded null byte"


# --- bytes ---


def test_no_byte_behind_the_size_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grows meanwhile is searched as it was: what is there when it is opened counts."""
    (tmp_path / "a").write_bytes(
        b"-" * 9 + PIN.encode() + zlib.compress(random.Random(1).randbytes(500) + PIN.encode())
    )
    with (tmp_path / "a").open("rb") as file:
        assert [each.start for each in raw.search(file.fileno(), 31, NEEDLES)] == [9]
        assert not list(raw.search(file.fileno(), 30, NEEDLES))
        monkeypatch.setattr(raw, "PIECE", 8)
        assert not list(raw.search(file.fileno(), 30, NEEDLES))
        monkeypatch.undo()
        size = os.fstat(file.fileno()).st_size
        assert len(list(raw.find_unpacked(file.fileno(), size, Unpacking(NEEDLES)))) == 1
        assert not list(raw.find_unpacked(file.fileno(), size - 30, Unpacking(NEEDLES)))


def test_pieces_begin_where_something_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "PIECE", 8)
    (tmp_path / "a").write_bytes(bytes(100) + PIN.encode() + bytes(3))
    write_holes(monkeypatch, (99, 125))
    with (tmp_path / "a").open("rb") as file:
        assert [each.start for each in raw.search(file.fileno(), 125, NEEDLES)] == [100]
        assert list(raw._find_pieces(file.fileno(), 125)) == [96, 104, 112, 120]


@pytest.mark.parametrize(
    ("data", "holes", "size", "written"),
    [
        ([0, 20], [8, 24], 24, [(0, 8), (20, 24)]),
        ([0], [24], 10, [(0, 10)]),  # it grew meanwhile
        ([0, 12], [8, 24], 10, [(0, 8)]),
        ([0, 10], [8, 24], 10, [(0, 8)]),
        ([4, errno.ENXIO], [8], 24, [(4, 8)]),  # nothing but a hole is left
        ([errno.EINVAL], [], 24, [(0, 24)]),  # it cannot tell
        ([4, errno.EINVAL], [8], 24, [(4, 8), (8, 24)]),
        ([], [], 0, []),
    ],
)
def test_what_is_written_is_what_the_file_system_says(
    monkeypatch: pytest.MonkeyPatch, data: list[int], holes: list[int], size: int, written: list[tuple[int, int]]
) -> None:
    answers = {os.SEEK_DATA: iter(data), os.SEEK_HOLE: iter(holes)}

    def lseek(file: int, at: int, how: int) -> int:
        answer = next(answers[how])
        if answer in (errno.ENXIO, errno.EINVAL):
            raise OSError(answer, "no")
        return answer

    monkeypatch.setattr(os, "lseek", lseek)
    monkeypatch.setattr(errno, "ENXIO", 6)
    assert list(raw.find_written(-1, size)) == written


def test_the_first_byte_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with (tmp_path / "a").open("rb") as file:
        assert list(raw.find_written(file.fileno(), 3)) == [(0, 3)]


# --- needles ---


def test_needles_are_compiled_once() -> None:
    made = compile_needles((("pin", PIN),))
    assert [match.fact for match in made.find(PIN.encode())] == ["pin"]
    assert compile_needles((("pin", PIN),)) is made


# --- what is compressed ---


@settings(max_examples=40, deadline=None)
@given(before=st.integers(0, 700), step=st.integers(5, 90), block=st.integers(170, 300))
def test_a_stream_is_searched_in_blocks_without_a_gap_or_a_repetition(before: int, step: int, block: int) -> None:
    noise = random.Random(before).randbytes(before)
    stream = zlib.compress(noise + PIN.encode() + noise[::-1])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST", step), ("STEP", step), ("BLOCK", block)):
            patch.setattr(packed, name, value)
        found = list(Unpacking(NEEDLES).value(stream))
    assert found == [Match("pin", "utf-8 in zlib", 0)]


def test_a_stream_that_holds_nothing_else_and_lacks_its_end_is_searched() -> None:
    for canary, data in ((PIN, zlib.compress(PIN.encode())), ("abc", zlib.compress(b"abc")[:7])):
        assert [match.form for match in Unpacking(Needles({"it": canary})).value(data)] == ["utf-8 in zlib"]


@pytest.mark.parametrize("at", [90, 127, 128, 250])
def test_a_stream_may_begin_anywhere_in_a_piece(at: int) -> None:
    data = b"\xff" * at + zlib.compress(PIN.encode())
    found = Unpacking(NEEDLES).file(lambda start, most: data[start : start + most], range(0, len(data), 128), 128)
    assert [match.start for match in found] == [at]


def test_half_a_stream_at_the_border_of_two_pieces_is_one() -> None:
    data = b"\xff" * 128 + zlib.compress(PIN.encode())[:-4]
    found = Unpacking(NEEDLES).file(lambda start, most: data[start : start + most], range(0, len(data), 128), 128)
    assert [match.start for match in found] == [128]


def test_a_stream_behind_one_that_holds_a_stream_is_found(tmp_path: Path) -> None:
    outer, second = zlib.compress(b"it holds " + zlib.compress(b"nothing of it"), 0), zlib.compress(PIN.encode())
    (tmp_path / "a").write_bytes(outer + second)
    assert [each.offset for each in look(tmp_path).sightings] == [len(outer)]


def test_a_stream_may_begin_where_another_ends(tmp_path: Path) -> None:
    first, second = zlib.compress(b"nothing of it"), zlib.compress(PIN.encode())
    (tmp_path / "a").write_bytes(first + second)
    assert [each.offset for each in look(tmp_path).sightings] == [len(first)]


def test_a_stream_behind_one_that_breaks_off_is_found(tmp_path: Path) -> None:
    """What only began like a stream takes no bytes from the next."""
    broken, whole = zlib.compress(PIN[::-1].encode())[:12], zlib.compress(PIN.encode())
    (tmp_path / "a").write_bytes(broken + b"\xff" * 8 + whole)
    (found,) = look(tmp_path).sightings
    assert (found.form, found.offset) == ("utf-8 in zlib", 20)


def test_the_share_of_a_file_is_used_up_to_its_last_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = random.Random(1).randbytes(100) + PIN.encode()
    for share, seen in ((2 * len(plain) + 1, 2), (2 * len(plain), 2), (len(plain) + 1, 2), (len(plain), 1)):
        monkeypatch.setattr(packed, "MOST", share)
        unpacking = Unpacking(NEEDLES)
        found = [list(unpacking.value(zlib.compress(plain))) for _ in range(2)]
        assert [bool(each) for each in found] == [True, seen == 2]
        assert not list(unpacking.value(b"nothing")) and bool(unpacking.unread) == (share <= 2 * len(plain))


def test_bare_blocks_are_of_the_share_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import lz4.block

    value = lz4.block.compress(PIN.encode() * 20)
    monkeypatch.setattr(packed, "MOST", len(PIN) * 20)
    unpacking = Unpacking(NEEDLES)
    assert list(unpacking.value(value)) and not unpacking.unread
    assert not list(unpacking.value(value)) and unpacking.unread
