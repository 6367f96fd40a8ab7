"""The protocol of MCP over standard input and output, as far as tools need it: a JSON message on a line.

Not by the official SDK: a server that is written in Python shares the environment of its adapter and pins a release of
that SDK, or has none.
"""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

PROTOCOL = "2025-06-18"
# PR_SET_PDEATHSIG of linux/prctl.h
PDEATHSIG = 1
GRACE = 5.0
"""Seconds that a server has to end by itself, and once more when it was told to."""
NO_SUCH_METHOD = -32601
NO_REASON = "the server gave no reason"
LINES, LINE, LONGEST = 5, 300, 65_536
"""Last lines of a server's standard error that an error shows, characters of each, and bytes of one that are read."""


class ToolError(RuntimeError):
    """What a server said when a tool failed, in one line."""


class Client:
    """A server that runs as long as this is open; several threads may have calls in flight.

    Raises RuntimeError if it cannot be started or ends.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self._asked, self._answers = 0, dict[int | None, Mapping[str, Any]]()
        # reentrant, as `_ask` holds the turn while `_send` takes it
        self._turn, self._reading = threading.RLock(), threading.Lock()
        try:
            self._process = subprocess.Popen(
                command,
                env=env,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            raise RuntimeError(f"the server cannot be started by '{command[0]}': {error.strerror}") from error
        self._said, self._skipped = deque[str](maxlen=LINES), 0
        # a server stands still once the pipe of its standard error is full
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()
        client = {"name": "coldwarm", "version": "1"}
        self._ask("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Any, str]:
        """What a tool answers: the value, which is its text where it is no JSON, and the text. Without any part it is
        an empty list, as SDKs send one; with several that are JSON only one by one, a list of them. Raises
        ToolError."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        parts = answer.get("content") or []
        if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
            raise ToolError(f"{tool}: its content is no list of parts, but {_quote(parts)}")
        texts = [str(part.get("text", "")) for part in parts if part.get("type") == "text"]
        text = "\n".join(texts)
        if answer.get("isError"):
            raise ToolError(f"{tool}: {' '.join(text.split())[:500] or NO_REASON}")
        told = answer.get("structuredContent")
        if told is None:
            if parts and not texts:
                raise ToolError(f"{tool}: answered no text, but {_quote([part.get('type') for part in parts])}")
            told = text if parts else []
        value = told["result"] if isinstance(told, Mapping) and told.keys() == {"result"} else told  # as SDKs wrap it
        if not isinstance(value, str):
            return value, text
        try:
            with suppress(ValueError):
                return json.loads(value), text
            # only a bare text may be several values in a row; structuredContent is one
            if told is text:
                with suppress(ValueError):
                    return [json.loads(each) for each in texts], text
        except RecursionError:
            raise ToolError(f"{tool}: answered what is nested too deeply") from None
        return value, text

    def close(self) -> None:
        """The end of its input is the end of a server; one that goes on is told to stop, then killed."""
        process = self._process
        assert process.stdin and process.stdout
        for end in (process.stdin.close, process.terminate, process.kill):
            with suppress(subprocess.TimeoutExpired, OSError):
                end()
                process.wait(GRACE)
                break
        with suppress(OSError):
            process.stdout.close()
        self._listening.join(GRACE)

    def _listen(self) -> None:
        """What the server says beside its messages: passed on, and the end of it kept for errors."""
        assert self._process.stderr
        with self._process.stderr as lines:
            while line := lines.readline(LONGEST):
                text = line.decode("utf-8", "replace").strip()
                self._said += [text[:LINE]] if text else []
                # ours may be closed: the server must be heard all the same
                with suppress(OSError, ValueError):
                    sys.stderr.write(f"{text}\n")

    def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        with self._turn:
            self._asked += 1
            number = self._asked
            self._send({"id": number, "method": method, "params": params})
        while number not in self._answers:
            with self._reading:  # one thread at a time reads, for all that wait
                # whoever has read meanwhile may have brought it
                if number in self._answers:
                    break
                for message in self._read():
                    if "method" in message:
                        self._answer(message)
                    else:
                        self._answers[_read_id(message)] = message
        message, name = self._answers.pop(number), params.get("name", method)
        if (error := message.get("error")) is not None:
            why = error.get("message") if isinstance(error, Mapping) else error
            raise ToolError(f"{name}: {why or NO_REASON}")
        if not isinstance(result := message.get("result"), Mapping):
            raise ToolError(f"{name}: its result is no object, but {_quote(result)}")
        return result

    def _answer(self, message: Mapping[str, Any]) -> None:
        """What the server asks of us; what it only tells is not answered."""
        if message["method"] == "ping" and "id" in message:
            self._send({"id": message["id"], "result": {}})
        elif "id" in message:
            self._send({"id": message["id"], "error": {"code": NO_SUCH_METHOD, "message": "not offered"}})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        try:
            with self._turn:
                # escapes keep a message on one line, and let half a pair of surrogates pass
                self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError: it is closed
            raise self._gone() from None

    def _read(self) -> Sequence[Mapping[str, Any]]:
        """The next messages, of which older servers send several at once; a line that holds none, or no UTF-8, is
        passed over and counted."""
        assert self._process.stdout
        for line in self._process.stdout:
            with suppress(ValueError, RecursionError):
                told = json.loads(line)
                if found := [each for each in (told if isinstance(told, list) else [told]) if isinstance(each, dict)]:
                    return found
            self._skipped += 1
        raise self._gone()

    def _gone(self) -> RuntimeError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        # its last words are complete once its standard error has ended
        self._listening.join(1.0)
        why = f"the server has closed its output, exit code {self._process.poll()}"
        if self._skipped:
            why += f", after {self._skipped} lines that were no messages"
        return RuntimeError(f"{why}; it said: {' | '.join(self._said)}" if self._said else why)


def _read_id(message: Mapping[str, Any]) -> int | None:
    """The number of what it answers, which some servers send as a text; None: of nothing that was asked."""
    with suppress(ValueError, TypeError):
        return int(message["id"]) if "id" in message else None
    return None


def _quote(value: Any) -> str:
    return repr(value)[:100]


def _die_with_parent() -> None:
    # an adapter that is killed cannot end its server
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
