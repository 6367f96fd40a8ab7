"""A sheet to draw on, in units of its own view box from the top left. Matplotlib writes it down.

The sheet is narrow and its text large, so that it still reads on a phone; shapes and dashes carry what colours say.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from harness.model.trial import Interval
from harness.report.charts.svg_cleanup import clean

WIDTH, SIZE, ROW = 440, 12, 22
"""Units: of a sheet, of its text, of one row. At 330 pixels the text is 9 pixels high."""
BLUE, VERMILLION, GREEN, INK, SOFT, PALE = "#0072b2", "#d55e00", "#009e73", "#1f2430", "#5a6270", "#d5d9de"
Shape: TypeAlias = Literal["circle", "diamond", "triangle", "square", "cross"]
Anchor: TypeAlias = Literal["left", "center", "right"]
Dash: TypeAlias = tuple[float, ...]
_MARKERS: dict[Shape, str] = {"circle": "o", "diamond": "D", "triangle": "^", "square": "s", "cross": "X"}
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
    _texts: list[tuple[float, float, str, dict[str, Any]]] = field(default_factory=list)

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 1.2, dash: Dash = ()) -> None:
        self._lines.setdefault((colour, width, dash), []).append(list(points))
        self._grow(*(y for _, y in points))

    def mark(
        self, x: float, y: float, shape: Shape, colour: str = INK, *, hollow: bool = False, size: float = 7
    ) -> None:
        self._marks.setdefault((shape, colour, hollow, size), []).append((x, y))
        self._grow(y + size / 2)

    def text(
        self, x: float, y: float, words: str, anchor: Anchor = "left", *, colour: str = INK, bold: bool = False,
        italic: bool = False,
    ) -> None:  # fmt: skip
        """Draws words.

        Args:
            y: The middle of small letters, so that it stands on one height with a mark.
        """
        looks = {"ha": anchor, "color": colour, "fontweight": "bold" if bold else "normal"}
        self._texts.append((x, y + SIZE / 3, words, looks | {"fontstyle": "italic" if italic else "normal"}))
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

    def svg(self, name: str, title: str, says: str) -> str:
        """The finished element; equal sheets give equal bytes, whatever the user's own style."""
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
        return clean(raw.getvalue(), name, title, says, SIZE)

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
        for x, y, words, looks in self._texts:
            figure.add_artist(Text(x, y, words, transform=at, zorder=4, va="baseline", fontsize=SIZE, **looks))
