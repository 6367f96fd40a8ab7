"""Chat exchanges on disk: one readable file each, written by a recorder, answered from by a replayer."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from harness.gateway.chat.normaliser import Normal, Normaliser, digest, format_message, restore_message
from harness.gateway.chat.wire import (
    Assembly,
    ChatError,
    ChatRequest,
    Chunk,
    Completion,
    Refused,
    Upstream,
    Whole,
    count_spent,
    make_completion,
    read_message,
    read_usage,
    split_completion,
)

SCHEMA = 2
REPLAY = "replay of "
"""How the name of a replay begins; then comes who answered when it was recorded."""
_NAME = 16  # hex digits of the digest in a file's name
_DIFF = 24  # lines
_KEPT = ("role", "content", "refusal", "tool_calls")  # of an answer's message: what a client acts on


class Recordings:
    """The exchanges below a folder, by the digest of the normalised request.

    A file is `<first 16 digits of the digest>.json`: request, who answered, answer, usage. It holds no date, no id and
    no secret, so that recording again what has not changed changes no file. Raises ChatError for a file that is none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, dict[str, Any]] = {}
        for path in sorted(folder.glob("*.json")):
            found = _read(path)
            self._known[found["request_sha256"]] = found

    def __len__(self) -> int:
        return len(self._known)

    @property
    def upstreams(self) -> list[str]:
        """Who answered when these were recorded."""
        return sorted({found["upstream"] for found in self._known.values()})

    @property
    def models(self) -> list[str]:
        return sorted({found["model"] for found in self._known.values()})

    def answer(self, normal: Normal) -> Completion | None:
        """The recorded answer, with the values of this request; None if there is no recording of it."""
        found = self._known.get(normal.digest)
        if found is None:
            return None
        message = restore_message(normal.fill(found["answer"]))
        name = f"replay-{normal.digest[:_NAME]}"
        return make_completion(name, found["model"], message, found["finish_reason"], found["usage"])

    def add(self, normal: Normal, answer: Completion, usage: Mapping[str, int], upstream: str) -> None:
        """Writes the exchange, whole or not at all. Raises OSError."""
        message = {key: value for key, value in read_message(answer).items() if key in _KEPT and value is not None}
        record = {
            "schema": SCHEMA,
            "request_sha256": normal.digest,
            "upstream": upstream,
            "model": answer["model"],
            "request": normal.shown,
            "answer": format_message(normal.mark(message)),
            "finish_reason": answer["choices"][0].get("finish_reason") or "stop",
            "usage": dict(usage),
        }
        path = self.folder / f"{normal.digest[:_NAME]}.json"
        partial = path.with_suffix(".partial")
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        # A lone surrogate cannot be written; its escape in JSON is the one that Python makes of it.
        partial.write_bytes(text.encode("utf-8", "backslashreplace"))
        partial.replace(path)
        self._known[normal.digest] = record

    def miss(self, normal: Normal) -> Refused:
        """What to say of a request without a recording: the nearest one, and the place of the first difference.

        To a backend it names places and never quotes: what it is told may end in its files, where memories are searched
        for. To a reader of ours it quotes what differs.
        """
        complaint = f"no recording in {self.folder.name} answers this request ({normal.digest[:_NAME]})"
        if not self._known:
            return _miss(f"{complaint}: the folder holds none")
        leaves = list(_list_leaves(normal.shown))
        # autojunk would pass over values that occur often
        matcher = difflib.SequenceMatcher(autojunk=False)
        # second, as the matcher keeps what it has worked out of that sequence alone
        matcher.set_seq2([value for _, value in leaves])
        best, nearest = -1.0, ""
        for name, found in self._known.items():
            matcher.set_seq1([value for _, value in _list_leaves(found["request"])])
            # quick_ratio is cheap, and never below ratio
            if matcher.quick_ratio() > best and matcher.ratio() > best:
                best, nearest = matcher.ratio(), name
        matcher.set_seq1([value for _, value in _list_leaves(self._known[nearest]["request"])])
        spots = [low for kind, _, _, low, _ in matcher.get_opcodes() if kind != "equal"]
        spot = spots[0] if spots else len(leaves)
        place = leaves[spot][0] if spot < len(leaves) else "the end"
        differing = f"\n{_diff(self._known[nearest]['request'], normal.shown)}" if normal.ours else ""
        return _miss(
            f"{complaint}; the nearest is {nearest[:_NAME]}.json, {int(best * 100)} % alike, "
            f"which differs first at {place}: record again what changed{differing}"
        )


class Replayer(Whole):
    """Answers from recordings only. Raises ChatError for a folder without any."""

    def __init__(self, folder: Path, keys: Sequence[str] = ()) -> None:
        self._recordings = Recordings(folder)
        if not len(self._recordings):
            raise ChatError(f"{folder} holds no recording of chat calls: name another folder, or record first")
        self._normaliser = Normaliser(keys)

    @property
    def name(self) -> str:
        return REPLAY + ", ".join(self._recordings.upstreams)

    async def complete(self, request: ChatRequest) -> Completion:
        normal = self._normaliser.request(request)
        answer = self._recordings.answer(normal)
        if answer is None:
            # in a thread: a comparison with all recordings would hold up other calls
            raise await asyncio.to_thread(self._recordings.miss, normal)
        return answer

    async def models(self) -> list[str]:
        return self._recordings.models


class Recorder:
    """Writes down what another upstream answers. What is recorded already is answered from the recording.

    So a recorded run hears what its replay will hear, pays once for what is asked twice, and may be resumed. Only sound
    answers are recorded.

    Attributes:
        keys: Secrets that must not be written, beside what looks like one.
    """

    def __init__(self, upstream: Upstream, folder: Path, keys: Sequence[str] = ()) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ChatError(f"cannot record chat calls to {folder} ({error.strerror}): name another folder") from None
        self._upstream = upstream
        self._recordings = Recordings(folder)
        self._normaliser = Normaliser(keys)
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def name(self) -> str:
        return self._upstream.name

    async def complete(self, request: ChatRequest) -> Completion:
        async with self._turn(request) as normal:
            answer = self._recordings.answer(normal)
            if answer is None:
                answer = await self._upstream.complete(request)
                await self._add(normal, request, answer)
            return answer

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk, None]:
        async with self._turn(request) as normal:
            answer = self._recordings.answer(normal)
            if answer is not None:
                for chunk in split_completion(answer):
                    yield chunk
                return
            assembly = Assembly()
            async with aclosing(self._upstream.stream(request)) as heard:
                async for chunk in heard:
                    assembly.add(chunk)
                    yield chunk
            await self._add(normal, request, assembly.completion())

    async def models(self) -> list[str]:
        return await self._upstream.models()

    async def close(self) -> None:
        await self._upstream.close()

    @asynccontextmanager
    async def _turn(self, request: ChatRequest) -> AsyncIterator[Normal]:
        """One after the other for equal requests, so that trials side by side get one answer."""
        normal = self._normaliser.request(request)
        async with self._turns.setdefault(normal.digest, asyncio.Lock()):
            yield normal

    async def _add(self, normal: Normal, request: ChatRequest, answer: Completion) -> None:
        told = read_usage(answer.get("usage"))  # not what is charged, so that a replay sees a gap, too
        prompt, said = told or count_spent(request, answer)[:2]
        usage = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
        try:
            await asyncio.to_thread(self._recordings.add, normal, answer, usage, self._upstream.name)
        except OSError as error:
            where = self._recordings.folder.name
            raise Refused(500, f"cannot record the answer in {where} ({error.strerror})", code="not_recorded") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
        sound = (
            found["schema"] == SCHEMA
            and isinstance(found["answer"], dict)
            and isinstance(found["usage"], dict)
            and all(isinstance(found[key], str) for key in ("request_sha256", "upstream", "model", "finish_reason"))
        )
    except OSError as error:
        raise ChatError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise ChatError(f"{path}: not a recording of a chat call (schema {SCHEMA}): remove it, or record again")
    if found["request_sha256"] != digest(found["request"]) or path.stem != found["request_sha256"][:_NAME]:
        raise ChatError(f"{path}: its request is not the one that it was recorded for: record again")
    return dict(found)


def _diff(recorded: Any, asked: Any) -> str:
    """The lines that are not in both, `-` as recorded, `+` as asked; the first of them."""
    old, new = (json.dumps(each, indent=1, ensure_ascii=False).splitlines() for each in (recorded, asked))
    lines = [line for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[:3] not in ("---", "+++")]
    more = len(lines) - _DIFF
    return "\n".join([*lines[:_DIFF], *([f"and {more} lines more"] if more > 0 else [])])


def _list_leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """The places and values of a JSON value, in order."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _list_leaves(each, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _list_leaves(each, f"{place}[{at}]")
    else:
        yield place, json.dumps(value)


def _miss(complaint: str) -> Refused:
    return Refused(404, complaint, code="no_recording")
