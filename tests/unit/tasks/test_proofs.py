from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.repo.checkout import FixtureError, Repo
from tests.support.two_repositories import PIER, write_story
from tests.unit.conftest import House, Series


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"stale-deploy-rule"', '"rename"', "kind: is 'rename', but the file lies in the folder 'stale-deploy-rule'"),
        (
            'commit = "0003"',
            'commit = "0099"',
            "sessions.friday.commit: fixture shop: no patch '0099'; the series goes from 0001 to 0003",
        ),
        (
            'commit = "0002", path',
            'commit = "HEAD", path',
            "facts.new-platform.source.commit: fixture shop: no patch 'HEAD'",
        ),
        ('commit = "0002", path', 'commit = "0003", path', "facts.new-platform.source: docs/deploy.md:3 is not there"),
        ('commit = "0001", path', "path", "facts.old-platform.source: needs commit, path and line"),
        (
            'path = "docs/deploy.md", line = 3}',
            'path = "../x", line = 3}',
            "facts.old-platform.source: ../x:3 is not there",
        ),
        (
            "line = 3}",
            "line = 1}",
            "facts.old-platform.source: docs/deploy.md:1 says '# Deploy', no form of 'harborline'",
        ),
        ("line = 3}", 'line = 3, session = "never"}', "facts.old-platform.source.session: unknown session 'never'"),
        ('[["harborline"]]', '[["harbor"]]', "facts.old-platform.source: docs/deploy.md:3 says"),
        (
            'commit = "0002"\n\n',
            'commit = "0001"\n\n',
            "facts.new-platform.source.commit: is later than the commit of session 'tuesday'",
        ),
        (
            'facts = ["old-platform"]',
            'facts = ["old-platform", "approver"]',
            "sessions.monday.learn: fact 'approver' holds only since",
        ),
        (', "approver"]', "]", "facts.approver: is never learnt"),
        (
            '[["release-council"], ["signs"]]',
            '[["Kestrel  Way"]]',
            "facts.approver.forms: prove fact 'new-platform' as well",
        ),
        (
            '[["release-council"], ["signs"]]',
            '[["deploy"]]',
            "facts.approver: has no source, but docs/deploy.md:1 says it",
        ),
        (
            '[["release-council"], ["signs"]]',
            '[["release-council"], ["target"]]',
            "jobs.ship.target.question: holds 'target', an accepted form of fact 'approver'",
        ),
        (
            "Where do we deploy?",
            "Is it kestrel way?",
            "probes.where.ask.plain: holds 'kestrel way', an accepted form of fact 'new-platform'",
        ),
        ("Fill in the order.", "Fill in harborline.", "jobs.ship.goal: holds 'harborline'"),
        ('["ops/order.toml"]', '["ops/orders.toml"]', "jobs.ship.relevant: no text file 'ops/orders.toml'"),
        (
            'path = "ops/order.toml", old',
            'path = "ops/orders.toml", old',
            "jobs.ship.target.edits.0: no text file 'ops/orders.toml'",
        ),
        (
            "old = 'target = \"\"'",
            "old = '\"'",
            "jobs.ship.target.edits.0: `old` occurs 2 times in 'ops/order.toml', not once",
        ),
        ("old = 'target = \"\"'", "old = 'absent'", "jobs.ship.target.edits.0: `old` occurs 0 times"),
        ("ops/new.txt", "docs/deploy.md", "jobs.ship.target.edits.1: 'docs/deploy.md' is there"),
        ("ops/new.txt", "docs", "jobs.ship.target.edits.1: 'docs' is there"),
        ("ops/new.txt", "docs/deploy.md/x", "jobs.ship.target.edits.1: 'docs/deploy.md/x' is there"),
        *[
            ("ops/new.txt", path, f"jobs.ship.target.edits.1: '{path}' is not a plain path")
            for path in ("../x", "/etc/x", "a/../x", ".git/config", ".GIT/config", ".", "a//b", "./a")
        ],
    ],
)
def test_what_the_fixture_contradicts_is_one_clear_line(house: House, old: str, new: str, says: str) -> None:
    assert house.fails(house.changed(old, new)).startswith(says)


@pytest.mark.parametrize("value", ["../harborline", "/tmp/harborline", "a/../../harborline", ".git/harborline"])
def test_every_value_is_proven_in_a_path(house: House, value: str) -> None:
    """The value of an option that is not right stands in a path just as well."""
    text = house.changed("ops/new.txt", "{value}")
    assert house.problems(text) == []
    assert 'value = "harborline"' in text
    bad = text.replace('value = "harborline"', f'value = "{value}"')
    assert house.problems(bad)[0] == f"jobs.ship.target.edits.1: '{value}' is not a plain path inside the work tree"


def test_canaries_are_neither_shared_nor_looked_for(house: House) -> None:
    secrets = "".join(
        f'[[facts]]\nid = "{name}"\ntype = "user"\nsince = 2024-01-02T10:00:00Z\nforms = [["{{canary}}"]]\n'
        'identifier = "key={canary}"\nplain = "The key is {canary}."\nparaphrase = "Use {canary}."\n'
        'rewrites = ["{canary}", "a {canary}", "b {canary}"]\n\n'
        for name in ("one-key", "two-key")
    )
    text = house.story.replace("[[sessions]]", f"{secrets}[[sessions]]", 1).replace(
        ', "approver"]', ', "approver", "one-key", "two-key"]'
    )
    assert house.problems(text) == []


def test_an_options_fact_need_not_be_told(house: House) -> None:
    text = house.changed('{do = "learn", facts = ["old-platform"]}', '{do = "remember", texts = ["Started."]}')
    assert house.problems(text) == []


def test_a_repository_that_fails_later_is_no_traceback(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(*_: object) -> None:
        raise FixtureError("fixture shop: git ls-tree failed: gone")

    monkeypatch.setattr(Repo, "files", vanish)
    assert house.fails(house.story) == "fixture: fixture shop: git ls-tree failed: gone"


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("0001", []),
        (
            "0002",
            ["facts.approver.source.commit: is later than the commit of session 'tuesday', which learns the fact"],
        ),
    ],
)
def test_a_fact_may_come_from_another_branch_but_not_from_later(
    house: House, series: Callable[..., Path], start: str, says: list[str]
) -> None:
    own = series(house.fixtures / "shop" / "own", [{}, {"ops/signs.md": "The release-council signs.\n"}])
    (own / "0001-step.patch").unlink()
    own.rename(own.with_name(f"release@{start}"))
    cited = 'source = {commit = "release/0002", path = "ops/signs.md", line = 1}\nforms = [["release-council"]'
    assert house.problems(house.changed('forms = [["release-council"]', cited)) == says


def test_what_only_a_memory_can_know_here_another_repository_may_say(house: House, series: Series) -> None:
    """Of a rule of all repositories it may not: who works there would read it."""
    text = write_story(house, series)
    series(house.fixtures / "pier", [PIER[0], {**PIER[1], "docs/council.md": "The release-council signs.\n"}])
    said = "facts.approver: has no source, but docs/council.md:1 says it at the commit of session 'thursday'"
    assert house.problems(text) == [said]
    head, approver = text.split('id = "approver"')
    assert house.problems(f'{head}id = "approver"{approver.replace("""scope = {org = "line"}""", "", 1)}') == []
