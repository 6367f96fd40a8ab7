"""What whoever does a job reads of its own commands: what they refuse, what they tell, and when they tell nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from harness.adapter import Hit, Scope
from harness.log.parts import Check, Choice
from harness.model.scenario import Scenario
from harness.play.readers import Context, Outcome, ReadEntry
from harness.play.readers.explore import Explorer
from harness.play.readers.scripted import Scripted
from harness.repo.checkout import Repo
from harness.text.classify import Classifier
from tasks import loader
from tests.unit.conftest import House

OLD, NEW = "We deploy to harborline.", "We deploy to kestrelway instead of harborline."


@pytest.fixture(scope="module")
def story(lasting: House) -> tuple[Scenario, Repo]:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    return scenario, repo


class Shop:
    """A work tree whose dry run prints the line that belongs to the value that was chosen."""

    def __init__(self, says: Mapping[str | None, str], exit_code: int = 0) -> None:
        self.runs: list[str | None] = []
        self._says, self._exit = says, exit_code

    def try_out(self, values: Mapping[str, str | None]) -> Sequence[Check]:
        self.runs.append(values["target"])
        line = self._says.get(values["target"], "all is well")
        code = self._exit if values["target"] in self._says else 0
        return [Check(decision="run", command=("ship", "--dry-run"), exit=code, value=None, output=f"one\n{line}\n")]


def work(story: tuple[Scenario, Repo], shop: Shop, *hits: str, number: str = "0003", run: bool = True) -> Outcome:
    scenario, repo = story
    ((_, job),) = scenario.jobs()
    job = job.model_copy(update={"run": (("ship", "--dry-run"),) if run else ()})
    context = Context(
        repo, Explorer(repo), Classifier(scenario), lambda text: len(text.split()), repo.resolve(number),
        Scope(repo="shop"), datetime(2024, 1, 5, tzinfo=UTC), "trusting" if hits else None,
    )  # fmt: skip
    entries = [ReadEntry(at, text, Hit(f"m{at}", text)) for at, text in enumerate(hits)]
    return Scripted().work(job, replace(context, try_out=shop.try_out), lambda *_: entries)


def choose(story: tuple[Scenario, Repo], shop: Shop, *hits: str, number: str = "0003", run: bool = True) -> Choice:
    (made,) = work(story, shop, *hits, number=number, run=run).choices
    return made


@pytest.mark.parametrize("hits", [(), (OLD,)], ids=["cold", "warm"])
def test_a_refusal_that_names_what_it_wants_is_heeded(story: tuple[Scenario, Repo], hits: tuple[str, ...]) -> None:
    shop = Shop({"harborline": "platform is unknown: deploy to kestrelway"})
    made = choose(story, shop, *hits, number="0001")
    assert (made.value, made.origin, made.path) == ("kestrelway", "run", "ship --dry-run")
    assert made.refused == ("harborline",) and shop.runs == ["harborline", "kestrelway"]


def test_a_command_that_fails_is_heeded_without_a_word_for_it(story: tuple[Scenario, Repo]) -> None:
    line = "docs/deploy.md wants: deploy to kestrelway"
    assert choose(story, Shop({"harborline": line}, exit_code=1), number="0001").value == "kestrelway"
    assert choose(story, Shop({"harborline": line}, exit_code=0), number="0001").value == "harborline"


def test_what_is_refused_without_more_is_given_up_for_the_next_memory(story: tuple[Scenario, Repo]) -> None:
    made = choose(story, Shop({"harborline": "platform  refused  harborline"}), OLD, NEW)
    assert (made.value, made.origin, made.entry, made.refused) == ("kestrelway", "memory", 1, ("harborline",))


def test_what_is_refused_is_given_up_for_what_the_repository_says(story: tuple[Scenario, Repo]) -> None:
    made = choose(story, Shop({"kestrelway": "platform  missing  kestrelway"}), NEW, number="0001")
    assert (made.value, made.origin, made.path) == ("harborline", "repo", "docs/deploy.md")


def test_where_nobody_knows_better_what_is_refused_stays(story: tuple[Scenario, Repo]) -> None:
    shop = Shop({"harborline": "no such platform: harborline"})
    made = choose(story, shop, OLD)
    assert (made.value, made.origin) == ("harborline", "memory") and shop.runs == ["harborline"]


def test_two_values_that_are_both_refused_are_tried_once_each(story: tuple[Scenario, Repo]) -> None:
    shop = Shop({name: f"{name} does not fit" for name in ("harborline", "kestrelway")})
    made = choose(story, shop, OLD, NEW)
    assert made.value == "kestrelway" and shop.runs == ["harborline", "kestrelway"]


def test_a_refusal_of_something_else_refuses_nothing(story: tuple[Scenario, Repo]) -> None:
    made = choose(story, Shop({"harborline": "window missing"}), number="0001")
    assert (made.value, made.refused) == ("harborline", ())


def test_a_command_that_is_content_decides_only_what_nobody_told(story: tuple[Scenario, Repo]) -> None:
    told = Shop({"harborline": "deploy to kestrelway", None: "deploy to kestrelway"})
    assert choose(story, told, number="0001").value == "harborline"
    assert choose(story, told).origin == "run"


def test_a_job_without_commands_is_done_as_it_was_decided(story: tuple[Scenario, Repo]) -> None:
    shop = Shop({"harborline": "platform refused harborline"})
    assert choose(story, shop, OLD, NEW, run=False).value == "harborline" and not shop.runs


def test_what_commands_print_is_paid_for_each_time(story: tuple[Scenario, Repo]) -> None:
    quiet, loud = Shop({}), Shop({"harborline": "platform refused harborline"})
    once, twice, decided = (work(story, shop, OLD, NEW) for shop in (quiet, loud, Shop({})))
    unread = work(story, Shop({}), OLD, NEW, run=False)
    assert (once.prompt - unread.prompt, twice.prompt - unread.prompt) == (4, 8)  # "one all is well", and once more
    assert decided.choices == once.choices == unread.choices
