"""`summary.md`: verdict and scoreboard for a job summary or a pull request. Words of a backend stand in code, with
entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from harness.model.results import Results
from harness.report import words
from harness.report.model import board, table
from harness.report.model.board import Board, BoardRow
from harness.report.model.evidence import BadCase
from harness.report.model.table import MEANING, SHAPES, Score
from harness.report.text import points, verdict

CASES = 12
"""Cases of the drills that are shown; the report has more, and the receipts name all."""
_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " ", **{char: f"&#{ord(char)};" for char in "|`@[]*~$\\"}}
)
_BETWEEN = re.compile(r"(?<![^\W_])_|_(?![^\W_])|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
"""What is emphasis or an address only where it stands: `_` at the end of a word, `://`, `www.`"""


def format_code(text: str, limit: int = 200) -> str:
    """Foreign text that breaks no table, mentions nobody and links nowhere."""
    return f"<code>{_escape(words.make_visible(text.replace(chr(10), ' '), limit))}</code>"


def write_summary(results: Results, receipts: Mapping[str, Sequence[BadCase]] = {}) -> str:
    """The whole file.

    Args:
        receipts: Of the drills, by cell.
    """
    made = board.collect(results)
    parts = [
        _write_head(results, made),
        _write_gates(results, made),
        _show_board(results, made),
        _write_cases(receipts),
        _list_faults(results, bad=False),
        _rest(results, made),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _write_head(results: Results, made: Board) -> list[str]:
    stories = words.format_count(len(results.stories), "story", "stories")
    played = ", ".join(filter(None, [f"coldwarm {results.run.version}", table.describe_suite(results), stories]))
    return [
        "# Which memory should this agent use?",
        "",
        f"{_escape(played)}, logs `{results.run.logs[:12]}`.",
        "",
        *_list_faults(results, bad=True),
        *(f"- {_escape(line.text)}" for line in verdict.judge(results, made)),
        "",
    ]


def _list_faults(results: Results, *, bad: bool) -> list[str]:
    """The bad ones stand before anything that the other calls have shown; what a drill provoked, below."""
    lines = []
    for each in table.state_faults(results):
        if each.bad != bad:
            continue
        head = _escape(each.head)
        lines.append(f"**{SHAPES['bad']} {head}**" if each.bad else head)
        lines += ["", *(f"- {format_code(failing.says, 400)}" for failing in each.failing), ""]
    return lines


def _escape(text: str) -> str:
    """Markdown is read inside of `<code>`, too: an image in a memory would be fetched for each reader of a summary."""
    return _BETWEEN.sub(lambda found: f"&#{ord(found[0])};", text.translate(_ENTITIES))


def _write_gates(results: Results, made: Board) -> list[str]:
    """The broken and the unmeasured one by one, the held ones counted."""
    if not results.gates:
        return []
    counts = Counter(gate.verdict for gate in results.gates)
    sentence = f"{counts['broken']} broken, {counts['not-measured']} not measured, {counts['held']} held"
    bad = [gate for verdict in ("broken", "not-measured") for gate in results.gates if gate.verdict == verdict]
    mark = {"broken": "\u2715", "not-measured": "?"}
    lines = [f"- {mark[gate.verdict]} {gate.verdict.replace('-', ' ')}: {format_code(gate.says, 400)}" for gate in bad]
    if left := board.collect_demands(results, made).lines:
        lines += [*([""] if lines else []), "**Problems that none of your gates checks**", ""]
        lines += [f"- {_escape(line)}" for line in left]
    return [f"**Gates: {sentence}**", "", *lines, *([""] if lines else [])]


def _show_board(results: Results, made: Board) -> list[str]:
    """The scoreboard, as every other output has it."""
    if made.empty:
        return []
    lines = [[_name(row), *map(_show, row.scores)] for row in made.rows]
    legend = ", ".join(f"{SHAPES[each]} {word}" for each, word in MEANING.items() if each != "open")
    notes = [f"{row.name}: {note}." for row in made.rows for note in row.notes]
    sentences = [f"{legend}.", board.FAILED if made.trust else "", made.bounds, *notes, table.explain_stand_in(results)]
    return [
        *_write_grid(["Backend", *(column.head for column in made.columns)], lines),
        "",
        _escape(" ".join(filter(None, sentences))),
        "",
    ]


def _name(row: BoardRow) -> str:
    return f"{format_code(row.name)} {_escape(row.version)}".strip()


def _show(score: Score) -> str:
    mark = f"{score.shape} " if score.judgement != "open" else ""
    text = _escape(score.text) if score.measured else f"*{_escape(score.text)}*"
    beside = "; ".join(_escape(each) for each in (*(line.text for line in score.lines[1:]), score.word) if each)
    return f"{mark}{text}" + (f" ({beside})" if beside else "")


def _write_cases(receipts: Mapping[str, Sequence[BadCase]]) -> list[str]:
    """Which memory it was: of every backend in turn one case of a measure, the first few."""
    first = [{each.measure: each for each in reversed(found) if each.case} for found in receipts.values()]
    turns = zip_longest(*(reversed(found.values()) for found in first))
    told = [each for turn in turns for each in turn if each is not None][:CASES]
    lines = [f"- {format_code(each.backend)} {each.measure}: {format_code(each.case, 600)}" for each in told]
    return ["**For example**", "", *lines, ""] if lines else []


def _write_grid(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    ruled = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(line)} |" for line in (heads, ruled, *lines)]


def _rest(results: Results, made: Board) -> list[str]:
    lacking = board.explain_cells(made)
    return [
        *(["**Not measured**", "", *(f"- {_escape(line)}" for line in lacking), ""] if lacking else []),
        *(f"{_escape(line)}\n" for line in filter(None, [table.explain_chance(results)])),
        _escape(words.describe_conditions(results)),
        "",
        "**This run cannot say**",
        "",
        *(f"- {_escape(line)}" for line in points.explain_limits(results)),
    ]
