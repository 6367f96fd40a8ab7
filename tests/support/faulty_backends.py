"""Adapters that misbehave on purpose. Each one is a fault for tests, never a backend: no registry names them.

Standard library and `harness.adapter` only, as for any adapter: they are played in child processes.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from harness.adapter import (
    CAPABILITIES,
    Ack,
    BaseAdapter,
    BaseMemory,
    Call,
    Hit,
    Item,
    Layer,
    Memory,
    Scope,
    Space,
    Support,
    Unsupported,
    delete_and_add,
    to_wire,
)


def lend(place: Path) -> None:
    """Puts a copy of this file beside the adapters of a test's own, as their children see no other of the tests."""
    (place / "tests" / "support").mkdir(parents=True)
    shutil.copy(__file__, place / "tests" / "support")


FOREVER = 100
"""Seconds: longer than any deadline of a test."""


class SoundMemory(BaseMemory):
    """What the faults have in common where they behave: a list of items, searched by words, kept in a file."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.file = Path(space.root, "items.json")
        self.items: dict[str, Item] = {}
        self.made = 0

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = []
        for item in items:
            self.made += 1
            self.items[f"m{self.made}"] = item
            acks.append(Ack((f"m{self.made}",)))
        self.file.write_text(json.dumps([to_wire(item) for item in self.items.values()]))
        return acks

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        asked = set(query.lower().split())
        rank = sorted(self.items, key=lambda name: -len(asked & set(self.items[name].text.lower().split())))
        return [self.hit(name) for name in rank[:k]]

    def hit(self, name: str) -> Hit:
        item = self.items[name]
        return Hit(name, item.text, 0.5, item.source, item.at, item.scope)

    def entries(self, scope: Scope) -> list[Hit]:
        return [self.hit(name) for name, item in self.items.items() if item.scope == scope]

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self.items.pop(name, None) is not None for name in memory_ids]

    def close(self) -> None:
        """Nothing is held open."""


class Sound(BaseAdapter):
    """No fault: what the others are compared with."""

    name = "faulty"
    native: ClassVar[tuple[str, ...]] = (
        "ranked", "entries", "forget", "persistent", "source", "created", "scope_org", "scope_repo",
    )  # fmt: skip
    emulated: ClassVar = {"supersede": "delete and add"}
    settings: ClassVar[tuple[str, ...]] = ("answer", "api_key", "store")
    memory: ClassVar[type[SoundMemory]] = SoundMemory

    def version(self) -> str:
        return "1"

    def open(self, space: Space) -> Memory:
        return self.memory(space)

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("file", "items.json", "file")]


def recalling(does: Any, doc: str, **more: Any) -> type[Sound]:
    """A fault of `recall`: `does` is the method."""
    memory = type("FaultyMemory", (SoundMemory,), {"recall": does})
    return type("Fault", (Sound,), {"memory": memory, "__doc__": doc, **more})


def _raising(error: BaseException) -> Any:
    def recall(*_: object) -> list[Hit]:
        raise error

    return recall


def _answering(value: Any) -> Any:
    return lambda *_: value


# --- faults of recall: what is raised --------------------------------------------------------------------------------

Raises = recalling(_raising(ValueError("the index\nis broken")), "Fault: raises.")
Leaves = recalling(_raising(SystemExit(7)), "Fault: raises SystemExit, as a command line tool inside would.")
Interrupts = recalling(_raising(KeyboardInterrupt()), "Fault: raises KeyboardInterrupt.")
Refuses = recalling(_raising(Unsupported("not today")), "Fault: refuses what nobody may refuse.")


class _Mute(Exception):  # noqa: N818  its fault is not its name
    def __str__(self) -> str:
        raise ValueError("no words")


RaisesMute = recalling(_raising(_Mute()), "Fault: raises an error whose message cannot be told.")

# --- faults of recall: what is answered ------------------------------------------------------------------------------

HIT: dict[str, Any] = {"memory_id": "m1", "text": "a text"}
ANSWERS: dict[str, Any] = {
    "a string": "no list at all",
    "a number": 7,
    "nothing": None,
    "a set": {1, 2},
    "an object": object(),
    "a list of strings": ["a text"],
    "NaN": [Hit("m1", "a text", float("nan"))],
    "infinity": [Hit("m1", "a text", float("inf"))],
    "a field too few": [{"text": "a text"}],
    "a field too many": [{**HIT, "gold": True}],
    "a number for a text": [{**HIT, "text": 7}],
    "a text for a number": [{**HIT, "score": "0.5"}],
    "a word for a flag": [{**HIT, "superseded": "yes"}],
    "a word that is no verdict": [{**HIT, "verdict": {"kind": "outdated"}}],
    "a word for a verdict": [{**HIT, "verdict": "stale"}],
    "a number for the id of a verdict": [{**HIT, "verdict": {"kind": "stale", "by": 7}}],
    "a verdict with a field too many": [{**HIT, "verdict": {"kind": "stale", "gold": True}}],
    "a number for an id": [{**HIT, "memory_id": 7}],
    "bytes": [{**HIT, "text": b"a text"}],
    "a lone surrogate": [Hit("m1", "half \ud83d of a sign")],
    "too many hits": [Hit(f"m{i}", "a text") for i in range(60)],
}
"""What it is called -> what recall answers; each breaks the contract."""


class Answers(Sound):
    """Fault: recall answers what the setting `answer` names."""

    class memory(SoundMemory):  # noqa: N801  takes the place of the class attribute
        def recall(self, query: str, scope: Scope, k: int, at: str) -> Any:
            return ANSWERS[self.space.settings["answer"]]


Verbose = recalling(_answering([Hit("m1", "x" * 10_000_000)]), "Fault: answers 10 MB.")


class Silent(Sound):
    """Fault: every list that must be as long as the question is too short; flags are words."""

    class memory(SoundMemory):  # noqa: N801
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            return super().remember(items)[1:]

        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            return []

        def settle(self, seconds: float) -> Any:
            return "true"


# --- faults of recall: what happens to the process -------------------------------------------------------------------

Hangs = recalling(lambda *_: time.sleep(FOREVER), "Fault: never answers.")
HangsInC = recalling(lambda *_: ctypes.PyDLL(None).sleep(FOREVER), "Fault: hangs in C code and holds the GIL.")
Exits = recalling(lambda *_: os._exit(9), "Fault: the process is gone.")
Crashes = recalling(lambda *_: ctypes.string_at(0), "Fault: a segmentation fault.")


def _last_words(*_: object) -> None:
    os.write(2, b"out of memory: \x1b[31mgiving up\x1b[0m\n")
    os.kill(os.getpid(), 9)


SaysWhy = recalling(_last_words, "Fault: is killed, and says why on stderr before.")


def _hang_up(*_: object) -> None:
    os.closerange(3, 1024)
    time.sleep(FOREVER)


HangsUp = recalling(_hang_up, "Fault: closes its channel, and stays.")


class ExitsLater(Sound):
    """Fault: the process ends by itself between two calls."""

    class memory(SoundMemory):  # noqa: N801
        def settle(self, seconds: float) -> bool:
            subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -SEGV {os.getpid()}"])
            return True


class Prints(Sound):
    """Fault: prints all over stdout, through Python and past it, as chatty SDKs do."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            print('{"ok": [], "took": 0}' * 500)  # noqa: T201  the fault
            os.write(1, b'\xff\x00{"ok": []}\n')
            os.write(2, b"warning: \xfe\n")
            return super().recall(query, scope, k, at)


class Forks(Sound):
    """Fault: leaves a grandchild behind; its number is in the file `grandchild` of the space."""

    class memory(SoundMemory):  # noqa: N801
        def __init__(self, space: Space) -> None:
            super().__init__(space)
            grandchild = subprocess.Popen(["sleep", str(FOREVER)])
            Path(space.root, "grandchild").write_text(str(grandchild.pid))


# --- faults of other operations --------------------------------------------------------------------------------------


class Tells(Sound):
    """No fault: recall tells what the process can see of its environment."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            seen = {"environ": dict(os.environ), "argv": sys.argv, "cwd": str(Path.cwd()), "pid": os.getpid()}
            return [Hit("environment", json.dumps(seen))]


class Refusing(Sound):
    """No fault: refuses two operations; it declares one of them as unsupported, and the other not."""

    native = ("ranked", "history")

    class memory(SoundMemory):  # noqa: N801
        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            raise Unsupported("get")

        def history(self, scope: Scope, memory_id: str) -> list[str]:
            raise Unsupported("history")


class _ForgetfulMemory(SoundMemory):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack(()) for _ in items]


class KeepsNothing(Sound):
    """Fault: acknowledges every memory without an id."""

    memory = _ForgetfulMemory


class FailsToDescribe(Sound):
    """Fault: cannot even say what it is."""

    def version(self) -> str:
        raise RuntimeError("no version \x1b[2J here")


class FailsToOpen(Sound):
    """Fault: cannot open its store, and its message quotes the settings."""

    def open(self, space: Space) -> Memory:
        raise RuntimeError(f"cannot log in with {dict(space.settings)}")


class Rewrites(Sound):
    """No fault: it declares a model inside."""

    native = (*Sound.native, "extracts")


class WritesItsKey(Sound):
    """Fault: a program for others holds the key that it was lent."""

    def configured(self, settings: Mapping[str, str]) -> WritesItsKey:
        self.lent = dict(settings)
        return self

    def program(self, calls: Sequence[Call]) -> str:
        return f"connect({self.lent})"


class FailsToClose(Sound):
    """Fault: raises on closing."""

    class memory(SoundMemory):  # noqa: N801
        def close(self) -> None:
            raise RuntimeError("cannot flush")


class HangsOnClose(Sound):
    """Fault: never comes back from closing."""

    class memory(SoundMemory):  # noqa: N801
        def close(self) -> None:
            time.sleep(FOREVER)


class FailsToTellStorage(Sound):
    """Fault: does not know where its data lies."""

    def storage(self, space: Space) -> list[Layer]:
        raise RuntimeError("no idea where")


class LiesAboutStorage(Sound):
    """Fault: names places that are no place of its own."""

    def storage(self, space: Space) -> list[Layer]:
        return [Layer(path, path, "file") for path in ("../../..", "/etc", "\x00", "x" * 5000, "nowhere")]


class HalfDeclared(Sound):
    """Fault: its declaration leaves capabilities out."""

    @property
    def support(self) -> dict[str, Support]:
        return {"ranked": Support("native")}


class OverDeclared(Sound):
    """Fault: its declaration names a capability that does not exist."""

    @property
    def support(self) -> dict[str, Support]:
        return {name: Support("native") for name in (*CAPABILITIES, "telepathy")}


class NoAdapter:
    """Fault: not an adapter at all."""


class NeedsArguments(Sound):
    """Fault: cannot be built without arguments."""

    def __init__(self, required: str) -> None:
        self.required = required


class GarbageOnTheLine(Sound):
    """Fault: finds the private descriptor and writes to it."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            os.write(int(sys.argv[1]), b"}{ garbage\n")
            return []


class SlowRecall(Sound):
    """No fault: recall takes long enough that a run can be killed in the middle of a trial."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            time.sleep(0.05)
            return super().recall(query, scope, k, at)


class HangsWithAHelper(Sound):
    """Fault: a helper in a session of its own, as a daemon has, and then a question that is never answered."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            helper = subprocess.Popen(
                [sys.executable, "-c", f"import time; time.sleep({FOREVER})"], start_new_session=True
            )
            Path(os.environ["HOME"], "helper.pid").write_text(str(helper.pid))
            time.sleep(FOREVER)
            return []


class LeavesWorkForItsEnd(Sound):
    """No fault: what it wrote reaches the disk as its process ends: by an exit function, a thread and two files."""

    class memory(SoundMemory):  # noqa: N801
        def close(self) -> None:
            root = Path(self.space.root)
            atexit.register(root.joinpath("at-exit").write_text, "written")
            threading.Timer(0.1, root.joinpath("thread").write_text, ["written"]).start()
            self.text = root.joinpath("text").open("w", encoding="utf-8")
            self.text.write("written")
            self.bytes = root.joinpath("bytes").open("wb")
            self.bytes.write(b"written")
