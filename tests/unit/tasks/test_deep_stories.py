"""Stories with transcripts, whose jobs are changes in code: what is proven of them, and how they play."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from harness.cli import common
from harness.model.scenario import Scenario
from harness.repo import checks
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees
from harness.selftest import control_plays, job_checks, suite
from harness.selftest.control_plays import DecisionEnd
from harness.selftest.proof import ScenarioProof
from tasks.loader import load
from tests.unit.conftest import House, Series

LIBRARY = "def price(cents):\n    return cents\n"
TEST = """\
import unittest

import shop


class Prices(unittest.TestCase):
    def test_price(self):
        self.assertGreaterEqual(shop.price(3), 3)
"""
DRY_RUN = "import shop\n\nif shop.fee(1) == 0:\n    print('refused: a fee is', {rule})\n"
HIDDEN = """\
import os, sys
sys.path.insert(0, os.getcwd())
import shop
if not hasattr(shop, "fee"):
    sys.exit(1)
print({7: "larkspur", 5: "dockleaf", 0: "none"}[shop.fee(1)])
"""
STORY = """
schema = 1
version = 1
kind = "migration"
title = "The fee changes"
story = "Told in a test."
fixture = "till"
scope = {repo = "till"}

[[facts]]
id = "fee-old"
type = "project"
since = 2024-01-01T10:00:00Z
forms = [["dockleaf"]]
identifier = "fee = dockleaf"
plain = "A fee is dockleaf."
paraphrase = "We charge dockleaf."
rewrites = ["dockleaf it is", "use dockleaf", "to dockleaf"]

[[facts]]
id = "fee-new"
type = "project"
since = 2024-01-02T10:00:00Z
supersedes = "fee-old"
forms = [["larkspur"]]
identifier = "charging follows larkspur"
plain = "By now larkspur says what is charged."
paraphrase = "Ask larkspur for charges."
rewrites = ["larkspur it is", "use larkspur", "to larkspur"]

[[sessions]]
id = "monday"
at = 2024-01-01T12:00:00Z
by = "ada"
commit = "0001"
steps = [{do = "learn", facts = ["fee-old"]}]

[[sessions]]
id = "tuesday"
at = 2024-01-02T12:00:00Z
by = "ben"
commit = "0001"
steps = [{do = "learn", facts = ["fee-new"]}]

[[sessions]]
id = "friday"
at = 2024-01-05T12:00:00Z
by = "ada"
commit = "0001"

[[sessions.steps]]
do = "job"
id = "charge"
goal = "Add what we charge."
relevant = ["shop.py"]
run = [["python3", "-m", "dry"]]
visible = [["python3", "-m", "unittest", "-q", "test_shop"]]
hidden = ["charge.py"]

[[sessions.steps.decisions]]
id = "charge"
question = "How much do we charge?"
check = ["python3", "hidden/charge.py"]
options = [
  {value = "larkspur", verdict = "right", fact = "fee-new", edits = [EDIT7]},
  {value = "dockleaf", verdict = "stale", fact = "fee-old", edits = [EDIT5]},
]
naive = {value = "none", edits = [EDIT0]}
"""
for fee in "750":
    new = f"return cents\\n\\ndef fee(n):\\n    return {fee}\\n"
    STORY = STORY.replace(f"EDIT{fee}", f'{{path = "shop.py", old = "return cents\\n", new = "{new}"}}')
SESSIONS = {
    "monday": """
[[messages]]
role = "user"
content = "what do we charge? I thought dockleaf"
mentions = ["fee-old"]
[[messages]]
role = "assistant"
tool_calls = [{id = "c1", type = "function", function = {name = "bash", arguments = '{"command": "cat shop.py"}'}}]
[[messages]]
role = "tool"
tool_call_id = "c1"
content = "def price(cents):"
[[messages]]
role = "user"
content = "yes, dockleaf it is"
tells = ["fee-old"]
""",
    "tuesday": """
[[messages]]
role = "user"
content = "dockleaf is history, larkspur from today on"
tells = ["fee-new"]
retracts = ["fee-old"]
""",
    "friday": '[[messages]]\nrole = "user"\ncontent = "go on"\n',
}


class DeepHouse(House):
    """A story with transcripts and hidden tests beside it."""

    story = STORY

    def __init__(self, root: Path, series: Series, rule: str = "0") -> None:
        super().__init__(root)
        series(
            self.fixtures / "till", [{"shop.py": LIBRARY, "test_shop.py": TEST, "dry.py": DRY_RUN.format(rule=rule)}]
        )
        self.file = root / "tasks" / "migration" / "fees.toml"
        self.beside = self.file.with_suffix("")
        (self.beside / "hidden").mkdir(parents=True)
        (self.beside / "hidden" / "charge.py").write_text(HIDDEN)
        for name, text in SESSIONS.items():
            (self.beside / f"{name}.toml").write_text(text)

    def load(self) -> tuple[Scenario, Repo]:
        ((scenario, repo),) = load([self.write(self.story)], self.fixtures, self.cache)
        return scenario, repo

    def tell(self) -> ScenarioProof:
        scenario, repo = self.load()
        return ScenarioProof(self.file, scenario, repo)


@pytest.fixture
def deep(tmp_path: Path, series: Series) -> DeepHouse:
    return DeepHouse(tmp_path, series)


def test_a_story_holds_its_transcripts_and_hidden_tests(deep: DeepHouse) -> None:
    assert deep.problems(STORY) == []
    scenario, _ = deep.load()
    assert [len(session.transcript) for session in scenario.sessions] == [4, 1, 1]
    assert scenario.jobs()[0][1].hidden == {"charge.py": HIDDEN}
    assert Scenario.model_validate_json(scenario.model_dump_json(by_alias=True)) == scenario


def test_messages_are_those_of_the_openai_sdk(deep: DeepHouse) -> None:
    scenario, _ = deep.load()
    sent = [message.as_openai({}) for session in scenario.sessions for message in session.transcript]
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(sent)
    assert not any({"tells", "retracts", "mentions"} & message.keys() for message in sent)


CUT = SESSIONS["monday"][SESSIONS["monday"].index('[[messages]]\nrole = "tool"') :]
BROKEN = {
    "no anchor": ("monday", 'mentions = ["fee-old"]', "", "messages.1: holds all forms of fact 'fee-old' and has no"),
    "not told": ("tuesday", 'tells = ["fee-new"]', 'mentions = ["fee-new"]', "no message tells fact 'fee-new'"),
    "told in other words": ("tuesday", "larkspur from", "the new one from", "tell fact 'fee-new' hold not all"),
    "unknown fact": ("monday", 'tells = ["fee-old"]', 'tells = ["fees"]', "messages.4: unknown fact 'fees'"),
    "cut": ("monday", CUT, "", "c1' has no answer"),
    "answer to nothing": ("monday", 'tool_call_id = "c1"', 'tool_call_id = "c2"', "answers no tool call that is open"),
    "no role": ("monday", 'role = "tool"', 'role = "robot"', "transcripts.monday.messages.3.role: "),
    "empty": ("friday", "go on", " ", "transcripts.friday.messages.1: content: says nothing"),
    "no TOML": ("friday", "[[messages]]", "[[messages", "transcripts.friday.file: is not TOML: "),
    "other keys": ("friday", "[[messages]]", "notes = 1\n[[messages]]", "transcripts.friday.notes: unknown key"),
    "cut arguments": ("monday", 'cat shop.py"}', "cat sh", "messages.2: the arguments of tool call 'c1' are not JSON"),
    "other arguments": ("monday", '{"command": "cat shop.py"}', '["ls"]', "call 'c1' are not JSON: no object"),
    "no arguments": ("monday", '{"command": "cat shop.py"}', "", "not JSON: Expecting value, character 1 of 0"),
    "too deep": ("monday", '{"command": "cat shop.py"}', "[" * 100_000, "messages.2: the arguments of tool call"),
    "both": ("tuesday", 'tells = ["fee-new"]', 'tells = ["fee-new", "fee-old"]',
             "transcripts.tuesday.messages.1: tells and retracts fact 'fee-old'; what holds after it is the one or"),
    "told too early": ("monday", 'tells = ["fee-old"]', 'tells = ["fee-old", "fee-new"]',
                       "transcripts.monday.messages.4: tells fact 'fee-new', which holds only since 2024-01-02 10:00"),
    "taken back too early": ("monday", 'mentions = ["fee-old"]', 'retracts = ["fee-old"]',
                             "transcripts.monday.messages.1: retracts fact 'fee-old', which is first told later"),
    "a strange canary": ("friday", "go on", "{canary:fee-old}", "no fact with a canary"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_with_a_transcript_is_said_in_one_line(deep: DeepHouse, name: str) -> None:
    session, old, new, reason = BROKEN[name]
    assert old in SESSIONS[session]
    (deep.beside / f"{session}.toml").write_text(SESSIONS[session].replace(old, new))
    found = deep.problems(STORY)
    assert len([line for line in found if reason in line]) == 1, found
    assert all("\n" not in line for line in found)


def test_what_somebody_mentioned_may_be_denied_before_it_is_told(deep: DeepHouse) -> None:
    denied = '[[messages]]\nrole = "user"\ncontent = "no, not dockleaf"\nretracts = ["fee-old"]\n'
    told = SESSIONS["monday"].rindex("[[messages]]")
    (deep.beside / "monday.toml").write_text(f"{SESSIONS['monday'][:told]}{denied}{SESSIONS['monday'][told:]}")
    assert deep.problems(STORY) == []


PROBE = '{do = "probe", id = "fee", ask = {plain = "How much is it?"}}'
LEARNT, GOLD = '{do = "learn", facts = ["fee-old"]}', PROBE.replace('"}}', '"}, gold = ["fee-old"]}')
NOBODY = "it has no source, but it is"
UNKNOWABLE = {
    "right": ('{do = "learn", facts = ["fee-new"]}', PROBE, {"larkspur": "the new one", '"fee-new"': ""},
              f"facts.fee-new: no message tells it and {NOBODY} behind the right option of charge.charge"),
    "mentioned": ('{do = "learn", facts = ["fee-new"]}', PROBE, {'tells = ["fee-new"]': 'mentions = ["fee-new"]'},
                  f"facts.fee-new: no message tells it and {NOBODY} behind the right option of charge.charge"),
    "stale": (LEARNT, PROBE, {"dockleaf": "the usual", '"fee-old"': ""},
              f"facts.fee-old: no message speaks of it and {NOBODY} behind option 'dockleaf' of charge.charge"),
    "gold": (LEARNT, GOLD, {'tells = ["fee-old"]': 'mentions = ["fee-old"]'},
             f"facts.fee-old: no message tells it and {NOBODY} gold of probe 'fee'"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWABLE)
def test_a_fact_that_nobody_learns_and_no_message_says_is_named_with_what_needs_it(deep: DeepHouse, name: str) -> None:
    learnt, instead, words, reason = UNKNOWABLE[name]
    for session, text in SESSIONS.items():
        for old, new in words.items():
            text = text.replace(old, new)
        (deep.beside / f"{session}.toml").write_text(text)
    assert learnt in STORY
    assert deep.problems(STORY.replace(learnt, instead)) == [reason]


def test_a_fact_of_a_chain_that_no_message_says_is_named(deep: DeepHouse) -> None:
    third = STORY[STORY.index('[[facts]]\nid = "fee-new"') : STORY.index("[[sessions]]")]
    for old, new in {"fee-new": "fee-next", "fee-old": "fee-new", "larkspur": "teasel", "01-02": "01-08"}.items():
        third = third.replace(old, new)
    [problem] = deep.problems(STORY.replace("[[sessions]]", f"{third}[[sessions]]", 1))
    assert problem.startswith("facts.fee-next: is never learnt")


def test_files_beside_a_story_that_are_missing_or_belong_to_nothing_are_named(deep: DeepHouse) -> None:
    (deep.beside / "hidden" / "charge.py").unlink()
    (deep.beside / "sunday.toml").write_text(SESSIONS["friday"])
    assert deep.problems(STORY) == [
        "transcripts.sunday: there is no session of this name",
        "jobs.charge.hidden: 'charge.py' cannot be read: No such file or directory",
    ]
    (deep.beside / "sunday.toml").unlink()
    (deep.beside / "friday.toml").unlink()
    (deep.beside / "hidden" / "charge.py").write_text(HIDDEN)
    assert deep.problems(STORY) == [
        "transcripts.friday: is missing or empty; each session of this story has one, or none has"
    ]


def test_an_edit_that_does_not_fit_is_named_with_its_option(deep: DeepHouse) -> None:
    head, naive, tail = STORY.partition("naive = {")
    text = head + naive + tail.replace("return cents", "return pence", 1)
    [problem] = deep.problems(text)
    assert problem.startswith("jobs.charge.charge.none.edits.0: `old` occurs 0 times in 'shop.py'")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "\nnaive = {",
            "\nedits = [{path = 'x', new = 'y'}]\nnaive = {",
            "edits: of the decision, or of each of its options",
        ),
        ('{value = "none"', '{value = "dockleaf"', "'dockleaf' is there twice"),
    ],
)
def test_a_decision_is_edited_in_one_way(deep: DeepHouse, old: str, new: str, reason: str) -> None:
    found = deep.problems(STORY.replace(old, new))
    assert any(reason in line for line in found), found


# --- the table of solutions and tests ---------------------------------------------------------------------------------


def test_each_solution_passes_what_is_visible_and_only_the_right_one_what_is_hidden(deep: DeepHouse) -> None:
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (1, 1)
    assert told.breaches == []


@pytest.mark.slow
def test_a_visible_test_that_tells_what_is_right_is_a_breach(deep: DeepHouse, series: Series) -> None:
    telling = TEST + "\n    def test_fee(self):\n        self.assertEqual(getattr(shop, 'fee', lambda n: 7)(1), 7)\n"
    series(deep.fixtures / "till", [{"shop.py": LIBRARY, "test_shop.py": telling, "dry.py": DRY_RUN}])
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (0, 1)
    assert {breach.key for breach in told.breaches} == {"jobs.charge.visible"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hidden", "reason"),
    [
        ("import os\nprint('larkspur' if os.urandom(1)[0] % 2 else 'dockleaf')\n", "does not say the same in 20 runs"),
        (
            HIDDEN.replace("print(", "value = ").replace(")])", ")]")
            + "print('larkspur' if value == 'dockleaf' and os.path.exists('seen') else value)\nopen('seen', 'w')\n",
            "does not say the same in 5 runs",
        ),
        ("print('larkspur')\n", "prints the right value 'larkspur' before the job"),
        (
            HIDDEN.replace("sys.exit(1)", "__import__('time').sleep(100)"),
            "does not end before the job",
        ),
        (
            "import shop_that_is_not_there\n",
            "prints nothing (exit 1: ModuleNotFoundError: No module named 'shop_that_is_not_there') after all right",
        ),
        ("import time\ntime.sleep(100)\n", "prints nothing (exit 124: no end within 2 s) after all right options"),
    ],
    ids=["flaky", "flaky if stale", "always right", "hanging at first", "broken", "hanging"],
)
def test_a_hidden_test_that_proves_nothing_is_a_breach(
    deep: DeepHouse, monkeypatch: pytest.MonkeyPatch, hidden: str, reason: str
) -> None:
    if "sleep" in hidden:
        monkeypatch.setattr(checks, "SECONDS", 2)
    (deep.beside / "hidden" / "charge.py").write_text(hidden)
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (0, 1)
    assert any(reason in breach.reason for breach in told.breaches), told.breaches


@pytest.mark.slow
@pytest.mark.parametrize("fee", "750", ids=["right", "stale", "naive"])
def test_a_solution_that_breaks_the_build_is_a_breach(deep: DeepHouse, fee: str) -> None:
    """Its visible tests fail as well, so that it would be told from the others before anybody decided."""
    deep.story = STORY.replace(f"return {fee}\\n", f"return {fee})\\n")
    assert deep.story != STORY
    told = deep.tell()
    assert job_checks.judge_checks(told, WorkTrees()) == (0, 1)
    assert {"jobs.charge.charge.check", "jobs.charge.visible"} <= {breach.key for breach in told.breaches}
    assert any("SyntaxError" in breach.reason for breach in told.breaches), told.breaches


def test_no_command_of_a_job_sees_its_hidden_tests(deep: DeepHouse) -> None:
    looking = ["python3", "-c", "import os; print(os.path.exists('hidden'))"]
    scenario, repo = (tomllib.loads(STORY), deep.load()[1])
    deep.write(STORY.replace('run = [["python3", "-m", "dry"]]', f"run = [{looking}]"))
    ((loaded, repo),) = load([deep.file], deep.fixtures, deep.cache)
    session, job = loaded.jobs()[0]
    done = WorkTrees().do(repo, session.commit, job, {"charge": "larkspur"})
    assert [ran.value for ran in done.ran] == ["False"]
    assert [check.value for check in done.checks] == ["larkspur"]
    assert "charge.py" not in done.diff and "+    return 7" in done.diff
    assert scenario["title"] == loaded.title


# --- who knows nothing ------------------------------------------------------------------------------------------------


def test_who_knows_nothing_does_what_is_usual(deep: DeepHouse) -> None:
    played = control_plays.play_scenario(deep.tell(), None, WorkTrees())
    assert played.ends[None] == {("charge", "charge"): DecisionEnd("none", "nowhere", "other")}


def test_who_knows_nothing_heeds_what_the_dry_run_refuses(tmp_path: Path, series: Series) -> None:
    house = DeepHouse(tmp_path / "told", series, rule="'rupskral'[::-1]")
    assert control_plays.play_scenario(house.tell(), None, WorkTrees()).ends[None] == {
        ("charge", "charge"): DecisionEnd("larkspur", "run", "right")
    }


# --- programs that tests need -----------------------------------------------------------------------------------------


def test_a_story_whose_tests_need_what_is_not_there_is_left_out_by_name(
    deep: DeepHouse, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deep.write(STORY.replace('kind = "migration"', 'kind = "migration"\nneeds = ["no-such-compiler"]'))
    monkeypatch.setenv("COLDWARM_CACHE", str(deep.cache))
    with pytest.raises(SystemExit) as ended:
        common.leave_out(common.load_stories(deep.file.parent.parent, deep.fixtures, (), "all"))
    assert ended.value.code == common.COULD_NOT_RUN
    said = capsys.readouterr().err
    assert "migration/fees is left out: its tests need no-such-compiler, not installed here" in said
    proven = suite.prove([deep.file], deep.fixtures, deep.cache)
    assert proven.rows == () and proven.left_out == {"migration/fees": ["no-such-compiler"]}
    [line] = suite.validate([deep.file], deep.fixtures, deep.cache)
    assert "not proven: its tests need no-such-compiler" in line
