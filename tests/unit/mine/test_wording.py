"""A question is asked as a person would ask it, by the kind of its value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.mine import mining, stories, wording
from harness.mine.mining import MineError
from harness.model.scenario import Probe
from tasks import loader
from tests.support.foreign import Foreign, live

ASKED = [
    ("package.json", '  "scripts": {{\n    "test": "{}"\n  }}', "jest", "vitest run", "What does the script test run"),
    ("Dockerfile", "FROM {}", "alpine:3", "debian:12", "Which base image does Dockerfile build on now"),
    ("Dockerfile", "WORKDIR {}", "/app", "/shop", "Which working folder does Dockerfile set now"),
    ("deploy/web.yaml", "web:\n  port: {}", "8080", "9090", "Which port does port of web name now (deploy/web.yaml)"),
    ("go.mod", "go {}", "1.20", "1.22", "Which version of go do we use now (go.mod)"),
    ("a.toml", 'lane = "{}"', "lanes/one", "quays/two", "Which path does lane name now (a.toml)"),
    ("a.toml", 'lane = "{}"', "harborline", "kestrelway", "What is lane set to now (a.toml)"),
    ("shop.js", "import {{ Lane }} from '{}'", "lib/one", "lib/two", "From which module do we import Lane now"),
    ("a.py", "def wait(pause={}): pass", "3", "7", "Which default does pause of wait have now (a.py)"),
    ("README.md", "# Tests\n\n$ make {}", "lanes", "quays", "Which make command do we run for “Tests” now"),
    ("docs/adr/0003.md", "Status: {}", "Accepted", "Dropped", "Which status does the record 0003 have now"),
    ("AGENTS.md", "Run `{}` before each commit.", "make lane", "make quay",
     "What does AGENTS.md tell us to run before each commit now"),
    ("AGENTS.md", "- Type hints must pass `{}`.", "make lane", "make quay", "What must type hints pass now"),
    ("AGENTS.md", "- Rust 2024 edition, toolchain {}.", "1.97.0", "1.98.0", "Which toolchain version do we use now"),
    ("AGENTS.md", "- Python {}.", "3.9+", "3.10+", "Which Python version do we use now (AGENTS.md)"),
    ("AGENTS.md", "## Checks\n\n```\ncargo doc\nmake {}\n```\n\n## More\n\n    make other", "lane", "quay",
     "Which make command do we run for “Checks” now"),
    ("AGENTS.md", "The lanes are read from `{}`.", "a/one.json", "b/two.json",
     "What are the lanes read from now (AGENTS.md)"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text", "old", "new", "asks"), ASKED, ids=[f"{each[0]} {each[2]}" for each in ASKED])
def test_a_question_follows_the_kind_of_its_value(
    foreign: Foreign, tmp_path: Path, file: str, text: str, old: str, new: str, asks: str
) -> None:
    for value in (old, new):
        foreign.commit({file: text.format(value) + "\n"})
    try:
        (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    except MineError as error:
        raise AssertionError(str(error)) from error
    asked = found.wording.ask(found.what, found.file)
    assert asked["plain"].startswith(asks) and asked["plain"].endswith("?")
    told = found.wording.tell(new, found.file)
    assert all(new in each and old not in each for each in told.values())
    assert not any(new in each or "gap" in each or "{" in each for each in asked.values())


def test_what_has_no_natural_question_is_dropped() -> None:
    assert wording.find("text", "the thing that lanes go to", "", ("a/b", "c/d")) is None
    assert wording.find("flag", "the flag of shop is set", "", ("--one", "--two")) is None
    assert wording.find("flag", "the flag of shop to open lanes", "", ("--one", "--two")) is not None


def test_a_value_with_braces_is_told_as_it_stands() -> None:
    found = wording.find("setting", "the script {lane}", "", ("a", "b"))
    assert found is not None and found.tell("{quay}", "a.json")["paraphrase"] == "Behind the script {lane} is {quay}"


@pytest.mark.slow
def test_a_story_asks_in_three_strata_and_its_texts_hold(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    mined = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache")
    mining.write(mined, tmp_path / "suite", 1, 1, tmp_path, tmp_path / "cache")
    ((story, _),) = loader.load(loader.find(tmp_path / "suite"), tmp_path, tmp_path / "cache")
    asked = [step for _, step in story.steps() if isinstance(step, Probe) and step.gold and "before" not in step.id]
    assert {"Which default does pause of wait have now (shop/waits.py)?"} <= {each.ask.plain for each in asked}
    for each in asked:
        if each.id != "earlier":
            assert len({each.ask.identifier, each.ask.plain, each.ask.paraphrase} - {None}) == 3
    told = " ".join(fact.paraphrase.text for fact in story.facts)
    assert re.search(r"By default wait takes [\d.]+ for pause", told)


def test_a_constant_of_a_class_is_asked_for_with_its_class(foreign: Foreign, tmp_path: Path) -> None:
    for value in (30, 50):
        text = f"class Lanes:\n    per_page = {value}\n"
        foreign.commit({"a.py": text, "b.py": "print(Lanes.per_page)\n"})
    (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert found.wording.ask(found.what, found.file)["plain"] == "What is per_page of Lanes set to now (a.py)?"


def test_a_class_within_another_is_asked_for_with_both(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("harborline", "kestrelway"):
        text = f"class Lanes:\n    class Meta:\n        table = '{value}'\n"
        foreign.commit({"a.py": text, "b.py": "print(Lanes.Meta.table)\n"})
    (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert found.wording.ask(found.what, found.file)["plain"] == "What is table of Lanes.Meta set to now (a.py)?"


@pytest.mark.parametrize(
    ("file", "text", "plain"),
    [
        (
            "pom.xml",
            "<project>\n  <plugin>\n    <artifactId>lanes</artifactId>\n    <configuration>\n      <mode>{}</mode>\n",
            "What is mode of lanes set to now (pom.xml)?",
        ),
        ("Dockerfile", "FROM {}\n", "Which base image does Dockerfile build on now?"),
        (
            "Dockerfile",
            "FROM {} AS one\nFROM scratch\n",
            "Which base image does the stage one of Dockerfile build on now?",
        ),
    ],
)
def test_of_several_it_is_asked_for_by_its_own_name(
    foreign: Foreign, tmp_path: Path, file: str, text: str, plain: str
) -> None:
    for value in ("alpine:3", "debian:12"):
        foreign.commit({file: text.format(value)})
    (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert found.wording.ask(found.what, found.file)["plain"] == plain


def test_what_is_called_a_port_and_has_no_number_is_no_port() -> None:
    found = wording.find("constant", "QOS_PORT", "QOS_PORT", ("qos-port", "qos.port"))
    assert found is not None and found.asks == "What is QOS_PORT set to"
    found = wording.find("constant", "QOS_PORT", "QOS_PORT", ("8080", "8082"))
    assert found is not None and found.asks == "Which port does QOS_PORT name"


def test_a_package_that_others_are_called_like_is_no_candidate(foreign: Foreign, tmp_path: Path) -> None:
    for turn, name in enumerate(("shop-lane", "shop-quay")):
        foreign.commit({"Cargo.toml": f'[dependencies]\nshop-core = "1"\n{name} = "2.{turn}"\n'})
    with pytest.raises(MineError, match="nothing that a question could call it by: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_several_values_in_a_list_are_asked_for_in_the_plural() -> None:
    found = wording.find("setting", "os of build", "os", ("[linux-1, mac-1]", "[linux-1, mac-2]"))
    assert found is not None and found.asks == "Which platforms does os of build name"


@pytest.mark.parametrize(
    ("file", "text", "old", "new"),
    [
        ("AGENTS.md", "- Run curl only if `{}` exits with an exit code.", "make lane", "make quay"),
        ("AGENTS.md", "# Verification\n\n- If Go code changed: `{}`", "make lane", "make quay"),
        ("mkdocs.yml", "nav:\n  - Parallel Execution: {}", "graph/beta.md", "graph/builder.md"),
        ("AGENTS.md", "Install the package `{}` before you start.", "lane-core", "quay-core"),
        ("a.yml", "do:\n  - 'echo \"position: {}\" >> lanes.md'", "one-lane", "two-lanes"),
    ],
)
def test_no_question_cuts_a_value_out_of_a_sentence_or_of_what_a_shell_says(
    foreign: Foreign, tmp_path: Path, file: str, text: str, old: str, new: str
) -> None:
    for value in (old, new):
        foreign.commit({file: text.format(value) + "\n"})
    with pytest.raises(MineError, match="nothing that a question could call it by: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_of_several_commands_below_one_heading_none_is_asked_for(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("lane", "quay"):
        foreign.commit({"README.md": f"# Tests\n\n    make {value}\n    make berth\n"})
    with pytest.raises(MineError, match="nothing that a question could call it by: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_a_command_that_another_program_runs_by_now_is_not_asked_for_by_its_name(
    foreign: Foreign, tmp_path: Path
) -> None:
    for value in ("npm run build-all", "bun run build-all"):
        foreign.commit({"README.md": f"# Builds\n\n    {value}\n"})
    with pytest.raises(MineError, match="nothing that a question could call it by: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    foreign.commit({"README.md": "# Builds\n\n    bun run build-most\n"})
    (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert [stand.value for stand in found.stands] == ["bun run build-all", "bun run build-most"]


def test_a_chain_is_called_by_the_words_of_its_name(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("alpine:3", "debian:12"):
        foreign.commit({"Dockerfile": f"FROM {value}\n"})
    found = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert stories.name_chains(found) == ["the-base-image-of-dockerfile"]
