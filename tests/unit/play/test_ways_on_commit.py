"""The hook `on-commit` in histories made with plain git: renames, reverts, force-pushes, branches, and failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Source
from harness.log.events import Retired
from harness.log.reader import Log
from harness.model.trial import WritePolicy
from tasks import loader
from tests.support.fakes import FakeHost
from tests.support.foreign import Foreign
from tests.support.story_player import Stage
from tests.unit.conftest import House

RULE = "platform: {} for the whole shop\n"
OLD, NEW = RULE.format("harborline"), RULE.format("kestrelway")
REST = "".join(f"Line {at} of the handbook stays as it is.\n" for at in range(8))
DAY = "2024-02-{:02}T10:00:00+00:00"
HEAD = """
schema = 1
version = 1
kind = "stale-deploy-rule"
title = "A history"
story = "Told in a test."
scope = {{repo = "theirs"}}
fixture = {{git = "{path}", commit = "{pin}"}}
"""
FACT = """
[[facts]]
id = "{id}"
type = "project"
since = 2024-01-01T10:00:00Z
source = {{commit = "{commit}", path = "{path}", line = {line}}}
scope = {{{scope}}}
forms = [["{word}"]]
identifier = "{id} is {word}"
plain = "We deploy to {word}."
paraphrase = "Releases go out through {word}."
rewrites = ["{word} it is", "use {word}", "to {word}"]
"""
SESSION = """
[[sessions]]
id = "s{at}"
at = {day}
by = "ada"
commit = "{commit}"
scope = {{repo = "theirs"{branch}}}
steps = [{step}]
"""
PROBE = '{{do = "probe", id = "asked-{at}", ask = {{plain = "Where do we deploy to?"}}, gold = ["{gold}"]}}'
SIDE = ', branch = "side"'


@pytest.fixture
def theirs(tmp_path: Path) -> Foreign:
    return Foreign(tmp_path / "theirs")


class History:
    """Plays a story of facts that are told in the first session, over sessions at commits of a repository."""

    def __init__(self, house: House, theirs: Foreign) -> None:
        self.house, self.theirs, self.facts = house, theirs, dict[str, str]()

    def tell(self, commit: str, path: str = "docs/deploy.md", line: int = 1, **more: str) -> None:
        told = {"id": "platform", "word": "harborline", "scope": 'repo = "theirs"', **more}
        self.facts[told["id"]] = FACT.format(commit=commit, path=path, line=line, **told)

    def play(
        self, commits: Sequence[str], write: WritePolicy = "on-commit", branches: Sequence[str] = (), **more: Any
    ) -> tuple[Log, FakeHost]:
        """Sessions at these commits; the last commit of the repository is pinned."""
        pin = self.theirs.git("rev-parse", "trunk")
        text = HEAD.format(path=self.theirs.path, pin=pin) + "".join(self.facts.values())
        for at, (commit, branch) in enumerate(zip(commits, branches or [""] * len(commits), strict=True)):
            told = ", ".join(f'"{each}"' for each in self.facts)
            step = PROBE.format(at=at, gold=next(iter(self.facts))) if at else f'{{do = "learn", facts = [{told}]}}'
            text += SESSION.format(at=at, day=DAY.format(at + 1), commit=commit, branch=branch, step=step)
        ((scenario, repo),) = loader.load([self.house.write(text)], self.house.fixtures, self.house.cache)
        host = FakeHost(self.house.cache / f"store-{write}", **more)
        return Stage.of(scenario, repo).play(self.house.cache / write, host, write_policy=write), host


@pytest.fixture
def history(house: House, theirs: Foreign) -> History:
    return History(house, theirs)


def list_kept(host: FakeHost) -> list[tuple[str, Source | None]]:
    return [(each.text, each.source) for each in host.items.values()]


def cite(commit: str, path: str, line: int = 1) -> Source:
    return Source(commit, path, line, "s0")


def test_a_rename_that_is_also_a_rewrite_is_followed_into_the_new_file(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST})
    theirs.git("rm", "--quiet", "docs/deploy.md")
    second = theirs.commit({"docs/ship.md": "# Ship\n" + NEW + REST})
    history.tell(first)
    log, host = history.play([first, second])
    assert list_kept(host) == [("We deploy to kestrelway.", cite(second, "docs/ship.md", 2))]
    assert not log.list_events(Retired)


def test_a_rewrite_cites_the_line_as_git_counts_it(theirs: Foreign, history: History) -> None:
    head = "# Ship\x0c this form feed ends no line\n"
    first = theirs.commit({"docs/deploy.md": head + OLD + REST})
    second = theirs.commit({"docs/deploy.md": head + NEW + REST})
    history.tell(first, line=2)
    _, host = history.play([first, second])
    assert list_kept(host) == [("We deploy to kestrelway.", cite(second, "docs/deploy.md", 2))]


def test_what_git_takes_for_no_rename_is_gone(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST})
    theirs.git("rm", "--quiet", "docs/deploy.md")
    second = theirs.commit({"docs/ship.md": NEW + "Everything else is new.\n" * 20})
    history.tell(first)
    log, host = history.play([first, second])
    (retired,) = log.list_events(Retired)
    assert retired.rule == "gone" and not host.items


def test_a_revert_brings_the_old_words_back(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST})
    second = theirs.commit({"docs/deploy.md": NEW + REST})
    theirs.git("revert", "--no-edit", "HEAD")
    third = theirs.git("rev-parse", "HEAD")
    history.tell(first)
    _, host = history.play([first, second, third])
    assert [item.text for _, _, item in host.asked("supersede")] == [  # type: ignore[attr-defined]
        "We deploy to kestrelway.", "We deploy to harborline.",
    ]  # fmt: skip
    assert list_kept(host) == [("We deploy to harborline.", cite(third, "docs/deploy.md"))]


def test_a_change_that_is_reverted_between_two_sessions_touches_nothing(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST})
    theirs.commit({"docs/deploy.md": REST})
    theirs.git("revert", "--no-edit", "HEAD")
    history.tell(first)
    log, host = history.play([first, theirs.git("rev-parse", "HEAD")])
    assert list_kept(host) == [("We deploy to harborline.", cite(first, "docs/deploy.md"))]
    assert not log.list_events(Retired) and not host.asked("supersede")


def test_no_revert_brings_a_deleted_memory_back(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST})
    second = theirs.commit({"docs/deploy.md": REST})
    theirs.git("revert", "--no-edit", "HEAD")
    history.tell(first)
    log, host = history.play([first, second, theirs.git("rev-parse", "HEAD")])
    assert len(log.list_events(Retired)) == 1 and not host.items


@pytest.mark.parametrize(
    ("now", "kept"),
    [(NEW + REST, "We deploy to kestrelway."), (REST, None), (OLD + REST, "We deploy to harborline.")],
    ids=["it says another word", "it no longer says it", "it still says it"],
)
def test_after_a_force_push_the_branch_says_what_its_new_history_says(
    theirs: Foreign, history: History, now: str, kept: str | None
) -> None:
    first = theirs.commit({"docs/deploy.md": REST})
    pushed = theirs.commit({"docs/deploy.md": OLD + REST})
    theirs.git("branch", "lost")
    theirs.git("reset", "--quiet", "--hard", first)
    forced = theirs.commit({"docs/deploy.md": now})
    theirs.git("merge", "--quiet", "--no-edit", "-s", "ours", "lost")  # a story is told of one history
    history.tell(pushed)
    _, host = history.play([pushed, forced])
    assert list_kept(host) == ([(kept, cite(forced, "docs/deploy.md"))] if kept else [])


def test_a_look_at_an_older_commit_touches_nothing(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": REST})
    second = theirs.commit({"docs/deploy.md": OLD + REST})
    history.tell(second)
    log, host = history.play([second, first, second])
    assert len(host.items) == 1 and not log.list_events(Retired)


def test_each_branch_is_followed_for_its_own_memories(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST, "docs/lane.md": "lane: pier for all\n" + REST})
    theirs.git("checkout", "--quiet", "-b", "side")
    side = theirs.commit({"docs/deploy.md": REST, "docs/lane.md": "lane: quay for all\n" + REST})
    theirs.git("checkout", "--quiet", "trunk")
    trunk = theirs.commit({"docs/deploy.md": NEW + REST, "docs/lane.md": REST})
    theirs.git("merge", "--quiet", "--no-edit", "-s", "ours", "side")
    history.tell(first)
    history.tell(first, "docs/lane.md", id="lane", word="pier", scope='repo = "theirs", branch = "side"')
    _, host = history.play([first, side, trunk], branches=["", SIDE, ""])
    assert sorted(list_kept(host)) == [
        ("We deploy to kestrelway.", cite(trunk, "docs/deploy.md")),
        ("We deploy to quay.", cite(side, "docs/lane.md")),
    ]


@pytest.fixture
def two(theirs: Foreign, history: History) -> list[str]:
    """Two memories whose lines one commit changes, with a session before it and two at it."""
    lane = "lane: {} for all\n" + REST
    first = theirs.commit({"docs/deploy.md": OLD + REST, "docs/lane.md": lane.format("pier")})
    second = theirs.commit({"docs/deploy.md": NEW + REST, "docs/lane.md": lane.format("quay")})
    history.tell(first)
    history.tell(first, "docs/lane.md", id="lane", word="pier")
    return [first, second, second]


BOTH = ["We deploy to kestrelway.", "We deploy to quay."]


def test_a_hook_that_fails_in_the_middle_ends_its_work_in_the_next_session(history: History, two: list[str]) -> None:
    _, half = history.play(two[:2], faults={"supersede": [None, ("raised", True)]})
    assert len(half.asked("supersede")) == 2
    assert sum(each.text in BOTH for each in half.items.values()) == 1 and len(half.items) == 2
    log, host = history.play(two, faults={"supersede": [None, ("raised", True)]})
    assert len(host.asked("supersede")) == 3 and log.closed is not None and log.closed.status == "complete"
    assert sorted(each.text for each in host.items.values()) == BOTH


def test_a_hook_that_could_not_mark_the_old_memory_marks_it_later_and_writes_nothing_twice(
    history: History, two: list[str]
) -> None:
    _, host = history.play(two, "deprecate-on-commit", faults={"deprecate": [("raised", True)]})
    old = ["We deploy to harborline.", "We deploy to pier."]
    assert sorted(each.text for each in host.items.values()) == sorted([*old, *BOTH])
    assert {host.items[name].text for name in host.ended} == {*old}


def test_a_hook_that_could_not_delete_tries_again_in_the_next_session(theirs: Foreign, history: History) -> None:
    first = theirs.commit({"docs/deploy.md": OLD + REST})
    second = theirs.commit({"docs/deploy.md": REST})
    history.tell(first)
    log, host = history.play([first, second, second], faults={"forget": [("raised", True)]})
    assert [each.said for each in log.list_events(Retired)] == [None, (True,)] and not host.items
