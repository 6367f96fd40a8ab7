"""Generated results cannot make a sentence of the verdict, a mark of the scoreboard or an answer to a need false."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare.rows import COLD, Way
from harness.metrics import columns, trust
from harness.model.backend import Declared
from harness.model.cells import Faults, TrustCell
from harness.model.results import Pooled, Results, Row, TwinGroup, Unplayed
from harness.model.trial import NEEDS, READ_POLICIES, USUAL_WRITES, Measured, NotMeasured, ReadPolicy, WritePolicy
from harness.report import words
from harness.report.charts import decisions
from harness.report.model import board as scoreboard
from harness.report.model import needs, ways
from harness.report.model.board import Board
from harness.report.model.judges import SPEED
from harness.report.model.sections import Level
from harness.report.model.ways import READS
from harness.report.text import verdict
from harness.report.text.points import VerdictLine
from tests.support.made_results import Played, Said, play

NAMES = ("bm25", "chroma", "letta", "mem0", "notes", "own")
OF = 4
"""Decisions of a story."""
DRILLED = (
    "text_gone_after_closing", "vector_gone_after_closing", "forgotten_from_search", "leaks_by_listing",
    "left_after_undo", "writes_kept", "lost_by_kill", "handed_over", "self_reachability", "date_survives_update",
    "broken_promises", "recall_seconds", "silently_unfound_with_another_embedder",
)  # fmt: skip
HIDDEN = NotMeasured(status="not-applicable", reason="cannot be told: its log is of constant size")


class World(NamedTuple):
    """What was played; whatever is built of a part of it is another run of the same logs."""

    rows: Mapping[str, Played]
    cold: Mapping[str, Sequence[Said]] | None
    oracle: Mapping[str, Sequence[Said]] | None
    drills: Mapping[str, Mapping[str, Said]]
    failing: frozenset[str]
    trifling: frozenset[str]
    absent: tuple[Unplayed, ...]
    declared: Mapping[str, Mapping[str, Level]] = {}

    def build(self, without: str = "") -> Results:
        rows = {name: own for name, own in self.rows.items() if name != without}
        drills = {name: own for name, own in self.drills.items() if name != without}
        groups = dict[str, list[str]]()
        for name, own in sorted(rows.items()):
            groups.setdefault(repr({way: each["decisions_right"] for way, each in own.items()}), []).append(name)
        twins = [TwinGroup(rows=tuple(names), reason="they agree") for names in groups.values() if len(names) > 1]
        made = play(rows, self.cold, self.oracle, drills, twins)
        faults = tuple(
            Faults(backend=name, trial="t", op="recall", kind="crashed", count=1, calls=9, message="m", receipt="L1")
            for name in sorted(self.failing - {without})
        )
        run = made.run.model_copy(update={"unplayed": self.absent})
        backends = {name: self._declare(name, row) for name, row in made.backends.items()}
        calls = {each.backend: 900 if each.backend in self.trifling else 9 for each in faults}
        return made.model_copy(update={"faults": faults, "calls": calls, "run": run, "backends": backends})

    def _declare(self, name: str, row: Row) -> Row:
        support = {each: Declared(level=level) for each, level in self.declared.get(name, {}).items()}
        return row.model_copy(update={"backend": row.backend and row.backend.model_copy(update={"support": support})})


def counts(many: int, levels: st.SearchStrategy[int]) -> st.SearchStrategy[list[Said]]:
    """Hits story by story about one level, so that differences are shown often; now and then one is missing."""
    steady = levels.flatmap(
        lambda level: st.lists(
            st.sampled_from((0, 0, 0, 1, -1)).map(lambda by: (min(OF, max(0, level + by)), OF)),
            min_size=many, max_size=many,
        )
    )  # fmt: skip
    word: st.SearchStrategy[Said] = st.sampled_from(("failed", "unsupported", "not-run", "not-applicable"))
    holes = st.lists(word | st.just((OF, OF)) | st.none(), min_size=many, max_size=many)
    return st.one_of(steady, steady, steady, steady, holes)


def sheet(many: int) -> st.SearchStrategy[dict[str, list[Said]]]:
    own = counts(many, st.integers(0, OF))
    paid: st.SearchStrategy[list[Said]] = st.lists(
        st.sampled_from((100.0, 400.0, "failed")), min_size=many, max_size=many
    )
    return st.fixed_dictionaries(
        {
            "decisions_right": own, "jobs_done": own, "recall": own, "stale_use": counts(many, st.integers(0, 1)),
            "chance_at_k": own, "tokens_total": paid, "tokens_per_job": st.just(["not-applicable"] * many),
            "source_verified": counts(many, st.just(OF)),
        }
    )  # fmt: skip


DRILL = st.sampled_from(
    (None, (20, 20), (0, 20), (20, 20), (0, 20), (3, 20), "failed", "unsupported", "not-run", HIDDEN)
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    many = draw(st.sampled_from((0, 1, 5, 6, 8)))
    reads = [READ_POLICIES[0], *draw(st.sets(st.sampled_from(READ_POLICIES[1:])))]
    several: tuple[WritePolicy, ...] = get_args(WritePolicy)
    writes = draw(st.sampled_from((several[:1], USUAL_WRITES, USUAL_WRITES, several)))
    names = draw(st.lists(st.sampled_from(NAMES), max_size=len(NAMES), unique=True))
    rows = dict[str, Played]()
    perfect = {"decisions_right": [(OF, OF)] * many, "recall": [(OF, OF)] * many}
    if many:
        for name in names:
            kind = draw(st.sampled_from(("own", "own", "twin", "gold", "lifted", "sunk")))
            if kind == "twin" and rows:
                rows[name] = draw(st.sampled_from(list(rows.values())))
                continue
            chosen = [Way(write, read) for write in writes for read in reads if read == "trusting" or draw(ODDS)]
            better = {"lifted": "curated", "sunk": "append"}.get(kind)
            low = {"decisions_right": draw(counts(many, st.integers(0, OF - 1)))}
            rows[name] = {
                way: {
                    **draw(sheet(many)),
                    **({} if kind == "own" else perfect if kind == "gold" or way.write == better else low),
                }
                for way in chosen
            }
    drills = {
        name: {each: said for each in DRILLED if (said := draw(DRILL)) is not None}
        for name in (*names, *(["drilled"] if draw(st.booleans()) else []))
    }  # fmt: skip
    cold = draw(st.none() | sheet(many)) if many else None
    gold = draw(st.booleans()) and many
    return World(
        rows, cold, perfect if gold else None, {name: own for name, own in drills.items() if own},
        frozenset(draw(st.sets(st.sampled_from(NAMES), max_size=2))), frozenset(NAMES[: draw(st.integers(0, 3))]),
        tuple(Unplayed(backend="gone", reason="no server", allowed=True) for _ in range(draw(st.integers(0, 1)))),
        {name: {each: draw(LEVEL) for each in ASKED} for name in names},
    )  # fmt: skip


ODDS = st.sampled_from((True, True, True, False))
ASKED = ("supersede", "deprecate", "forget", "update", "expiry")
LEVELS: Sequence[Level] = get_args(Level)
LEVEL = st.sampled_from(LEVELS)


class Judged(NamedTuple):
    results: Results
    board: Board
    lines: list[VerdictLine]

    def decided(self, key: str, read: ReadPolicy | None = None) -> tuple[float, ...]:
        """Right decisions in the best write policy: under one read policy, or all that have a number."""
        write = ways.best_write(self.results, key)
        reads = [read] if read else ways.list_reads(self.results)
        found = [ways.pool_way(self.results, key, "decisions_right", write, each) for each in reads]
        return tuple(ways.count(each) for each in found if each is not None and each.value is not None)

    def stood(self, key: str) -> dict[ReadPolicy, str]:
        """Read policy -> what its comparison with no memory says, in the best write policy."""
        write = ways.best_write(self.results, key)
        found = self.results.against_cold(key, "decisions_right")
        told = {read: found.get((write, read)) for read in ways.list_reads(self.results, key)}
        return {read: each.verdict if each and each.able else "untold" for read, each in told.items()}


def _known(pooled: Pooled | None) -> bool:
    return pooled is not None and pooled.value is not None


def judged(results: Results) -> Judged:
    board = scoreboard.collect(results)
    return Judged(results, board, verdict.judge(results, board))


CHECKS = list[Callable[[Judged], None]]()


def check(each: Callable[[Judged], None]) -> Callable[[Judged], None]:
    CHECKS.append(each)
    return each


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds(), st.sampled_from(NAMES))
def test_generated_results_make_nothing_false(world: World, gone: str) -> None:
    """All checks of one run, as it takes longer to make one than to check it."""
    more, less = judged(world.build()), judged(world.build(without=gone))
    for row in less.board.rows:
        for head in less.board.columns:
            assert less.board.find(row.key, head.id) == more.board.find(row.key, head.id), "depends on another row"
    for each in CHECKS:
        each(more)


@check
def a_word_on_no_memory_holds_under_every_read_policy_or_names_the_one(found: Judged) -> None:
    for line in found.lines:
        rows = [claim.row for claim in line.claims if claim.column == "decisions"]
        for key in rows:
            assert key not in found.results.like_oracle
            stood, text = found.stood(key), line.text
            for word, verdict_ in (("more", "right-better"), ("fewer", "left-better")):
                if f"{word} decisions are right" in text:
                    assert stood and set(stood.values()) == {verdict_}
            if at := re.search(r"were proven only if the agent (.*)\.$", text):
                when = re.split(", | or ", at[1].rpartition("when it asks, ")[2])
                named = {read for read, each in READS.items() if each in when}
                assert named == {read for read, each in stood.items() if each == "right-better"}
                assert "left-better" not in stood.values()
            if at := re.search(
                r"were proven.*\. If (?:it later|the agent) (.*), no gain over no memory was proven\.$", text
            ):
                named = {read for read, each in READS.items() if each in re.split(", | or ", at[1])}
                assert named == {read for read in stood if stood[read] != "right-better"}
                assert "left-better" not in stood.values() and len(named) < len(stood) - len(named)
            if "no difference from no memory" in text:
                assert "no-difference-shown" in stood.values()
                assert set(stood.values()) <= {"no-difference-shown", "untold"}
            if verdict.WHICHEVER in text:
                assert len(stood) > 1
            if text.startswith("Too few"):
                assert set(stood.values()) == {"untold"}


@check
def counts_of_a_sentence_are_those_of_its_rows_in_their_order(found: Judged) -> None:
    for line in found.lines:
        told = [claim for claim in line.claims if claim.column == "decisions"]
        if told and re.match(r"\d+ backends", told[0].phrase):
            continue
        reached = [found.decided(claim.row) for claim in told]
        for claim, own in zip(told, reached, strict=True):
            assert re.search(rf"\({ways.show_range(min(own), max(own))}(?: of \d+)? right\)$", claim.phrase)
        lows = [(min(own), max(own)) for own in reached]
        assert lows == sorted(lows, reverse=True)


LEADS = re.compile(
    r"(?:^|(?<=: )|(?<=\. ))([^.:]+?) leads? to more right decisions than ([^.]+?)(?:, if the agent ([^.]+))?\."
)  # fmt: skip


@check
def a_pair_is_said_to_differ_only_where_its_comparisons_do(found: Judged) -> None:
    lines = [line for line in found.lines if line.rests and {each.family for each in line.rests} == {"pairs"}]
    reads = len(ways.list_reads(found.results))
    for line in lines:
        for left, right, how in LEADS.findall(line.text):
            when = [each for each in re.split(", and later |, | or ", how) if each in READS.values()]
            assert len(found.results.list_writes()) == 1 or how.startswith(tuple(ways.WRITE_DESCRIPTIONS.values()))
            for winner in _names(left):
                assert winner not in found.results.like_oracle
                for loser in _names(right):
                    own = [each for each in line.rests if {each.left, each.right} == {winner, loser}]
                    won = [
                        each
                        for each in own
                        if each.verdict == ("left-better" if each.left == winner else "right-better")
                    ]
                    assert not [each for each in own if each not in won and each.verdict != "no-difference-shown"]
                    assert {READS[each.read_policy] for each in won} == set(when) if when else len(won) == reads
        differ = {frozenset((each.left, each.right)) for each in line.rests if each.verdict != "no-difference-shown"}
        if at := re.search(r"was proven between ([^.,]*)", line.text):
            assert not [pair for pair in differ if pair <= _names(at[1])]
        if "Between any other two" in line.text:
            told = [
                frozenset((winner, loser))
                for left, right, _ in LEADS.findall(line.text)
                for winner in _names(left)
                for loser in _names(right)
            ]
            assert differ == set(told)


def _names(text: str) -> set[str]:
    return {name for name in NAMES if re.search(rf"\b{name}\b", text)}


GAIN = re.compile(
    r"If it ([^,.]*), right decisions then go from ([\d\u2013]+) to ([\d\u2013]+)(?: of \d+)? with ([^.]*)\."
)


@check
def advice_on_writing_rests_on_a_test_of_each_row_it_names(found: Judged) -> None:
    lines = [line for line in found.lines if re.match(r"The agent should look up|An agent that looks up", line.text)]
    tested = {
        (each.right, each.read_policy): each.verdict
        for each in found.results.comparisons
        if each.family == "writes" and each.able and each.right not in found.results.doubted()
    }
    shown = {key: verdict_ for key, verdict_ in tested.items() if verdict_ != "no-difference-shown"}
    named = {key for key, verdict_ in shown.items() if key[0] not in found.results.like_oracle}
    assert bool(lines) is any(shown[key] == "right-better" for key in named)
    for line in lines:
        told = set()
        for text, before, after, names in GAIN.findall(line.text):
            (read,) = (read for read, each in READS.items() if each == text)
            if re.match(r"\d+ backends", names):
                return
            told |= {(name, read) for name in _names(names)}
            assert len({tested[name, read] for name in _names(names)}) == 1
            for write, said in (("curated", after), ("append", before)):
                pools = [ways.pool_way(found.results, name, "decisions_right", write, read) for name in _names(names)]  # type: ignore[arg-type]
                own = [pooled.hits or 0 for pooled in pools if pooled]
                assert said == ways.show_range(min(own), max(own))
        assert told == named
        losing = any(shown[key] == "left-better" for key in named)
        assert line.text.startswith("An agent") is losing and (line.tone == "good") is not losing
        rests = re.search(r"If it ([^.;]*), no gain over only adding was proven\.", line.text)
        silent = {read for read, each in READS.items() if rests and each in re.split(", | or ", rests[1])}
        assert silent == {read for _, read in tested} - {read for _, read in named}
        if rest := re.search(r"For ([^.]*), none was proven\.", line.text):
            assert _names(rest[1]) and not _names(rest[1]) & {name for name, _ in named}


@check
def a_robust_way_helps_under_every_reading_and_who_supports_it_is_who_declares_that(found: Judged) -> None:
    results, told = found.results, dict[WritePolicy, dict[Level, list[str]]]()
    rows = [row.key for row in found.board.rows if not row.cold and row.key not in results.doubted()]
    rows = [key for key in rows if key in results.backends and not results.backends[key].control]
    for line in found.lines:
        if line.text.startswith(verdict.ROBUST):
            assert not told and line.rests and {each.verdict for each in line.rests} == {"right-better"}
            for part in line.text.removeprefix(f"{verdict.ROBUST} ").removesuffix(".").split("; or if it "):
                at = re.fullmatch(rf"(.*), with (.*?) \({verdict.TAKES} (.*)\)", part)
                assert at
                (write,) = (write for write, does in ways.WRITE_DESCRIPTIONS.items() if does == at[1])
                won = {key for key in rows if _is_robust(results, key, write)}
                assert _names(at[2]) == won or at[2] == f"{len(won)} backends"
                told[write] = _read_support(at[3], rows)
    assert set(told) == {
        write for write in results.list_writes() if any(_is_robust(results, key, write) for key in rows)
    }  # fmt: skip
    for write, levels in told.items():
        expected = {key: _find_level(results.backends[key], write) for key in rows}
        for level in LEVELS:
            own = [key for key in rows if expected[key] == level]
            assert levels.get(level, []) == own or levels[level] == [f"{len(own)} backends"]


def _is_robust(results: Results, key: str, write: WritePolicy) -> bool:
    found = results.against_cold(key, "decisions_right")
    reads = ways.list_reads(results, key)
    won = [(each := found.get((write, read))) and each.able and each.verdict == "right-better" for read in reads]
    return len(won) > 1 and all(won) and key not in results.like_oracle


def _read_support(text: str, rows: Sequence[str]) -> dict[Level, list[str]]:
    """Level -> its rows, or how many."""
    found: dict[Level, list[str]] = {}
    for level, whose in verdict.SUPPORTED.items():
        if at := re.search(rf"{whose} (.*?)(?=, (?:added by our code for|impossible with) |$)", text):
            named = [key for key in rows if key in _names(at[1])]
            found[level] = {"every backend": [*rows], "no backend": []}.get(at[1], named or [at[1]])
    return found


def _find_level(row: Row, write: WritePolicy) -> Level:
    """The least that what it takes is declared; a lifetime of its own makes it native to let memories expire."""
    assert row.backend is not None
    levels = {each: row.backend.find_support(each).level for each in ASKED}
    least = min((LEVELS[::-1].index(levels[each]) for each in NEEDS[write]), default=LEVELS[::-1].index("native"))
    level = LEVELS[::-1][least]
    if write != "expire" or level == "unsupported":
        return level
    return "emulated" if "unsupported" in (levels["expiry"], levels["update"]) else "native"


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
def what_failed_nowhere_is_good_in_every_row(found: Judged) -> None:
    for line in found.lines:
        if at := re.match(r"No test failed with any backend in: (.*?)\.(?: |$)", line.text):
            heads = [head for head in found.board.trust if re.search(rf"(^|, ){head.head} \(", at[1])]
            assert len(heads) == at[1].count("(")
            for head in heads:
                own = [score for _, score in found.board.list_scores(head.id)]
                assert all(score.judgement == "good" for score in own)
        for names, partly in re.findall(r"([^.:]*): every test( that could run)? passed\.", line.text):
            for name in _names(names):
                own = [found.board.find(name, head.id) for head in found.board.trust]
                assert not [score for score in own if score.judgement == "bad"]
                assert all(score.measured for score in own) is not bool(partly)


@check
def what_is_said_to_lack_a_number_is_all_that_lacks_one(found: Judged) -> None:
    for line in found.lines:
        if at := re.search(r"There is no number for (.*?)\.(?: |$)", line.text):
            told = {name: heads for name, _, heads in (part.partition(" in ") for part in at[1].split("; for "))}
            for row in found.board.rows:
                cells = zip(found.board.columns, row.scores, strict=True)
                none = [head.head for head, score in cells if not score.measured and score.why]
                whole = len(none) == len(found.board.columns)
                assert told.get(row.name, "") == ("every column" if whole else words.join_words(none))


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
def what_a_run_can_prove_is_told_of_its_stories(found: Judged) -> None:
    shown = [
        max(each.left_better, each.right_better)
        for each in found.results.comparisons
        if each.measure == "decisions_right" and each.verdict != "no-difference-shown"
    ]
    for line in found.lines:
        if "no difference in decisions can be proven" in line.text:
            assert not shown
        if at := re.search(r"proven only if at least (\d+) of them show it", line.text):
            assert all(int(at[1]) <= stories for stories in shown) and int(at[1]) <= len(found.results.stories)


@check
def a_few_failed_calls_are_said_and_remove_no_row(found: Judged) -> None:
    said = " ".join(line.text for line in found.lines)
    doubted, beyond = found.results.doubted(), found.results.beyond()
    for row in found.board.rows:
        if row.key in beyond:
            assert any("failed" in note for note in row.notes)
        if row.key in beyond and row.key not in doubted and not found.board.empty:
            assert f"Of {row.name}, 1 of 900 calls failed" in said
            assert not any(score.word == "calls failed" for score in row.scores)


@check
def what_went_wrong_beside_failed_calls_is_told_with_its_doubt(found: Judged) -> None:
    for row in found.board.rows:
        scores = [found.board.find(row.key, head.id) for head in found.board.trust if head.id != SPEED]
        wrong = [score for score in scores if score.measured and score.judgement == "bad"]
        said = [text for line in found.lines for text in DOUBTFUL.findall(line.text) if text[0] == row.name]
        expected = row.key in found.results.doubted() and bool(wrong) and not found.board.empty
        assert bool(said) == expected, (row.name, found.lines)
        for score in wrong if said else ():
            assert (score.cases[0].told if score.cases else score.text) in said[0][1]


DOUBTFUL = re.compile(r"What went wrong with (.*?) may be due to that: (.*?)\.(?: |$)")


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


KINDS = tuple(
    map(
        re.compile,
        (
            r"(Memory helps with|With) .*: more decisions are right than without memory \(.*\.$",
            r"With .*, fewer decisions are right than without memory \(",
            r"For .*, no difference from no memory \(.* right\) could be proven",
            r"Too few stories to tell whether memory helps with .*: without it .* are right\.$",
            r"With .*: no story compares it with no memory\.$",
            r"With .*, more right decisions than without memory \(.*\) were proven only if the agent .*\.$",
            r"With .*, more right decisions than without memory \(.*\) were proven.* no gain .* was proven\.$",
            r"With .*, decisions are .*(better|worse) than no memory (if|unless) the agent .*\. Without memory, .*",
            r"The agent should look up the old note and replace it, not only add the new one\. If it ",
            r"An agent that looks up the old note and replaces it gains in some cases and loses in others\. If it ",
            rf"{verdict.ROBUST} ",
            r".* lead to the same decisions",
            r".* leads? to more right decisions than ",
            r"No difference in right decisions was proven between ",
            r"Of \d+ pairs of backends, \d+ differ in right decisions",
            r"With \d+ stor(y|ies), (no difference in decisions can|a difference is) ",
            r"(There is no number for |\d+ numbers? (is|are) missing in the table)",
            r"As the calls of .* failed, nothing is concluded of what the table shows for (it|them)\.",
            r"Of .* calls failed: ",
            r"No drill was played: ",
            r"Noth?ing (can be concluded|was measured)",
            r"What was measured is in no column of the scoreboard",
            r"No test failed with any backend in: ",
            r".*: every test( that could run)? passed\.$",
            r"[A-Z][\w ]*: .* in .*; no number for .*\.$",
            r"[\w ,]+: .* \(\d+ of \d+\)",
            r"[\w ]+: .*(the test|broken|recalled|every|failed)",
        ),
    )
)
"""Every sentence begins as one of them, so that a new wording cannot slip past the checks of this module."""


@check
def every_line_is_of_a_kind_that_is_checked(found: Judged) -> None:
    for line in found.lines:
        assert any(kind.match(line.text) for kind in KINDS), line.text


@check
def every_claim_stands_in_its_sentence_and_on_the_scoreboard(found: Judged) -> None:
    keys, columns = {row.key for row in found.board.rows}, {head.id for head in found.board.columns}
    for line in found.lines:
        at = 0
        for claim in line.claims:
            assert claim.row in keys and claim.column in columns
            at = line.text.index(claim.phrase, at) + len(claim.phrase)
        assert line.text.endswith(".") and not re.search(r"  |\.\.", line.text), line.text


def test_who_gains_and_who_loses_by_a_look_up_stand_in_one_point() -> None:
    """Generated worlds have it seldom."""
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    gains, loses = (
        {Way("append", "trusting"): before, Way("curated", "trusting"): after}
        for before, after in ((few, many), (many, few))
    )
    rows: Mapping[str, Played] = {"chroma": gains, "notes": loses}
    found = judged(World(rows, few, None, {}, frozenset(), frozenset(), ()).build())
    for each in CHECKS:
        each(found)
    assert (
        "gains in some cases and loses in others. If it takes the first note it gets, right decisions then go from 8 "
        "to 24 of 32 with chroma. If it takes the first note it gets, right decisions then go from 24 to 8 of 32 with "
        "notes." in " ".join(line.text for line in found.lines)
    )


ONE, TWO, SIX = ("mem0",), ("chroma", "mem0"), NAMES


@pytest.mark.parametrize(
    ("names", "levels", "says"),
    [
        (ONE, ("native",), "built into mem0"),
        (ONE, ("emulated",), "built into no backend, added by our code for mem0"),
        (TWO, ("native", "native"), "built into every backend"),
        (TWO, ("native", "unsupported"), "built into chroma, impossible with mem0"),
        (TWO, ("emulated", "unsupported"), "built into no backend, added by our code for chroma, impossible with mem0"),
        (TWO, ("unsupported", "unsupported"), "built into no backend, impossible with every backend"),
        (SIX, ("native",) * 5 + ("emulated",), "built into 5 backends, added by our code for own"),
    ],
)
def test_who_supports_a_robust_way_is_told_of_one_of_many_of_all_and_of_none(
    names: Sequence[str], levels: Sequence[Level], says: str
) -> None:
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    own = {Way(write, read): many if write == "curated" else few for write in USUAL_WRITES for read in READ_POLICIES}
    declared = {name: dict.fromkeys(ASKED, level) for name, level in zip(names, levels, strict=True)}
    world = World(dict.fromkeys(names, own), few, None, {}, frozenset(), frozenset(), (), declared)
    found = judged(world.build())
    for each in CHECKS:
        each(found)
    (line,) = (line.text for line in found.lines if line.text.startswith(verdict.ROBUST))
    whose = words.join_words(names) if len(names) < 5 else f"{len(names)} backends"
    assert line == f"{verdict.ROBUST} looks up the old note before it writes, with {whose} ({verdict.TAKES} {says})."


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.tuples(st.lists(LEVEL, min_size=5, max_size=5), st.booleans()), min_size=1
    )
)
def test_generated_declarations_make_no_sentence_on_support_false(
    known: Mapping[str, tuple[Sequence[Level], bool]],
) -> None:
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    ways_: tuple[WritePolicy, ...] = "append", "curated", "expire", "deprecate-on-commit"
    rows: Mapping[str, Played] = {
        name: {Way(write, read): many if robust and write != "append" else few
               for write in ways_ for read in READ_POLICIES[:2]}
        for name, (_, robust) in known.items()
    }  # fmt: skip
    declared = {name: dict(zip(ASKED, levels, strict=True)) for name, (levels, _) in known.items()}
    found = judged(World(rows, few, None, {}, frozenset(), frozenset(), (), declared).build())
    a_robust_way_helps_under_every_reading_and_who_supports_it_is_who_declares_that(found)
    assert any(robust for _, robust in known.values()) is any(verdict.ROBUST in line.text for line in found.lines)


def test_no_way_is_called_robust_that_was_read_in_one_way_or_helps_in_some_alone() -> None:
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    once: Played = {Way("curated", "trusting"): many, Way("append", "trusting"): few}
    some: Played = {**once, Way("curated", "newest"): few, Way("append", "newest"): few}
    for own in (once, some):
        found = judged(World({"mem0": own}, few, None, {}, frozenset(), frozenset(), ()).build())
        assert not [line for line in found.lines if line.text.startswith(verdict.ROBUST)]
