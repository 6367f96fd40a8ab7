"""Names of values, in words that a question can use; none if a person would not know how to ask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from harness.mine import shapes
from harness.mine.value_changes import HOSTS, Seen

_SECTION = re.compile(r"\s*\[+\s*([^\]\s][^\]]*?)\s*\]+\s*(?:#.*)?")
_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*")
_UNDERLINE = re.compile(r"([=\-~^\"'#*+])\1{2,}\s*")
_EMPTY = ("project", "on", "with", "uses", "env", "jobs", "steps", "strategy", "matrix", "include", "global", "run")
"""Keys that tell nothing of what stands below them."""
_COMMON = ("type", "types", "name", "id", "value", "content", "key", "title", "data", "enabled", "default",
           "groupid", "artifactid", "packaging")  # fmt: skip
"""Keys that so many things have that nobody asks for one without saying of what."""
_STAGE = re.compile(r"\s*FROM\s+\S+(?:\s+\S+)??(?:\s+AS\s+(\S+))?\s*$", re.IGNORECASE)
_DOCKER = {"USER": "user", "EXPOSE": "port", "WORKDIR": "working folder"}
_KEYED = re.compile(r"\s*(?:-\s+)?[\"']?([\w.$/-]+)[\"']?\s*:\s*(.*)")
"""A key below which others stand, and what it says itself."""
_ELEMENT = re.compile(r"\s*<([\w.-]+)[ >]")
_OWN_NAME = re.compile(r"\s*<(?:artifactId|id)>([^<>]+)<")
_SEVERAL = ("plugin", "dependency", "profile", "execution", "parent")
"""Elements of which a file has several."""
_INLINE = re.compile(r"(?:^|[\s{,(&;`])[\"']?([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"'`]?$")
"""A key right before a value, in a line that has more of them."""
_PROSE_WORD = re.compile(r"[A-Z]?[a-z]+")
_PROSE_END = re.compile(r"(?<![\w-])(?!(?:export|const|let|var|val|set|env|arg|def)\s)[A-Za-z]{2,}\s+$", re.IGNORECASE)
"""The last word of a phrase that goes before a colon, which is no key; and what its words before end with."""
_ECHOED = re.compile(r"\becho\s+(?:-\w+\s+)?([\"'])(?:(?!\1).)*$")
"""A text that a shell says, up to a value within."""
_PAIR = re.compile(r"[\"']?([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"']?([\w./:@-]+)")
_CALLABLE = ("def", "function", "fn", "func")
_SHOWN = {
    ".rs": re.compile(r"\bpub\b"), ".go": re.compile(r"^func\s"),
    **dict.fromkeys((".java", ".cs"), re.compile(r"\bpublic\b")),
    **dict.fromkeys((".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts"), re.compile(r"\bexport\b")),
}  # fmt: skip
"""What stands before a function that others may call, where the language has a word for it."""
_HERSELF = ("self", "cls", "this", "ctx", "context", "mut")
"""Parameters that tell no function from another."""
_LINKED = re.compile(r"\[([^\[\]]+)\]\([\w./#-]*$")
_TAGGED = re.compile(r"[\"']?[^<>]*>([^<>]+)</a>")
_TOLD = re.compile(
    r"(?:^|[.:]\s+)((?:the|all|each|every|an?|our)\s[^.:;|`\"“”]*\s(?:from|to|in|on|at|with|by|under|as|into|is|are))\s*[`\"']?$",
    re.IGNORECASE,
)
"""A sentence up to the word before its value, so that the value is what it speaks of."""
_ORDER = re.compile(
    r"(?:^|[.:;]\s+|^\s*(?:[-*>]|\d+[.)])\s+)(?:\*\*)?((?:please\s+|always\s+|then\s+|first\s+)?"
    r"(?:run|use|install|build|start|set|put|call|deploy|push|open|edit|import|prefer|format|lint|test|check|execute|add)\b"
    r"[^.:;|`\"“”]*)[`\"']?$",
    re.IGNORECASE,
)
"""The beginning of a sentence that tells the reader to do something with its value."""
_VERB = re.compile(r"(?:(?:please|always|then|first)\s+)?\w+\s*", re.IGNORECASE)
_MUST = re.compile(r"(?:^|[.:]\s+|^\s*[-*]\s+)([A-Z][a-zA-Z ]+ (?:must|should) [a-z]+(?: [a-z]+)?)\s*`$")
"""`Type hints must pass`, right before a value in code marks."""
_VERSIONED = re.compile(r"\b(toolchain|python|node|go|ruby|rust|java|php)\s+$", re.IGNORECASE)
_PART = re.compile(r"[a-z]{3,}")
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")


def name(seen: Seen, path: str, rows: Sequence[str], number: int, before: str, after: str) -> tuple[str, str]:
    """What a sentence calls it, and the word of the line that is held against a text; empty: it has no name."""
    shape, file = seen.shape, PurePosixPath(path).name
    if seen.kind == "default":
        return f"the default of {shape.key} in {seen.owner}", shape.key
    if seen.kind == "record":
        return f"the status of the record {PurePosixPath(path).stem}", ""
    if seen.kind == "dependency":
        return (_name_package(seen, path, rows) if shapes.find_dependencies(path, rows, number) else ""), ""
    if shape.key.upper() == "FROM" and shapes.classify_file(path) == "docker":
        return _name_stage(file, rows, number), ""
    if seen.kind == "constant" and seen.name.startswith("python ") and "." in seen.name:
        return f"{shape.key} of {seen.name.removeprefix('python ').rpartition('.')[0]}", shape.key
    if shape.key in _DOCKER and shapes.classify_file(path) == "docker":
        return f"the {_DOCKER[shape.key]} of {file}", shape.key
    if shape.key and file == "package.json" and find_section(path, rows, number) == "scripts":
        return f"the script {shape.key}", shape.key
    if shape.key:
        section = find_section(path, rows, number)
        alone = "" if shape.key.lower() in _COMMON else shape.key
        return (f"{shape.key} of {section}" if section else alone), shape.key
    if seen.kind == "setting":
        return f"the version in {file}", ""
    return _name_worded(seen, path, rows, number, before, after)


def _name_worded(seen: Seen, path: str, rows: Sequence[str], number: int, before: str, after: str) -> tuple[str, str]:
    """What is named by the words around it."""
    if seen.kind == "command" and not before.strip("$>% "):
        heading, word = find_heading(rows, number), seen.shape.new.split()[0]
        alone = _count_commands(rows, number, word) == 1 and seen.shape.old.split()[0] == word
        return (f"the command {word} under “{heading}”" if heading and alone else ""), word
    if seen.kind == "place":
        return _name_module(before, after), ""
    if seen.kind == "name":
        return _name_function(PurePosixPath(path), seen.shape.new, before, after), ""
    if seen.kind == "flag":
        return _name_flag(before, after), ""
    tagged = re.search(r"\bhref=[\"']?$", before)
    linked = _TAGGED.match(after) if tagged else _LINKED.search(before)
    if linked:
        return f"the file that “{linked[1]}” links to", ""
    keyed = None if _ECHOED.search(before) else _INLINE.search(before)
    if keyed and not (_PROSE_WORD.fullmatch(keyed[1]) and _PROSE_END.search(before[: keyed.start(1)])):
        where = _tell_where(path, rows, number, before, keyed[1])
        return f"{keyed[1]}{where}" if where else "", keyed[1]
    if ordered := _ORDER.search(before):
        return _name_order(PurePosixPath(path).name, ordered[1], after), ""
    if versioned := _VERSIONED.search(before):
        return f"the {versioned[1]} version", versioned[1]
    if must := _MUST.search(before):
        return f"what {must[1][0].lower()}{must[1][1:]}", ""
    clause = _TOLD.search(before)
    return (_name_told(clause[1], after) if clause else ""), ""


def _name_stage(file: str, rows: Sequence[str], number: int) -> str:
    """The base image of a file, or of a stage of several: where it has no name, its line is not the only such."""
    stage = _STAGE.match(rows[number - 1])
    several = sum(bool(_STAGE.match(row)) for row in rows) > 1
    return f"the base image of {f'the stage {stage[1]} of ' if several and stage and stage[1] else ''}{file}"


def _count_commands(rows: Sequence[str], number: int, word: str) -> int:
    """Lines around this one, between two headings, that begin with a word."""
    start = next((at for at in range(number - 1, 0, -1) if _HEADING.fullmatch(rows[at - 1])), 0)
    end = next((at for at in range(number, len(rows)) if _HEADING.fullmatch(rows[at])), len(rows))
    return sum(row.split()[:1] == [word] for row in (row.strip().lstrip("$>% ") for row in rows[start:end]))


def _name_module(before: str, after: str) -> str:
    taken = re.search(r"\bimport\s+\(?\s*([\w, ]+)", after) or re.search(
        r"(?:import|const|let|var)\s+(?:type\s+)?(\{[\w, $]+\}|[\w$]+)", before
    )
    used = re.match(r"::\{?([\w, ]+)", after)
    found = taken or used
    return f"the module from which {found[1].strip(' {}')} comes" if found else ""


def _name_package(seen: Seen, path: str, rows: Sequence[str]) -> str:
    """Names a change of packages by the words that both names share: who asks for it says what it is for, and not all
    of it. Nothing if another package of the manifest is called so, too.
    """
    file = PurePosixPath(path).name
    old, new = ([*dict.fromkeys(_PART.findall(each.lower()))] for each in (seen.shape.old, seen.shape.new))
    common = [word for word in new if word not in HOSTS and any(word in each or each in word for each in old)]
    tells_all = len(common) == len(new) and seen.shape.new.count("/") < 2
    places = ((row, shapes.find_dependency(path, row)) for row in rows)
    called = {row[slice(*place)].lower() for row, place in places if place} - {seen.shape.new.lower()}
    alone = not any(all(word in name for word in common) for name in called)
    return f"the {' '.join(common)} package in {file}" if common and alone and not tells_all else ""


def _name_function(path: PurePosixPath, called: str, before: str, after: str) -> str:
    """Names a function by what it takes, as no other word of its line is its own; only where others may call it."""
    words, taken = before.split(), re.match(r"(?:<[^>]*>)?\(([^()]*)\)", after)
    shown = path.suffix not in _SHOWN or _SHOWN[path.suffix].search(before)
    # Go shows other packages only what begins with a capital
    private = called.startswith("_") or (path.suffix == ".go" and called[:1].islower())
    if private or not (shown and words and taken and words[-1] in _CALLABLE):
        return ""
    parts = (re.match(r"[&*]?(?:mut\s+)?(\w+)", each.strip()) for each in taken[1].split(","))
    takes = [each[1] for each in parts if each and each[1] not in _HERSELF]
    return f"the function in {path.name} that takes {_join(takes)}" if takes else ""


def _join(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _name_flag(before: str, after: str) -> str:
    """The flag of a command, with what the sentence goes on to say of it."""
    command = re.search(r"([A-Za-z][\w./-]*)\s+$", before)
    rest = re.match(r"[`\"')\]]*\s+(\w[^.`;|]*)", after)
    if not (command and rest and len(_PLAIN_WORD.findall(rest[1])) > 1):
        return ""
    return f"the flag of {command[1]} {_cut(rest[1])}"


def _name_told(clause: str, after: str) -> str:
    """`The lanes are read from`, `first.` -> the thing that the lanes are read from first."""
    rest = re.match(r"[`\"')\]]*\s*([A-Za-z ]*)[.,;:]?\s*$", after)
    if rest is None or len(_PLAIN_WORD.findall(clause)) < 3:
        return ""
    return " ".join(f"the thing that {clause[0].lower()}{clause[1:]} {rest[1]}".split())


def _name_order(file: str, order: str, after: str) -> str:
    """`Run`, ` before each commit.` -> what AGENTS.md says to run before each commit. What follows a value goes with
    the verb only where nothing stands between the two."""
    rest = re.match(r"[`\"')\]*]*\s*([A-Za-z][A-Za-z ,'-]*)?", after)
    instruction = f"{order[0].lower()}{order[1:].rstrip()} {_cut(rest[1] or '') if rest else ''}".strip()
    plain = _PLAIN_WORD.findall(instruction)
    cut = rest and rest[1] and not _VERB.fullmatch(order)
    is_clear = len(plain) > 2 and plain[-1] not in ("this", "that", "follows") and not cut
    return f"what {file} says to {instruction}" if is_clear else ""


def _cut(text: str) -> str:
    """At most six words."""
    return " ".join(text.split()[:6]).rstrip(" ,:")


def _tell_where(path: str, rows: Sequence[str], number: int, before: str, key: str) -> str:
    """What tells a key from another of its name: another pair of its line, the table above it, or the heading."""
    pair = next((each for each in _PAIR.finditer(before) if each[1] != key), None)
    if pair is not None:
        return f" where {pair[1]} is {pair[2]}"
    if section := find_section(path, rows, number):
        return f" of {section}"
    heading = find_heading(rows, number) if shapes.classify_file(path) == "docs" else ""
    return f" under “{heading}”" if heading else ""


def find_section(path: str, rows: Sequence[str], number: int) -> str:
    """The table of a TOML or INI file, the key above in one that is indented; empty: there is none."""
    form = shapes.classify_file(path)
    if form in ("toml", "ini"):
        above = (_SECTION.fullmatch(row) for row in reversed(rows[: number - 1]))
        return next((f"[{found[1]}]" for found in above if found), "")
    if form not in ("yaml", "json", "code", "xml"):
        return ""
    if form == "xml":
        return " of ".join([*_list_around(rows, number)][:2])
    return "" if form == "code" else " of ".join([*_list_above(rows, number)][:2])


def _list_above(rows: Sequence[str], number: int) -> Iterator[str]:
    """The keys around a line, the nearest first; a step of a list by what it calls itself."""
    for at in _list_outer(rows, number):
        key = _KEYED.match(rows[at])
        called = key[2].strip(" '\"") if key and key[1] == "name" else ""
        # nobody knows what a template puts in the place of `${`
        if called and "${" not in called:
            yield f"“{called}”"
        elif key and key[1] not in (*_EMPTY, "name"):
            yield key[1]


def _list_around(rows: Sequence[str], number: int) -> Iterator[str]:
    """The elements around a line of XML, the nearest first; a plugin or a profile by its own name."""
    for at in _list_outer(rows, number):
        if opened := _ELEMENT.match(rows[at]):
            named = _find_own_name(rows, at, number) if opened[1] in _SEVERAL else opened[1]
            if named not in ("project", "build", "plugins", "profiles", "executions", "configuration"):
                yield named


def _find_own_name(rows: Sequence[str], start: int, end: int) -> str:
    """What an element of several calls itself, by its first lines; else what it is."""
    found = (_OWN_NAME.match(row) for row in rows[start + 1 : end])
    # the caller has matched this row, so it is never None
    return next((each[1] for each in found if each), _ELEMENT.match(rows[start])[1])  # type: ignore[index]


def _list_outer(rows: Sequence[str], number: int) -> Iterator[int]:
    """Where the lines above a line are that stand further out, each further than the one before; from 0."""
    indent = _indent(rows[number - 1])
    for at, row in reversed([*enumerate(rows[: number - 1])]):
        if row.strip() and not row.strip().startswith(("#", "//")) and _indent(row) < indent:
            indent = _indent(row)
            yield at
            if indent == 0:
                return


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def find_heading(rows: Sequence[str], number: int) -> str:
    for at in range(number - 2, -1, -1):
        if found := _HEADING.fullmatch(rows[at]):
            return found[1]
        if at and _UNDERLINE.fullmatch(rows[at]) and rows[at - 1].strip() and not rows[at - 1].startswith(" "):
            return rows[at - 1].strip()
    return ""
