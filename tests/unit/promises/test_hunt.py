"""The hunt for broken promises, against stores in this process that are sound or have one fault."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from harness.adapter import CAPABILITIES, Ack, Filter, Hit, Item, Scope, applies, fits
from harness.backend.client import MemoryFault, RemoteMemory
from harness.model.backend import Backend, Declared, Fault
from harness.model.sequence import LATER, VERSION, SequenceError, Step, read_case
from harness.model.trial import digest
from harness.play import sequences
from harness.play.store import Store
from harness.promises import generator, words
from harness.promises.hunt import Hunted, Play, hunt
from harness.promises.oracle import judge

LACKING = ("extracts", "masks", "multi_process", "history", "snapshot", "restore", "expiry")
BACKEND = Backend(
    name="shelf",
    version="1",
    support={name: Declared(level="unsupported" if name in LACKING else "native") for name in CAPABILITIES},
)
API, OTHER = Scope(repo="api"), Scope(repo="a%i")


class Shelf:
    """Keeps the contract. Its rows outlive it, as a file would."""

    took = 0.0

    def __init__(self, rows: dict[str, Item], names: Any) -> None:
        self.rows, self.names = rows, names

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = [Ack((f"id{next(self.names)}",) if item.text.strip() else ()) for item in items]
        self.rows.update({ack.ids[0]: item for ack, item in zip(acks, items, strict=True) if ack.ids})
        return acks

    def settle(self, seconds: float) -> bool:
        return True

    def hit(self, name: str) -> Hit:
        item = self.rows[name]
        return Hit(name, item.text, None, item.source, item.at, item.scope, confidence=item.confidence)

    def sees(self, name: str, scope: Scope) -> bool:
        return name in self.rows and applies(self.rows[name].scope, scope)

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        seen = [name for name in self.rows if self.sees(name, scope) and fits(self.rows[name], where)]
        holding = [name for name in seen if (self.rows[name].expires or LATER) > at]
        return [self.hit(name) for name in sorted(holding, key=lambda name: self.rows[name].text != query)[:k]]

    def deprecate(self, scope: Scope, names: Sequence[str], at: str) -> list[bool]:
        seen = [self.sees(name, scope) for name in names]
        for name in (name for name, there in zip(names, seen, strict=True) if there):
            self.rows[name] = replace(self.rows[name], expires=min(at, self.rows[name].expires or at))
        return seen

    def entries(self, scope: Scope) -> list[Hit]:
        return [self.hit(name) for name, item in self.rows.items() if item.scope == scope]

    def get(self, scope: Scope, name: str) -> Hit | None:
        return self.hit(name) if self.sees(name, scope) else None

    def update(self, scope: Scope, name: str, item: Item) -> Ack:
        if not self.sees(name, scope):
            return Ack(())
        self.rows[name] = item
        return Ack((name,))

    def supersede(self, scope: Scope, names: Sequence[str], item: Item) -> Ack:
        self.forget(scope, names)
        return self.remember([item])[0]

    def forget(self, scope: Scope, names: Sequence[str]) -> list[bool]:
        return [self.sees(name, scope) and self.rows.pop(name) is not None for name in names]

    def forget_scope(self, scope: Scope) -> None:
        for name in [name for name, item in self.rows.items() if item.scope == scope]:
            del self.rows[name]

    def close(self) -> None: ...
    def kill(self) -> None: ...


class ForgetsAHundred(Shelf):
    def forget_scope(self, scope: Scope) -> None:
        for name in [name for name, item in self.rows.items() if item.scope == scope][:100]:
            del self.rows[name]


class ListsByPattern(Shelf):
    def entries(self, scope: Scope) -> list[Hit]:
        wild = scope == OTHER
        return [
            self.hit(name) for name, item in self.rows.items() if item.scope == scope or (wild and item.scope == API)
        ]


class MarksTheSuperseded(Shelf):
    """Keeps what was superseded, and says so wherever it comes back."""

    def hit(self, name: str) -> Hit:
        return replace(super().hit(name), superseded=f"over {name}" in self.rows or None)

    def supersede(self, scope: Scope, names: Sequence[str], item: Item) -> Ack:
        self.rows.update({f"over {name}": replace(item, scope=Scope(org="none")) for name in names})
        return self.remember([item])[0]


class LeaksTheSuperseded(MarksTheSuperseded):
    def entries(self, scope: Scope) -> list[Hit]:
        return [
            self.hit(name) for name, item in self.rows.items() if item.scope == scope or f"over {name}" in self.rows
        ]

    def sees(self, name: str, scope: Scope) -> bool:
        return super().sees(name, scope) or f"over {name}" in self.rows


class AnswersAtRandom(Shelf):
    luck = random.Random(7)

    def entries(self, scope: Scope) -> list[Hit]:
        return [] if self.luck.random() < 0.5 else super().entries(scope)


class Dies(Shelf):
    def get(self, scope: Scope, name: str) -> Hit | None:
        raise MemoryFault(Fault(kind="timed-out", op="get", message="no answer within 5 s"), alive=False)


class DiesOnSupersede(Shelf):
    """Of whatever memory, which first is one of a batch."""

    def supersede(self, scope: Scope, names: Sequence[str], item: Item) -> Ack:
        raise MemoryFault(Fault(kind="crashed", op="supersede", message="no"), alive=False)


class ListsTooMuch(Shelf):
    """Sound, but its answers are longer than we read."""

    def entries(self, scope: Scope) -> list[Hit]:
        raise MemoryFault(
            Fault(kind="limit", op="entries", message="an answer of 9 bytes; at most 8 are read"), alive=True
        )


class NeverSettles(Shelf):
    def settle(self, seconds: float) -> bool:
        return False


class CountsFromTheLast(Shelf):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = []
        for item in items:
            name = f"id{1 + max((int(name[2:]) for name in self.rows), default=0)}"
            acks.append(Ack((name,) if item.text.strip() else ()))
            self.rows.update({name: item} if item.text.strip() else {})
        return acks


class _Place:
    backend = BACKEND

    def __init__(self, kind: type[Shelf]) -> None:
        self.kind, self.rows, self.names = kind, dict[str, Item](), count()

    def open(self) -> Shelf:
        return self.kind(self.rows, self.names)


def play(kind: type[Shelf], steps: tuple[Step, ...]) -> Play:
    return sequences.play(cast("Store[RemoteMemory]", _Place(kind)), steps)


def search(kind: type[Shelf], *, operations: int = 20_000, seconds: float = 60, seed: int = 1) -> Hunted:
    return hunt(lambda steps: play(kind, steps), BACKEND, seed, operations, seconds, largest=101)


@pytest.mark.slow
def test_a_sound_store_holds() -> None:
    found = search(Shelf, operations=5000)
    assert found.verdict == "held", found.shortest
    assert found.calls >= 5000


def test_an_answer_that_is_longer_than_we_read_breaks_no_promise() -> None:
    assert search(ListsTooMuch, operations=500).verdict == "held"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "steps", "says"),
    [
        (ForgetsAHundred, ["remember 101 memories in one call (m1 to m101) in repo=api", "forget the scope repo=api",
                           "list repo=api"], "m101, which is gone, is listed in repo=api"),
        (ListsByPattern, ["remember a memory (m1) in repo=api", "list repo=a%i"],
         "m1 of repo=api is listed in repo=a%i"),
        (DiesOnSupersede, ["remember a memory (m1) in repo=api", "supersede m1 by a memory (m2), asked in repo=api"],
         "supersede crashed: no"),
        (NeverSettles, ["list repo=api"], "settle breach: not settled after 20 s"),
        (Dies, ["get an unknown id, asked in repo=api"], "get timed-out: no answer within 5 s"),
    ],
)  # fmt: skip
def test_finds_the_shortest_sequence(kind: type[Shelf], steps: list[str], says: str) -> None:
    found = search(kind, seed=6 if kind is ForgetsAHundred else 1)
    assert found.verdict == "broken"
    assert found.shrunk
    assert found.shortest is not None
    assert found.shortest.differs is not None
    told = words.tell(found.shortest.steps)
    if kind is NeverSettles:
        assert told[-1].startswith(("list", "get", "recall"))
    elif kind is Dies:
        assert told[-1].startswith("get")
        assert len(told) <= 2
    else:
        assert (told, found.shortest.differs.says) == (steps, says)
    assert found.shortest.differs.says == says


def test_the_id_of_a_deleted_memory_may_come_again_only_for_the_same_content() -> None:
    found = search(CountsFromTheLast)
    assert found.shortest is not None
    assert found.shortest.differs is not None
    assert found.shortest.differs.kind == "reissued id"


def test_random_answers_are_told_as_such_and_not_made_shorter() -> None:
    found = search(AnswersAtRandom)
    assert found.verdict == "random"
    assert not found.shrunk
    assert found.shortest is not None
    assert found.other is not None
    assert found.shortest.differs != found.other.differs


@pytest.mark.slow
def test_a_budget_that_ends_while_shrinking_keeps_the_shortest_so_far() -> None:
    assert search(ForgetsAHundred, seconds=0).verdict == "held"  # one sequence is played whatever the time
    steps = (
        *(Step(op="remember", scope=OTHER) for _ in range(5)),
        Step(op="remember", scope=API, count=150),
        Step(op="forget_scope", scope=API),
        Step(op="entries", scope=API),
        Step(op="entries", scope=OTHER),
    )
    told = list[str]()
    found = hunt(lambda steps: play(ForgetsAHundred, steps), BACKEND, 1, 1, 0, 101, [steps], told.append)
    assert (found.verdict, found.shrunk) == ("broken", False)
    assert found.shortest is not None
    assert found.shortest.steps == steps[:-1]
    assert found.shortest.differs is not None
    assert told[-1] == "the time was over before the sequence was as short as it can be"
    found = hunt(lambda steps: play(ForgetsAHundred, steps), BACKEND, 1, 1, 0, 101, [steps], shorten=60)
    assert found.shrunk, "making it shorter has seconds of its own"


def test_what_was_found_before_is_played_first() -> None:
    steps = (Step(op="remember", scope=API), Step(op="entries", scope=OTHER))
    found = hunt(lambda steps: play(ListsByPattern, steps), BACKEND, 1, 1, 60, 101, [steps])
    assert (found.again, found.sequences) == (True, 1)


def test_answers_that_were_recorded_are_judged_alike() -> None:
    steps = (Step(op="remember", scope=API), Step(op="entries", scope=OTHER))
    played = play(ListsByPattern, steps)
    assert played.differs is not None
    assert judge(BACKEND, played.steps, played.answers) == played.differs
    assert judge(BACKEND, steps, play(Shelf, steps).answers) is None


@pytest.mark.parametrize(
    "look",
    [Step(op="entries", scope=OTHER), Step(op="get", scope=OTHER, of=(0,)), Step(op="recall", scope=OTHER, of=(0,))],
    ids=lambda look: look.op,
)
def test_what_was_superseded_is_no_less_a_leak_for_saying_so(look: Step) -> None:
    steps = (Step(op="remember", scope=API), Step(op="supersede", scope=API, of=(0,)), look)
    assert play(MarksTheSuperseded, (*steps[:2], look.model_copy(update={"scope": API}))).differs is None
    assert play(MarksTheSuperseded, steps).differs is None
    differs = play(LeaksTheSuperseded, steps).differs
    assert differs is not None
    assert (differs.at, differs.kind) == (2, "leak")
    assert differs.says.startswith("m1, which was superseded, is ")


def test_a_seed_gives_the_same_sequences_everywhere() -> None:
    drawn = [[step.model_dump(mode="json") for step in generator.draw(1, turn, BACKEND, 1030)] for turn in range(50)]
    assert digest(drawn)[:16] == "24a8cb5117682f52"


def test_what_a_backend_lacks_is_left_out() -> None:
    drawn = [step for turn in range(100) for step in generator.draw(3, turn, BACKEND, 1030)]
    assert {"history", "snapshot", "restore"}.isdisjoint(step.op for step in drawn)
    assert {step.who for step in drawn} == {"a"}
    lame = replace_support(BACKEND, scope_user="unsupported")
    assert not any(step.scope.user for turn in range(100) for step in generator.draw(3, turn, lame, 1030))


def test_a_shorter_sequence_names_no_scope_that_the_backend_lacks() -> None:
    """Else it shows the same for another reason."""
    users = replace_support(BACKEND, scope_repo="unsupported")
    steps = (Step(op="remember", scope=Scope(user="None"), form="long"), Step(op="get", scope=Scope(), of=(0,)))
    for backend, repositories in ((users, {None}), (BACKEND, {None, "api", "api-internal"})):
        shorter = [*generator.simplify(steps, backend)]
        assert {step.scope.repo for each in shorter for step in each} == repositories


def replace_support(backend: Backend, **levels: Any) -> Backend:
    changed = {name: Declared(level=level) for name, level in levels.items()}
    return backend.model_copy(update={"support": {**backend.support, **changed}})


def test_leaving_out_a_step_renumbers_what_comes_later() -> None:
    steps = (
        Step(op="remember", scope=API, count=3),
        Step(op="remember", scope=API),
        Step(op="forget", scope=API, of=(1, 3)),
        Step(op="get", scope=API, of=(3,)),
    )
    assert generator.drop(steps, 0) == (
        Step(op="remember", scope=API),
        Step(op="forget", scope=API, of=(0,)),
        Step(op="get", scope=API, of=(0,)),
    )
    fewer = generator.lessen(steps, 0, 1)
    assert fewer is not None
    assert [step.of for step in fewer] == [(), (), (1,), (1,)]
    fewer = generator.lessen(steps, 0, 2, first=True)
    assert fewer is not None
    assert [step.of for step in fewer] == [(), (), (0, 2), (2,)]
    marked = (Step(op="snapshot"), Step(op="snapshot"), Step(op="restore", of=(1,)), Step(op="restore", of=(0,)))
    assert generator.drop(marked, 0) == (Step(op="snapshot"), Step(op="restore", of=(0,)))


def test_a_sequence_of_another_version_is_refused_in_one_line() -> None:
    text = '{"version": %d, "backend": "shelf", "steps": []}'
    assert read_case(Path("a.json"), text % VERSION).backend == "shelf"
    with pytest.raises(SequenceError, match=r"^a\.json: a sequence of version 99; this coldwarm plays version 1$"):
        read_case(Path("a.json"), text % 99)
    with pytest.raises(SequenceError, match=r"^a\.json: not a sequence of operations: steps: Field required$"):
        read_case(Path("a.json"), '{"version": 1, "backend": "shelf"}')


def test_every_scope_has_another_name_in_words() -> None:
    named = [words.name_scope(scope) for scope in generator.SCOPES]
    assert len(set(named)) == len(named)
    assert words.name_scope(replace(API, user="")) == 'repo=api user=""'


def test_a_copy_of_nothing_is_told_as_plain() -> None:
    steps = (Step(op="remember", scope=API, form="again"), Step(op="remember", scope=API, of=(0,), form="again"))
    assert words.tell(steps) == [
        "remember a memory (m1) in repo=api",
        "remember a memory with the text of m1 (m2) in repo=api",
    ]
