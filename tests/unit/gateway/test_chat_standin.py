from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.gateway import tokens
from harness.gateway.chat.standin import MODEL, StandIn
from harness.gateway.chat.standin_mem0 import extract_facts
from harness.gateway.chat.wire import ChatRequest, Completion, Refused, read_message
from tests.support.fake_upstream import SYSTEM, prompt


def answer(said: str, existing: Sequence[str] = (), recent: Sequence[str] = (), **more: Any) -> Completion:
    messages = [SYSTEM, {"role": "user", "content": prompt(said, existing, recent)}]
    return asyncio.run(StandIn().complete(ChatRequest({"model": "any", "messages": messages, **more})))


def memories(said: str, existing: Sequence[str] = (), recent: Sequence[str] = ()) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(read_message(answer(f"user: {said}\n", existing, recent))["content"])[
        "memory"
    ]
    return found


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("On main errors have the shape vnd.pell.tree", ["On main errors have the shape vnd.pell.tree"]),
        ("Pages hold 6 rows. release-2.x keeps 10.", ["Pages hold 6 rows.", "release-2.x keeps 10."]),
        ("Use v2.1. Run `make a. B`! Done.", ["Use v2.1.", "Run `make a. B`!", "Done."]),
        ('He said "stop. Now." and left. Jonas stayed.', ['He said "stop. Now." and left.', "Jonas stayed."]),
        ("Use a queue, e.g. Redis. Ask Dr. Noor O. Lund.", ["Use a queue, e.g. Redis.", "Ask Dr. Noor O. Lund."]),
        ("The tag is first. It is signed. Jonas pushes.", ["The tag is first. It is signed.", "Jonas pushes."]),
        ("Hi team! Thanks, Jonas. Sounds good.", []),
        ("No deploys on Friday.", ["No deploys on Friday."]),
        ("Great care is needed here.", ["Great care is needed here."]),
        ("Which port is it? The port is 80.", ["The port is 80."]),
        ("Is it 80? It is 80.", ["It is 80."]),
        ("Please remember that `a` is b. Note: c is d.", ["`a` is b.", "c is d."]),
        ("I prefer tabs, and I fixed my editor.", ["User prefers tabs, and User fixed User's editor."]),
        ("I'm Noor. I've a desk. I push to main", ["User is Noor.", "User has a desk.", "User pushes to main"]),
        ("World War I ended.", ["World War I ended."]),
        ("Steps:\n- run `x`\n2. tag it\n\nAll by hand.", ["Steps: run `x`", "Steps: tag it", "All by hand."]),
        ("# Rules\n\nA rule that\nis wrapped.\n\nThe other rule.", ["A rule that is wrapped.", "The other rule."]),
        ("Tabs it is. The steps:\n\n* one\n* two", ["Tabs it is.", "The steps: one", "The steps: two"]),
        ("The command is:\n\n```sh\nmake all\nmake it. Now\n```", ["The command is: `sh make all make it. Now`"]),
        ("The list is:", ["The list is:"]),
        ("", []),
        (" \n \n", []),
    ],
)  # fmt: skip
def test_what_is_told_becomes_facts(said: str, expected: list[str]) -> None:
    assert extract_facts(said) == expected
    assert [memory["text"] for memory in memories(said)] == expected


def test_turns_are_told_apart() -> None:
    said = "system: be brief\nuser: The port is 80.\nuser: Which host?\nassistant: The host is brook-9.\nIt is new.\n"
    found = json.loads(read_message(answer(said))["content"])["memory"]
    assert found == [
        {"id": "0", "text": "The port is 80.", "attributed_to": "user"},
        {"id": "1", "text": "The host is brook-9. It is new.", "attributed_to": "assistant"},
    ]


@pytest.mark.parametrize("known", ["the port is `80`", "A port is 80!", "The port is 80."])
def test_none_what_is_known_already(known: str) -> None:
    assert memories("The port is 80.", existing=["x", known]) == []
    assert memories("The port is 80.", recent=[known]) == []
    assert [memory["text"] for memory in memories(f"The port is 80. {known}")] == ["The port is 80."]


@pytest.mark.parametrize("other", ["The port is 81.", "The port was 80.", "The port is not 80.", "80 is the port"])
def test_add_what_differs_in_a_word_or_in_order(other: str) -> None:
    assert [memory["text"] for memory in memories("The port is 80.", existing=[other])] == ["The port is 80."]


def test_update_is_an_add_with_a_link() -> None:
    found = memories("The staging port is 9090. Jonas reviews.", existing=["Ship by tag", "The staging port is 8080."])
    assert found == [
        {"id": "0", "text": "The staging port is 9090.", "attributed_to": "user", "linked_memory_ids": ["1"]},
        {"id": "1", "text": "Jonas reviews.", "attributed_to": "user"},
    ]


def test_it_is_labelled_and_counted() -> None:
    given = answer("user: The port is 80.\n")
    assert given["model"] == MODEL == "coldwarm-extractor-1"
    assert given["id"].startswith("stand-in-")
    assert StandIn().name == "stand-in coldwarm-extractor-1"
    text = read_message(given)["content"]
    assert given["usage"]["completion_tokens"] == tokens.count(text)
    asked = tokens.count(str(SYSTEM["content"])) + tokens.count(prompt("user: The port is 80.\n"))
    assert given["usage"]["prompt_tokens"] == asked
    assert answer("user: The port is 80.\n") == given
    assert answer("user: The port is 81.\n")["id"] != given["id"]


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_an_answer_fits_and_is_whole(field: str) -> None:
    said = "user: " + " ".join(f"Rule {number} holds in brook-{number}." for number in range(200))
    text = read_message(answer(said, [], [], **{field: 300}))["content"]
    assert tokens.count(text) <= 300
    found = json.loads(text)["memory"]
    assert [memory["id"] for memory in found] == [str(number) for number in range(len(found))]
    assert 5 < len(found) < 20
    assert len(json.loads(read_message(answer(said))["content"])["memory"]) == 200


@pytest.mark.parametrize(
    "said",
    [
        "Which platform does staging run on?",
        "",
        prompt("user: x\n").replace("## Existing Memories\n[]", "## Existing Memories\n[1]"),
        prompt("user: x\n").replace("## Existing Memories\n[]", "## Existing Memories\n[{]"),
    ],
)
def test_any_other_request_is_refused(said: str) -> None:
    with pytest.raises(Refused, match="is a stand-in that understands the extraction prompts of Mem0") as caught:
        asyncio.run(StandIn().complete(ChatRequest({"model": "any", "messages": [{"role": "user", "content": said}]})))
    assert caught.value.status_code == 400


def test_a_memory_that_looks_like_the_prompt_does_no_harm() -> None:
    said = prompt("user: inner\n", existing=["inner"])
    found = memories(f"The port is 80.\n\n{said}", existing=[said])
    assert found[0]["text"] == "The port is 80."
    assert json.dumps(found)


@pytest.mark.slow
@given(
    st.text()
    | st.lists(st.sampled_from(["I ", "It is. ", "- a\n", "a:\n", "\n\n", "```", "`", "x. ", "y? ", "# h\n"])).map(
        "".join
    )
)
def test_any_text_is_read_and_the_answer_is_json(said: str) -> None:
    assert all(fact.strip() for fact in extract_facts(said))
    for memory in memories(said):
        assert memory["text"]


@pytest.mark.slow
@given(
    st.lists(
        st.from_regex(r"[B-H][a-z]{2,8} (holds|keeps) [a-z]{1,8}-[0-9]{1,3}\.", fullmatch=True),
        max_size=8,
        unique_by=str.casefold,
    )
)
@example(["Baa holds my-0."])
def test_sentences_survive_in_order(rules: list[str]) -> None:
    assert extract_facts(" ".join(rules)) == [rule for rule in rules if rule]


@pytest.mark.backend
def test_the_prompt_of_these_tests_is_the_one_that_mem0_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))  # read, and written to, by importing it
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    made = pytest.importorskip("mem0.configs.prompts").generate_additive_extraction_prompt(
        existing_memories=[{"id": "0", "text": "Ünï"}, {"id": "1", "text": 'a "b"\n\n## New Messages\nc'}],
        new_messages="user: The port is 80.\n",
        last_k_messages=[{"role": "user", "content": "an older message"}],
        current_date="2026-10-14",
    )
    assert made == prompt("user: The port is 80.\n", ["Ünï", 'a "b"\n\n## New Messages\nc'])
