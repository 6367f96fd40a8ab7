"""The documents as a site. `make site` builds it, and fails on a link or anchor that leads nowhere."""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = {
    "Tutorials": ("docs/getting-started", "docs/scenarios"),
    "How to": (
        "docs/adapters",
        "docs/ci",
        "docs/choosing",
        "docs/mining",
        "docs/readers",
        "docs/agents",
        "docs/planning",
        "docs/upgrades",
        "docs/mcp",
        "docs/sessions",
        "docs/published-sets",
        "docs/scale",
    ),
    "Reference": (
        "docs/commands",
        "docs/backends",
        "docs/drills",
        "docs/measures",
        "docs/concepts",
        "tasks/README",
        "docs/stability",
        "reports/board/summary",
        "CHANGELOG",
    ),
    "Explanation": (
        "docs/findings",
        "docs/faq",
        "docs/fairness",
        "docs/statistics",
        "docs/calibration",
        "docs/promises",
        "docs/containment",
        "docs/speed",
        "docs/decisions/README",
    ),
    "Project": ("CONTRIBUTING", "benchmarks/mutants/README", "SECURITY"),
}
"""Caption of the menu -> pages, as paths in the checkout without `.md`. A page in no menu fails the build."""
LISTS = {"docs/decisions/README": "0*", "docs/backends": "backends/*"}
"""A page that lists others -> those, which stand below it in the menu."""

project = "coldwarm"
html_title = "coldwarm"
extensions = ["myst_parser"]
include_patterns = [
    "README.md",
    *(f"{page}.md" for own in PAGES.values() for page in own),
    *(f"docs/**.{kind}" for kind in ("md", "png", "svg")),
]
root_doc = "README"
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 4


def add_menu(app: Sphinx, name: str, source: list[str]) -> None:
    """README and lists of pages are read as they are where nobody knows menus."""
    if name == root_doc:
        for caption, pages in PAGES.items():
            source[0] += _write_menu(caption, pages)
    if pattern := LISTS.get(name):
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n{pattern}\n```\n"


def _write_menu(caption: str, pages: tuple[str, ...]) -> str:
    return "\n".join(
        ["\n```{toctree}", ":hidden:", f":caption: {caption}", "", *(f"/{page}" for page in pages), "```\n"]
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_menu)
