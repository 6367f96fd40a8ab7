"""MCP servers by mapping files: a fake one that a mapping of this test names, and what mappings may get wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters._labels import label, name_scope, read_scope
from adapters._mcp_mapping import FOLDER, dig, fill, find_mapping, read_mapping
from adapters.mcp import Mcp, McpMemory, read_hit
from harness.adapter import Ack, Filter, Scope, Source, Space, Unsupported, Verdict
from harness.backend import client
from tests.support import fake_mcp_server
from tests.support.items import AT, SHOP, item

ORG = Scope(org="acme")
Lend = Callable[[str], McpMemory]
MAPPING = f"""
command = ['{sys.executable}', '{fake_mcp_server.__file__}', '{{root}}']
storage = [["file", "memories.json", "file"]]
traits = ["ranked", "abstains", "persistent"]
failed = "problem.why"
row = {{ id = "name", text = "text", created = "when", scope = "tag", source = "origin", score = "near" }}

[remember]
tool = "keep"
arguments = {{ text = "{{text}}", tag = "{{scope}}", when = "{{at}}", origin = "{{source}}" }}
pattern = '<(?P<id>\\w+)>'
[recall]
tool = "search"
arguments = {{ words = "{{query:.250}}", tag = "{{scope}}", most = "{{k}}" }}
rows = "found.memories"
[entries]
tool = "browse"
arguments = {{ tag = "{{scope}}", start = "{{offset}}", most = "{{limit}}" }}
rows = "found.memories"
[get]
tool = "look_up"
arguments.name = "{{id}}"
rows = "found.memories"
missing = "nothing is called"
[forget]
tool = "drop"
arguments.name = "{{id}}"
"""


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mcp:
    (tmp_path / "lent").mkdir()
    (tmp_path / "lent" / "fake.toml").write_text(MAPPING)
    monkeypatch.syspath_prepend(str(tmp_path / "lent"))
    return Mcp().configured({"server": "fake"})


@pytest.fixture
def memory(adapter: Mcp, tmp_path: Path) -> Iterator[McpMemory]:
    (tmp_path / "root").mkdir()
    opened = adapter.open(Space(str(tmp_path / "root"), "http://127.0.0.1:1/v1", "key", 0, 1))
    assert isinstance(opened, McpMemory)
    with closing(opened):
        yield opened


@pytest.mark.slow
def test_what_it_is_told_comes_back_with_all_its_parts(memory: McpMemory) -> None:
    source = Source("1a2b3c", "docs/deploy.md", 12, "monday")
    ((name,),) = (ack.ids for ack in memory.remember([item("the queue is redis", source=source)]))
    (hit,) = memory.recall("which queue is it", SHOP, 5, AT)
    assert (hit.memory_id, hit.text, hit.score) == (name, "the queue is redis", 2.0)
    assert (hit.source, hit.created, hit.scope, hit.confidence) == (source, AT, SHOP, 0.75)
    assert memory.get(SHOP, name) is not None and memory.get(Scope(repo="other"), name) is None


@pytest.mark.slow
def test_wider_scopes_hold_and_the_best_come_first(memory: McpMemory) -> None:
    memory.remember([item("queue", ORG), item("the queue is redis"), item("the queue is kafka", Scope(repo="other"))])
    assert [hit.text for hit in memory.recall("the queue is", SHOP, 5, AT)] == ["the queue is redis", "queue"]
    assert [hit.text for hit in memory.recall("the queue is", SHOP, 1, AT)] == ["the queue is redis"]
    assert memory.recall("nothing of it", SHOP, 5, AT) == []


@pytest.mark.slow
def test_a_recall_is_kept_to_labels_where_its_tool_takes_them(
    memory: McpMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[list[str]]()

    def ask(name: str, **values: Any) -> list[Any]:
        told.append(values["labels"])
        return []

    monkeypatch.setattr(memory, "ask", ask)
    memory.remember([item("queue", source=Source(path="a.md")), item("queue"), item("queue", ORG)])
    with pytest.raises(Unsupported, match="recall_where"):
        memory.recall_where("queue", SHOP, 5, AT, Filter(path="a.md"))
    taking = replace(memory.tools["recall"], arguments={"tags": "{labels}"})
    monkeypatch.setattr(memory, "tools", {**memory.tools, "recall": taking})
    asked = Filter(("user", "project"), "a.md"), Filter((), "a.md"), Filter(("project",)), Filter(("user",)), Filter()
    for where in asked:
        memory.recall_where("queue", SHOP, 5, AT, where)
    fitting = [[bool({*each} & {*labels}) for each in told[:3]] for labels in told[3:]]
    first, none, every = [True, False, False], [False] * 3, [True] * 3
    assert fitting == [first, first, every, none, every]
    assert told[0][:2] == [name_scope(SHOP), label(Source(path="a.md"), confidence=0.75)]


@pytest.mark.slow
def test_a_list_of_previews_is_read_past_its_pages(memory: McpMemory) -> None:
    (first, *_) = memory.remember([item(f"fact number {at}") for at in range(201)])
    memory.remember([item("elsewhere", ORG)])
    assert len(entries := memory.entries(SHOP)) == 201 and entries[200].text == "fact number 200"
    assert memory.forget(SHOP, [*first.ids, "n999"]) == [True, False]
    memory.forget_scope(SHOP)
    assert memory.entries(SHOP) == [] and len(memory.entries(ORG)) == 1


@pytest.mark.slow
def test_a_failure_that_the_server_only_says_in_its_answer_is_one(memory: McpMemory) -> None:
    with pytest.raises(RuntimeError, match=r"^keep: no room$"):
        memory.remember([item("refuse this")])
    assert memory.remember([item(" ")]) == [Ack(())]


@pytest.mark.slow
def test_an_error_of_the_protocol_is_one_line(memory: McpMemory) -> None:
    with pytest.raises(RuntimeError, match=r"^nosuch: "):
        memory.server.call("nosuch", {})


@pytest.mark.slow
def test_a_server_that_ends_in_a_call_is_said(memory: McpMemory) -> None:
    with pytest.raises(RuntimeError, match=r"exit code 7, after 1 lines .*; it said: the disk of the server is full"):
        memory.remember([item("end")])


def test_it_declares_what_tools_and_mapping_show(adapter: Mcp) -> None:
    told = {name: entry.level for name, entry in adapter.support.items()}
    assert {told[name] for name in ("entries", "get", "forget", "ranked", "abstains")} == {"native"}
    assert {told[name] for name in ("supersede", "forget_scope", "scope_repo", "source")} == {"emulated"}
    assert {told[name] for name in ("update", "history", "usage", "expiry")} == {"unsupported"}
    assert adapter.version().startswith("by its command, mapping ") and adapter.files[0].endswith("fake.toml")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_each_mapping_of_ours_is_sound_short_and_of_a_package(path: Path) -> None:
    assert read_mapping(path).packages and len(path.read_text().splitlines()) <= 40
    assert Mcp().configured({"server": path.stem}).support


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('tool = "keep"', 'tol = "keep"', "unknown key in [remember]: tol"),
        ("{{query:.250}}", "{{question}}", "unknown field in [recall]: question"),
        ("traits = [", 'unsupported.filter = "none"\ntraits = [', "unknown capability: filter"),
        ("(?P<id>", "(?P<name>", "unknown group in [remember]: name"),
        ("(?P<id>", "(?P<id", "fake.toml: "),
        ('"ranked"', '"rated"', "unknown trait: rated"),
        ("[recall]", "[recal]", "unknown key: recal"),
        ('score = "near"', 'near = "score"', "unknown part of a row in"),
        ('rows = "found.memories"', "", "[recall] says neither by rows nor by pattern"),
        ("command", "comand", "unknown key: comand"),
        ("failed", 'verdicts = {{ old = "outdated" }}\nfailed', "unknown verdict: outdated"),
        ("failed", 'verdicts = "stale"\nfailed', "`verdicts` must be a table of texts; it is 'stale'"),
        ("failed", "env.A = 5\nfailed", "`env` must be a table of texts; it is {'A': 5}"),
        ("failed", 'whole = "no"\nfailed', "`whole` must be true or false"),
        ("failed", 'packages = "fake"\nfailed', "`packages` must be a list of texts"),
        ("command = [", "command = []\nunsupported.x = [", "`command` must be a list of texts, the program first"),
        ("command = [", "packages = [", "it has no `command`"),
        ("{{query:.250}}", "{{query:{nope}}}", "unknown field in [recall]: nope"),
        ('rows = "found.memories"', "rows = 5", "`rows` in [recall] must be a text; it is 5"),
        ('missing = "nothing is called"', "missing = 5", "`missing` in [get] must be a text"),
        ('missing = "nothing is called"', 'missing = "("', "`missing` in [get] is no regular expression: "),
        ('arguments.name = "{id}"', 'arguments = ["{id}"]', "`arguments` in [get] must be a table"),
        ('tool = "keep"', "", "[remember] names no `tool`"),
        ("[forget]", "[update]\n[forget]", "[update] names no `tool`"),
        ('[["file", ', '[["file", "file", ', "`storage` must be a list of name, path and format; it is ['file', "),
        ("memories.json", "../../../etc", "`storage` must lie in the store: ../../../etc does not"),
        ("memories.json", "/etc", "`storage` must lie in the store: /etc does not"),
        ('"file"]]', '"files"]]', "unknown format in storage: files; known: file, postgres, remote, sqlite"),
    ],
)
def test_what_is_wrong_with_a_mapping_is_one_line(before: str, after: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "fake.toml"
    before, after = (each.replace("{{", "{").replace("}}", "}") for each in (before, after))
    assert before in MAPPING
    path.write_text(MAPPING.replace(before, after, 1))
    with pytest.raises(ValueError, match=r"^fake\.toml: ") as caught:
        read_mapping(path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["unknown", "../mcp_servers/server-memory"])
def test_a_server_that_nobody_maps(name: str) -> None:
    with pytest.raises(ValueError, match=rf"server cannot be '{name}'; known: .*server-memory"):
        find_mapping(name)


def test_one_is_said_before_anything_else_is_missing(tmp_path: Path) -> None:
    described = client.describe("adapters.mcp:Mcp", tmp_path / "home", settings={"server": "unknown"})
    assert described.problem.startswith("server cannot be 'unknown'")


@pytest.mark.parametrize("part", ["a b", "", "ä/ö", "x-y_z", "_e", "a_20", "\ud800", "org-acme", "9", "Shop"])
def test_a_scope_comes_back_out_of_its_word(part: str) -> None:
    scope = Scope(repo=part, org="acme")
    assert read_scope(name_scope(scope)) == scope
    assert label(scope).isascii() and label(scope) == label(scope).lower() and not set(label(scope)) & set("%/=&\\*")
    assert read_scope("somebody's") is None and read_scope(None) is None and read_scope("everywhere") == Scope()


def test_a_field_alone_keeps_its_type() -> None:
    values = {"k": 5, "query": "a {b}"}
    assert fill({"n": "{k}", "q": ["{query:.3}!", "", 3]}, values) == {"n": 5, "q": ["a {!", "", 3]}
    assert dig({"a": [{"b": 1}]}, "a.0.b") == 1 and dig({"a": []}, "a.0.b") is None and dig("text", "a") is None


ALONE = MAPPING[: MAPPING.index("[entries]")] + MAPPING[MAPPING.index("[forget]") :]


@pytest.fixture
def lend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], McpMemory]]:
    """Opens the fake server by another mapping."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with ExitStack() as stack:

        def open_by(mapping: str) -> McpMemory:
            (tmp_path / "other.toml").write_text(mapping)
            opened = (
                Mcp().configured({"server": "other"}).open(Space(str(tmp_path), "http://127.0.0.1:1/v1", "k", 0, 1))
            )
            assert isinstance(opened, McpMemory)
            return stack.enter_context(closing(opened))

        yield open_by


@pytest.mark.slow
def test_a_mapping_says_why_a_capability_is_not_there(tmp_path: Path, lend: Lend) -> None:
    lend('unsupported.expiry = "it keeps no dates"\n' + MAPPING)
    support = Mcp().configured({"server": "other"}).support
    assert (support["expiry"].note, support["deprecate"].note) == ("it keeps no dates", "no tool for it")


@pytest.mark.slow
def test_a_server_that_lists_nothing_and_reads_nothing_forgets_all_the_same(lend: Lend) -> None:
    memory = lend(ALONE)
    (ack,) = memory.remember([item("the queue is redis")])
    with pytest.raises(Unsupported, match="get"):
        memory.get(SHOP, ack.ids[0])
    assert memory.forget(SHOP, list(ack.ids)) == [True] and memory.recall("queue", SHOP, 5, AT) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "count"),
    [('start = "{offset}", most = 50', 120), ('start = 0, unread = "{offset}", most = "{limit}"', 100)],
)
def test_a_list_ends_where_nothing_new_comes(lend: Lend, asked: str, count: int) -> None:
    """The server's pages are shorter than it is asked for; or it shows the first one again and again."""
    memory = lend(MAPPING.replace('start = "{offset}", most = "{limit}"', asked))
    memory.remember([item(f"fact number {at}") for at in range(120)])
    assert len(memory.entries(SHOP)) == count


@pytest.mark.slow
def test_a_server_that_deletes_nothing_refuses_to_empty_a_scope(lend: Lend) -> None:
    memory = lend(MAPPING[: MAPPING.index("[forget]")])
    for refused in (lambda: memory.forget_scope(SHOP), lambda: memory.supersede(SHOP, [], item("the queue is redis"))):
        with pytest.raises(Unsupported, match="forget"):
            refused()
    assert memory.entries(SHOP) == []


@pytest.mark.slow
@pytest.mark.parametrize(("more", "count"), [("", 2), ("whole = true\n", 5)])
def test_more_than_was_asked_for_is_cut_unless_the_mapping_says_otherwise(lend: Lend, more: str, count: int) -> None:
    greedy = MAPPING.replace('most = "{k}" }', "most = 99 }").replace('"ranked", ', "")
    memory = lend(more + greedy)
    memory.remember([item(f"queue {at}") for at in range(5)])
    assert len(memory.recall("queue", SHOP, 2, AT)) == count


def test_what_is_ranked_is_never_whole(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("whole = true\n" + MAPPING)
    with pytest.raises(ValueError, match="whole: what is ranked"):
        read_mapping(tmp_path / "other.toml")


@pytest.mark.slow
def test_supersede_and_history_by_tools_of_the_server(lend: Lend) -> None:
    memory = lend(
        MAPPING
        + """
[supersede]
tool = "replace"
arguments = { name = "{old}", text = "{text}" }
pattern = '<(?P<id>\\w+)>'
[history]
tool = "versions"
arguments.name = "{id}"
rows = "found.memories"
"""
    )
    assert memory.supersede(SHOP, [], item("the port is 8080")).ids, "what replaces none is written"
    first, second = (ack.ids[0] for ack in memory.remember([item("the queue is redis"), item("a queue is redis")]))
    assert memory.supersede(SHOP, [first, second], item("the queue is kafka")).ids == (first,)
    assert [hit.text for hit in memory.recall("queue", SHOP, 5, AT)] == ["the queue is kafka"]
    assert memory.history(SHOP, first) == ["the queue is redis", "the queue is kafka"]
    assert Mcp().configured({"server": "other"}).support["history"].level == "native"


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"verdict": "STALE", "reason": "line 5 has changed"}, Verdict("stale", reason="line 5 has changed")),
        ({"verdict": True, "by": 7, "reason": ""}, Verdict("superseded", by="7")),
        ({"verdict": "fresh", "by": "m2"}, None),
        ({"verdict": None}, None),
        ({}, None),
    ],
)
def test_a_word_of_the_server_is_a_verdict_where_the_mapping_knows_it(
    row: dict[str, object], verdict: Verdict | None, tmp_path: Path
) -> None:
    known = 'verdicts = { Stale = "stale", true = "superseded" }\n' + MAPPING
    path = tmp_path / "fake.toml"
    path.write_text(known.replace('score = "near"', 'score = "near", verdict = "state", reason = "why"'))
    mapping = read_mapping(path)
    hit = read_hit({"id": 1, "text": "x", **row}, "recall", mapping.verdicts)
    assert (hit.verdict, hit.warned) == (verdict, verdict is not None)
    assert mapping.returns("verdict") and not read_mapping(FOLDER / "server-memory.toml").returns("verdict")


@pytest.mark.slow
def test_the_verdict_of_a_server_is_declared_and_arrives(lend: Lend) -> None:
    telling = MAPPING.replace('score = "near"', 'score = "near", verdict = "tag", reason = "when"')
    memory = lend(f'verdicts = {{ "{name_scope(SHOP)}" = "expired" }}\n{telling}')
    memory.remember([item("the queue is redis")])
    (hit,) = memory.recall("queue", SHOP, 5, AT)
    assert hit.verdict == Verdict("expired", reason=AT)
    assert Mcp().configured({"server": "other"}).support["verdict"].level == "native"


@pytest.mark.parametrize(
    ("value", "date"),
    [
        (1770112800, "2026-02-03T10:00:00+00:00"),
        (1770112800.5, "2026-02-03T10:00:00.500000+00:00"),
        (1770112800000, "2026-02-03T10:00:00+00:00"),
        ("1770112800", "2026-02-03T10:00:00+00:00"),
        ("2026-02-03T10:00:00Z", "2026-02-03T10:00:00Z"),
        ("Tue, 03 Feb 2026 10:00:00 GMT", "2026-02-03T10:00:00+00:00"),
        ("", None),
        (None, None),
    ],
)
def test_a_date_of_another_form_is_converted(value: object, date: str | None) -> None:
    assert read_hit({"id": 1, "text": "x", "created": value}, "recall").created == date


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"created": 10**30}, "recall: `created` must be a date as text .*; the server sent a number"),
        ({"created": "last week"}, "`created` must be a date .*; the server sent 'last week'"),
        ({"created": [2026, 2]}, "`created` .* sent a list"),
        ({"created": True}, "`created` .* sent true or false"),
        ({"score": "high"}, "recall: `score` must be a finite number; the server sent 'high'"),
        ({"score": float("nan")}, "`score` must be a finite number; the server sent nan"),
        ({"score": "-inf"}, "`score` must be a finite number; the server sent '-inf'"),
        ({"score": 10**400}, "`score` must be a finite number; the server sent a number"),
        ({"score": True}, "`score` must be a finite number; the server sent true or false"),
        (
            {"text": {"en": "x"}},
            "recall: `text` must be a text; the server sent an object: let the mapping name one in",
        ),
        ({"id": [1]}, "recall: `id` must be a text; the server sent a list"),
        ({"id": None}, "recall: a memory in the answer has no `id`"),
        ({"text": None}, "recall: a memory in the answer has no `text`"),
    ],
)
def test_what_cannot_be_read_names_its_key(row: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_hit({"id": 1, "text": "x", **row}, "recall")
