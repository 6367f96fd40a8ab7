"""Hindsight: what the adapter decides itself, against a fake server; `make conform` holds it to the contract."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.hindsight import CHARACTERS, SAID, STARTING, Hindsight, HindsightMemory, name_bank, read_hit, write_item
from harness.adapter import Filter, Item, Message, Scope, Source, Space

ITEM = Item("Ship on Mondays.", Scope(repo="shop", user="dana@example.com"), "2026-01-02T03:04:05+00:00", "project")
ANY = st.text(st.characters(codec="utf-8"), min_size=1)
ITEMS = st.builds(
    Item,
    ANY,
    st.builds(Scope, repo=st.none() | ANY, branch=st.none() | ANY),
    st.just(ITEM.at),
    ANY,
    source=st.none() | st.builds(Source, path=ANY, line=st.integers(1, 9)),
    confidence=st.none() | st.floats(0, 1),
)
DOCUMENT = "d" * 32


def unit(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


class FakeHindsight:
    """Documents with units, and nothing behind them. `asked` is what was asked with the bodies `given`, `answers` what
    comes first."""

    def __init__(self, units: dict[str, list[int]], answers: list[tuple[int, Any]] | None = None) -> None:
        self.units, self.answers, self.asked = units, answers or [], list[tuple[str, str]]()
        self.given = list[Any]()
        self.tags = write_item(DOCUMENT, ITEM)["tags"]

    def reply(self, method: str, path: str) -> tuple[int, Any]:
        what = path.partition("/banks/")[2].partition("/")[2]
        self.asked.append((method, what.partition("?")[0]))
        if self.answers:
            return self.answers.pop(0)
        rows = [
            {**row(number, document), "tags": self.tags}
            for document, numbers in self.units.items()
            for number in numbers
        ]
        if what.startswith("memories/list?"):
            return 200, {"items": [each for each in rows if f"document_id={each['document_id']}" in what]}
        if what.startswith("tags?"):
            begin = parse_qs(what.partition("?")[2])["q"][0].removesuffix("*")
            return 200, {"items": [{"tag": tag} for tag in self.tags if tag.startswith(begin)]}
        if what == "memories/recall":
            return 200, {"results": []}
        if method == "GET":
            found = [each for each in rows if what == f"memories/{each['id']}"]
            return (200, found[0]) if found else (404, {"detail": "not found"})
        return 200, {}


def row(number: int, document: str) -> dict[str, Any]:
    tags = write_item(document, ITEM)["tags"]
    kept = {"tags": tags, "metadata": {}, "state": "valid", "mentioned_at": ITEM.at, "chunk_id": f"b_{document}_0"}
    return {"id": unit(number), "text": ITEM.text, "document_id": document, **kept}


@contextmanager
def opened(fake: FakeHindsight, root: Path) -> Iterator[HindsightMemory]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            fake.given.append(json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "null"))
            status, said = fake.reply(self.command, self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815  the names that the server calls

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield HindsightMemory(Space(str(root), "", "", 4, 1, {}, f"http://127.0.0.1:{server.server_port}"), infer=False)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
@given(ITEMS)
def test_a_hit_gives_back_what_was_written(item: Item) -> None:
    written = write_item(DOCUMENT, item)
    assert all(isinstance(value, str) for value in written["metadata"].values())
    hit = read_hit({"id": unit(1), "text": item.text, "mentioned_at": item.at, **written})
    assert (hit.scope, hit.source, hit.confidence) == (item.scope, item.source, item.confidence)


def test_what_carries_no_tag_of_ours_has_no_scope_and_is_nobodys() -> None:
    assert read_hit({**row(1, DOCUMENT), "tags": []}).scope is None
    assert read_hit({**row(1, DOCUMENT), "tags": ["somebody's own"]}).scope is None


def test_each_store_has_a_bank_of_its_own() -> None:
    assert name_bank("/a") == name_bank("/a") != name_bank("/b")


@pytest.mark.slow
def test_a_document_is_deleted_once_no_unit_of_it_holds_and_till_then_its_units_are_marked(tmp_path: Path) -> None:
    fake = FakeHindsight({"one": [1], "two": [2, 3]})
    with opened(fake, tmp_path) as memory:
        assert memory.forget(ITEM.scope, [unit(1), unit(2), unit(1), unit(9), "no id"]) == [True, True, *[False] * 3]
    changes = [each for each in fake.asked if each[0] in ("DELETE", "PATCH")]
    assert changes == [("DELETE", "documents/one"), ("PATCH", f"memories/{unit(2)}")]
    fake.asked.clear()
    with opened(fake, tmp_path) as memory:
        assert memory.forget(ITEM.scope, [unit(3), unit(2)]) == [True, True]
    assert ("DELETE", "documents/two") in fake.asked and not [each for each in fake.asked if each[0] == "PATCH"]


@pytest.mark.slow
def test_a_document_is_marked_as_a_whole_and_an_earlier_end_stays(tmp_path: Path) -> None:
    fake, march, may = FakeHindsight({"one": [1], "two": [2, 3]}), "2026-03-01T00:00:00+00:00", "2026-05-01T00:00+02:00"
    with opened(fake, tmp_path) as memory:
        assert memory.deprecate(ITEM.scope, [unit(1), unit(2), unit(9)], may) == [True, False, False]
        for at in (march, may):
            fake.tags = next(each["tags"] for each in reversed(fake.given) if each)
            assert memory.deprecate(ITEM.scope, [unit(1)], at) == [True]
    assert {what for method, what in fake.asked if method == "PATCH"} == {"documents/one"}
    marks = [each["tags"] for each in fake.given if each and "tags" in each]
    plain = ["repo-shop user-dana_40example_2ecom", "kind-project"]
    assert marks == [[*plain, f"ends-{end}.0"] for end in (1777586400, 1772323200, 1772323200)]


@pytest.mark.slow
def test_a_filter_is_groups_of_tags_and_what_has_ended_or_is_less_sure_is_left_out(tmp_path: Path) -> None:
    fake, where = FakeHindsight({}), Filter(("user", "project"), "docs/a.md", 0.5)
    with opened(fake, tmp_path) as memory:
        memory.recall_where("ship", Scope(), 5, ITEM.at, where)
        kept = fake.given[-1]["tag_groups"]
        assert kept == [
            {"tags": ["everywhere"], "match": "any_strict"},
            {"tags": ["kind-user", "kind-project"], "match": "any_strict"},
            {"tags": ["path-docs_2fa_2emd"], "match": "any_strict"},
        ]
        fake.tags = ["ends-1767323045.0", "ends-1767323046.5", "sure-0.25", "sure-0.5", "sure-1e-05"]
        memory.recall_where("ship", Scope(), 5, ITEM.at, where)
        out = ["ends-1767323045.0", "sure-0.25", "sure-1e-05"]
        assert fake.given[-1]["tag_groups"] == [*kept, {"not": {"tags": out, "match": "any_strict"}}]
        memory.recall("ship", Scope(), 5, ITEM.at)
        assert fake.given[-1]["tag_groups"] == [kept[0], {"not": {"tags": out[:1], "match": "any_strict"}}]


@pytest.mark.slow
def test_nothing_of_another_scope_is_read_or_deleted_by_its_id(tmp_path: Path) -> None:
    fake, elsewhere = FakeHindsight({"one": [1]}), replace(ITEM.scope, repo="other")
    with opened(fake, tmp_path) as memory:
        assert memory.get(elsewhere, unit(1)) is None and memory.forget(elsewhere, [unit(1)]) == [False]
        assert memory.get(ITEM.scope, unit(1)) is not None
    assert "DELETE" not in {method for method, _ in fake.asked}


@pytest.mark.slow
def test_a_database_that_is_starting_is_waited_for_and_any_other_refusal_is_told(tmp_path: Path) -> None:
    fake = FakeHindsight({}, [(500, {"detail": STARTING}), (200, {})])
    with opened(fake, tmp_path):
        assert [method for method, _ in fake.asked] == ["PUT", "PUT"]
    refusing = FakeHindsight({}, [(500, {"detail": "no space left"})])
    with pytest.raises(RuntimeError, match=r"answered 500: .*no space left"), opened(refusing, tmp_path):
        raise AssertionError("it was opened")


@pytest.mark.slow
def test_a_session_is_one_document_in_chunks_of_the_vendors_size(tmp_path: Path) -> None:
    fake = FakeHindsight({})
    talk = [Message("user", "Ship on Mondays."), Message("tool", " "), Message("assistant", "Noted.\ncalls ls: {}")]
    with opened(fake, tmp_path) as memory:
        memory.observe(talk, ITEM.scope, ITEM.at, "monday")
        assert memory.observe([], ITEM.scope, ITEM.at, "monday").ids == ()
    sizes = [each["retain_chunk_size"] for each in fake.given if each and "retain_chunk_size" in each]
    assert sizes == [CHARACTERS, SAID, CHARACTERS], "an item stays one memory"
    ((told,),) = [each["items"] for each in fake.given if each and "items" in each]
    assert told["content"] == "user: Ship on Mondays.\nassistant: Noted.\ncalls ls: {}"
    assert (told["timestamp"], told["metadata"]["session"]) == (ITEM.at, "monday")


@pytest.mark.slow
def test_a_session_that_is_refused_leaves_items_whole(tmp_path: Path) -> None:
    fake = FakeHindsight({}, [(200, {}), (200, {}), (500, {"detail": "no room"})])
    with opened(fake, tmp_path) as memory, pytest.raises(RuntimeError, match="no room"):
        memory.observe([Message("user", "Ship on Mondays.")], ITEM.scope, ITEM.at, "monday")
    assert fake.given[-1]["retain_chunk_size"] == CHARACTERS


@pytest.mark.slow
def test_a_question_without_a_word_is_not_put(tmp_path: Path) -> None:
    fake = FakeHindsight({})
    with opened(fake, tmp_path) as memory:
        assert memory.recall("?! ...", ITEM.scope, 5, ITEM.at) == []
    assert len(fake.asked) == 1


def test_both_rows_share_a_server_and_only_the_inferring_one_extracts() -> None:
    plain, inferring = Hindsight(), Hindsight().configured({"infer": "true"})
    assert plain.serve("http://127.0.0.1:1/v1") == inferring.serve("http://127.0.0.1:1/v1")
    assert (plain.support["extracts"].level, inferring.support["extracts"].level) == ("unsupported", "native")
    with pytest.raises(ValueError, match="infer cannot be 'yes'; known: false, true"):
        plain.configured({"infer": "yes"})


def test_without_a_server_it_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="HINDSIGHT_URL names a running one"):
        HindsightMemory(Space(str(tmp_path), "", "", 4, 1), infer=False)
