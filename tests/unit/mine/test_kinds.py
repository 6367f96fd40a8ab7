"""Every kind of file and of change that mining promises is found in a real history, between two real commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.mine import mining
from harness.mine.mining import MineError
from harness.mine.value_names import find_section
from tests.support.foreign import Foreign

WORKFLOW = "on: push\njobs:\n  test:\n    runs-on: {}\n    steps:\n      - uses: actions/checkout@v4\n"
POM = (
    "<project>\n  <properties>\n    <maven.compiler.release>{}</maven.compiler.release>\n  </properties>\n</project>\n"
)
GRADLE = "plugins {{\n  id 'java'\n}}\n\nsourceCompatibility = {}\n"
GEMSPEC = 'Gem::Specification.new do |spec|\n  spec.required_ruby_version = ">= {}"\nend\n'
GUIDE = "# Shop\n\n## Test it\n\n```\n$ {}\n```\n"
RECORD = "# 3. Lanes\n\n* Status: {}\n\nWe keep lanes.\n"
# file, its text with a gap, the old and the new value, the kind, a part of what a sentence calls it
FOUND: tuple[tuple[str, str, str, str, str, str], ...] = (
    ("settings.toml", '[lanes]\nlane = "{}"\n', "harbor", "kestrel", "setting", "lane of [lanes]"),
    ("deploy.yaml", "web:\n  replicas: {}\n", "3", "5", "setting", "replicas of web"),
    ("tsconfig.json", '{{\n  "target": "{}"\n}}\n', "es2017", "es2022", "setting", "target"),
    ("tox.ini", "[tox]\nenvlist = {}\n", "py38,py39", "py311,py312", "setting", "envlist of [tox]"),
    ("setup.cfg", "[options]\npython_requires = >={}\n", "3.7", "3.10", "setting", "python_requires of [options]"),
    ("app.properties", "server.port={}\n", "8080", "9090", "setting", "server.port"),
    (".env.example", "# where it is\nQUEUE_URL=quay-{}\n", "one", "two", "setting", "QUEUE_URL"),
    ("env.example", "QUEUE={}\n", "harbor", "kestrel", "setting", "QUEUE"),
    (".envrc", "export QUEUE={}\n", "harbor", "kestrel", "setting", "QUEUE"),
    ("Dockerfile", "FROM {}\nRUN make\n", "python:3.9", "python:3.12", "setting", "base image"),
    ("web.Dockerfile", "FROM x\nENV LANE={}\n", "harbor", "kestrel", "setting", "LANE"),
    ("docker/Dockerfile.prod", "FROM x\nEXPOSE {}\n", "8080", "9090", "setting", "the port of Dockerfile.prod"),
    ("docker-compose.yml", "services:\n  db:\n    image: {}\n", "mysql:8", "postgres:15", "setting", "image of db"),
    ("Makefile", "JOBS ?= {}\n\nall:\n\techo\n", "2", "4", "setting", "JOBS"),
    (".github/workflows/ci.yml", WORKFLOW, "ubuntu-20.04", "ubuntu-24.04", "setting", "runs-on of test"),
    (".travis.yml", "language: python\ndist: {}\n", "trusty", "xenial", "setting", "dist"),
    (".gitlab-ci.yml", "image: {}\n", "alpine:3", "debian:12", "setting", "image"),
    (".circleci/config.yml", "jobs:\n  a:\n    resource_class: {}\n", "small", "large", "setting", "resource_class"),
    ("pyproject.toml", '[project]\nrequires-python = "{}"\n', ">=3.8", ">=3.10", "setting", "requires-python"),
    ("package.json", '{{\n  "engines": {{\n    "node": "{}"\n  }}\n}}\n', ">=16", ">=20", "setting", "node of engines"),
    ("Cargo.toml", '[package]\nedition = "{}"\n', "2018", "2021", "setting", "edition of [package]"),
    ("go.mod", "module example.com/shop\n\ngo {}\n", "1.20", "1.22", "setting", "go"),
    ("pom.xml", POM, "8", "17", "setting", "maven.compiler.release of properties"),
    ("build.gradle", GRADLE, "1.8", "11", "setting", "sourceCompatibility"),
    ("shop.gemspec", GEMSPEC, "2.6", "3.1", "setting", "required_ruby_version"),
    (".nvmrc", "{}\n", "v16.14.0", "v20.11.0", "setting", "the version in .nvmrc"),
    (".tool-versions", "nodejs 20\nruby {}\n", "3.1.0", "3.3.0", "setting", "ruby"),
    (".ruby-version", "{}\n", "ruby-3.1.0", "ruby-3.3.2", "setting", "the version in .ruby-version"),
    ("shop.csproj", "<Project>\n  <PropertyGroup>\n    <LangVersion>{}</LangVersion>\n  </PropertyGroup>\n</Project>\n",
     "9", "12", "setting", "LangVersion of PropertyGroup"),
    ("shop/waits.py", "RETRIES = {}\n", "3", "7", "constant", "RETRIES"),
    ("shop/wait.py", "def wait(pause={}):\n    return pause\n", "0.5", "2.5", "default", "of pause in wait"),
    ("shop/lanes.go", "package shop\n\nconst MaxLanes = {}\n", "3", "7", "constant", "MaxLanes"),
    ("shop/Lanes.java", "class Lanes {{\n  static final int MOST = {};\n}}\n", "3", "7", "constant", "MOST"),
    ("shop/lanes.ts", "export const MAX_LANES = {};\n", "3", "7", "constant", "MAX_LANES"),
    ("shop/lanes.rb", "module Shop\n  MAX_LANES = {}\nend\n", "3", "7", "constant", "MAX_LANES"),
    ("shop/lanes.rs", "pub const MAX_LANES: usize = {};\n", "3", "7", "constant", "MAX_LANES"),
    ("shop/open.py", "def {}(lane, quay):\n    return lane\n", "open_lane", "begin_lane", "name", "lane and quay"),
    ("shop/open.go", "package shop\n\nfunc {}(lane string) string {{\n", "OpenLane", "BeginLane", "name", "takes lane"),
    ("shop/use.py", "from {} import open_lane\n", "shop.old_lanes", "shop.new_lanes", "place", "open_lane"),
    ("shop/use.ts", "import {{ openLane }} from './{}'\n", "old-lanes", "new-lanes", "place", "openLane"),
    ("README.md", GUIDE, "make check", "make lanes", "command", "Test it"),
    ("USAGE.md", "# Use\n\nSay `shop {}` to leave fast.\n", "--fast-lane", "--quick", "flag", "to leave fast"),
    ("docs/lanes.md", "# Lanes\n\nThe lanes are read from `{}` first.\n", "lanes.json", "quays.toml", "text", "first"),
    ("docs/adr/0003-lanes.md", RECORD, "Accepted", "Superseded by ADR 7", "record", "record 0003-lanes"),
)  # fmt: skip


MANIFESTS = {
    "package.json": ('{{\n  "dependencies": {{\n{}\n  }}\n}}\n', '    "{}": "^1.{}.0"', ",\n"),
    "go.mod": ("module example.com/shop\n\nrequire (\n{}\n)\n", "\texample.com/{} v1.{}.0", "\n"),
    "Cargo.toml": ("[dependencies]\n{}\n", '{} = "1.{}"', "\n"),
    "pyproject.toml": ("[project]\ndependencies = [\n{}\n]\n", '  "{}>=1.{}"', ",\n"),
    "setup.cfg": ("[options]\ninstall_requires =\n{}\n", "    {}>=1.{}", "\n"),
    "Gemfile": ("source 'https://gems.example.com'\n{}\n", "gem '{}', '~> 1.{}'", "\n"),
    "shop.gemspec": ("Gem::Specification.new do |s|\n{}\nend\n", "  s.add_dependency '{}', '~> 1.{}'", "\n"),
    "build.gradle": ("dependencies {{\n{}\n}}\n", "    implementation 'example:{}:1.{}'", "\n"),
}


@pytest.mark.parametrize(("file", "text", "old", "new", "kind", "what"), FOUND, ids=[each[0] for each in FOUND])
def test_it_is_found(
    foreign: Foreign, tmp_path: Path, file: str, text: str, old: str, new: str, kind: str, what: str
) -> None:
    first = foreign.commit({file: text.format(old), "shop/reader.sh": f"echo {what}\n"})
    second = foreign.commit({file: text.format(new)})
    try:
        (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    except MineError as error:
        raise AssertionError(str(error)) from error
    assert (found.kind, found.file) == (kind, file) and what in found.what
    assert [stand.commit for stand in found.stands] == [first, second]
    for stand, value in zip(found.stands, (old, new), strict=True):
        assert stand.value.endswith(value)
        assert value in text.format(value).split("\n")[stand.line - 1]


@pytest.mark.parametrize("file", MANIFESTS)
def test_packages_that_one_commit_swaps_are_found(foreign: Foreign, tmp_path: Path, file: str) -> None:
    """Two that stand in the same places, and one that kept its words and moved in the list; no two of one version, as
    then a line does not tell which of them it is."""
    text, row, between = MANIFESTS[file]
    swaps = {"harbor-line": "harbor-way", "quay-gate": "quay-house", "zz-berth": "berth-zz-next"}
    for names in (
        ["harbor-line", "one-stays", "quay-gate", "two-stays", "three-stays", "zz-berth"],
        ["harbor-way", "one-stays", "quay-house", "two-stays", "berth-zz-next", "three-stays"],
    ):
        foreign.commit({file: text.format(between.join(row.format(name, sum(name.encode())) for name in names))})
    found = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert {each.kind for each in found} == {"dependency"}
    pairs = [[stand.value.split("/")[-1].split(":")[-1] for stand in each.stands] for each in found]
    assert sorted(pairs) == sorted(map(list, swaps.items()))


def test_packages_of_a_file_that_is_not_read_are_no_candidates(foreign: Foreign, tmp_path: Path) -> None:
    text, row, _ = MANIFESTS["package.json"]
    for name in ("harbor-line", "harbor-way"):
        foreign.commit({"node_modules/quay/package.json": text.format(row.format(name, 3))})
    with pytest.raises(MineError, match="nothing to mine"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_packages_of_which_nothing_tells_the_partner_are_left_out(foreign: Foreign, tmp_path: Path) -> None:
    text, row, between = MANIFESTS["package.json"]
    for names in (["harbor-line", "quay-gate", "stays"], ["stays", "kestrel-way", "finch-house"]):
        foreign.commit(
            {"package.json": text.format(between.join(row.format(name, sum(name.encode())) for name in names))}
        )
    with pytest.raises(MineError, match="nothing to mine"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_of_two_elements_of_one_name_a_value_is_that_of_its_own() -> None:
    rows = [
        "<project>", "  <plugin>", "    <artifactId>first</artifactId>", "    <release>11</release>", "  </plugin>",
        "  <plugin>", "    <artifactId>second</artifactId>", "    <release>17</release>", "  </plugin>", "</project>",
    ]  # fmt: skip
    assert [find_section("pom.xml", rows, number) for number in (4, 8)] == ["first", "second"]
