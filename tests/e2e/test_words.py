"""Words of a hostile backend through everything that prints or writes: no control, no command, no secret comes out."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path

import pytest

from harness.log.redaction import Redactor
from tests.e2e.conftest import SMALL, Cli, only
from tests.support.talkative_backend import LENT, leaked
from tests.unit.report.test_hostile import COMMAND, harmless

pytestmark = pytest.mark.slow

SECRETS = ("hunter2-lent/and+more", 'hunter2-given="q"\\n')
NAME = "tests.support.talkative_backend:Talkative"
BACKEND = f"{NAME},api_key={SECRETS[1]}"
FORMS = [form for form in leaked(SECRETS).split(" ") if form]
OURS = re.compile(r"^::(error|warning) file=gates\.toml", re.MULTILINE)
"""The commands that are meant."""


def clean(text: str) -> None:
    assert harmless(text.replace("\t", "")), [c for c in text if not harmless(c.replace("\t", ""))][:5]
    found = COMMAND.search(OURS.sub("", text))
    assert not found, text[found.start() - 80 : found.end() + 80]
    told(text)


def told(text: str) -> None:
    assert Redactor(SECRETS).text(text) == text
    for secret in SECRETS:
        assert secret not in text and base64.b64encode(secret.encode()).decode().rstrip("=")[:-1] not in text


def said(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    clean(done.stdout)
    clean(done.stderr)


def _of_a_store(path: Path) -> bool:
    """Whether a file is a store's own, or a copy of one that --keep left: that holds what the backend wrote."""
    _, found, inside = path.as_posix().rpartition("/work/")
    return bool(found) and any(part == "store" or part.startswith("at-") for part in inside.split("/"))


def test_no_word_of_a_backend_does_anything_anywhere(cli: Cli, tmp_path: Path) -> None:
    lent = {LENT: SECRETS[0]}
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nname = "g"\nmeasure = "recall"\nbackends = "*"\nat_least = 1\n')
    for words in (["list", "-b", BACKEND], ["conform", BACKEND]):
        done = cli(*words, env=lent)
        assert done.stdout
        said(done)
    drill = [*SMALL[:-1], "deletion", "--drill-size", "20"]
    said(cli("run", "-b", BACKEND, "-b", "bm25", *drill, "--keep", "--gates", gates, "--out", tmp_path / "o", env=lent))
    run = only(tmp_path / "o")
    assert any("\u202e" in path.name for path in run.rglob("*.json"))
    for read in (("report", run), ("report", run, "--json"), ("score", run), ("compare", run, run), ("github", run)):
        said(cli(*read, env=lent))
    for path in sorted(run.rglob("*")):
        if path.is_file() and not _of_a_store(path):
            text = path.read_text("utf-8", "replace")
            told(text)
            if path.name == "summary.md":  # the one file that is printed into a log as it is
                clean(text)
    printed = [path.read_text("utf-8", "replace") for path in run.rglob("output.txt")]
    assert any("[redacted]" in text for text in printed)
