"""Names -> adapters, and what is said when there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backend import registry
from harness.backend.registry import RegistryError
from harness.model.trial import Selection, Spec, Trial

SECRET = "hunter2-and-more"


def test_all_that_the_project_registers_is_known() -> None:
    known = registry.list_adapters()
    assert {name for name, entry in known.items() if not entry.control} >= {
        "bm25",
        "chroma",
        "letta",
        "letta_agent",
        "letta_blocks",
        "mem0",
        "mem0_plain",
        "notes",
        "vector_file",
    }
    controls = {
        "none",
        "placebo",
        "protocol",
        "refusal",
        "random",
        "reference",
        "full_context",
        "oracle",
        "stale_oracle",
    }
    assert {name for name, entry in known.items() if entry.control} == controls
    assert list(known) == sorted(known)
    assert {name for name, entry in known.items() if entry.reference is None} == set(registry.ORACLES)


def test_module_and_class_need_no_registration() -> None:
    entry = registry.find(registry.parse("my.own.module:Thing,dims=3"))
    assert (entry.reference, entry.control) == ("my.own.module:Thing", False)


@pytest.mark.parametrize(
    ("name", "words"),
    [("crhoma", "did you mean chroma"), ("zzz", "known: agents_md, bm25"), ("", "known: "), ("\x1b[2J", "known: ")],
)
def test_an_unknown_name_says_what_was_probably_meant(name: str, words: str) -> None:
    with pytest.raises(RegistryError, match=words) as caught:
        registry.find(Spec(adapter=name))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["", ",", "mem0,", "mem0,store", "mem0,=faiss", ",store=faiss"])
def test_what_is_no_spec_is_refused(text: str) -> None:
    with pytest.raises(RegistryError, match="is not of the form NAME, NAME@VERSION or NAME,key=value"):
        registry.parse(text)


def test_an_interpreter_without_a_name_is_refused() -> None:
    with pytest.raises(RegistryError, match="python= names no interpreter"):
        registry.parse("mem0,python=")


def test_a_setting_that_is_given_twice_is_refused() -> None:
    with pytest.raises(RegistryError, match="'mem0': the setting store is given twice"):
        registry.parse("mem0,store=faiss,store=chroma")


WORD = st.text(st.characters(exclude_characters=",=@", exclude_categories=["Cs"]), min_size=1, max_size=9)


SETTING = WORD.filter(lambda word: word != registry.PYTHON)  # that one is the harness's own


@pytest.mark.slow
@given(
    name=WORD,
    settings=st.dictionaries(SETTING, st.text(st.characters(exclude_characters=",", exclude_categories=["Cs"]))),
)
def test_a_spec_is_parsed_as_it_was_written(name: str, settings: dict[str, str]) -> None:
    text = ",".join([name, *(f"{key}={value}" for key, value in settings.items())])
    assert registry.parse(text) == Spec(adapter=name, settings=settings)


def test_labels_tell_settings_apart_in_one_order() -> None:
    assert registry.parse("mem0,store=faiss,dims=3").label == registry.parse("mem0,dims=3,store=faiss").label
    assert registry.parse("mem0,store=faiss").label == "mem0+store=faiss"
    assert registry.parse("mem0").label == "mem0"


@pytest.mark.parametrize("key", ["api_key", "OPENAI_API_KEY", "Token", "client-secret", "db_password", "credentials"])
def test_secrets_are_in_no_label(key: str) -> None:
    spec = registry.parse(f"mem0,{key}={SECRET},store=faiss")
    assert spec.settings[key] == SECRET
    trial = Trial(
        backend=spec.label, scenario="a/b", write_policy="append", noise=0, seed=1, reader="scripted", k=1, budget=1
    )
    assert SECRET not in f"{spec.label} {dict(spec.shown)} {trial.id} {trial.model_dump_json()}"
    assert spec.shown["store"] == "faiss"


def test_settings_that_an_adapter_does_not_read_are_refused() -> None:
    with pytest.raises(RegistryError, match="'mem0' has no setting 'stoer'; known: store"):
        registry.check_settings(registry.parse("mem0,stoer=faiss"), ["store"])
    with pytest.raises(RegistryError, match="known: none"):
        registry.check_settings(registry.parse("none,a=b"), [])
    registry.check_settings(registry.parse("mem0,store=faiss"), ["store"])


def test_the_redacted_form_of_an_argument_shows_no_secret() -> None:
    for given_, shown in {
        f"mem0,api_key={SECRET},store=faiss": "mem0,api_key=[redacted],store=faiss",
        f"--backend=mem0,api_key={SECRET}": "--backend=mem0,api_key=[redacted]",
        f"-bmem0,my_token={SECRET}": "-bmem0,my_token=[redacted]",
        "--seed=3": "--seed=3",
        "--allow": "--allow",
        "full_context": "full_context",
    }.items():
        assert registry.redact(given_) == shown


def test_a_selection_may_be_written_down(tmp_path: object) -> None:
    shown = Spec(adapter="mem0", settings=registry.parse(f"mem0,api_key={SECRET}").shown)
    assert SECRET not in Selection(backends=(shown,)).model_dump_json()


def test_a_class_may_be_given_a_name() -> None:
    spec = registry.parse("mine=my.own.module:Thing,dims=3")
    entry = registry.find(spec)
    assert (spec.label, entry.name, entry.reference) == ("mine+dims=3", "mine", "my.own.module:Thing")


@pytest.mark.parametrize("text", ["=a:B", "mine=chroma", "chroma=a:B", "oracle=a:B", "mine="])
def test_a_name_that_would_mislead_is_refused(text: str) -> None:
    with pytest.raises(RegistryError):
        registry.parse(text)


def test_a_row_of_a_mapped_server_may_have_its_name() -> None:
    spec = registry.parse("logbook=mcp@1.2,server=logbook")
    assert spec.label == "logbook@1.2+server=logbook"
    entry = registry.find(spec)
    assert (entry.name, entry.control) == ("logbook", False) and entry.reference == registry.find(
        registry.parse("mcp")
    ).reference
