"""How pages are made: one environment that escapes everything, and the hash that lets a style or script through."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness import paths
from harness.report import words
from harness.report.model import sections

if TYPE_CHECKING:
    from jinja2 import Environment


def make_environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(paths.TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["visible"] = words.make_visible
    made.filters["number"] = words.format_number
    made.filters["label"] = words.label
    made.globals["figure_of"] = sections.figure_of
    made.globals["plural"] = words.format_count
    return made


def read(names: Sequence[str]) -> str:
    """Styles or scripts as one text."""
    return "\n".join((paths.TEMPLATES / name).read_text("utf-8") for name in names)


def digest(text: str) -> str:
    """As a page's policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
