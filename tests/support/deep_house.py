"""A story with transcripts and hidden tests, and the house that it stands in."""

from __future__ import annotations

from pathlib import Path

from harness.model.scenario import Scenario
from harness.repo.checkout import Repo
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
