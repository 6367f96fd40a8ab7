"""Calls that are in flight at once over one connection: each gets its own answer, in whatever order they come."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adapters._mcp_client import Client

FAKE = """
import json, sys
waiting = []
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
    elif asked["method"] == "tools/call":
        waiting.append(asked)
    if len(waiting) == 8:
        print(json.dumps({"method": "notifications/progress"}), flush=True)
        for each in reversed(waiting):
            said = {"content": [{"type": "text", "text": str(each["params"]["arguments"]["n"])}]}
            print(json.dumps({"id": each["id"], "result": said}), flush=True)
        waiting.clear()
"""
"""A server that answers nothing before it was asked eight things, and then the last first."""


def test_each_thread_gets_the_answer_to_its_own_call(tmp_path: Path) -> None:
    client = Client([sys.executable, "-c", FAKE], dict(os.environ), str(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: client.call("tell", {"n": n})[0], range(8)))
    client.close()
    assert found == list(range(8))
