"""A broken sequence as a program against the backend's own SDK alone: what it says, and that it shows the same."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.chroma import Chroma
from adapters.mem0 import Mem0
from adapters.mem0_plain import Mem0Plain
from adapters.notes import Notes
from harness.adapter import Call, Scope, read_call, to_wire
from harness.model.sequence import Difference, Step, Steps
from harness.promises.program import list_calls
from tests.support.nights import leave_to_night

API = Scope(repo="api")
CROWD = (
    Step(op="remember", scope=API),
    Step(op="remember", scope=API, count=11),
    Step(op="remember", scope=API, of=(11,), count=500, form="again"),
    Step(op="recall", scope=API, of=(0,)),
)
"""Among so many equal texts Chroma does not find another one by its own vector."""
EVERYTHING = (
    Step(op="remember", scope=API, count=5),
    Step(op="remember", scope=Scope(), form="odd"),
    Step(op="update", scope=API, of=(0,), form="long"),
    Step(op="supersede", scope=API, of=(1, 2), form="capitals"),
    Step(op="forget", scope=API, of=(3, -1)),
    Step(op="forget", scope=Scope(repo="API"), of=(4,)),
    Step(op="reopen"),
    Step(op="remember", scope=Scope(repo="API"), count=101),
    Step(op="forget_scope", scope=Scope(repo="API")),
    Step(op="get", scope=API, of=(0,)),
)


def end(steps: Steps, kind: str = "missing") -> Difference:
    return Difference(at=len(steps) - 1, kind=kind, says="m1 is not listed there")


def run(program: str, folder: Path) -> str:
    """What it prints, in a process that knows nothing of us."""
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", str(file)], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_many_texts_are_one_expression() -> None:
    calls = list_calls(CROWD, end(CROWD))
    assert [call.texts for call in calls] == [
        "['Rule 0']",
        '[f"Rule {number}" for number in range(1, 12)]',
        "['Rule 11'] * 500",
        "'Rule 0'",
    ]
    assert calls[-1].says == "recall the text of m1 in repo=api"
    assert [read_call(to_wire(call)) for call in calls] == calls


def test_texts_are_those_of_the_sequence() -> None:
    calls = list_calls(EVERYTHING, end(EVERYTHING))
    (odd,) = ast.literal_eval(calls[1].texts)
    assert odd.startswith("Rule 5; it's 100% ")
    assert ast.literal_eval(calls[3].texts) == ["RULE 2"]
    asked = list_calls((*EVERYTHING, Step(op="recall", scope=API, of=(0,))), end((*EVERYTHING, EVERYTHING[-1])))
    assert asked[-1].texts == calls[2].texts[1:-1]


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ((Step(op="remember", scope=API), Step(op="kill"), Step(op="entries", scope=API)), "missing"),
        ((Step(op="remember", scope=API), Step(op="entries", who="b", scope=API)), "missing"),
        ((Step(op="remember", scope=API), Step(op="entries", scope=API)), "field source"),
    ],
)
def test_what_one_process_or_one_text_does_not_show_is_not_printed(steps: Steps, kind: str) -> None:
    assert list_calls(steps, end(steps, kind)) == []


def test_an_adapter_prints_nothing_unless_it_says_how() -> None:
    assert Notes().program([Call("remember", "remember a memory", texts="['a']")]) == ""
    assert Mem0Plain().program([Call("remember", "remember a memory", texts="['a']")]) == ""
    assert Chroma().program([Call("history", "ask for a history", of=(0,))]) == ""
    assert Mem0().configured({"infer": "true"}).program([Call("remember", "remember a memory", texts="['a']")]) == ""


PRINTING = [Chroma(), *(Mem0().configured({"store": store}) for store in ("qdrant", "chroma", "faiss"))]


@pytest.mark.parametrize("adapter", PRINTING)
@pytest.mark.parametrize("at", range(len(EVERYTHING)), ids=[step.op for step in EVERYTHING])
def test_a_program_may_end_at_any_step(adapter: Chroma | Mem0, at: int) -> None:
    last = ast.parse(adapter.program(list_calls(EVERYTHING, end(EVERYTHING[: at + 1])))).body[-1]
    calls = [node for node in ast.walk(last) if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"]
    assert [call.keywords for call in calls] == ([] if EVERYTHING[at].op == "reopen" else [[]])


@pytest.mark.parametrize("adapter", PRINTING)
def test_a_program_knows_the_sdk_alone(adapter: Chroma | Mem0) -> None:
    program = adapter.program(list_calls(EVERYTHING, end(EVERYTHING)))
    names = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert names <= {"os", "random", "tempfile", "chromadb", "mem0", "mem0.embeddings.base"}


@pytest.mark.slow
@pytest.mark.backend
def test_chroma_alone_loses_the_same_memory(tmp_path: Path) -> None:
    found = run(Chroma().program(list_calls(CROWD, end(CROWD))), tmp_path)
    assert len(ast.literal_eval(found)) == 10
    assert "m1" not in ast.literal_eval(found)
    few = (*CROWD[:2], CROWD[3])
    assert ast.literal_eval(run(Chroma().program(list_calls(few, end(few))), tmp_path))[0] == "m1"


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.parametrize("store", leave_to_night(["qdrant", "chroma", "faiss"], 3))
def test_mem0_alone_takes_every_step(tmp_path: Path, store: str) -> None:
    mem0 = Mem0().configured({"store": store})
    shown = run(mem0.program(list_calls(EVERYTHING, end(EVERYTHING))), tmp_path)
    assert ast.literal_eval(shown)["memory"].startswith("Rule 100002, then read page")
    listed = (*EVERYTHING[:-1], Step(op="entries", scope=API))
    assert sorted(ast.literal_eval(run(mem0.program(list_calls(listed, end(listed))), tmp_path))) == ["m1", "m5", "m7"]


@pytest.mark.slow
@pytest.mark.backend
def test_chroma_alone_takes_every_step(tmp_path: Path) -> None:
    listed = (*EVERYTHING[:-1], Step(op="entries", scope=API))
    shown = run(Chroma().program(list_calls(listed, end(listed))), tmp_path)
    assert sorted(ast.literal_eval(shown)) == ["m1", "m5", "m7"]
