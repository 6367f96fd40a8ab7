"""The scripted reader: which entry it takes under which policy, and what it does when memory says nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from harness.adapter import Hit, Scope, Source, Verdict, VerdictKind
from harness.log.parts import Choice
from harness.model.job import Job
from harness.model.scenario import Scenario
from harness.model.trial import READ_POLICIES, ReadPolicy
from harness.play.readers import Context, Outcome, ReadEntry, explore, scripted
from harness.play.readers.explore import Explorer
from harness.play.readers.scripted import Scripted
from harness.repo.checkout import Repo
from harness.text.classify import Classifier
from tasks import loader
from tests.unit.conftest import House

OLD, NEW = "We deploy to harborline.", "We deploy to kestrelway instead of harborline."
BOTH = "We deploy to harborline. We deploy to kestrelway."


@pytest.fixture(scope="module")
def story(lasting: House) -> tuple[Scenario, Repo]:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    return scenario, repo


def context(story: tuple[Scenario, Repo], number: str = "0003", policy: ReadPolicy | None = None) -> Context:
    scenario, repo = story
    return Context(
        repo, Explorer(repo), Classifier(scenario), lambda text: len(text.split()), repo.resolve(number),
        Scope(repo="shop"), datetime(2024, 1, 5, tzinfo=UTC), policy,
    )  # fmt: skip


def job(story: tuple[Scenario, Repo]) -> Job:
    ((_, found),) = story[0].jobs()
    return found


def work(
    story: tuple[Scenario, Repo], *hits: str | Hit, policy: ReadPolicy | None = "trusting", number: str = "0003"
) -> Outcome:
    made = [hit if isinstance(hit, Hit) else Hit(f"m{i}", hit) for i, hit in enumerate(hits)]
    entries = [ReadEntry(i, hit.text, hit) for i, hit in enumerate(made)]
    return Scripted().work(job(story), context(story, number, policy), lambda *_: entries)


def choice(*args: Any, **more: Any) -> Choice:
    (made,) = work(*args, **more).choices
    return made


def dated(text: str, created: str | None, **more: Any) -> Hit:
    return Hit(f"{text} {created}", text, created=created, **more)


# --- which entry -----------------------------------------------------------------------------------------------------


def test_trusting_takes_the_first_usable_entry(story: tuple[Scenario, Repo]) -> None:
    made = choice(story, "Lunch is at noon", OLD, NEW)
    assert (made.value, made.origin, made.entry, made.fact, made.usable) == (
        "harborline",
        "memory",
        1,
        "old-platform",
        2,
    )
    assert choice(story, NEW, OLD).value == "kestrelway"


def test_newest_takes_the_latest_date_across_time_zones(story: tuple[Scenario, Repo]) -> None:
    later = dated(NEW, "2024-01-02T01:00:00+02:00")
    earlier = dated(OLD, "2024-01-01T20:00:00-05:00")  # two hours after, in the world
    assert choice(story, later, earlier, policy="newest").value == "harborline"


@pytest.mark.parametrize("nonsense", [None, "", "yesterday", "2024-13-45", "\x00", "9" * 400])
def test_what_has_no_date_is_the_oldest_of_all_and_counted(story: tuple[Scenario, Repo], nonsense: str | None) -> None:
    made = choice(story, dated(OLD, nonsense), dated(NEW, "1999-01-01"), policy="newest")
    assert (made.value, made.undated) == ("kestrelway", 1)


def test_equal_dates_go_by_rank(story: tuple[Scenario, Repo]) -> None:
    same = "2024-01-02T10:00:00+00:00"
    for first, second in ((OLD, NEW), (NEW, OLD)):
        made = choice(story, dated(first, same), dated(second, same), policy="newest")
        assert made.entry == 0


def source(story: tuple[Scenario, Repo], number: str, line: int = 3) -> Source:
    return Source(story[1].resolve(number), "docs/deploy.md", line)


def test_verifying_ranks_by_what_git_says_at_head(story: tuple[Scenario, Repo]) -> None:
    gone = Hit("a", OLD, source=source(story, "0001"))
    stands = Hit("b", NEW, source=source(story, "0002"))
    silent = Hit("c", OLD)
    dangling = Hit("d", OLD, source=Source("0" * 40, "docs/deploy.md", 3))
    made = choice(story, gone, silent, dangling, stands, policy="verifying", number="0002")
    assert (made.memory_id, made.standing, made.usable) == ("b", "verified", 4)
    made = choice(story, gone, dangling, silent, policy="verifying", number="0002")
    assert (made.memory_id, made.standing) == ("d", "unverifiable")
    made = choice(story, gone, policy="verifying", number="0002")
    assert (made.value, made.standing) == ("harborline", "contradicted")


def test_careful_takes_the_newest_that_git_does_not_contradict(story: tuple[Scenario, Repo]) -> None:
    gone = dated(OLD, "2024-01-04", source=source(story, "0001"))
    stands = dated(NEW, "2024-01-02", source=source(story, "0002"))
    told = dated(OLD, "2024-01-03")
    assert choice(story, gone, stands, policy="careful", number="0002").entry == 1
    made = choice(story, gone, stands, told, policy="careful", number="0002")
    assert (made.entry, made.standing) == (2, "unverifiable")  # newer than the line that stands
    assert choice(story, gone, policy="careful", number="0002").value == "harborline"  # better than nothing


def test_careful_takes_of_one_day_the_surest(story: tuple[Scenario, Repo]) -> None:
    hits = [dated(OLD, "2024-01-03", confidence=each) for each in (None, 0.4, 0.9)]
    assert choice(story, *hits, policy="careful").entry == 2
    assert choice(story, *hits, dated(NEW, "2024-01-04"), policy="careful").value == "kestrelway"


def test_verifying_pays_for_each_line_that_it_looks_up(story: tuple[Scenario, Repo]) -> None:
    hits = [Hit("a", OLD, source=source(story, "0001")), Hit("b", NEW, source=source(story, "0002")), Hit("c", OLD)]
    trusting, verifying, careful = (
        work(story, *hits, policy=policy) for policy in ("trusting", "verifying", "careful")
    )
    assert careful.reads == verifying.reads
    assert [(read.path, read.line) for read in verifying.reads] == [("docs/deploy.md", 3)] * 2
    assert trusting.reads == [] and verifying.prompt == trusting.prompt + sum(read.tokens for read in verifying.reads)


# --- what is no usable entry -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", READ_POLICIES)
@pytest.mark.parametrize(
    "hit",
    [
        Hit("m", "Lunch is at noon"),
        Hit("m", BOTH),
        Hit("m", "We do not deploy to harborline."),
        Hit("m", OLD, superseded=True),
        Hit("m", OLD, scope=Scope(repo="other")),
        Hit("m", OLD, scope=Scope(repo="shop", branch="main")),
        Hit("m", ""),
    ],
    ids=["other", "two options", "denied", "marked", "elsewhere", "another branch", "empty"],
)
def test_an_entry_that_decides_nothing_is_not_used(story: tuple[Scenario, Repo], hit: Hit, policy: ReadPolicy) -> None:
    assert choice(story, hit, policy=policy).origin == "nowhere"


@pytest.mark.parametrize(
    ("kind", "heeded", "trusted"),
    [("stale", NEW, OLD), ("expired", NEW, OLD), ("contradicted", NEW, OLD), ("superseded", NEW, NEW),
     ("unverified", OLD, OLD)],
)  # fmt: skip
def test_careful_leaves_out_what_the_backend_warns_of(
    story: tuple[Scenario, Repo], kind: VerdictKind, heeded: str, trusted: str
) -> None:
    hits = [Hit("a", OLD, verdict=Verdict(kind)), Hit("b", NEW)]
    names = {OLD: "a", NEW: "b"}
    assert choice(story, *hits, policy="careful").memory_id == names[heeded]
    for policy in ("trusting", "newest", "verifying"):
        assert choice(story, *hits, policy=policy).memory_id == names[trusted]


def test_scope_is_what_the_backend_returned(story: tuple[Scenario, Repo]) -> None:
    assert choice(story, Hit("m", OLD, scope=Scope())).value == "harborline"
    assert choice(story, Hit("m", OLD, scope=Scope(repo="shop"))).value == "harborline"


# --- without memory --------------------------------------------------------------------------------------------------


def test_what_memory_does_not_say_is_looked_for_in_the_repository(story: tuple[Scenario, Repo]) -> None:
    made = choice(story, "Lunch is at noon", number="0001")
    assert (made.value, made.origin, made.path, made.line) == ("harborline", "repo", "docs/deploy.md", 3)
    assert made == choice(story, policy=None, number="0001")


def test_a_line_of_the_repository_has_the_number_that_git_gives_it(
    story: tuple[Scenario, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "# Deploy\x0c\N{LINE SEPARATOR}\n\nThe platform is harborline.\n"
    monkeypatch.setattr(Repo, "files", lambda *_: {"docs/deploy.md": said})
    assert choice(story, policy=None, number="0001").line == 3


def test_what_nobody_says_is_unresolved_and_never_guessed(story: tuple[Scenario, Repo]) -> None:
    for policy in (None, *READ_POLICIES):
        made = choice(story, policy=policy)
        assert (made.value, made.origin, made.fact) == (None, "nowhere", None)


def test_the_cold_arm_does_not_read_memory(story: tuple[Scenario, Repo]) -> None:
    assert choice(story, NEW, policy=None).origin == "nowhere"


def test_exploring_stops_at_the_cap_and_opens_no_file_twice(
    story: tuple[Scenario, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = job(story).model_copy(update={"decisions": job(story).decisions * 2})
    outcome = Scripted().work(twice, context(story), lambda *_: ())
    paths = [read.path for read in outcome.reads]
    assert paths and len(paths) == len(set(paths)) and {read.decision for read in outcome.reads} == {"target"}
    monkeypatch.setattr(scripted, "CAP", 1)
    poor = work(story, policy=None, number="0001")
    assert poor.reads == [] and poor.choices[0].origin == "nowhere"


def test_exploration_ranks_by_words_and_ties_by_path(story: tuple[Scenario, Repo]) -> None:
    commit = story[1].resolve("0001")
    explorer = Explorer(story[1])
    assert explorer.rank(commit, "deploy platform")[0] == "docs/deploy.md"
    assert explorer.rank(commit, "zzz qqq") == explorer.rank(commit, "") == []
    assert explorer.rank(commit, "Order TARGET")[0] == "ops/order.toml"
    assert explore.split_words("ops/order.toml [ship] Über") == ["ops", "order", "toml", "ship", "ber"]
