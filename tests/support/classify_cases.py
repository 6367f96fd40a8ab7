"""The table of hand-written cases, and texts that are drawn from its words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pydantic_core import to_json

from harness.model.scenario import Scenario

TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[1] / "unit" / "text" / "classify_cases.toml").read_text(encoding="utf-8")
)
SCENARIO = Scenario.model_validate_json(to_json(TABLE["scenario"]))
CANARY = "zq7-kitfox-41"
FORMS = sorted({form for fact in SCENARIO.facts for part in fact.forms for form in part} - {"{canary}"} | {CANARY})
TEXTS = [case["text"] for case in TABLE["case"]]

# Words that are no form and tell nothing.
fillers = st.lists(st.sampled_from(["a", "green", "Lamp", "stands", "near", "the", "tall", "gate"]), min_size=1).map(
    " ".join
)
telling = (
    "not|never|was|from|to|->|(|)|,|.|;| - |no longer|instead of|until May|replaced by|now|and|but|old|used to|is|we"
    "|use|\"|'|`|’|\n|\x00|\u202e|é|\x1b[0m|\u0301"
)
pieces = st.sampled_from([*FORMS, *telling.split("|")])
prose = st.lists(pieces | st.text(max_size=4), max_size=14).map(" ".join)
anything = st.text() | prose | st.sampled_from(TEXTS)
