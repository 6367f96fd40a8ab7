"""Points of the verdict on jobs that a model does by steps: rounds until they are done, those that it did not end, and
what the mere presence of a memory did."""

from __future__ import annotations

from collections.abc import Iterator

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT, UNFINISHED
from harness.metrics.rounds import DONE_CORRECTED, REPEATED, ROUND_TOKENS, UNTIL_DONE
from harness.model.results import Pooled, Results
from harness.model.trial import SCRIPTED
from harness.report import words
from harness.report.model import table, ways
from harness.report.text.points import VerdictLine

HOLLOW = {"placebo": "notes that no story mentions", "protocol": "one note on how to use an empty memory"}
"""Controls without content, and what each brings."""


def tell_jobs(results: Results) -> Iterator[VerdictLine]:
    """Of rows, controls and the cold arm; nothing of the scripted reader, which ends each job itself."""
    if results.run.conditions.reader == SCRIPTED:
        return
    for row in results.backends:
        if line := _tell_rounds(results, row):
            yield VerdictLine(line, "work")
    pooled = [(row, _pool(results, row, UNFINISHED)) for row in results.backends]
    if any(unfinished and unfinished.hits for _, unfinished in pooled):
        counts = [
            f"{_count(unfinished)} {_name(results, row)}"
            for row, unfinished in pooled
            # No memory is named even at none, as the others are read beside it.
            if unfinished and (unfinished.hits or row == COLD)
        ]
        text = f"Jobs that a fault, a limit or a kill ended, and that so are not done: {', '.join(counts)}."
        yield VerdictLine(f"{text} What they got right counts for nothing.", "work", "bad")
    yield from _tell_hollow(results)


def _tell_rounds(results: Results, row: str) -> str:
    """Empty if each job was one round."""
    names = (UNTIL_DONE, DONE_CORRECTED, REPEATED, ROUND_TOKENS)
    rounds, done, again, tokens = (_pool(results, row, name) for name in names)
    if rounds is None or rounds.value is None:
        return ""
    parts = [
        f"{_least(rounds)}{words.format_number(rounds.value)} rounds a job",
        f"{_count(done)} jobs done" if done and done.of else "",
        f"{_count(again)} corrections repeated" if again and again.of else "",
        f"{_least(tokens)}{tokens.value:,.0f} tokens a story" if tokens and tokens.value is not None else "",
    ]
    return f"Until green {_name(results, row)}: {', '.join(filter(None, parts))}."


def _tell_hollow(results: Results) -> Iterator[VerdictLine]:
    cold = _pool(results, COLD, DECISIONS_RIGHT)
    found = {name: _pool(results, name, DECISIONS_RIGHT) for name in HOLLOW if name in results.backends}
    counts = [f"{_count(own)} with {HOLLOW[name]} ({name})" for name, own in found.items() if own and own.of]
    if counts and cold and cold.of:
        beside = words.join_words(counts)
        yield VerdictLine(
            f"The mere presence of a memory: {_count(cold)} decisions are right without one, {beside}.", "work"
        )


def _pool(results: Results, row: str, measure: str) -> Pooled | None:
    """In the way of writing that suits a row best; of controls and without a memory there is one."""
    if row not in results.backends or results.backends[row].control:
        return table.find_pooled(results, row, measure)
    best = ways.best_write(results, row)
    return ways.pool_way(results, row, measure, best, results.run.conditions.headline_read)


def _name(results: Results, row: str) -> str:
    return "without memory" if row == COLD else f"with {table.show_name(results, row)}"


def _count(pooled: Pooled) -> str:
    return f"{words.format_number(pooled.hits or 0)} of {pooled.of:,}"


def _least(pooled: Pooled) -> str:
    return "at least " if pooled.at_least else ""
