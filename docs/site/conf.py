"""The documents as a site. `make site` builds it, and fails on a link or anchor that leads nowhere."""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = {
    "Use": ("docs/getting-started", "docs/commands", "docs/ci", "docs/faq", "docs/choosing", "docs/findings"),
    "Extend": ("docs/adapters", "docs/scenarios", "tasks/README"),
    "Understand": (
        "docs/concepts",
        "docs/drills",
        "docs/measures",
        "docs/statistics",
        "docs/promises",
        "docs/mutants",
        "docs/published-sets",
        "docs/mining",
        "docs/calibration",
        "docs/backends",
        "docs/speed",
        "docs/scale",
        "docs/upgrades",
        "docs/containment",
        "docs/readers",
        "docs/agents",
        "docs/mcp",
    ),
    "Project": ("docs/decisions/README", "docs/stability", "CONTRIBUTING", "SECURITY", "CHANGELOG"),
}
"""Caption of the menu -> pages, as paths in the checkout without `.md`. A page in no menu fails the build."""

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
    """The README and the list of decisions are read as they are where nobody knows menus."""
    if name == root_doc:
        for caption, pages in PAGES.items():
            source[0] += _write_menu(caption, pages)
    if name == "docs/decisions/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n0*\n```\n"


def _write_menu(caption: str, pages: tuple[str, ...]) -> str:
    return "\n".join(
        ["\n```{toctree}", ":hidden:", f":caption: {caption}", "", *(f"/{page}" for page in pages), "```\n"]
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_menu)
