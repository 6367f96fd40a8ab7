"""Which commit came before which, also in a history that is long."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from harness.repo.history import History


def make(parents: dict[str, tuple[str, ...]]) -> History:
    return History("shop", parents, {}, {})


def test_a_commit_contains_itself_and_all_that_leads_to_it() -> None:
    rolled = random.Random(3)
    parents: dict[str, tuple[str, ...]] = {"0": ()}
    for at in range(1, 60):
        parents[str(at)] = tuple({str(rolled.randrange(max(0, at - 9), at)) for _ in range(rolled.choice((1, 1, 2)))})
    ancestors: dict[str, set[str]] = {}
    for commit, before in parents.items():
        ancestors[commit] = {commit}.union(*(ancestors[each] for each in before))
    history = make(parents)
    for commit in parents:
        assert {each for each in parents if history.contains(commit, each)} == ancestors[commit]
    for head in parents:
        assert history.list_later("0", head) == [each for each in parents if each in ancestors[head] - {"0"}]


@pytest.mark.slow
def test_a_long_history_is_not_held_once_for_each_commit_that_is_asked_for() -> None:
    names = [f"{at:040x}" for at in range(2000)]
    history = make({name: tuple(names[max(0, at - 1) : at]) for at, name in enumerate(names)})
    tracemalloc.start()
    try:
        assert all(history.contains(name, names[max(0, at - 3)]) for at, name in enumerate(names))
        assert all(len(history.list_later(names[0], name)) == at for at, name in enumerate(names) if at % 40 == 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_the_ancestors_of_the_last_few_heads_are_remembered() -> None:
    """Of five too, of which none had to go."""
    names = [f"{at:040x}" for at in range(20)]
    history = make({name: tuple(names[max(0, at - 1) : at]) for at, name in enumerate(names)})
    kept = []
    for name in names:
        history.list_later(names[0], name)
        kept.append(len(history._ancestors))
    assert kept == [*range(1, 9), *[8] * 12]
