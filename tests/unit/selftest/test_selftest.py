"""Each proof of the suite holds for a sound story, and fails for one that is broken in just this respect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.adapter import Item, Scope
from harness.compare.rows import DOMINANCE
from harness.log.parts import Written
from harness.model.trial import DEFAULT_BUDGET, Measured
from harness.play import noise
from harness.repo.checks import WorkTrees
from harness.selftest import bounds, control_plays, job_checks, pool_baselines, suite, table, text_checks
from harness.selftest.local import PaperWorkTrees
from harness.selftest.proof import Count, ScenarioProof
from harness.selftest.suite import ScenarioRow, SelfTest, judge
from tests.support.story_proofs import said, told
from tests.unit.conftest import House


@pytest.fixture(scope="module")
def sound(lasting: House) -> tuple[ScenarioProof, ScenarioRow]:
    story = told(lasting)
    return story, suite.prove_scenario(story, WorkTrees())


@pytest.mark.slow
def test_a_sound_story_breaches_nothing(sound: tuple[ScenarioProof, ScenarioRow]) -> None:
    story, row = sound
    assert said(story) == ""
    for count in (row.checks, row.oracle, row.stale, row.none, row.refusal):
        assert count == (1, 1)
    assert row.texts == (18, 18) and row.names == (1, 1)
    assert row.noise.hits == row.noise.of > 500
    assert row.cold == (0, 1) and row.open_.only_memory == (1, 1) and row.open_.head_misleads == (0, 1)
    assert row.open_.solved["newest"] == (3, 3)


# --- (a) checks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "breaches"),
    [
        ('["echo", "kestrelway"]', ["prints 'kestrelway' before the job, not nothing",
                                    "prints 'kestrelway' after the one wrong option 'harborline', not harborline"]),
        ('["true"]', ["prints nothing (exit 0) after all right options, not kestrelway",
                      "prints nothing (exit 0) after the one wrong option 'harborline', not harborline"]),
        ('["grep", "-o", "kestrel.*", "ops/new.txt"]',
         ["prints nothing (exit 1) after the one wrong option 'harborline', not harborline"]),
    ],
)  # fmt: skip
def test_a_check_that_can_be_fooled_is_named(house: House, check: str, breaches: list[str]) -> None:
    story = told(house, '["cat", "ops/new.txt"]', check)
    assert job_checks.judge_checks(story, WorkTrees()) == (0, 1)
    assert said(story).splitlines() == [f"jobs.ship.target.check: {each}" for each in breaches]


def test_a_command_of_the_job_must_succeed_after_the_right_options(house: House) -> None:
    story = told(house, 'relevant = ["ops/order.toml"]', 'relevant = ["ops/order.toml"]\nrun = [["false"]]')
    job_checks.judge_checks(story, WorkTrees())
    assert said(story) == "jobs.ship.run: 'false' exits 1 after all right options"


# --- (b), (c), (d): the bounds ---------------------------------------------------------------------------------------


def test_an_oracle_that_was_never_told_the_gold_is_not_right(house: House) -> None:
    story = told(house, 'facts = ["new-platform", "approver"]', 'facts = ["approver"]')
    assert control_plays.check_oracle(story, WorkTrees()) == (0, 1)
    assert said(story) == "jobs.ship.target: oracle, trusting and newest: failed from nowhere, not right"


def test_a_stale_option_that_nobody_ever_told_is_named(house: House) -> None:
    story = told(house, '{do = "learn", facts = ["old-platform"]}', '{do = "remember", texts = ["Hello."]}')
    assert control_plays.check_stale_oracle(story, WorkTrees()) == (0, 1)
    assert said(story) == "jobs.ship.target: stale_oracle, trusting and newest: failed from nowhere, not stale"


def test_only_a_memory_that_knows_changes_a_decision(house: House) -> None:
    story, paper = told(house), PaperWorkTrees()
    cold = control_plays.play_scenario(story, None, paper)
    assert (
        control_plays.check_nothing(story, paper, cold, "none")
        == control_plays.check_nothing(story, paper, cold, "refusal")
        == (1, 1)
    )
    assert said(story) == ""
    assert control_plays.check_nothing(story, paper, cold, "full_context") == (0, 1)
    first, *facts = said(story).splitlines()
    assert first.startswith("jobs.ship.target: full_context, ")
    assert first.endswith("from memory, but cold unresolved from nowhere")
    assert facts == [f"facts.{name}: full_context asserts it" for name in ("approver", "new-platform", "old-platform")]


# --- (e), (f): words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["ops/release-council-signs.md", "release-council/signs.md", "signs.release-council"])
def test_a_file_name_that_tells_a_told_only_fact_is_named(house: House, series: Any, path: str) -> None:
    tree = {"ops/order.toml": 'target = ""\n', path: "-\n"}
    platforms = [f"# Deploy\n\nThe platform is {name}.\n" for name in ("harborline", "kestrelway")]
    series(house.fixtures / "shop", [{**tree, "docs/deploy.md": text} for text in (*platforms, "# Deploy\n")])
    story = told(house)
    hidden = path == "ops/release-council-signs.md"  # one identifier, in which neither form stands alone
    assert text_checks.check_names(story) == (int(hidden), 1)
    assert story.notes == []
    told_by = f"facts.approver.forms: the name of the tracked file '{path}' tells a told-only fact"
    assert said(story) == ("" if hidden else told_by)


def test_a_fact_that_the_repository_tells_may_name_a_file(house: House) -> None:
    story = told(house, '[["harborline"]]', '[["harborline", "deploy.md"]]')
    assert text_checks.check_names(story) == (1, 1) and said(story) == ""
    (note,) = story.notes
    assert note.key == "facts.old-platform.forms" and "'docs/deploy.md'" in note.reason


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"use harborline"', '"never use harborline"', "rewrites.1: read as a run reads it, 'never use"),
        ('"to harborline"', '"to the platform"', "'to the platform' says otherwise: it asserts nothing, but"),
        ('"platform = harborline"', '"no longer harborline"', "identifier: read as a run reads it, 'no longer"),
        ('"use harborline"', '"harborline, kestrelway"', "new-platform, old-platform, but the story says"),
        ('mentions = ["old-platform"]', 'denies = ["old-platform"]', "denies nothing, but the story says old-platform"),
    ],
)  # fmt: skip
def test_a_text_that_the_rules_read_otherwise_is_named(house: House, old: str, new: str, says: str) -> None:
    story = told(house, old, new)
    assert text_checks.check_texts(story) == (17, 18)
    assert says in said(story) and said(story).startswith("facts.")


def test_a_remark_is_read_by_the_rules_too(house: House) -> None:
    story = told(
        house, 'do = "probe"', 'do = "remember"\ntexts = ["On to kestrelway."]\n\n[[sessions.steps]]\ndo = "probe"'
    )
    assert text_checks.check_texts(story) == (18, 19)
    assert said(story).startswith("sessions.tuesday.remember.0: read as a run reads it, 'On to kestrelway.' says")


@pytest.mark.parametrize("scope", [Scope("shop"), Scope(), Scope("shop-admin")])
def test_noise_that_speaks_of_a_fact_is_named_wherever_it_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch, scope: Scope
) -> None:
    item = Item("Someone deployed to harborline", scope, "2024-01-01T00:00:00+00:00", "episodic")
    monkeypatch.setattr(noise, "generate", lambda *_: [Written(name="noise:0", item=item)])
    story = told(house)
    assert text_checks.check_noise(story) == (0, 3)
    assert said(story).count("'Someone deployed to harborline' speaks of old-platform") == 3


ELSEWHERE = """
[[facts]]
id = "admin-platform"
type = "project"
since = 2024-01-02T10:00:00Z
scope = {repo = "shop-admin"}
forms = [["gantry-nine"]]
identifier = "admin platform = gantry-nine"
plain = "The back office goes to gantry-nine."
paraphrase = "Releases of the back office go out through gantry-nine."
rewrites = ["gantry-nine it is", "use gantry-nine", "to gantry-nine"]

[[sessions]]
id = "wednesday"
at = 2024-01-03T12:00:00Z
by = "ada"
commit = "0003"
steps = [{do = "learn", facts = ["admin-platform"]}]

[[sessions]]
id = "friday"
"""


@pytest.mark.parametrize(("repo", "day", "heard"), [("shop-admin", 3, 0), ("shop-admin", 1, 3), ("shop", 3, 3)])
def test_a_lure_is_no_breach_where_and_when_it_holds(
    house: House, monkeypatch: pytest.MonkeyPatch, repo: str, day: int, heard: int
) -> None:
    at = f"2024-01-0{day}T12:00:00+00:00"
    item = Item("Ticket 7: the back office goes to gantry-nine", Scope(repo), at, "episodic")
    monkeypatch.setattr(noise, "generate", lambda *_: [Written(name="noise:0", item=item)])
    story = told(house, '\n[[sessions]]\nid = "friday"\n', ELSEWHERE)
    assert text_checks.check_noise(story) == (3 - heard, 3)
    assert said(story).count("speaks of admin-platform") == heard


# --- (g) loader ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_the_loader_refuses_is_a_breach_and_the_rest_is_proven(house: House) -> None:
    good, bad = house.write(house.story), house.file.with_name("bad.toml")
    bad.write_text(house.changed("line = 3}", "line = 1}"))
    report = suite.prove([bad, good], house.fixtures, house.cache, workers=2)
    assert [row.scenario for row in report.rows] == ["stale-deploy-rule/move"]
    (breach,) = report.breaches
    assert (breach.file, breach.key) == (bad, "facts.old-platform.source") and "docs/deploy.md:1" in breach.reason


# --- (h), (i): the pool ----------------------------------------------------------------------------------------------


def test_the_pool_is_read_by_scope_or_not(house: House) -> None:
    """The platform of a neighbour is the newest entry: only a store that keeps scopes apart is not misled."""
    story = told(
        house,
        'id = "friday"',
        'id = "thursday"\nat = 2024-01-04T12:00:00Z\nby = "ada"\ncommit = "0002"\nscope = {repo = "shop-admin"}\n'
        'steps = [{do = "remember", texts = [{text = "We stay on harborline", asserts = ["old-platform"]}]}]\n\n'
        '[[sessions]]\nid = "friday"',
    )
    paper = PaperWorkTrees()
    unheeded, heeded = (pool_baselines.measure_pool(story, paper, scoped) for scoped in (False, True))
    assert unheeded.newest_wrong == (1, 1) and unheeded.solved["newest"] == (0, 3)
    assert heeded.newest_wrong == (0, 1) and heeded.solved["newest"] == (3, 3)


@pytest.mark.slow
def test_a_probe_with_fewer_memories_than_k_is_said(sound: tuple[ScenarioProof, ScenarioRow]) -> None:
    _, row = sound
    assert row.open_.large == (0, 1) and row.open_.small == ("where",)


def test_head_misleads_where_the_old_line_still_stands(house: House) -> None:
    story = told(house, 'commit = "0003"', 'commit = "0001"')
    found = pool_baselines.measure_pool(story, PaperWorkTrees(), scoped=False)
    assert found.head_misleads == (1, 1) and found.only_memory == (1, 1)


FAIR: dict[str, Any] = {
    "solved": {"trusting": Count(2, 4), "newest": Count(3, 4), "verifying": Count(0, 4), "careful": Count(3, 4)},
    "newest_wrong": Count(1, 4), "head_misleads": Count(1, 4), "only_memory": Count(1, 4),
}  # fmt: skip


def rows(row: ScenarioRow, n: int, **pool: Any) -> list[ScenarioRow]:
    return [replace(row, open_=replace(row.open_, **pool), scoped=replace(row.scoped, **pool), noisy=())] * n


@pytest.mark.slow
def test_a_suite_that_one_policy_solves_or_nothing_misleads_is_no_suite(
    sound: tuple[ScenarioProof, ScenarioRow],
) -> None:
    _, row = sound
    assert list(judge(rows(row, 10, **FAIR), None)) == []

    def wrong(**pool: Any) -> list[str]:
        return [breach.key for breach in judge(rows(row, 10, **{**FAIR, **pool}), None)]

    assert wrong(solved={**FAIR["solved"], "newest": Count(4, 4)}) == ["newest"] * 2
    assert wrong(newest_wrong=Count(0, 4)) == ["newest"] * 2
    assert wrong(head_misleads=Count(0, 4)) == ["head_misleads"]
    assert wrong(only_memory=Count(0, 4)) == ["only_memory"]
    assert list(judge(rows(row, 9, **{**FAIR, "newest_wrong": Count(0, 4)}), None)) == []


# --- knowing everything ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_story_is_played_to_full_context_and_to_real_backends_at_noise(
    sound: tuple[ScenarioProof, ScenarioRow],
) -> None:
    _, row = sound
    assert [(cell.backend, cell.status, cell.noise) for cell in row.noisy] == [
        (name, "complete", bounds.NOISE) for name in ("full_context", *bounds.REAL)
    ]
    everything, *picking = (
        each.left_value for each in bounds.compare_dominance(row.noisy) if each.measure == "tokens_total"
    )
    assert everything > DEFAULT_BUDGET and picking == [everything]  # what is read of it, and the question


@pytest.mark.slow
def test_where_all_memories_fit_the_budget_full_context_dominates_a_file_that_is_loaded_whole(
    house: House, sound: tuple[ScenarioProof, ScenarioRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "NOISE", 0)
    fair = rows(sound[1], 9, **FAIR)
    learn = '{do = "learn", facts = ["old-platform"]}'
    probe = '{do = "probe", id = "before", ask = {plain = "Where is it shipped?"}, gold = ["old-platform"]}'
    played = replace(fair[0], noisy=tuple(bounds.score_bounds(told(house, learn, f"{learn}, {probe}"))))
    (breach,) = judge([*fair, played], None)
    assert str(breach) == (
        "suite: full_context: is as good as notes or better in recall within the budget, stale exposure and tokens at "
        "noise 0; it must lose in one of them"
    )
    assert list(judge([*fair[1:], played], None)) == []


def scored(row: ScenarioRow, number: int, **values: tuple[float, float, float]) -> ScenarioRow:
    """A row with figures of one story: recall, stale exposure and tokens by backend."""
    (cell, *_) = row.noisy
    return replace(
        row,
        noisy=tuple(
            cell.model_copy(
                update={
                    "backend": name, "scenario": f"rename/s{number}",
                    "measures": {key: Measured(value=each) for key, each in zip(DOMINANCE, own, strict=True)},
                }
            )
            for name, own in values.items()
        ),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bm25", "notes", "dominated"),
    [
        ((0.5, 0.4, 900), (0.6, 0.4, 900), ["bm25"]),
        ((0.6, 0.5, 900), (0.6, 0.3, 990), ["bm25"]),
        ((0.6, 0.4, 901), (0.5, 0.5, 990), ["bm25", "notes"]),
        ((0.6, 0.4, 900), (0.6, 0.4, 900), []),
        ((0.7, 0.9, 990), (0.1, 0.9, 899), []),
    ],
)
def test_full_context_must_lose_somewhere_over_the_suite(
    sound: tuple[ScenarioProof, ScenarioRow],
    bm25: tuple[float, float, float],
    notes: tuple[float, float, float],
    dominated: list[str],
    tmp_path: Path,
) -> None:
    _, row = sound
    fair = rows(row, 1, **FAIR)[0]
    odd = (0.7, 0.4, 900), (0.5, 0.4, 900)  # stories that go either way weigh as much as the others
    stories = [
        scored(replace(fair, noisy=row.noisy), at, full_context=everything, bm25=bm25, notes=notes)
        for at, everything in enumerate([*[(0.6, 0.4, 900)] * 8, *odd])
    ]
    breaches = list(judge(stories, None))
    assert [breach.key for breach in breaches] == ["full_context"] * len(dominated)
    assert [
        name for name in bounds.REAL if any(f"as good as {name} or" in each.reason for each in breaches)
    ] == dominated
    shown = printed(SelfTest(tuple(stories), tuple(breaches), (), None), tmp_path)
    assert f"against bm25: answers recalled within the token budget .60 to {bm25[0]:.2f}".replace(" 0.", " .") in shown
    assert f"than {' and '.join(dominated) or 'no backend'}; than none may it be" in shown


def printed(report: SelfTest, folder: Path) -> str:
    with (folder / "out").open("w+") as file:
        table.show(report, Console(file=file, width=100, highlight=False))
        file.seek(0)
        return " ".join(file.read().split())


# --- (j) chance ------------------------------------------------------------------------------------------------------


def test_drawn_memories_hold_an_answer_as_often_as_chance(house: House) -> None:
    story = told(house)
    drawn = pool_baselines.estimate_chance(story, k=1)
    assert drawn is not None and (drawn.k, drawn.n, drawn.drawn.of) == (1, 3, pool_baselines.DRAWS)
    assert drawn.expected == pytest.approx(1 / 3) and drawn.fair
    assert list(judge([], drawn)) == []
    assert pool_baselines.estimate_chance(story, k=2) is None


@pytest.mark.slow
def test_what_is_not_drawn_by_chance_is_named(house: House) -> None:
    drawn = pool_baselines.estimate_chance(told(house), "full_context", k=1)
    assert drawn is not None and drawn.drawn == (pool_baselines.DRAWS, pool_baselines.DRAWS) and not drawn.fair
    assert [breach.key for breach in judge([], drawn)] == ["random"]


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_table_has_a_row_a_scenario_in_100_columns_and_shows_what_is_missing(
    sound: tuple[ScenarioProof, ScenarioRow], tmp_path: Path
) -> None:
    _, row = sound
    broken = replace(row, scenario="stale-deploy-rule/broken", checks=Count(0, 1))
    with (tmp_path / "out").open("w+") as file:
        table.show(SelfTest((row, broken), (), (), None), Console(file=file, width=100, highlight=False))
        file.seek(0)
        lines = [line.rstrip("\n") for line in file]
    assert max(map(len, lines)) <= 100
    (good,), (bad,) = ([line.split() for line in lines if line.startswith(name)] for name in ("move", "broken"))
    assert good[1:5] == ["1", "1", "1", "2"] and bad[1] == "0/1"
    assert "not judged below 10 scenarios" in " ".join(lines)
