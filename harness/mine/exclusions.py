"""Candidates that are not worth asking for, and why: of commits, of files, and of pairs of values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from harness.repo.changes import FILES, Change
from harness.secrets.detector import list_places

BOT = re.compile(
    r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|snyk|pyup|weblate|transifex|crowdin|pre-commit-ci|github-actions|"
    r"allcontributors|semantic-release|release-please|mergify|imgbot|depfu)\b",
    re.IGNORECASE,
)
RELEASE = re.compile(
    r"^(?:chore|build|release)?[(:\s\w)]*\b(?:bump(?:ed|s)?|release[ds]?|prepare)\b|^v?\d+\.\d+", re.IGNORECASE
)
VERSION = re.compile(r"[\^~<>=v! ]*\d+(?:\.(?:\d+|x|\*))+[\w.+-]*")
_RELEASED = re.compile(r"\d+\.\d+\.\d+")
_ACTION = re.compile(r"[\w.-]+(?:/[\w.-]+)+@\S+")
"""A step of a CI file, whatever it is called: not what the project runs on."""
PIN = re.compile(r"(?P<name>[\w./@:-]+?)(?:[=~<>!]=|@v?|:v?)[\w.*^~-]+")
RUNTIME = re.compile(
    r"python|node|ruby|php|(?<![a-z])java(?!format|script|doc)|jdk|rust|msrv|edition|golang|\bgo\b|ubuntu|debian|alpine|macos|windows|engines|"
    r"runs-on|\bos\b|\bfrom\b|protocol|schema|(?<![a-z])(?:open)?api|minimum|require[sd]|target",
    re.IGNORECASE,
)
"""What of a version is a decision of the project: what it runs on and speaks, not which release of it this is."""
_PACKAGE = re.compile(r"([\w.-]+)\.version")
"""A property of a build that names the release of a package, whatever the package is called."""
_RUNS = re.compile(r"(?:^|[.-])(?:java|jdk|node|npm|python|go|ruby|php|rust|kotlin|scala|gradle|maven)$", re.IGNORECASE)
_FILES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("generated file", re.compile(
        r"(?:^|/)(?:dist|build|out|_build|generated|gen|\.yarn)/|[.-]min\.|\.(?:lock|map|snap|svg|csv|ipynb|[1-8])$|_pb2\.|"
        r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|composer\.lock)$")),
    ("vendored file", re.compile(r"(?:^|/)(?:vendor(?:ed)?|third[_-]?party|node_modules|external|extern|_vendor|deps)/")),  # noqa: E501  one pattern
    ("release notes", re.compile(r"(?:^|/)(?:change(?:s|log)|history|news|releases?)(?:[._-][\w.-]*)?$|(?:^|/)(?:changelogs?|newsfragments)/", re.IGNORECASE)),  # noqa: E501  one pattern
    ("data", re.compile(
        r"/(?![^/]*(?:package|config|settings|options|manifest|schema|composer|deno|vercel|turbo|project|launch|tasks|"
        r"\bapp\b)[^/]*$|\.)[^/]+\.json$|(?:^|/)(?:assets|data|datasets|public|static)/.*\.(?:json|ya?ml|xml|toml)$")),
    ("translation", re.compile(r"(?:^|/)[\w.-]*(?:locales?|i18n|lang|translations?|locali[sz]ation|l10n)/|(?:^|/)docs?/(?:ja|zh|ko|es|fr|de|pt|ru|it|tr|vi|pl|uk|id)(?:[-_][A-Za-z]+)?/|(?:^|/)[a-z]{2}[-_][A-Z]{2}\.\w+$|\.(?:po|pot|xlf)$|readme[._-](?:zh|ja|ko|es|fr|de|ru|pt|[a-z]{2}\.|malayalam)", re.IGNORECASE)),  # noqa: E501  one pattern
    ("test data", re.compile(
        r"(?:^|/)(?:(?:[\w.-]*[._-])?tests?|specs?|__\w+__|testdata|test-data|fixtures?|mocks?|snapshots|e2e|(?:[\w-]*-)?benchmarks?|benches|bench|jmh|examples?|(?:samples?|sample[_-]configs?))/|"
        r"(?:^|/)(?:test_[^/]*|[^/]*(?:_test|\.test|\.spec|-test))\.\w+$|(?:^|/)tests?\.\w+$")),
    ("older copy of a document", re.compile(
        r"(?:^|/)(?:versioned_(?:docs|sidebars)|version-\d[\w.]*)/|"
        r"(?:^|/)docs?/(?:[\w-]+/)?v?\d+(?:\.[\dx]+)*/", re.IGNORECASE)),
    ("settings of the host of the repository", re.compile(
        r"(?:^|/)(?:FUNDING\.ya?ml|dependabot\.ya?ml|renovate\.json5?|\.renovaterc(?:\.json)?|CODEOWNERS|\.mailmap|stale[\w-]*\.ya?ml|"
        r"labeler\.ya?ml|crowdin\.ya?ml|"
        r"ISSUE_TEMPLATE[\w.-]*|PULL_REQUEST_TEMPLATE[\w.-]*)$|(?:^|/)ISSUE_TEMPLATE/", re.IGNORECASE)),
    ("list of people or dependencies", re.compile(
        r"(?:^|/)(?:authors|contributors|maintainers|backers|thanks|sponsors|license|licence|copying|notice)(?:\.\w+)?$|"
        r"(?:^|/)(?:requirements[\w.-]*|constraints)\.(?:txt|in)$|\.all-contributorsrc$", re.IGNORECASE)),
)  # fmt: skip
_LETTER = re.compile(r"[A-Za-z]")
_SHARED = 2
"""Parts that two lists have in common of which nobody would name one anew."""
_LOOK = re.compile(
    r"(?:^|_|(?<=[a-z]))(?:width|height|offset|margin|padding|radius|opacity|class(?:name|es)?|colou?rs?)(?![a-z])",
    re.IGNORECASE,
)
_STYLED = re.compile(r"(?:[a-z\d]+[:-][\w./:#%\[\]-]+(?: |$)){2,}")
"""Names of styles, one beside the other."""
_COLOUR = re.compile(r"#(?:[\da-fA-F]{3,4}){1,2}")
_ESCAPE = re.compile(r"\\(?:x1[bB]|033|e|u001[bB])\[[\d;]*m")
"""What turns a terminal to a colour."""
_PAGE = re.compile(r"\.(?:[jt]sx|vue|svelte)$|(?:^|/)(?:components|ui|pdf)/")
_FOREIGN = re.compile(r"[^\W\d_A-Za-z]")
"""A letter that programs seldom use: what has one is there to be read."""
_DASHES = re.compile(r"[-_\u2010-\u2015]")
HOSTED = re.compile(
    r"(?:^|/)\.(?:github|gitlab|circleci|devcontainer|buildkite)/|(?:^|/)\.?(?:gitlab-ci|azure-pipelines|travis|appveyor)\.ya?ml$"
)
_HEADER = re.compile(r"@generated|do not edit|auto-?generated|generated by", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d(?:-\d\d-\d\d(?:[T ][\d:.Z+-]+)?)?")
_CALL = re.compile(r"\w\(")
_HASH = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{12,}|[A-Za-z0-9+/=]{40,}")
_DESCRIBED = re.compile(r"-\d+-g[0-9a-f]{7,}")
"""What `git describe` says of a commit after a tag."""
_HOST = re.compile(
    r"(?:[\w.-]+@)?(?P<bare>(?:[\w-]+\.)+(?:org|com|net|dev|io|co|app|sh))(?:[/:].*)?|\w+://(?:[^/@]*@)?(?P<host>[^/:]+).*"
)
NUMBER = re.compile(r"-?(?:0[xX][\da-fA-F_]+|\d[\d_.]*)(?:\s*[*+<]{1,2}\s*\d[\d_.]*)*[LlFfDdUu]?")
"""One, or what is made of several."""
_INTEGER = re.compile(r"-?(?:0[xX](?:_?[\da-fA-F])+|0|[1-9](?:_?\d)*)")
_INDEX = re.compile(r"(?<=\w)(?:/index)?(?:\.[cm]?[jt]sx?)?$")
_PATCH = re.compile(r"(\d+\.\d+)\.\d+")
BESIDE = 3
"""Lines above and below a line that may tell what it says."""
_CITED = re.compile(
    r"home|repositor|docs?(?:$|[_-])|documentation|bugs|issues|fund|donat|\$?schema|website|support|change_?log|\$ref|^see",
    re.IGNORECASE,
)
"""Keys of addresses that are there to be read, which nothing opens."""
_NUMBERED = re.compile(r"_*(?:[a-z]+_)?version(?:_(?:info|name|code))?_*", re.IGNORECASE)
"""What holds the number of the next release."""
_PLACED = re.compile(r"(?:sidebar_)?position|nav_order|weight|(?:sort_)?order|index", re.IGNORECASE)
_PROSE = re.compile(
    r"description|categories|readme|summary|title|author|maintainer|managername|organi[sz]ation$|email|homepage|keywords|license|copyright|message|comment|label|"
    r"(?:^|_)(?:doc|help|desc)$|commit[_-]?(?:msg|message)|(?<![a-z])(?:sha\d*|hash)(?![a-z_])|checksum|digest|logo|badge",
    re.IGNORECASE,
)
_MARKS = (" == ", "' % ", '" % ', "${", "{{", "#{", "<%", "$(shell")
"""What a template or an expression has, of which nobody knows the value."""
LONGEST = 60
"""Characters of the longest value that anybody would remember."""
_WORDS = 6
_MENDED = 0.85
"""How alike two parts of a path are of which one was misspelt: two letters of seven changed places."""
_WORDED = ("text", "flag", "name", "place", "command")
_TYPO = re.compile(r"\btypos?\b|\bspelling\b|\bmisspel", re.IGNORECASE)
_MENDS = re.compile(r"\bfix(?:e[sd])?\b|\bcorrect(?:s|ed)?\b|\b(?:incorrect|wrong)\b", re.IGNORECASE)
_DOCUMENT = re.compile(r"\bdocs?\b|\bdocumentation\b|\breadme\b|\bexamples?\b|\bcode samples?\b", re.IGNORECASE)


def skip_commit(change: Change) -> str | None:
    """Why nothing in a commit is read."""
    commit = change.commit
    if BOT.search(f"{commit.author} {commit.email}") or commit.subject.startswith("Translated using "):
        return "commit of a bot"
    if change.touched > FILES:
        return f"sweeping commit, of more than {FILES} files"
    return None


def skip_file(path: str) -> str | None:
    """Why a file is not read."""
    if not path.isprintable() or '"' in path or "\\" in path:
        return "name of a file that cannot be written down"
    return next((reason for reason, pattern in _FILES if pattern.search(path)), None)


def skip_text(text: str) -> str | None:
    """Why a file is not read, by its first lines."""
    return "generated file" if _HEADER.search(text[:600]) else None


def skip_values(old: str, new: str, what: str, subject: str, *, number: bool = False) -> str | None:
    """Why nobody is asked which of two values holds.

    Args:
        number: They are numbers of a program, so 0.5 is no version.
    """
    if not (old and new):
        return "empty value"
    if not (old.isprintable() and new.isprintable()):
        return "value that cannot be written down"
    found = _skip_writing(old, new) or _skip_meaning(old, new, what)
    return found or (None if number else _skip_version(old, new, what, subject))


def _skip_writing(old: str, new: str) -> str | None:
    if max(len(old), len(new)) > LONGEST or max(len(each.split()) for each in (old, new)) > _WORDS:
        return "long value or prose"
    if _FOREIGN.search(old + new):
        return "long value or prose"
    if _plain(old) == _plain(new):
        return "white space, case or quotes"
    if _LETTER.search(old) and _DASHES.sub("", _plain(old)) == _DASHES.sub("", _plain(new)):
        return "dashes"
    if _INDEX.sub("", old) == _INDEX.sub("", new):
        return "other way to name the same module"
    if _is_same_number(old, new) or _is_same_number(new, old):
        return "another spelling of the number"
    if _is_list_that_grew(old, new):
        return "list that grew or shrank"
    return _skip_form(old, new)


def _skip_form(old: str, new: str) -> str | None:
    if not (re.search(r"\w", old) and re.search(r"\w", new)):
        return "punctuation"
    if sorted(re.findall(r"\w+", old.casefold())) == sorted(re.findall(r"\w+", new.casefold())) and " " in old:
        return "order"
    expressed = any(mark in each for mark in _MARKS for each in (old, new)) or _CALL.search(old + new)
    if expressed or re.match(r"\$[a-z]", new):
        return "expression"
    if all(_STYLED.fullmatch(each) or _COLOUR.fullmatch(each) or _ESCAPE.match(each) for each in (old, new)):
        return "look of a page"
    if re.search(r"<[a-z/][^>]*>", old + new):
        return "markup"
    return None


def _is_same_number(plain: str, other: str) -> bool:
    """30 and 30.0, 17 and JavaVersion.VERSION_17, 1000 and 1_000, 0x01 and 0x1; but 3.1 and 3.10 are two versions, 30
    and 30s two durations."""
    numbers = [int(each, 0) for each in (plain, other) if _INTEGER.fullmatch(each)]
    if len(numbers) == 2 and numbers[0] == numbers[1]:
        return True
    if not re.fullmatch(r"-?\d+", plain):
        return False
    return re.fullmatch(rf"{plain}\.0+|[A-Za-z](?:[\w.]*[A-Za-z_.])?{plain}", other) is not None


def _is_list_that_grew(old: str, new: str) -> bool:
    """Nothing of the shorter one is wrong, it is not all."""
    if not ("," in old + new and ({old[:1], new[:1]} <= {*"[("} or "," in old)):
        return False
    a, b = ({part.strip(" []()\"'") for part in each.split(",")} - {""} for each in (old, new))
    return a != b and (a <= b or b <= a or len(a & b) >= _SHARED)


def _skip_meaning(old: str, new: str, what: str) -> str | None:
    hosts = [find_host(each) for each in (old, new)]
    if any(hosts) and (hosts[0] == hosts[1] or _CITED.search(what)):
        return "link"
    if _PLACED.fullmatch(what):
        return "order"
    if _YEAR.fullmatch(old) and _YEAR.fullmatch(new) and not RUNTIME.search(what):
        return "date"
    if what == "__all__":
        return "list of names that a module shows"
    if what == "serialVersionUID" or any(_HASH.fullmatch(each) or _DESCRIBED.search(each) for each in (old, new)):
        return "hash"
    if _PROSE.search(what) or (what == "name" and " " in new):
        return "long value or prose"
    return None


def _skip_version(old: str, new: str, what: str, subject: str) -> str | None:
    same = old.split("@")[0] == new.split("@")[0]
    if _ACTION.fullmatch(old) and _ACTION.fullmatch(new) and (same or what == "uses"):
        return "pin of a dependency"
    requirement = re.compile(r"[=<>~^]=?\s*\d")
    if ("[" in old and requirement.search(old)) or (VERSION.fullmatch(old) and "[" in new and requirement.search(new)):
        return "pin of a dependency"
    if (
        _is_patch(old, new)
        or (PIN.fullmatch(old) and _PATCH.sub(r"\1", old) == _PATCH.sub(r"\1", new))
        or _NUMBERED.fullmatch(what)
    ):
        return "version bump"
    if (package := _PACKAGE.fullmatch(what)) and not _RUNS.search(package[1]):
        return "pin of a dependency"
    if RUNTIME.search(what) and not re.search("dependenc", what, re.IGNORECASE):
        return None
    if VERSION.fullmatch(old) and VERSION.fullmatch(new):
        return "version bump" if RELEASE.search(subject) or "version" in what.lower() else "pin of a dependency"
    pins = PIN.fullmatch(old), PIN.fullmatch(new)
    if pins[0] and pins[1] and pins[0]["name"] == pins[1]["name"] and not RUNTIME.search(pins[0]["name"]):
        return "pin of a dependency"
    if _RELEASED.search(old) and _RELEASED.sub("", old) == _RELEASED.sub("", new):
        return "version bump"
    return None


def _is_patch(old: str, new: str) -> bool:
    """Whether two versions of three numbers or more differ beyond the second of them only."""
    a, b = (re.fullmatch(r"[\^~<>=v! ]*(\d+\.\d+)\.\d[\w.+-]*", each) for each in (old, new))
    return a is not None and b is not None and a[1] == b[1]


def is_counted(what: str, values: Sequence[str]) -> bool:
    """Whether something is numbered anew with each change, as a schema: three numbers in a row, one up each."""
    if len(values) < 3 or not re.search("version|revision", what, re.IGNORECASE) or _RUNS.search(what):
        return False
    return all(a.isdecimal() and b.isdecimal() and int(b) - int(a) == 1 for a, b in itertools.pairwise(values))


def find_host(value: str) -> str:
    """Of an address or an image; empty: it names none."""
    found = _HOST.fullmatch(value)
    return (found["bare"] or found["host"]) if found else ""


def skip_words(old: str, new: str) -> str | None:
    """Why the change of a word in a sentence is no fact: it is spelling, or says the same."""
    if old.isalpha() and new.isalpha() and old.islower() and new.islower():
        return "change of wording"
    if re.sub(r"[\W_]", "", old).lower() == re.sub(r"[\W_]", "", new).lower():  # _x_ and *x* are emphasis
        return "spelling"
    return "spelling" if is_mended(old, new) else None


def is_mended(before: str, after: str) -> bool:
    """Whether one word, or one part of a path, is nearly what it was, and no number changed."""
    old, new = before.lower().split("/"), after.lower().split("/")
    differ = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
    if len(old) != len(new) or len(differ) != 1 or any(map(str.isdigit, "".join(differ[0]))):
        return False
    return SequenceMatcher(None, *differ[0]).ratio() > (0.8 if len(old) == 1 else _MENDED)


def skip_mend(kind: str, subject: str) -> str | None:
    """Why a change of words is no fact by what its commit says of itself."""
    if kind in _WORDED and _TYPO.search(subject):
        return "spelling"
    return "mended document" if kind == "text" and _MENDS.search(subject) and _DOCUMENT.search(subject) else None


def skip_secret(rows: Sequence[str], number: int, before: str, after: str, values: Sequence[str]) -> str | None:
    """Why a value is written nowhere: in its line, beside the lines around it, one of them is or tells a secret."""
    above, below = (
        "\n".join(part) for part in (rows[max(0, number - 1 - BESIDE) : number - 1], rows[number:][:BESIDE])
    )
    for value in values:
        start, line = len(above) + 1, f"{before}{value}{after}"
        places = list_places(f"{above}\n{line}\n{below}")
        if any(begin < start + len(line) and end > start for begin, end in places):
            return "a secret"
    return None


def skip_label(path: str, key: str) -> str | None:
    """Why the name of a step or of a container is no fact: it is shown to people, and nothing goes by it."""
    shown = key in ("name", "display_name", "displayName", "title", "id", "body") and HOSTED.search(path)
    if shown:
        return "label that is shown to people"
    return "look of a page" if _PAGE.search(path) and _LOOK.search(key) else None


def skip_renamed(paths: tuple[str, str], values: tuple[str, str]) -> str | None:
    """Why the change of a value is none of its own: it follows the name of its file or folder, and git took two of
    several such files for one."""
    (old_parts, new_parts), (old, new) = (path.split("/") for path in paths), values
    follows = any(old.replace(a, b) == new for a in {*old_parts} - {*new_parts} for b in {*new_parts} - {*old_parts})
    return "value that follows the name of its file" if follows else None


def _plain(text: str) -> str:
    if text[:1] in ("[", "("):  # a list and a tuple of the same
        text = text.strip("[]() ").rstrip(",")
    text = re.sub(r"\bdep:(?=\w)|(?<=\w)@latest\b|(?<=\brun)-script\b", "", text)
    return re.sub(r"[\s\"'`]", "", re.sub(r"\\+", "/", text)).casefold()
