"""A server of one program that keeps a folder: its code, how it is asked, and which of its processes still run."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from harness.adapter import Program, Server
from harness.backend.servers import Service

LONG = 30.0
"""Seconds that a process may take to come or go on a busy machine before a test gives up."""

STORE = """
    import http.server, os, pathlib, socketserver, subprocess, sys
    port, folder, pids = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    helper = subprocess.Popen(["sleep", "600"])
    held = {}
    with pids.open("a") as file:
        print(os.getpid(), helper.pid, file=file)
    print("serving", folder, os.environ.get("MODE"), flush=True)
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/die":
                print("the disk is full", flush=True)
                os._exit(7)
            if self.path == "/sicken":
                os.environ["MODE"] = "ill"
            if self.path.startswith("/write/"):
                (folder / "value").write_text(self.path[7:])
            if self.path.startswith("/hold/"):
                held["value"] = self.path[6:]
            if self.path == "/flush":
                (folder / "value").write_text(held["value"])
            good = self.path != "/health" or os.environ.get("MODE") != "ill"
            self.send_response(200 if good else 503)
            self.end_headers()
            self.wfile.write((folder / "value").read_bytes())
        def log_message(self, *words):
            pass
    socketserver.TCPServer.allow_reuse_address = True  # HTTPServer would ask for this machine's name
    socketserver.TCPServer(("127.0.0.1", port), Answers).serve_forever()
"""
FLUSH = """
    import sys, urllib.request
    urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/flush")
"""
SETUP = """
    import pathlib, sys
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir()
    (folder / "value").write_text("pristine")
"""


def python(code: str, *words: str) -> tuple[str, ...]:
    """Without the packages of this environment, which take longest to find."""
    return (sys.executable, "-S", "-c", textwrap.dedent(code), *words)


def server(pids: Path, code: str = STORE, setup: str = SETUP, env: Mapping[str, str] | None = None) -> Server:
    store = Program(
        name="daemon",
        setup=(python(setup, "{store}/data"),),
        argv=python(code, "{daemon}", "{store}/data", str(pids)),
        env=env or {},
        health="/health",
        data="data",
        flush=python(FLUSH, "{daemon}"),
    )
    return Server((store,), "http://127.0.0.1:{daemon}", "STORE_URL", "key", "make store")


def ask(service: Service, path: str) -> str:
    with urllib.request.urlopen(service.url + path, timeout=LONG) as answer:
        return str(answer.read().decode())


def started(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


def running(file: Path) -> list[int]:
    """Those of the started processes that are neither gone nor zombies."""
    return [pid for pid in started(file) if state(pid) not in ("", "Z", "X")]


def state(pid: int) -> str:
    """A letter, as Linux tells it; none: the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def gone(file: Path, *pids: int) -> bool:
    """Whether they end, given time; without `pids`, all that were started."""
    deadline = time.monotonic() + LONG
    while set(running(file)) & set(pids or started(file)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def end_all(file: Path) -> None:
    for pid in running(file):
        os.kill(pid, signal.SIGKILL)
