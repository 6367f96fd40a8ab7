"""A run as one file: what comes out is what went in, and what is no packed run is one line."""

from __future__ import annotations

import errno
import io
import lzma
import os
import tarfile
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import commands
from harness.log import pack
from harness.log.blobs import Blobs
from harness.log.folder import Folder, FolderError
from harness.regress import baseline_files
from harness.regress.baseline import RegressError
from tests.unit.log.test_folder import attempt, folder  # noqa: F401


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_packed_run_reads_like_its_folder(folder: Folder, tmp_path: Path) -> None:  # noqa: F811
    attempt(folder)
    folder.blobs.put(b"payload")
    file = tmp_path / "run.tar.xz"
    pack.pack(folder.root, file)
    opened = Folder.open(file)
    assert opened.read() == folder.read()
    assert contents(opened.root / "blobs") == contents(folder.root / "blobs")
    assert opened.logs()[0].keys() == folder.logs()[0].keys()


def test_two_that_pack_into_one_file_do_not_meet(
    folder: Folder,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempt(folder)
    target, replace = tmp_path / "run.tar.xz", Path.replace

    def another(draft: Path, to: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        pack.pack(folder.root, target)
        return draft.replace(to)

    monkeypatch.setattr(Path, "replace", another)
    pack.pack(folder.root, target)
    assert Folder.open(target).read() == folder.read()
    assert [each for each in tmp_path.iterdir() if each.name.endswith(".part")] == []


def test_logs_of_one_story_lie_beside_each_other_whatever_the_backend(tmp_path: Path) -> None:
    stories: tuple[str, ...] = ("half-moved-store-append-n100-s1", "phantom-gaps-append-n100-s1")
    for where, names in {"logs": stories, "drills": ("keeping-64-s1",)}.items():
        (tmp_path / where).mkdir()
        for row in ("mem0", "vector-file"):
            for number, each in enumerate(names):
                (tmp_path / where / f"{row}-{each}-{number}f{len(row)}.1.jsonl").write_text("{}\n")
    pack.pack(tmp_path, tmp_path / "run.tar.xz")
    with tarfile.open(tmp_path / "run.tar.xz") as archive:
        packed = archive.getnames()
    assert [each.split("-n100")[0].split("-64")[0] for each in packed] == [
        "logs/vector-file-phantom-gaps-append", "logs/mem0-phantom-gaps-append",
        "logs/vector-file-half-moved-store-append", "logs/mem0-half-moved-store-append",
        "drills/vector-file-keeping", "drills/mem0-keeping",
    ]  # fmt: skip


def test_a_blob_lies_behind_the_first_log_that_names_it(tmp_path: Path) -> None:
    run, blobs = tmp_path / "run", Blobs(tmp_path / "run" / "blobs")
    late, early, alone = (blobs.put(text).blob for text in (b"late", b"early", b"alone"))
    (run / "logs").mkdir()
    for row, names in {"a": f"{late} {early}", "b": early}.items():
        (run / "logs" / f"{row}-story-0.1.jsonl").write_text(names)
    pack.pack(run, tmp_path / "run.tar.xz")
    with tarfile.open(tmp_path / "run.tar.xz") as archive:
        packed = [Path(name).name for name in archive.getnames()]
    assert packed == ["a-story-0.1.jsonl", late, early, "b-story-0.1.jsonl", alone]
    assert contents(pack.unpack(tmp_path / "run.tar.xz")) == contents(run)


def test_equal_runs_give_equal_bytes(folder: Folder, tmp_path: Path) -> None:  # noqa: F811
    path = attempt(folder)
    pack.pack(folder.root, tmp_path / "a.tar.xz")
    path.chmod(0o600)
    os.utime(path, (1, 1))
    pack.pack(folder.root, tmp_path / "b.tar.xz")
    assert (tmp_path / "a.tar.xz").read_bytes() == (tmp_path / "b.tar.xz").read_bytes()


def test_what_is_derived_is_left_out(folder: Folder, tmp_path: Path) -> None:  # noqa: F811
    attempt(folder)
    (folder.root / "report.html").write_text("page")
    pack.pack(folder.root, tmp_path / "run.tar.xz")
    assert "report.html" not in contents(pack.unpack(tmp_path / "run.tar.xz"))


def link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("blobs/aa/pipe", os.mkfifo), ("blobs/aa/folder", Path.mkdir), ("logs/folder.1.jsonl", Path.mkdir),
        ("logs/link.jsonl", link), ("logs/.hidden", Path.touch), ("results.json", link),
    ],
)  # fmt: skip
def test_what_no_packed_run_can_hold_is_named_and_nothing_written(
    folder: Folder,  # noqa: F811
    tmp_path: Path,
    name: str,
    make: Callable[[Path], None],
) -> None:
    attempt(folder)
    (odd := folder.root / name).parent.mkdir(parents=True, exist_ok=True)
    make(odd)
    done = CliRunner().invoke(commands, ["pack", str(folder.root), "-o", str(file := tmp_path / "run.tar.xz")])
    assert done.exit_code == 2 and f"{odd}: no file of a run" in done.stderr and not file.exists()


def forged(path: Path, name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> Path:
    with tarfile.open(path, "w:xz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
        archive.addfile(member, io.BytesIO(b"x"))
    return path


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("../outside", tarfile.REGTYPE, ""), ("/etc/outside", tarfile.REGTYPE, ""), ("logs/../x", tarfile.REGTYPE, ""),
        ("logs/a.jsonl", tarfile.SYMTYPE, "/etc/hostname"), ("blobs/a", tarfile.LNKTYPE, "run.json"),
        ("logs/pipe", tarfile.FIFOTYPE, ""), ("setup.py", tarfile.REGTYPE, ""), ("blobs/a/b/c", tarfile.REGTYPE, ""),
    ],
)  # fmt: skip
def test_an_archive_of_anything_else_is_refused(tmp_path: Path, name: str, kind: bytes, link: str) -> None:
    with pytest.raises(FolderError, match="not a packed run"):
        Folder.open(forged(tmp_path / "x.tar.xz", name, kind, link))
    assert not (tmp_path / "outside").exists()


def test_a_file_that_stands_twice_in_an_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.tar.xz"
    with tarfile.open(file, "w:xz") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("run.json"))
    with pytest.raises(FolderError, match=r"it holds 'run\.json' twice"):
        Folder.open(file)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "results.json", "gates.toml"])
@pytest.mark.parametrize("command", [["score"], ["compare", "reports/sample.tar.xz"]])
def test_what_is_wrong_inside_is_said_with_the_name_of_the_packed_file(
    tmp_path: Path, name: str, command: list[str]
) -> None:
    file = forged(tmp_path / "x.tar.xz", name)
    result = CliRunner().invoke(commands, [*command, str(file)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"coldwarm: {file}") and "coldwarm-" not in result.stderr


@pytest.mark.parametrize("damage", [b"", b"no archive", None])
def test_a_damaged_file_is_one_line(folder: Folder, tmp_path: Path, damage: bytes | None) -> None:  # noqa: F811
    attempt(folder)
    file = tmp_path / "run.tar.xz"
    pack.pack(folder.root, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    for load, error in ((Folder.open, FolderError), (baseline_files.load, RegressError)):
        with pytest.raises(error, match="not a packed run") as caught:
            load(file)
        assert "\n" not in str(caught.value)


def test_too_much_is_refused(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    attempt(folder)
    pack.pack(folder.root, tmp_path / "run.tar.xz")
    monkeypatch.setattr(pack, "MOST_BYTES", 10)
    with pytest.raises(FolderError, match="more than 10 bytes"):
        Folder.open(tmp_path / "run.tar.xz")


def test_where_nothing_can_be_written_is_one_line(folder: Folder, tmp_path: Path) -> None:  # noqa: F811
    target = tmp_path / "missing" / "run.tar.xz"
    done = CliRunner().invoke(commands, ["pack", str(folder.root), "-o", str(target)])
    assert done.exit_code == 3 and f"{target}: cannot be written" in done.stderr


def test_a_full_temporary_folder_is_no_fault_of_the_archive(
    folder: Folder,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def extract(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pack.pack(folder.root, packed := tmp_path / f"run{pack.SUFFIX}")
    monkeypatch.setattr(tarfile.TarFile, "extract", extract)
    with pytest.raises(OSError, match="No space left") as met:
        Folder.open(packed)
    assert met.value.filename == tempfile.gettempdir()


def announced(path: Path, member: tarfile.TarInfo, size: int) -> Path:
    """An archive whose head says `size` and is followed by as many zeros as one piece holds, compressed to nothing."""
    member.size = size
    with lzma.open(path, "wb") as packed:
        packed.write(member.tobuf(tarfile.PAX_FORMAT))
        for _ in range(64):
            packed.write(bytes(2**20))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_head_that_announces_gigabytes_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("run.json")
    member.type = kind
    file = announced(tmp_path / "x.tar.xz", member, 3 * 2**30)
    tracemalloc.start()
    try:
        with pytest.raises(pack.PackError, match="a head in it is longer"):
            pack.unpack(file)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_an_archive_that_is_mostly_nothing_is_refused_by_what_it_announces(tmp_path: Path) -> None:
    file = announced(tmp_path / "x.tar.xz", tarfile.TarInfo("blobs/aa/large"), 3 * 2**30)
    with pytest.raises(pack.PackError, match="more than 268,435,456 bytes"):
        pack.unpack(file)


def test_a_pipe_is_no_packed_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.tar.xz")
    with pytest.raises(pack.PackError, match="not a regular file"):
        pack.unpack(tmp_path / "x.tar.xz")


def test_a_run_that_is_still_played_says_so_to_who_reads_it(folder: Folder) -> None:  # noqa: F811
    attempt(folder)
    with folder.claim():
        during = CliRunner().invoke(commands, ["score", str(folder.root)])
    after = CliRunner().invoke(commands, ["score", str(folder.root)])
    assert "a process still plays this run" in during.output and "still plays" not in after.output
