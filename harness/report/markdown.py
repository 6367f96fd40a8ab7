"""`summary.md`: the findings for a job summary or a pull request. Words of a backend stand in code, with entities."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report import tables, trust, words
from harness.report.tables import COLUMNS, Figure, Line
from harness.results import Results

_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;", "@": "&#64;", "\n": " "}
)


def code(text: str, limit: int = 200) -> str:
    """Foreign text that breaks no table, mentions nobody and links nowhere."""
    return f"<code>{words.visible(text.replace(chr(10), ' '), limit).translate(_ENTITIES)}</code>"


def summary(results: Results) -> str:
    """The whole file."""
    return "\n".join([*_head(results), *_table(results), *_trust(results), *_rest(results)]) + "\n"


def _head(results: Results) -> list[str]:
    stories, cells = words.plural(len(results.stories), "scenario"), words.plural(len(results.cells), "cell")
    played = ", ".join(filter(None, [f"coldwarm {results.run.version}", tables.suite(results), stories, cells]))
    return [
        "# What memory changed",
        "",
        f"{played.translate(_ENTITIES)}, logs `{results.run.logs[:12]}`.",
        "",
        *(f"- {line.translate(_ENTITIES)}" for line in tables.says(results)),
        "",
    ]


def _table(results: Results) -> list[str]:
    cold = tables.cold_right(results)
    heads = [
        f"{column.head} (cold {cold})"
        if column.measure == "decisions_right" and not column.write and cold
        else column.head
        for column in COLUMNS
    ]
    rows, before = [], "ranked"
    for line in tables.lines(results):
        if line.group == "control" and before == "ranked":
            rows.append(["*controls, never ranked*", *[""] * len(COLUMNS)])
        before = line.group
        rows.append([_name(line), *map(_figure, line.figures)])
    return [*_grid(["Backend", *heads], rows), ""]


def _trust(results: Results) -> list[str]:
    """What the drills showed, one measure a question."""
    if not results.trust:
        return []
    heads, lines = trust.headline(results)
    rows = [[code(name), *map(_trusted, figures)] for name, figures in lines]
    named = ["Trust, tested", *(" ".join(head).strip() for head in heads)]
    return [*_grid(named, rows), "", "\u25b2: not as good as it can be; the report has the receipt.", ""]


def _trusted(figure: trust.Figure) -> str:
    return f"\u25b2 {figure.text}" if figure.fault else figure.text if figure.measured else f"*{figure.text}*"


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    ruled = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(row)} |" for row in (heads, ruled, *rows)]


def _name(line: Line) -> str:
    return f"{code(line.name)} {line.version.translate(_ENTITIES)}".strip()


def _figure(figure: Figure) -> str:
    text = figure.text if figure.measured else f"*{figure.text}*"
    return f"{text} ({figure.note})" if figure.note else text


def _rest(results: Results) -> list[str]:
    missing = tables.missing(results, tuple(dict.fromkeys(column.measure for column in COLUMNS)))
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
        *(line.translate(_ENTITIES) + "\n" for line in filter(None, [tables.chance(results)])),
        words.conditions(results).translate(_ENTITIES),
        "",
        "**This run cannot say**",
        "",
        *(f"- {line.translate(_ENTITIES)}" for line in tables.cannot_say(results)),
    ]
