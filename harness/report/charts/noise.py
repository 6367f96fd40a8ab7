"""What noise does to recall: one small picture a backend, from the fewest unrelated memories to the most."""

from __future__ import annotations

from collections.abc import Sequence

from harness.metrics.recall import RECALL
from harness.model.results import Contrast, Pooled, Results
from harness.report import words
from harness.report.charts.chart import CONTROLS, WARM, Chart, count, finish, format_interval, parse_counts, show, tell
from harness.report.charts.sheet import PALE, SOFT, WIDTH, Scale, Sheet
from harness.report.model import table, ways

NAME, TITLE = "recall-by-noise", "Answers recalled, by how much noise is in the memory"
HEADS = ("backend", "stories", "noise", "recalled", "interval")
ACROSS, _TALL = 3, 136


def chart(results: Results) -> Chart | None:
    held = results.run.conditions
    chosen: dict[str, list[Contrast]] = {}
    for each in results.contrasts:
        if (each.write_policy, each.read_policy) == (ways.best_write(results, each.backend), held.headline_read):
            chosen.setdefault(each.backend, []).append(each)
    rows = {
        name: sorted(chosen[name], key=lambda each: each.noise) for name in table.list_rows(results) if name in chosen
    }
    if not any(len(each) > 1 for each in rows.values()):
        return None
    body = [
        (show(name), str(recall.scenarios), str(each.noise), tell(recall), format_interval(recall))
        for name, levels in rows.items()
        for each in levels
        for recall in [each.measures[RECALL]]
    ]
    real = {show(name) for name in rows if table.group(results, name) == "ranked"}
    sheet = Sheet()
    for aside in (False, True):
        mine = [name for name in rows if (table.group(results, name) == "control") == aside]
        top = sheet.height + 6
        if mine and aside:
            sheet.text(0, top, CONTROLS, colour=SOFT, italic=True)
            top += 18
        for at, name in enumerate(mine):
            points = [(each.noise, each.measures[RECALL]) for each in rows[name]]
            _draw_panel(sheet, WIDTH / ACROSS * (at % ACROSS), top + at // ACROSS * _TALL, name, points)
    sheet.text(0, sheet.height + 6, "upper line: all answers; lower line: none", colour=SOFT)
    caption = f"{describe([row for row in body if row[0] in real])} {ways.tell_best(results)}"
    return finish(sheet, NAME, "recalled", TITLE, caption, HEADS, body)


def describe(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: of each backend its counts at the least and the most noise."""
    levels = sorted({int(row[2]) for row in body})
    first, last = (
        {row[0]: row[3] for row in body if row[2] == str(level)} for level in (levels[0], levels[-1])
    )  # fmt: skip
    groups: dict[str, list[str]] = {}
    for name in first:
        if (one := parse_counts(first[name])) and (other := parse_counts(last.get(name, ""))):
            change = other[0] / other[1] - one[0] / one[1]
            word = "fewer" if change < 0 else "more" if change > 0 else "as many"
            groups.setdefault(word, []).append(f"{name} ({last[name]} against {first[name]})")
    parts = [f"{word} with {words.join_words(groups[word])}" for word in ("fewer", "more", "as many") if word in groups]
    if not parts:
        return "What noise does was not measured."
    return f"Among {levels[-1]} unrelated memories, against {levels[0]}, answers recalled were {'; '.join(parts)}."


def _draw_panel(sheet: Sheet, left: float, top: float, name: str, points: Sequence[tuple[int, Pooled]]) -> None:
    """Levels stand side by side, not to scale: their words say what they are."""
    sheet.text(left, top + 4, count(name, max(pooled.scenarios for _, pooled in points)), bold=True)
    across = Scale(0, max(len(points) - 1, 1), left + 26, left + WIDTH / ACROSS - 44)
    up = Scale(0, 1, top + 82, top + 20)
    for share in (0, 1):
        sheet.line((left, up(share)), (left + WIDTH / ACROSS - 18, up(share)), colour=PALE)
    known = [(across(at), up(pooled.value)) for at, (_, pooled) in enumerate(points) if pooled.value is not None]
    if len(known) > 1:
        sheet.line(*known, colour=WARM)
    for at, (noise, pooled) in enumerate(points):
        x = across(at)
        if pooled.value is not None:
            sheet.interval(pooled.interval, up, x, WARM, upright=True)
            sheet.mark(x, up(pooled.value), "circle", WARM, hollow=at == 0)
        if at in (0, len(points) - 1):
            sheet.text(x, top + 96, f"noise {noise}" if at == 0 else f"{noise:,}", "center", colour=SOFT)
            sheet.text(x, top + 110, tell(pooled), "center", italic=pooled.value is None)
