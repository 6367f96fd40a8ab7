"""A name is a name first: whatever words it is made of, what a text says of it stays the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import paths
from harness.adapter import Scope
from harness.model.facts import CANARY, Fact, Text
from harness.model.scenario import Remember, Scenario
from harness.text.classify import Classifier, find, normalise
from tasks import loader

STORIES = [loader.read(path) for path in loader.find(paths.TASKS)]
AWKWARD = (
    "Zeit Now", "Go", "Spring", "Now", "Never", "Was", "Not", "No Longer", "Instead Of", "From To", "Used To Be", "Old",
    "Until May", "Moved To", "Replaced By", "So Long, But Not", "Not (At All)", "Never; Was", "A -> B", "Do Not Go To",
)  # fmt: skip


def authored(story: Scenario) -> Iterator[str]:
    for fact in story.facts:
        yield from (text.text for text in fact.own_texts())
    for _, step in story.steps():
        yield from (text.text for text in step.texts) if isinstance(step, Remember) else ()


def renamed(text: str, form: str, name: str) -> str:
    text = normalise(text)
    for start, end in reversed(find(text, form)):
        text = text[:start] + name + text[end:]
    return text


def with_name(story: Scenario, form: str, name: str) -> Classifier:
    def forms(fact: Fact) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(renamed(each, form, name) for each in part) for part in fact.forms)

    facts = tuple(fact.model_copy(update={"forms": forms(fact)}) for fact in story.facts)
    fields = {key: getattr(story, key) for key in Scenario.model_fields}
    return Classifier(Scenario.model_construct(**{**fields, "facts": facts}))


def names(story: Scenario) -> list[str]:
    """The forms that hold no other form: to rename what holds a name would rename that as well."""
    forms = {normalise(form) for fact in story.facts for part in fact.forms for form in part} - {CANARY}
    return sorted(form for form in forms if not any(find(form, other) for other in forms - {form}))


CASES = [(story, form) for story in STORIES for form in names(story)]


@pytest.mark.slow
@given(st.sampled_from(CASES), st.sampled_from(AWKWARD))
def test_a_name_of_telling_words_keeps_every_reading_of_the_suite(case: tuple[Scenario, str], name: str) -> None:
    story, form = case
    told = [text for text in authored(story) if find(normalise(text), form)]
    assume(not any(find(normalise(text), normalise(name)) for text in told))
    before, after = Classifier(story), with_name(story, form, normalise(name))
    for text in told:
        assert after.by_rules(renamed(text, form, normalise(name))) == before.by_rules(text), text


SAYINGS = (
    ("Images come from {new}.", "asserted", ""),
    ("We moved from {old} to {new}.", "asserted", "mentioned"),
    ("{old} was replaced by {new} in March.", "asserted", "mentioned"),
    ("Use {new} instead of {old}.", "asserted", "mentioned"),
    ("{new} instead of {old}", "asserted", "mentioned"),
    ("We no longer use {old}, {new} does it.", "asserted", "mentioned"),
    ("Previously {old}; now {new}.", "asserted", "mentioned"),
    ("Don't use {old}, use {new}.", "asserted", "denied"),
    ("{old} is deprecated. {new} took over.", "asserted", "mentioned"),
    ("{old} -> {new}", "asserted", "mentioned"),
    ("{new} (renamed from {old})", "asserted", "mentioned"),
)  # fmt: skip


@pytest.mark.parametrize(("saying", "of_new", "of_old"), SAYINGS)
@pytest.mark.parametrize(("old", "new"), [("kestrel", "osprey"), *zip(AWKWARD, reversed(AWKWARD), strict=True)])
def test_what_is_said_of_two_rivals_does_not_depend_on_their_names(
    saying: str, of_new: str, of_old: str, old: str, new: str
) -> None:
    if any(find(normalise(saying), normalise(name)) for name in (old, new)):
        pytest.skip("the sentence holds the word itself")
    reading = reader(old, new).by_rules(saying.format(old=old, new=new))
    plain = reader("kestrel", "osprey").by_rules(saying.format(old="kestrel", new="osprey"))
    assert reading == plain
    for name, said in (("old", of_old), ("new", of_new)):
        assert not said or name in getattr(plain, said)


def reader(old: str, new: str) -> Classifier:
    """Two facts, of which the second replaced the first."""

    def fact(name: str, form: str, **more: str) -> Fact:
        text = Text(text=form)
        since = f"20{24 + len(more)}-01-01T00:00:00Z"
        return Fact.model_validate(
            {"id": name, "type": "project", "since": since, "forms": [[form]], **dict.fromkeys(("identifier", "plain",
             "paraphrase"), text), "rewrites": [text, text, text], **more}
        )  # fmt: skip

    story = STORIES[0]
    fields = {key: getattr(story, key) for key in Scenario.model_fields}
    facts = (fact("old", old), fact("new", new, supersedes="old"))
    return Classifier(Scenario.model_construct(**{**fields, "scope": Scope("x"), "facts": facts, "sessions": ()}))
