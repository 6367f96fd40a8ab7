"""What a suite holds, as a table: a row a scenario, and the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.gateway import tokens
from harness.model.facts import STRATA
from harness.model.results import Suite
from harness.model.scenario import Scenario
from harness.report.words import format_count, make_plain

HEADS = ("facts", "ses-\nsions", "probes", "jobs", "deci-\nsions", "tokens")
"""Broken, so that the table fits 80 columns."""


def show(stories: Sequence[Scenario], suite: Suite, out: Console) -> None:
    """Prints scenarios with their split and what is in them, then the totals, then how many there are of each kind."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    table.add_column("split", no_wrap=True)
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    counted = [count_story(story) for story in stories]
    for story, row in zip(stories, counted, strict=True):
        split = "held" if story.id in suite.held else "dev"
        table.add_row(Text(make_plain(story.id)), split, *(f"{n:,}" for n in row))
    totals = [sum(column) for column in zip(*counted, strict=True)]
    table.add_row(Text(f"{len(stories)} in all", style="bold"), f"{len(suite.held)} held", *(f"{n:,}" for n in totals))
    out.print(table, soft_wrap=False)
    kinds = Counter(story.kind for story in stories)
    out.print(
        Text(f"{format_count(len(kinds), 'kind')}: {', '.join(f'{kind} {n}' for kind, n in sorted(kinds.items()))}")
    )
    out.print(Text(f"suite {suite.version}, digest {suite.digest[:12]}; tokens: of all phrasings of all facts"))


def count_story(story: Scenario) -> tuple[int, ...]:
    """The numbers of a story, in the order of HEADS. Tokens: of what facts say in each stratum, so of what memories
    will be made of.
    """
    jobs = [job for _, job in story.jobs()]
    phrase_tokens = sum(tokens.count(fact.phrase(stratum).text) for fact in story.facts for stratum in STRATA)
    decisions = sum(len(job.decisions) for job in jobs)
    return len(story.facts), len(story.sessions), len(story.probes()), len(jobs), decisions, phrase_tokens
