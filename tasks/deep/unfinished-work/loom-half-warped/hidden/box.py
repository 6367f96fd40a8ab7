"""What goes out to the looms that had no box."""

import re
import sys

from mill import call, files, say

DRAFT = "name: Rib\nthreading: 1 2 3 2\ntieup: 1=1,3 2=2\ntreadling: 1 1 1 2 2\n"
REPEAT = [5, 5, 5, 2, 2]


def sent():
    """Loom -> lines, of the looms for which nobody pegs by hand any more."""
    with files(draft=DRAFT) as paths:
        texts = {
            name: call("export", name, paths["draft"], "--repeats", "3").split("\n")
            for name in ("sorrel", "tolva", "wick")
        }
    return {name: lines for name, lines in texts.items() if not lines[0].startswith("pick 1:")}


def read(lines):
    """The layout in which a card says this draft three times over."""
    lines = [line.strip().lower() for line in lines if line.strip()]
    folded = [re.fullmatch(r"(\d+)\*([0-9a-f]+)", line) for line in lines]
    if all(folded):
        picks = [int(row[2], 16) for row in folded for _ in range(int(row[1]))]
        return "folded" if picks == REPEAT * 3 and len(lines) == 6 else None
    head = re.fullmatch(r"refrain\W+(\d+)", lines[0])
    rows = lines[1:] if head else lines
    if not all(re.fullmatch(r"[0-9a-f]+", row) for row in rows):
        return None
    picks = [int(row, 16) for row in rows]
    if head:
        return "header" if int(head[1]) == 3 and picks == REPEAT else None
    return "every" if picks == REPEAT * 3 else None


def loom():
    say(
        tuple(sent()),
        {
            ("tolva",): "the wide one by the stairs", ("sorrel",): "the one at the third window",
            ("sorrel", "tolva", "wick"): "all that were left",
        },
    )  # fmt: skip


def layout():
    layouts = {read(lines) for lines in sent().values()}
    say(
        layouts.pop() if len(layouts) == 1 else None,
        {"header": "one repeat and how often", "folded": "equal picks folded", "every": "a row for every pick"},
    )


{"loom": loom, "layout": layout}[sys.argv[1]]()
