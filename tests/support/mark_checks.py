"""What has to hold of marks of the scoreboard, answers to needs and what is beaten, whatever the results are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.compare.rows import COLD
from harness.metrics import columns, trust
from harness.model.cells import TrustCell
from harness.model.results import Pooled, Results
from harness.model.trial import Measured
from harness.report.charts import decisions
from harness.report.model import needs, ways
from tests.support.generated_results import Judged

CHECKS = list[Callable[[Judged], None]]()


def check(each: Callable[[Judged], None]) -> Callable[[Judged], None]:
    CHECKS.append(each)
    return each


@check
def a_clean_word_stands_only_where_all_of_its_column_is_known_and_right(found: Judged) -> None:
    for row in found.board.rows:
        for head in found.board.trust:
            score = found.board.find(row.key, head.id)
            faults = list(_list_faults(found.results, row.key, head.id))
            if score.judgement == "good" or (head.clean and score.word == head.clean):
                assert not faults, (row.key, head.id, faults)
            if "wrong" in faults and not row.cold:
                assert score.judgement == "bad", (row.key, head.id, score)


def _list_faults(results: Results, key: str, column: str) -> Iterator[str]:
    own = results.backends.get(key)
    found = [(results.definitions[name], each) for name, each in (own.measures.items() if own else ())]
    for cell in results.trust:
        if cell.backend == key:
            found += [(results.trust_definitions[name], Pooled.of_one(each)) for name, each in cell.measures.items()]
    for definition, pooled in found:
        if definition.column == column and definition.unit == "proportion":
            if pooled.value is not None and pooled.value != {"higher": 1.0, "lower": 0.0}[definition.better]:
                yield "wrong"
            elif pooled.failed or pooled.not_run:
                yield "missed"
            elif any("cannot be told" in reason for reason in pooled.reasons):
                yield "hidden"


@check
def a_number_of_promises_is_what_its_head_names(found: Judged) -> None:
    for head in found.board.trust:
        if head.id != columns.PROMISES.id:
            continue
        for row, score in found.board.list_scores(head.id):
            own = [cell.measures.get("broken_promises") for cell in found.results.trust if cell.backend == row.key]
            tried = [each.of for each in own if isinstance(each, Measured)]
            assert [score.text] == [f"{of} operations" for of in tried] or not score.measured
            assert head.beside == "operations tried"


@check
def staleness_is_no_merit_of_who_decides_nothing_or_less_right_than_no_memory(found: Judged) -> None:
    cold = found.results.backends.get(COLD)
    base = cold.measures["decisions_right"] if cold else None
    for row, score in found.board.list_scores("stale"):
        if score.judgement == "good":
            write = ways.best_write(found.results, row.key)
            own = ways.spread(found.results, row.key, "decisions_right", write)
            assert own is not None and own.shares[0] > 0
            assert base is not None and base.value is not None
            assert own.shares[0] >= (base.hits or 0) / (base.of or 1)


@check
def who_equals_the_oracle_is_not_called_better(found: Judged) -> None:
    for name in found.results.like_oracle:
        row = next(row for row in found.board.rows if row.key == name)
        score = found.board.find(name, "decisions")
        assert score.judgement not in ("good", "bad") and any("oracle" in note for note in row.notes)


@check
def who_fits_a_need_keeps_its_rule_and_decides_no_worse_than_no_memory(found: Judged) -> None:
    for answer in needs.answer(found.results, found.board):
        for row, price in answer.fit:
            assert row.key not in found.results.doubted()
            assert found.board.find(row.key, "decisions").judgement != "bad"
            if answer.need.id in ("deletion", "users", "sources", "helps"):
                column = {"deletion": "deleted", "users": "scopes", "sources": "sources", "helps": "decisions"}
                assert found.board.find(row.key, column[answer.need.id]).judgement == "good"
            if answer.need.id == "tokens":
                assert _count_tokens(found, row.key) and found.board.find(row.key, "cost").judgement != "bad"
            if answer.need.id == "processes":
                drilled = [cell for cell in found.results.trust if (cell.backend, cell.drill) == (row.key, "sharing")]
                assert drilled and not list(_list_bad(drilled))
            assert price or not found.decided(row.key)
        assert all(why for _, why in answer.others)
        reached = [_count_tokens(found, row.key) for row, _ in answer.fit]
        if answer.need.id == "tokens":
            assert [max(own) for own in reached] == sorted(max(own) for own in reached)
        else:
            lowest = [min(found.decided(row.key), default=0) for row, _ in answer.fit]
            assert lowest == sorted(lowest, reverse=True)


def _count_tokens(found: Judged, key: str) -> list[float]:
    """Tokens for each completed job in the write policy that the scoreboard shows, over the read policies."""
    write = ways.best_write(found.results, key)
    own = [ways.pool_way(found.results, key, "tokens_per_job", write, read) for read in ways.list_reads(found.results)]
    return [each.value for each in own if each is not None and each.value is not None]


def _list_bad(cells: Sequence[TrustCell]) -> Iterator[str]:
    for cell in cells:
        for name, said in cell.measures.items():
            pooled, better = Pooled.of_one(said), trust.DEFINITIONS[name].better
            if pooled.failed or (pooled.value is not None and pooled.value != {"higher": 1.0}.get(better, 0.0)):
                yield name


@check
def what_is_beaten_is_beaten_under_every_read_policy(found: Judged) -> None:
    drawn = decisions.chart_frontier(found.results)
    for name, _, _, _, better in drawn.rows if drawn else ():
        for other in better.split(", ") if better else ():
            if {name, other} <= {row.key for row in found.board.rows}:
                write, ahead = (ways.best_write(found.results, each) for each in (name, other))
                for read in ways.list_reads(found.results):
                    own, rival = (
                        ways.pool_way(found.results, key, "decisions_right", how, read)
                        for key, how in ((name, write), (other, ahead))
                    )
                    if own is not None and rival is not None and _known(own) and _known(rival):
                        assert ways.count(rival) >= ways.count(own)


def _known(pooled: Pooled | None) -> bool:
    return pooled is not None and pooled.value is not None
