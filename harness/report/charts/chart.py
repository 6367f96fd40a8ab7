"""What a chart is, the sheet that it is drawn on, and what all charts need: names that fit, groups of rows, words.

A chart is inline SVG and answers one question: same bytes for same logs, readable in grey, no style that leaks. A sheet
is drawn on in units of its own view box from the top left, and matplotlib writes it down. It is narrow and its text
large, so that it still reads on a phone; shapes and dashes carry what colours say.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from harness import paths
from harness.machine import extras, leftovers
from harness.model.results import Pooled, Results
from harness.model.trial import Interval
from harness.report import words
from harness.report.charts.drawing import clean
from harness.report.model import table

WIDTH, SIZE, ROW = 440, 12, 22
"""Units: of a sheet, of its text, of one row. At 330 pixels the text is 9 pixels high."""
BLUE, VERMILLION, GREEN, INK, SOFT, PALE = "#0072b2", "#d55e00", "#009e73", "#1f2430", "#5a6270", "#d5d9de"
Shape: TypeAlias = Literal["circle", "diamond", "triangle", "square", "cross"]
Anchor: TypeAlias = Literal["left", "center", "right"]
Dash: TypeAlias = tuple[float, ...]
_MARKERS: dict[Shape, str] = {"circle": "o", "diamond": "D", "triangle": "^", "square": "s", "cross": "X"}
# Texts stay texts, ids are the same each time, a `$` in a name begins no formula, and no point is dropped.
_PLAIN: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "coldwarm", "text.parse_math": False, "path.simplify": False,
}  # fmt: skip


@dataclass(frozen=True)
class Scale:
    """From a number to a place.

    Attributes:
        log: For numbers above 0; what lies outside is drawn at the edge.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        part = (at - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.end - self.start)

    @classmethod
    def decades(cls, values: Sequence[float], start: float, end: float) -> Scale:
        """Whole powers of ten around all numbers above 0."""
        known = [value for value in values if value > 0] or [1.0]
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        return cls(10.0**low, 10.0 ** max(high, low + 1), start, end, log=True)

    def powers(self) -> list[float]:
        """The powers of ten on a scale of decades."""
        return [10.0**n for n in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]


@dataclass
class Sheet:
    """Collects what is drawn; things of one look are written together, lines below marks below words."""

    height: float = 0
    _lines: dict[tuple[str, float, Dash], list[list[tuple[float, float]]]] = field(default_factory=dict)
    _marks: dict[tuple[Shape, str, bool, float], list[tuple[float, float]]] = field(default_factory=dict)
    _texts: dict[tuple[str, Anchor, bool, bool], list[tuple[float, float, str]]] = field(default_factory=dict)

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 1.2, dash: Dash = ()) -> None:
        self._lines.setdefault((colour, width, dash), []).append(list(points))
        self._grow(*(y for _, y in points))

    def mark(
        self, x: float, y: float, shape: Shape, colour: str = INK, *, hollow: bool = False, size: float = 7
    ) -> None:
        self._marks.setdefault((shape, colour, hollow, size), []).append((x, y))
        self._grow(y + size / 2)

    def text(
        self, x: float, y: float, label: str, anchor: Anchor = "left", *, colour: str = INK, bold: bool = False,
        italic: bool = False,
    ) -> None:  # fmt: skip
        """Draws words.

        Args:
            y: The middle of small letters, so that it stands on one height with a mark.
        """
        self._texts.setdefault((colour, anchor, bold, italic), []).append((x, y + SIZE / 3, label))
        self._grow(y + SIZE)

    def whisker(self, low: float, high: float, at: float, colour: str, *, upright: bool = False) -> None:
        """An interval with its two ends."""
        for one, other, across in ((low, high, 0.0), (low, low, 3.0), (high, high, 3.0)):
            ends = ((one, at - across), (other, at + across))
            self.line(*(((y, x) for x, y in ends) if upright else ends), colour=colour)

    def interval(self, value: Interval | None, scale: Scale, at: float, colour: str, *, upright: bool = False) -> None:
        if value is not None:
            self.whisker(scale(value.low), scale(value.high), at, colour, upright=upright)

    def _grow(self, *bottoms: float) -> None:
        self.height = max(self.height, *bottoms)

    def svg(self, name: str, title: str, description: str) -> str:
        """The finished element; equal sheets give equal bytes, whatever the user's own style."""
        # Set before the import, as matplotlib reads it once.
        if "MPLCONFIGDIR" not in os.environ:
            os.environ["MPLCONFIGDIR"] = str(_find_font_cache())
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        height = math.ceil(self.height)
        with matplotlib.rc_context(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the reader's fonts may have it
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_PLAIN)
            figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
            figure.patch.set_visible(False)
            canvas, raw = FigureCanvasSVG(figure), io.StringIO()
            self._fill(figure, height)
            canvas.figure.savefig(raw, format="svg", metadata={"Date": None})
        return clean(raw.getvalue(), name, title, description, SIZE)

    def _fill(self, figure: Any, height: float) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path
        from matplotlib.text import Text
        from matplotlib.transforms import Affine2D

        at = Affine2D().scale(1 / WIDTH, -1 / height).translate(0, 1) + figure.transFigure
        for order, ((colour, width, dash), strokes) in enumerate(self._lines.items()):
            path = Path(
                [point for stroke in strokes for point in stroke],
                [Path.LINETO if nth else Path.MOVETO for stroke in strokes for nth in range(len(stroke))],
            )
            # Butt, since any other end of a line would reach beyond the number that a bar stands for.
            look = {"edgecolor": colour, "linewidth": width, "linestyle": (0, dash or None), "capstyle": "butt"}
            depth = 1 if colour == PALE else 2
            figure.add_artist(PathPatch(path, fill=False, transform=at, zorder=depth + order / 1000, **look))
        for (shape, colour, hollow, size), points in self._marks.items():
            figure.add_artist(
                Line2D(
                    *zip(*points, strict=True), transform=at, zorder=3, linestyle="none", marker=_MARKERS[shape],
                    markersize=size * 0.8 if shape == "diamond" else size, markeredgecolor=colour,
                    markerfacecolor="white" if hollow else colour, markeredgewidth=1.5,
                )
            )  # fmt: skip
        for (colour, anchor, bold, italic), texts in self._texts.items():
            font: dict[str, Any] = {
                "color": colour, "ha": anchor, "fontweight": "bold" if bold else "normal",
                "fontstyle": "italic" if italic else "normal",
            }  # fmt: skip
            for x, y, label in texts:
                figure.add_artist(Text(x, y, label, transform=at, zorder=4, va="baseline", fontsize=SIZE, **font))


def _find_font_cache() -> Path:
    """Where matplotlib keeps its list of fonts. By itself it would make a home that is not there, and warn of one that
    cannot be written to."""
    folder = paths.cache_root() / "matplotlib"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else leftovers.process_folder()


# --- a chart ----------------------------------------------------------------------------------------------------------

NARROW = 126
"""Where a plot begins, right of the names."""
CONTROLS = "controls, never ranked"
STAR = "* as the oracle, which is handed the answers"
"""What a star behind a name says."""
UNDRAWN = (
    "<p>Not drawn: matplotlib is not installed (the extra <code>report</code>). The table holds the same numbers.</p>"
)


@dataclass(frozen=True)
class Chart:
    """A figure, its finding in one sentence, and the rows that it was drawn from.

    Attributes:
        topic: The question that it answers, as the page calls it.
        title: Its words stand in its SVG, too.
    """

    name: str
    topic: str
    title: str
    says: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    svg: str


def finish(
    sheet: Sheet, name: str, topic: str, title: str, description: str, heads: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
) -> Chart:  # fmt: skip
    drawn = UNDRAWN if extras.explain_missing(["matplotlib"]) else sheet.svg(name, title, description)
    return Chart(name, topic, title, description, heads, tuple(rows), drawn)


def rank(results: Results) -> list[str]:
    return table.list_ranked(results)


def show(name: str) -> str:
    """A name as a table has it."""
    return words.make_visible(name, 60)


def shorten_name(name: str, limit: int = 13) -> str:
    """A name as it fits beside a row: cut in its middle, as long names differ in their settings."""
    safe = words.make_visible(name)
    return safe if len(safe) <= limit else f"{safe[: limit // 2]}\u2026{safe[len(safe) - (limit - 1) // 2 :]}"


def mark_oracle(results: Results, name: str) -> str:
    """Stands behind the name of a row that equals the oracle."""
    return " *" if name in results.like_oracle else ""


def explain_star(results: Results, names: Iterable[str]) -> str:
    """Empty if no name has one."""
    held = [show(name) for name in names if mark_oracle(results, name)]
    return f"{STAR}: {words.join_words(held)}." if held else ""


def count(name: str, n: int) -> str:
    return f"{shorten_name(name, 12)} ({n})"


def place(results: Results, names: Iterable[str], y: float) -> Iterator[tuple[str, float]]:
    """Each row's height in turn, with room for a line above the first control."""
    aside = False
    for name in names:
        if not aside and table.group(results, name) == "control":
            aside, y = True, y + ROW
        yield name, y
        y += ROW


def draw_separator(sheet: Sheet, results: Results, rows: Iterable[tuple[str, float]]) -> None:
    """The line above the first control."""
    first = next((y for name, y in rows if table.group(results, name) == "control"), None)
    if first is not None:
        sheet.text(0, first - ROW, CONTROLS, colour=SOFT, italic=True)


def draw_dot(
    sheet: Sheet, pooled: Pooled | None, scale: Scale, y: float, shape: Shape, colour: str, *, hollow: bool = False
) -> None:
    """A mean with its interval, or the word for there being none."""
    if pooled is None or pooled.value is None:
        sheet.text(scale.start, y, tell(pooled), italic=True, colour=SOFT)
        return
    sheet.interval(pooled.interval, scale, y, colour)
    sheet.mark(scale(pooled.value), y, shape, colour, hollow=hollow)


def tell(pooled: Pooled | None) -> str:
    """The number or its word; what no cell has was not run."""
    return words.NOT_MEASURED["not-run"] if pooled is None else words.value(pooled)


_COUNT = re.compile(r"(?:\u2265 )?([\d,.]+)/([\d,]+)")


def parse_counts(text: str) -> tuple[float, int] | None:
    """Hits and cases of a text of a table; None for one of the words."""
    found = _COUNT.fullmatch(text)
    return (float(found[1].replace(",", "")), int(found[2].replace(",", ""))) if found else None


def format_interval(pooled: Pooled | None) -> str:
    """The interval as a table has it."""
    return words.format_interval(pooled.interval) if pooled and pooled.value is not None and pooled.interval else ""


def draw_grid(sheet: Sheet, scale: Scale, top: float, bottom: float, ticks: Iterable[tuple[float, str]]) -> None:
    """Pale upright lines with their words below."""
    for value, label in ticks:
        sheet.line((scale(value), top), (scale(value), bottom), colour=PALE)
        if label:
            sheet.text(scale(value), bottom + 10, label, "center", colour=SOFT)


SHARES = ((0.0, "none"), (0.5, "half"), (1.0, "all"))
WARM: str = INK
WARM_SHAPE: Shape = "diamond"


def draw_cold_line(sheet: Sheet, x: float, top: float, bottom: float) -> None:
    """Where the cold arm stands, through all rows."""
    sheet.line((x, top), (x, bottom), colour=VERMILLION, width=1, dash=(4, 3))
