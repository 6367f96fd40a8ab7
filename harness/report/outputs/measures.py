"""`docs/measures.md`: every measure as its definition says it; `python -m harness.report.outputs.measures` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from html import escape

from harness import metrics
from harness.metrics import trust
from harness.model.trial import Definition
from harness.report import headline
from harness.report.model import rows as tables

_HEAD = """\
# Measures

This page is made from the definitions in `harness/metrics/`. To change it, change a definition and run `make docs`.
The words are those of [concepts.md](concepts.md).

- **Formula**: `A / B` counts the cases A among the cases B. The report prints both numbers. Where an absence is
  counted, B holds only the cases where another look of the same trial showed that the thing could have come back.
- **Better**: which direction is better. A measure with *neither* explains others and is in no headline.
- **Unit**: a *proportion* lies between 0 and 1. Where a formula of another unit ends in `of: X`, the number stands over
  X cases.
- **Version**: is raised when the formula changes. Values of different versions are not compared.
- **Headline**: the column of the report that the measure belongs to. A column shows the worst of its measures, by name;
  that of cost, which has no best value, shows `tokens_total`. A measure in no headline says why.
- **Source**: where the formula comes from; *own* means that no published one was found.

A measure without a number is one of four words, each with a reason: *unsupported*, *not applicable*, *failed*, *not
run*. None of them counts as 0.
"""
_TABLE = ("| measure | formula | better | unit | version | headline, or why none | source |", f"|{' --- |' * 7}")


def page() -> str:
    """The measures of stories, then those of each drill, in the order in which they are defined."""
    heads = {metrics.DEFINITIONS[each.measure].family: each.head for each in reversed(tables.COLUMNS)}
    parts = [_HEAD, *_section("Stories", metrics.DEFINITIONS.values(), heads)]
    heads = {each.family: " ".join(each.head).strip() for each in headline.COLUMNS}
    for drill in trust.DRILLS:
        own = [each.definition for each in trust.METRICS if each.drill == drill]
        parts += _section(f"Drill `{drill}`", own, heads)
    return "\n".join(parts)


def _section(title: str, own: Iterable[Definition], heads: Mapping[str | None, str]) -> list[str]:
    return [f"## {title}", "", *_TABLE, *(_row(each, heads) for each in own), ""]


def _row(each: Definition, heads: Mapping[str | None, str]) -> str:
    varies = f"<br>*May differ between equal runs:* {_safe(each.varies)}" if each.varies else ""
    shown = f"**{heads[each.family]}**" if each.family else _safe(each.aside) or "no direction"
    numbers = f"{each.better} | {each.unit} | {each.version}"
    return f"| `{each.name}` | {_safe(each.formula)}{varies} | {numbers} | {shown} | {_safe(each.source)} |"


def _safe(text: str) -> str:
    """A sentence that breaks no table and holds no markup of its own, but for names of measures in backquotes."""
    return escape(text, quote=False).replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(page())
