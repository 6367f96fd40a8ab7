"""Words that tell what they are meant to tell: by the rules alone, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from harness.model.facts import CANARY, Text
from harness.model.scenario import Remember
from harness.play import noise
from harness.selftest.proof import Count, ScenarioProof
from harness.text.classify import Reading, find, normalise

NOISE, SEEDS = 300, (1, 2, 3)


def check_texts(proof: ScenarioProof) -> Count:
    """How many authored texts the rules read as annotated, as if the harness had not written them."""
    found = [_read(proof, key, text) for key, text in _list_authored(proof)]
    return Count(sum(found), len(found))


def _list_authored(proof: ScenarioProof) -> Iterator[tuple[str, Text]]:
    """Every text with its key; canaries stand where a trial has them."""
    for fact in proof.scenario.facts:
        names = ("identifier", "plain", "paraphrase", *(f"rewrites.{at}" for at in range(len(fact.rewrites))))
        for name, text in zip(names, fact.own_texts(), strict=True):
            filled = text.text.replace(CANARY, proof.canaries.get(fact.id, CANARY))
            yield f"facts.{fact.id}.{name}", text.model_copy(update={"text": filled})
    for session, step in proof.scenario.steps():
        for at, text in enumerate(step.texts if isinstance(step, Remember) else ()):
            yield f"sessions.{session.id}.remember.{at}", text


def _read(proof: ScenarioProof, key: str, text: Text) -> bool:
    meant, seen = Reading.annotate([text]), proof.classifier.by_rules(text.text)
    wrong = [
        f"it {word} {', '.join(sorted(said)) or 'nothing'}, but the story says {', '.join(sorted(wanted)) or 'nothing'}"
        for word, said, wanted in (
            ("asserts", seen.asserted, meant.asserted),
            ("denies", seen.denied, meant.denied),
            ("mentions", seen.mentioned, meant.mentioned),
        )
        if said != wanted
    ]
    if seen.unclear:
        wrong.append("it contradicts itself")
    if wrong:
        proof.breach(key, f"read as a run reads it, '{text.text}' says otherwise: {'; '.join(wrong)}")
    return not wrong


def check_names(proof: ScenarioProof) -> Count:
    """How many told-only facts no name of a tracked file gives away to whoever lists the files.

    A fact that the repository tells may be about a file; that one names it is noted.
    """
    commits = dict.fromkeys(session.commit for session, _ in proof.scenario.jobs())
    words = {path: _split_path(path) for commit in commits for path in proof.repo.files(commit)}
    found: list[bool] = []
    for fact in proof.scenario.facts:
        # its canary is drawn for each trial, and stands in no file name
        if fact.erasable:
            continue
        forms = [[normalise(form) for form in part] for part in fact.forms]
        path = next((path for path in sorted(words) if _holds_forms(words[path], forms)), None)
        if fact.source is None:
            found.append(path is None)
            if path is not None:
                proof.breach(f"facts.{fact.id}.forms", f"the name of the tracked file '{path}' tells a told-only fact")
        elif path is not None:
            proof.note(f"facts.{fact.id}.forms", f"the name of the tracked file '{path}' tells this fact")
    return Count(sum(found), len(found))


def _holds_forms(words: Sequence[str], forms: Sequence[Sequence[str]]) -> bool:
    return all(any(find(word, form) for word in words for form in part) for part in forms)


def _split_path(path: str) -> list[str]:
    """A path in normal form: whole, by folder and name, and by what stands between dots."""
    plain = normalise(path)
    return [plain, *plain.split("/"), *re.split(r"[/.]", plain)]


def check_noise(proof: ScenarioProof) -> Count:
    """How many noise texts tell nothing of the story but a lure, there and then where it holds."""
    said = heard = 0
    lures = {fact.id: fact for fact in noise.list_lures(proof.scenario)}
    for seed in SEEDS:
        for each in noise.generate(proof.scenario, proof.repo, proof.classifier, NOISE, seed):
            said += 1
            reading = proof.classifier.by_rules(each.item.text)
            # `-` before `|`: what is named and no lure, and lures that are asserted where they do not hold
            wrong = reading.named - lures.keys() | {
                name
                for name in reading.asserted & lures.keys()
                if proof.scenario.home(lures[name]) != each.item.scope
                or lures[name].since > datetime.fromisoformat(each.item.at)
            }
            if wrong or reading.unclear:
                heard += 1
                what = ", ".join(sorted(wrong)) or "rivals"
                proof.breach("noise", f"seed {seed}: '{each.item.text}' speaks of {what}")
    return Count(said - heard, said)
