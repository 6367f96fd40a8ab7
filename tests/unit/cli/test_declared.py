"""tests/golden/declared.md says what the adapters declare: the table is what the command above it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from click.testing import CliRunner

from harness import paths
from harness.adapter import CAPABILITIES
from harness.backend import registry
from harness.backend.replies import Declaration
from harness.cli import commands
from harness.cli.capabilities import write_markdown
from harness.model.backend import Declared

PART = re.compile(r"<!-- coldwarm list ((?:-b \S+ ?)+)-->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.mark.slow
def test_the_docs_show_what_every_backend_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM0_API_KEY", "to be described it is only needed, not used")
    found = PART.search((paths.ROOT / "tests" / "golden" / "declared.md").read_text("utf-8"))
    assert found is not None
    words = found[1].split()
    shown = CliRunner().invoke(commands, ["list", *words])
    assert shown.exit_code == 0, shown.output
    assert found[2].strip() == shown.output.strip(), "make golden GOLDEN=--declared"
    named = {registry.parse(word).adapter for word in words if word != "-b"}
    assert named == {name for name, entry in registry.list_adapters().items() if not entry.control}


def test_levels_are_a_table_and_equal_notes_stand_together() -> None:
    support: Mapping[str, Declared] = {
        **dict.fromkeys(CAPABILITIES, Declared(level="unsupported", note="not there")),
        "forget": Declared(level="native"),
        "source": Declared(level="emulated", note="echoed"),
    }
    lines = write_markdown(
        {"one": Declaration(support=support, embeds=True), "two": Declaration(support=support)}
    ).splitlines()
    assert lines[0] == "|  | `one` | `two` |"
    assert "| `forget` | native | native |" in lines and "| `source` | emulated | emulated |" in lines
    assert "| `get` | - | - |" in lines
    assert lines.count("- emulated: `source`: echoed") == 2
    (note, _) = (line for line in lines if line.startswith("- unsupported"))
    assert note.endswith(": not there") and note.count("`") == 2 * (len(CAPABILITIES) - 2)


def test_a_backend_that_nobody_knows_is_bad_usage() -> None:
    shown = CliRunner().invoke(commands, ["list", "-b", "lettta"])
    assert shown.exit_code == 2 and "did you mean letta?" in shown.output
