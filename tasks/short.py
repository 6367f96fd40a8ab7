"""The short form of a story: what a file may leave out because it follows from the rest.

    says = { what = "python_requires", value = ">=3.9" }   of a fact: its forms, phrasings and rewrites;
                                                           key = "...": the word of the line, if `what` says more,
                                                           empty if the value tells enough by itself, as it does
                                                           by default where a fact replaces none
    asks = "FACT"                                          of a probe: its questions and its gold
    asks = "FACT", line = "python_requires = {value}"      of a decision: its question, its edit, the check, which
                                                           reads the real file, and the options of the fact's chain;
                                                           tests = ["COMMAND", ...]: the check runs these tests on the
                                                           file with the decided value in it instead

Only keys that are missing are filled in. What is wrong with a short form is left as it is, for the loader to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.text.classify import holds

NOTE = ".coldwarm/{id}.txt"
"""Where a short decision writes its value in the work tree."""
CHECK = """\
import sys
note, path, line, *stale = sys.argv[1:]
before, after = line.split("{value}")
rows = [row.strip() for row in open(path, encoding="utf-8")]
said = {row[len(before):len(row) - len(after)] for row in rows
        if row.startswith(before) and row.endswith(after) and len(row) >= len(before) + len(after)}
answer = open(note, encoding="utf-8").read().strip()
if (answer in said) == (answer in stale):
    sys.exit(f"{path} says {sorted(said)} there, the note says {answer}")
print(answer)
"""
"""Prints the value of the note if the real file says it and it is none of the stale ones, or the other way round."""
TESTED = """\
import subprocess, sys
note, path, line, many, *rest = sys.argv[1:]
tests, stale = rest[:int(many)], rest[int(many):]
before, after = line.split("{value}")
answer = open(note, encoding="utf-8").read().strip()
with open(path, encoding="utf-8", newline="") as file:
    rows = file.readlines()
changed = [*rows]
for at, row in enumerate(rows):
    said = row.strip()
    if said.startswith(before) and said.endswith(after) and len(said) >= len(before) + len(after):
        changed[at] = row.replace(said, before + answer + after, 1)
for lines in changed, rows:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
    if lines is changed:
        passed = subprocess.run(tests, stdout=sys.stderr).returncode == 0
if passed == (answer in stale):
    sys.exit(f"with {answer} in {path} the tests {'pass' if passed else 'fail'}")
print(answer)
"""
"""Runs the tests with the value of the note in the real file, which the other checks of the job find untouched. Prints
the value if they pass and it is none of the stale ones, or the other way round."""
_SPOKEN = re.compile(r"[_./-]+|(?<=[a-z])(?=[A-Z])")


class ShortError(Exception):
    """Why a short form stands for nothing. `key: reason`."""


def expand(data: dict[str, Any]) -> dict[str, Any]:
    """The same story with everything that its short forms stand for; `data` is as TOML has it, and is not changed."""
    facts = [each for each in _tables(data.get("facts")) if isinstance(each.get("says"), dict)]
    if not facts:
        return data
    says = {str(each.get("id")): each["says"] for each in facts}
    chains = _Chains({str(each.get("id")): each for each in _tables(data.get("facts"))}, says)
    return {
        **data,
        "facts": [_expand_fact(each, chains) if isinstance(each, dict) else each for each in data["facts"]],
        "sessions": [_expand_session(each, chains) for each in data.get("sessions") or ()],
    }


class _Chains:
    """The facts of a file that have a short form."""

    def __init__(self, facts: Mapping[str, Mapping[str, Any]], says: Mapping[str, Mapping[str, Any]]) -> None:
        self.facts, self.says = facts, says

    def find(self, key: str, name: object) -> Mapping[str, Any]:
        if name not in self.says:
            raise ShortError(f"{key}: '{name}' is no fact with 'says'")
        return self.facts[str(name)]

    def before(self, name: str) -> Iterator[str]:
        """The facts that this one replaced, newest first."""
        seen = {name}
        while isinstance(older := self.facts.get(name, {}).get("supersedes"), str) and older in self.says.keys() - seen:
            seen.add(older)
            yield older
            name = older

    def has_rival(self, fact: Mapping[str, Any]) -> bool:
        """Whether the fact has a rival. What only one fact is about stands in its question, so it is no form of it."""
        return "supersedes" in fact or any(each.get("supersedes") == fact.get("id") for each in self.facts.values())

    def where(self, fact: Mapping[str, Any]) -> str:
        source = fact.get("source")
        return str(fact["says"].get("where") or (source.get("path") if isinstance(source, dict) else "") or "")


def _tables(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def speak(what: str) -> str:
    """A name as words: python_requires -> python requires."""
    return " ".join(_SPOKEN.sub(" ", what).split())


def phrase(what: str, value: str, where: str) -> dict[str, str]:
    """How a fact is said in each stratum."""
    place = _place(where)
    return {
        "identifier": f"{what} = {value}{place}",
        "plain": f"{what} is {value}{place}.",
        "paraphrase": f"When it comes to {speak(what)}, the project goes with {value}",
    }


def ask(what: str, where: str) -> str:
    """The question for it."""
    return f"What is {what} now{_place(where)}?"


def _place(where: str) -> str:
    return f" ({where})" if where else ""


def _expand_fact(fact: dict[str, Any], chains: _Chains) -> dict[str, Any]:
    says = fact.get("says")
    if not isinstance(says, dict):
        return fact
    key = f"facts.{fact.get('id')}.says"
    if unknown := sorted(says.keys() - {"what", "value", "where", "key"}):
        raise ShortError(f"{key}.{unknown[0]}: unknown key; there are what, key, value and where")
    if not all(isinstance(says.get(word), str) and says[word].strip() for word in ("what", "value")):
        raise ShortError(f"{key}: needs a text 'what' and a text 'value'")
    if not all(isinstance(says.get(word, ""), str) for word in ("key", "where")):
        raise ShortError(f"{key}: 'key' and 'where' must be texts")
    what, value, place = says["what"], says["value"], _place(chains.where(fact))
    rewrites: list[Any] = [
        f"Use {value} for {what}{place}",
        f"Note{place}: {what} {value}",
        f"{value} is the answer for {what}",
    ]
    older = next(chains.before(str(fact.get("id"))), None)
    if older is not None and chains.says[older].get("what") == what:
        changed = f"{what} changed from {chains.says[older].get('value')} to {value}"
        rewrites.append({"text": changed, "mentions": [older]})
    derived = {
        "type": "project",
        "forms": _forms(str(says.get("key", what if chains.has_rival(fact) else "")), what, value),
        **phrase(what, value, chains.where(fact)),
        "rewrites": rewrites,
    }
    return {**derived, **{name: each for name, each in fact.items() if name != "says"}}


def _forms(key: str, what: str, value: str) -> list[list[str]]:
    """The line says `key`; where the sentences do not, they say `what`."""
    if not key:
        return [[value]]
    also = [] if holds(what, ((key, speak(key)),)) else [what, speak(what)]
    return [list(dict.fromkeys([key, speak(key), *also])), [value]]


def _expand_session(session: Any, chains: _Chains) -> Any:
    if not (isinstance(session, dict) and isinstance(session.get("steps"), list)):
        return session
    return {**session, "steps": [_expand_step(each, chains) for each in session["steps"]]}


def _expand_step(step: Any, chains: _Chains) -> Any:
    if not isinstance(step, dict):
        return step
    if step.get("do") == "probe" and "asks" in step:
        return _expand_probe(step, chains)
    if step.get("do") == "job" and isinstance(step.get("decisions"), list):
        return _expand_job(step, chains)
    return step


def _expand_probe(probe: dict[str, Any], chains: _Chains) -> dict[str, Any]:
    fact = chains.find(f"probes.{probe.get('id')}.asks", probe["asks"])
    what, place = fact["says"]["what"], _place(chains.where(fact))
    older = next(chains.before(str(fact["id"])), None) if probe.get("history") is True else None
    asked = {
        "identifier": f"{what}{place}",
        "plain": ask(what, chains.where(fact)),
        "paraphrase": f"With what does the project go when it comes to {speak(what)}?",
    }
    if older is not None:
        asked = {"plain": f"What was {what} before the last change{place}?"}
    derived = {"ask": asked, "gold": [older or probe["asks"]]}
    return {**derived, **{name: each for name, each in probe.items() if name != "asks"}}


def _expand_job(job: dict[str, Any], chains: _Chains) -> dict[str, Any]:
    decisions = [_expand_decision(job, each, chains) for each in job["decisions"]]
    files = [each[1] for each in decisions if each[1]]
    derived = {"relevant": list(dict.fromkeys(files)), "goal": "Write down how the project is set up now"}
    return {**derived, **job, "decisions": [each for each, _ in decisions]}


def _expand_decision(job: dict[str, Any], decision: Any, chains: _Chains) -> tuple[Any, str]:
    """The decision, and the file that it is about."""
    if not (isinstance(decision, dict) and "asks" in decision):
        return decision, ""
    key = f"jobs.{job.get('id')}.{decision.get('id')}"
    fact = chains.find(f"{key}.asks", decision["asks"])
    source = fact.get("source")
    file = decision.get("file") or (source.get("path") if isinstance(source, dict) else None)
    line = decision.get("line", "{value}")
    if not (isinstance(line, str) and line.count("{value}") == 1):
        raise ShortError(f"{key}.line: must be a line of the file with {{value}} once in it")
    if not isinstance(file, str):
        raise ShortError(f"{key}.file: missing; name the file that the check reads")
    name = str(fact["id"])
    stale = [(older, str(chains.says[older].get("value"))) for older in chains.before(name)]
    note, right = NOTE.format(id=decision.get("id")), fact["says"]["value"]
    tests = decision.get("tests", [])
    if not (isinstance(tests, list) and all(isinstance(word, str) for word in tests)):
        raise ShortError(f"{key}.tests: must be a command as a list of words")
    program = [TESTED, note, file, line, str(len(tests)), *tests] if tests else [CHECK, note, file, line]
    derived = {
        "question": ask(fact["says"]["what"], chains.where(fact)),
        "edits": [{"path": note, "new": "{value}\n"}],
        "check": ["python3", "-c", *program, *(value for _, value in stale)],
        "options": [
            {"value": right, "verdict": "right", "fact": name},
            *({"value": value, "verdict": "stale", "fact": older} for older, value in stale),
        ],
    }
    kept = {each: value for each, value in decision.items() if each not in ("asks", "file", "line", "tests")}
    return {**derived, **kept}, file
