"""A fake agent program, standard library only: it does as it is told by its first word, in the sandbox of a test.

`work` asks its model until that one uses no tool; its one tool is a shell, with those of a memory server beside it, if
it is told of one. Its first words are its memory files. Behind a plus stands a name for what `fork` leaves behind, how
`work` ends, or a port of the machine outside, which `update` and `browse` try to reach.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

SHELL = {"name": "bash", "description": "Runs a command.", "parameters": {"properties": {"command": {}}}}


class Server:
    """A client of an MCP server on standard input and output."""

    def __init__(self, program: str) -> None:
        self._server = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        about = {"name": "fake-agent", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = self.ask("tools/list", {})["tools"]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            message = json.loads(line)
            if message.get("id") == method:
                return message["result"]
        raise EOFError

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()


def ask_model(url: str, messages: list[Any], tools: list[Any], times: int, model: str) -> dict[str, Any]:
    body = {"model": model, "messages": messages, "tools": [{"type": "function", "function": each} for each in tools]}
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        said = json.load(answer)
    used = {key: value * times for key, value in said["usage"].items() if isinstance(value, int)}
    sys.stdout.write(json.dumps({"step": {"used": [used]}}) + "\n")
    return dict(said["choices"][0]["message"])


def work(url: str, goal: str, memory: str, times: int, model: str) -> None:
    server = Server(memory) if memory else None
    named = {f"memory_{each['name']}": each for each in server.tools} if server else {}
    tools = [SHELL, *({"name": name, "parameters": each["inputSchema"]} for name, each in named.items())]
    notes = [Path("~", name).expanduser() for name in ("NOTES.md", "auto/MEMORY.md")]
    system = "".join(each.read_text("utf-8") for each in notes if each.exists()) or "You are a fake."
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": goal}]
    while True:
        message = ask_model(url, messages, tools, times, model)
        messages.append(message)
        if not message.get("tool_calls"):
            return
        for call in message["tool_calls"]:
            name, given = call["function"]["name"], json.loads(call["function"]["arguments"])
            if server is not None and name in named:
                done = server.ask("tools/call", {"name": named[name]["name"], "arguments": given})
                text = "\n".join(each["text"] for each in done["content"])
            else:
                done = subprocess.run(given["command"], shell=True, capture_output=True, text=True)
                text = done.stdout + done.stderr
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def update(port: str) -> int:
    """Puts something in its own place, and fetches a newer version."""
    Path(__file__).write_text("raise SystemExit(9)\n", "utf-8")
    with suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/newest", timeout=5).close()
        return 0
    sys.stderr.write("A newer version is required, and could not be fetched.\n")
    return 4


def log_in() -> int:
    """Asks whoever sits there, and goes when nobody answers."""
    sys.stdout.write("Not logged in.\nVisit https://login.example.com and paste the code: ")
    sys.stdout.flush()
    return 0 if sys.stdin.readline() else 7


def browse(port: str) -> int:
    """Opens a browser, by whatever opens one."""
    url = f"http://127.0.0.1:{port}/login"
    webbrowser.open(url)
    for name in ("xdg-open", "x-www-browser", "www-browser", "sensible-browser"):
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run([name, url], stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    sys.stderr.write("No browser came back with a login.\n")
    return 5


def main(what: str, url: str, goal: str, *rest: str) -> int:
    """What a program may do that goes wrong, and its exit code."""
    sys.stdout.write(f"a fake agent program, told: {what}\n")
    sys.stdout.flush()
    first, _, more = what.partition("+")
    if first == "hang":
        time.sleep(600)
    if first == "fork":
        daemon = "import os,time; os.setsid(); time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", daemon, what], start_new_session=True)
    if first == "loud":
        while True:
            os.write(1, b"x" * 65536)
    if first == "early":
        return 3
    if first in ("update", "login", "browse"):
        return {"update": update, "login": lambda _: log_in(), "browse": browse}[first](more)
    if first in ("work", "fork"):
        work(url, goal, rest[0] if rest else "", 2 if more == "boasts" else 1, "small" if more == "strays" else "fake")
    if more == "hangs":
        time.sleep(600)
    return 5 if more == "crashes" else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
