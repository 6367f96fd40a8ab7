"""Small invented files in the forms of published sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SAID = {
    1: ["I grew tomatoes on the balcony.", "The ferry to the island was late."],
    2: ["My sister plays the cello now.", "We painted the kitchen in green.", "The green paint smells."],
    3: ["The cello was sold last week."],
}
ASKED: list[tuple[str, list[str]]] = [
    ("What grew on the balcony?", ["D1:1"]),
    ("What happened to the cello?", ["D2:1", "D3:1"]),
    ("Which paint smells?", ["D2:3", "D2:9"]),
    ("Who won the match?", []),
    ("Was the ferry late?", ["D1:2; D2:1"]),
]


def talk() -> dict[str, Any]:
    """One conversation in the form of LoCoMo; one id of its evidence is not whole, and one leads nowhere."""
    conversation: dict[str, Any] = {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_4_date_time": "1:00 pm on 4 May, 2023",
    }
    for number, texts in SAID.items():
        conversation[f"session_{number}_date_time"] = f"1:0{number} pm on {number} May, 2023"
        conversation[f"session_{number}"] = [
            {"speaker": "Ada" if at % 2 else "Bo", "dia_id": f"D{number}:{at}", "text": text}
            for at, text in enumerate(texts, 1)
        ]
    qa = [{"question": question, "answer": "", "evidence": evidence, "category": 1} for question, evidence in ASKED]
    return {"sample_id": "talk-1", "conversation": conversation, "qa": qa}


def write_locomo(folder: Path, *talks: dict[str, Any]) -> Path:
    file = folder / "locomo.json"
    file.write_text(json.dumps(talks or [talk()]))
    return file


def dialogue() -> dict[str, Any]:
    """One dialogue in the form of MemoryCode: rule 7 changes twice, rule 8 stays, session 1 gives none."""
    told: list[tuple[list[tuple[str, str]], list[Any], str]] = [
        ([("instruction-add", "always end function names with '_x'"), ("instruction-add", "always use annotations")],
         [[7, 0], [8, 0]], "function names end with _x, and use annotations, says the mentor"),
        ([("filler-add", "planning an outing")], [-1], "we plan an outing by bus"),
        ([("instruction-update", "always end function names with '_y'")], [[7, 1]],
         "end function names with _y from now on"),
        ([("filler-instruction-add", "never use paper"), ("instruction-update", "always end function names with '_z'")],
         [[7, 2]], "no paper, and a _z, please"),
    ]  # fmt: skip
    sessions = [
        {
            "type": [kind for kind, _ in topics], "topic": [topic for _, topic in topics], "text": text,
            "session_eval_query": ["function that merges two lists"] * sum(isinstance(rule, list) for rule in rules),
        }
        for topics, rules, text in told
    ]  # fmt: skip
    return {"context": {}, "instructions": [rules for _, rules, _ in told], "fillers": [], "sessions": sessions}


def write_memorycode(folder: Path, *dialogues: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for at, each in enumerate(dialogues or [dialogue()], 1):
        (folder / f"dialogue_{at}.json").write_text(json.dumps(each))
    return folder
