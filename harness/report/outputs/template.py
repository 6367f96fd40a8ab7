"""How pages are made: by templates that escape everything, under a policy that admits their own styles and scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness import paths
from harness.report import words
from harness.report.model import sections

if TYPE_CHECKING:
    from jinja2 import Environment

# Neither a text nor a value in quotes holds a `<`.
_ENDS = re.compile(r"</t[dh]>\s*(?=<t[dh]\b|</tr>)|</tr>(?=\s*(?:<tr\b|</t(?:head|body|able)>))")


def fill_template(name: str, styles: Sequence[str], scripts: Sequence[str] = (), /, **values: object) -> str:
    """A whole page. Its policy names the hashes of its own style and script, so nothing else can style or run."""
    style, script = read_assets(styles), read_assets(scripts)
    own = {"style": style, "style_hash": digest(style), "script": script, "script_hash": digest(script)}
    return omit_ends(make_environment().get_template(name).render(**own, **values))


def make_environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(paths.TEMPLATES),
        autoescape=True,
        # a name that is not there is an error, and no empty place on the page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["visible"] = words.make_visible
    environment.filters["number"] = words.format_number
    environment.filters["label"] = words.label
    environment.globals["figure_of"] = sections.figure_of
    environment.globals["plural"] = words.format_count
    return environment


def read_assets(names: Sequence[str]) -> str:
    """Styles or scripts as one text."""
    return "\n".join((paths.TEMPLATES / name).read_text("utf-8") for name in names)


def digest(text: str) -> str:
    """As a page's policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def omit_ends(page: str) -> str:
    """The same page without the ends of cells and rows, which HTML implies: a run has thousands."""
    return _ENDS.sub("", page)
