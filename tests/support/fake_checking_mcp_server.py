"""A fake MCP memory server that looks in its working directory whether a line that was cited still says the same.

`python fake_checking_mcp_server.py FOLDER`: memories lie in a file of the folder. It finds ids alone, in prose, and
says in words that there is no such note.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

server = MCPServer("fake_checking", log_level="ERROR")
NOTHING = "-"


def place() -> Path:
    return Path(sys.argv[1], "notes.json")


def read_notes() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(place().read_text()) if place().exists() else {}
    return found


def look(file: str | None, line: int | None) -> str | None:
    """What the line says now; None if nothing was cited."""
    if file is None or line is None:
        return None
    lines = Path(file).read_text().splitlines() if Path(file).exists() else []
    return lines[line - 1] if line <= len(lines) else NOTHING


@server.tool()
def note(
    text: str, tag: str, label: str, id: str | None = None, file: str | None = None, line: int | None = None
) -> str:
    notes = read_notes()
    name = id or f"n{len(notes) + 1}"
    given = {"file": file, "line": line}
    row = {"text": text, "tag": tag, "label": label, "given": given, "said": look(file, line)}
    place().write_text(json.dumps({**notes, name: row}))
    return f"noted {name}"


@server.tool()
def amend(id: str, text: str) -> str:
    if id not in read_notes() or text == "refuse this":
        return "NOT AMENDED: it is sealed"
    place().write_text(json.dumps({**read_notes(), id: {**read_notes()[id], "text": text}}))
    return f"noted {id}"


@server.tool()
def find(words: str) -> str:
    wanted = set(words.lower().split())
    near = {name: len(wanted & set(row["text"].lower().split())) for name, row in read_notes().items()}
    lines = [f"{name} was found" for name in sorted(near, key=lambda each: -near[each]) if near[name]]
    return "\n".join([*lines, "n999 was found, and is gone"])


@server.tool()
def show(id: str) -> str:
    """The note and what became of its line: `checked` is null where nothing was cited."""
    with Path(sys.argv[1], "shown").open("a") as shown:
        shown.write(f"{id}\n")
    if id not in read_notes():
        return f"no note is called {id}"
    row = read_notes()[id]
    now = look(row["given"]["file"], row["given"]["line"])
    changed = now is not None and now != row["said"]
    seen = {"cwd": str(Path.cwd()), "argv": sys.argv[2:], "env": os.environ.get("NOTES_TREE")}
    return json.dumps({"id": id, **row, "changed": changed, "checked": now, "seen": seen})


if __name__ == "__main__":
    server.run("stdio")
