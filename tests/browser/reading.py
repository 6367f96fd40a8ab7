"""How the browser tests look at a page: its rows, its words, all of it laid open."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

from tests.browser.chromium import Page

ROWS = "[...document.querySelectorAll('#all-cells tbody tr:not(.group)')]"
SHOWN = f"{ROWS}.filter((row) => row.getClientRects().length)"
OPEN = """document.querySelectorAll("details").forEach((one) => { one.open = true; });
document.querySelectorAll(".far").forEach((one) => { one.style.contentVisibility = "visible"; });"""
"""What is far below is laid out only when it is scrolled to; here at once."""
TOLD = """(() => {
    const copy = document.body.cloneNode(true);
    copy.querySelectorAll("script, style, template, [hidden]").forEach((one) => one.remove());
    return copy.textContent;
})()"""
"""All words but hidden ones."""
FOLDED = "Unfolds by script"
UNFOLDED = (
    f"![...document.querySelectorAll('.timeline[open] .told')].some((one) => one.textContent.startsWith('{FOLDED}'))"
)
A4 = 688
"""CSS pixels between the margins."""


def in_view(page: Page, anchor: str) -> bool:
    """Whether it, or what it is folded into, begins in sight; a busy browser scrolls a moment later."""
    found: bool = page.run(
        f"""(async () => {{
            const target = document.getElementById({json.dumps(anchor)});
            const seen = () => [target, target.closest("details")].some((one) => {{
                const box = one?.getBoundingClientRect();
                return box && box.height > 0 && box.top >= 0 && box.top < innerHeight;
            }});
            for (let tries = 0; !seen() && tries < 50; tries++) await new Promise((then) => setTimeout(then, 100));
            return seen();
        }})()"""
    )
    return found


def squeezed(text: str) -> str:
    """Without blanks, which a printer sets as it likes."""
    return "".join(text.split())


def unfolded(page: Page) -> Page:
    """With everything open that can be opened."""
    page.run(OPEN)
    page.until(UNFOLDED)
    return page


def trees(report: Path) -> dict[str, str]:
    """The words of each packed timeline, read without a browser."""
    said: dict[str, str] = {}
    for data in re.findall(r'<template class="block">(.*?)</template>', report.read_text("utf-8")):
        block: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(data)))
        texts = iter(block["texts"])
        words: list[str] = []
        for _, *children in block["nodes"]:
            words.append("".join(words[child - 1] if child else next(texts) for child in children))
        said |= {trial: words[number - 1] for trial, number in block["trees"].items()}
    return said


def change(page: Page, form: str, name: str, value: str) -> None:
    """Types into a field of a form, or chooses there."""
    page.run(
        f"""(() => {{
            const control = document.forms[{json.dumps(form)}].elements[{json.dumps(name)}];
            control.value = {json.dumps(value)};
            control.dispatchEvent(new Event("input", {{bubbles: true}}));
        }})()"""
    )
