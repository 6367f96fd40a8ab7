"""The board: README's table, made of one packed run, with its page and the table of every row as data.

`python -m benchmarks.board [RUN]` (`make board`) scores the run anew and writes the page beside it, the table, and
`benchmarks/results/board.json`, by which a test holds README to the run without scoring it. A run in a folder is
packed first. Until a board is committed, the sample stands in for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from benchmarks.results.__main__ import FOLDER, write_table
from harness import paths
from harness.cli import common
from harness.log import pack
from harness.model.results import Results
from harness.report import words
from harness.report.model import board as scoreboard
from harness.report.model import table, ways
from harness.report.model.board import Board, BoardRow
from harness.report.model.table import MEANING, SHAPES, ScoreboardCell

REPORTS = paths.ROOT / "reports"
BOARD, SAMPLE = REPORTS / "board.tar.xz", REPORTS / "sample.tar.xz"
NATIVE = REPORTS / "native.tar.xz"
"""A run of `make bench-native`: sessions captured by each backend itself; models inside answer from recordings."""
CLAIMS = REPORTS / "claims.toml"
MADE = FOLDER / "board.json"
README = paths.ROOT / "README.md"
BLOCK = re.compile(r"(?<=<!-- made by make board -->\n).*?(?=<!-- end of what make board makes -->)", re.DOTALL)
FIRST = {
    "agents_md": "AGENTS.md in git", "bm25": "BM25", "chroma": "Chroma", "claude_memory_tool": "Claude's memory tool",
    "hindsight": "Hindsight", "langgraph": "LangGraph", "letta": "Letta", "mcp": "server-memory (MCP)", "mem0": "Mem0",
    "memsearch": "memsearch", "notes": "Notes file", "vector_file": "Vector file",
}  # fmt: skip
"""What a reader asks for first: rows by the name of their backend, and their names in README."""
OURS = ("agents_md", "notes", "vector_file")
"""Without a release of somebody else's."""
HOW = (
    "Each row shows the better of the ways of writing that were played. The agent looks up the old note first; where a "
    "number says append, it only adds notes."
)
KEY = " ".join(f"{SHAPES[each]} {MEANING[each]}" for each in ("good", "middling", "bad")) + "."
SHOWN = 2
"""As many faults as a cell of README tells."""


class Summary(TypedDict):
    """What documents say of a run; `title`, `conditions`, `columns` and `rows` make a table of `benchmarks.results`."""

    title: str
    conditions: str
    columns: list[str]
    rows: list[list[str]]
    run: str
    sha256: str
    told: str
    first: list[list[str]]


def find_run() -> Path:
    return BOARD if BOARD.exists() else SAMPLE


def digest(run: Path) -> str:
    return hashlib.sha256(run.read_bytes()).hexdigest()


def summarize(run: Path, results: Results) -> Summary:
    """Everything that documents say of a packed run, as data."""
    board = scoreboard.collect(results)
    rows = [row for row in board.rows if row.key in results.backends or not row.cold]
    name = str(run.relative_to(paths.ROOT)) if run.is_relative_to(paths.ROOT) else run.name
    return {
        "title": "Every row of the board",
        "conditions": " ".join(filter(None, [describe(results), HOW, ways.explain_range(results), board.bounds, KEY])),
        "columns": ["row", "version", *(head.head for head in board.columns)],
        "rows": [[_name(row), _describe_row(row), *map(_show, row.scores)] for row in rows],
        "run": name,
        "sha256": digest(run),
        "told": " ".join(filter(None, [describe(results), _tell_cold(board), HOW, ways.explain_range(results)])),
        "first": [_list_first(board, row) for row in rows if row.cold or _base(row.key) in FIRST],
    }


def describe(results: Results) -> str:
    """`2026-11-26, commit 34823fd8: 12 stories with 60 decisions beside 100 other memories, and 12 drills.`"""
    day = datetime.strptime(results.run.id[:8], "%Y%m%d")
    decisions = sum(story.decisions for story in results.stories)
    drills = len({cell.drill for cell in results.trust})
    stories = words.format_count(len(results.stories), "story", "stories")
    played = f"{stories} with {words.format_count(decisions, 'decision')}"
    beside = f"{words.format_count(results.run.conditions.headline_noise, 'other memory', 'other memories')}"
    commit = (results.run.commit or "unknown")[:8]
    return f"{day:%Y-%m-%d}, commit {commit}: {played} beside {beside}, and {words.format_count(drills, 'drill')}."


def _tell_cold(board: Board) -> str:
    cold = next((row for row in board.rows if row.cold), None)
    return f"Without memory, {board.find(cold.key, 'decisions').text} decisions are right." if cold else ""


def _base(key: str) -> str:
    """`langgraph` of `langgraph@3.1.2`; settings stay, as they make another row."""
    return re.sub(r"@[^,+]*", "", key)


def _list_first(board: Board, row: BoardRow) -> list[str]:
    title = "*no memory*" if row.cold else FIRST[_base(row.key)]
    if not row.cold and _base(row.key) not in OURS:
        title = f"{title} {row.version.partition(' ')[0]}".rstrip()
    if row.name.endswith(table.MODEL_INSIDE):
        title += f" {table.MODEL_INSIDE}"
    work = [board.find(row.key, name) for name in ("decisions", "stale", "recalled", "cost")]
    return [title, *("" if score.text == "\u2013" else score.text for score in work), _tell_failed(board, row)]


def _tell_failed(board: Board, row: BoardRow) -> str:
    """The gravest fault of each column of trust, the first few; and what has no number, which is no pass."""
    if row.cold:
        return ""
    scores = [(head, board.find(row.key, head.id)) for head in board.trust if head.id != "speed"]
    bad = [score.cases[0].told if score.cases else score.word for _, score in scores if score.judgement == "bad"]
    more = [f"and {len(bad) - SHOWN} more"] if len(bad) > SHOWN else []
    none = [head.head for head, score in scores if not score.measured and score.judgement != "bad"]
    lacking = words.join_words(none) if len(none) <= SHOWN else f"{len(none)} columns of trust"
    told = [*bad[:SHOWN], *more] or ["nothing" if len(none) < len(scores) else "nothing was tested"]
    return "; ".join([*told, f"not measured: {lacking}"] if none and len(none) < len(scores) else told)


def _name(row: BoardRow) -> str:
    """As a command names it."""
    return "*no memory*" if row.cold else f"`{words.make_visible(row.key, 80).replace('+', ',')}`"


def _describe_row(row: BoardRow) -> str:
    return ", ".join(filter(None, [row.version, *row.marks, *row.notes]))


def _show(score: ScoreboardCell) -> str:
    return score.text if score.judgement == "open" else f"{score.shape} {score.text}"


def write_readme(made: Summary) -> str:
    """The block of README: the rows that are asked for first."""
    heads = ["Backend", "Right decisions", "Acted on stale", "Answers recalled", "Tokens per job done", "What failed"]
    page = made["run"].removesuffix(pack.SUFFIX) + "/report.html"
    native = f"[Sessions in, with a small model inside]({NATIVE.parent.name}/native/report.html)"
    told = f"{made['told']} From [{made['run']}]({page}). {native}: what is captured, and where decisions are lost."
    return _join([told, "", *write_table(heads, made["first"])])


def _join(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def read_block(document: Path) -> str:
    """What stands in a document between the two comments."""
    (found,) = BLOCK.findall(document.read_text("utf-8"))
    return str(found)


def replace_block(document: Path, block: str) -> None:
    document.write_text(BLOCK.sub(lambda _: block, document.read_text("utf-8")), "utf-8")


def report(run: Path) -> Results:
    """Scores a packed run, and writes its page beside it; a run that was not complete says so, and is shown."""
    # the others test nothing: they show what a report is, and what one recording held
    claims = CLAIMS if run.name == BOARD.name else None
    out, jobs = common.find_report_folder(run), os.cpu_count() or 1
    common.report_run(common.open_run(run), out=out, quiet=True, jobs=jobs, claims=claims)
    assert out
    return Results.model_validate_json((out / "results.json").read_text("utf-8"))


def main() -> None:
    run = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else find_run()
    if run.is_dir():
        pack.pack(run, BOARD)
        run = BOARD
    made = summarize(run, report(run))
    report(NATIVE)
    MADE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
    replace_block(README, write_readme(made))


if __name__ == "__main__":
    main()
