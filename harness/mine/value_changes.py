"""The history of a repository -> every value that changed in it; what is none is counted with its reason."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from harness.machine.workers import map_parts
from harness.mine import exclusions, python, shapes, versions
from harness.mine.shapes import ChangeKind, Shape
from harness.repo.changes import Change, Commit, FileChange, GitFolder, Hunk, Line, read_texts, walk
from harness.repo.checkout import Repo

# every repeat has a bound: a row may be long, and is searched from each of its names on
_GIVEN = re.compile(r"\b(\w{1,99})\s{0,9}(?::[^=]{0,99})?=\s{0,9}((?:[\"'\d\-TFN\[({]|[bBrRuU]{1,2}[\"']).{0,200})")
"""A name that a line of Python gives a value which may be a literal, and what follows, as far as a value may go."""
_LINK = re.compile(r"\]\([^)\s]*$|^\s*\[[^\]]+\]:\s*\S*$|\b(?:href|src)=[\"']?[^\"']*$")
"""What stands before the target of a link."""
_ANCHOR = re.compile(r"<a\b[^>]*\b(?:id|name)=[\"']?$")
_ARGUMENT = re.compile(r"\s*[$>%]\s+[\w./-]+\s")
"""What stands before an argument of a command that a document shows at a prompt, if it is none of the common tools."""
_OWN = re.compile(r"git (?:checkout|switch|branch|commit|clone|push|pull|fetch|remote|tag)\b")
"""Commands of which each person puts in what is her own."""
_EXTENSION = re.compile(r"\.[cm]?[jt]sx?$")
_MAJOR = re.compile(r"[/.]v\d+$")
"""How Go names the version of a module."""
_WORD = re.compile(r"[a-z]+\d*")
HOSTS = {"github", "com", "org", "io", "gopkg", "golang", "in", "go", "v1", "v2", "v3", "v4", "v5"}
"""Words in the name of a package that tell nothing of what it is for."""
PART = 200
"""Commits that one process reads at once; a history of no more has no need of several."""
AT_ONCE = 25
"""Commits of which all Python files are in memory at once."""
_UNEVEN = 30
"""Lines of the largest hunk of which each old line is compared with each new one."""


@dataclass(frozen=True)
class Seen:
    """One value that a commit changed.

    Attributes:
        name: What it is the value of, within its file: the same for all values of one chain.
        owner: The function of a default argument.
    """

    commit: Commit
    files: tuple[str, str]
    lines: tuple[int, int]
    shape: Shape
    name: str
    owner: str = ""

    @property
    def kind(self) -> ChangeKind:
        return self.shape.kind


@dataclass(frozen=True)
class Renamed:
    """A file that a commit gave another name."""

    old: str
    new: str


def list_seen(repo: Repo, commits: Sequence[Commit], reasons: Counter[str]) -> Iterator[Seen | Renamed]:
    """Changes in the order of the history; within a commit, renames first."""
    parts = [commits[start : start + PART] for start in range(0, len(commits), PART)]
    read = partial(_read_part, GitFolder(repo.name, repo.path))
    for seen, left_out in map_parts(read, parts, os.cpu_count() or 1):
        reasons.update(left_out)
        yield from seen


def _read_part(repo: GitFolder, commits: Sequence[Commit]) -> tuple[list[Seen | Renamed], Counter[str]]:
    reasons = Counter[str]()
    # a list: a generator cannot be sent to another process
    return [*_list_changes(repo, commits, reasons)], reasons


def _list_changes(repo: GitFolder, commits: Sequence[Commit], reasons: Counter[str]) -> Iterator[Seen | Renamed]:
    changes = walk(repo, commits)
    while some := [*itertools.islice(changes, AT_ONCE)]:
        yield from _list_some(repo, some, reasons)


def _list_some(repo: GitFolder, changes: Sequence[Change], reasons: Counter[str]) -> Iterator[Seen | Renamed]:
    """Those of a few commits, whose Python files are read at once: git is started for each time of reading."""
    skipped = {change.commit.hash: exclusions.skip_commit(change) for change in changes}
    # a dict keeps the order, and each place once
    places = {
        place: None for change in changes if not skipped[change.commit.hash]
        for file in _list_given(change) for place in _list_places(change, file)
    }  # fmt: skip
    texts = dict(zip(places, read_texts(repo, [*places]), strict=True)) if places else {}
    for change in changes:
        if reason := skipped[change.commit.hash]:
            reasons[reason] += 1
            continue
        yield from (Renamed(each.old, each.new) for each in change.files if each.old != each.new)
        found = [*_list_lines(change, reasons), *_list_python(change, texts, reasons), *_list_swaps(change, reasons)]
        yield from _drop_repeated(found, reasons)


def _list_lines(change: Change, reasons: Counter[str]) -> Iterator[Seen]:
    for file in change.files:
        if file.unread:
            reasons["binary, very large, or no UTF-8 text"] += 1
        elif reason := exclusions.skip_file(file.new):
            reasons.update([reason] * len(file.hunks))
        else:
            for hunk in file.hunks:
                for old, new, shape in _pair(file.new, hunk):
                    # a version alone in its file, as in .nvmrc, is what the project runs on, and no release of its own
                    whole = shapes.classify_file(file.new) == "whole"
                    what = shape.key or shape.before
                    reason = exclusions.skip_values(shape.old, shape.new, what, change.commit.subject, number=whole)
                    reason = reason or _skip_shape(shape) or exclusions.skip_mend(shape.kind, change.commit.subject)
                    reason = reason or exclusions.skip_label(file.new, shape.key)
                    reason = reason or exclusions.skip_renamed((file.old, file.new), (shape.old, shape.new))
                    if reason:
                        reasons[reason] += 1
                        continue
                    keyed = shape.key and shape.kind in ("setting", "constant", "record")
                    # what follows a keyed value, as a comment, may change without it
                    name = shape.before if keyed else f"{shape.before}\0{shape.after}{_tell_program(shape)}"
                    yield Seen(change.commit, (file.old, file.new), (old.number, new.number), shape, name)


def _tell_program(shape: Shape) -> str:
    """Of a command that another program runs by now: it begins what is named by that program."""
    (old, *_), (new, *_) = shape.old.split(), shape.new.split()
    return f"\0{old} {new}" if shape.kind == "command" and old != new else ""


def _skip_shape(shape: Shape) -> str | None:
    old, new = shape.old, shape.new
    addressed = any("://" in each or exclusions.find_host(each) for each in (old, new))
    if (addressed and shape.kind not in ("setting", "constant", "place")) or (
        shape.kind == "text" and _is_anchor(shape)
    ):
        return "link"
    if shape.kind == "place" and _is_same_module(old, new):
        return "other way to name the same module"
    if shape.kind == "place" and not _is_module(shape):
        return "other name from the same module"
    if shape.kind == "place" and exclusions.is_mended(old, new):
        return "spelling"
    if shape.kind == "name" and old.startswith("_") and new.startswith("_"):
        return "private name"
    if shape.kind == "constant" and exclusions.NUMBER.fullmatch(old) and not re.search(r"\d", new):
        return "number that became another thing"
    if shape.kind == "text":
        return exclusions.skip_words(old, new) or _skip_number(shape) or _skip_example(shape)
    if shape.kind == "command":
        same = old.split() == new.split()
        return "white space, case or quotes" if same else "argument of an example" if _OWN.match(new) else None
    return None


def _is_anchor(shape: Shape) -> bool:
    """Where a file went is a fact, where in it something stands is none."""
    old, new = shape.old.lstrip("./"), shape.new.lstrip("./")
    if "://" in shape.before or _ANCHOR.search(shape.before) or (old[:1] == new[:1] == "#"):
        return True
    same = old.endswith(f"/{new}") or new.endswith(f"/{old}")
    return bool(_LINK.search(shape.before)) and (same or "#" in old + new)


def _skip_number(shape: Shape) -> str | None:
    """A number in a sentence is a fact if something is counted or versioned by it, not in output or a table."""
    words = re.findall(r"[A-Za-z]{2,}", shape.before + " " + shape.after)
    if (len(words) < 3 and not versions.RUNTIME.search(shape.before)) or "|" in shape.before + shape.after:
        return "too few words around it, or a table"
    counted = re.search(r":\s*$", shape.before) and shape.old.isdigit() and shape.new.isdigit()
    if counted or re.search(r"@|\*\*|\d\.\d+s|%", shape.old + shape.new):
        return "name of a person, or a measured number"
    if versions.VERSION.fullmatch(shape.new) and not versions.RUNTIME.search(shape.before + shape.after):
        return "version bump"
    return None


def _skip_example(shape: Shape) -> str | None:
    """Not what an example passes to a command, nor on which variable it calls the same function."""
    if _ARGUMENT.match(shape.before):
        return "argument of an example"
    (was, dot, function), (now, _, same) = shape.old.rpartition("."), shape.new.rpartition(".")
    called = shape.after.startswith("(") and dot and function == same
    if called and not {*was.split(".")} & {*now.split(".")}:  # quay.open -> quay.lane.open is another function
        return "variable of an example"
    return None


def _is_same_module(old: str, new: str) -> bool:
    a, b = (_EXTENSION.sub("", each.lstrip("./")) for each in (old, new))
    return a.endswith(b) or b.endswith(a) or a.startswith(f"{b}/") or b.startswith(f"{a}/")


def _is_module(shape: Shape) -> bool:
    """Whether what was replaced in an import is where something comes from."""
    if re.match(r"\s*(?:from|import)\s+$", shape.before) and not shape.before.startswith("import {"):
        return bool(re.match(r"\s+(?:import|as)\b|\s*$", shape.after))
    if re.match(r"(?:pub\s+)?use\s+$", shape.before):
        return shape.after.startswith(("::", ";"))
    return shape.before.endswith(('"', "'", "<", "`"))


def _pair(path: str, hunk: Hunk) -> Iterator[tuple[Line, Line, Shape]]:
    """Lines in the same place; else those of which each has one partner only."""
    if len(hunk.removed) == len(hunk.added):
        for old, new in zip(hunk.removed, hunk.added, strict=True):
            if shape := shapes.find_shape(path, old.text, new.text):
                yield old, new, shape
    elif max(len(hunk.removed), len(hunk.added)) <= _UNEVEN:
        found = [
            (old, new, shape)
            for old in hunk.removed
            for new in hunk.added
            if old.text.strip() != new.text.strip() and (shape := shapes.find_shape(path, old.text, new.text))
        ]
        olds, news = Counter(old.number for old, _, _ in found), Counter(new.number for _, new, _ in found)
        yield from (each for each in found if olds[each[0].number] == news[each[1].number] == 1)


def _list_swaps(change: Change, reasons: Counter[str]) -> Iterator[Seen]:
    """Where one package left a manifest and one came, the second took the place of the first."""
    for file in change.files:
        # its hunks are counted with the reason where its lines are read
        if exclusions.skip_file(file.new):
            continue
        old_packages, new_packages = (
            {
                line.text[slice(*place)]: (number, line, place)
                for number, hunk in enumerate(file.hunks)
                for line in (hunk.removed if at == 0 else hunk.added)
                if (place := shapes.find_dependency(path, line.text))
            }
            for at, path in enumerate((file.old, file.new))
        )
        gone = {name: old_packages[name][0] for name in old_packages if name not in new_packages}
        new = {name: new_packages[name][0] for name in new_packages if name not in old_packages}
        for old_name, new_name in _match_packages(gone, new):
            if _MAJOR.sub("", old_name) == _MAJOR.sub("", new_name):
                reasons["pin of a dependency"] += 1
                continue
            (_, was, _), (_, now, (start, end)) = old_packages[old_name], new_packages[new_name]
            shape = Shape("dependency", "", now.text[:start].lstrip(), now.text[end:].rstrip(), old_name, new_name)
            yield Seen(change.commit, (file.old, file.new), (was.number, now.number), shape, f"package {new_name}")


def _match_packages(gone: Mapping[str, int], new: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Which package took the place of which, by the number of the hunk that each stands in: the only two of a commit,
    or of a hunk, or the only two of which one's name has all words of the other's."""
    if len(gone) == len(new) == 1:
        yield from zip(gone, new, strict=True)
        return
    hunks = Counter(gone.values()), Counter(new.values())
    alone = [(a, b) for a in gone for b in new if gone[a] == new[b] and hunks[0][gone[a]] == hunks[1][new[b]] == 1]
    yield from alone
    paired = {name for pair in alone for name in pair}
    alike = [(a, b) for a in gone for b in new if not paired & {a, b} and _is_alike(a, b)]
    olds, news = Counter(a for a, _ in alike), Counter(b for _, b in alike)
    yield from (pair for pair in alike if olds[pair[0]] == news[pair[1]] == 1)


def _is_alike(one: str, other: str) -> bool:
    a, b = ({*_WORD.findall(each.lower())} - HOSTS for each in (one, other))
    return bool(a and b) and (a <= b or b <= a)


def _list_given(change: Change) -> list[FileChange]:
    """Python files of which a changed line may give a name another literal."""
    return [
        each
        for each in change.files
        if shapes.classify_file(each.new) == "python"
        and not exclusions.skip_file(each.new)
        and _may_hold_literals(each.hunks)
    ]


def _list_places(change: Change, file: FileChange) -> tuple[tuple[str, str], tuple[str, str]]:
    """Where a file stood before a commit, and after it."""
    return (change.commit.parent, file.old), (change.commit.hash, file.new)


def _list_python(change: Change, texts: Mapping[tuple[str, str], str | None], reasons: Counter[str]) -> Iterator[Seen]:
    for file in _list_given(change):
        before, after = (texts[place] for place in _list_places(change, file))
        if before is None or after is None:
            continue
        try:
            old, new = python.list_literals(before), python.list_literals(after)
        except ValueError:
            reasons["no Python of today"] += 1
            continue
        yield from _compare_literals(change.commit, file, old, new, reasons)


def _may_hold_literals(hunks: Sequence[Hunk]) -> bool:
    """Whether a name is given something else than before: to read a whole file as Python takes long."""
    old = {pair for hunk in hunks for line in hunk.removed for pair in _list_given_names(line.text)}
    new = {pair for hunk in hunks for line in hunk.added for pair in _list_given_names(line.text)}
    return bool({name for name, _ in old - new} & {name for name, _ in new - old})


def _list_given_names(row: str) -> Iterator[tuple[str, str]]:
    """Each name that a line gives a value, and the rest of the line from there on."""
    at = 0
    while found := _GIVEN.search(row, at):
        yield found[1], found[2]
        # not behind the value: a call in it names its arguments
        at = found.start(2)


def _compare_literals(
    commit: Commit, file: FileChange, old: object, new: object, reasons: Counter[str]
) -> Iterator[Seen]:
    assert isinstance(old, dict) and isinstance(new, dict)
    for name in (each for each in old if each in new):  # in the order of the file
        was, now = old[name], new[name]
        if was.value == now.value:
            continue
        # a number in quotes may be a version
        if reason := exclusions.skip_values(
            was.value,
            now.value,
            now.key,
            commit.subject,
            number=now.value.lstrip("-")[:1].isdigit() and not now.before.endswith(("'", '"')),
        ):
            reasons[reason] += 1
            continue
        shape = Shape(now.kind, now.key, now.before, now.after, was.value, now.value)
        yield Seen(commit, (file.old, file.new), (was.line, now.line), shape, f"python {name}", now.owner)


def _drop_repeated(found: Sequence[Seen], reasons: Counter[str]) -> Iterator[Seen]:
    """Of the same two values in one commit, the surest place: the others follow from it."""
    ranked = sorted(found, key=lambda each: (shapes.KINDS.index(each.kind), each.files[1], each.lines[1]))
    known: set[tuple[str, str]] = set()
    for each in ranked:
        values = each.shape.old, each.shape.new
        if values in known:
            reasons["the same change in another place"] += 1
        else:
            known.add(values)
            yield each
