"""What runs beside an agent program, where it has no network: a way to its model, and one to its memory.

Standard library only, and a file of its own: it is started by its path, as one of

    inside.py run SOCKET PORT COMMAND...    starts the command; what talks to PORT on loopback, talks to SOCKET
    inside.py find SOCKET PORT COMMAND...   looks whether it could be started
    inside.py memory SOCKET                 an MCP server on standard input and output, which is the one at SOCKET
    inside.py memory SOCKET recall TEXT     asks it; or remember TEXT
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

MISSING = 127
"""The exit code where a command cannot be started."""
USAGE = "usage: memory recall 'QUESTION', or memory remember 'TEXT'"


def main(words: list[str]) -> int:
    if words[0] in ("run", "find") and shutil.which(words[3]) is None:
        sys.stderr.write(f"{words[3]}: there is no such program\n")
        return MISSING
    if words[0] == "find":
        return 0
    if words[0] == "run":
        return run(words[1], int(words[2]), words[3:])
    return ask(words[1], words[2:]) if words[2:] else serve(words[1])


def run(path: str, port: int, command: list[str]) -> int:
    """Runs a command: its exit code."""
    # before the command starts, so that no call of it comes too early
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    code = subprocess.call(command)
    # as a shell tells of a signal
    return code if code >= 0 else 128 - code


def _accept(listener: socket.socket, path: str) -> None:
    while True:
        here, _ = listener.accept()
        there = _connect(path)
        for source, target in ((here, there), (there, here)):
            threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while part := source.recv(65536):
            target.sendall(part)
        # the other direction may go on
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # so that the thread of the other direction ends, too
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _connect(path: str) -> socket.socket:
    there = socket.socket(socket.AF_UNIX)
    there.connect(path)
    return there


def serve(path: str) -> int:
    """Passes on whole what comes in, until it ends."""
    there = _connect(path)

    def send() -> None:
        while part := os.read(0, 65536):
            there.sendall(part)
        there.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    while part := there.recv(65536):
        sys.stdout.buffer.write(part)
        # a client waits for each answer
        sys.stdout.buffer.flush()
    return 0


def ask(path: str, words: list[str]) -> int:
    """One call of a tool; its text is printed."""
    given = {"recall": "query", "remember": "text"}.get(words[0])
    if given is None or len(words) < 2:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    lines = _connect(path).makefile("rw", encoding="utf-8")

    def send(method: str, params: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        lines.write(json.dumps(message if number is None else {**message, "id": number}) + "\n")
        lines.flush()

    def receive(number: int) -> dict[str, Any]:
        for line in lines:
            message = json.loads(line)
            if message.get("id") == number:
                return dict(message)
        return {"error": {"message": "the memory has gone"}}

    about = {"name": "memory", "version": "1"}
    send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}, 1)
    receive(1)
    send("notifications/initialized", {})
    send("tools/call", {"name": words[0], "arguments": {given: " ".join(words[1:])}}, 2)
    answer = receive(2)
    result = answer.get("result") or {"isError": True, "content": [{"text": answer["error"]["message"]}]}
    text = "\n".join(str(each.get("text", "")) for each in result["content"])
    sys.stdout.write(f"{text}\n")
    return 1 if result.get("isError") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
