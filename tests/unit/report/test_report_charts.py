"""Charts: what they show is in their table and in their sentence, and their SVG leaks nothing."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import paths
from harness.compare import statements
from harness.compare.rows import pool_cells
from harness.log.folder import Folder
from harness.metrics import footprint
from harness.metrics.recall import PAST
from harness.model.cells import LayerLook, LayerRow, TrustCell
from harness.model.results import Pooled, Results
from harness.model.trial import READ_POLICIES, Interval, Measured, NotMeasured
from harness.report import words
from harness.report.charts import Chart, cost, decisions, draw_charts, policies
from harness.report.charts.chart import SIZE, STAR, WIDTH, Scale, Sheet, mark_oracle, parse_counts, shorten_name
from harness.report.charts.stories import ALL_KINDS
from harness.report.model.ways import WRITE_LABELS, best_write, show_range

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def plain(folder: Folder) -> Results:
    return statements.compute_results(folder)


@pytest.fixture(scope="module")
def results(plain: Results) -> Results:
    """The same with a second noise level, curated writing, a failed and an unsupported row, and deletion drills."""
    return full(plain)


@pytest.fixture(scope="module")
def drawn(results: Results, folder: Folder) -> dict[str, Chart]:
    samples = [sample for log in folder.logs()[0].values() for sample in footprint.of_trial(log)]
    return {chart.name: chart for chart in draw_charts(results, samples)}


def full(plain: Results) -> Results:
    own = [each for each in plain.contrasts if each.primary]
    noisy = [each.model_copy(update={"noise": 7, "primary": False}) for each in own]
    curated = [
        each.model_copy(update={"write_policy": "curated", "measures": dict.fromkeys(each.measures, missed("failed"))})
        for each in plain.contrasts
        if each.noise == plain.run.conditions.headline_noise
    ]
    return changed(plain, contrasts=(*plain.contrasts, *noisy, *curated), trust=tuple(drills()))


def changed(results: Results, **fields: Any) -> Results:
    return results.model_copy(update=fields)


def missed(word: str) -> Pooled:
    return Pooled.model_validate({"value": None, word.replace("-", "_"): 1, "reasons": ("because",)})


def share(hits: int, of: int, scenarios: int = 12) -> Pooled:
    interval = Interval(low=max(0.0, hits / of - 0.1), high=min(1.0, hits / of + 0.1), method="any")
    return Pooled(value=hits / of, hits=hits, of=of, scenarios=scenarios, interval=interval)


def with_row(results: Results, name: str, **measures: Pooled) -> Results:
    """The run with other measures in one row."""
    row = results.backends[name]
    own = row.model_copy(update={"measures": {**row.measures, **measures}})
    return changed(results, backends={**results.backends, name: own})


def drills() -> list[TrustCell]:
    def row(kind: str, layer: str, *seen: int | None, place: str = "") -> LayerRow:
        stages = ("before", "after", "reopened") if kind == "route" else ("before", "closed", "churned", "compacted")
        looks = [
            LayerLook.model_validate(
                {
                    "stage": stage, "seen": n or 0,
                    "verdict": "not-computable" if n is None else "present" if n else "gone" if seen[0] else
                    "not-seen-before",
                }
            )
            for stage, n in zip(stages, seen, strict=False)
        ]  # fmt: skip
        return LayerRow.model_validate(
            {"layer": layer, "place": place, "kind": kind, "targets": 9, "looks": tuple(looks)}
        )

    def cell(name: str, *layers: LayerRow, status: str = "complete") -> TrustCell:
        return TrustCell.model_validate(
            {
                "id": f"{name}-d", "backend": name, "drill": "deletion", "size": 9, "seed": 1, "k": 5,
                "status": status, "transcript": "t", "transcript_sha256": "0", "measures": {}, "layers": layers,
            }
        )  # fmt: skip

    return [
        cell("keeper", row("route", "search", 9, 0, 0), row("route", "get", 9, 0, 0), row("text", "file", 0, 0, 0, 0)),
        cell(
            "store", row("route", "search", 9, 0, 0), row("route", "history", 9, 9, 9),
            row("text", "db", 9, 4, 4, 4, place="rows"), row("text", "db", 9, 5, 0, 3, place="free page"),
            row("vector", "index", 9, None, None, None),
        ),
        cell("dark", row("text", "cloud", 9, None, None, None)),
        cell("absent", status="unsupported"),
    ]  # fmt: skip


# --- the SVG ----------------------------------------------------------------------------------------------------------


def texts(chart: Chart) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(chart.svg).iter(f"{SVG}text")]


def test_every_question_has_its_chart(drawn: Mapping[str, Chart]) -> None:
    assert {chart.name: chart.topic for chart in drawn.values()} == {
        "recall-by-noise": "recalled", "stale-by-kind": "stale", "against-no-memory": "sure", "stories": "work",
        "tokens": "cost",
        "time-and-storage": "cost", "deletion-layers": "deleted", "policies": "policies",
    }  # fmt: skip


def test_charts_leak_nothing_into_the_page_and_speak(drawn: Mapping[str, Chart]) -> None:
    ids = [set(re.findall(r'\bid="([^"]+)"', chart.svg)) for chart in drawn.values()]
    assert len(set.union(*ids)) == sum(len(own) for own in ids)
    for name, chart in drawn.items():
        assert not re.search(r"<(style|metadata|script|image)|[ ]style=|<\?xml|<!DOCTYPE", chart.svg)
        root = ElementTree.fromstring(chart.svg)
        assert (root.tag, root.get("role")) == (f"{SVG}svg", "img")
        assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
        assert [(each.get("id"), each.text) for each in root[:2]] == [
            (f"{name}-title", chart.title), (f"{name}-desc", chart.says),
        ]  # fmt: skip
        targets = set(re.findall(r'href="#([^"]+)"', chart.svg))
        assert targets < set(re.findall(r'\bid="([^"]+)"', chart.svg)) and all(t.startswith(name) for t in targets)
        assert root.get("viewBox", "").split()[2] == str(WIDTH)


def test_nothing_is_drawn_outside_of_the_sheet_or_too_small_for_a_phone(drawn: Mapping[str, Chart]) -> None:
    for chart in drawn.values():
        root = ElementTree.fromstring(chart.svg)
        height = float(root.get("height", "0"))
        assert root.get("font-size") == str(SIZE) and 'font-size="' not in chart.svg.partition(">")[2]
        assert SIZE * 330 / WIDTH >= 9
        for each in root.iter(f"{SVG}text"):
            wide = 0.5 * SIZE * len(each.text or "")  # what most letters are at most, on average
            x, y = float(each.get("x", "nan")), float(each.get("y", "nan"))
            left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[each.get("text-anchor", "start")]
            assert left >= -1 and left + wide <= WIDTH + 1 and SIZE / 2 < y < height, each.text


def test_colours_of_words_have_contrast_and_those_of_marks_enough(drawn: Mapping[str, Chart]) -> None:
    def contrast(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)

    for chart in drawn.values():
        for each in ElementTree.fromstring(chart.svg).iter():
            colour = each.get("fill", "") if each.tag == f"{SVG}text" else each.get("stroke", "")
            if colour.startswith("#") and (each.tag == f"{SVG}text" or each.tag == f"{SVG}use"):
                assert contrast(colour) >= (4.5 if each.tag == f"{SVG}text" else 3), colour


@pytest.mark.slow
def test_drawing_ignores_and_keeps_the_users_style(results: Results) -> None:
    import matplotlib

    before = draw_charts(results)
    with matplotlib.rc_context({"font.size": 30, "path.sketch": (1, 100, 2), "svg.fonttype": "path"}):
        assert draw_charts(results) == before
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["cache", "file/cache"], ids=["writable", "not writable"])
def test_drawing_makes_no_home_and_warns_of_none(cache: str, tmp_path: Path) -> None:
    """Containers and other users often have none; matplotlib keeps its list of fonts there."""
    (tmp_path / "file").touch()
    drawing = "from harness.report.charts.chart import Sheet; s = Sheet(); s.text(0, 10, 'port'); s.svg('a', 'b', 'c')"
    places = {"HOME": str(tmp_path / "home"), "COLDWARM_CACHE": str(tmp_path / cache), "TMPDIR": str(tmp_path)}
    unset = {"MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    drawn = subprocess.run(
        [sys.executable, "-c", drawing], cwd=paths.ROOT, env=kept | places, capture_output=True, text=True, check=False
    )
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "", "")
    assert {place.name for place in tmp_path.iterdir()} <= {"file", "cache"}


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=80))
def test_a_hostile_name_is_text_and_stays_short(name: str) -> None:
    sheet = Sheet()
    sheet.text(0, 10, shorten_name(name))
    sheet.mark(5, 5, "circle")
    root = ElementTree.fromstring(sheet.svg("a", f"<b>{name}", name))
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "text", "defs", "path", "use", "g"}
    assert len(shorten_name("long" * 9)) <= 13 and shorten_name("long" * 9) != shorten_name("long" * 8 + "else")


# --- the data ---------------------------------------------------------------------------------------------------------


def test_what_is_drawn_is_in_the_table(drawn: Mapping[str, Chart]) -> None:
    """Every count and word of a chart is one of its table; every row of the table has its counts in the chart."""
    for chart in drawn.values():
        cells = {text for row in chart.rows for text in row}
        assert all(len(row) == len(chart.heads) for row in chart.rows)
        known = {text for text in texts(chart) if parse_counts(text)}
        assert known <= cells, (chart.name, known - cells)
        if chart.name not in ("time-and-storage", "policies", "recall-by-noise", "stories"):  # where others are drawn
            assert {text for row in chart.rows for text in row if parse_counts(text)} <= known, chart.name


def test_each_row_says_its_n(drawn: Mapping[str, Chart]) -> None:
    for name in ("recall-by-noise", "policies"):
        chart = drawn[name]
        for row in chart.rows:
            assert row[1] == "0" or f"{row[0]} ({row[1]})" in texts(chart), (name, row)


def test_marks_stand_where_the_differences_are(plain: Results) -> None:
    """Of the forest of differences to no memory: each mark is as far from its middle as the difference is from none."""
    reached = {"store": 0.25, "keeper *": -0.5}
    shown = [
        each.model_copy(
            update={"left_value": 0.5, "right_value": 0.5 + reached[each.right + mark_oracle(plain, each.right)]}
        )
        for each in plain.comparisons
        if each.family == "cold" and each.measure == "decisions_right"
    ]
    chart = decisions.chart_work(changed(plain, comparisons=tuple(shown)))
    assert chart is not None
    root = ElementTree.fromstring(chart.svg)
    ticks = {e.text: float(e.get("x", "0")) for e in root.iter(f"{SVG}text")}
    heights = {e.text: float(e.get("y", "0")) for e in root.iter(f"{SVG}text")}
    for name, value in reached.items():
        marks = [e for e in root.iter(f"{SVG}use") if abs(float(e.get("y", "0")) + SIZE / 3 - heights[name]) < 0.2]
        (at,) = (float(e.get("x", "0")) for e in marks)
        assert at == pytest.approx(ticks["0"] + value / 0.5 * (ticks["+.50"] - ticks["0"]), abs=0.2)


def test_the_tables_say_what_the_results_say(results: Results, drawn: Mapping[str, Chart]) -> None:
    def told(pooled: Pooled) -> str:
        return words.value(pooled)

    names = {text: write for write, text in WRITE_LABELS.items()}
    for name, write, read, stories, difference, _, _, shown in drawn["against-no-memory"].rows:
        pair = results.against_cold(name.removesuffix(" *"), "decisions_right")[names[write], read]  # type: ignore[index]
        assert stories == str(pair.scenarios) and (shown == "too few stories") is not pair.able
        assert difference == words.show_signed(pair.right_value - pair.left_value, words.share)
    for story, *rows in drawn["stories"].rows:
        own = [c for c in results.cells if (c.scenario, c.arm) == (story, "cold")]
        assert rows[0] == told(pool_cells("decisions_right", own))
    levels = {(row[0], row[2]): row[3] for row in drawn["recall-by-noise"].rows}
    ways = {
        (row[0], names[row[2].removesuffix(policies.BEST)], row[3]): (row[4], row[6]) for row in drawn["policies"].rows
    }
    for row in drawn["policies"].rows:
        assert row[2].endswith(policies.BEST) == (
            names[row[2].removesuffix(policies.BEST)] == best_write(results, row[0])
        )
    held = results.run.conditions
    for each in results.contrasts:
        if (each.write_policy, each.read_policy) == (best_write(results, each.backend), held.headline_read):
            assert levels.pop((each.backend, str(each.noise))) == told(each.measures["recall"])
        if each.noise == held.headline_noise and not results.backends[each.backend].control:
            stale_, right = (told(each.measures[name]) for name in ("stale_use", "decisions_right"))
            assert ways.pop((each.backend, each.write_policy, each.read_policy)) == (stale_, right)
    assert not levels and not ways
    chart = drawn["stale-by-kind"]
    assert chart.rows[-1][0] == ALL_KINDS
    for column, name in enumerate(chart.heads[2:-1], 2):
        (own_way,) = (
            each.measures for each in results.contrasts
            if (each.backend, each.write_policy, each.read_policy, each.noise)
            == (name, best_write(results, name), held.headline_read, held.headline_noise)
        )  # fmt: skip
        assert chart.rows[-1][column] == told(own_way["stale_use"])
        found = [known[0] for row in chart.rows if (known := parse_counts(row[column]))]
        assert sum(found[:-1]) == found[-1]


@pytest.mark.slow
def test_nine_backends_fit_and_stay_small(results: Results) -> None:
    names = [f"backend-{n}" for n in range(7)]
    cells = [
        c.model_copy(update={"backend": n, "id": n + c.id})
        for n in names
        for c in results.cells
        if c.backend == "store"
    ]
    contrasts = [c.model_copy(update={"backend": n}) for n in names for c in results.contrasts if c.backend == "store"]
    store = results.backends["store"]
    rows = {
        name: store.model_copy(
            update={
                "measures": {
                    key: pooled.model_copy(update={"cells": tuple(name + each for each in pooled.cells)})
                    for key, pooled in store.measures.items()
                }
            }
        )
        for name in names
    }
    many = changed(
        results, backends={**results.backends, **rows}, cells=results.cells + tuple(cells),
        contrasts=results.contrasts + tuple(contrasts),
    )  # fmt: skip
    drawn = {chart.name: chart for chart in draw_charts(many)}
    test_nothing_is_drawn_outside_of_the_sheet_or_too_small_for_a_phone(drawn)
    test_what_is_drawn_is_in_the_table(drawn)
    heads = "".join(texts(drawn["stale-by-kind"]))
    assert all(name in heads for name in names)
    assert sum(len(chart.svg) for chart in drawn.values()) < 250_000


@pytest.mark.slow
def test_read_policies_are_named_beside_the_last_write_policy(plain: Results, drawn: Mapping[str, Chart]) -> None:
    assert "all failed" in texts(drawn["policies"])
    chart = policies.chart_policies(plain)
    assert chart is not None and {row[2] for row in chart.rows} == {"append (best)"}
    for _, _, _, read, misled, _, _, _ in chart.rows:
        assert {f"{read} {misled}", f"all {misled}"} & set(texts(chart))
    assert "look up" not in texts(chart)


def test_the_table_of_ways_says_of_each_what_it_costs_and_keeps(plain: Results) -> None:
    held, told = plain.run.conditions, {}
    for read, missed_, calls in (("trusting", 8, 20.5), ("newest", 3, 20.5), ("filtered", 5, 19.0)):
        known = {"decisions_right": share(40, 60), "stale_use": share(4, 58), "missed_known": share(missed_, 50),
                 PAST: share(9, 36), "tokens_total": Pooled(value=9000, of=24, scenarios=12),
                 "memory_calls": Pooled(value=calls, of=24, scenarios=12)}  # fmt: skip
        told[read] = known
    made = [
        each.model_copy(update={"write_policy": "deprecate", "read_policy": read, "primary": False,
                                "measures": {**each.measures, **known}})
        for each in plain.contrasts
        if each.primary and each.noise == held.headline_noise
        for read, known in told.items()
    ]  # fmt: skip
    chart = policies.chart_ways(changed(plain, contrasts=(*plain.contrasts, *made)))
    assert chart is not None and chart.heads == policies.WAYS_HEADS
    row = dict(zip(chart.heads, next(row for row in chart.rows if row[1] == WRITE_LABELS["deprecate"]), strict=True))
    assert row["right: trusting"] == row["right: filtered"] == "40/60" and row["right: careful"] == "unsupported"
    assert (row["acted on stale"], row["missed though known"]) == ("4/58", "3\u20138/50")
    assert (row["past rules recalled"], row["tokens a story"]) == ("9/36", "9,000")
    assert row["calls a story"] == "19\u201320.5"


@pytest.mark.parametrize("word", ["unsupported", "not-applicable", "failed", "not-run"])
def test_what_was_not_measured_stays_in_its_place_with_its_word(plain: Results, word: str) -> None:
    names = ("decisions_right", "stale_use", "jobs_done", "tokens_total", "recall", "help", "harm")
    none = NotMeasured.model_validate({"status": word, "reason": "because"})
    cells = tuple(
        cell.model_copy(update={"measures": {**cell.measures, **dict.fromkeys(names, none)}})
        if cell.backend == "store"
        else cell
        for cell in plain.cells
    )
    results = with_row(changed(plain, cells=cells), "store", **{name: missed(word) for name in names})
    for chart in draw_charts(results):
        if chart.name == "tokens":
            (row,) = (row for row in chart.rows if row[0] == "store")
            assert words.NOT_MEASURED[word] in row
            assert words.NOT_MEASURED[word] in texts(chart)


def test_a_run_without_data_has_no_charts(plain: Results) -> None:
    assert draw_charts(changed(plain, backends={}, contrasts=(), cells=(), stories=(), trust=())) == []


# --- the sentences ----------------------------------------------------------------------------------------------------


def test_the_forest_says_what_the_comparisons_showed(plain: Results) -> None:
    for verdict, word in (("left-better", "Worse"), ("right-better", "Better"), ("no-difference-shown", "")):
        shown = tuple(each.model_copy(update={"verdict": verdict, "able": True}) for each in plain.comparisons)
        chart = decisions.chart_work(changed(plain, comparisons=shown))
        assert chart is not None
        told = f"{word} than no memory whatever the agent takes: keeper * and store."
        assert chart.says == f"{told if word else 'No difference to no memory was shown.'} {STAR}: keeper."


def test_where_deleted_memories_are_left(drawn: Mapping[str, Chart]) -> None:
    chart = drawn["deletion-layers"]
    assert [row for row in chart.rows if row[0] in ("store", "keeper")] == [
        ("keeper", "asked: search, get", "9", "9", "gone", "gone", "no look"),
        ("keeper", "text: file", "9", "never seen", "\u2013", "\u2013", "\u2013"),
        ("store", "asked: search", "9", "9", "gone", "gone", "no look"),
        ("store", "asked: history", "9", "9", "9 left", "9 left", "no look"),
        ("store", "text: db", "9", "9", "\u22655 left", "4 left", "\u22654 left"),
        ("store", "vector: index", "9", "9", "unknown", "unknown", "unknown"),
    ]
    assert chart.says == (
        "Deleted, and still found at the last look: store, asked: history (9 left) and text: db (\u22654 left). "
        "Not found again wherever they were seen before: keeper. Cannot be told everywhere: dark and store. "
        "Not measured: absent."
    )
    assert {"unsupported", "unknown", "gone", "9 left"} <= set(texts(chart))


def test_a_job_costs_all_tokens_that_were_spent_for_those_that_got_done(results: Results) -> None:
    """Of each write policy, from its cells; the lowest and the highest of the read policies."""
    chart = cost.chart_tokens(results)
    assert chart is not None
    writes = {text: write for write, text in WRITE_LABELS.items()}
    seen = set()
    for name, written, _, jobs, total, *_ in chart.rows:
        found = []
        for read in READ_POLICIES if name != "cold" else (None,):
            write = writes[written.split(",")[0]] if written else None
            cells = [
                cell.measures for cell in results.cells
                if (cell.backend or "cold", cell.write_policy, cell.read_policy) == (name, write, read)
                and cell.noise in (results.run.conditions.headline_noise, 0)
                and (cell.noise == results.run.conditions.headline_noise or name in ("cold", "oracle", "stale_oracle"))
            ]  # fmt: skip
            spent = sum(each.value for cell in cells if isinstance(each := cell["tokens_total"], Measured))
            done = sum(
                each.hits or 0 for cell in cells
                if isinstance(each := cell["jobs_done"], Measured) and isinstance(cell["tokens_total"], Measured)
            )  # fmt: skip
            found += [round(spent / done)] if done else []
        assert found or total in ("no job", "failed"), (name, total)
        if found:
            seen.add(name)
            assert total.removeprefix("\u2265 ") == show_range(min(found), max(found)), (name, written)
            assert jobs
    assert {"keeper", "oracle"} <= seen


def test_the_best_write_policy_stands_first_and_the_other_beside_it(plain: Results) -> None:
    """A cost is never that of a way to write that the verdict advises against, without saying so."""
    better = []
    for each in plain.contrasts:
        if each.backend == "store" and each.noise == plain.run.conditions.headline_noise:
            right = each.measures["decisions_right"]
            measures = {**each.measures, "decisions_right": right.model_copy(update={"hits": float(right.of or 0)})}
            better.append(each.model_copy(update={"write_policy": "curated", "primary": False, "measures": measures}))
    made = changed(plain, contrasts=(*plain.contrasts, *better))
    assert best_write(made, "store") == "curated" and best_write(made, "keeper") == "append"
    shown = {chart.name: chart for chart in draw_charts(made)}
    written = {name: [row[1] for row in shown["tokens"].rows if row[0] == name] for name in ("store", "keeper")}
    assert written == {"store": ["look up", "append, for comparison"], "keeper": ["append"]}
    assert "(look up, " in shown["tokens"].says
    assert next(row[2] for row in shown["policies"].rows if row[0] == "store") == f"look up{policies.BEST}"


def test_a_row_that_equals_the_oracle_is_marked(plain: Results) -> None:
    assert plain.like_oracle == ("keeper",)
    paid = with_row(plain, "store", tokens_per_job=Pooled(value=900.0, of=2, scenarios=2))
    alike, nobody = changed(paid, like_oracle=("store",)), changed(paid, like_oracle=())
    for make in (decisions.chart_work, decisions.chart_frontier):
        marked, without = make(alike), make(nobody)
        assert marked is not None and without is not None
        assert {row[0] for row in marked.rows} - {row[0] for row in without.rows} == {"store *"}
        assert STAR in texts(marked) and "store *" in texts(marked) and f"{STAR}: store." in marked.says
        assert STAR not in texts(without)


# --- scales -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=9))
def test_decades_hold_all_numbers_in_their_order(values: list[float]) -> None:
    scale = Scale.decades(values, 10, 110)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places) and all(10 <= place <= 110 for place in places)
    assert scale.powers()[0] <= min(values) * (1 + 1e-9) and scale.powers()[-1] >= max(values) * (1 - 1e-9)


@given(st.lists(st.floats(0, 100), max_size=6).map(sorted))
def test_words_that_would_touch_move_apart_in_their_order(heights: list[float]) -> None:
    placed = policies.spread(heights, 13)
    assert all(b - a >= 13 - 1e-6 for a, b in itertools.pairwise(placed))
    if all(b - a >= 13 for a, b in itertools.pairwise(heights)):
        assert placed == pytest.approx(heights)
