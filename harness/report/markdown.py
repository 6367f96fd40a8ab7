"""`summary.md`: the findings for a job summary or a pull request. Words of a backend stand in code, with entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from harness.model.results import Results
from harness.report import answers, demanded, faulted, findings, headline, tables, words
from harness.report.receipts import BadCase
from harness.report.tables import Figure, TableLine
from harness.report.worst import LEGEND, MARK

CASES = 12
"""Cases of the drills that are told; the report has more, and the receipts name all."""
_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " ", **{char: f"&#{ord(char)};" for char in "|`@[]*~$\\"}}
)
_BETWEEN = re.compile(r"(?<![^\W_])_|_(?![^\W_])|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
"""What is emphasis or an address only where it stands: `_` at the end of a word, `://`, `www.`"""


def code(text: str, limit: int = 200) -> str:
    """Foreign text that breaks no table, mentions nobody and links nowhere."""
    return f"<code>{_safe(words.visible(text.replace(chr(10), ' '), limit))}</code>"


def summary(results: Results, receipts: Mapping[str, Sequence[BadCase]] = {}) -> str:
    """The whole file.

    Args:
        receipts: Of the drills, by cell.
    """
    drills = [*_trust(results), *_cases(receipts)]
    return "\n".join([*_head(results), *_gates(results), *_table(results), *drills, *_rest(results)]) + "\n"


def _head(results: Results) -> list[str]:
    stories, cells = words.plural(len(results.stories), "scenario"), words.plural(len(results.cells), "cell")
    played = ", ".join(filter(None, [f"coldwarm {results.run.version}", tables.suite(results), stories, cells]))
    return [
        "# What memory changed",
        "",
        f"{_safe(played)}, logs `{results.run.logs[:12]}`.",
        "",
        *_faults(results),
        *(f"- **{each.label}** {_safe(' '.join(map(str, each.sentences)))}" for each in answers.answers(results)),
        *(f"- **Not measured** {_safe(line)}" for line in findings.list_lacking(results)),
        "",
    ]


def _faults(results: Results) -> list[str]:
    """Before anything that the other calls have shown."""
    lines = []
    for each in faulted.statements(results):
        head = _safe(each.head)
        lines.append(f"**\u25b2 {head}**" if each.bad else head)
        lines += ["", *(f"- {code(failing.says, 400)}" for failing in each.failing), ""]
    return lines


def _safe(text: str) -> str:
    """Markdown is read inside of `<code>`, too: an image in a memory would be fetched for each reader of a summary."""
    return _BETWEEN.sub(lambda found: f"&#{ord(found[0])};", text.translate(_ENTITIES))


def _gates(results: Results) -> list[str]:
    """The broken and the unmeasured one by one, the held ones counted."""
    if not results.gates:
        return []
    counts = Counter(gate.verdict for gate in results.gates)
    told = f"{counts['broken']} broken, {counts['not-measured']} not measured, {counts['held']} held"
    bad = [gate for verdict in ("broken", "not-measured") for gate in results.gates if gate.verdict == verdict]
    mark = {"broken": "\u2715", "not-measured": "?"}
    lines = [f"- {mark[gate.verdict]} {gate.verdict.replace('-', ' ')}: {code(gate.says, 400)}" for gate in bad]
    if left := demanded.collect(results).lines:
        lines += [*([""] if lines else []), f"**Demanded by no gate** ({MARK}: bad now)", ""]
        lines += [f"- {_safe(line)}" for line in left]
    return [f"**Gates: {told}**", "", *lines, *([""] if lines else [])]


def _table(results: Results) -> list[str]:
    found = findings.collect(results)
    beside = {
        column.head: head.beside for head in found.heads for column in found.columns if column.question == head.question
    }
    heads = [f"{column.head} ({beside[column.head]})" for column in found.columns]
    rows, before = [], "ranked"
    for line in found.lines:
        if line.group != "ranked" and before == "ranked":
            rows.append(["*controls, never ranked*", *[""] * len(heads)])
        before = line.group
        rows.append([_name(line), *map(_figure, line.figures)])
    marked = tables.stand_in(results)
    return [*_grid(["Backend", *heads], rows), "", *([_safe(marked), ""] if marked else [])]


def _trust(results: Results) -> list[str]:
    """What the drills showed, of each question the worst."""
    if not results.trust:
        return []
    columns, lines = headline.table(results)
    rows = [[code(name), *map(_show_trust, figures)] for name, figures in lines]
    named = ["Trust, tested", *(column.head for column in columns)]
    return [*_grid(named, rows), "", f"{MARK}: below a perfect score; {LEGEND}. The report has the receipts.", ""]


def _cases(receipts: Mapping[str, Sequence[BadCase]]) -> list[str]:
    """Which memory it was: of every backend in turn one case of a measure, the first few."""
    first = [{each.measure: each for each in reversed(found) if each.case} for found in receipts.values()]
    turns = zip_longest(*(reversed(found.values()) for found in first))
    told = [each for turn in turns for each in turn if each is not None][:CASES]
    lines = [f"- {code(each.backend)} {each.measure}: {code(each.case, 600)}" for each in told]
    return ["**For example**", "", *lines, ""] if lines else []


def _show_trust(figure: headline.HeadlineFigure) -> str:
    text = figure.text if figure.measured else f"*{figure.text}*"
    return " ".join(filter(None, [MARK if figure.fault else "", text, figure.name, *_note(figure.lacking)]))


def _note(lacking: Sequence[str]) -> list[str]:
    return [f"({', '.join(lacking)})"] if lacking else []


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    ruled = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(row)} |" for row in (heads, ruled, *rows)]


def _name(line: TableLine) -> str:
    return f"{code(line.name)} {_safe(line.version)}".strip()


def _figure(figure: Figure) -> str:
    text = figure.text if figure.measured else f"*{figure.text}*"
    return f"{text} ({figure.note})" if figure.note else text


def _rest(results: Results) -> list[str]:
    missing = tables.list_unanswered(results)
    return [
        "Every number is hits of cases; the report links each to its cells and receipts.",
        "",
        *(
            [
                "**Not measured**",
                "",
                *(
                    f"- {each.word}: {', '.join(each.measures)} of {', '.join(map(code, each.backends))}: "
                    f"{code(each.reason)}"
                    for each in missing
                ),
                "",
            ]
            if missing
            else []
        ),
        *(f"{_safe(line)}\n" for line in filter(None, [tables.chance(results)])),
        _safe(words.conditions(results)),
        "",
        "**This run cannot say**",
        "",
        *(f"- {_safe(line)}" for line in tables.cannot_say(results)),
    ]
