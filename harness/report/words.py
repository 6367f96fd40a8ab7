"""How numbers, counts, intervals and verdicts are put into words: the one place for it, used by every output."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

from harness.model import Better, Interval
from harness.results import Comparison, Pooled, Results

NOT_MEASURED: Mapping[str, str] = {
    "unsupported": "unsupported",
    "not-applicable": "n/a",
    "failed": "failed",
    "not-run": "not run",
}
"""The four words for no number."""
MEANING: Mapping[str, str] = {
    "unsupported": "the backend declares that it cannot do this",
    "n/a": "not applicable: there was nothing to measure, or its control did not come out",
    "failed": "it was tried and broke",
    "not run": "it was planned and has no result",
}
NO_MERIT = "recalled nothing"
"""Stands beside a clean count of a row that recalled nothing: remembering nothing is no cleanliness."""
CANNOT_SAY = (
    "What a live agent would do: the scripted reader understands every text perfectly. It ranks memories under "
    "controlled reading and predicts no agent's success."
)

CANNOT_SAY_OF_DRILLS = (
    "How likely a fault of trust is in your use: a drill shows what can happen in one store of some hundred memories, "
    "with this machine's builds of libraries. Its intervals are over the drill's own cases."
)

Verdict = Literal["left-better", "right-better", "no-difference-shown"]
THINGS: Mapping[str, str] = {
    "recall": "answers recalled",
    "jobs_done": "jobs done",
    "decisions_right": "right decisions",
    "stale_exposure": "stale memories shown",
    "stale_use": "decisions acted on stale rules",
    "tokens_total": "tokens",
    "source_verified": "sources proven",
    "deleted_from_bytes": "deleted secrets gone from storage",
}
"""What a compared measure counts, so that `more` and `fewer` can stand before it."""
_FIRST: Mapping[tuple[Verdict, Better], tuple[str, bool]] = {
    # verdict and direction -> how it compares, and whether the left one is named first
    ("left-better", "higher"): ("more", True),
    ("right-better", "higher"): ("more", False),
    ("left-better", "lower"): ("fewer", True),
    ("right-better", "lower"): ("fewer", False),
    ("left-better", "neither"): ("more", True),
    ("right-better", "neither"): ("more", False),
}


def number(value: float) -> str:
    """A number without a false last digit: 4,120; 41.3; 0.83."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def share(value: float) -> str:
    """A proportion of 0 to 1 as .83, its ends as 0 and 1."""
    text = f"{value:.2f}"
    return {"0.00": "0", "1.00": "1", "-0.00": "0"}.get(text, re.sub(r"^(-?)0\.", r"\1.", text))


def count(hits: float, of: int) -> str:
    """`24/30`: never a share without its denominator."""
    return f"{number(hits)}/{of:,}"


def interval(value: Interval) -> str:
    """Both ends, as shares if they can be, else as numbers."""
    show = share if max(abs(value.low), abs(value.high)) <= 1 else number
    return f"{show(value.low)} to {show(value.high)}"


def plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def missed(pooled: Pooled) -> list[tuple[str, int]]:
    """How many cells did not measure, by word."""
    counts = (pooled.unsupported, pooled.not_applicable, pooled.failed, pooled.not_run)
    return [(word, n) for word, n in zip(NOT_MEASURED.values(), counts, strict=True) if n]


def value(pooled: Pooled) -> str:
    """The number with its count, or the words for there being none; a lower bound says so."""
    if pooled.value is None:
        return " + ".join(word for word, _ in missed(pooled)) or NOT_MEASURED["not-run"]
    shown = count(pooled.hits, pooled.of) if pooled.hits is not None and pooled.of else number(pooled.value)
    return f"\u2265 {shown}" if pooled.at_least else shown


def beside(pooled: Pooled) -> str:
    """What must stand next to a measured number: its interval, and the cells that are not in it."""
    parts = [interval(pooled.interval)] if pooled.value is not None and pooled.interval else []
    return ", ".join([*parts, *filter(None, [left_out(pooled)])])


def left_out(pooled: Pooled) -> str:
    """The cells that a measured number does not hold, by word."""
    if pooled.value is None:
        return ""
    return ", ".join(f"{plural(n, 'cell')} {word}" for word, n in missed(pooled))


def measure_name(name: str) -> str:
    return THINGS.get(name, name.replace("_", " "))


def sentence(comparison: Comparison, results: Results) -> str:
    """One comparison in words, from the table verdict x direction. Swapping the sides says the same."""
    better = results.definitions[comparison.measure].better
    thing = measure_name(comparison.measure)
    sides = [(comparison.left, comparison.left_value), (comparison.right, comparison.right_value)]
    told = f"over {plural(comparison.scenarios, 'scenario')}, adjusted p {comparison.adjusted_p:.2g}"
    if comparison.verdict == "no-difference-shown":
        (one, first), (other, second) = sorted(sides)
        shown = f"{_side(results, comparison, one, first)} and {_side(results, comparison, other, second)}"
        return f"No difference shown between {_name(one)} and {_name(other)} in {thing}: {shown}, {told}."
    word, left_first = _FIRST[comparison.verdict, better]
    (one, first), (other, second) = sides if left_first else sides[::-1]
    shown = f"{_side(results, comparison, one, first)} against {_side(results, comparison, other, second)}"
    return f"{_name(one)} has {word} {thing} than {_name(other)}: {shown}, {told}."


def _name(name: str) -> str:
    return visible(name, 40)


def _side(results: Results, comparison: Comparison, name: str, mean: float) -> str:
    """The counts of a side where they cover the compared scenarios, else its mean over these."""
    pooled = results.backends[name].measures[comparison.measure]
    counted = pooled.hits is not None and pooled.of and pooled.scenarios == comparison.scenarios
    return count(pooled.hits or 0, pooled.of or 0) if counted else number(mean)


def findings(results: Results) -> list[str]:
    """One sentence a measure for the differences that were shown, and one for all that was not. The counts stand in
    the findings, each pair in the table of comparisons."""
    if results.comparisons and all(each.verdict == "no-difference-shown" for each in results.comparisons):
        rows = sorted({_name(name) for each in results.comparisons for name in (each.left, each.right)})
        things = list(dict.fromkeys(measure_name(each.measure) for each in results.comparisons))
        return [f"No difference shown between {listed(rows)}, in any of: {listed(things)}."]
    families: dict[str, list[Comparison]] = {}
    for comparison in results.comparisons:
        families.setdefault(comparison.measure, []).append(comparison)
    said = [line for measure, family in families.items() if (line := _shown(results, measure, family))]
    open_ = {name: [c for c in family if c.verdict == "no-difference-shown"] for name, family in families.items()}
    rest = [
        f"{measure_name(name)} ({len(open_[name])} of {len(families[name])} pairs)" for name in open_ if open_[name]
    ]
    return [*said, f"No difference shown in {listed(rest)}."] if rest else said


def _shown(results: Results, measure: str, family: Sequence[Comparison]) -> str:
    """The shown differences of one measure: who has more than whom, and the largest adjusted p of each group."""
    than: dict[str, list[tuple[str, float]]] = {}
    word = "more"
    for each in family:
        if each.verdict != "no-difference-shown":
            word, left_first = _FIRST[each.verdict, results.definitions[measure].better]
            first, second = (each.left, each.right) if left_first else (each.right, each.left)
            than.setdefault(second, []).append((first, each.adjusted_p))
    groups = [
        f"{listed(sorted(_name(name) for name, _ in firsts))} than {_name(second)} "
        f"(adjusted p {'at most ' if len(firsts) > 1 else ''}{max(p for _, p in firsts):.2g})"
        for second, firsts in sorted(than.items())
    ]
    return f"{word.capitalize()} {measure_name(measure)}: {'; '.join(groups)}." if groups else ""


def observed(results: Results, ranked: Sequence[str], cold: str) -> list[str]:
    """What happened in plain counts, before any comparison: helped, misled, forgot."""
    said = []
    without = _pooled(results, cold, "decisions_right")
    right = [f"{_name(name)} {value(p)}" for name, p in _each(results, ranked, "decisions_right")]
    if right and without is not None and without.value is not None:
        said.append(f"Decisions right: {listed(right)}; without memory {value(without)}.")
    stale = [f"{_name(name)} in {value(p)}" for name, p in _each(results, ranked, "stale_use")]
    if stale:
        said.append(f"Acted on a rule that no longer held: {listed(stale)} decisions in which memory could mislead.")
    kept = [
        f"{_name(name)} {count(p.of - p.hits, p.of)}"
        for name, p in _each(results, ranked, "deleted_from_bytes")
        if p.hits is not None and p.of and p.hits < p.of
    ]
    if kept:
        said.append(f"Deleted secrets that are still in the stored bytes: {listed(kept)}.")
    return said


def _pooled(results: Results, name: str, measure: str) -> Pooled | None:
    return results.backends[name].measures.get(measure) if name in results.backends else None


def _each(results: Results, names: Sequence[str], measure: str) -> list[tuple[str, Pooled]]:
    found = [(name, _pooled(results, name, measure)) for name in names]
    return [(name, pooled) for name, pooled in found if pooled is not None and pooled.value is not None]


def power(results: Results) -> list[str]:
    """What the comparisons could have shown at all, each distinct answer once with its measures."""
    grouped: dict[str, list[str]] = {}
    for each in results.comparisons:
        names = grouped.setdefault(each.detectable, [])
        if measure_name(each.measure) not in names:
            names.append(measure_name(each.measure))
    return [f"{', '.join(names)}: this run could have shown {what}." for what, names in grouped.items()]


def conditions(results: Results) -> str:
    """What was held fixed, in one line."""
    held = results.run.conditions
    seeds = ", ".join(str(seed) for seed in held.seeds)
    if not results.stories:
        return visible(f"Held fixed: k {held.k}, embedder {held.embedder}, seed {seeds}.")
    noise = " and ".join(str(n) for n in held.noise)
    return visible(
        f"Held fixed: k {held.k}, {held.budget:,} tokens of memory text ({held.tokens}), reader {held.reader}, "
        f"embedder {held.embedder}, write {held.headline_write}, read {held.headline_read}, "
        f"noise {held.headline_noise} of {noise} played, seed {seeds}."
    )


def visible(text: str, limit: int | None = None, *, lines: bool = False) -> str:
    """Hostile text made harmless to look at: controls, bidi marks and lone surrogates as visible tokens, cut at `limit`
    characters with the full size stated. lines: keeps line feeds and tabs."""
    shown = text if limit is None else text[:limit]
    kept = "\n\t" if lines else ""
    safe = "".join(char if char in kept or not _hidden(char) else f"\u27e8U+{ord(char):04X}\u27e9" for char in shown)
    cut = len(text) - len(shown)
    return f"{safe} \u2026 [cut: {len(shown):,} of {len(text):,} characters shown]" if cut else safe


def _hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co")
