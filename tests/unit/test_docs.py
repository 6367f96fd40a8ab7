"""Documents that repeat what stands elsewhere say the same, and lead where they say."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from harness import metrics, paths
from harness.compare.rows import CONTRASTED
from harness.metrics import trust
from harness.metrics.columns import COLUMNS
from harness.metrics.trust import promises
from harness.report import measures

ROOT = paths.ROOT
PAGES = sorted(page for part in ("*.md", "docs/**/*.md", ".github/*.md", "tasks/*.md") for page in ROOT.glob(part))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```(toml|json|yaml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PARSERS = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}
LINK = re.compile(r"\]\(([^)\s]+)\)")
PLACE = re.compile(r"`((?:harness|adapters|tasks|tests|docs|reports|benchmarks|fixtures|\.github)/[\w./-]*)`")


def read(page: Path) -> str:
    return page.read_text("utf-8")


# --- measures -----------------------------------------------------------------------------------------------------


def test_the_page_of_measures_is_what_the_definitions_say() -> None:
    assert read(ROOT / "docs" / "measures.md") == measures.write_page(), "run make golden"


def test_every_measure_has_one_row_of_seven_cells() -> None:
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in measures.write_page().splitlines() if line.startswith("| `")]
    assert {len(row) for row in rows} == {7}
    named = [row[0].strip(" `") for row in rows]
    assert named == [*metrics.DEFINITIONS, *trust.DEFINITIONS]


def test_a_definition_cannot_break_the_table() -> None:
    hostile = metrics.DEFINITIONS["recall"].model_copy(update={"formula": "a|b <b>*c*</b>", "varies": "x|y"})
    (row,) = measures._write_section("Any", [hostile])[-2:-1]
    assert "a\\|b &lt;b&gt;\\*c\\*&lt;/b&gt;" in row and "x\\|y" in row


def test_the_document_of_ci_names_every_measure_that_a_gate_may_judge_under_a_policy() -> None:
    (said,) = re.findall(r"^\| `write`, `read`, `noise` \|.* For (.*) \|$", read(ROOT / "docs" / "ci.md"), re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", said)) == CONTRASTED


# --- links and places ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_document_leads_somewhere(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(CODE.sub("", read(page))) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_an_example_of_a_document_can_be_read_by_its_format(page: Path) -> None:
    # The site's highlighter refuses a block that is not what it says it is, and only at the end of a build.
    for language, text in BLOCK.findall(read(page)):
        PARSERS[language](text)


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", *DECISIONS], ids=lambda page: page.name)
def test_every_place_in_the_code_that_a_document_names_is_there(page: Path) -> None:
    assert [place for place in PLACE.findall(read(page)) if not (ROOT / place).exists()] == []


def test_every_room_of_the_house_is_in_the_table() -> None:
    table = set(PLACE.findall(read(ROOT / "CONTRIBUTING.md")))
    rooms = {f"harness/{each.parent.name}/" for each in (ROOT / "harness").glob("*/__init__.py")}
    assert rooms - table == set()


# --- shapes -------------------------------------------------------------------------------------------------------


def test_a_decision_is_short_and_says_why_and_what_follows() -> None:
    numbers = [int(page.name[:4]) for page in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 10
    index = read(ROOT / "docs" / "decisions" / "README.md")
    for number, page in zip(numbers, DECISIONS, strict=True):
        lines = read(page).splitlines()
        assert len(lines) <= 40, page.name
        assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## What follows"]
        assert f"{number}. [{lines[0].removeprefix(f'# {number} ')}]({page.name})" in index


def test_the_picture_is_sound_and_brings_its_own_background() -> None:
    picture = ROOT / "docs" / "data-flow.svg"
    root = ElementTree.fromstring(read(picture))
    ground = next(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert ground.get("class") == "page" and read(picture).count(".page { fill: #") == 2  # in light and in dark


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    cited = yaml.safe_load(read(ROOT / "CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])


def test_pre_commit_runs_what_make_static_runs() -> None:
    (static,) = re.findall(r"^static:.*\n\t@(.*)$", read(ROOT / "Makefile"), re.MULTILINE)
    wanted = [re.match(r"\$\(BIN\)/([^.]*)", part.strip()) for part in static.split("&&")]
    (repo,) = yaml.safe_load(read(ROOT / ".pre-commit-config.yaml"))["repos"]
    assert repo["repo"] == "local" and {hook["language"] for hook in repo["hooks"]} == {"system"}
    ran = [hook["entry"].removeprefix(".venv/bin/").replace(" --force-exclude", "") for hook in repo["hooks"]]
    assert ran == [found[1].strip() for found in wanted if found]


@pytest.mark.parametrize("name", ["bug.yml", "backend.yml"])
def test_an_issue_form_has_what_github_asks_for(name: str) -> None:
    form = yaml.safe_load(read(ROOT / ".github" / "ISSUE_TEMPLATE" / name))
    assert form["name"] and form["description"]
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in asked}) == len(asked)
    assert all(field["attributes"]["label"] for field in asked)


def test_the_changelog_says_why_numbers_are_no_longer_shown_and_they_are_not() -> None:
    told = read(ROOT / "CHANGELOG.md").partition("**No longer shown**")[2].partition("\n### ")[0].splitlines()
    items = [line for line in told if line.startswith("- ")]
    assert len(items) > 4 and len([line for line in told if line]) <= 12
    assert all(re.fullmatch(r"- [^:]+: .+\.", line) for line in items), "each with its reason"
    # What is said to be gone from the first screen is where the list says.
    assert all(each.better == "lower" for each in COLUMNS.values() if each.order)
    assert trust.DEFINITIONS["attacks_acted_on"].column is None and promises.ENOUGH == 400
    templates = [read(each) for each in (ROOT / "reports" / "templates").glob("*.j2")]
    assert not [text for text in templates if "Summary of findings" in text or "Table: trust" in text]


def test_the_changelog_has_headings_that_readers_know() -> None:
    text = read(ROOT / "CHANGELOG.md")
    heads = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert set(heads) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[0] == "Unreleased"
    lines = [line for line in text.split("\n### ", 1)[1].splitlines() if line.startswith("- ")]
    assert len(lines) == len(set(lines)), "told twice"
