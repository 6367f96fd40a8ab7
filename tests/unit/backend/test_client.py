"""Backends that misbehave: every fault is of the right class, and none of them reaches the harness."""

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
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from harness import paths
from harness.adapter import Ack, Hit, Item, Layer, Scope, Source, Space, Usage, encode, to_wire
from harness.backend import client, replies
from harness.backend.client import Child, Deadlines, MemoryFault, RemoteMemory
from harness.backend.forkserver import NO_TELEMETRY, ForkServers, Launcher, spawn
from harness.model.backend import Fault
from tests.support.faulty_backends import ANSWERS

HOME = Scope(repo="shop", org="lantern")
AT = "2025-04-01T10:00:00+00:00"
SHORT = Deadlines(open=30, call=1.0, item=0, exit=1.0)
PATIENT = Deadlines(open=60, call=30, item=0, exit=5)


@pytest.fixture
def space(tmp_path: Path) -> Space:
    (tmp_path / "store").mkdir()
    return Space(str(tmp_path / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)


LAUNCH: list[Launcher] = [spawn]


@pytest.fixture(autouse=True, params=["spawned", "forked"])
def launched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Every promise holds for both ways in which a child comes to be."""
    with ForkServers(tmp_path / "forkservers") as fork_servers:
        LAUNCH.append(fork_servers.launch if request.param == "forked" else spawn)
        yield
        LAUNCH.pop()


@contextmanager
def opened(name: str, space: Space, deadlines: Deadlines = PATIENT, **settings: str) -> Iterator[RemoteMemory]:
    reference = name if ":" in name else f"tests.support.faulty_backends:{name}"
    space = Space(space.root, space.gateway, space.key, space.dims, space.seed, settings)
    memory = client.open_memory(reference, space, Path(space.root).parent / "home", deadlines, LAUNCH[-1])
    try:
        yield memory
    finally:
        memory.kill()


def item(text: str = "Deploys go to kestrelway") -> Item:
    return Item(text, HOME, AT, "project", Source("c" * 40, "docs/a.md", 3, "monday"), 0.9, AT)


def asked(memory: RemoteMemory) -> list[Hit]:
    return memory.recall("Where do deploys go?", HOME, 5, AT)


def fault(memory: RemoteMemory) -> MemoryFault:
    with pytest.raises(MemoryFault) as caught:
        asked(memory)
    return caught.value


def gone(pid: int, seconds: float = 10) -> bool:
    """Whether a process ends; a zombie whose parent has not looked yet counts as ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


# --- what works ------------------------------------------------------------------------------------------------------


def test_an_item_comes_back_as_it_went_in(space: Space) -> None:
    with opened("Sound", space) as memory:
        (ack,) = memory.remember([item()])
        assert memory.settle(1)
        assert asked(memory) == [Hit(ack.ids[0], item().text, 0.5, item().source, AT, HOME)]
        assert memory.forget(HOME, [*ack.ids, "never"]) == [True, False]
        assert asked(memory) == []
        memory.close()
    assert gone(memory._child.pid)


@pytest.mark.parametrize(
    "text",
    ["", "\x00 and \x1b[31m", "ünï\u2028\u2029\u202e", "line\nline\r\n", '"}\\n{"', "\U0001f600", "x" * 1_000_000],
    ids=["empty", "NUL", "unicode", "lines", "json", "astral", "long"],
)
def test_any_text_makes_the_round_trip(space: Space, text: str) -> None:
    with opened("Sound", space) as memory:
        memory.remember([item(text)])
        assert [hit.text for hit in asked(memory)] == [text]


def test_what_is_sent_is_the_json_of_its_plain_values() -> None:
    item = Item("text", Scope("shop", user="ada"), "2025-03-01", "project", Source(line=3), expires=None)
    for value in ([item], (1, 2.5, None, "\ud800"), {"a": None}, Ack(("x",)), Usage()):
        assert json.loads(encode(value)) == to_wire(value)
    for wrong in (object(), {1, 2}, float("nan")):
        with pytest.raises((TypeError, ValueError)):
            encode(wrong)


def test_a_half_character_reaches_the_adapter_and_is_a_breach_on_its_way_back(space: Space) -> None:
    with opened("Sound", space) as memory:
        memory.remember([item("half \ud83d")])
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("breach", True)
        str(caught).encode()
        memory.forget(HOME, ["m1"])
        assert asked(memory) == []


def test_two_proxies_work_on_one_space(space: Space) -> None:
    with opened("adapters.notes:Notes", space) as left, opened("adapters.notes:Notes", space) as right:
        left.remember([item("from the left")])
        right.remember([item("from the right")])
        assert left._child.pid != right._child.pid
        for memory in (left, right):
            told = " ".join(hit.text for hit in asked(memory))
            assert "from the left" in told and "from the right" in told


# --- what is answered ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MemoryFault]]:
    """What each wrong answer was taken for: one process an answer, all of them in one go."""
    found = {}
    for number, name in enumerate(ANSWERS):
        root = tmp_path_factory.mktemp(f"answer-{number}")
        (root / "store").mkdir()
        with opened("Answers", Space(str(root / "store"), "", "", 0, 0), answer=name) as memory:
            found[name] = fault(memory)
            memory.settle(1)
    yield found


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_a_wrong_answer_is_a_breach_that_leaves_the_process_alive(answering: dict[str, MemoryFault], name: str) -> None:
    caught = answering[name]
    assert (caught.fault.kind, caught.fault.op, caught.alive) == ("breach", "recall", True)
    assert caught.fault.message and len(caught.fault.message) < 2500


@pytest.mark.slow
def test_the_breach_names_the_field(answering: dict[str, MemoryFault]) -> None:
    assert "0.gold" in answering["a field too many"].fault.message
    assert "0.memory_id" in answering["a field too few"].fault.message
    assert "half a pair of surrogates" in answering["a lone surrogate"].fault.message
    assert "60 hits for k = 5" in answering["too many hits"].fault.message


def test_lists_that_must_be_as_long_as_the_question_are_counted(space: Space) -> None:
    with opened("Silent", space) as memory:
        for call in (lambda: memory.remember([item(), item()]), lambda: memory.forget(HOME, ["m1", "m2"])):
            with pytest.raises(MemoryFault, match=r"returned [01] values for 2") as caught:
                call()
            assert (caught.value.fault.kind, caught.value.alive) == ("breach", True)


def test_a_word_is_no_flag(space: Space) -> None:
    with opened("Silent", space) as memory, pytest.raises(MemoryFault, match="breach in settle"):
        memory.settle(1)


def test_one_memory_of_ten_megabytes_is_not_told(space: Space) -> None:
    with opened("Verbose", space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("limit", True)
        assert len(caught.fault.message) < 200
        memory.settle(1)


def test_what_is_printed_does_not_disturb_the_protocol(space: Space) -> None:
    with opened("Prints", space) as memory:
        memory.remember([item()])
        for _ in range(3):
            assert [hit.text for hit in asked(memory)] == [item().text]
        assert "warning" in memory._child.output()


def test_garbage_on_the_private_line_is_a_fault(space: Space) -> None:
    with opened("GarbageOnTheLine", space, SHORT) as memory:
        assert fault(memory).fault.kind == "breach"


# --- what is raised --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [("Raises", "ValueError: the index"), ("Leaves", "SystemExit: 7"), ("Interrupts", "KeyboardInterrupt")],
)
def test_an_exception_is_the_backends_and_leaves_it_alive(space: Space, name: str, words: str) -> None:
    with opened(name, space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("raised", True)
        assert words in caught.fault.message
        assert "tests/support/faulty_backends.py" in caught.trace
        assert memory.settle(1)


def test_an_exception_that_cannot_be_told_was_raised_all_the_same(space: Space) -> None:
    with opened("RaisesMute", space) as memory:
        caught = fault(memory)
        assert (caught.fault.kind, caught.alive) == ("raised", True)
        assert caught.fault.message == "_Mute: (its text cannot be shown: its __str__ raised ValueError)"
        assert memory.settle(1)


def test_a_declared_refusal_is_none_of_the_backends_faults_and_another_is_a_breach(space: Space) -> None:
    with opened("Refusing", space) as memory:
        with pytest.raises(MemoryFault) as declared:
            memory.get(HOME, "m1")
        with pytest.raises(MemoryFault) as undeclared:
            memory.history(HOME, "m1")
        assert (declared.value.fault.kind, undeclared.value.fault.kind) == ("refused", "breach")
        assert declared.value.alive and undeclared.value.alive
    with opened("Refuses", space) as memory:
        assert fault(memory).fault.kind == "breach"


# --- what happens to the process -------------------------------------------------------------------------------------


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


def test_a_grandchild_dies_with_the_group(space: Space) -> None:
    with opened("Forks", space) as memory:
        grandchild = int(Path(space.root, "grandchild").read_text())
        assert not gone(grandchild, 0.1)
        memory.close()
        assert gone(grandchild)


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


def test_who_waits_longer_for_a_call_waits_as_long_for_opening() -> None:
    assert (SHORT.allow(None), SHORT.allow(20.0).open, SHORT.allow(200.0).open) == (SHORT, 30, 200.0)


def test_a_fault_crosses_processes() -> None:
    there = MemoryFault(Fault(kind="raised", op="recall", message="no such table"), alive=True, trace="adapter.py:3")
    here = pickle.loads(pickle.dumps(there))
    assert (str(here), here.fault, here.alive, here.trace) == (str(there), there.fault, True, "adapter.py:3")


@pytest.mark.parametrize(("name", "kind"), [("FailsToClose", "raised"), ("HangsOnClose", "timed-out")])
def test_a_close_that_fails_is_a_fault_and_ends_the_process(space: Space, name: str, kind: str) -> None:
    with opened(name, space, SHORT) as memory:
        with pytest.raises(MemoryFault) as caught:
            memory.close()
        assert (caught.value.fault.kind, caught.value.fault.op) == (kind, "close")
        assert gone(memory._child.pid)


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
