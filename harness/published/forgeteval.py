"""ForgetEval: facts, a wish to change or forget one of them, and what may be brought back after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.published import rows
from harness.published.sets import (
    Document,
    Format,
    Haystack,
    Mutation,
    PublishedSet,
    Question,
    SetError,
    Shape,
    Unit,
    Wording,
    hash_bytes,
)

FINAL, PROBE = "final query", "direct probe"
_ADMITTED = "admitted_cases"
_FIRST = datetime(2024, 1, 1, 9, tzinfo=UTC)
"""The set has no dates: its facts are a minute apart."""


def read(file: Path, unit: Unit, wording: Wording) -> PublishedSet:
    """Reads `external_subset_cases.json` or a list of such cases. Raises SetError."""
    content, data = rows.read(file)
    admitted = [row[_ADMITTED] for row in content if _ADMITTED in row]
    haystacks = tuple(_read_case(case) for each in admitted or [content] for case in each)
    if not haystacks:
        raise SetError(f"{file}: holds no case")
    return PublishedSet(FORGETEVAL.name, unit, wording, hash_bytes(data), haystacks, {})


def _read_case(case: Shape) -> Haystack:
    documents = tuple(
        Document(name=f"F{n}", session=f"F{n}", at=(_FIRST + timedelta(minutes=n)).isoformat(), text=fact.text)
        for n, fact in enumerate(case["setup_facts"])
    )
    wanted, unwanted = (tuple(each.text for each in case[key]) for key in ("must_contain", "must_not_contain"))
    final = Question(id="final", way=FINAL, text=case["final_query"].text, contains=wanted, lacks=unwanted)
    probes = (
        Question(id=f"probe-{n}", way=PROBE, text=text, lacks=unwanted)
        for n, text in enumerate(dict.fromkeys(each.strip() for each in unwanted))
        # what the final query asks is judged already
        if text and text != final.text.strip()
    )
    mutations = tuple(_read_mutation(each) for each in case["mutations"])
    return Haystack(id=case["id"].text, documents=documents, mutations=mutations, questions=(final, *probes))


def _read_mutation(row: Shape) -> Mutation:
    op = row[0].text
    if op == "supersede":
        return Mutation(op="supersede", query=row[1].text, text=row[2].text)
    if op == "release":
        return Mutation(op="release", query=row[1].text)
    if op == "purge":
        return Mutation(op="purge", query=row[1].text)
    raise row.wrong("is none of supersede, release, purge")


FORGETEVAL = Format(
    name="forgeteval",
    title="ForgetEval",
    home="https://github.com/WaylandYang/forgeteval-anon-supp (data/external_subset_cases.json)",
    licence="MIT",
    units=("fact",),
    wordings=("text",),
    k=(5,),
    read=read,
)
