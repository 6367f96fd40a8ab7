"""Charts as inline SVG: same bytes for same results, readable in grey, no style that leaks into the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from harness.compare import COLD
from harness.report import tables, words
from harness.results import Pooled, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

BLUE, VERMILLION, ORANGE, INK, PALE = "#0072B2", "#D55E00", "#E69F00", "#1f2430", "#c9cdd3"
PAYERS = (
    ("tokens_agent", "the agent: goals, files it reads, values it writes", BLUE),
    ("tokens_recall", "recall: questions and what came back", ORANGE),
    ("tokens_ingest", "writing to memory", PALE),
    ("tokens_backend", "models inside the backend", INK),
)
SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_PLAIN: dict[RcKeyType, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "coldwarm",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Chart:
    """A figure, its finding in one sentence, and the rows that it was drawn from."""

    name: str
    title: str
    says: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    svg: str


def charts(results: Results) -> list[Chart]:
    """The charts that this run has data for."""
    return [chart for chart in (_decisions(results), _payers(results)) if chart is not None]


def _measured(results: Results, name: str, measure: str) -> Pooled | None:
    return results.backends[name].measures.get(measure) if name in results.backends else None


# --- cold against warm ------------------------------------------------------------------------------------------------


def _decisions(results: Results) -> Chart | None:
    cold = _measured(results, COLD, "decisions_right")
    rows = [
        (name, pooled)
        for name in tables.names(results)
        if name != COLD and (pooled := _measured(results, name, "decisions_right")) is not None
    ]
    if not rows or cold is None or cold.value is None:
        return None
    better = [words.visible(n, 40) for n, p in rows if p.value is not None and p.value > cold.value]
    worse = [words.visible(n, 40) for n, p in rows if p.value is not None and p.value < cold.value]
    says = f"Without memory {words.value(cold)} decisions were right. " + " ".join(
        f"{word} with {', '.join(found)}." for word, found in (("More", better), ("Fewer", worse)) if found
    )
    return Chart(
        "decisions",
        "Decisions right, cold and warm",
        says.strip(),
        ("backend", "cold", "warm"),
        tuple((_label(results, name), words.value(cold), words.value(pooled)) for name, pooled in rows),
        _drawn(
            "decisions",
            "Decisions right, cold and warm",
            says,
            len(rows),
            lambda axes: _dots(axes, results, rows, cold),
        ),
    )


def _dots(axes: Axes, results: Results, rows: Sequence[tuple[str, Pooled]], cold: Pooled) -> None:
    """A hollow circle for cold, a filled diamond for warm, the counts beside them."""
    base = cold.value or 0.0
    for at, (_, pooled) in enumerate(rows):
        if pooled.value is None:
            axes.text(0.02, at, words.value(pooled), va="center", style="italic")
            continue
        axes.plot([base, pooled.value], [at, at], color=PALE, linewidth=3, solid_capstyle="butt", zorder=1)
        if pooled.interval:
            axes.plot([pooled.interval.low, pooled.interval.high], [at, at], color=BLUE, linewidth=1, zorder=2)
        axes.plot([pooled.value], [at], marker="D", color=BLUE, markersize=8, linestyle="none", zorder=3)
        axes.plot(
            [base], [at], marker="o", markerfacecolor="white", markeredgecolor=VERMILLION, markeredgewidth=1.8,
            markersize=8, linestyle="none", zorder=4,
        )  # fmt: skip
        axes.text(1.06, at, words.value(pooled), va="center")
    axes.text(base, -0.75, f"cold {words.value(cold)}", color=INK, va="bottom", ha="center")
    axes.text(1.06, -0.75, "warm", va="bottom")
    axes.set_xlim(-0.03, 1.22)
    axes.set_xticks([0, 0.5, 1], ["none", "half", "all"])
    axes.set_yticks(range(len(rows)), [_label(results, name) for name, _ in rows])
    axes.set_xlabel("\u25cb cold   \u25c6 warm: share of decisions right", loc="left")


# --- tokens by payer --------------------------------------------------------------------------------------------------


def _payers(results: Results) -> Chart | None:
    rows = []
    for name in tables.names(results):
        total = _measured(results, name, "tokens_total")
        if total is not None and total.value is not None:
            rows.append((name, total, [_measured(results, name, measure) for measure, _, _ in PAYERS]))
    if not rows:
        return None
    told = [
        f"{'without memory' if name == COLD else words.visible(name, 40)} {words.value(total)}"
        for name, total, _ in rows
        if tables.group(results, name) != "control"
    ]
    says = f"Tokens of a scenario, mean over scenarios: {words.listed(told)}."
    heads = ("backend", *(measure.removeprefix("tokens_") for measure, _, _ in PAYERS), "total")
    body = tuple(
        (_label(results, name), *(words.value(p) if p is not None else "not run" for p in parts), words.value(total))
        for name, total, parts in rows
    )
    title = "Tokens of a scenario, by what they paid for"
    height = len(rows) + 2
    return Chart(
        "tokens", title, says, heads, body,
        _drawn("tokens", title, says, height, lambda axes: _bars(axes, results, rows)),
    )  # fmt: skip


def _bars(axes: Axes, results: Results, rows: Sequence[tuple[str, Pooled, list[Pooled | None]]]) -> None:
    """Stacked in tones that differ in grey, split by white gaps, the total beside; a key for what was measured."""
    widest = max(total.value or 0.0 for _, total, _ in rows) or 1.0
    for at, (_, total, parts) in enumerate(rows):
        start = 0.0
        for pooled, (_, _, colour) in zip(parts, PAYERS, strict=True):
            if pooled is not None and pooled.value:
                axes.barh(at, pooled.value, left=start, color=colour, edgecolor="white", linewidth=1, height=0.62)
                start += pooled.value
        axes.text(max(start, total.value or 0.0) + widest * 0.02, at, words.value(total), va="center")
    axes.set_xlim(0, widest * 1.3)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.set_yticks(range(len(rows)), [_label(results, name) for name, _, _ in rows])
    y = len(rows) + 0.1
    for at, (_, label, colour) in enumerate(PAYERS):
        if any((pooled := parts[at]) is not None and pooled.value for _, _, parts in rows):
            axes.barh(y, widest * 0.035, left=0, height=0.45, color=colour)
            axes.text(widest * 0.055, y, label, va="center")
            y += 0.75
    axes.set_ylim(y, -0.6)


# --- drawing and cleaning ---------------------------------------------------------------------------------------------


def _label(results: Results, name: str) -> str:
    shown = words.visible(name if len(name) <= 24 else f"{name[:23]}\u2026")
    return f"{shown} (control)" if tables.group(results, name) == "control" else shown


def _drawn(name: str, title: str, says: str, rows: int, draw: Callable[[Axes], None]) -> str:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # nothing of the user's own style
        matplotlib.rcParams.update(_PLAIN)
        canvas = FigureCanvasSVG(Figure(figsize=(5.4, 0.9 + 0.31 * (rows + 2)), layout="constrained"))
        axes = canvas.figure.add_subplot()
        axes.tick_params(left=False)
        draw(axes)
        if not axes.yaxis_inverted():
            axes.set_ylim(rows - 0.4, -0.9)
        raw = io.StringIO()
        canvas.figure.savefig(raw, format="svg", transparent=True, metadata={"Date": None})
    return clean(raw.getvalue(), name, title, says)


def clean(raw: str, name: str, title: str, says: str) -> str:
    """An SVG that may stand in a page: no prolog, metadata or style element, `style` as presentation attributes, ids
    of its own, and words for those who do not see it."""
    root = ElementTree.fromstring(raw)  # noqa: S314  drawn by matplotlib a moment ago
    for parent in root.iter():
        for child in list(parent):
            local = child.tag.rpartition("}")[2]
            if local == "metadata" or (local == "style" and child.tag.startswith(f"{{{SVG}}}")):
                parent.remove(child)
    for element in root.iter():
        for rule in element.attrib.pop("style", "").split(";"):
            key, colon, value = rule.partition(":")
            if colon:
                _present(element, key.strip(), value.strip())
        _own_ids(element, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {
        "role": "img", "aria-labelledby": f"{name}-title {name}-desc", "stroke-linejoin": "round",
        "stroke-linecap": "butt", "font-family": "system-ui, sans-serif", "preserveAspectRatio": "xMinYMin meet",
    }  # fmt: skip
    for at, (tag, text) in enumerate((("title", title), ("desc", says))):
        words_ = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{tag}"})
        words_.text = text
        root.insert(at, words_)
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    return ElementTree.tostring(root, encoding="unicode")


def _present(element: ElementTree.Element, key: str, value: str) -> None:
    if key == "font":  # the shorthand is no presentation attribute
        size = re.search(r"([\d.]+)px", value)
        element.set("font-size", size[1] if size else "10")
        if "italic" in value:
            element.set("font-style", "italic")
    elif key != "font-family":
        element.set(key, value.removesuffix("px") if key == "font-size" else value)


def _own_ids(element: ElementTree.Element, name: str) -> None:
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == _XLINK and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))
