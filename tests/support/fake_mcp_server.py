"""A fake MCP memory server, by the official SDK: it answers in JSON or in prose, page by page, and fails on demand.

`python fake_mcp_server.py FOLDER`: memories lie in a file of the folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("fake", log_level="ERROR")


def place() -> Path:
    return Path(sys.argv[1], "memories.json")


def read() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(place().read_text()) if place().exists() else {}
    return found


def write(rows: dict[str, dict[str, str]]) -> None:
    draft = place().with_suffix(".new")
    draft.write_text(json.dumps(rows))
    draft.replace(place())


def show(rows: list[dict[str, Any]]) -> str:
    return json.dumps({"found": {"memories": rows}})


@server.tool()
def keep(text: str, tag: str, when: str, origin: str) -> str:
    if text == "refuse this":
        return json.dumps({"problem": {"why": "no room"}})
    if text == "end":
        os.write(2, b"the disk of the server is full\n")
        os._exit(7)
    rows = read()
    name = f"n{len(rows) + 1}"
    write({**rows, name: {"text": text, "tag": tag, "when": when, "origin": origin}})
    return f"Kept as <{name}>."


@server.tool()
def search(words: str, tag: str, most: int) -> str:
    wanted = set(words.lower().split())
    near = {name: len(wanted & set(row["text"].lower().split())) for name, row in read().items() if row["tag"] == tag}
    best = sorted((name for name in near if near[name]), key=lambda name: -near[name])[:most]
    return show([{"name": name, "near": near[name], **read()[name]} for name in best])


@server.tool()
def browse(tag: str, start: int, most: int) -> str:
    rows = [(name, row) for name, row in read().items() if row["tag"] == tag][start : start + most]
    return show([{"name": name, "preview": row["text"][:5]} for name, row in rows])


@server.tool()
def look_up(name: str) -> str:
    if name not in read():
        raise ToolError(f"nothing is called {name}")
    return show([{"name": name, **read()[name]}])


@server.tool()
def replace(name: str, text: str) -> str:
    rows = read()
    rows[name]["before"] = rows[name]["text"]
    rows[name]["text"] = text
    write(rows)
    return f"Replaced <{name}>."


@server.tool()
def versions(name: str) -> str:
    row = read()[name]
    return show([{"name": name, "text": row[part]} for part in ("before", "text") if part in row])


@server.tool()
def drop(name: str) -> str:
    rows = read()
    rows.pop(name, None)
    write(rows)
    return "done"


if __name__ == "__main__":
    sys.stdout.write("a line that is no message\n")
    sys.stdout.flush()
    server.run("stdio")
