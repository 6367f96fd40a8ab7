"""Where deleted memories could still be found: routes of the interface, texts and vectors in the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.metrics.trust.deletion import DRILL
from harness.model.backend import SOUND
from harness.model.cells import LayerLook, LayerRow, LookStage, TrustCell
from harness.model.results import Results
from harness.report import words
from harness.report.charts.chart import (
    GREEN,
    INK,
    PALE,
    SOFT,
    VERMILLION,
    WIDTH,
    Chart,
    Sheet,
    finish,
    shorten_name,
    show,
)

NAME, TITLE = "deletion-layers", "Where deleted memories could still be found"
HEADS = ("backend", "where", "deleted", "before", "after, closed", "reopened, killed, refilled", "compacted")
COLUMN: Mapping[LookStage, int] = {
    "before": 0, "after": 1, "closed": 1, "reopened": 2, "killed": 2, "churned": 2, "compacted": 3,
}  # fmt: skip
KINDS = {"route": "asked", "text": "text", "vector": "vector"}
LEFT, UNKNOWN, NO_LOOK = "left", "unknown", "no look"
_AT = (146, 212, 288, 370)
_ROW, _FITS = 20, 21


@dataclass(frozen=True)
class ChartLine:
    """One row: a kind of look, what was looked at, and of each column its verdict and how many were seen."""

    kind: str
    names: tuple[str, ...]
    targets: int
    looks: tuple[tuple[str, int, bool] | None, ...]
    """Verdict, seen, whether more may have been seen than is said."""

    @property
    def where(self) -> str:
        return f"{self.kind}: {', '.join(words.make_visible(name, 60) for name in self.names)}"

    @property
    def label(self) -> str:
        if len(self.where) <= _FITS:
            return self.where
        many = f"{len(self.names)} {'routes' if self.kind == KINDS['route'] else 'layers'}"
        room = _FITS - len(self.kind) - 2
        return f"{self.kind}: {many if len(self.names) > 1 else shorten_name(self.names[0], room)}"


def chart_deletion(results: Results) -> Chart | None:
    cells = [cell for cell in results.trust if cell.drill == DRILL.name]
    # The sound reference last, as in the tables of the drills.
    cells.sort(key=lambda cell: (cell.backend == SOUND, cell.backend))
    found = {cell.id: tuple(_list_lines(cell.layers)) for cell in cells}
    if not any(found.values()):
        return None
    body = []
    for cell in cells:
        for line in found[cell.id]:
            looks = (NO_LOOK if look is None else describe(look, at) for at, look in enumerate(line.looks))
            body.append((show(cell.backend), line.where, str(line.targets), *looks))
        if not found[cell.id]:
            body.append((show(cell.backend), _word(cell), "", "", "", "", ""))
    return finish(_draw_sheet(cells, found), NAME, "deleted", TITLE, describe_chart(body), HEADS, body)


def _word(cell: TrustCell) -> str:
    """Why a drill has no layers."""
    if cell.status == "complete":
        return words.NOT_MEASURED["not-applicable"]
    return words.NOT_MEASURED[cell.status if cell.status in ("failed", "unsupported") else "not-run"]


def describe(look: tuple[str, int, bool], column: int) -> str:
    """A look in words: how many were there before, then what became of them."""
    verdict, seen, more = look
    count = f"\u2265{seen}" if more else str(seen)
    if verdict == "present":
        return count if column == 0 else f"{count} {LEFT}"
    never = "\u2013" if column else "never seen"
    return {"gone": "gone", "not-computable": UNKNOWN, "not-seen-before": never}[verdict]


def describe_chart(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: what the last look at each place still showed, and what only an earlier one did."""
    looked = [(row[0], row[1], [text for text in row[3:] if text not in ("", NO_LOOK)]) for row in body]
    last = [(name, where, looks[-1] if looks else "") for name, where, looks in looked]
    names = list(dict.fromkeys(name for name, _, _ in last))
    remaining: dict[str, list[str]] = {name: [] for name in names}
    for name, where, text in last:
        remaining[name] += [f"{where} ({text})"] if text.endswith(LEFT) else []
    once = {name: [where for own, where, texts in looked if own == name and _was_cleared(texts)] for name in names}
    unknown = [name for name in names if any(n == name and t == UNKNOWN for n, _, t in last)]
    absent = [name for name in names if not any(own == name and text for own, _, text in last)]
    gone = [
        name for name in names if not (remaining[name] or once[name]) and name not in unknown and name not in absent
    ]
    late = [f"{name}, {words.join_words(where)}" for name, where in once.items() if where]
    parts = [f"{name}, {words.join_words(where)}" for name, where in remaining.items() if where]
    return " ".join(
        text
        for text in (
            f"Deleted, and still found at the last look: {'; '.join(parts)}." if parts else "",
            f"Found after the deletion, and gone at the last look: {'; '.join(late)}." if late else "",
            f"Not found again wherever they were seen before: {words.join_words(gone)}." if gone else "",
            f"Cannot be told everywhere: {words.join_words(unknown)}." if unknown else "",
            f"Not measured: {words.join_words(absent)}." if absent else "",
        )
        if text
    )


def _was_cleared(texts: Sequence[str]) -> bool:
    """Whether a look before the last one still showed it."""
    return any(text.endswith(LEFT) for text in texts[:-1]) and not texts[-1].endswith(LEFT)


def _list_lines(layers: Sequence[LayerRow]) -> Iterator[ChartLine]:
    """A line a route and a kind of a layer, its places together; those that fared alike and kept nothing share one."""
    grouped: dict[tuple[str, str], list[LayerRow]] = {}
    for row in layers:
        grouped.setdefault((KINDS[row.kind], row.layer), []).append(row)
    alike: dict[tuple[object, ...], list[ChartLine]] = {}
    for (kind, layer), rows in grouped.items():
        line = ChartLine(kind, (layer,), max(row.targets for row in rows), tuple(_look(rows, at) for at in range(4)))
        any_present = any(look is not None and look[0] == "present" for look in line.looks[1:])
        key = (kind, layer) if any_present else (kind, *(look and look[0] for look in line.looks))
        alike.setdefault(key, []).append(line)
    for lines in sorted(alike.values(), key=lambda each: list(KINDS.values()).index(each[0].kind)):
        # They fared alike, so the one that showed most before stands for all.
        looks = max((line.looks for line in lines), key=lambda each: each[0][1] if each[0] else 0)
        yield ChartLine(lines[0].kind, sum((line.names for line in lines), ()), max(ln.targets for ln in lines), looks)


def _look(rows: Sequence[LayerRow], column: int) -> tuple[str, int, bool] | None:
    """All places of a layer as one: the worst verdict; what places share is counted once, so more may be there."""
    looks: list[LayerLook] = [look for row in rows for look in row.looks if COLUMN[look.stage] == column]
    if not looks:
        return None
    order = ("present", "not-computable", "gone", "not-seen-before")
    verdict = min((look.verdict for look in looks), key=order.index)
    seen, targets = max(look.seen for look in looks), max(row.targets for row in rows)
    return verdict, seen, sum(look.seen > 0 for look in looks) > 1 and seen < targets


def _draw_sheet(cells: Sequence[TrustCell], lines_by_cell: Mapping[str, Sequence[ChartLine]]) -> Sheet:
    sheet = Sheet()
    for at, (asked, scanned) in enumerate(
        (("before", "before"), ("after", "closed"), ("reopened", "kill, refill"), ("compacted", "compacted"))
    ):
        for nth, head in enumerate((asked, scanned)):
            sheet.text(_AT[at], 8 + 14 * nth, head, colour=SOFT)
    sheet.text(0, 8, "looked at by asking", colour=SOFT)
    sheet.text(0, 22, "looked at in the bytes", colour=SOFT)
    y = 42.0
    for cell in cells:
        lines = lines_by_cell[cell.id]
        n = f" ({max(line.targets for line in lines)} deleted)" if lines else ""
        sheet.line((0, y - 10), (WIDTH, y - 10), colour=PALE)
        sheet.text(0, y, f"{shorten_name(cell.backend, 20)}{n}", bold=True)
        if not lines:
            sheet.text(_AT[0], y, _word(cell), italic=True, colour=SOFT)
        y += _ROW
        for line in lines:
            sheet.text(8, y, line.label)
            for at, look in enumerate(line.looks):
                if look is None:
                    sheet.text(_AT[at], y, NO_LOOK, italic=True, colour=SOFT)
                # What was never seen there says nothing by not being seen later.
                elif at == 0 or look[0] != "not-seen-before":
                    _draw_cell(sheet, _AT[at], y, look, at)
            y += _ROW
        y += 6
    return sheet


def _draw_cell(sheet: Sheet, x: float, y: float, look: tuple[str, int, bool], column: int) -> None:
    """A shape and its word: full circle before, open circle gone, full triangle left."""
    verdict = look[0]
    if verdict == "present":
        sheet.mark(x + 4, y, "triangle" if column else "circle", VERMILLION if column else INK)
    elif verdict == "gone":
        sheet.mark(x + 4, y, "circle", GREEN, hollow=True)
    elif verdict == "not-computable":
        sheet.text(x + 4, y, "?", "center", bold=True)
    known = verdict in ("present", "gone")
    shift = 0 if verdict == "not-seen-before" else 12
    sheet.text(x + shift, y, describe(look, column), italic=not known, colour=INK if known else SOFT)
