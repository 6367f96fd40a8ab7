"""The tools of a reader with a model: what counts as shown to it."""

from __future__ import annotations

import json
from types import SimpleNamespace

from harness.play.readers import tools
from harness.play.readers.tools import Line, Toolbox


class FakeDesk:
    """Every search finds the same lines, which are those of every file."""

    def __init__(self, *found: str) -> None:
        self.found = list(found)

    def search_text(self, text: str, path: str) -> list[str]:
        return self.found

    def read_file(self, path: str) -> str:
        return "".join(f"{line}\n" for line in self.found)


def use(tool: str, arguments: dict[str, str], *found: str) -> tuple[str, list[Line]]:
    context = SimpleNamespace(policy=None, count=len)
    toolbox = Toolbox(FakeDesk(*found), None, context, lambda query, decision: ())  # type: ignore[arg-type]
    used = toolbox.use(tool, json.dumps(arguments))
    return used.result, toolbox.seen.lines


def search(*found: str) -> tuple[str, list[Line]]:
    return use("search", {"text": "target"}, *found)


def test_lines_that_were_cut_off_a_search_are_not_credited() -> None:
    found = [f"docs/{at}.md:{at}: the target is {'x' * 200} number {at}" for at in range(1, 101)]
    result, lines = search(*found, "(cut after 100 lines)")
    assert len(result) < tools.RESULT + 100 and 0 < len(lines) < 100
    for each in lines:
        assert f"{each.path}:{each.number}: {each.text}" in result
    assert lines[0] == Line("docs/1.md", 1, found[0].partition(": ")[2])


def test_a_line_is_found_in_a_file_whose_name_holds_a_colon() -> None:
    _, lines = search("ops/a:b.txt:12: target: kestrelway", "ops/c.txt:3: at 9:30: target")
    assert lines == [Line("ops/a:b.txt", 12, "target: kestrelway"), Line("ops/c.txt", 3, "at 9:30: target")]


def test_lines_are_counted_as_git_counts_them() -> None:
    _, lines = use("read", {"path": "a.txt"}, "one\x0c\u2028", "two")
    assert [(each.number, each.text) for each in lines] == [(1, "one\x0c\u2028"), (2, "two")]
