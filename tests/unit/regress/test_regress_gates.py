"""A team's gates: what a file may say, what it may not, and what becomes of each gate."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.log.folder import find_option
from harness.model.regression import GateVerdict
from harness.model.results import Contrast, Results, Unplayed
from harness.model.trial import Measured, Selection, Spec
from harness.regress import baseline, gate_verdicts, gates, pairing, unanswerable
from harness.regress.baseline import RegressError
from tests.support.made_results import Said, results

GOOD, BAD = (20, 20), (5, 20)


def gate(**keys: object) -> str:
    base = {"name": '"g"', "measure": '"recall"', "backends": '"x"', **keys}
    return "\n".join(["[[gate]]", *(f"{key} = {value}" for key, value in base.items() if value is not None)])


def refused(text: str) -> str:
    with pytest.raises(RegressError) as caught:
        gates.read(text.encode(), "gates.toml")
    assert "\n" not in str(caught.value) and str(caught.value).startswith("gates.toml:")
    return str(caught.value).removeprefix("gates.toml:")


# --- reading --------------------------------------------------------------------------------------------------------


def test_gates_know_their_lines() -> None:
    text = '# [[gate]]\n' + gate(name='"""one\n[[gate]]\n"""', at_least=1) + "\n\n  [[ gate ]]  # two\n" + gate(
        name='"two"', at_most=0
    ).partition("\n")[2]  # fmt: skip
    read = gates.read(text.encode(), "gates.toml")
    assert [(each.gate.name.strip(), each.line) for each in read.placed] == [("one\n[[gate]]", 2), ("two", 10)]
    # TOML ends lines at line feeds only
    parted = gate(name='"one\u2028more"', at_least=1) + "\n" + gate(name='"two\x85"', at_most=0)
    assert [each.line for each in gates.read(parted.encode(), "g").placed] == [1, 6]
    assert refused(gate(name='"a\u2028b"', colour=3)).startswith("5: colour")
    assert [each.line for each in gates.read(parted.replace("\n", "\r\n").encode(), "g").placed] == [1, 6]
    inline = 'gate = [{name = "g", measure = "recall", backends = "*", margin = 0}]'
    assert [each.line for each in gates.read(inline.encode(), "g").placed] == [1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", " no gate in it: begin each with a line [[gate]]"),
        ("gate = 3", " no gate in it"),
        ("a = ", " not TOML: Invalid value (at end of document)"),
        ("\n[gates]\nx = 1", "2: unknown key 'gates': a file of gates holds [[gate]] tables only"),
        ("\n\n" + gate(at_least=1, colour=3), "8: colour: unknown key"),
        ("\n" + gate(at_leats=1), "6: at_leats: unknown key; did you mean at_least?"),
        (gate(at_least=1, measure='"recal"'), "1: measure 'recal' is not known; did you mean recall?"),
        (gate(), "1: demands nothing: give at_least, at_most or margin"),
        (gate(at_least="true"), '5: at_least: a number, or a count as "19 of 20"'),
        (gate(at_most='"2/30"'), '5: at_most: a number, or a count as "19 of 20"'),
        (gate(at_most='"2 of 0"'), '5: at_most: a number, or a count as "19 of 20"'),
        (gate(at_most="nan"), '5: at_most: a number, or a count as "19 of 20"'),
        (gate(margin=-0.1), "5: margin: input should be greater than or equal to 0"),
        (gate(margin=1, measure='"tokens_noise"'), "1: margin: of tokens_noise no direction is the better one"),
        (gate(at_least=1, measure=None, mesure='"recall"'), "5: mesure: unknown key; did you mean measure?"),
        (
            gate(at_least=1, noise=3, measure='"mrr"'),
            "1: write, read, noise: only with a measure that is shown by them",
        ),
        (
            gate(at_least=1, write='"sideways"'),
            (
                "6: write: input should be 'append', 'curated', 'matched', 'deprecate', 'expire', 'on-commit', "
                "'deprecate-on-commit' or 'reviewed'"
            ),
        ),
        (gate(at_least=1, backends="[]"), "1: backends: a name, a list of names"),
        (gate(at_least=1, backends='["*", "x"]'), "1: backends: a name, a list of names"),
        (gate(at_least=1, backends="3"), "4: backends: a name, a list of names"),
        (gate(at_least=1, name=None), "1: name: field required"),
        (gate(at_least=1) + "\n" + gate(at_least=2), "6: name: 'g' is the gate of line 1"),
    ],
)
def test_what_a_file_may_not_say_is_one_line_with_its_place(text: str, said: str) -> None:
    assert refused(text).startswith(said)


def test_bytes_that_are_no_text_are_one_line() -> None:
    with pytest.raises(RegressError, match=r"^g: not UTF-8 text \(at line 1\)$"):
        gates.read(b"\xff", "g")


LINES = (
    "[[gate]]", "[gate]", "[[gate.x]]", 'name = "a"', 'name = """', '"""', 'measure = "recall"', 'backends = "*"',
    "backends = [[1]]", "backends = {a = 1}", "at_least = 1", f"at_most = 1{'0' * 400}", "margin = 1e400",
    "noise = true", "gate = [{}]", 'gate.name = "z"', "name = 2020-01-01", '"at_least" = 3', "\x00", "\u2028",
    "# [[gate]]",
)  # fmt: skip


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=8), max_size=12))
def test_no_file_is_more_than_one_line_of_error(lines: list[str]) -> None:
    try:
        found = gates.read("\n".join(lines).encode("utf-8", "surrogatepass"), "gates.toml")
    except RegressError as error:
        assert "\n" not in str(error) and str(error).startswith("gates.toml:")
    else:
        assert [each.line for each in found.placed] == sorted(each.line for each in found.placed)


# --- judging --------------------------------------------------------------------------------------------------------


def judge(text: str, new: Results, old: Results | None = None) -> list[GateVerdict]:
    before = baseline.make_baseline(old) if old else None
    if before:
        now = baseline.make_baseline(new)
        found = {"baseline": pairing.judge_comparability(before, now), "changes": pairing.list_changes(before, now)}
        new = new.model_copy(update=found)
    return list(gate_verdicts.judge(gates.read(text.encode(), "gates.toml"), new, before))


def one(text: str, new: Results, old: Results | None = None) -> GateVerdict:
    (found,) = judge(text, new, old)
    assert found.file == "gates.toml"
    assert "\n" not in found.says and f"gates.toml:{found.line}" in found.says and found.says.startswith("gate 'g' ")
    assert found.verdict.replace("-", " ") in found.says
    return found


def row(*said: Said, name: str = "recall") -> Results:
    return results({"x": {name: said}})


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"at_least": 0.7}, "held"), ({"at_least": 0.75}, "held"), ({"at_least": 0.76}, "broken"),
        ({"at_most": 0.75}, "held"), ({"at_most": 0.7}, "broken"), ({"at_least": 0.7, "at_most": 0.72}, "broken"),
        ({"at_least": '"3 of 4"'}, "held"), ({"at_least": '"4 of 5"'}, "broken"), ({"at_most": '"15 of 20"'}, "held"),
        ({"at_least": '"30 of 40"'}, "held"), ({"at_least": '"30 of 41"'}, "not-measured"),
    ],
)  # fmt: skip
def test_a_number_is_judged_by_itself(bound: dict[str, object], verdict: str) -> None:
    found = one(gate(**bound), row((20, 20), (10, 20)))
    assert found.verdict == verdict and "30/40" in found.says and "demanded" in found.says


def test_a_broken_gate_names_the_worst_cells_first() -> None:
    found = one(gate(at_least=0.9), row((20, 20), (10, 20), (5, 20)))
    assert found.cells == ("x-2", "x-1") and found.says.endswith("see cell x-2 and 1 more")


@pytest.mark.parametrize("word", ["failed", "unsupported", "not-run"])
def test_a_gated_cell_that_was_not_measured_is_never_green(word: str) -> None:
    found = one(gate(at_least=0.1), row(GOOD, word))
    assert found.verdict == "not-measured" and f"why it is {word}" in found.says and found.cells == ("x-1",)
    assert one(gate(at_least=0.1), row(word)).verdict == "not-measured"


def test_scenarios_with_nothing_to_measure_are_left_out_but_not_all_of_them() -> None:
    assert one(gate(at_least=0.9), row(GOOD, "not-applicable")).verdict == "held"
    assert one(gate(at_least=0.9), row("not-applicable")).verdict == "not-measured"


def test_who_was_not_played_is_named_with_the_reason() -> None:
    made = row(GOOD)
    assert "was not played" in one(gate(at_least=0, backends='"y"'), made).says
    absent = made.run.model_copy(update={"unplayed": (Unplayed(backend="y", reason="no server", allowed=False),)})
    everyone = judge(gate(at_least=0, backends='"*"'), made.model_copy(update={"run": absent}))
    assert [(each.backend, each.verdict) for each in everyone] == [("x", "held"), ("y", "not-measured")]
    assert "could not run: no server" in everyone[1].says
    assert [each.verdict for each in judge(gate(at_least=0, backends='"*"'), results({}))] == ["not-measured"]


def test_controls_are_judged_by_name_only() -> None:
    made = results({"x": {"recall": [GOOD]}, "none": {"recall": [BAD]}})
    control = made.backends["none"].model_copy(update={"control": True})
    made = made.model_copy(update={"backends": {**made.backends, "none": control}})
    assert [each.backend for each in judge(gate(at_least=0, backends='"*"'), made)] == ["x"]
    assert [each.backend for each in judge(gate(at_least=0, backends='["none", "x"]'), made)] == ["none", "x"]


def test_a_lower_bound_can_break_a_gate_but_not_hold_it() -> None:
    made = row(Measured(value=500, known="at-least"), name="tokens_total")
    keys = {"measure": '"tokens_total"'}
    assert one(gate(at_most=400, **keys), made).verdict == "broken"
    assert one(gate(at_most=600, **keys), made).verdict == "not-measured"
    assert one(gate(at_least=400, **keys), made).verdict == "held"
    assert one(gate(at_least=600, **keys), made).verdict == "not-measured"


def test_a_policy_or_level_of_noise_is_looked_up_where_it_is_shown() -> None:
    made = row(GOOD)
    pooled = made.backends["x"].measures["recall"].model_copy(update={"value": 0.1, "hits": 2})
    shown = Contrast(
        backend="x", write_policy="curated", read_policy="trusting", noise=0, primary=False, measures={"recall": pooled}
    )
    made = made.model_copy(update={"contrasts": (shown,)})
    assert one(gate(at_least=0.5, write='"curated"'), made).verdict == "broken"
    assert "write curated, read newest, noise 0" in one(
        gate(at_least=0.5, write='"curated"', read='"newest"'), made
    ).says  # fmt: skip


def test_a_drill_is_gated_by_its_cell() -> None:
    made = results({"x": {"recall": [GOOD]}}, {"x": {"writes_kept": (19, 20)}})
    found = one(gate(measure='"writes_kept"', at_least=1), made)
    assert (found.verdict, found.cells) == (
        "broken",
        ("x-keeping-20",),
    ) and "writes_kept 19/20, at least 1" in found.says


# --- against the baseline -------------------------------------------------------------------------------------------


def relative(old: Sequence[Said], new: Sequence[Said], margin: float = 0, name: str = "recall") -> GateVerdict:
    return one(gate(margin=margin, measure=f'"{name}"'), row(*new, name=name), row(*old, name=name))


def test_from_ten_scenarios_on_all_of_the_interval_must_be_worse_than_the_margin() -> None:
    few = [GOOD] * 10 + [BAD, BAD]
    assert relative([GOOD] * 12, few).verdict == "held"  # the interval touches none
    every = [(18, 20)] * 6 + [(16, 20)] * 6
    assert relative([GOOD] * 12, every).verdict == "broken"
    assert relative([GOOD] * 12, every, 0.2).verdict == "held"
    assert relative(every, [GOOD] * 12).verdict == "held"
    assert relative([GOOD] * 12, every, name="stale_use").verdict == "held"
    assert relative(every, [GOOD] * 12, name="stale_use").verdict == "broken"


def test_below_ten_scenarios_the_difference_itself_counts() -> None:
    found = relative([GOOD] * 3, [GOOD, GOOD, (19, 20)])
    assert found.verdict == "broken" and found.cells == ("x-2",)
    assert "recall 59/60 against 60/60 in baseline a-run over 3 scenarios, 1 cell worse and 0 better" in found.says
    assert relative([GOOD] * 3, [GOOD, GOOD, (19, 20)], 0.02).verdict == "held"
    assert relative([(19, 20)] * 3, [(19, 20)] * 3, 0.0).verdict == "held"


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        (["unsupported"], "broken"), (["failed"], "broken"), (["not-applicable"], "broken"),
        (["not-run"], "not-measured"), ([GOOD, "failed"], "broken"),
        ([GOOD, "not-run"], "not-measured"), ([GOOD, None], "not-measured"),
        ([GOOD, "not-applicable"], "not-measured"),
    ],
)  # fmt: skip
def test_a_number_that_is_gone_breaks_the_gate_unless_it_was_only_not_played(new: list[Said], verdict: str) -> None:
    assert relative([GOOD] * len(new), new).verdict == verdict


def test_a_backend_that_was_not_played_and_other_conditions_are_not_measured() -> None:
    old = row(GOOD)
    gone = one(gate(margin=0), results({"y": {"recall": [GOOD]}}), old)
    assert gone.verdict == "not-measured" and "not played in the new run" in gone.says
    other = one(gate(margin=0), results({"x": {"recall": [GOOD]}}, k=7), old)
    assert other.verdict == "not-measured" and "k 5 then, 7 now" in other.says
    never = one(gate(margin=0), row("unsupported"), row("unsupported"))
    assert never.verdict == "not-measured" and "no number in this run, nor in baseline a-run" in never.says


def test_a_margin_over_another_formula_is_not_measured() -> None:
    made = row(GOOD)
    then = made.definitions["recall"]
    changed = {**made.definitions, "recall": then.model_copy(update={"version": then.version + 1})}
    found = one(gate(margin=0), made.model_copy(update={"definitions": changed}), made)
    assert found.verdict == "not-measured" and "its formula changed: version" in found.says


def test_what_varies_by_run_breaks_no_margin_by_its_own_noise() -> None:
    """A store that draws its ids at random must not make a gate break now and hold then."""

    def drilled(hits: int) -> Results:
        return results({"x": {"recall": [GOOD]}}, {"x": {"text_gone_after_churn": (hits, 32)}})

    asked = gate(measure='"text_gone_after_churn"', margin=0)
    assert one(asked, drilled(0), drilled(1)).verdict == "held"
    assert one(asked, drilled(2), drilled(20)).verdict == "broken"
    assert one(asked, drilled(31), drilled(32)).verdict == "broken"  # a first failure


def test_the_worse_of_two_demands_is_the_verdict() -> None:
    old, new = row(GOOD), row((19, 20))
    assert one(gate(at_least=0.9, margin=0), new, old).verdict == "broken"
    assert one(gate(at_least=0.9, margin=0.1), new, old).verdict == "held"
    assert one(gate(at_least=0.99, margin=0.1), new, old).verdict == "broken"


def contrasted(append: Said, curated: Said) -> Results:
    """One backend, appended and looked up first, read as trusting."""
    made, other = row(append), row(curated)
    cells = [
        each.model_copy(update={"id": f"{each.id}-curated", "write_policy": "curated"}) for each in other.cells
    ]  # fmt: skip
    shown = [
        Contrast(
            backend="x", write_policy=write, read_policy="trusting", noise=0, primary=write == "append",
            measures={"recall": each.backends["x"].measures["recall"]},
        )
        for write, each in (("append", made), ("curated", other))
    ]  # fmt: skip
    return made.model_copy(update={"cells": (*made.cells, *cells), "contrasts": tuple(shown)})


def test_a_margin_compares_what_was_played_under_the_same_policies() -> None:
    old = contrasted(BAD, GOOD)
    asked = gate(margin=0.1, write='"curated"')
    worse = one(asked, contrasted(BAD, BAD), old)
    assert worse.verdict == "broken" and worse.cells == ("x-0-curated",)
    assert worse.says.startswith("gate 'g' broken: x, write curated: recall 5/20 against 20/20 in baseline a-run")
    assert one(asked, contrasted(GOOD, BAD), old).verdict == "broken"
    assert one(asked, contrasted(BAD, GOOD), contrasted(GOOD, GOOD)).verdict == "held"
    assert one(gate(margin=0.1), contrasted(BAD, GOOD), contrasted(GOOD, GOOD)).verdict == "broken"
    assert one(gate(margin=0.1, write='"append"'), contrasted(BAD, GOOD), contrasted(GOOD, GOOD)).verdict == "broken"


def test_a_margin_over_policies_that_the_baseline_did_not_keep_is_not_measured() -> None:
    found = one(gate(margin=0.1, write='"curated"'), contrasted(GOOD, GOOD), row(GOOD))
    assert found.verdict == "not-measured" and "holds nothing under these policies: save it again" in found.says


# --- before the run -------------------------------------------------------------------------------------------------

PLAYED = Selection(backends=(Spec(adapter="chroma"), Spec(adapter="mem0", settings={"store": "faiss"})),
                   noise=(20, 100), writes=("append", "curated"), drills=("keeping",))  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "played", "said"),
    [
        ({"backends": '"chrom"'}, {}, "backend 'chrom' is not played by this run; did you mean chroma?"),
        ({"backends": '["chroma", "mem0"]'}, {}, "backend 'mem0' is not played by this run; did you mean mem0+store=f"),
        ({"backends": '"letta"'}, {}, "backend 'letta' is not played by this run; it plays chroma and mem0+store=fai"),
        ({"backends": '"oracle"', "measure": '"writes_kept"'}, {}, "backend 'oracle' is not played"),
        ({"measure": '"lost_by_kill"'}, {}, "lost_by_kill is measured by the drill durability, which this run does n"),
        ({"backends": '"*"'}, {"scenarios": ("none",)}, "recall is measured by stories, and -s none plays none"),
        ({"write": '"curated"'}, {"writes": ("append",)}, "write curated is not played by this run: add --write cur"),
        ({"read": '"model"'}, {}, "read model is no way in which scripted reads: trusting, newest, verifying, care"),
        ({"noise": 10}, {}, "noise 10 is not played by this run; it plays 20 and 100"),
        ({"noise": 20, "write": '"curated"'}, {}, "noise 20 is not played by this run, as other policies than append"),
    ],
)
def test_a_gate_that_no_number_of_the_run_can_answer_is_said_before_it(
    keys: dict[str, object], played: dict[str, object], said: str
) -> None:
    asked = gates.read(gate(at_least=0, **{"backends": '"chroma"', **keys}).encode(), "gates.toml")
    with pytest.raises(RegressError) as caught:
        unanswerable.check(asked, PLAYED.model_copy(update=played))
    assert str(caught.value).startswith(f"gates.toml:1: gate 'g': {said}") and "\n" not in str(caught.value)


def test_a_gate_that_the_run_answers_passes() -> None:
    for keys in (
        {"backends": '["chroma", "mem0+store=faiss", "oracle", "cold"]'}, {"backends": '"*"', "noise": 20},
        {"backends": '"reference"', "measure": '"writes_kept"'}, {"write": '"curated"', "noise": 100},
    ):  # fmt: skip
        unanswerable.check(
            gates.read(gate(at_least=0, **{"backends": '"chroma"', **keys}).encode(), "gates.toml"), PLAYED
        )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("coldwarm run -b x --gates ci/my-gates.toml -j 2", "ci/my-gates.toml"),
        ("coldwarm run --gates=ci/my-gates.toml", "ci/my-gates.toml"),
        ("coldwarm run --gates", None),
        ("pytest --coldwarm-backend x", None),
    ],
)
def test_a_verdict_names_the_file_that_was_given(command: str, name: str | None) -> None:
    assert find_option(command, "--gates") == name
