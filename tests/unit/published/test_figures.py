from __future__ import annotations

from dataclasses import replace
from math import log2
from pathlib import Path

import pytest

from harness.adapter import Hit
from harness.log.blobs import Ref
from harness.log.transcript import Ended
from harness.model.backend import Backend, Fault
from harness.published import report
from harness.published.figures import Figures, compute
from harness.published.forgeteval import FORGETEVAL
from harness.published.locomo import LOCOMO
from harness.published.memorycode import MEMORYCODE
from harness.published.play import Answered, Posed
from harness.published.sets import PublishedSet, Unit
from tests.support.published_files import case, write_forgeteval, write_locomo, write_memorycode


def answered(data: PublishedSet, *brought: list[str] | None, k: int = 10) -> Answered:
    """What a backend brought for each question, by the names of documents."""
    posed = Posed(
        name=data.name, unit=data.unit, wording="text", sha256="", backend="made", k=k,
        haystack=Ref(blob="0" * 64, bytes=0), described=Backend(name="made", version="1", support={}),
    )  # fmt: skip
    answers = tuple(
        None if names is None else tuple(Hit(f"id-{name}", "any text") for name in names) for names in brought
    )
    ids = {f"id-{each.name}": each.name for each in data.haystacks[0].documents}
    return Answered(posed, data.haystacks[0], ids, answers, Ended(status="complete"))


def value(figures: Figures, name: str) -> tuple[float, int]:
    [found] = [(each.total, each.of) for each in figures.figures if each.name == name]
    return found


def locomo(folder: Path, unit: Unit, *brought: list[str] | None) -> Figures:
    return compute([answered(LOCOMO.load(write_locomo(folder), unit), *brought)], (1, 5, 10))


def test_any_all_and_average_are_three_figures_and_an_empty_gold_counts_one_where_the_paper_says_so(
    tmp_path: Path,
) -> None:
    # Questions: D1:1 | D2:1 and D3:1 | D2:3 and one that is not there | none | none that is whole.
    seen = locomo(tmp_path, "turn", ["D1:2", "D1:1"], ["D3:1", "D1:1"], ["D2:1"], ["D1:1"], [])
    assert value(seen, "recall_any@1 (session)") == (3, 3)
    assert value(seen, "recall_all@5 (session)") == (2, 3)
    assert value(seen, "recall_avg@5 (session)") == (2.5, 3)
    assert value(seen, "recall_avg@5 (session, all questions)") == (4.5, 5)
    assert value(seen, "recall_any@1 (turn)") == (1, 3)
    assert value(seen, "recall_any@5 (turn)") == (2, 3)
    assert value(seen, "recall_avg@10 (turn)") == (1.5, 3)
    assert seen.failed == seen.unknown == seen.unended == 0
    assert (seen.pool.fewest, seen.pool.most, seen.pool.within_k) == (6, 6, 5)


def test_what_failed_and_what_nobody_wrote_brings_nothing_and_is_counted(tmp_path: Path) -> None:
    seen = locomo(tmp_path, "turn", None, ["made-up"], [], None, [])
    assert value(seen, "recall_any@10 (session)") == (0, 3)
    assert (seen.failed, seen.unknown) == (2, 1)


def test_sessions_have_no_figures_of_turns(tmp_path: Path) -> None:
    seen = locomo(tmp_path, "session", ["D1"], ["D2"], [], [], [])
    assert value(seen, "recall_avg@1 (session)") == (1.5, 3)
    assert not any("turn" in each.name for each in seen.figures)


@pytest.mark.parametrize(
    ("brought", "current", "stale", "first", "missing"),
    [
        (["S3", "S0"], 1, 1, 0, 0),
        (["S2", "S3"], 1, 1, 1, 0),
        (["S1", "S0"], 0, 1, 1, 1),
        (["S3"], 1, 0, 0, 0),
        (["S1"], 0, 0, 0, 0),
        (["S1"] * 5 + ["S0"], 0, 0, 0, 0),
    ],
)
def test_an_older_version_may_come_first_or_stand_alone(
    tmp_path: Path, brought: list[str], current: int, stale: int, first: int, missing: int
) -> None:
    told = MEMORYCODE.load(write_memorycode(tmp_path / "dataset"), "session")
    seen = compute([answered(told, brought, [])], (5,))
    way = "@5, in the words of the rule"
    assert value(seen, f"current_recalled{way}") == (current, 1)
    assert value(seen, f"stale_exposed{way}") == (stale, 1)
    assert value(seen, f"stale_first{way}") == (first, 1)
    assert value(seen, f"current_missing_stale_present{way}") == (missing, 1)


def test_a_store_that_did_not_end_is_counted(tmp_path: Path) -> None:
    told = LOCOMO.load(write_locomo(tmp_path), "turn")
    one = answered(told, [], [], [], None, None)
    fault = Fault(kind="crashed", op="recall", message="gone")
    lost = replace(one, ended=Ended(status="failed", fault=fault))
    assert compute([lost], (1,)).unended == 1


def test_a_gain_by_place_is_what_longmemeval_divides(tmp_path: Path) -> None:
    seen = locomo(tmp_path, "session", ["D1"], ["D1", "D2", "D3"], [], [], [])
    total, of = value(seen, "ndcg_any@5 (session)")
    assert of == 3 and total == pytest.approx(1 + (1 + 1 / log2(3)) / 2)  # places 1 and 2 count 1 each


def test_a_session_that_comes_back_in_pieces_gains_once(tmp_path: Path) -> None:
    seen = locomo(tmp_path, "session", ["D1", "D1"], ["D2", "D2", "D3"], [], [], [])
    total, of = value(seen, "ndcg_any@5 (session)")
    assert of == 3 and total == pytest.approx(1 + (1 + 1 / log2(3)) / 2)


def test_fewer_memories_than_any_figure_is_told_at_have_figures_of_their_own(tmp_path: Path) -> None:
    told = MEMORYCODE.load(write_memorycode(tmp_path / "dataset"), "session")
    seen = compute([answered(told, ["S3"], [], k=3)], MEMORYCODE.k)
    assert value(seen, "current_recalled@3, in the words of the rule") == (1, 1)
    assert list(report.list_lines([seen]))


def forgetting(folder: Path, *brought: list[str] | None, unable: bool = False) -> Answered:
    """What came back as texts, for the final query and two probes."""
    told = FORGETEVAL.load(write_forgeteval(folder, case()))
    answers = tuple(None if texts is None else tuple(Hit("id", text) for text in texts) for texts in brought)
    return replace(answered(told, *brought, k=5), answers=answers, unable=unable)


@pytest.mark.parametrize(
    ("final", "probe", "plain", "probed"),
    [
        (["Ada's lane is kestrelway."], [], 1, 1),
        (["Ada's lane is kestrelway."], ["It is harborLINE."], 1, 0),
        (["Ada's lane is kestrelway.", "Ada's lane is harborline."], [], 0, 0),
        (["Bo paints the quay."], [], 0, 0),
        (["Ada's lane is kestrelway."], None, 1, 0),
        (None, [], 0, 0),
    ],
)
def test_a_case_passes_with_what_must_come_back_and_nothing_forbidden(
    tmp_path: Path, final: list[str] | None, probe: list[str] | None, plain: int, probed: int
) -> None:
    seen = compute([forgetting(tmp_path, final, probe, [])], (5,))
    assert value(seen, "pass@5 (probed=False)") == (plain, 1)
    assert value(seen, "pass@5 (probed=True)") == (probed, 1)


def test_a_case_that_cannot_be_carried_out_is_left_out_or_failed(tmp_path: Path) -> None:
    sound = ["Ada's lane is kestrelway."]
    seen = compute([forgetting(tmp_path, sound, [], []), forgetting(tmp_path, sound, [], [], unable=True)], (5,))
    assert value(seen, "pass@5 (probed=True)") == (1, 1) and value(seen, "pass@5 (probed=True, strict)") == (1, 2)


def test_one_is_not_told_as_several(tmp_path: Path) -> None:
    ones = {"questions": 1, "failed": 1, "unended": 1, "unknown": 1}
    seen = locomo(tmp_path, "session", ["D1"], ["D3"], ["D2"], ["D1"], []).model_copy(update=ones)
    told = "\n".join(report.list_lines([seen]))
    assert "1 question failed, 1 store did not" in told and "1 memory came back under an id" in told
    data = LOCOMO.load(write_locomo(tmp_path), "session")
    one = replace(data, haystacks=data.haystacks[:1])
    assert report.describe(one).startswith("1 store, ")


def test_where_backends_were_asked_different_numbers_of_questions_each_is_told(tmp_path: Path) -> None:
    full = locomo(tmp_path, "session", ["D1"], ["D3"], ["D2"], ["D1"], [])
    less = full.model_copy(update={"figures": tuple(each.model_copy(update={"of": 1}) for each in full.figures)})
    counts = [each.of for each in full.figures]
    assert min(counts) > 1
    for others, told in (((full,), [f"{of}" for of in counts]), ((less,), [f"{of} / 1" for of in counts])):
        lines = [*report.list_lines([full, *others])][1 : len(counts) + 1]
        assert all(line.endswith(f" {each}") for line, each in zip(lines, told, strict=True))
    page = report.write(tmp_path / "out", LOCOMO, LOCOMO.load(write_locomo(tmp_path), "session"), [full, less])
    assert all(f" | {each} | " in page.read_text() for each in told)
