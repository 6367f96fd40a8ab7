"""`pytest --coldwarm-backend my.module:Adapter`: trials as tests, and fixtures for assertions on what they measured.

Every pytest of an environment loads this module, so nothing but pytest is imported until that option is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from harness.model.cells import AnyCell
    from harness.model.results import Results
    from harness.model.trial import Measured
    from harness.pytest_plugin.session import Plays

T = TypeVar("T")
SESSION = "coldwarm-session"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("coldwarm", "coldwarm: play memory backends as tests")
    group.addoption(
        "--coldwarm-backend", action="append", default=[], metavar="BACKEND",
        help="NAME, NAME,key=value or module:Class; repeatable. Nothing is played without it. "
        "NAME,python=PATH: in another interpreter.",
    )  # fmt: skip
    group.addoption(
        "--coldwarm-scenario", action="append", default=[], metavar="SCENARIO",
        help="Id, kind or file name; repeatable; none: drills only. Default: one short story.",
    )  # fmt: skip
    group.addoption(
        "--coldwarm-suite", metavar="SUITE",
        help="As --suite of coldwarm run: a folder of scenarios, or deep. Default: the usual one. All of it is played "
        "unless --coldwarm-scenario names some.",
    )  # fmt: skip
    group.addoption(
        "--coldwarm-fixtures", metavar="DIR", help="As --fixtures of coldwarm run: the folder of a suite's fixtures."
    )
    group.addoption("--coldwarm-noise", action="append", type=int, metavar="N", help="Repeatable. Default: 0.")
    group.addoption(
        "--coldwarm-write", action="append", metavar="WAY",
        # spelt out: WritePolicy would load the harness into every pytest of the environment
        choices=["append", "curated", "matched", "deprecate", "expire", "on-commit", "deprecate-on-commit", "reviewed"],
        help="As --write of coldwarm run; repeatable. Default: append and curated.",
    )  # fmt: skip
    group.addoption(
        "--coldwarm-drill", action="append", default=[], metavar="DRILL",
        help="A test of trust to play as well, or all; repeatable. Default: none.",
    )  # fmt: skip
    group.addoption("--coldwarm-drill-size", type=int, metavar="N", help="Memories in the store of every drill.")
    group.addoption(
        "--coldwarm-allow-faults", action="append", default=[], metavar="NAME=COUNT",
        help="So many calls of a backend may fail, over all trials that are played; repeatable. Default: none.",
    )  # fmt: skip
    group.addoption("--coldwarm-out", metavar="DIR", help="Where runs are written. Default: as of `coldwarm run`.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "coldwarm: a trial or drill that --coldwarm-backend plays")
    if config.getoption("coldwarm_backend"):
        # pytest-xdist marks its workers by `workerinput`, and fills `tx` from -n in the process that starts them.
        if hasattr(config, "workerinput") or config.getoption("tx", None):
            raise pytest.UsageError("--coldwarm-backend plays once a session, which pytest-xdist splits: add -n 0")
        from harness.pytest_plugin.session import Plays

        config.pluginmanager.register(Plays(config), SESSION)


@pytest.fixture(scope="session")
def _coldwarm_session(request: pytest.FixtureRequest) -> Plays:
    session: Plays | None = request.config.pluginmanager.get_plugin(SESSION)
    if session is None:
        pytest.fail("no backend was played: give pytest --coldwarm-backend", pytrace=False)
    return session


@pytest.fixture(scope="session")
def coldwarm_results(_coldwarm_session: Plays) -> Results:
    """Everything that was played, as in `results.json`: scored from the logs."""
    from harness.pytest_plugin.session import NotBegun

    try:
        return _coldwarm_session.results()
    except NotBegun as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def coldwarm_cells(coldwarm_results: Results) -> Callable[..., list[AnyCell]]:
    """`coldwarm_cells(scenario="rename/two-names-ago", read_policy="newest")`: the cells of stories and drills that
    have these fields. Fails if there is none."""
    from harness.regress import lookup

    def found(**where: object) -> list[AnyCell]:
        __tracebackhide__ = True
        return _or_fail(lookup.find_cells, coldwarm_results, where)

    return found


@pytest.fixture(scope="session")
def coldwarm_measure(coldwarm_results: Results, _coldwarm_session: Plays) -> Callable[..., Measured]:
    """`coldwarm_measure("recall", backend="chroma", noise=100)`: the number. Fails if it was not measured.

    backend: may be left out if there is only one. Other fields of a cell: those of the report's first table unless they
    are given. Over several scenarios: the mean of their values, the sum of their hits and cases.
    """
    from harness.regress import lookup

    only = {"backend": _coldwarm_session.labels[0]} if len(_coldwarm_session.labels) == 1 else {}

    def number(name: str, **where: object) -> Measured:
        __tracebackhide__ = True
        return _or_fail(lookup.measure, coldwarm_results, name, {**only, **where})

    return number


def _or_fail(look: Callable[..., T], *words: object) -> T:
    __tracebackhide__ = True
    try:
        return look(*words)
    except LookupError as error:
        missing = str(error.args[0])
    # Outside of the handler, so that the report does not show the LookupError as well.
    pytest.fail(missing)
