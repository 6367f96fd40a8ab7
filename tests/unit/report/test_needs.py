"""Which memory for which need: the rules and the order that docs/choosing.md has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness import paths
from harness.compare.rows import Way
from harness.model.backend import Declared
from harness.model.results import Results, Unplayed
from harness.report.model import board, needs
from harness.report.model.needs import NEEDS, Answer
from tests.support.made_results import Said, play

WAYS = [Way("append", "trusting"), Way("append", "newest"), Way("curated", "trusting"), Way("curated", "newest")]


def own(done: int, paid: float) -> dict[str, list[Said]]:
    hits: list[Said] = [(done, 10)] * 8
    right: list[Said] = [(min(10, done + 2), 10)] * 8
    return {
        "jobs_done": hits, "decisions_right": right, "tokens_total": [paid] * 8,
        "tokens_per_job": ["not-applicable"] * 8,
    }  # fmt: skip


def made(rows: Mapping[str, Sequence[tuple[int, float]]], cold: tuple[int, float] = (2, 4000.0)) -> Results:
    """Of each row jobs of ten and tokens for each way, in 8 stories."""
    return play(
        {name: {way: own(*each) for way, each in zip(WAYS, said, strict=True)} for name, said in rows.items()},
        own(*cold),
    )


def answer(results: Results, need: str) -> Answer:
    return next(each for each in needs.answer(results, board.collect(results)) if each.need.id == need)


def test_the_fewest_tokens_stand_first_by_the_worst_way_of_reading_in_the_mode_of_the_board() -> None:
    """Not by the cheapest way of reading, nor by the way of writing that the row's number is not of."""
    found = made(
        {
            "cheap-at-best": [(2, 10.0), (2, 10.0), (8, 800.0), (4, 4000.0)],
            "steady": [(2, 9000.0), (2, 9000.0), (5, 2000.0), (5, 2500.0)],
            "right": [(2, 9000.0), (2, 9000.0), (9, 6300.0), (9, 6300.0)],
        }
    )
    assert [row.name for row, _ in answer(found, "tokens").fit] == ["steady", "right", "cheap-at-best"]
    assert [row.name for row, _ in answer(found, "helps").fit] == ["right", "steady", "cheap-at-best"]
    assert {row.name: price for row, price in answer(found, "tokens").fit}["steady"].endswith(
        "400\u2013500 tokens a job"
    )


def test_who_completes_nothing_or_costs_more_than_no_memory_does_not_cost_the_fewest_tokens() -> None:
    found = answer(
        made({"dear": [(5, 25000.0)] * 4, "idle": [(0, 100.0)] * 4, "sound": [(5, 2000.0)] * 4}, (5, 5000.0)), "tokens"
    )
    assert [row.name for row, _ in found.fit] == ["sound"]
    told = {row.name: why for row, why in found.others}
    assert told["dear"] == (
        "append: 500% of the cost without memory, 1,000 tokens a job; 40 of 80 jobs done, without memory 40"
    )
    assert told["idle"] == "no job completed, paid for nothing"


def choose(results: Results) -> dict[str, dict[str, tuple[str, bool]]]:
    """Row -> need -> why it does not fit, and whether that is known; under the need `` what holds for each."""
    scoreboard = board.collect(results)
    chosen = needs.list_choices(results, scoreboard, needs.answer(results, scoreboard))
    return {
        each.row.key: {why.need.id if why.need else "": (why.why, why.known) for why in each.reasons} for each in chosen
    }


def declare(results: Results, row: str, *capabilities: str) -> Results:
    own = results.backends[row]
    assert own.backend
    card = own.backend.model_copy(update={"support": {name: Declared(level="native") for name in capabilities}})
    return results.model_copy(update={"backends": {**results.backends, row: own.model_copy(update={"backend": card})}})


def test_every_row_has_all_that_speaks_against_it_the_most_right_first() -> None:
    found = declare(
        made({"sound": [(5, 2000.0)] * 4, "worse": [(0, 9000.0)] * 4}, (5, 5000.0)), "sound", "forget_scope"
    )
    told = choose(found)
    assert list(told) == ["sound", "worse"]
    assert "reset" not in told["sound"] and told["worse"]["reset"] == ("does not declare forget_scope", True)
    assert told["worse"][""] == ("worse than no memory", True) and "" not in told["sound"]


def test_what_nobody_measured_is_no_reason_against_a_row() -> None:
    """The same need was measured of another row, so it is one of those that are asked for."""
    none: list[Said] = [0.0] * 8
    ways = {way: {**own(5, 2000.0), "tokens_backend": none} for way in WAYS}
    found = play({"told": ways, "untold": {way: own(5, 2000.0) for way in WAYS}}, own(2, 4000.0))
    told = choose(found)
    assert "offline" not in told["told"] and told["untold"]["offline"] == ("not measured", False)
    told = choose(declare(found, "told", "extracts"))
    assert told["told"]["offline"] == ("a chat model inside rewrites what it is told", True)


def test_the_language_of_an_agent_leaves_out_who_has_no_client_for_it() -> None:
    clients = {
        "files": ("any",),
        "node": ("Python", "TypeScript"),
        "go": ("Python", "Go"),
        "own": ("Python",),
        "old": (),
    }
    found = made({name: [(5, 2000.0)] * 4 for name in clients})
    rows = {
        name: row.model_copy(update={"backend": row.backend.model_copy(update={"clients": clients[name]})})
        for name, row in found.backends.items()
        if row.backend is not None and name in clients
    }
    told = choose(found.model_copy(update={"backends": {**found.backends, **rows}}))
    assert {name for name in clients if "typescript" not in told[name]} == {"files", "node"}
    assert {name for name in clients if "languages" not in told[name]} == {"files", "go"}
    assert told["own"]["typescript"] == ("clients in Python only", True)
    assert told["old"]["languages"] == ("not measured", False)


def test_what_did_not_run_stands_last_and_says_why() -> None:
    found = made({"sound": [(5, 2000.0)] * 4})
    absent = Unplayed(backend="gone", reason="no server", allowed=True)
    told = choose(found.model_copy(update={"run": found.run.model_copy(update={"unplayed": (absent,)})}))
    assert list(told) == ["sound", "gone"] and told["gone"] == {"": ("did not run: no server", False)}


def test_a_row_carries_a_mark_where_nobody_could_look_and_who_answered_for_a_model_inside() -> None:
    found = declare(made({"sealed": [(5, 2000.0)] * 4}), "sealed", "extracts")
    drilled = play({}, drills={"sealed": {"text_gone_after_closing": "unsupported"}})
    held = found.run.conditions.model_copy(update={"chat": "stand-in"})
    found = found.model_copy(update={"trust": drilled.trust, "run": found.run.model_copy(update={"conditions": held})})
    (marks,) = (row.marks for row in board.collect(found).rows if row.key == "sealed")
    assert marks == ("bytes not inspected", "cannot be emptied in one call", "model inside: stand-in")


def test_the_document_has_each_need_and_the_page_says_its_order() -> None:
    rows = re.findall(r"^\| ([A-Z][^|]*) \|", (paths.ROOT / "docs" / "choosing.md").read_text("utf-8"), re.MULTILINE)
    assert rows[: len(NEEDS)] == [need.asks for need in NEEDS]
    page = (paths.ROOT / "reports" / "templates" / "sure.html.j2").read_text("utf-8")
    assert "by right decisions (the lowest count over the ways of reading), the most first" in page
    assert "Where tokens are the need, they are listed by tokens (the highest count), the fewest first" in page
