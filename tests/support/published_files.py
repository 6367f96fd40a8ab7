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


def entry(name: str = "q1") -> dict[str, Any]:
    """One question in the form of LongMemEval: of two sessions that answer it, the user says so in one."""
    told = {
        "walk": [("user", "I walk to the mill."), ("assistant", "A fine walk.")],
        "answer_1": [("user", "My boat is called Wren."), ("assistant", "Noted: Wren.")],
        "answer_2": [("user", "What did I call it?"), ("assistant", "Your boat is called Wren.")],
    }
    return {
        "question_id": name, "question_type": "single-session-user", "question": "What is my boat called?",
        "answer": "Wren", "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_session_ids": list(told),
        "haystack_dates": ["2023/05/22 (Mon) 02:21", "2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [
            [{"role": role, "content": text, "has_answer": "Wren" in text} for role, text in turns]
            for turns in told.values()
        ],
        "answer_session_ids": ["answer_1", "answer_2"],
    }  # fmt: skip


def write_longmemeval(folder: Path, *entries: dict[str, Any]) -> Path:
    file = folder / "longmemeval_s.json"
    file.write_text(json.dumps(entries or [entry(), entry("q2_abs")]))
    return file


def write_devmembench(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    sessions = [
        {
            "sessionId": name, "metadata": {"date": f"2025-01-0{at}", "project": "ferry-api"},
            "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}],
        }
        for at, (name, text) in enumerate((("S01", "The lane is harborline."), ("S02", "Now it is kestrelway.")), 1)
    ]  # fmt: skip
    questions = [
        {"questionId": f"Q{at}", "question": "Which lane?", "groundTruth": "", "haystackSessionIds": ids}
        for at, ids in enumerate([["S01", "S02"], [], ["S02", "S09"]])
    ]  # fmt: skip
    (folder / "sessions.json").write_text(json.dumps(sessions))
    (folder / "questions.json").write_text(json.dumps(questions))
    return folder


def case(op: str = "supersede") -> dict[str, Any]:
    """One case in the form of ForgetEval."""
    mutation = [op, "Ada's lane", *(["Ada's lane is kestrelway."] if op == "supersede" else [])]
    return {
        "id": f"made_{op}", "category": "made", "mutations": [mutation], "final_query": "Which lane has Ada?",
        "setup_facts": ["Ada's lane is harborline.", "Ada counts 12 boats.", "Bo paints the quay."],
        "must_contain": ["Kestrelway"] if op == "supersede" else [], "must_not_contain": ["HARBORLINE", "harbor line"],
    }  # fmt: skip


def write_forgeteval(folder: Path, *cases: dict[str, Any]) -> Path:
    file = folder / "cases.json"
    file.write_text(json.dumps({"admitted_cases": cases or [case(), case("purge"), case("release")]}))
    return file


def write_personamem(folder: Path, *, distance: str = "2", end: str = "5", context: str = "c1") -> Path:
    """Two sessions before the question and one after it."""
    folder.mkdir(exist_ok=True)
    persona = {"role": "system", "content": "Current user persona: Ada"}
    said = ["User: I like rowing.", "User: I dislike rowing now.", "User: I like sailing."]
    talk = [each for text in said for each in (persona, {"role": "user", "content": text})]
    talk.insert(2, {"role": "assistant", "content": "Assistant: Good."})
    (folder / "shared_contexts_32k.jsonl").write_text(json.dumps({"c1": talk}) + "\n")
    (folder / "questions_32k.csv").write_text(
        "persona_id,question_id,distance_to_ref_in_blocks,user_question_or_message,shared_context_id,"
        f'end_index_in_shared_context\n0,q1,{distance},"Rowing, or not?",{context},{end}\n'
    )
    return folder
