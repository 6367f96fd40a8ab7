"""Mapping files: how an MCP server is started, which of its tools does what, and where its answers hold what."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any, get_args, get_type_hints

from harness.adapter import CAPABILITIES, Layer, Trait, Verdict, VerdictKind

FOLDER = Path(__file__).with_name("mcp_servers")
"""The mappings that come with us."""
GIVEN = ("id", "text", "at", "kind", "scope", "source", "path", "line", "labels")
"""What stands for an item in arguments; a place that is looked at has `scope`, a memory that is named has `id`. `path`
and `line` are those of its source, if it has any. `labels` is a list: its scope, its source, and its scope with its
kind, its path and both; of a recall, those of which a memory has one that it is kept to."""
START = ("root", "gateway", "key", "dims", "work_tree")
"""What stands in `command`, `env` and `cwd`."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "remember": GIVEN, "update": GIVEN, "recall": ("query", "k", "scope", "scopes", "labels", "at"),
    "entries": ("scope", "offset", "page", "limit"), "get": ("id", "scope"), "forget": ("id", "scope"),
    "supersede": (*GIVEN, "old", "olds"), "history": ("id", "scope"),
}  # fmt: skip
ROW = ("id", "text", "score", "created", "scope", "source", "verdict", "by", "reason")
MILLISECONDS = 10**11
"""A larger number of seconds since 1970 is one of milliseconds: in seconds it would be the year 5138."""
LIMIT = 100
"""Memories that are listed at once, where the server takes a limit."""
TEXT, TEXTS, TEXTS_BY_NAME, TABLE, SWITCH = "a text", "a list of texts", "a table of texts", "a table", "true or false"
COMMAND, LAYER, LAYERS = "a list of texts, the program first", "a list of name, path and format", "a list of layers"
FORMS = {
    "packages": TEXTS, "command": COMMAND, "storage": LAYERS, "env": TEXTS_BY_NAME, "cwd": TEXT, "traits": TEXTS,
    "whole": SWITCH, "failed": TEXT, "verdicts": TEXTS_BY_NAME, "unsupported": TEXTS_BY_NAME, "row": TABLE,
    **dict.fromkeys(FIELDS, TABLE),
}  # fmt: skip
"""What stands under a key of a mapping."""
TOOL_FORMS = {"tool": TEXT, "arguments": TABLE, "rows": TEXT, "pattern": TEXT, "missing": TEXT}


@dataclass(frozen=True)
class Tool:
    """One tool of a server.

    Attributes:
        arguments: With {fields}: a value that is nothing else keeps its type.
        rows: Where the memories lie in its answer, as a path; "" is the whole answer.
        pattern: Or a regular expression that finds them in its text, with groups of the names of ROW.
        row: Where a memory holds its parts, as paths. Of its verdict there may be several.
        missing: A regular expression: a failure, or words in the place of rows, that it matches means that there is no
            such memory; of `remember`, that this text is held already, and not stored again.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: str | None = None
    pattern: str = ""
    row: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    missing: str = ""

    def uses(self, name: str) -> bool:
        return name in set(_list_fields(self.arguments))

    def tells(self, part: str) -> bool:
        return part in (re.compile(self.pattern).groupindex if self.pattern else self.row)


@dataclass(frozen=True)
class ServerMapping:
    """A mapping file, read.

    Attributes:
        packages: What the server needs installed, as an adapter's `packages`; none: its command is on PATH.
        command: How it is started.
        env: What its environment has beside, with {fields}.
        cwd: Its working directory, with {fields}.
        storage: Layers below the root of a store: name, path and format.
        traits: What it can do that no tool shows: ranked, abstains, persistent, ...
        whole: A recall brings all that it finds, however many were asked for; else no more than `k` are taken.
        failed: Where an answer that is no error by the protocol says that the tool failed, as a path.
        verdicts: The server's word for a memory, in any case -> a verdict. What has no entry is none.
        unsupported: Why a capability is not there, if not because there is no tool for it.
    """

    path: str
    command: Sequence[str]
    storage: Sequence[Layer]
    tools: Mapping[str, Tool]
    packages: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "{root}"
    traits: Sequence[str] = ()
    whole: bool = False
    failed: str = ""
    verdicts: Mapping[str, VerdictKind] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)

    def returns(self, part: str) -> bool:
        """Whether memories that come back hold it; what is found without its text comes back as `get` tells it."""
        recall, get = self.tools["recall"], self.tools.get("get")
        return recall.tells(part) or (get is not None and not recall.tells("text") and get.tells(part))


def find_mapping(name: str) -> Path:
    """`NAME.toml` of ours, or of a folder on the module path, which those of COLDWARM_ADAPTER_PATH are on.

    Raises ValueError, one line.
    """
    for folder in (FOLDER, *map(Path, sys.path)):
        # a name with a slash in it would lead elsewhere
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
        # `path` and `tools` are ours, and no keys of a file
        _check_names(
            "key", given, {each.name for each in fields(ServerMapping)} - {"path", "tools"} | FIELDS.keys() | {"row"}
        )
        _check_forms(given, FORMS)
        row = given.pop("row", {})
        tools = {name: _read_tool(name, given.pop(name), row) for name in FIELDS if name in given}
        for name in ("remember", "recall"):
            if name not in tools:
                raise ValueError(f"it has no table [{name}]")
        if "command" not in given:
            raise ValueError("it has no `command`")
        _check_names("trait", given.get("traits", ()), get_args(Trait))
        _check_names("capability", given.get("unsupported", {}), CAPABILITIES)
        verdicts = dict(given.get("verdicts", {}))
        _check_names("verdict", verdicts.values(), get_args(VerdictKind))
        if given.get("whole") and "ranked" in given.get("traits", ()):
            raise ValueError("whole: what is ranked brings no more than it is asked for")
        _check_start(given)
        storage = [_read_layer(each) for each in given.pop("storage", ())]
        given["verdicts"] = {word.casefold(): kind for word, kind in verdicts.items()}
        return ServerMapping(path=str(path), tools=tools, storage=storage, **given)
    except (OSError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: {' '.join(str(error).split())}") from None


def _read_tool(name: str, given: Mapping[str, Any], row: Mapping[str, str]) -> Tool:
    _check_names(f"key in [{name}]", given, {each.name for each in fields(Tool)} - {"row"} | {*ROW})
    if "tool" not in given:
        raise ValueError(f"[{name}] names no `tool`")
    _check_forms(given, TOOL_FORMS, f" in [{name}]")
    own = {part: given[part] for part in ROW if part in given}
    found = Tool(row={**row, **own}, **{key: value for key, value in given.items() if key not in ROW})
    _check_names(f"part of a row in [{name}]", found.row, ROW)
    for part, path in found.row.items():
        texts = path if part == "verdict" and isinstance(path, list) else [path]
        if not all(isinstance(each, str) for each in texts):
            many = "a path, or several" if part == "verdict" else "one path"
            raise ValueError(f"`{part}` in [{name}] must be {many}")
    _check_names(f"field in [{name}]", _list_fields(found.arguments), FIELDS[name])
    for part in ("pattern", "missing"):
        try:
            re.compile(getattr(found, part))
        except re.error as error:
            raise ValueError(f"`{part}` in [{name}] is no regular expression: {error}") from None
    _check_names(f"group in [{name}]", re.compile(found.pattern).groupindex, ROW)
    if name in ("recall", "entries", "history") and found.rows is None and not found.pattern:
        raise ValueError(f"[{name}] says neither by rows nor by pattern where memories lie in the answer")
    return found


def _check_start(given: Mapping[str, Any]) -> None:
    """How a server is started: a checkout is lent to who declares that it reads one, and to nobody else."""
    used = {key: {*_list_fields(given.get(key))} for key in ("command", "env", "cwd")}
    for key, names in used.items():
        _check_names(f"field in {key}", names, START)
    where = next((key for key, names in used.items() if "work_tree" in names), None)
    if where and "work_tree" not in given.get("traits", ()):
        raise ValueError(f"{where}: {{work_tree}} needs the trait work_tree")
    if not where and "work_tree" in given.get("traits", ()):
        raise ValueError("traits: work_tree needs {work_tree} in command, env or cwd")


def _read_layer(given: Any) -> Layer:
    _check_forms({"storage": given}, {"storage": LAYER})
    name, path, form = given
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError(f"`storage` must lie in the store: {path} does not; name a path below its root")
    _check_names("format in storage", [form], get_args(get_type_hints(Layer)["format"]))
    return Layer(name, path, form)


def _check_forms(given: Mapping[str, Any], forms: Mapping[str, str], where: str = "") -> None:
    for key, form in forms.items():
        if key in given and not _FITS[form](given[key]):
            raise ValueError(f"`{key}`{where} must be {form}; it is {repr(given[key])[:60]}")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_FITS: Mapping[str, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    TEXTS: _are_texts,
    TEXTS_BY_NAME: lambda value: isinstance(value, dict) and _are_texts([*value.values()]),
    TABLE: lambda value: isinstance(value, dict),
    SWITCH: lambda value: isinstance(value, bool),
    COMMAND: lambda value: _are_texts(value) and len(value) > 0,
    LAYER: lambda value: _are_texts(value) and len(value) == 3,
    LAYERS: lambda value: isinstance(value, list),
}


def _check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    if wrong := sorted({*given} - {*known}):
        raise ValueError(f"unknown {what}: {', '.join(wrong)}; known: {', '.join(sorted(known))}")


# --- arguments and answers ----------------------------------------------------------------------------------------


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its fields filled in. One that is a field and nothing else becomes the value as it is.

    A value of None is empty in a longer text, and else left out, and so is a list or a table that holds nothing else.
    """
    if isinstance(template, str):
        alone = template[1:-1]
        # `{id}{text}` begins and ends alike, and is no field
        if template == f"{{{alone}}}" and alone in values:
            return values[alone]
        return template.format_map({name: "" if value is None else value for name, value in values.items()})
    if isinstance(template, Mapping):
        filled = {key: part for key, each in template.items() if (part := fill(each, values)) is not None}
        return filled if filled or not template else None
    if isinstance(template, list):
        parts = [part for each in template if (part := fill(each, values)) is not None]
        return parts if parts or not template else None
    return template


def list_rows(tool: Tool, answer: Any, text: str) -> list[dict[str, Any]]:
    """The memories of an answer, each with the parts that it has."""
    if tool.pattern:
        return [each.groupdict() for each in re.finditer(tool.pattern, text)]
    found = dig(answer, tool.rows or "")
    rows = found if isinstance(found, list) else [] if found is None else [found]
    return [
        {
            part: dig(each, path) if isinstance(path, str) else [dig(each, one) for one in path]
            for part, path in tool.row.items()
        }
        for each in rows
    ]


def read_date(value: Any, where: str) -> str | None:
    """As text of ISO 8601: servers send seconds or milliseconds since 1970, or other forms. Raises ValueError."""
    with suppress(ValueError, TypeError, OverflowError, OSError):
        if value is None or value == "":
            return None
        # eight digits are a date without dashes, nine and more are a time since 1970
        if isinstance(value, str) and not re.fullmatch(r"\d{9,}(\.\d+)?", value):
            try:
                datetime.fromisoformat(value)
            except ValueError:
                return parsedate_to_datetime(value).isoformat()
            return value
        # float() takes True for 1
        if not isinstance(value, bool):
            seconds = float(value)
            return datetime.fromtimestamp(seconds / 1000 if seconds > MILLISECONDS else seconds, UTC).isoformat()
    wanted = "`created` must be a date as text (2026-02-03T10:00:00Z)"
    raise ValueError(f"{where}: {wanted}; the server sent {name_kind(value)}")


def read_verdict(row: Mapping[str, Any], verdicts: Mapping[str, VerdictKind]) -> Verdict | None:
    """What the server says of a memory: the first of its words that the mapping knows. `none`: there is no word."""
    said = row.get("verdict")
    words = said if isinstance(said, list) else [said]
    kind = next((verdicts[word] for each in words if (word := str(each).casefold()) in verdicts), None)
    by, reason = (None if row.get(part) is None else str(row[part]) for part in ("by", "reason"))
    return Verdict(kind, by or None, reason or None) if kind else None


def read_number(value: Any, where: str, part: str) -> float | None:
    """Raises ValueError, which names the key."""
    if value is None or value == "":
        return None
    with suppress(ValueError, TypeError, OverflowError):
        # float() takes True for 1
        if not isinstance(value, bool) and isfinite(number := float(value)):
            return number
    raise ValueError(f"{where}: `{part}` must be a finite number; the server sent {name_kind(value)}")


def name_kind(value: Any) -> str:
    # JSON as Python reads it may hold NaN and Infinity
    if isinstance(value, float) and not isfinite(value):
        return str(value)
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
        for _, name, form, _ in Formatter().parse(template):
            # a field may stand in the format of another, as in {text:{k}}
            yield from () if name is None else (name, *_list_fields(form))
    elif isinstance(template, Mapping | list):
        for part in template.values() if isinstance(template, Mapping) else template:
            yield from _list_fields(part)
