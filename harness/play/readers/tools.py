"""What a chat model may do in a job: typed functions over a desk and a memory, and how their use is answered.

What it writes is not trusted: a tool that is not there, arguments that do not fit and what a desk refuses are answered
with a line that says so, and the job goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from harness.log.calls import ToolUse
from harness.log.parts import Read
from harness.model.job import Decision, Job
from harness.play.readers import AskMemory, Context, ReadEntry, render
from harness.play.readers.choice import is_usable
from harness.repo.desk import Desk, Refusal
from harness.repo.traces import split_lines

RESULT, LINE, RECALLED, WRITTEN = 6_000, 1_000, 60_000, 20_000
"""Characters of a result, of a line of a file, of what a memory brought, and of what the model writes, that are passed
on and logged."""
NOTHING = "(nothing)"
_HIT = re.compile(r"(.+?):(\d+): (.*)")
"""A line that a search found, after its path, which may hold a colon, and its number."""


class _Path(BaseModel):
    path: str = Field(".", max_length=1000, description="of a folder or a file, relative to the work tree")


class _Part(BaseModel):
    path: str = Field(max_length=1000, description="relative to the work tree")
    start: int = Field(1, ge=1, description="line to begin at")


class _Search(_Path):
    text: str = Field(max_length=1000, description="plain words, no pattern; case does not matter")


class _Edit(BaseModel):
    path: str = Field(max_length=1000, description="relative to the work tree")
    old: str = Field("", description="stands in the file exactly once; empty: the file is new")
    new: str = Field(description="what is put in its place")


class _Number(BaseModel):
    number: int = Field(description="of the command in the task")


class _Question(BaseModel):
    point: int = Field(description="number of the point in the task that it is asked for")
    query: str = Field(min_length=1, max_length=2000, description="in your own words")


class _Note(BaseModel):
    text: str = Field(min_length=1, max_length=2000, description="one statement that can stand alone")


class Tool(NamedTuple):
    """A tool as the model sees it, and what it does. `do` raises Refusal."""

    name: str
    about: str
    arguments: type[BaseModel]
    do: Callable[[Any], str]

    @property
    def schema(self) -> Mapping[str, Any]:
        """Of its arguments, as JSON schema."""
        found = self.arguments.model_json_schema()
        # pydantic's titles repeat the names, and each call would pay for them
        given = {key: {k: v for k, v in each.items() if k != "title"} for key, each in found["properties"].items()}
        return {"type": "object", "properties": given, "required": found.get("required", [])}


class Line(NamedTuple):
    """A line of the repository that the model was shown."""

    path: str
    number: int
    text: str


@dataclass
class Seen:
    """What the model was shown, by which its values are credited.

    Attributes:
        recalled: Decision -> query and entries, in the order of asking.
        tokens: Of all that the memory brought, which are paid on the recalls.
    """

    recalled: dict[str, list[tuple[str, Sequence[ReadEntry]]]] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    tokens: int = 0


@dataclass
class Toolbox:
    """The tools of one job. In the cold arm, where the context has no read policy, there are none for a memory."""

    desk: Desk
    job: Job
    context: Context
    ask: AskMemory
    seen: Seen = field(default_factory=Seen)

    def list_tools(self) -> Sequence[Tool]:
        own = [
            Tool("list", "Lists the files below a folder.", _Path, self._list),
            Tool("read", "Reads a text file.", _Part, self._read),
            Tool("search", "Finds lines that hold a text.", _Search, self._search),
            Tool("edit", "Replaces a text in a file, or makes a new file.", _Edit, self._edit),
            Tool("run_check", "Runs one of the commands of the task.", _Number, self._run),
        ]
        if self.context.policy is not None:
            own.append(Tool("recall", "Asks the memory of earlier sessions.", _Question, self._recall))
            if self.context.remember is not None:
                own.append(Tool("remember", "Keeps a note for later sessions.", _Note, self._remember))
        return own

    def use(self, name: str, arguments: str) -> ToolUse:
        """Does what the model asks for, or says why not."""
        said = {"tool": cut(name, 100), "arguments": cut(arguments, WRITTEN)}
        tool = next((each for each in self.list_tools() if each.name == name), None)
        try:
            if tool is None:
                raise Refusal(f"there is no such tool; there are {', '.join(each.name for each in self.list_tools())}")
            result = tool.do(tool.arguments.model_validate(_parse(arguments)))
        except Refusal as refusal:
            return ToolUse(**said, result=cut(f"refused: {refusal}", RESULT), refused=True)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:4])
            return ToolUse(**said, result=cut(f"refused: the arguments do not fit: {wrong}", RESULT), refused=True)
        return ToolUse(**said, result=result or NOTHING)

    def _list(self, arguments: _Path) -> str:
        return cut("\n".join(self.desk.list_files(arguments.path)), RESULT)

    def _read(self, arguments: _Part) -> str:
        lines = split_lines(self.desk.read_file(arguments.path))
        shown: list[str] = []
        size = 0
        for line in lines[arguments.start - 1 :]:
            said = cut(line, LINE)
            size += len(said) + 1
            if size > RESULT:
                break
            shown.append(said)
        rest = len(lines) - (arguments.start - 1) - len(shown)
        text = "\n".join(shown)
        # what was cut off is not credited: the model did not see it
        self.seen.lines += [Line(arguments.path, at, line) for at, line in enumerate(shown, arguments.start)]
        name = sha256(text.encode()).hexdigest()
        self.seen.reads.append(Read(decision="", path=arguments.path, digest=name, tokens=self.context.count(text)))
        return f"{text}\n(cut: read on from start {arguments.start + len(shown)})" if rest > 0 else text

    def _search(self, arguments: _Search) -> str:
        result = cut("\n".join(self.desk.search_text(arguments.text, arguments.path)), RESULT)
        # read out of what is left of the result: the model did not see what was cut off
        hits = filter(None, map(_HIT.fullmatch, result.split("\n")))
        self.seen.lines += [Line(path, int(number), text) for path, number, text in (hit.groups() for hit in hits)]
        return result

    def _edit(self, arguments: _Edit) -> str:
        self.desk.edit_file(arguments.path, arguments.old, arguments.new)
        return "edited"

    def _run(self, arguments: _Number) -> str:
        check = self.desk.run_check(arguments.number)
        return cut(f"exit {check.exit}\n{check.output}", RESULT)

    def _recall(self, arguments: _Question) -> str:
        if not 1 <= arguments.point <= len(self.job.decisions):
            raise Refusal(f"there is no point {arguments.point}: they are 1 to {len(self.job.decisions)}")
        return self.recall(self.job.decisions[arguments.point - 1], arguments.query)

    def recall(self, decision: Decision, query: str) -> str:
        """What the memory brings for a decision, as the model is shown it."""
        shown: list[ReadEntry] = []
        lines: list[str] = []
        size = 0
        for entry in self.ask(query, decision):
            if is_usable(entry, self.context):
                lines.append(render(entry.text, entry.hit))
                size += len(lines[-1]) + 1
                if size > RECALLED:
                    lines[-1] = "(cut: more came back)"
                    break
                shown.append(entry)
        # also where nothing came back: a Choice without a query means the last one that was asked
        self.seen.recalled.setdefault(decision.id, []).append((query, shown))
        text = "\n".join(lines)
        self.seen.tokens += self.context.count(text)
        return text

    def _remember(self, arguments: _Note) -> str:
        assert self.context.remember is not None, "it is offered where it can be done"
        if not self.context.remember(arguments.text):
            raise Refusal("the memory did not keep it")
        return "kept"


def cut(text: str, most: int) -> str:
    """Its beginning, and how much more there was."""
    return text if len(text) <= most else f"{text[:most]}\n(cut: {len(text) - most:,} characters more)"


def _parse(arguments: str) -> Any:
    """Raises Refusal."""
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        raise Refusal("the arguments are not JSON") from None
