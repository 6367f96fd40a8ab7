"""The process of a backend: how it ends, and what is asked of it around the calls."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import venv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from harness import paths
from harness.adapter import Ack, Layer, Space
from harness.backend import client, replies
from harness.backend.client import Child, MemoryFault, RemoteMemory
from harness.backend.forkserver import NO_TELEMETRY, spawn
from harness.model.backend import Fault
from tests.support.child_memory import LAUNCH, PATIENT, SHORT, asked, fault, gone, item, launching, opened


@pytest.fixture
def space(tmp_path: Path) -> Space:
    (tmp_path / "store").mkdir()
    return Space(str(tmp_path / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)


@pytest.fixture(autouse=True, params=["spawned", "forked"])
def launched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Every promise holds for both ways in which a child comes to be."""
    with launching(request.param, tmp_path):
        yield


# --- what happens to the process -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Hangs", "HangsInC"])
def test_a_hang_is_killed_also_inside_c_code(space: Space, name: str) -> None:
    with opened(name, space, SHORT) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("timed-out", False)
        assert "1 s" in caught.fault.message
        assert gone(memory._child.pid)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Exits", "exited with 9"),
        ("Crashes", f"signal {int(signal.SIGSEGV)}"),
        ("SaysWhy", "signal 9; it last printed: out of memory"),
    ],
)
def test_a_process_that_ends_says_how(space: Space, name: str, words: str) -> None:
    with opened(name, space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.fault.op, caught.alive) == ("crashed", "recall", False)
        assert words in caught.fault.message


@pytest.mark.slow
def test_who_closes_its_channel_and_stays_was_killed_by_nobody_else(space: Space) -> None:
    with opened("HangsUp", space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.fault.message) == ("crashed", "the process closed its channel")
        assert gone(memory._child.pid)


@pytest.mark.slow
def test_an_end_between_two_calls_is_a_fault_of_the_next_one_and_of_every_later_one(space: Space) -> None:
    with opened("ExitsLater", space) as memory:
        memory.settle(1)
        assert gone(memory._child.pid)
        for _ in range(2):
            caught = fault(memory)
            assert (caught.fault.kind, caught.alive) == ("crashed", False)


def test_what_a_backend_leaves_for_its_end_is_done(space: Space) -> None:
    with opened("LeavesWorkForItsEnd", space) as memory:
        memory.close()
        assert memory._child._process.poll() == 0
    for name in ("at-exit", "thread", "text", "bytes"):
        assert Path(space.root, name).read_text() == "written", name


@pytest.mark.slow
def test_a_grandchild_dies_with_the_group(space: Space) -> None:
    with opened("Forks", space) as memory:
        grandchild = int(Path(space.root, "grandchild").read_text())
        assert not gone(grandchild, 0.1)
        memory.close()
        assert gone(grandchild)


@pytest.mark.slow
def test_killing_takes_the_grandchild_along(space: Space) -> None:
    with opened("Forks", space) as memory:
        memory.kill()
        assert gone(int(Path(space.root, "grandchild").read_text()))


@pytest.mark.slow
def test_the_child_dies_when_its_parent_is_killed(space: Space) -> None:
    """In the middle of a call that never returns."""
    code = f"""
        from pathlib import Path
        from harness.adapter import Scope, Space
        from harness.backend.client import Deadlines, open_memory
        space = Space({space.root!r}, "", "", 0, 0)
        from harness.backend.forkserver import ForkServers, spawn
        launch = {"spawn" if LAUNCH[-1] is spawn else "ForkServers(Path(space.root).parent).launch"}
        memory = open_memory(
            "tests.support.faulty_backends:HangsInC", space, Path({space.root!r}).parent / "home", Deadlines(), launch
        )
        print(memory._child.pid, flush=True)
        memory.recall("", Scope(), 1, "")
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=paths.ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout as said:
        child = int(said.readline())
        time.sleep(0.3)
        assert not gone(child, 0)
        parent.kill()
        parent.wait(10)
    assert gone(child)


# --- around the calls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("no_such_module:Thing", "no module 'no_such_module'"),
        ("tests.support.faulty_backends:Nothing", "has no class 'Nothing'"),
        ("tests.support.faulty_backends", "has no class ''"),
        ("tests.support.faulty_backends:NeedsArguments", "required"),
        ("tests.support.faulty_backends:NoAdapter", "is no adapter, it lacks"),
        ("tests.support.faulty_backends:FailsToDescribe", "RuntimeError: no version"),
        ("tests.support.faulty_backends:HalfDeclared", "entries"),
        ("tests.support.faulty_backends:OverDeclared", "telepathy"),
    ],
)
def test_an_adapter_that_cannot_say_what_it_is_has_one_fault(tmp_path: Path, reference: str, words: str) -> None:
    with pytest.raises(MemoryFault) as caught:
        client.describe(reference, tmp_path / "home")
    assert caught.value.fault.op == "describe"
    assert words in caught.value.fault.message


def test_a_store_that_does_not_open_leaves_no_process(space: Space) -> None:
    with pytest.raises(MemoryFault, match="raised in open: RuntimeError: cannot log in"):
        client.open_memory("tests.support.faulty_backends:FailsToOpen", space, Path(space.root).parent / "home")


def test_secrets_of_the_settings_never_stand_in_a_fault(space: Space) -> None:
    with pytest.raises(MemoryFault) as caught, opened("FailsToOpen", space, api_key="hunter2-and-more", store="faiss"):
        pass
    said = f"{caught.value} {caught.value.trace}"
    assert "hunter2" not in said
    assert "[redacted]" in said and "faiss" in said


def test_a_secret_that_begins_another_does_not_uncover_its_end(space: Space) -> None:
    with opened("Sound", space, api_key="hunter2", store_token="hunter2-and-more") as memory:
        assert memory._child.redact("no hunter2, no hunter2-and-more") == "no [redacted], no [redacted]"


def test_a_program_for_others_holds_no_secret_of_the_settings(tmp_path: Path) -> None:
    adapter, settings = "tests.support.faulty_backends:WritesItsKey", {"api_key": "hunter2-and-more", "store": "faiss"}
    written = client.write_program(adapter, [], settings, tmp_path / "home")
    assert "hunter2" not in written and "faiss" in written


def test_a_burst_has_the_time_of_as_many_writes(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, float] = {}

    def gather(_: object, op: str, *args: object, seconds: float, take: Callable[[list[object]], object]) -> bool:
        given[op] = seconds
        take([Ack(("m1",)) if op == "remember" else replies.BurstWrite(took=0.0)] * 2)
        return True

    with opened("Rewrites", space) as memory:
        monkeypatch.setattr(memory._child, "gather", gather)
        memory.remember([item()] * 2)
        memory.burst([item()] * 2, at_once=True)
    assert given["burst"] == given["remember"] > 2 * PATIENT.rewrite


def test_who_waits_longer_for_a_call_waits_as_long_for_opening() -> None:
    assert (SHORT.allow(None), SHORT.allow(20.0).open, SHORT.allow(200.0).open) == (SHORT, 30, 200.0)


def test_a_fault_crosses_processes() -> None:
    there = MemoryFault(Fault(kind="raised", op="recall", message="no such table"), alive=True, trace="adapter.py:3")
    here = pickle.loads(pickle.dumps(there))
    assert (str(here), here.fault, here.alive, here.trace) == (str(there), there.fault, True, "adapter.py:3")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [("FailsToClose", "raised"), ("HangsOnClose", "timed-out")])
def test_a_close_that_fails_is_a_fault_and_ends_the_process(space: Space, name: str, kind: str) -> None:
    with opened(name, space, SHORT) as memory:
        with pytest.raises(MemoryFault) as caught:
            memory.close()
        assert (caught.value.fault.kind, caught.value.fault.op) == (kind, "close")
        assert gone(memory._child.pid)


@pytest.mark.slow
def test_storage_is_asked_without_an_open_store(space: Space) -> None:
    home = Path(space.root).parent / "home"
    assert client.ask_storage("tests.support.faulty_backends:FailsToOpen", space, home) == [
        Layer("file", "items.json", "file")
    ]
    with pytest.raises(MemoryFault, match="raised in storage: RuntimeError: no idea where"):
        client.ask_storage("tests.support.faulty_backends:FailsToTellStorage", space, home)


def test_the_child_has_a_home_of_its_own_and_nothing_of_the_parents_environment(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "PYTHONSTARTUP", "COLDWARM_CACHE"):
        monkeypatch.setenv(name, "leaked-from-the-parent")
    with opened("Tells", space) as memory:
        (hit,) = asked(memory)
    seen, home = json.loads(hit.text), Path(space.root).parent / "home"
    assert "leaked-from-the-parent" not in hit.text
    assert (seen["environ"]["HOME"], seen["environ"]["TMPDIR"]) == (str(home), str(home / "tmp"))
    assert seen["cwd"] == str(home) and (home / "tmp").is_dir()
    assert not set(seen["environ"]) & (set(os.environ) - {"PATH", "LANG", "LD_LIBRARY_PATH", "HOME", "TMPDIR"}) - {
        "PYTHONPATH", "PYTHONHASHSEED", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "LC_CTYPE", "PWD", *NO_TELEMETRY,
    }  # fmt: skip


def test_adapters_run_in_a_bare_environment(tmp_path: Path, space: Space) -> None:
    """Another interpreter in which nothing is installed: not even what the harness itself needs."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    missing = subprocess.run([python, "-c", "import pydantic"], capture_output=True, cwd=tmp_path, check=False)
    assert missing.returncode != 0
    with Child("adapters.notes:Notes", tmp_path / "home", PATIENT, partial(spawn, python=python)) as child:
        description = child.call(replies.DESCRIPTION, "describe", {}, seconds=30)
        assert description is not None and description.name == "notes"
        child.call(replies.NOTHING, "open", {**vars(space), "settings": {}, "service": None}, seconds=30)
        memory = RemoteMemory(child, description)
        memory.remember([item()])
        assert item().text in asked(memory)[0].text
        memory.close()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module_here:Thing", "there is no module 'no_such_module_here' in: the working folder, "),
        (
            "tests.support.faulty_backends:NoSuchClass",
            "module 'tests.support.faulty_backends' has no class 'NoSuchClass'",
        ),
        (
            "decimal:Decimal",
            "decimal:Decimal is no adapter, it lacks name, support, configured, open, storage: derive ",
        ),
        ("json:dumps", "json:dumps is no adapter, which is made without arguments: missing a required argument: 'obj'"),
    ],
)
def test_what_is_no_adapter_is_said_in_one_plain_line(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(client.MemoryFault) as found:
        client.describe(name, tmp_path)
    assert str(found.value).startswith(says)


def test_who_is_told_to_stop_waits_for_no_child(tmp_path: Path) -> None:
    """A child that could end by itself is killed: one that hangs would be waited for as long as it may take to end."""
    child = Child("adapters.notes:Notes", tmp_path / "home", PATIENT, LAUNCH[-1])
    with pytest.raises(KeyboardInterrupt), child:
        raise KeyboardInterrupt
    assert child._process.poll() == -signal.SIGKILL
