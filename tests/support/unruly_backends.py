"""Adapters that want to harm the run they are played in. Each one is a fault for tests, never a backend.

Standard library and `harness.adapter` only, as for any adapter: they are played in child processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from harness.adapter import Ack, Hit, Item, Layer, Scope, Source, Space, Usage, Verdict
from tests.support.faulty_backends import Sound, SoundMemory


class ForgesItsLog(Sound):
    """Fault: finds the log that was written to last, its own, and closes it as complete."""

    class memory(SoundMemory):  # noqa: N801  takes the place of the class attribute
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            near = [path for folder in Path(self.space.root).parents[:4] for path in folder.glob("*/*.jsonl")]
            if near:
                with max(near, key=lambda path: path.stat().st_mtime_ns).open("ab") as file:
                    file.write(b'{"kind":"closed","status":"complete"}\n')
            return super().recall(query, scope, k, at)


class Ancient(Sound):
    """Fault: every memory is of the year 1, and names no zone."""

    class memory(SoundMemory):  # noqa: N801
        def hit(self, name: str) -> Hit:
            item = self.items[name]
            return Hit(name, item.text, 0.5, item.source, "0001-01-01T00:00:00", item.scope)


class Nests(Sound):
    """Fault: keeps its memories below 1,500 folders."""

    class memory(SoundMemory):  # noqa: N801
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            here = os.open(self.space.root, os.O_DIRECTORY)
            for _ in range(1500):
                with suppress(FileExistsError):
                    os.mkdir("d", dir_fd=here)
                below = os.open("d", os.O_DIRECTORY, dir_fd=here)
                os.close(here)
                here = below
            os.close(here)
            return super().remember(items)

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("all", ".", "file")]


def _hits(text: str, n: int = 1, name: str = "m") -> list[Hit]:
    return [Hit(f"{name}{at}", text) for at in range(n)]


RECALLED: Mapping[str, Callable[[], list[Hit]]] = {
    "a memory of 7 MB": lambda: _hits("x" * 7_000_000),
    "an id of 7 MB": lambda: _hits("x", name="m" * 7_000_000),
    "a path of 2 MB": lambda: [Hit("m", "x", source=Source(path="p" * 2_000_000))],
    "a date of 2 MB": lambda: [Hit("m", "x", created="0" * 2_000_000)],
    "an id of 5,000 in a verdict": lambda: [Hit("m", "x", verdict=Verdict("stale", by="i" * 5000))],
    "a reason of 1,001": lambda: [Hit("m", "x", verdict=Verdict("stale", reason="r" * 1001))],
    "three memories of 1 MB": lambda: _hits("x" * 1_000_000, 3),
    "60,000 memories": lambda: _hits("x", 60_000),
    "20,000 memories": lambda: _hits("x", 20_000),
    "a memory of 500,000 lines": lambda: _hits("\n".join("xy" * 250_000)),
}
"""What it is called -> what recall, entries and get answer; each is more than is read, and within 8 MiB."""
USED: Mapping[str, Usage] = {
    "negative": Usage(-1000, 0, 0),
    "beyond 2^53": Usage(0, 2**53 + 1, 0),
    "beyond all bounds": Usage(0, 0, 10**400),
}


class Floods(Sound):
    """Fault: answers what the setting `answer` names, which is too much."""

    native = (*(word for word in Sound.native if word != "ranked"), "get", "usage")

    class memory(SoundMemory):  # noqa: N801
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            return [Ack(("i" * 5000,)) for _ in items]

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return RECALLED[self.space.settings["answer"]]()

        def entries(self, scope: Scope) -> list[Hit]:
            return self.recall("", scope, 5, "")

        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            return self.entries(scope)[0]

        def usage(self) -> Usage:
            return USED[self.space.settings["answer"]]

    def storage(self, space: Space) -> list[Layer]:
        return [Layer(str(at), ".", "file") for at in range(1000)]


class HidesItsOutput(Sound):
    """Fault: replaces the file of what it printed, then is gone."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            output = Path(os.environ["HOME"], "output.txt")
            how = self.space.settings["answer"]
            if how == "huge":
                os.truncate(output, 60 << 30)
            else:
                output.unlink()
            if how == "pipe":
                os.mkfifo(output)
            elif how == "folder":
                output.mkdir()
            elif how == "link":
                output.symlink_to("/etc/passwd")
            os._exit(9)


HEAVY: Mapping[str, Callable[[int], list[Hit]]] = {
    "sources": lambda n: [Hit(f"m{at}", "x", 0.5, Source(f"{at}", f"p{n}/{at}", at)) for at in range(4_000)],
    "combining marks": lambda _: _hits("e" + "\u0301\u0323" * 2**17),
}
"""What it is called -> what the nth call answers: all that is read, or more."""


class Weighs(Sound):
    """Fault: answers what costs the reader most; the setting `answer` names it."""

    native = tuple(word for word in Sound.native if word != "ranked")

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.made += 1
            return HEAVY[self.space.settings["answer"]](self.made)

        def entries(self, scope: Scope) -> list[Hit]:
            return self.recall("", scope, 5, "")


class SpeaksPastTheWorker(Sound):
    """Fault: writes the answer to its third request itself: a hundred thousand lists in one another."""

    class memory(SoundMemory):  # noqa: N801
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            deep = {"lists": b"[" * 100_000 + b"]" * 100_000, "tables": b'{"a":' * 100_000 + b"1" + b"}" * 100_000}
            _speak(b'{"n": 3,"took":0.1,"ok":%s}\n' % deep[self.space.settings["answer"]])
            return []


def _speak(data: bytes) -> None:
    """Writes to the worker's own channel."""
    for link in Path("/proc/self/fd").iterdir():
        if link.is_symlink() and str(link.readlink()).startswith("socket:"):
            view = memoryview(data)
            while view:
                view = view[os.write(int(link.name), view) :]


PAGES: Mapping[str, bytes] = {
    "no number": b'{"more": true, "took": 0.1, "ok": []}\n',
    "another number": b'{"n": 2, "more": true, "took": 0.1, "ok": []}\n',
    "a late mark": b'{"n": 3, "took": 0.1, "more": true, "ok": []}\n',
    "a word for a mark": b'{"n": 3, "more": "yes", "took": 0.1, "ok": []}\n',
    "no list": b'{"n": 3, "more": true, "took": 0.1, "ok": {"a": 1}}\n',
    "nothing": b'{"n": 3, "more": true, "took": 0.1}\n',
    "half a page": b'{"n": 3, "more": true, "took": 0.1, "ok": [{"memory_id": "m", "te',
    "nine megabytes": b'{"n": 3, "more": true, "ok": ["' + b"x" * (9 << 20) + b'"]}\n',
    "nested": b'{"n": 3, "more": true, "ok": ' + b"[" * 100_000 + b"\n",
}
"""What a page can be that the worker would not write, in the middle of an answer to the third request."""


class Lists(Sound):
    """Lists as many memories as the scope's repository says, one by one. Fault: what the user of the scope says."""

    native = (*Sound.native, "usage")

    class memory(SoundMemory):  # noqa: N801
        def entries(self, scope: Scope) -> Iterator[Hit]:  # type: ignore[override]
            for at in count() if scope.user == "never ends" else range(int(scope.repo or 0)):
                yield Hit(f"m{at}", f"memory {at}", source=Source(session=f"s{at % 7}"), scope=scope)
                if at == 1499:
                    _speak(PAGES.get(scope.user or "", b""))
            if scope.user == "dies":
                os._exit(9)
            elif scope.user == "raises":
                raise ValueError("the index is torn")
            elif scope.user == "says a number":
                yield from (7, *self.entries(Scope("2500")))  # type: ignore[misc]
            elif scope.user == "says what is no JSON":
                yield from (float("nan"), *self.entries(Scope("2500")))  # type: ignore[misc]

        def usage(self) -> Usage:
            return [Usage()] * 1001  # type: ignore[return-value]
