"""Where in a PostgreSQL data folder something is: pages made by hand, and a real server where there is one."""

from __future__ import annotations

import os
import pwd
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters._postgres import TOP
from harness.adapter import Layer
from harness.scan.disk import Needles, Scan, scan

CANARIES = {
    name: f"cw{number:020x}" for number, name in enumerate(("live", "dead", "index", "free", "gone", "open", "undone"))
}
NEEDLES = Needles(CANARIES)
CLUSTER = Layer("data", "pg", "postgres")
LIVE, DEAD, HINTED, LOST, OPEN = 3, 4, 5, 6, 7  # transactions: committed, committed, -, aborted, still open


def places(found: Scan) -> dict[str, set[str]]:
    seen: dict[str, set[str]] = {}
    for each in found.sightings:
        seen.setdefault(each.fact, set()).add(each.place)
    return seen


# --- by hand ----------------------------------------------------------------------------------------------------------


def page(items: list[bytes], special: int = 0, *, flags: list[int] | None = None, hole: bytes = b"") -> bytes:
    """As PostgreSQL lays it out: header, line pointers, hole, items from the end, special space."""
    body, pointers, at = bytearray(8192), b"", 8192 - special
    for number, item in enumerate(items):
        at -= -(-len(item) // 8) * 8
        body[at : at + len(item)] = item
        pointers += struct.pack("<I", at | (flags[number] if flags else 1) << 15 | len(item) << 17)
    lower = 24 + len(pointers)
    body[:24] = struct.pack("<QHHHHHHI", 0, 0, 0, lower, at, 8192 - special, 8192 | 4, 0)
    body[24:lower] = pointers
    body[lower : lower + len(hole)] = hole
    return bytes(body)


def row(text: str, xmin: int, xmax: int, mask: int) -> bytes:
    return struct.pack("<IIIHHHHHBx", xmin, xmax, 0, 0, 0, 1, 1, mask, 24) + bytes([len(text) * 2 + 3]) + text.encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "pg"
    for name in ("base/5", "pg_wal", "pg_xact", "log"):
        (top / name).mkdir(parents=True)
    (top / "PG_VERSION").write_text("15\n")
    fates = {1: 1, 2: 1, LIVE: 1, DEAD: 1, LOST: 2, OPEN: 0}
    (top / "pg_xact/0000").write_bytes(
        bytes(sum(fates.get(at * 4 + bit, 0) << 2 * bit for bit in range(4)) for at in range(8192))
    )
    return top


@pytest.mark.parametrize(
    ("name", "xmin", "xmax", "mask", "place"),
    [
        ("live", LIVE, 0, 0x0800, "live tuple"),
        ("live", LIVE, 0, 0x0100 | 0x0800, "live tuple"),
        ("live", 2, 0, 0x0300 | 0x0800, "live tuple"),
        ("live", LIVE, DEAD, 0x0100 | 0x0080, "live tuple"),  # locked only
        ("live", LIVE, LOST, 0x0100, "live tuple"),  # the deletion was undone
        ("open", LIVE, OPEN, 0x0100, "live tuple"),
        ("dead", LIVE, DEAD, 0x0100 | 0x0400, "dead tuple"),
        ("dead", LIVE, DEAD, 0x0100, "dead tuple"),  # no hint yet: the commit log says it
        ("undone", LOST, 0, 0x0800, "dead tuple"),
        ("undone", LIVE, 0, 0x0200 | 0x0800, "dead tuple"),
        ("open", OPEN, 0, 0x0800, "dead tuple"),
    ],
)
def test_whether_a_tuple_lives(folder: Path, name: str, xmin: int, xmax: int, mask: int, place: str) -> None:
    filler = page([row("else", LIVE, 0, 0x0900)])
    (folder / "base/5/16384").write_bytes(
        filler + page([row("else", LIVE, 0, 0x0900), row(CANARIES[name], xmin, xmax, mask)])
    )
    found = scan(folder.parent, CLUSTER, NEEDLES)
    assert places(found) == {name: {place}} and found.problem is None


def test_every_file_has_its_place(folder: Path) -> None:
    index = [bytes(8) + CANARIES["index"].encode(), bytes(8) + CANARIES["dead"].encode()]
    (folder / "base/5/16385.1").write_bytes(page(index, special=16, flags=[1, 3]))
    (folder / "base/5/16384").write_bytes(page([row("x", LIVE, 0, 0x0900)], hole=bytes(60) + CANARIES["free"].encode()))
    (folder / "base/5/16384_fsm").write_text(CANARIES["gone"])
    (folder / "pg_wal/000000010000000000000001").write_text(CANARIES["gone"])
    (folder / "log/server.log").write_text(CANARIES["open"])
    assert places(scan(folder.parent, CLUSTER, NEEDLES)) == {
        "index": {"index entry"},
        "dead": {"dead index entry"},
        "free": {"free space of a page"},
        "gone": {"base/5", "write-ahead log"},
        "open": {"log"},
    }


@pytest.mark.parametrize(
    ("xmax", "mask", "place"),
    [
        (OPEN, 0x0101, "live tuple"),
        (DEAD, 0x0501, "dead tuple"),
        (0, 0x0201, "dead tuple"),
        (0, 0x0301, "live tuple"),
    ],
)
def test_a_column_that_is_null_says_nothing_of_life(folder: Path, xmax: int, mask: int, place: str) -> None:
    """0x0001: some column is null."""
    (folder / "base/5/1").write_bytes(page([row(CANARIES["live"], LIVE, xmax, mask)]))
    assert places(scan(folder.parent, CLUSTER, NEEDLES)) == {"live": {place}}


@pytest.mark.parametrize("log", ["pg_xact", "pg_clog"])
def test_the_commit_log_goes_on_in_other_files(folder: Path, log: str) -> None:
    """32 pages a file, by its old name too. What is in no file did not happen."""
    (folder / "pg_xact").rename(folder / log)
    second = 32 * 8192 * 4 + LIVE
    (folder / log / "0001").write_bytes((folder / log / "0000").read_bytes())
    rows = [row(CANARIES["live"], second, 0, 0x0800), row(CANARIES["open"], second * 3, 0, 0x0800)]
    (folder / "base/5/1").write_bytes(page([*rows, row(CANARIES["undone"], second - LIVE + LOST, 0, 0x0800)]))
    found = places(scan(folder.parent, CLUSTER, NEEDLES))
    assert found == {"live": {"live tuple"}, "open": {"dead tuple"}, "undone": {"dead tuple"}}


def test_what_the_first_start_wrote_and_what_is_frozen_needs_no_log(folder: Path) -> None:
    (folder / "pg_xact/0000").unlink()
    rows = [row(CANARIES[name], xmin, 0, 0x0800) for xmin, name in enumerate(("live", "index", "dead"), 1)]
    (folder / "base/5/1").write_bytes(page(rows))
    found = places(scan(folder.parent, CLUSTER, NEEDLES))
    assert found == {"live": {"live tuple"}, "index": {"live tuple"}, "dead": {"dead tuple"}}


def test_a_tuple_ends_where_its_length_says(folder: Path) -> None:
    """What stands right behind it is free, also on the last bytes of a page; a header alone is no living tuple."""
    whole = row("x" * 7, LIVE, 0, 0x0900)
    made = bytearray(page([whole + CANARIES["free"].encode()]))
    made[24:28] = struct.pack("<I", struct.unpack_from("<I", made, 24)[0] & 0x1FFFF | len(whole) << 17)
    (folder / "base/5/1").write_bytes(made)
    last = bytearray(page([row(CANARIES["live"], LIVE, 0, 0x0900)]))
    at = 8192 - 23
    last[24:28] = struct.pack("<I", at | 1 << 15 | 23 << 17)
    last[at - 40 :] = bytes(40) + CANARIES["dead"].encode() + b"\xff"
    (folder / "base/5/2").write_bytes(last)
    assert places(scan(folder.parent, CLUSTER, NEEDLES)) == {"free": {"free space of a page"}, "dead": {"dead tuple"}}


def test_a_file_beside_the_folders_lies_in_none(folder: Path) -> None:
    (folder / "postmaster.opts").write_text(CANARIES["open"])
    assert places(scan(folder.parent, CLUSTER, NEEDLES)) == {"open": {""}}


def test_what_is_no_data_folder_is_searched_and_said(folder: Path) -> None:
    (folder / "PG_VERSION").unlink()
    (folder / "base/5/1").write_text(CANARIES["live"])
    found = scan(folder.parent, CLUSTER, NEEDLES)
    assert places(found) == {"live": {""}}
    assert found.problem == "'pg' is not a PostgreSQL data folder: only its raw bytes were searched"


def test_half_a_page_is_searched(folder: Path) -> None:
    (folder / "base/5/1").write_bytes(page([row(CANARIES["live"], LIVE, 0, 0x0900)])[-400:])
    (folder / "base/5/2").write_bytes(b"\xff" * 8100 + CANARIES["dead"].encode() + b"\xff" * 9000)
    assert places(scan(folder.parent, CLUSTER, NEEDLES)) == {
        name: {"free space of a page"} for name in ("live", "dead")
    }


# --- a real server ----------------------------------------------------------------------------------------------------


def _programs() -> Path | None:
    found = [Path(name).resolve().parent for name in (shutil.which("initdb"), shutil.which("pg_ctl")) if name]
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    known += TOP.glob("lib/python*/site-packages/pgserver/pginstall/bin")  # what `make letta` installs
    return next((each for each in [*found, *known] if (each / "initdb").exists() and (each / "pg_ctl").exists()), None)


def _nobody() -> int | None:
    """The server refuses to be run by root."""
    if os.getuid():
        return None
    return pwd.getpwnam("nobody").pw_uid


class Server:
    def __init__(self, programs: Path, top: Path) -> None:
        self.programs, self.top = programs, top

    def run(self, program: str, *args: str, text: str | None = None) -> str:
        command = [str(self.programs / program), *args]
        done = subprocess.run(
            command, user=_nobody(), cwd=self.top, input=text, text=True, check=True, timeout=100,
            stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        )  # fmt: skip
        return done.stdout

    def start(self) -> None:
        settings = f"-c listen_addresses= -c unix_socket_directories={self.top} -c autovacuum=off -c fsync=off"
        self.run("pg_ctl", "-D", "pg", "-o", settings, "-l", "server.log", "-w", "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", "pg", "-w", "-m", "fast", "stop")

    def sql(self, text: str) -> str:
        return self.run(
            "psql", "-h", str(self.top), "-U", "me", "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1", text=text
        )


@pytest.fixture
def server() -> Iterator[Server]:
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL programs on this machine")
    top = Path("/tmp") / f"cw-pg-{os.getpid()}"  # a socket's path must be short, and its owner is not us
    top.mkdir(mode=0o700)
    try:
        if (owner := _nobody()) is not None:
            os.chown(top, owner, -1)
        made = Server(programs, top)
        made.run("initdb", "-D", "pg", "-U", "me", "-A", "trust", "-E", "UTF8", "--no-sync")
        made.start()
        yield made
    finally:
        if (top / "pg/postmaster.pid").exists():
            made.stop()
        shutil.rmtree(top)


@pytest.mark.slow
def test_what_a_real_server_leaves(server: Server) -> None:
    """Deleted, not vacuumed: dead tuples. Vacuumed: the log, at most. Checkpointed and closed before each look."""
    rows = ", ".join(f"({number}, 'say {text}')" for number, text in enumerate(CANARIES.values()))
    server.sql(
        f"create table t (n int, x text); insert into t values {rows}; create index by_x on t (x);"
        f"create table other (x text); insert into other values ('{CANARIES['gone']}'); drop table other;"
        f"begin; insert into t values (9, '{CANARIES['undone']} again'); rollback;"
    )
    server.stop()
    found = scan(server.top, CLUSTER, NEEDLES)
    assert found.problem is None, found.problem
    before = places(found)
    assert all({"live tuple", "index entry", "write-ahead log"} <= seen for seen in before.values())
    assert before.keys() == CANARIES.keys()
    assert "dead tuple" in before["undone"] and "dead tuple" not in before["live"]
    server.start()
    server.sql("delete from t where n % 2 = 1; checkpoint")
    server.stop()
    deleted = places(scan(server.top, CLUSTER, NEEDLES))
    for number, name in enumerate(CANARIES):
        assert ("live tuple" in deleted[name]) == (number % 2 == 0), (name, deleted[name])
        assert "dead tuple" in deleted[name] or number % 2 == 0
    server.start()
    server.sql("vacuum full t; checkpoint")
    server.stop()
    vacuumed = places(scan(server.top, CLUSTER, NEEDLES))
    for number, name in enumerate(CANARIES):
        wanted = {"live tuple", "index entry"} if number % 2 == 0 else set()
        assert vacuumed[name] - {"write-ahead log"} == wanted, name
