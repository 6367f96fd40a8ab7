"""Mapping files: how an MCP server is started, which of its tools does what, and where its answers hold what."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from string import Formatter
from typing import Any, get_args

from harness.adapter import Layer, Trait, Verdict, VerdictKind

FOLDER = Path(__file__).with_name("mcp_servers")
"""The mappings that come with us."""
GIVEN = ("id", "text", "at", "kind", "scope", "source")
"""What stands for an item in arguments; a place that is looked at has `scope`, a memory that is named has `id`."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "remember": GIVEN, "update": GIVEN, "recall": ("query", "k", "scope", "scopes", "at"),
    "entries": ("scope", "offset", "page", "limit"), "get": ("id", "scope"), "forget": ("id", "scope"),
    "supersede": (*GIVEN, "old", "olds"), "history": ("id", "scope"),
    "env": ("root", "gateway", "key", "dims"),
}  # fmt: skip
ROW = ("id", "text", "score", "created", "scope", "source", "verdict", "by", "reason")
MILLISECONDS = 10**11
"""A larger number of seconds since 1970 is one of milliseconds: in seconds it would be the year 5138."""
LIMIT = 100
"""Memories that are listed at once, where the server takes a limit."""


@dataclass(frozen=True)
class Tool:
    """One tool of a server.

    Attributes:
        arguments: With {fields}: a value that is nothing else keeps its type.
        rows: Where the memories lie in its answer, as a path; "" is the whole answer.
        pattern: Or a regular expression that finds them in its text, with groups of the names of ROW.
        row: Where a memory holds its parts, as paths.
        missing: A regular expression: a failure that it matches means that there is no such memory; of `remember`, that
            this text is held already, and not stored again.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: str | None = None
    pattern: str = ""
    row: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""

    def uses(self, name: str) -> bool:
        return name in set(_list_fields(self.arguments))


@dataclass(frozen=True)
class ServerMapping:
    """A mapping file, read.

    Attributes:
        packages: What the server needs installed, as an adapter's `packages`; none: its command is on PATH.
        command: How it is started.
        env: What its environment has beside, with {fields}.
        storage: Layers below the root of a store: name, path and format.
        traits: What it can do that no tool shows: ranked, abstains, persistent, ...
        whole: A recall brings all that it finds, however many were asked for; else no more than `k` are taken.
        failed: Where an answer that is no error by the protocol says that the tool failed, as a path.
        verdicts: The server's word for a memory, in any case -> a verdict. What has no entry is none.
    """

    path: str
    command: Sequence[str]
    storage: Sequence[Layer]
    tools: Mapping[str, Tool]
    packages: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    traits: Sequence[str] = ()
    whole: bool = False
    failed: str = ""
    verdicts: Mapping[str, VerdictKind] = field(default_factory=dict)

    def returns(self, part: str) -> bool:
        """Whether memories that come back hold it."""
        recall = self.tools["recall"]
        return part in (re.compile(recall.pattern).groupindex if recall.pattern else recall.row)


def find_mapping(name: str) -> Path:
    """`NAME.toml` of ours, or of a folder on the module path, which those of COLDWARM_ADAPTER_PATH are on.

    Raises ValueError, one line.
    """
    for folder in (FOLDER, *map(Path, sys.path)):
        if (path := folder / f"{name}.toml").is_file() and path.parent == folder:
            return path
    known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.toml")))
    raise ValueError(
        f"server cannot be '{name}'; known: {known}; another one takes {name}.toml in a folder of COLDWARM_ADAPTER_PATH"
    )


def read_mapping(path: Path) -> ServerMapping:
    """Raises ValueError, one line: the file, what is wrong, and what it may be."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        _check_names(
            "key", given, {each.name for each in fields(ServerMapping)} - {"path", "tools"} | FIELDS.keys() | {"row"}
        )
        row = given.pop("row", {})
        tools = {name: _read_tool(name, given.pop(name), row) for name in FIELDS if name != "env" and name in given}
        for name in ("remember", "recall"):
            if name not in tools:
                raise ValueError(f"it has no table [{name}]")
        _check_names("trait", given.get("traits", ()), get_args(Trait))
        verdicts = dict(given.get("verdicts", {}))
        _check_names("verdict", verdicts.values(), get_args(VerdictKind))
        if given.get("whole") and "ranked" in given.get("traits", ()):
            raise ValueError("whole: what is ranked brings no more than it is asked for")
        _check_names("field in env", _list_fields(given.get("env", {})), FIELDS["env"])
        storage = [Layer(*each) for each in given.pop("storage", ())]
        given["verdicts"] = {word.casefold(): kind for word, kind in verdicts.items()}
        return ServerMapping(path=str(path), tools=tools, storage=storage, **given)
    except (OSError, UnicodeDecodeError, TypeError, ValueError, re.error) as error:
        raise ValueError(f"{path.name}: {' '.join(str(error).split())}") from None


def _read_tool(name: str, given: Mapping[str, Any], row: Mapping[str, str]) -> Tool:
    _check_names(f"key in [{name}]", given, {each.name for each in fields(Tool)} - {"row"} | {*ROW})
    own = {part: given[part] for part in ROW if part in given}
    found = Tool(row={**row, **own}, **{key: value for key, value in given.items() if key not in ROW})
    _check_names(f"part of a row in [{name}]", found.row, ROW)
    _check_names(f"field in [{name}]", _list_fields(found.arguments), FIELDS[name])
    _check_names(f"group in [{name}]", re.compile(found.pattern).groupindex, ROW)
    if name in ("recall", "entries", "history") and found.rows is None and not found.pattern:
        raise ValueError(f"[{name}] says neither by rows nor by pattern where memories lie in the answer")
    return found


def _check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    if wrong := sorted({*given} - {*known}):
        raise ValueError(f"unknown {what}: {', '.join(wrong)}; known: {', '.join(sorted(known))}")


# --- arguments and answers ----------------------------------------------------------------------------------------


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its fields filled in. One that is a field and nothing else becomes the value as it is."""
    if isinstance(template, str):
        alone = template[1:-1]
        return values[alone] if template == f"{{{alone}}}" and alone in values else template.format_map(values)
    if isinstance(template, Mapping):
        return {key: fill(part, values) for key, part in template.items()}
    return [fill(part, values) for part in template] if isinstance(template, list) else template


def list_rows(tool: Tool, answer: Any, text: str) -> list[dict[str, Any]]:
    """The memories of an answer, each with the parts that it has."""
    if tool.pattern:
        return [each.groupdict() for each in re.finditer(tool.pattern, text)]
    found = dig(answer, tool.rows or "")
    rows = found if isinstance(found, list) else [] if found is None else [found]
    return [{part: dig(each, path) for part, path in tool.row.items()} for each in rows]


def read_date(value: Any, where: str) -> str | None:
    """As text of ISO 8601: servers send seconds or milliseconds since 1970, or other forms. Raises ValueError."""
    with suppress(ValueError, TypeError, OverflowError, OSError):
        if value is None or value == "":
            return None
        if isinstance(value, str) and not re.fullmatch(r"\d{9,}(\.\d+)?", value):
            try:
                datetime.fromisoformat(value)
            except ValueError:
                return parsedate_to_datetime(value).isoformat()
            return value
        if not isinstance(value, bool):
            seconds = float(value)
            return datetime.fromtimestamp(seconds / 1000 if seconds > MILLISECONDS else seconds, UTC).isoformat()
    wanted = "`created` must be a date as text (2026-02-03T10:00:00Z)"
    raise ValueError(f"{where}: {wanted}; the server sent {_name(value)}")


def read_verdict(row: Mapping[str, Any], verdicts: Mapping[str, VerdictKind]) -> Verdict | None:
    """What the server says of a memory, as far as the mapping knows its word."""
    kind = verdicts.get(str(row.get("verdict")).casefold())
    by, reason = (None if row.get(part) is None else str(row[part]) for part in ("by", "reason"))
    return Verdict(kind, by or None, reason or None) if kind else None


def read_number(value: Any, where: str, part: str) -> float | None:
    """Raises ValueError, which names the key."""
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{where}: `{part}` must be a number; the server sent {_name(value)}") from None


def _name(value: Any) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), f"'{str(value)[:60]}'")


def dig(value: Any, path: str) -> Any:
    """What lies at `key.0.key`; None if nothing does."""
    for step in filter(None, path.split(".")):
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _list_fields(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield from (name for _, name, _, _ in Formatter().parse(template) if name is not None)
    elif isinstance(template, Mapping | list):
        for part in template.values() if isinstance(template, Mapping) else template:
            yield from _list_fields(part)
