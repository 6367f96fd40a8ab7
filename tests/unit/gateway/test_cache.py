from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gateway.cache import EmbeddingCache
from tests.support.fakes import FakeEmbedder

TEXTS = [f"fact number {number}" for number in range(20)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.sqlite"


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def fill(path: Path, texts: list[str] = TEXTS) -> list[bytes]:
    cache = EmbeddingCache(path, FakeEmbedder())
    vectors = [row.vector for row in cache.get(texts)]
    cache.close()
    return vectors


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as link, link:
        link.execute(statement)


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), max_size=12))
def test_answers_what_the_embedder_says_once_each(texts: list[str]) -> None:
    fake = FakeEmbedder()
    cache = EmbeddingCache(None, fake)
    for _ in range(2):
        rows = cache.get(texts)
        for text, row in zip(texts, rows, strict=True):
            vectors, tokens, cut = FakeEmbedder().encode([text])
            assert row == (vectors[0].tobytes(), tokens[0], cut[0])
    assert set(fake.seen.values()) <= {1}
    assert cache.embedded == len(set(texts))


def test_vectors_are_little_endian_float32() -> None:
    cache = EmbeddingCache(None, FakeEmbedder())
    (row,) = cache.get(["some text"])
    assert np.frombuffer(row.vector, "<f4").tolist() == FakeEmbedder().encode(["some text"]).vectors[0].tolist()


def test_another_run_embeds_nothing(path: Path) -> None:
    vectors = fill(path)
    fake = FakeEmbedder()
    cache = EmbeddingCache(path, fake)
    cache.warm(TEXTS)
    assert cache.knows(TEXTS)
    assert [row.vector for row in cache.get(TEXTS)] == vectors
    assert not fake.seen
    assert (cache.embedded, cache.repaired) == (0, 0)


def test_another_embedder_shares_nothing(path: Path) -> None:
    fill(path)
    fake = FakeEmbedder(digest="another")
    EmbeddingCache(path, fake).get(TEXTS)
    assert set(fake.seen) == set(TEXTS)


def test_many_texts_are_claimed_slice_by_slice(path: Path) -> None:
    fake = FakeEmbedder()
    texts = [f"text {number}" for number in range(1000)]
    cache = EmbeddingCache(path, fake)
    cache.warm(texts * 2)
    assert set(fake.seen.values()) == {1}
    assert EmbeddingCache(path, fake).get(texts) == cache.get(texts)


def test_knows_only_what_is_in_memory() -> None:
    cache = EmbeddingCache(None, FakeEmbedder())
    cache.get(["one"])
    assert cache.knows(["one"])
    assert not cache.knows(["one", "two"])


def test_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="empty text"):
        EmbeddingCache(None, FakeEmbedder()).get(["text", ""])


def test_threads_that_ask_for_the_same_text_share_one_embedding(path: Path) -> None:
    fake = FakeEmbedder()
    fake.gate.clear()
    cache = EmbeddingCache(path, fake)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(cache.get, TEXTS[number:]) for number in range(8)]
        assert fake.entered.wait(10)
        fake.gate.set()
        rows = [answer.result(30) for answer in answers]
    assert all(row == rows[0][number:] for number, row in enumerate(rows))
    assert set(fake.seen.values()) == {1}


def test_a_slow_text_does_not_hold_up_another() -> None:
    fake = FakeEmbedder()
    cache = EmbeddingCache(None, fake)
    cache.get(["known"])
    fake.entered.clear()
    fake.gate.clear()
    slow = threading.Thread(target=cache.get, args=(["slow"],))
    slow.start()
    assert fake.entered.wait(10)
    assert cache.get(["known"])
    fake.gate.set()
    slow.join(10)
    assert cache.knows(["slow"])


def test_closing_waits_for_who_embeds_and_lets_nobody_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, inside, go_on = FakeEmbedder(), threading.Event(), threading.Event()
    encode, ended = fake.encode, list[str]()

    def wait(texts: list[str]) -> object:
        inside.set()
        go_on.wait(20)
        ended.append("embedding")
        return encode(texts)

    monkeypatch.setattr(fake, "encode", wait)
    cache = EmbeddingCache(None, fake)
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(cache.get, [f"fact number {number}" for number in range(5000)])
        assert inside.wait(20)
        closed = pool.submit(cache.close)
        closed.add_done_callback(lambda _: ended.append("closing"))
        while not cache._closed:  # it has begun, and waits
            time.sleep(0.001)
        go_on.set()
        with pytest.raises(RuntimeError, match="closed"):
            asked.result(20)
        closed.result(20)
    assert ended == ["embedding", "closing"]
    with pytest.raises(RuntimeError, match="closed"):
        cache.get(["another"])


def test_those_who_wait_for_a_failure_try_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEmbedder()
    cache = EmbeddingCache(None, fake)
    real, failed = fake.encode, threading.Event()

    def fail_once(texts: list[str]) -> object:
        if failed.is_set():
            return real(texts)
        fake.entered.set()
        fake.gate.wait(10)
        failed.set()
        raise RuntimeError("out of memory")

    monkeypatch.setattr(fake, "encode", fail_once)
    fake.gate.clear()
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(cache.get, ["text"]) for _ in range(4)]
        assert fake.entered.wait(10)
        fake.gate.set()
        errors = [answer.exception(30) for answer in answers]
    assert sum(isinstance(error, RuntimeError) for error in errors) == 1
    assert errors.count(None) == 3


CHILD = """
import sys
from pathlib import Path
from harness.gateway.cache import EmbeddingCache
from tests.support.fakes import FakeEmbedder
cache = EmbeddingCache(Path(sys.argv[1]), FakeEmbedder())
for number in range(30):
    cache.get([f"text {number} {part}" for part in range(5)])
print(sys.stdin.read(), cache.repaired)
"""


@pytest.mark.slow
def test_processes_share_one_file(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", CHILD, str(path)]
    children = [
        subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": root},
        )
        for _ in range(4)
    ]
    for child in children:
        out, err = child.communicate("done", timeout=60)
        assert (out, err, child.returncode) == ("done 0\n", "", 0)
    fake = FakeEmbedder()
    cache = EmbeddingCache(path, fake)
    cache.get([f"text {number} {part}" for number in range(30) for part in range(5)])
    assert not fake.seen
    assert not said(caplog)


@pytest.mark.slow
def test_those_who_make_the_file_at_the_same_time_all_get_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(40):  # one of 50 failed
        path = tmp_path / str(number) / "embeddings.sqlite"
        start = threading.Barrier(4)

        def make(path: Path = path, start: threading.Barrier = start) -> None:
            start.wait()
            EmbeddingCache(path, FakeEmbedder()).close()

        with ThreadPoolExecutor(4) as pool:
            for made in [pool.submit(make) for _ in range(4)]:
                made.result()
    assert not said(caplog)


@pytest.mark.parametrize(
    "damage",
    [
        "vector = zeroblob(1536)",
        "vector = substr(vector, 1, 1535)",
        "vector = NULL",
        "vector = 'text'",
        "tokens = tokens + 1",
        "tokens = CAST(tokens AS TEXT) || 'x'",
        "cut = -1",
        "sum = NULL",
        "sum = CAST(x'ff' AS TEXT)",
    ],
)
def test_damaged_row_is_recomputed(path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    vectors = fill(path)
    edit(path, f"UPDATE embedding SET {damage} WHERE rowid IN (3, 8)")
    fake = FakeEmbedder()
    cache = EmbeddingCache(path, fake)
    assert [row.vector for row in cache.get(TEXTS)] == vectors
    assert cache.repaired == len(fake.seen) == 2
    cache.close()
    assert fill(path) == vectors
    again = EmbeddingCache(path, fake)
    again.get(TEXTS)
    assert again.repaired == 0
    assert not said(caplog)


@pytest.mark.slow
def test_a_flipped_byte_anywhere_costs_no_answer(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    vectors = fill(path)
    with closing(sqlite3.connect(path)) as link:
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    repaired = 0
    for at in [*range(0, 100, 7), *range(100, len(whole), 499)]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        cache = EmbeddingCache(path, FakeEmbedder())
        assert [row.vector for row in cache.get(TEXTS)] == vectors
        repaired += cache.repaired
        cache.close()
        for leftover in path.parent.iterdir():
            leftover.unlink()
    assert repaired > 0
    assert all("\n" not in line for line in said(caplog))


@pytest.mark.parametrize("content", [b"this is no database" * 500, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 8192])
def test_what_is_no_database_is_set_aside(path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    vectors = fill(path)
    (line,) = said(caplog)
    assert "set aside" in line
    assert "\n" not in line
    assert path.with_name("embeddings.sqlite.damaged").read_bytes() == content
    caplog.clear()
    fake = FakeEmbedder()
    assert [row.vector for row in EmbeddingCache(path, fake).get(TEXTS)] == vectors
    assert not fake.seen
    assert not said(caplog)


def test_damage_that_shows_later_is_set_aside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"text {number}" for number in range(300)]
    vectors = fill(path, texts)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    assert fill(path, texts) == vectors
    assert len(said(caplog)) == 1
    assert "set aside" in said(caplog)[0]


def test_what_a_killed_process_left_is_not_replayed_into_a_new_file(path: Path) -> None:
    fill(path, [f"old text {number}" for number in range(300)])
    killed = EmbeddingCache(path, FakeEmbedder())
    killed.get([f"last text {number}" for number in range(5)])
    log = path.with_name(path.name + "-wal").read_bytes()
    killed.close()
    path.write_bytes(b"this is no database" * 500)
    path.with_name(path.name + "-wal").write_bytes(log)
    vectors = fill(path)
    fake = FakeEmbedder()
    cache = EmbeddingCache(path, fake)
    assert [row.vector for row in cache.get(TEXTS)] == vectors
    assert not fake.seen
    cache.close()
    with closing(sqlite3.connect(path)) as link:
        assert link.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert link.execute("SELECT count(*) FROM embedding").fetchall() == [(len(TEXTS),)]


def unusable(kind: str, path: Path) -> Path:
    if kind == "below a file":
        path.parent.write_text("a file")
    elif kind == "a folder":
        path.mkdir(parents=True)
    elif kind == "read-only folder":
        path.parent.mkdir()
        path.parent.chmod(0o555)
    return path


@pytest.mark.parametrize("kind", ["below a file", "a folder", "read-only folder"])
def test_unusable_path_leaves_the_cache_in_memory(kind: str, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    if kind == "read-only folder" and os.geteuid() == 0:
        pytest.skip("root may write to a read-only folder")
    fake = FakeEmbedder()
    cache = EmbeddingCache(unusable(kind, path), fake)
    for _ in range(2):
        assert len(cache.get(TEXTS)) == len(TEXTS)
    cache.get(["one more"])
    (line,) = said(caplog)
    assert "kept in memory only" in line
    assert "\n" not in line
    assert set(fake.seen.values()) == {1}


def test_a_full_disk_leaves_the_cache_in_memory(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(path)
    cache = EmbeddingCache(path, FakeEmbedder())
    assert cache._store is not None
    assert cache._store._link is not None
    cache._store._link.execute("PRAGMA max_page_count = 1")
    texts = [f"new text {number}" for number in range(100)]
    assert len(cache.get(texts)) == len(cache.get(texts)) == 100
    assert len(said(caplog)) == 1
    assert "full" in said(caplog)[0]
