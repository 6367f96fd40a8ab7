"""Mapping files of servers that look into a checkout, and of those that find ids and tell texts one by one."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from adapters._mcp_mapping import fill, list_rows, read_mapping
from adapters.mcp import Mcp, McpMemory, read_hit
from harness.adapter import Ack, Scope, Source, Space, Verdict
from harness.backend import registry
from harness.conformance import CHECKS, open_setting
from tests.support import fake_checking_mcp_server
from tests.support.items import AT, SHOP, item

Lend = Callable[..., McpMemory]
OTHER = Scope(repo="other", org="acme")
GUIDE = Source("1a2b3c", "docs/deploy.md", 2)
MAPPING = f"""
command = ['{sys.executable}', '{fake_checking_mcp_server.__file__}', '{{root}}', '{{work_tree}}']
cwd = "{{work_tree}}"
env = {{ NOTES_TREE = "{{work_tree}}" }}
traits = ["ranked", "persistent", "work_tree"]
row = {{ id = "id", text = "text", scope = "tag", verdict = ["changed", "checked"] }}
verdicts = {{ true = "stale", none = "unverified" }}

[remember]
tool = "note"
pattern = 'noted (?P<id>\\w+)'
[remember.arguments]
text = "{{text}}"
tag = "{{scope}}"
file = "{{path}}"
line = "{{line}}"
label = "{{path!s}}:{{line}}"
[recall]
tool = "find"
arguments.words = "{{query}}"
pattern = '(?m)^(?P<id>\\w+) was found'
[get]
tool = "show"
arguments.id = "{{id}}"
rows = ""
missing = "^no note is called"
[update]
tool = "amend"
arguments = {{ id = "{{id}}", text = "{{text}}" }}
pattern = 'noted (?P<id>\\w+)'
"""
PLAIN = MAPPING.replace(", '{work_tree}'", "").replace("{work_tree}", "{root}").replace(', "work_tree"', "")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "docs").mkdir(parents=True)
    say(tmp_path / "tree", "Deploys go to harborline.")
    return tmp_path / "tree"


def say(tree: Path, line: str) -> None:
    (tree / "docs" / "deploy.md").write_text(f"# Deploys\n{line}\n")


@pytest.fixture
def lend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lend]:
    """Opens the fake server by a mapping, with the checkouts that it is given."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "root").mkdir()
    with ExitStack() as stack:

        def open_by(mapping: str, trees: Mapping[str, Path]) -> McpMemory:
            (tmp_path / "notes.toml").write_text(mapping)
            lent = {repo: str(tree) for repo, tree in trees.items()}
            space = Space(str(tmp_path / "root"), "http://127.0.0.1:1/v1", "key", 0, 1, work_trees=lent)
            opened = Mcp().configured({"server": "notes"}).open(space)
            assert isinstance(opened, McpMemory)
            return stack.enter_context(closing(opened))

        yield open_by


def told(memory: McpMemory, memory_id: str) -> Any:
    return json.loads(memory.server.call("show", {"id": memory_id})[1])


@pytest.mark.slow
def test_a_server_runs_in_the_checkout_and_says_what_changed(lend: Lend, tree: Path) -> None:
    memory = lend(MAPPING, {"storefront": tree})
    cited, said = memory.remember([item("deploys go to harborline", source=GUIDE), item("deploys are on mondays")])
    assert told(memory, cited.ids[0])["seen"] == {"cwd": str(tree), "argv": [str(tree)], "env": str(tree)}
    assert [hit.verdict for hit in memory.recall("where do deploys go", SHOP, 5, AT)] == [None, Verdict("unverified")]
    say(tree, "Deploys go to kestrelway.")
    assert [hit.verdict for hit in memory.recall("where do deploys go", SHOP, 5, AT)] == [
        Verdict("stale"),
        Verdict("unverified"),
    ]
    assert memory.get(SHOP, said.ids[0])


@pytest.mark.slow
def test_it_declares_the_checkout_and_the_verdict_of_what_is_read_by_its_id(lend: Lend) -> None:
    lend(MAPPING, {})
    support = Mcp().configured({"server": "notes"}).support
    assert {support[name].level for name in ("work_tree", "verdict", "get", "update")} == {"native"}
    assert {support[name].level for name in ("scope_repo", "scope_org")} == {"emulated"}


@pytest.mark.slow
def test_what_a_source_lacks_is_left_out_of_a_call_and_empty_in_a_text(lend: Lend, tree: Path) -> None:
    memory = lend(MAPPING, {"storefront": tree})
    sources = (GUIDE, Source(path="docs/deploy.md"), Source(session="monday"), None)
    names = [ack.ids[0] for ack in memory.remember([item("deploys", source=source) for source in sources])]
    rows = [told(memory, name) for name in names]
    assert [tuple(row["given"].values()) for row in rows] == [
        ("docs/deploy.md", 2), ("docs/deploy.md", None), (None, None), (None, None),
    ]  # fmt: skip
    assert [row["label"] for row in rows] == ["docs/deploy.md:2", "docs/deploy.md:", ":", ":"]


@pytest.mark.slow
@pytest.mark.parametrize("lent", [True, False])
def test_a_path_that_is_in_no_checkout_of_the_server_is_not_given_to_it(lend: Lend, tree: Path, lent: bool) -> None:
    memory = lend(MAPPING, {"storefront": tree} if lent else {})
    items = [item("deploys", scope, GUIDE) for scope in (SHOP, Scope(org="acme"), OTHER)]
    rows = [told(memory, ack.ids[0]) for ack in memory.remember(items)]
    assert [row["given"]["file"] is not None for row in rows] == [lent, lent, False]
    assert rows[0]["seen"]["cwd"] == str(tree if lent else tree.with_name("root"))


@pytest.mark.slow
def test_a_server_without_a_checkout_is_given_every_path(lend: Lend) -> None:
    memory = lend(PLAIN, {})
    acks = memory.remember([item("deploys", scope, GUIDE) for scope in (SHOP, OTHER)])
    assert [told(memory, ack.ids[0])["given"]["line"] for ack in acks] == [2, 2]


@pytest.mark.slow
def test_what_is_found_by_its_id_alone_is_read_until_there_is_enough(lend: Lend, tmp_path: Path) -> None:
    memory = lend(PLAIN, {})
    memory.remember([item("a queue"), item("the queue", OTHER), item("the queue is"), item("the queue is redis")])
    hits = memory.recall("the queue is redis", SHOP, 2, AT)
    assert [hit.text for hit in hits] == ["the queue is redis", "the queue is"]
    assert (tmp_path / "root" / "shown").read_text().split() == ["n4", "n3"]
    texts = [hit.text for hit in memory.recall("queue", SHOP, 9, AT)]
    assert texts == ["a queue", "the queue is", "the queue is redis"]
    assert memory.get(SHOP, "n999") is None and memory.get(SHOP, "n2") is None


@pytest.mark.slow
def test_what_a_list_says_beside_an_id_counts_where_the_memory_does_not_say_it(lend: Lend) -> None:
    scored = PLAIN.replace("(?m)^(?P<id>\\w+) was found", "(?m)^(?P<id>n(?P<score>\\d)) was found")
    memory = lend(scored, {})
    memory.remember([item("the queue is redis"), item("the queue")])
    assert [(hit.text, hit.score) for hit in memory.recall("the queue is redis", SHOP, 1, AT)] == [("the queue", 2.0)]


@pytest.mark.slow
def test_an_update_is_what_the_server_says_of_it(lend: Lend) -> None:
    memory = lend(PLAIN, {})
    (ack,) = memory.remember([item("the queue is redis")])
    assert memory.update(SHOP, ack.ids[0], item("the queue is kafka")) == ack
    assert memory.update(SHOP, ack.ids[0], item("refuse this")) == Ack(())
    assert [hit.text for hit in memory.recall("queue", SHOP, 5, AT)] == ["the queue is kafka"]


def test_an_argument_that_has_nothing_is_left_out() -> None:
    values = {"path": None, "line": None, "text": "{path}"}
    template = {"files": ["{path}", "{text}"], "text": "{text} {path!s}", "line": "{line}", "tags": [], "more": {}}
    assert fill(template, values) == {"files": ["{path}"], "text": "{path} ", "tags": [], "more": {}}


@pytest.mark.parametrize(
    ("path", "line", "filled"),
    [
        ("a.py", 3, {"anchors": [{"file": "a.py", "lines": [3, 3]}], "k": 1}),
        ("a.py", None, {"anchors": [{"file": "a.py"}], "k": 1}),
        (None, None, {"k": 1}),
    ],
)
def test_what_holds_nothing_else_is_left_out_with_it(
    path: str | None, line: int | None, filled: Mapping[str, object]
) -> None:
    template = {"anchors": [{"file": "{path}", "lines": ["{line}", "{line}"]}], "k": 1}
    assert fill(template, {"path": path, "line": line}) == filled


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"changed": True, "checked": None}, Verdict("stale")),
        ({"changed": False, "checked": None}, Verdict("unverified")),
        ({"changed": False, "checked": 12}, None),
        ({}, Verdict("unverified")),
    ],
)
def test_the_first_word_that_the_mapping_knows_is_the_verdict(
    answer: Mapping[str, object], verdict: Verdict | None, tmp_path: Path
) -> None:
    (tmp_path / "notes.toml").write_text(MAPPING)
    mapping = read_mapping(tmp_path / "notes.toml")
    (row,) = list_rows(mapping.tools["get"], {"id": 1, "text": "x", **answer}, "")
    assert read_hit(row, "get", mapping.verdicts).verdict == verdict


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (', "work_tree"', "", "command: {work_tree} needs the trait work_tree"),
        ("{work_tree}", "{root}", "traits: work_tree needs {work_tree} in command, env or cwd"),
        ('cwd = "{work_tree}"', 'cwd = "{repo}"', "unknown field in cwd: repo"),
        ("'{root}'", "'{rot}'", "unknown field in command: rot"),
        ('NOTES_TREE = "{work_tree}"', 'NOTES_TREE = "{path}"', "unknown field in env: path"),
        ('words = "{query}"', 'words = "{path}"', "unknown field in [recall]: path"),
        ('id = "id"', 'id = ["id", "name"]', "`id` in [remember] must be one path"),
        ('["changed", "checked"]', "[1]", "`verdict` in [remember] must be a path, or several"),
    ],
)
def test_what_is_wrong_with_a_mapping_names_its_key(before: str, after: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.toml"
    assert before in MAPPING
    path.write_text(MAPPING.replace(before, after))
    with pytest.raises(ValueError, match=r"^notes\.toml: ") as caught:
        read_mapping(path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_server_in_a_contained_process_sees_what_became_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    program = shutil.copy(fake_checking_mcp_server.__file__, tmp_path / "server.py")
    (tmp_path / "notes.toml").write_text(MAPPING.replace(fake_checking_mcp_server.__file__, str(program)))
    (check,) = (check for check in CHECKS if check.name == "sees_what_became_of_a_line")
    with open_setting(registry.parse("mcp,server=notes")) as place:
        outcome = place.judge(check)
    assert outcome.status == "kept", outcome.why
