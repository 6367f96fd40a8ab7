"""The first screen: each sentence is true of the data that it is made from, and nothing unmeasured looks good."""

from __future__ import annotations

import itertools
import re
from typing import Any, get_args

import pytest
from harness.report.model.scores import SHAPES, Judgement, Score
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.compare import statements
from harness.metrics import trust
from harness.metrics.recall import CHANCE, RECALL
from harness.model.results import BrokenPromise, Comparison, Contrast, Faults, Pooled, Results, Row, TrustCell, Unplayed
from harness.model.trial import Measured, NotMeasured
from harness.report import questions
from harness.report.model import board as scoreboard
from harness.report.text import verdict
from tests.support.runs import run

OF = 60


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return statements.results(run(tmp_path_factory.mktemp("run")))


def pooled(hits: int, of: int = OF) -> Pooled:
    return Pooled(value=hits / of, hits=hits, of=of, scenarios=12)


def pair(left: str, right: str, better: str | None, write: str = "append", able: bool = True) -> Comparison:
    told = {left: "left-better", right: "right-better", None: "no-difference-shown"}[better]
    return Comparison.model_validate(
        {
            "measure": "decisions_right", "write_policy": write, "left": left, "right": right, "scenarios": 12,
            "left_value": 0.5, "right_value": 0.5, "left_better": 1, "right_better": 1, "p": 0.01, "adjusted_p": 0.02,
            "verdict": told, "detectable": "much", "able": able,
        }
    )  # fmt: skip


def told(
    results: Results, append: dict[str, int], curated: dict[str, int], pairs: list[Comparison], cold: int = 29
) -> Results:
    """A run with these right decisions of 60, and nothing else."""
    row = next(row for row in results.backends.values() if not row.control)
    rows = {name: row.model_copy(update={"measures": {"decisions_right": pooled(n)}}) for name, n in append.items()}
    rows["cold"] = Row(backend=None, control=True, measures={"decisions_right": pooled(cold)})
    contrasts = [
        Contrast(
            backend=name, write_policy=write, read_policy="trusting", noise=0, primary=write == "append",
            measures={"decisions_right": pooled(n)},
        )
        for write, counts in (("append", append), ("curated", curated))
        for name, n in counts.items()
    ]  # fmt: skip
    changes: dict[str, Any] = {
        "backends": rows, "contrasts": tuple(contrasts), "comparisons": tuple(pairs), "trust": (), "cells": (),
        "faults": (), "gates": (), "run": results.run.model_copy(update={"unplayed": ()}),
    }  # fmt: skip
    return results.model_copy(update=changes)


def lines(results: Results) -> list[str]:
    return [line.text for line in verdict.judge(results, scoreboard.collect(results))]


def test_it_tells_how_to_write_where_that_is_what_helps(results: Results) -> None:
    pairs = [pair("chroma", "cold", "chroma", "curated"), pair("mem0", "cold", "mem0", "curated")]
    pairs += [pair("chroma", "mem0", None, "curated"), pair("chroma", "cold", None), pair("mem0", "cold", None)]
    found = lines(told(results, {"chroma": 23, "mem0": 25}, {"chroma": 44, "mem0": 46}, pairs))
    assert found[0] == (
        "Look up before you write. Written that way, chroma and mem0 lead to 44 to 46 right decisions of 60; "
        "appended only, to 23 to 25. Without memory: 29."
    )
    assert found[1] == "Written with a look-up first, between chroma and mem0 no difference in decisions was found."


def test_it_does_not_where_appending_helps_as_well_or_better(results: Results) -> None:
    pairs = [pair("chroma", "cold", "chroma", "curated"), pair("chroma", "cold", "chroma")]
    assert "Look up" not in lines(told(results, {"chroma": 40}, {"chroma": 44}, pairs))[0]
    late = [pair("chroma", "cold", "chroma", "curated"), pair("chroma", "cold", None)]
    assert "Look up" not in lines(told(results, {"chroma": 45}, {"chroma": 44}, late))[0]


def test_who_does_worse_than_no_memory_is_named(results: Results) -> None:
    pairs = [pair("chroma", "cold", "chroma", "curated"), pair("notes", "cold", "cold", "curated")]
    found = lines(told(results, {"chroma": 23, "notes": 15}, {"chroma": 44, "notes": 22}, pairs))
    assert "With notes, fewer: 22." in found[0]


def test_who_is_not_shown_to_be_better_stands_there_with_its_number(results: Results) -> None:
    """Or a reader takes a sentence on the one that is shown to be for a false one."""
    pairs = [pair("bm25", "cold", "bm25", "curated"), pair("mem0", "cold", None, "curated")]
    found = lines(told(results, {"bm25": 19, "mem0": 25}, {"bm25": 45, "mem0": 46}, pairs))
    assert found[0].endswith("of 60; appended only, to 19. Without memory: 29. Could still be chance: mem0 46.")


def test_many_backends_are_counted_and_what_is_said_of_all_is_said_once(results: Results) -> None:
    names = [f"b{n}" for n in range(9)]
    one = told(results, dict.fromkeys(names, 23), {}, [])
    for name in names:
        one = trusted(one, name, "isolation", {"leaks_by_listing": case(3, 9)})
    assert "Scopes (users, projects) were not kept apart in all 9 backends." in lines(one)
    two = told(results, dict.fromkeys(names, 23), {}, [])
    for name in names[:2]:
        two = trusted(two, name, "isolation", {"leaks_by_listing": case(3, 9)})
    assert "Scopes (users, projects) were not kept apart in b0 and b1 (3 of 9 each)." in lines(two)


def test_without_a_difference_nothing_is_recommended(results: Results) -> None:
    pairs = [pair("chroma", "cold", None, "curated")]
    found = lines(told(results, {"chroma": 23}, {"chroma": 31}, pairs))
    assert found[0] == (
        "Memory was not shown to help. Right decisions of 60, written with a look-up first: without memory 29; "
        "chroma 31, which could be chance."
    )
    few = lines(
        told(results, {"chroma": 23}, {"chroma": 44}, [pair("chroma", "cold", "chroma", "curated", able=False)])
    )
    assert few[0].startswith("Too few stories to tell whether memory helps.")


NAMES = ("bm25", "chroma", "mem0")
COUNTS = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, OF)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(COUNTS, COUNTS, st.integers(0, OF), st.data())
def test_no_sentence_contradicts_its_data(
    results: Results, append: dict[str, int], curated: dict[str, int], cold: int, data: st.DataObject
) -> None:
    pairs = []
    for write, counts in (("append", append), ("curated", curated)):
        reached = {**counts, "cold": cold}
        for left, right in itertools.combinations(sorted(reached), 2):
            better = data.draw(st.sampled_from([left, right, None]))  # means and counts may disagree
            pairs.append(pair(left, right, better, write, able=data.draw(st.booleans())))
    found = lines(told(results, append, curated, pairs, cold))
    assert 1 <= len(found) <= 5
    for text in found:
        if at := re.search(
            r"Written that way, (.*) leads? to (.*) right decisions of 60; appended only, to (.*)\. Without", text
        ):
            named = [name for name in NAMES if name in at[1]]
            assert named and at[2] == spread([curated[name] for name in named])
            assert at[3] == spread([append[name] for name in named])
            assert all(append[name] < curated[name] and cold < curated[name] for name in named)
        for better, worse in re.findall(r"(?:^|; )([^;.]+?) led to more right decisions than ([^;.]+)", text):
            low = min(curated[name] for name in NAMES if name in better.lower())
            assert low > max(curated[name] for name in NAMES if name in worse)
        if at := re.search(r"With (.*), fewer: (.*?)\.", text):
            assert at[2] == spread([curated[name] for name in NAMES if name in at[1]])
            assert all(curated[name] < cold for name in NAMES if name in at[1])


def spread(values: list[int]) -> str:
    return f"{min(values)} to {max(values)}" if min(values) < max(values) else f"{values[0]}"


# --- the scoreboard ---------------------------------------------------------------------------------------------------


def trusted(results: Results, backend: str, drill: str, measures: dict[str, Any]) -> Results:
    cell = TrustCell(
        id=f"{backend}-{drill}", backend=backend, drill=drill, size=60, seed=1, k=5, status="complete", transcript="t",
        transcript_sha256="0", measures=measures,
    )  # fmt: skip
    changes = {"trust": (*results.trust, cell), "trust_definitions": dict(trust.DEFINITIONS)}
    return results.model_copy(update=changes)


def case(hits: int, of: int) -> Measured:
    return Measured(value=hits / of, hits=hits, of=of)


def score(results: Results, column: str, key: str = "chroma") -> Score:
    return scoreboard.collect(results).of(key, column)


def test_a_column_shows_the_worst_that_its_word_covers(results: Results) -> None:
    plain = told(results, {"chroma": 23}, {}, [])
    leaking = trusted(plain, "chroma", "isolation", {"leaks_by_listing": case(0, 144), "leaks_by_word": case(9, 12)})
    found = score(leaking, "scopes")
    assert (found.judgement, found.text, found.measure) == ("bad", "9 of 12", "leaks_by_word")
    clean = trusted(plain, "chroma", "isolation", {"leaks_by_listing": case(0, 144)})
    assert (score(clean, "scopes").judgement, score(clean, "scopes").text) == ("good", "0 of 144")


def test_a_broken_promise_stands_in_the_verdict_with_its_shortest_sequence(results: Results) -> None:
    plain = told(results, {"chroma": 23}, {}, [])
    held = trusted(plain, "chroma", "promises", {"broken_promises": case(0, 448)})
    assert (score(held, "promises").text, score(held, "promises").word) == ("held", "448 operations")
    assert any("no random sequence of operations broke a promise" in line.lower() for line in lines(held))
    found = trusted(plain, "chroma", "promises", {"broken_promises": case(1, 2)})
    promise = BrokenPromise(short="remember \u2192 entries", says="m1 is not listed", steps=("remember", "list"))
    broken = found.model_copy(update={"trust": (found.trust[-1].model_copy(update={"promise": promise}),)})
    assert score(broken, "promises").judgement == "bad"
    assert any("broke a promise of chroma (remember \u2192 entries)" in line for line in lines(broken))
    luck = promise.model_copy(update={"random": "every answer was right"})
    random = found.model_copy(update={"trust": (found.trust[-1].model_copy(update={"promise": luck}),)})
    assert any("broke a promise of chroma (not deterministic)" in line for line in lines(random))


@pytest.mark.parametrize("status", ["failed", "not-run", "unsupported", "not-applicable"])
def test_what_was_not_measured_is_never_good(results: Results, status: Any) -> None:
    missing = NotMeasured(status=status, reason="the store is gone")
    one = trusted(told(results, {"chroma": 23}, {}, []), "chroma", "isolation", {"leaks_by_listing": missing})
    found = score(one, "scopes")
    assert found.judgement == ("bad" if status == "failed" else "open") and found.why == "the store is gone"
    assert "were kept apart" not in " ".join(lines(one))


def test_what_went_wrong_has_the_name_of_its_own_measure(results: Results) -> None:
    """Deleting too much is no deletion that left something."""
    plain = told(results, {"chroma": 23}, {}, [])
    gone = {"forgotten_by_every_route": case(9, 9), "text_gone_after_closing": case(9, 9)}
    much = trusted(plain, "chroma", "deletion", {**gone, "same_scope_over_deletion": case(2, 4)})
    assert score(much, "deleted").word == "deleted too much: same scope"
    assert "Deleting went wrong in chroma (deleted too much: same scope 2/4)." in lines(much)
    left = trusted(plain, "chroma", "deletion", {**gone, "text_gone_after_closing": case(0, 9)})
    assert score(left, "deleted").word == "still there"
    assert "Deleted memories are still stored in chroma (9 of 9)." in lines(left)
    lost = trusted(plain, "chroma", "keeping", {"writes_kept": case(9, 9), "date_survives_update": case(0, 9)})
    assert score(lost, "kept").word == "not met: date after an update"


def test_a_failure_stands_before_what_is_clean(results: Results) -> None:
    broken = NotMeasured(status="failed", reason="the child died")
    one = trusted(
        told(results, {"chroma": 23}, {}, []), "chroma", "isolation",
        {"leaks_by_listing": case(0, 144), "leaks_by_word": broken},
    )  # fmt: skip
    assert score(one, "scopes").judgement == "bad"


def test_clean_is_said_of_all_or_by_name(results: Results) -> None:
    one = trusted(
        told(results, {"chroma": 23, "mem0": 23}, {}, []), "chroma", "isolation", {"leaks_by_listing": case(0, 9)}
    )
    both = trusted(one, "mem0", "isolation", {"leaks_by_listing": case(3, 9)})
    assert "Scopes (users, projects) were not kept apart in mem0 (3 of 9)." in lines(both)
    assert "Scopes (users, projects) were kept apart in chroma." in lines(one)
    assert "Scopes (users, projects) were kept apart." in lines(
        trusted(one, "mem0", "isolation", {"leaks_by_listing": case(0, 9)})
    )


def test_a_backend_that_could_not_run_keeps_its_row(results: Results) -> None:
    absent = Unplayed(backend="letta", reason="no server", allowed=True)
    gone = told(results, {"chroma": 23}, {}, [])
    gone = gone.model_copy(update={"run": gone.run.model_copy(update={"unplayed": (absent,)})})
    (row,) = [row for row in scoreboard.collect(gone).rows if row.key == "letta"]
    assert {each.text for each in row.scores} == {"not run"} and {each.judgement for each in row.scores} == {"open"}


def test_nothing_is_concluded_about_a_backend_whose_calls_failed(results: Results) -> None:
    pairs = [pair("chroma", "cold", "chroma", "curated"), pair("mem0", "cold", "mem0", "curated")]
    one = told(results, {"chroma": 23, "mem0": 25}, {"chroma": 44, "mem0": 46}, pairs)
    one = trusted(one, "mem0", "isolation", {"leaks_by_listing": case(3, 9)})
    fault = Faults(
        backend="mem0", trial="t", op="recall", kind="crashed", count=7, calls=9, message="boom", receipt="L1"
    )  # fmt: skip
    found = lines(one.model_copy(update={"faults": (fault,)}))
    assert [text for text in found if "mem0" in text] == [found[-1]]
    assert "anything about mem0 (calls failed)" in found[-1]


def test_nothing_measured_is_said_and_has_no_scoreboard(results: Results) -> None:
    nothing = told(results, {}, {}, [])
    nothing = nothing.model_copy(update={"backends": {}})
    board = scoreboard.collect(nothing)
    assert board.empty and verdict.judge(nothing, board)[0].text == "Nothing was measured of any backend."


def test_every_judgement_has_a_shape_of_its_own() -> None:
    assert len(set(SHAPES.values())) == len(get_args(Judgement))


def test_the_first_row_is_no_memory_and_counts_its_own_decisions(results: Results) -> None:
    board = scoreboard.collect(told(results, {"chroma": 23}, {"chroma": 44}, []))
    assert board.rows[0].cold and board.rows[0].scores[0].text == "29 of 60" and board.cold == 29 / 60
    assert board.rows[1].scores[0].text == "23 \u2192 44 of 60"


@pytest.mark.parametrize(
    ("hits", "word"),
    [(6, "not above chance"), (30, "not above chance"), (33, "little above chance"), (60, "most of it")],
)
def test_recall_below_chance_is_not_said_to_be_above_it(results: Results, hits: int, word: str) -> None:
    name, row = next((name, row) for name, row in results.backends.items() if not row.control)
    measures = {**row.measures, RECALL: pooled(hits), CHANCE: pooled(30)}
    changed = results.model_copy(
        update={"backends": {**results.backends, name: row.model_copy(update={"measures": measures})}}
    )
    assert questions._recall(changed, name).word == word
