"""Profiles: how an agent program is started, where its configuration goes, how it is told its goal, model and memory.

A profile is a TOML file, one that is shipped (by its name) or one's own (by its path). `${NAME}` in its texts stands
for what only a job knows (`NAMES`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from packaging.version import InvalidVersion, Version
from pydantic import Field, ValidationError, field_validator

from harness.agents.selection import ProfileError, Way, locate
from harness.machine import documents, npm
from harness.machine.documents import DocumentError
from harness.model.trial import Model

NAMES = ("goal", "url", "model", "key", "memory", "home", "tree", "packages", "here", "cpu")
"""goal: the task. url, model, key: where the model answers. memory: a program that serves the memory over MCP on
standard input and output. home, tree: folders. packages: where its packages are installed. here: the folder of the
profile, as `reads` counts from it. cpu: x64 or arm64."""
_NAME = re.compile(r"\$\{(\w*)\}?")
_LONGEST = 100_000


class Setting(Model):
    """What a program is started with; of several, what stands later is put behind, or in the place of what is there.

    Attributes:
        command: Words.
        environment: Variables. It gets PATH, HOME, LC_ALL, TZ and these, and no other.
        files: Path below its home -> text.
    """

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}


class Addition(Setting):
    """What the program gets beside what it gets in the cold arm.

    Attributes:
        form: mcp: it starts `${memory}` itself, which has to happen, or its trial is not warm. command: it runs
            `memory recall TEXT` and `memory remember TEXT`, if it likes.
        words: Put behind the goal, so that the model knows of it.
    """

    form: Literal["mcp", "command"]
    words: str = Field(min_length=1, max_length=2000)


class AutoMemory(Setting):
    """What switches on the memory that the program keeps by itself.

    Attributes:
        file: Path below its home, read into each session. What the program writes in its folder is carried on.
    """

    file: str = Field(min_length=1)

    @property
    def folder(self) -> PurePosixPath:
        return PurePosixPath(self.file).parent


class Usage(Model):
    """Where the transcript says what the program counts itself: in its JSON, whole or a value a line.

    A place is a path of keys, such as `part.tokens.input`; `*` stands for every element of a list. All numbers that
    stand at all places of one list are summed up.
    """

    prompt: tuple[str, ...] = Field(min_length=1)
    completion: tuple[str, ...] = Field(min_length=1)

    @field_validator("prompt", "completion")
    @classmethod
    def _check_places(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for each in places:
            if not all(each.split(".")):
                raise ValueError(f"'{each}' is no path of keys, as a.b.c")
        return places


class Profile(Setting):
    """An agent program.

    Attributes:
        about: What it is, in one line.
        folder: Where the profile lies.
        packages: Installed in an environment of its own, the program first; none: it is on PATH, or in `reads`.
        tried: The lowest and the highest release of the program that these settings were played with.
        reads: Files and folders that it may read beside the tree, from `folder` on; `~` is the home of who plays.
        command: What starts it, in the work tree.
        stdin: What it is told there.
        dates: How it tells its model the day, as of `date +FORMAT`; the day of the story is put in its place.
        varies: What else differs from run to run in what it tells its model, as regular expressions: `…` is put there.
        transcript: A file that it writes; empty: what it prints.
        usage: Where it stands there what it counts itself; None: it does not say.
        gave_up: What stands there if a limit of the program's own has ended it, whatever its exit code.
        own_file: Path below its home of the file that it reads into each session by itself; empty: it has none.
        auto_memory: Of the warm arm with `+auto` alone; None: nothing can be switched on.
        memory: Of the warm arm alone.
        steps, tokens, seconds: What a job may take: calls of the model, tokens by our own count, time.
        prompt_tokens: What a job takes, for the estimate before a paid run: of the shipped ones, as measured with the
            stand-in (docs/agents.md).
    """

    name: str = ""
    folder: str = ""
    about: str = Field(min_length=1, max_length=300)
    packages: tuple[str, ...] = ()
    tried: tuple[str, str] | None = None
    reads: tuple[str, ...] = ()
    command: tuple[str, ...] = Field(min_length=1)
    stdin: str = ""
    dates: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    transcript: str = ""
    usage: Usage | None = None
    gave_up: tuple[str, ...] = ()
    own_file: str = ""
    auto_memory: AutoMemory | None = None
    memory: Addition
    steps: int = Field(60, ge=1, le=1000)
    tokens: int = Field(1_500_000, ge=1)
    seconds: int = Field(900, ge=1, le=36_000)
    prompt_tokens: int = Field(80_000, ge=1)

    @field_validator("packages")
    @classmethod
    def _check_packages(cls, packages: tuple[str, ...]) -> tuple[str, ...]:
        for each in packages:
            try:
                # `latest` and `2.x` are whatever an index has that day
                Version(each.partition("==")[2])
            except InvalidVersion:
                raise ValueError(f"{each}: name one release, with == and its number") from None
        if len({each.startswith(npm.PREFIX) for each in packages}) > 1:
            raise ValueError("Node packages stand beside no others")
        return packages

    @field_validator("tried")
    @classmethod
    def _check_tried(cls, tried: tuple[str, str] | None) -> tuple[str, str] | None:
        if tried and Version(tried[0]) > Version(tried[1]):
            raise ValueError("the lowest release stands first")
        return tried

    @field_validator("varies")
    @classmethod
    def _check_patterns(cls, varies: tuple[str, ...]) -> tuple[str, ...]:
        for each in varies:
            try:
                re.compile(each)
            except re.error as error:
                raise ValueError(f"'{each}' is no regular expression: {error}") from None
        return varies

    @property
    def release(self) -> str:
        """Of the program; empty: nobody knows, as it is not installed here."""
        return self.packages[0].partition("==")[2] if self.packages else ""

    @property
    def label(self) -> str:
        """Name and release, as results and receipts tell them."""
        return f"{self.name} {self.release}".strip()

    def pick(self, release: str) -> Profile:
        """The same program in another release. Raises ProfileError."""
        if not self.packages:
            raise ProfileError(f"{self.name} has no packages, so it has no releases: leave out '@{release}'")
        name, _, _ = self.packages[0].partition("==")
        try:
            # npm would take the newest of a series, and the results would not say which.
            whole = len(Version(release).release) >= 3 or not name.startswith(npm.PREFIX)
        except InvalidVersion:
            whole = False
        if not whole:
            raise ProfileError(f"'{release}' is no whole version, as 2.0.4 is")
        return self.model_copy(update={"packages": (f"{name}=={release}", *self.packages[1:])})

    def warn(self) -> str:
        """What is to be known before its release is played; empty: nothing."""
        if not (self.tried and self.release):
            return ""
        lowest, highest = self.tried
        if Version(lowest) <= Version(self.release) <= Version(highest):
            return ""
        how = "older" if Version(self.release) < Version(lowest) else "newer"
        return (
            f"{self.name} {self.release} is {how} than any release tried with this profile ({lowest} to {highest}): "
            "its options may differ"
        )

    def list_reads(self) -> list[Path]:
        # an absolute path, as `~` becomes, leaves the folder out
        return [Path(self.folder, Path(each).expanduser()).resolve() for each in self.reads]

    def texts(self) -> Mapping[str, str]:
        """Every text of it that may hold names, by its key."""
        return {
            **{f"packages[{at}]": each for at, each in enumerate(self.packages)},
            "stdin": self.stdin,
            "transcript": self.transcript,
            **{key: each for table, part in self.list_settings() for key, each in _list_texts(table, part)},
        }

    def list_settings(self) -> list[tuple[str, Setting]]:
        """All that it may be started with, each by how its keys begin."""
        auto = [("auto_memory.", self.auto_memory)] if self.auto_memory else []
        return [("", self), ("memory.", self.memory), *auto]

    def name_file(self, way: Way) -> str:
        """Where notes lie that come to it in this way: a path below its home. Empty: nowhere."""
        if way.only_auto:
            return self.auto_memory.file if self.auto_memory else ""
        return self.own_file if way.file else ""

    def find_lack(self, way: Way) -> str:
        """What it would need to be played this way; empty: nothing."""
        if way.auto and not self.auto_memory:
            return f"{self.name} has no auto memory: its profile names no `auto_memory`"
        if way.file and not self.own_file:
            return f"{self.name} has no memory file of its own: its profile names no `own_file`"
        return ""


def _list_texts(table: str, part: Setting) -> Iterator[tuple[str, str]]:
    yield from ((f"{table}command[{at}]", each) for at, each in enumerate(part.command))
    for name, texts in (("environment", part.environment), ("files", part.files)):
        yield from ((f"{table}{name}.{key}", each) for key, each in texts.items())


def read(name: str, release: str = "") -> Profile:
    """A profile by name or path, with the release that it pins or another one. Raises ProfileError."""
    file = locate(name)
    try:
        document = documents.read_toml(file, _LONGEST)
        if given := sorted({"name", "folder"} & document.keys()):
            raise ProfileError(f"{file}: {given[0]}: leave it out, the file's own {given[0]} is taken")
        found = Profile.model_validate({"name": file.stem, "folder": str(file.parent), **document})
    except DocumentError as error:
        raise ProfileError(f"{file}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ProfileError(f"{file}: {place}: {first['msg'].removeprefix('Value error, ')}") from None
    _check(file, found)
    return found.pick(release) if release else found


def _check(file: Path, profile: Profile) -> None:
    """What can be known before it is played. Raises ProfileError."""
    texts, settings = profile.texts(), [each for _, each in profile.list_settings()]
    paths = [path for each in settings for path in each.files]
    auto = profile.auto_memory
    problem = next(
        (f"{key}: {why}" for key, text in texts.items() if (why := _find_wrong_name(key, text, profile))), ""
    )
    missing = [
        ("${goal}", "its task", [profile.stdin, *profile.command]),
        ("${url}", "its model", texts.values()),
        *([("${memory}", "its memory", texts.values())] if profile.memory.form == "mcp" else []),
    ]
    problems = [
        problem,
        *(
            f"reads: {each} is not there"
            for each, place in zip(profile.reads, profile.list_reads(), strict=True)
            if not place.exists()
        ),
        *(
            f"{name} stands nowhere: the program would not know {what}"
            for name, what, where in missing
            if not any(name in text for text in where)
        ),
        *(
            f"files.{path}: is not below the home of the program"
            for path in (*paths, *filter(None, [profile.own_file, auto.file if auto else ""]))
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or not path.strip("./")
        ),
        *(
            f"auto_memory.file: {auto.file} lies in no folder of its own, as it has to"
            for path in (*paths, profile.own_file)
            if auto and PurePosixPath(path).is_relative_to(auto.folder)
        ),
        *(
            f"environment.{name}: is no name of a variable that may be set"
            for name in (key for each in settings for key in each.environment)
            if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in ("PATH", "HOME")
        ),
    ]
    if first := next(filter(None, problems), ""):
        raise ProfileError(f"{file}: {first}")


def _find_wrong_name(key: str, text: str, profile: Profile) -> str:
    """What is wrong with a name in a text that stands for nothing there; empty: each stands for something."""
    for found in _NAME.finditer(text):
        name = found[1]
        if name not in NAMES:
            return f"${{{name}}} is not known; known are {', '.join(NAMES)}"
        if not found[0].endswith("}"):
            return f"{found[0]} has no closing brace"
        if name == "memory" and not key.startswith("memory."):
            return "${memory} stands in [memory] alone, as cold has none"
        if key.startswith("packages") and name != "cpu":
            return f"${{{name}}} is not known before they are installed; ${{cpu}} is"
        if name == "packages" and not profile.packages:
            return "${packages} stands for no folder, as `packages` is empty"
    return ""


def fill(text: str, values: Mapping[str, str]) -> str:
    """A text with what the names in it stand for."""
    # `read` has refused every name that is none of these, and every brace that is not closed
    return _NAME.sub(lambda found: values[found[1]], text)


def name_processor() -> str:
    """The kind of this machine's processor, as Node names it."""
    return {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(os.uname().machine.lower(), os.uname().machine)
