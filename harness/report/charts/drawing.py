"""What matplotlib writes, made fit to stand in a page: no prolog, metadata, style or leaking id, and short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, product
from xml.etree import ElementTree

SVG = "http://www.w3.org/2000/svg"
FONT = "system-ui, sans-serif"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_LONG = re.compile(r"-?\d+\.\d{2,}|-0(?![\d.])")
_LOOKS = ("fill", "stroke", "stroke-width", "font-weight", "font-style", "text-anchor")
_DEFAULTS = (
    ("stroke-linejoin", "miter"), ("stroke-linecap", "butt"), ("stroke-dashoffset", "0"), ("text-anchor", "start"),
)  # fmt: skip


def clean(raw: str, name: str, title: str, description: str, size: float) -> str:
    """An SVG whose looks are presentation attributes, so that they hold under a policy without styles; its ids begin
    with `name`, and it has words for those who do not see it.

    Args:
        size: Of the font, in units of its view box.
    """
    root = ElementTree.fromstring(raw)  # noqa: S314  drawn by matplotlib a moment ago
    _simplify(root)
    _own_ids(root, name)
    root[:] = [inner for child in root for inner in _unwrap(child)]
    for text in root.iter(f"{{{SVG}}}text"):
        if text.get("font-size") == f"{size:g}":
            del text.attrib["font-size"]
    root[:] = _group_alike(root)
    _, _, width, height = root.get("viewBox", "0 0 0 0").split()
    root.attrib.pop("version", None)
    root.attrib |= {
        "width": width, "height": height, "role": "img", "aria-labelledby": f"{name}-title {name}-desc",
        "stroke-linejoin": "round", "font-family": FONT, "font-size": f"{size:g}",
    }  # fmt: skip
    for at, (tag, content) in enumerate((("title", title), ("desc", description))):
        words_ = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{tag}"})
        words_.text = content
        root.insert(at, words_)
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _simplify(root: ElementTree.Element) -> None:
    """Without metadata and style elements, style rules as attributes, places to a tenth."""
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
        if re.fullmatch(r"rotate\(-?0[ ,].*\)", element.get("transform", "")):
            del element.attrib["transform"]
        # No key is added, so the dict may be changed while it is gone through.
        for key, value in element.attrib.items():
            element.set(key, _shorten_path(value) if key in ("d", "x", "y") else value)


def _present(element: ElementTree.Element, key: str, value: str) -> None:
    """One style rule as an attribute; what is the default, or the same for all, is left out."""
    if (key, value) in _DEFAULTS:
        return
    if key != "font-family":
        element.set(key, value.removesuffix("px") if key == "font-size" else value)


def _shorten_path(value: str) -> str:
    """Numbers of a path to a tenth, blanks between them only."""
    # `+ 0.0` makes 0 of a negative zero.
    short = _LONG.sub(lambda found: f"{round(float(found[0]), 1) + 0.0:g}", value)
    return re.sub(r" ?([MLCQZ]) ?", r"\1", " ".join(short.split()))


def _own_ids(root: ElementTree.Element, name: str) -> None:
    """Ids that nothing refers to go, the others get the chart's name and a number."""
    used = dict.fromkeys(value[1:] for each in root.iter() if (value := each.get(_XLINK, "")).startswith("#"))
    own = {key: f"{name}-{number}" for number, key in enumerate(used, 1)}
    for element in root.iter():
        if (key := element.attrib.pop("id", "")) in own:
            element.set("id", own[key])
        if target := own.get(element.attrib.pop(_XLINK, "")[1:]):
            element.set("href", f"#{target}")


def _unwrap(element: ElementTree.Element) -> list[ElementTree.Element]:
    """What stands in groups that group nothing; the white space between elements goes."""
    element.tail = None
    # Before the text is dropped: here it is what the reader reads, not white space.
    if element.tag == f"{{{SVG}}}text":
        return [element]
    element.text = None
    inside = [inner for child in element for inner in _unwrap(child)]
    if element.tag == f"{{{SVG}}}g" and not element.attrib:
        return inside
    element[:] = inside
    return [element]


def _group_alike(elements: Iterable[ElementTree.Element]) -> Iterator[ElementTree.Element]:
    """Marks or words in a row that look alike in one group, which says how."""

    def describe(element: ElementTree.Element) -> tuple[str, dict[str, str]]:
        return element.tag, {key: value for key, value in element.items() if key in _LOOKS}

    for (tag, look), found in groupby(elements, key=describe):
        alike = list(found)
        if len(alike) == 1 or not look or tag not in (f"{{{SVG}}}use", f"{{{SVG}}}text"):
            yield from alike
            continue
        for each, key in product(alike, look):
            del each.attrib[key]
        group = ElementTree.Element(f"{{{SVG}}}g", look)
        group.extend(alike)
        yield group
