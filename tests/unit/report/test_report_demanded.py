"""Beside gates that held stands what none demands: who is bad in it, who is judged by none, which judge controls."""

from __future__ import annotations

import io
from typing import Literal

import pytest
from rich.console import Console

from harness import metrics
from harness.metrics import trust
from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report import words
from harness.report.model import board
from harness.report.model.table import SHAPES
from harness.report.outputs import ci, markdown
from harness.report.outputs import page as html
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
    sound: dict[str, Said] = {"forgotten_from_search": GOOD, "text_gone_after_closing": GOOD, "lost_by_kill": NONE}
    made = results(dict.fromkeys(("x", "y", "oracle"), story), {"x": {**sound, **x}, "y": sound})
    control = made.backends["oracle"].model_copy(update={"control": True})
    gates = tuple(
        GateVerdict(gate="g", backend=name, measure=measure, line=1, verdict=verdict, says="", relative=bool(more))
        for name, measure, *more in demands
    )
    return made.model_copy(update={"backends": {**made.backends, "oracle": control}, "gates": gates})


def collect(made: Results) -> board.Demanded:
    return board.collect_demands(made, board.collect(made))


def outputs(made: Results) -> list[str]:
    out = Console(file=io.StringIO(), width=200, markup=False, highlight=False, emoji=False)
    console.show(made, out)
    assert isinstance(out.file, io.StringIO)
    texts = [out.file.getvalue(), markdown.write_summary(made), html.write_page(made)]
    return [" ".join(text.replace("&#9650;", MARK).split()) for text in texts]


MARK = SHAPES["bad"]
STORED: dict[str, Said] = {"text_gone_after_closing": NONE}
KILLED: Demand = ("x", "lost_by_kill")
SERVED = f"{words.describe_others(trust.DEFINITIONS['forgotten_from_search'])} (20 of 20)"


def test_what_is_bad_and_covered_by_no_gate_stands_beside_those_that_held_in_every_output() -> None:
    made = played({"forgotten_from_search": NONE}, KILLED, ("oracle", "decisions_right"))
    for text in outputs(made):
        assert f"{MARK} Deletion: x, {SERVED}" in text
        assert "1 of 2 gates judge controls, and no backend." in text and "No gate covers y." in text
    assert console.describe_end(made).endswith(
        f"2 of 2 gates held (1 judge controls); {MARK} tests failed in 1 column that no gate covers"
    )
    (warning,) = ci.warn_undemanded(made, "gates.toml")
    assert warning.startswith("::warning file=gates.toml,title=") and "Deletion: x" in warning


@pytest.mark.parametrize(
    ("wrong", "gate", "left"),
    [
        ({"forgotten_from_search": NONE}, ("x", "forgotten_from_search"), []),
        ({"forgotten_from_search": NONE}, ("y", "forgotten_from_search"), ["Deletion"]),
        # one measure of a column says nothing of the others
        ({"forgotten_from_search": NONE, **STORED}, ("x", "forgotten_from_search"), ["Deletion"]),
        # a gate that only compares with a baseline demands nothing of the number
        (STORED, ("x", "text_gone_after_closing", True), ["Deletion"]),
        ({"lost_by_kill": "unsupported"}, ("y", "recall"), []),
        ({"lost_by_kill": "failed"}, ("y", "recall"), ["Keeping"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verdict", ["held", "broken"])
def test_a_gate_covers_its_measure_of_its_backend_and_no_other(
    wrong: dict[str, Said], gate: Demand, left: list[str], verdict: Literal["held", "broken"]
) -> None:
    found = collect(played(wrong, gate, verdict=verdict))
    assert [each.head for each in found.bad] == left
    assert all(name == "x" for each in found.bad for name, _ in each.shown)


@pytest.mark.slow
def test_columns_without_a_gate_are_named_and_a_run_without_gates_says_nothing() -> None:
    left = collect(played({}, KILLED, ("y", "recall")))
    assert "Keeping" not in left.never and "Recalls" not in left.never
    assert {"Deletion", "Costs"} <= set(left.never) and left.free == ()
    none = played({"forgotten_from_search": NONE})
    assert collect(none).lines == [] and not list(ci.warn_undemanded(none, "gates.toml"))
    assert not [text for text in outputs(none) if "No gate covers" in text]
