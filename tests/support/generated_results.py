"""Generated results: worlds of what was played, drawn by hypothesis, and what is judged of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from hypothesis import strategies as st

from harness.compare.rows import Way
from harness.model.backend import Declared
from harness.model.cells import Faults
from harness.model.results import Results, Row, TwinGroup, Unplayed
from harness.model.trial import READ_POLICIES, USUAL_WRITES, NotMeasured, ReadPolicy, WritePolicy
from harness.report.model import board as scoreboard
from harness.report.model import ways
from harness.report.model.board import Board
from harness.report.model.sections import Level
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


def judged(results: Results) -> Judged:
    board = scoreboard.collect(results)
    return Judged(results, board, verdict.judge(results, board))
