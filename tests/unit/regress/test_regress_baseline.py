"""The file of a baseline: what it holds, that it is read again as it was, and that an edited one is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.compare.rows import CONTRASTED
from harness.model.results import Results
from harness.model.trial import Measured
from harness.paths import ROOT
from harness.regress import baseline, baseline_files
from harness.regress.baseline import Baseline, RegressError, StoryRow
from harness.regress.policies import Policies
from tests.support.made_results import Said, measure, results

SAID = st.one_of(
    st.integers(1, 9).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
    st.floats(0, 1e6),
    st.sampled_from(["failed", "unsupported", "not-applicable", "not-run"]),
)


def row(found: Baseline, name: str) -> StoryRow:
    return next(each for each in found.rows if each.measure == name)


def test_it_holds_backends_under_test_by_scenario_and_no_controls(results: Results) -> None:
    found = baseline.make_baseline(results)
    assert [(each.backend, each.version) for each in found.entrants] == [("keeper", "1"), ("store", "1")]
    assert [story.id for story in found.stories] == sorted(story.id for story in results.stories)
    rows = {(row.backend, row.measure): row for row in found.rows}
    kept = [point for point in rows["keeper", "decisions_right"].points if isinstance(point, tuple)]
    pooled = results.backends["keeper"].measures["decisions_right"]
    assert (sum(hits for hits, _ in kept), sum(of for _, of in kept)) == (pooled.hits, pooled.of)
    assert set(found.definitions) == {name for name, each in results.definitions.items() if each.better != "neither"}
    assert (found.run, found.version, found.protocol) == ("a-run", "9.9", results.run.protocol)


@pytest.mark.slow
def test_one_row_a_line_and_read_again_as_it_was(results: Results) -> None:
    found = baseline.make_baseline(results)
    text = baseline_files.write_text(found)
    assert baseline_files.read(text.encode(), "b.json") == found
    assert text == baseline_files.write_text(baseline_files.read(text.encode(), "b.json"))
    lines = [json.loads(line.rstrip(",")) for line in text.splitlines() if line.startswith("{") and '"backend"' in line]
    assert len(lines) == len(found.entrants) + len(found.rows) + len(found.trust) + len(found.contrasts)


def test_it_holds_each_policy_that_was_played_beside_the_primary_ones(results: Results) -> None:
    found = baseline.make_baseline(results)
    shown = {(each.write_policy, each.read_policy, each.noise) for each in results.contrasts if not each.primary}
    assert {(row.write, row.read, row.noise) for row in found.contrasts} == shown and len(shown) > 1
    for policies in (Policies(*each) for each in shown):
        then, now = found.under(policies), baseline.select_policies(results, policies)
        mine = [row for row in now.rows if row.measure in CONTRASTED]
        assert list(then.rows) == mine and then.conditions == now.conditions
    assert found.under(Policies.of(results.run.conditions)) == found


@pytest.mark.slow
def test_a_baseline_of_a_coldwarm_that_kept_the_primary_policies_only_is_read_as_it_was(results: Results) -> None:
    older = baseline.make_baseline(results.model_copy(update={"contrasts": ()}))
    assert "contrasts" not in baseline_files.write_text(older)
    assert baseline_files.read(baseline_files.write_text(older).encode(), "b.json") == older
    committed = baseline_files.load(ROOT / "reports" / "baseline.json")
    assert committed.rows and committed.trust


@pytest.mark.slow
@given(st.lists(SAID, min_size=1, max_size=6), SAID)
def test_every_kind_of_number_and_word_survives_the_file(points: list[Said], drilled: Said) -> None:
    found = baseline.make_baseline(results({"x": {"recall": points}}, {"x": {"writes_kept": drilled}}))
    assert baseline_files.read(baseline_files.write_text(found).encode(), "b.json") == found
    for said, point in zip(points, row(found, "recall").points, strict=True):
        told = measure(said)
        assert baseline.value(point) == pytest.approx(told.value if isinstance(told, Measured) else None)


@pytest.mark.slow
def test_an_edited_one_is_refused_and_a_reformatted_one_is_not(results: Results) -> None:
    text = baseline_files.write_text(baseline.make_baseline(results))
    assert baseline_files.read(json.dumps(json.loads(text)).encode(), "b.json") == baseline.make_baseline(results)
    line = next(line for line in text.splitlines() if '"measure": "recall"' in line)
    for old, new in (("9.9", "9.8"), (line, line.replace("[", "[0, ", 1)), (line + "\n", "")):
        assert old in text
        with pytest.raises(RegressError, match=r"^b.json: \S.*; save it again") as caught:
            baseline_files.read(text.replace(old, new, 1).encode(), "b.json")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"[]", b"{}", b'{"cells": 3}', b'{"schema": 2}', b"[" * 100_000])
def test_what_is_none_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(RegressError) as caught:
        baseline_files.load(tmp_path / "b.json")
    assert str(caught.value).startswith(f"{tmp_path / 'b.json'}: not ") and "\n" not in str(caught.value)


def test_a_run_is_read_from_its_results_and_a_folder_without_says_what_to_do(results: Results, tmp_path: Path) -> None:
    with pytest.raises(RegressError, match="No such file or directory; write it by `coldwarm score`"):
        baseline_files.load(tmp_path)
    (tmp_path / "results.json").write_text(results.model_dump_json(by_alias=True))
    assert (
        baseline_files.load(tmp_path)
        == baseline_files.load(tmp_path / "results.json")
        == baseline.make_baseline(results)
    )


@pytest.mark.parametrize("part", [{"shard": "1/2"}, {"missing": ("2/2",)}])
def test_a_part_of_a_run_is_no_side_of_a_comparison(results: Results, tmp_path: Path, part: dict[str, object]) -> None:
    torn = results.model_copy(update={"run": results.run.model_copy(update=part)})
    (tmp_path / "results.json").write_text(torn.model_dump_json(by_alias=True))
    with pytest.raises(RegressError, match="only a part of a run: join all of its shards by `coldwarm merge`"):
        baseline_files.load(tmp_path)


def test_seeds_are_averaged_and_the_worst_word_stands_for_several() -> None:
    made = results({"x": {"recall": [(1, 2), "not-applicable"]}})
    said: tuple[Said, ...] = ((3, 4), "failed")
    again = [
        cell.model_copy(update={"id": f"{cell.id}-2", "measures": {"recall": measure(each)}})
        for cell, each in zip(made.cells, said, strict=True)
    ]
    found = baseline.make_baseline(made.model_copy(update={"cells": (*made.cells, *again)}))
    assert row(found, "recall").points == (0.625, "failed")
    assert found.entrants[0].cells == (("x-0", "x-0-2"), ("x-1", "x-1-2"))
