"""Calls that are in flight at once over one connection: each gets its own answer, in whatever order they come."""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adapters._mcp_client import Client, ToolError

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


ODD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    sys.stdout.buffer.write(b"\\xff\\xfe\\n" + b"[" * 100_000 + b"\\n")
    if asked["method"] == "tools/call" and asked["params"]["name"] == "end":
        sys.stderr.write("no key in the environment\\n")
        sys.exit(3)
    if "id" in asked:
        said = {"content": [{"type": "text", "text": "fine"}]}
        sys.stdout.buffer.write(json.dumps({"id": asked["id"], "result": said}).encode() + b"\\n")
    sys.stdout.flush()
"""
"""A server that writes what is no message between its answers."""


def test_a_line_that_is_no_message_is_skipped_and_counted(tmp_path: Path) -> None:
    client = Client([sys.executable, "-c", ODD], dict(os.environ), str(tmp_path))
    assert client.call("tell", {})[0] == "fine"
    with pytest.raises(RuntimeError, match=r"exit code 3, after 8 lines .*; it said: no key in the environment$"):
        client.call("end", {})
    client.close()


UNUSUAL = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    said = asked["params"].get("arguments", {}).get("said", {"result": {}})
    if said == "text":
        part = {"type": "text", "text": "[1]"}
        print(json.dumps({"id": str(asked["id"]), "result": {"content": [part]}}), flush=True)
    elif said == "batch":
        print(json.dumps([{"method": "ping"}, {"id": asked["id"], "result": {"content": []}}]), flush=True)
    else:
        print(json.dumps({"id": [asked["id"]]}) + "\\n" + json.dumps({"id": asked["id"], **said}), flush=True)
"""
"""A server that answers what it is told to."""
TEXT = {"content": [{"type": "text", "text": "[1]"}]}


def say(*texts: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text} for text in texts]}}


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("text", [1]),
        ("batch", []),
        ({"result": TEXT, "error": None}, [1]),
        ({"result": {**TEXT, "structuredContent": None}}, [1]),
        ({"result": {"content": None}}, []),
        (say('{"id": 1}', '{"id": 2}'), [{"id": 1}, {"id": 2}]),
        (say("[", "1]"), [1]),
        ({"error": "no room"}, "tell: no room"),
        ({"error": {"code": None, "message": None}}, "tell: the server gave no reason"),
        ({"result": {"content": [], "isError": True}}, "tell: the server gave no reason"),
        ({"result": None}, "tell: its result is no object, but None"),
        ({"result": "ok"}, "tell: its result is no object, but 'ok'"),
        ({"result": {"content": "ok"}}, "tell: its content is no list of parts, but 'ok'"),
        ({"result": {"content": [{"type": "image"}]}}, "tell: answered no text, but ['image']"),
        (
            {"result": {"content": [{"type": "text", "text": "[" * 100_000}]}},
            "tell: answered what is nested too deeply",
        ),
    ],
)
def test_an_unusual_answer_is_read_or_named(tmp_path: Path, said: Any, value: Any) -> None:
    client = Client([sys.executable, "-c", UNUSUAL], dict(os.environ), str(tmp_path))
    try:
        if isinstance(value, str):
            with pytest.raises(ToolError, match=f"^{re.escape(value)}$"):
                client.call("tell", {"said": said})
        else:
            assert client.call("tell", {"said": said})[0] == value
    finally:
        client.close()


def test_an_answer_of_which_a_part_is_no_json_is_its_text(tmp_path: Path) -> None:
    client = Client([sys.executable, "-c", UNUSUAL], dict(os.environ), str(tmp_path))
    try:
        assert client.call("tell", {"said": say("2", "were found")})[0] == "2\nwere found"
    finally:
        client.close()
