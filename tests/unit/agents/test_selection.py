"""What stands behind `agent:`, and the label that it makes with a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents import program, selection
from harness.agents.profile import Profile
from harness.backend.environments import EnvironmentFault
from harness.cli.common import COULD_NOT_RUN
from harness.cli.reading import choose_reader
from harness.model.trial import name_reader, split_reader

NAMES = st.sampled_from(["codex", "mini-swe-agent", "./mine.toml", "/a+b/c d.toml", "x+other"])
RELEASES = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){1,3}(-rc\.[0-9])?", fullmatch=True)
WAYS = st.lists(st.sampled_from(["tools", "file", "both", "auto"]), max_size=3)
MODELS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("word", "name", "release", "ways"),
    [
        ("codex", "codex", "", "tools"),
        ("codex+file", "codex", "", "file"),
        ("./a+b.toml+both", "./a+b.toml", "", "file tools"),
        ("codex+other", "codex+other", "", "tools"),
        ("codex+auto", "codex", "", "auto"),
        ("codex+tools+auto", "codex", "", "auto tools"),
        ("codex+file+auto", "codex", "", "file auto"),
        ("codex+auto+both", "codex", "", "file auto tools"),
        ("+file", "+file", "", "tools"),
        ("codex@0.165.0", "codex", "0.165.0", "tools"),
        ("codex@0.165.0+file", "codex", "0.165.0", "file"),
        ("codex@0.165.0-alpha.3+auto+both", "codex", "0.165.0-alpha.3", "file auto tools"),
        ("./mine.toml@1.2", "./mine.toml", "1.2", "tools"),
        ("./mine.toml@1", "./mine.toml@1", "", "tools"),
        ("./a@1.2/mine.toml@1.2.3", "./a@1.2/mine.toml", "1.2.3", "tools"),
        ("codex+file@0.165.0", "codex+file", "0.165.0", "tools"),
        ("codex@", "codex@", "", "tools"),
        ("codex@gpt-5", "codex@gpt-5", "", "tools"),
        ("codex@1.2.3@4.5.6", "codex@1.2.3", "4.5.6", "tools"),
        ("@1.2.3", "@1.2.3", "", "tools"),
    ],
)
def test_a_word_names_a_profile_a_release_and_how_memory_comes_to_it(
    word: str, name: str, release: str, ways: str
) -> None:
    given = ways.split()
    assert selection.parse(word) == (name, release, selection.Way("tools" in given, "file" in given, "auto" in given))


@given(name=NAMES, release=st.just("") | RELEASES, ways=WAYS, model=MODELS)
def test_a_label_is_read_as_it_was_written(name: str, release: str, ways: list[str], model: str) -> None:
    word = "".join([name, f"@{release}" if release else "", *(f"+{each}" for each in ways)])
    assert selection.parse(word)[:2] == (name, release)
    if release or "@" not in model:
        assert split_reader(name_reader(f"agent:{word}", model)) == (f"agent:{word}", model)
    if release:
        assert split_reader(name_reader(f"agent:{word}")) == (f"agent:{word}", "")


@pytest.mark.parametrize(
    ("label", "name", "model"),
    [
        ("scripted", "scripted", ""),
        ("choice@some", "choice", "some"),
        ("choice@claude@20240620", "choice", "claude@20240620"),
        ("agent:codex@gpt-4.1", "agent:codex", "gpt-4.1"),
        ("agent:codex@4.1", "agent:codex", "4.1"),
        ("agent:codex+file@claude@20240620", "agent:codex+file", "claude@20240620"),
        ("choice@1.2.3@some", "choice", "1.2.3@some"),
    ],
)
def test_a_label_of_before_means_what_it_meant(label: str, name: str, model: str) -> None:
    assert split_reader(label) == (name, model)


@pytest.mark.parametrize(
    "reader",
    [
        "choice@some",
        "choice@1.2.3",
        "agent:codex@",
        "agent:codex@gpt-5",
        "agent:codex@1",
        "agent:./mine.toml@1",
        "agent:./a@b/mine.toml",
        "agent:./a@1.2/mine.toml",
        "agent:codex@1.2.3@4.5.6",
        "agent:@1.2.3",
    ],
)
def test_any_other_at_sign_is_refused_in_one_line(reader: str) -> None:
    said = f"^--reader {reader}: name its model with --model; '@' stands before a release, as in agent:codex@1.2.3$"
    with pytest.raises(ValueError, match=said):
        choose_reader(reader, "some", "stand-in", rounds=1)


def test_a_release_that_cannot_be_installed_ends_the_command_as_one_of_a_backend_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def install(wanted: Profile) -> None:
        raise EnvironmentFault(f"no environment can be made for {wanted.label}: no version")

    monkeypatch.setattr(program, "install", install)
    with pytest.raises(SystemExit) as ended:
        choose_reader("agent:codex@9.9.9+file", "some", "stand-in", rounds=1)
    said = capsys.readouterr().err
    assert ended.value.code == COULD_NOT_RUN and said.count("\n") == 1
    assert "nothing was played: reader 'agent:codex@9.9.9+file@some'" in said and "for codex 9.9.9: no version" in said
