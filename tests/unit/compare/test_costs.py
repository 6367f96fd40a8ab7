"""What the chat calls of a run cost: by payer and phase, with prompts from a cache apart, and for each job done."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import paths
from harness.cli.common import read_prices
from harness.cli.cost import cost
from harness.compare import cost_model
from harness.compare.cost_model import Condition, Cost, ReportedUsage
from harness.gateway.chat.standin import StandIn
from harness.log.calls import ModelCall
from harness.log.events import Metered, Worked
from harness.log.folder import Folder
from harness.model.prices import Price, Prices
from harness.report.outputs import markdown
from tests.support import runs
from tests.support.logs import Tape

TABLE = Prices(date=date(2026, 1, 2), currency="USD", models={"m": Price(prompt=10, completion=100, cached=1)})
CALL = ModelCall(
    decision="",
    prompt="do it",
    outcome="finished",
    model="m",
    prompt_tokens=1000,
    completion_tokens=50,
    cached_tokens=400,
)
RIGHT, STALE = {"tool": "betadeploy", "port": "8123"}, {"tool": "alphadeploy", "port": "8123"}


def tape(root: Path, values: dict[str, str], backend: str | None, *calls: ModelCall, took: float | None = 3.0) -> Tape:
    made = Tape(root, backend)
    trial = made.trial.model_copy(update={"reader": "chat@m"})
    made.events[0], made.trial = made.events[0].model_copy(update={"trial": trial, "policies": ()}), trial
    made.work("order", values, policy="model" if backend else None)
    worked = made.events[-1]
    assert isinstance(worked, Worked)
    made.events[-1] = worked.model_copy(update={"calls": calls, "took": took})
    return made


def write(root: Path, *tapes: Tape) -> Folder:
    (root / "logs").mkdir(exist_ok=True)
    for each in tapes:
        each.log().path.replace(root / "logs" / f"{each.trial.id}.1.jsonl")
    return Folder(root)


def test_tokens_money_and_seconds_stand_beside_the_jobs_done(tmp_path: Path) -> None:
    folder = write(tmp_path, tape(tmp_path, RIGHT, "store", CALL, CALL), tape(tmp_path, STALE, None, CALL))
    cold, warm = cost_model.list_costs([folder])
    assert (cold.condition.backend, warm.condition.backend) == (None, "store")
    ((key, spent),) = warm.spent.items()
    assert key == ("reader", "job", "m")
    assert (spent.calls, spent.prompt, spent.cached, spent.completion) == (2, 2000, 800, 100)
    assert warm.money(TABLE) == pytest.approx((1200 * 10 + 800 * 1 + 100 * 100) / 1e6) and warm.working == 3.0
    assert warm.done == 1 and cold.done == 0 and cold.jobs == warm.jobs == 2
    page = markdown.write_costs([cold, warm], TABLE)
    assert "<code>store</code>, append, 0 | 1 of 2 | 2,100 | 0.0228 | 3.00 |" in page
    assert "none (1,050 spent)" in page, "a job that was not done is paid for, too"
    assert (
        "| reader | job | <code>m</code> | 2 | 2,000 | 800 | 100 | 0.0228 |" in page and "prices of 2026-01-02" in page
    )


def test_models_inside_a_backend_pay_by_phase_and_a_missing_price_is_no_zero(tmp_path: Path) -> None:
    made = tape(tmp_path, RIGHT, "store")
    counts = {"calls": 3, "prompt": 70, "completion": 7, "counted": 0, "failed": 0}
    made.add(Metered(chat={"ingest": counts, "job": {**counts, "cached": 20}}, models={"inside": 6}))
    (row,) = cost_model.list_costs([write(tmp_path, made)])
    assert {key[:2] for key in row.spent} == {("backend", "ingest"), ("backend", "job")} and row.tokens == 154
    assert row.spent["backend", "job", "inside"].cached == 20 and row.money(TABLE) is None
    page = markdown.write_costs([row], TABLE)
    assert "Without a price: <code>inside</code>." in page and "| 1 of 2 | 154 | - |" in page
    assert "No prices were given" in markdown.write_costs([row], None)


def test_two_models_under_one_count_have_no_price(tmp_path: Path) -> None:
    made = tape(tmp_path, RIGHT, "store")
    counts = {"calls": 1, "prompt": 70, "completion": 7, "counted": 0, "failed": 0}
    made.add(Metered(chat={"ingest": counts}, models={"m": 1, "n": 1}))
    (row,) = cost_model.list_costs([write(tmp_path, made)])
    assert row.list_unpriced(TABLE) == ["m, n"]


def test_a_log_without_seconds_says_so_and_a_run_without_calls_too(tmp_path: Path) -> None:
    page = markdown.write_costs(
        cost_model.list_costs([write(tmp_path, tape(tmp_path, RIGHT, "store", took=None))]), TABLE
    )
    assert "Seconds are missing of 1 job" in page and "No chat call was made." in page


def test_a_run_that_is_given_twice_counts_once(tmp_path: Path) -> None:
    made = runs.run(tmp_path / "a")
    (tmp_path / "latest").symlink_to(made.root)
    once, twice = (CliRunner().invoke(cost, list(map(str, given))) for given in (
        [made.root], [made.root, tmp_path / "latest"],
    ))  # fmt: skip
    assert (once.exit_code, twice.exit_code) == (0, 0) and "4 of 4" in once.stdout
    assert twice.stdout == once.stdout


def test_own_counts_are_of_rounds(tmp_path: Path) -> None:
    row = Cost(Condition("agent:x@m", "store", "append", 0), told=ReportedUsage(3, 1, (30, 3), (20, 2)))
    page = markdown.write_costs([row], None)
    assert "counts 30 + 3 tokens of its own (prompt + answers) in 3 rounds of jobs; its endpoint" in page


def test_all_stand_ins_have_a_price() -> None:
    table = read_prices(paths.ROOT / "reports" / "prices.toml")
    assert set(asyncio.run(StandIn().models())) == {*table.models}
