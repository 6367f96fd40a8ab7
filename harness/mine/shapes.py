"""One line before and after a commit -> the value that changed in it, by what lines of such a file look like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

ChangeKind = Literal[
    "setting", "constant", "default", "dependency", "command", "flag", "place", "name", "record", "text"
]
KINDS: tuple[ChangeKind, ...] = (
    "setting", "default", "constant", "record", "dependency", "command", "flag", "name", "place", "text",
)  # fmt: skip
"""The surest first: of the same change in several lines, one of the first kind stands for all."""


KNOWN = 4096
"""Paths of which the form is remembered: a hunk asks for that of its file with each of its lines."""


class Shape(NamedTuple):
    """A value in a line.

    Attributes:
        before, after: What stands around it; both lines of a change have them.
        key: What it is the value of, as the line says it; empty: the line as a whole.
    """

    kind: ChangeKind
    key: str
    before: str
    after: str
    old: str
    new: str


_KEY = r"[\"']?(?P<key>[A-Za-z_][\w.$/-]*)[\"']?"
_VALUE = r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s#;,=][^#;]*?)"
_SETTING: dict[str, re.Pattern[str]] = {
    "toml": re.compile(rf"\s*{_KEY}\s*=\s*{_VALUE}\s*(?:#.*)?"),
    "ini": re.compile(rf"\s*(?:export\s+)?{_KEY}\s*(?:[:?+]?=|:)\s*{_VALUE}\s*(?:[#;].*)?"),
    "make": re.compile(rf"\s*(?:export\s+)?{_KEY}\s*[:?+]?=\s*{_VALUE}\s*(?:#.*)?"),
    "yaml": re.compile(rf"\s*(?:-\s+)?{_KEY}\s*:\s+{_VALUE}\s*(?:\s#.*)?"),
    "json": re.compile(r"\s*\"(?P<key>[^\"]+)\"\s*:\s*(?P<value>\"[^\"]*\"|[\w.+-]+|\[[^\[\]]*\])\s*,?\s*"),
    "docker": re.compile(
        r"\s*(?:(?P<key>FROM|EXPOSE|WORKDIR|USER|SHELL|STOPSIGNAL)\s+|(?:ENV|ARG)\s+(?P<name>\w+)(?:=|\s+))(?P<value>\S+)(?:\s+AS\s+\w+)?\s*",
        re.IGNORECASE,
    ),
    "kwarg": re.compile(rf"\s*{_KEY}\s*=\s*(?P<value>\"[^\"]*\"|'[^']*'|[\w.+-]+)\s*,?\s*(?:#.*)?"),
    "build": re.compile(
        rf"\s*(?:val\s+|def\s+)?{_KEY}(?:\s*:?=\s*|\s+(?=\d))(?P<value>\"[^\"]*\"|'[^']*'|[\w.+-]+)\s*,?\s*(?:(?:#|//).*)?"
    ),
    "xml": re.compile(r"\s*<(?P<key>[\w.-]+)>(?P<value>[^<>]+)</(?P=key)>\s*(?:<!--.*)?"),
    "gomod": re.compile(r"\s*(?P<key>go|toolchain)\s+(?P<value>\S+)\s*"),
    "tools": re.compile(r"\s*(?P<key>[a-z][\w-]*)\s+(?P<value>\S+)\s*(?:#.*)?"),
}
_NAME = r"(?P<value>(?!@types/)@?[A-Za-z][\w./-]*)"
_DEPENDENCY: dict[str, re.Pattern[str]] = {
    "package.json": re.compile(rf"\s*\"{_NAME}\"\s*:\s*\"[^\"]*\"\s*,?\s*"),
    "Cargo.toml": re.compile(r"(?P<value>[A-Za-z][\w-]*)(?:\s*=\s*(?:\"[^\"]*\"|\{.*\})|\.\w+\s*=\s*\S+)\s*"),
    "go.mod": re.compile(rf"\s*(?:require\s+)?{_NAME}\s+v\S+\s*"),
    "pyproject.toml": re.compile(rf"\s*[\"']?{_NAME}(?:\[[\w,]+\])?\s*(?:[~<>=!].*)?[\"']\s*,?\s*"),
    "setup.cfg": re.compile(rf"\s+{_NAME}(?:\[[\w,]+\])?\s*(?:[~<>=!].*)?"),
    "setup.py": re.compile(rf"\s*[\"']{_NAME}(?:\[[\w,]+\])?\s*(?:[~<>=!].*)?[\"']\s*,?\s*"),
    "Gemfile": re.compile(rf"\s*(?P<list>gem)[\s(]+[\"']{_NAME}[\"'].*"),
    ".gemspec": re.compile(rf"\s*\w+\.(?P<list>add_\w*dependency)[\s(]+[\"']{_NAME}[\"'].*"),
    ".gradle": re.compile(
        r"\s*(?P<list>\w*[iI]mplementation|api|\w*[cC]ompile(?:Only)?|\w*[rR]untimeOnly)[\s(]+[\"'](?P<value>[\w.-]+:[\w.-]+)(?::[^\"':]*)?[\"']\)?\s*"
    ),
}
"""By the name of the manifest, or by how it ends. `list`: what the line itself calls the list that it belongs to."""
_OPENS = re.compile(r".*[\[{(=]\s*|\s*\[.+\]\s*")
_ASKS = re.compile(r"depend|require", re.IGNORECASE)
_CONSTANT = re.compile(
    r"\s*(?:(?:export|pub(?:\(\w+\))?|public|private|protected|internal|static|final|const|constexpr|readonly|let|var|val|"
    r"inline|unsigned|signed|int|long|double|float|char|bool|boolean|string|String|size_t|u?int\d*_t|#\s*define)\s+)*"
    r"\*?(?P<key>[A-Za-z_$][\w$]*)(?:\s*:\s*[\w<>&' \[\]]+)?(?:\s*:?=\s*|\s*:\s+|(?<=\w)\s+)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|-?\d[\w.]*(?:\s*[*+<]{1,2}\s*\d[\w.]*)*|true|false|nil|null|None)\s*[;,]?\s*(?://.*|/\*.*)?"
)
_DECLARED = re.compile(r"\b(?:const|final|static|define|constexpr|readonly|val)\b|\b[A-Z][A-Z0-9_]{2,}\b")
_DEFINITION = re.compile(
    r"\s*(?:(?:export|default|pub(?:\(\w+\))?|public|private|protected|static|async|abstract|final|const|unsafe)\s+)*"
    r"(?P<word>def|class|function|fn|func|struct|enum|trait|interface|module|type)\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_]\w*)(?P<rest>.*)"
)
_FLAG = re.compile(r"--?[a-z][\w-]+")
_IMPORT = re.compile(r"\s*(?:from\s+\S+\s+import\b|import\b|export\b.*\bfrom\b|use\s|#\s*include\b|.*\brequire\()")
_COMMAND = re.compile(
    r"\s*(?:[$>#%]\s+)?(?:sudo\s+)?(?:pip3?|pipx|npm|npx|yarn|pnpm|cargo|rustup|go|make|docker|docker-compose|git|python3?|tox|nox|poetry|uv|"
    r"brew|apt|apt-get|dnf|yum|pacman|choco|scoop|snap|curl|wget|kubectl|helm|gh|bundle|gem|composer|mvn|gradle|\./gradlew|pytest|just|"
    r"pre-commit|conda|port|nix|nix-env|winget|deno|bun|cmake|bash|sh|\./[\w./-]+)\s+\S.*"
)
_STATUS = re.compile(
    r"\s*(?:[-*>#]*\s*)?(?:\*\*)?status(?:\*\*)?\s*[:|]\s*(?:\*\*)?\s*(?P<value>.+?)\s*\|?\s*", re.IGNORECASE
)
_RECORDS = re.compile(
    r"(?:^|/)(?:adrs?|decisions?|rfcs?|proposals|peps?|design)/[^/]+\.(?:md|rst|txt|adoc)$", re.IGNORECASE
)
_OPENING = re.compile(r"[{&*]|[|>][-+\d]*$")
"""What begins a value that goes over lines, or stands for one that is elsewhere."""
_TOKEN = re.compile(r"[^\s\"'`(){}\[\],;<>]+")
_CODE_LIKE = re.compile(r"\d|[_./:=@-]\w|[a-z][A-Z]")
_KNOWN = {
    ".toml": "toml", ".json": "json", ".json5": "json", ".jsonc": "json", ".py": "python", ".pyi": "python",
    ".gradle": "build", ".gemspec": "build", ".sbt": "build", ".csproj": "xml", ".fsproj": "xml", ".props": "xml",
}  # fmt: skip
_NAMED = {
    "go.mod": "gomod",
    "pom.xml": "xml",
    "Gemfile": "build",
    "build.gradle.kts": "build",
    ".tool-versions": "tools",
}
_ENV_EXAMPLE = re.compile(r"(?:.+\.)?env[._-](?:example|sample|dist|template|defaults?)")
DOCS = (".md", ".rst", ".txt", ".adoc", ".markdown")
SCRIPTS = (".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd", ".mk")
CODE = (
    ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt",
    ".swift",
    ".rb", ".php", ".cs", ".scala", ".ex", ".exs", ".lua",
)  # fmt: skip


@lru_cache(KNOWN)
def classify_file(path: str) -> str:
    """toml, ini, yaml, json, xml, build, docker, make, gomod, tools, whole, docs, script, python or code, by what its
    lines look like; empty: nothing that is known."""
    name, suffix = PurePosixPath(path).name, PurePosixPath(path).suffix.lower()
    if name in (
        ".python-version",
        ".nvmrc",
        ".node-version",
        ".ruby-version",
        "runtime.txt",
        "rust-toolchain",
    ):
        return "whole"
    if name.startswith(("Dockerfile", "Containerfile")) or suffix == ".dockerfile":
        return "docker"
    if name in ("Makefile", "GNUmakefile", "makefile", "justfile", "Justfile"):
        return "make"
    if (
        name.startswith(".env")
        or _ENV_EXAMPLE.fullmatch(name)
        or suffix in (".ini", ".cfg", ".conf", ".properties", ".env")
        or name in (".editorconfig", ".npmrc", ".coveragerc", ".flake8")
    ):
        return "ini"
    if suffix in (".yaml", ".yml") or name in (".clang-format", ".eslintrc", ".prettierrc"):
        return "yaml"
    if name in _NAMED:
        return _NAMED[name]
    if suffix in DOCS or name in ("README", "INSTALL", "CONTRIBUTING"):
        return "docs"
    return _KNOWN.get(suffix) or ("script" if suffix in SCRIPTS else "code" if suffix in CODE else "")


def find_shape(path: str, old: str, new: str) -> Shape | None:
    """The value that changed between two lines of a file, if they are alike but for it."""
    form = classify_file(path)
    # before the form of its file: a record is a document, too, in which a word like `accepted` is no value
    if _RECORDS.search(path) and (a := _STATUS.fullmatch(old)) and (b := _STATUS.fullmatch(new)):
        return _find_around("record", "status", old, new, a, b)
    if form == "whole":
        return Shape("setting", "", "", "", old.strip(), new.strip())
    if form in _SETTING:
        return _find_setting(form, old, new) or _find_substitution(form, old, new)
    if form == "python" and PurePosixPath(path).name in ("setup.py", "conf.py", "noxfile.py"):
        return _find_setting("kwarg", old, new) or _find_substitution(form, old, new)
    if form == "code" and (found := _find_constant(old, new)):
        return found
    return _find_substitution(form, old, new) if form else None


def is_command(text: str) -> bool:
    return bool(_COMMAND.fullmatch(text))


def find_dependency(path: str, row: str) -> tuple[int, int] | None:
    """Where a line of a manifest names another project's package."""
    found = _match_dependency(path, row)
    return found.span("value") if found else None


def _match_dependency(path: str, row: str) -> re.Match[str] | None:
    pattern = _find_manifest(path)
    return pattern.fullmatch(row) if pattern else None


@lru_cache(KNOWN)
def _find_manifest(path: str) -> re.Pattern[str] | None:
    # Gradle's files in Kotlin list packages as those in Groovy do
    file = PurePosixPath(path.removesuffix(".kts"))
    return _DEPENDENCY.get(file.name) or _DEPENDENCY.get(file.suffix)


def find_dependencies(path: str, rows: Sequence[str], number: int) -> str:
    """What a manifest calls the list in which a line stands; empty if it is no list of packages."""
    found = _match_dependency(path, rows[number - 1])
    if found and "list" in found.groupdict():
        return found["list"]
    above = next((row for row in reversed(rows[: number - 1]) if _OPENS.fullmatch(row)), "")
    return " ".join(re.findall(r"[\w.-]+", above)) if _ASKS.search(above) else ""


def _find_around(kind: ChangeKind, key: str, old: str, new: str, a: re.Match[str], b: re.Match[str]) -> Shape | None:
    """Quotes around a value belong to the line."""
    (start, end), (first, last) = _unquote(a), _unquote(b)
    # indentation and quotes may change together with a value
    if old[:start].strip(" \t\"'") != new[:first].strip(" \t\"'"):
        return None
    return Shape(kind, key, new[:first].lstrip(), new[last:].rstrip(), old[start:end], new[first:last])


def _unquote(found: re.Match[str]) -> tuple[int, int]:
    start, end = found.span("value")
    value = found["value"]
    quoted = len(value) > 2 and value[0] == value[-1] and value[0] in "\"'"
    return (start + 1, end - 1) if quoted else (start, end)


def _find_setting(form: str, old: str, new: str) -> Shape | None:
    pattern = _SETTING[form]
    a, b = pattern.fullmatch(old), pattern.fullmatch(new)
    if not (a and b):
        return None
    nested = form in ("yaml", "json") and old[: len(old) - len(old.lstrip())] != new[: len(new) - len(new.lstrip())]
    if nested:  # another table has a key of this name
        return None
    # ENV and ARG of a Dockerfile have their name in a group of its own
    key = b["key"] or b.groupdict().get("name") or ""
    if (a["key"] or a.groupdict().get("name")) != key or _OPENING.match(a["value"]) or _OPENING.match(b["value"]):
        return None
    return _find_around("setting", key, old, new, a, b)


def _find_constant(old: str, new: str) -> Shape | None:
    a, b = _CONSTANT.fullmatch(old), _CONSTANT.fullmatch(new)
    # capitals within the value declare nothing
    if not (a and b and a["key"] == b["key"] and _DECLARED.search(new[: b.start("value")])):
        return None
    return _find_around("constant", b["key"], old, new, a, b)


def _find_substitution(form: str, old: str, new: str) -> Shape | None:
    """One run of characters between blanks, quotes or brackets was replaced by another one."""
    old, new = old.rstrip(), new.rstrip()
    a, b = list(_TOKEN.finditer(old)), list(_TOKEN.finditer(new))
    if form == "docs" and _COMMAND.fullmatch(old) and _COMMAND.fullmatch(new):
        return _cut_command(old, new)
    if form == "docs" and (span := _find_span(old, new)):
        return span
    if len(a) != len(b):
        return None
    differ = [at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x[0] != y[0]]
    if len(differ) != 1:
        return None
    x, y = a[differ[0]], b[differ[0]]
    before, after = new[: y.start()], new[y.end() :]
    if old[: x.start()] != before or old[x.end() :] != after:
        return None
    left, right = x[0], y[0]
    # the end of a sentence is no part of its last word
    while left and right and left[-1] == right[-1] and left[-1] in ".:!?":
        left, right, after = left[:-1], right[:-1], left[-1] + after
    kind = _name_kind(form, old, new, left, right)
    if kind is None or not (left and right):
        return None
    return Shape(kind, "", before.lstrip(), after, left, right)


def _find_span(old: str, new: str) -> Shape | None:
    """Of several words in code marks, all of them, as the part that stayed is the same thing's."""
    a, b = old.split("`"), new.split("`")
    differ = [at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    # odd parts stand in code marks, but for one at the end, whose mark is never closed
    if len(a) != len(b) or len(differ) != 1 or differ[0] % 2 == 0 or differ[0] == len(a) - 1:
        return None
    at = differ[0]
    was, now = a[at].strip(), b[at].strip()
    if not (was and now and " " in was + now) or _is_other_flag(was.split(), now.split()):
        return None
    kind: ChangeKind = "command" if is_command(was) and is_command(now) else "text"
    before, after = "`".join(b[:at]) + "`", "`" + "`".join(b[at + 1 :])
    return Shape(kind, "", before.lstrip(), after, was, now)


def _is_other_flag(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether two commands are the same but for one flag: then that is what changed."""
    differ = [pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]]
    return len(old) == len(new) and len(differ) == 1 and all(map(_FLAG.fullmatch, differ[0]))


def _cut_command(old: str, new: str) -> Shape:
    lead = re.match(r"\s*(?:[$>#%]\s+)?", new)
    start = lead.end() if lead else 0
    was = re.sub(r"^\s*(?:[$>#%]\s+)?", "", old)
    return Shape("command", "", new[:start].lstrip(), "", was, new[start:])


def _name_kind(form: str, old: str, new: str, left: str, right: str) -> ChangeKind | None:
    """What kind of thing was replaced; None: nothing that tells a fact by itself."""
    if _FLAG.fullmatch(left) and _FLAG.fullmatch(right):
        return "flag"
    if form in ("python", "code"):
        if (a := _DEFINITION.fullmatch(old)) and (b := _DEFINITION.fullmatch(new)):
            same = a["word"] == b["word"] and a["name"] != b["name"] and a["rest"] == b["rest"]
            return "name" if same else None
        return "place" if _IMPORT.match(old) and _IMPORT.match(new) else None
    if form in ("docker", "make", "script"):
        return "command" if _COMMAND.fullmatch(new) else None
    if form in ("yaml", "toml", "ini", "json"):
        return "command" if re.search(r"\brun:|-\s+\S+ ", new) and len(new.split()) > 2 else None
    return "text" if form == "docs" and (_CODE_LIKE.search(left) or _CODE_LIKE.search(right)) else None
