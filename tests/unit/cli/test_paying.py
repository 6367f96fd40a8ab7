"""Whether a run that costs money is asked for, and what is told before."""

from __future__ import annotations

import io
import sys
from datetime import date

import pytest
from rich.console import Console

from harness.agents import profile, selection
from harness.cli import confirm_cost
from harness.cli.estimate import ANSWER, CALL, JOB, WRITE, WRITE_ANSWER, estimate
from harness.model.prices import Price, Prices
from harness.model.scenario import Scenario
from harness.model.trial import Chat, Selection, Spec
from harness.play import plan
from harness.play.readers.chat import TOKENS
from tests.support.logs import STORY

FAR, NEAR = "https://models.example.com/v1", "http://127.0.0.1:8080/v1"
TABLE = Prices(date=date(2026, 1, 2), currency="USD", models={"m": Price(prompt=2, completion=10)})


def select(answers: str = "model", reader: str = "choice@m") -> Selection:
    chat = Chat.model_validate({"answers": answers, "folder": "chats" if answers == "recordings" else None})
    specs = (Spec(adapter="notes"), Spec(adapter="none"))
    return Selection(backends=specs, noise=(0, 100), writes=("append",), chat=chat, reader=reader)


def told(
    monkeypatch: pytest.MonkeyPatch,
    selection: Selection,
    *,
    url: str = FAR,
    price: Price | tuple[float, float] | None = None,
    prices: Prices | None = None,
    yes: bool = True,
) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    heard = io.StringIO()
    stories: list[Scenario] = [STORY]
    confirm_cost.ask(
        Console(file=heard, width=400), selection, plan.list_trials(selection, stories), stories, price, prices, yes=yes
    )
    return heard.getvalue()


@pytest.mark.parametrize(
    ("selection", "more"),
    [
        (select("stand-in"), {}),
        (select("recordings"), {}),
        (select(), {"url": NEAR}),
        (select(), {"url": "http://localhost:9/v1", "price": (0.0, 0.0)}),
        (select(), {"url": "http://[::1]:9/v1"}),
    ],
)
def test_what_costs_nothing_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, selection: Selection, more: dict[str, object]
) -> None:
    assert told(monkeypatch, selection, yes=False, **more) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize("url", [FAR, "", "http://127.0.0.1.example.com/v1", "http://10.0.0.1/v1", "nonsense"])
def test_where_nobody_can_be_asked_a_paid_run_needs_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        told(monkeypatch, select(), url=url, yes=False)
    assert ended.value.code == 2 and "--yes" in capsys.readouterr().err
    assert "estimate: " in told(monkeypatch, select(), url=url)


def test_a_priced_endpoint_on_this_machine_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "at --chat-price" in told(monkeypatch, select(), url=NEAR, price=(1.0, 2.0))


@pytest.mark.parametrize(("said", "goes_on"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_a_person_is_asked(monkeypatch: pytest.MonkeyPatch, said: str, goes_on: bool) -> None:
    class FakeTerminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", FakeTerminal(said))
    if goes_on:
        assert "estimate: " in told(monkeypatch, select(), yes=False)
        return
    with pytest.raises(SystemExit) as ended:
        told(monkeypatch, select(), yes=False)
    assert ended.value.code == 2


def test_the_estimate_counts_decisions_or_jobs_and_is_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    decisions, jobs = sum(len(job.decisions) for _, job in STORY.jobs()), len(STORY.jobs())
    chosen, worked = (plan.list_trials(select(reader=f"{name}@m"), [STORY]) for name in ("choice", "chat"))
    warm = sum(trial.backend is not None for trial in chosen)
    assert estimate(chosen, [STORY]) == (warm * decisions, warm * decisions * CALL, warm * decisions * ANSWER, None)
    found = estimate(worked, [STORY])
    assert found.prompt == (warm + 1) * jobs * JOB and found.most == (warm + 1) * jobs * TOKENS, "cold is paid, too"
    assert estimate(plan.list_trials(select(reader="scripted"), [STORY]), [STORY]) == (0, 0, 0, 0)
    line = told(monkeypatch, select(), price=TABLE.models["m"], prices=TABLE)
    money = (warm * decisions * (CALL * 2 + ANSWER * 10)) / 1_000_000
    assert f"about {money:,.2f} USD (prices of 2026-01-02 in USD)" in line
    assert "price unknown" in told(monkeypatch, select())


def test_a_writer_is_asked_for_each_stretch_that_tells_something_by_rows_that_are_told() -> None:
    selection = select(reader="scripted").model_copy(update={"writer": "chat@m"})
    trials = plan.list_trials(selection, [STORY])
    assert {trial.writer for trial in trials if trial.backend in (None, "oracle", "stale_oracle")} == {"scripted"}
    found = estimate(trials, [STORY])
    assert (found.calls, found.prompt, found.completion) == (8, 8 * WRITE, 8 * WRITE_ANSWER), "2 rows, 2 levels, twice"


@pytest.mark.parametrize("program", ["claude-code", "mini-swe-agent", "codex+file"])
def test_the_jobs_of_an_agent_program_cost_and_are_limited_as_its_profile_says(program: str) -> None:
    own = profile.read(selection.parse(program).profile)
    trials = [
        each.model_copy(update={"reader": f"agent:{program}@m", "rounds": 3})
        for each in plan.list_trials(select(reader="chat@m"), [STORY])
    ]
    jobs = len(trials) * len(STORY.jobs()) * 3
    found = estimate(trials, [STORY])
    assert (found.prompt, found.most) == (jobs * own.prompt_tokens, jobs * own.tokens)


def test_a_reader_of_somebody_elses_and_a_writer_with_a_model_have_no_limit_that_is_told() -> None:
    trials = plan.list_trials(select(reader="chat@m"), [STORY])
    foreign = [each.model_copy(update={"reader": "theirs:Reader@m"}) for each in trials]
    assert estimate(foreign, [STORY]).most is None
    assert estimate([each.model_copy(update={"writer": "chat@m"}) for each in trials], [STORY]).most is None
