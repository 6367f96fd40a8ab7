"""Charts: their marks, tables and sentences say what the results say."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

import pytest

from harness.compare import statements
from harness.compare.rows import pool_cells
from harness.log.folder import Folder
from harness.metrics.recall import PAST
from harness.model.results import Pooled, Results
from harness.model.trial import READ_POLICIES, Measured, NotMeasured
from harness.report import words
from harness.report.charts import Chart, cost, decisions, draw_charts, policies
from harness.report.charts.chart import SIZE, STAR, mark_oracle, parse_counts
from harness.report.charts.stories import ALL_KINDS
from harness.report.model.ways import WRITE_LABELS, best_write, show_range
from tests.support.chart_results import SVG, changed, draw, full, missed, share, texts, with_row


@pytest.fixture(scope="module")
def plain(folder: Folder) -> Results:
    return statements.compute_results(folder)


@pytest.fixture(scope="module")
def results(plain: Results) -> Results:
    """The same with a second noise level, curated writing, a failed and an unsupported row, and deletion drills."""
    return full(plain)


@pytest.fixture(scope="module")
def drawn(results: Results, folder: Folder) -> dict[str, Chart]:
    return draw(results, folder)


# --- the data ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.slow
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
