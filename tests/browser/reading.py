"""How the browser tests look at a page: its rows, its words, all of it laid open."""

from __future__ import annotations

import json

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
    found: bool = page.run(
        f"""(() => {{
            const box = document.getElementById({json.dumps(anchor)}).getBoundingClientRect();
            return box.height > 0 && box.top >= 0 && box.top < innerHeight;
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
