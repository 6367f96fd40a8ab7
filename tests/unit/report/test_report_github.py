"""Annotations and job summary: few, escaped, and never larger than what is taken."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.report.outputs import ci


def gated(results: Results, *gates: tuple[str, str]) -> Results:
    made = [
        GateVerdict.model_validate(
            {"gate": f"g{at}", "backend": "b", "measure": "recall", "line": at, "verdict": verdict, "says": says}
        )
        for at, (verdict, says) in enumerate(gates, 1)
    ]
    return results.model_copy(update={"gates": tuple(made)})


def test_a_broken_gate_is_annotated_at_its_line(results: Results) -> None:
    bad = gated(results, ("held", "fine"), ("not-measured", "no number"), ("broken", "100% worse"))
    assert list(ci.annotate(bad, "ci/gates.toml")) == [
        "::error file=ci/gates.toml,line=3,title=g3 is broken::100%25 worse",
        "::error file=ci/gates.toml,line=2,title=g2 was not measured::no number",
    ]


def test_the_tenth_annotation_counts_what_is_not_shown(results: Results) -> None:
    lines = list(ci.annotate(gated(results, *[("broken", "x")] * 12), "gates.toml"))
    assert len(lines) == 10 and lines[-1].endswith("::and 3 gates more: see the summary")
    assert len(list(ci.annotate(gated(results, *[("broken", "x")] * 10), "gates.toml"))) == 10


@pytest.mark.slow
@given(st.text(max_size=80), st.text(max_size=20))
def test_no_words_begin_a_command_of_their_own(results: Results, says: str, file: str) -> None:
    (line,) = ci.annotate(gated(results, ("broken", says)), file)
    assert len(line.splitlines()) == 1
    assert re.fullmatch(r"::error file=[^,:]*,line=1,title=g1 is broken::.*", line)


def test_a_summary_that_is_too_large_loses_whole_paragraphs_and_says_so() -> None:
    text = "\n\n".join(f"paragraph {at} \u00e9" for at in range(1000)) + "\n"
    cut = ci.cut_summary(text, 2000)
    assert len(cut.encode()) <= 2000 and cut.startswith("paragraph 0")
    *kept, last = cut.strip().split("\n\n")
    assert kept == text.strip().split("\n\n")[: len(kept)]
    assert last == f"*{1000 - len(kept)} paragraphs left out for size: see summary.md of the run.*"
    assert ci.cut_summary(text) == text
