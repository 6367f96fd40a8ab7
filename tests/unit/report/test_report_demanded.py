"""Beside gates that held stands what none demands: who is bad in it, who is judged by none, which judge controls."""

from __future__ import annotations

import io
from typing import Literal

import pytest
from harness.report.worst import MARK
from rich.console import Console

from harness import metrics
from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report.model import demands as demanded
from harness.report.outputs import github
from harness.report.outputs import page as html
from harness.report.outputs import summary as markdown
from harness.report.outputs import terminal as console
from tests.support.made_results import Said, results

GOOD, NONE = (20, 20), (0, 20)
Demand = tuple[str, str] | tuple[str, str, bool]


def played(x: dict[str, Said], *demands: Demand, verdict: Literal["held", "broken"] = "held") -> Results:
    """Backends x (as told) and y (sound), and the control `oracle`; demands: backend, measure, relative."""
    story: dict[str, list[Said]] = {
        name: [1.0 if each.unit != "proportion" else GOOD if each.better == "higher" else NONE]
        for name, each in metrics.DEFINITIONS.items()
    }
    sound: dict[str, Said] = {"forgotten_by_every_route": GOOD, "text_gone_after_closing": GOOD, "lost_by_kill": NONE}
    made = results(dict.fromkeys(("x", "y", "oracle"), story), {"x": {**sound, **x}, "y": sound})
    control = made.backends["oracle"].model_copy(update={"control": True})
    gates = tuple(
        GateVerdict(gate="g", backend=name, measure=measure, line=1, verdict=verdict, says="", relative=bool(more))
        for name, measure, *more in demands
    )
    return made.model_copy(update={"backends": {**made.backends, "oracle": control}, "gates": gates})


def outputs(made: Results) -> list[str]:
    out = Console(file=io.StringIO(), width=200, markup=False, highlight=False, emoji=False)
    console.show(made, out)
    assert isinstance(out.file, io.StringIO)
    texts = [out.file.getvalue(), markdown.summary(made), html.page(made)]
    return [" ".join(text.replace("&#9650;", MARK).split()) for text in texts]


KILLED: Demand = ("x", "lost_by_kill")


def test_what_is_bad_and_demanded_by_no_gate_stands_beside_those_that_held_in_every_output() -> None:
    made = played({"forgotten_by_every_route": NONE}, KILLED, ("oracle", "decisions_right"))
    for text in outputs(made):
        assert f"{MARK} deleted as told: x (forgotten_by_every_route 0/20)" in text.replace("&#95;", "_")
        assert "1 of 2 gates judge controls" in text
        assert "of y: nothing is demanded" in text
    assert console.describe_end(made).endswith(
        f"2 of 2 gates held (1 judge controls); {MARK} 1 headline bad that no gate demands"
    )
    (warning,) = github.warn_undemanded(made, "gates.toml")
    assert warning.startswith("::warning file=gates.toml,title=") and "deleted as told: x" in warning


def test_what_a_gate_demands_is_no_longer_told() -> None:
    made = played({"forgotten_by_every_route": NONE}, ("x", "forgotten_by_every_route"), verdict="broken")
    assert demanded.collect(made).bad == ()
    other = played({"forgotten_by_every_route": NONE}, ("y", "forgotten_by_every_route"))
    assert [each.backends for each in demanded.collect(other).bad] == [("x",)]


def test_a_gate_on_one_measure_demands_nothing_of_the_others_of_its_headline() -> None:
    made = played({"forgetting_said_and_done": (3, 20)}, ("x", "forgotten_by_every_route"))
    assert [str(each) for each in demanded.collect(made).bad] == ["deleted as told: x (forgetting_said_and_done 3/20)"]
    assert "deleted as told" not in demanded.collect(made).never


@pytest.mark.parametrize("verdict", ["held", "broken"])
def test_a_gate_that_only_compares_with_a_baseline_demands_nothing_of_the_number(
    verdict: Literal["held", "broken"],
) -> None:
    made = played({"text_gone_after_closing": NONE}, ("x", "text_gone_after_closing", True), verdict=verdict)
    assert [each.head for each in demanded.collect(made).bad] == ["text gone"]
    assert demanded.collect(made).free == ("x", "y")


def test_what_failed_is_bad_and_what_is_not_supported_is_not() -> None:
    assert [each.head for each in demanded.collect(played({"lost_by_kill": "failed"}, ("y", "recall"))).bad] == [
        "harmed by a kill"
    ]
    assert demanded.collect(played({"lost_by_kill": "unsupported"}, ("y", "recall"))).bad == ()


def test_topics_without_a_demand_are_named_and_a_run_without_gates_says_nothing() -> None:
    left = demanded.collect(played({}, KILLED, ("y", "recall")))
    assert "harmed by a kill" not in left.never and "recalled" not in left.never
    assert {"gone after delete", "deleted as told", "text gone"} <= set(left.never) and left.free == ()
    none = played({"forgotten_by_every_route": NONE})
    assert demanded.collect(none).lines == [] and not list(github.warn_undemanded(none, "gates.toml"))
    assert not [text for text in outputs(none) if "by no gate" in text]
