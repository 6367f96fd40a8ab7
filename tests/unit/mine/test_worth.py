"""What is worth asking first, what one commit may bring, and how a person's judgement of a sample is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.mine import mining, shapes, stories, worth
from harness.mine.mining import MineError, Wanted
from harness.mine.review_sample import Judged
from harness.mine.shapes import ChangeKind
from tasks import loader
from tests.support.foreign import Foreign, live


@pytest.mark.parametrize(
    ("kind", "file", "key", "grade"),
    [
        ("command", "README.md", "pytest", 3),
        ("setting", "deploy/web.yaml", "lane", 3),
        ("setting", "config.toml", "server.port", 3),
        ("setting", "config.toml", "lane", 2),
        ("constant", "shop/waits.py", "RETRIES", 2),
        ("setting", ".eslintrc.json", "quotes", 1),
        ("setting", "web/.vscode/settings.json", "lane", 1),
        ("setting", "deny.toml", "yanked", 1),
        ("setting", "codecov.yml", "after_n_builds", 1),
        ("setting", ".github/workflows/ci.yml", "branches", 3),
        ("setting", ".github/workflows/ci.yml", "enable-cache", 1),
        ("setting", ".github/workflows/ci.yml", "runs-on", 1),
        ("setting", ".github/workflows/ci.yml", "timeout-minutes", 1),
        ("setting", "deploy/web.yml", "timeout", 3),
        ("constant", "scripts/refill.py", "BATCH_SIZE", 1),
        ("text", "CLAUDE.md", "", 3),
        ("text", "docs/guide.md", "", 1),
    ],
)
def test_what_an_agent_acts_on_comes_first(kind: ChangeKind, file: str, key: str, grade: int) -> None:
    assert worth.judge_worth(kind, file, key) == grade


@pytest.mark.parametrize(
    ("file", "before", "grade"),
    [
        ("web/lanes.ts", "const LANES = ", 1),
        ("web/lanes.ts", "export const LANES = ", 2),
        ("web/config.ts", "const LANES = ", 2),
        ("shop/Lanes.java", "private static final int LANES = ", 1),
        ("shop/Lanes.java", "static final int LANES = ", 2),
        ("shop/lanes.go", "const lanes = ", 1),
        ("shop/lanes.go", "const Lanes = ", 2),
        ("shop/lanes.rs", "const LANES: u8 = ", 1),
        ("shop/lanes.rs", "pub const LANES: u8 = ", 2),
        ("shop/lanes.py", "_LANES = ", 1),
        ("shop/lanes.py", "LANES = ", 2),
        ("shop/lanes.rb", "LANES = ", 2),
    ],
)
def test_a_number_that_one_file_keeps_to_itself_is_needed_least(file: str, before: str, grade: int) -> None:
    assert worth.judge_worth("constant", file, "LANES", "3", "7", before) == grade
    assert worth.judge_worth("constant", file, "LANES", "one-lane", "two-lanes", before) == 2


@pytest.mark.parametrize(
    ("old", "new", "grade"),
    [
        ("jest", "vitest", 3),
        ("jest --verbose src", "vitest", 3),
        ("NODE_ENV=test jest src", "cross-env A=b vitest src", 3),
        ("tsup --watch", "npm run clean && tsup", 1),
        ("rimraf dist", "rimraf dist docs", 1),
        ("prisma generate", "node scripts/generate.mjs", 1),
        (">= 18", ">= 20", 3),
    ],
)
def test_a_script_is_asked_for_where_it_runs_another_program(old: str, new: str, grade: int) -> None:
    assert worth.judge_worth("setting", "web/package.json", "test", old, new) == grade


def test_one_commit_brings_three_facts_at_most_and_no_two_stories_share_it(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("harborline", "kestrelway"):
        foreign.commit({f"{name}.toml": f'{name} = "{value}-{name}"\n' for name in "abcdefghij"})
    for turn, value in enumerate(("finch", "ibis", "heron")):
        foreign.commit({f"late{turn}-{name}.toml": f'{name}{turn} = "{value}-{name}"\n' for name in "kl"})
        foreign.commit({f"late{turn}-{name}.toml": f'{name}{turn} = "{value}-new-{name}"\n' for name in "kl"})
    found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache")
    assert len(found.candidates) == 16
    groups = stories.draw(found.repo, found.candidates, 9, "1")
    told = [{commit.hash for each in group for commit in each.commits} for group in groups]
    assert groups and all(one.isdisjoint(other) for at, one in enumerate(told) for other in told[:at])
    for group in groups:
        last = [each.commits[-1].hash for each in group]
        assert max(map(last.count, last)) <= stories.OF_ONE


@pytest.mark.slow
def test_only_what_is_wanted_is_a_candidate_and_the_rest_has_its_reason(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)

    def names(wanted: Wanted) -> set[str]:
        found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache", wanted)
        return {each.file for each in found.candidates}

    assert names(Wanted()) == {"shop/waits.py", "pyproject.toml", "README.md"}
    assert names(Wanted(least=3)) == {"README.md"}
    assert names(Wanted(below=("./shop/",))) == {"shop/waits.py"}
    assert names(Wanted(below=(".",))) == names(Wanted())
    with pytest.raises(MineError, match="outside of --path: 5"):
        names(Wanted(below=("sho",)))


@pytest.mark.slow
def test_a_sample_is_asked_for_one_by_one_and_its_share_has_an_interval(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    words = [str(foreign.path), "--check", "3", "--min-worth", "1"]
    done = CliRunner().invoke(mine, words, input="y\nmaybe\nn\nq\n", env={"COLDWARM_CACHE": str(tmp_path / "cache")})
    assert done.exit_code == 0, done.output
    assert "[1 of 3]\nWhat is " in done.output and "  - " in done.output and "  + " in done.output
    assert "1 of 2 facts worth asking: 50%, 95 % interval 9% to 91%; 1 not judged" in done.output
    assert Judged(0, 0, 3).tell() == "nothing was judged"


def test_one_step_of_a_key_is_one_case_in_however_many_commits(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("harborline", "kestrelway"):
        for file in ("one.toml", "two.toml"):
            foreign.commit({file: f'lane = "{value}"\nquay = "{value}-{file}"\n'})
    found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache").candidates
    lanes = [each for each in found if each.what == "lane"]
    assert len(lanes) == 2 and len(found) == 4 and lanes[0].commits[-1] != lanes[1].commits[-1]
    assert [each.what for each in stories.list_apart(found, lanes[:1])] == ["quay"]


@pytest.mark.slow
def test_two_stories_that_tell_of_one_commit_are_no_suite(foreign: Foreign, tmp_path: Path) -> None:
    """Mined twice with two seeds and put together, a commit would count twice in the statistics."""
    live(foreign)
    cache = {"COLDWARM_CACHE": str(tmp_path / "cache")}
    done = CliRunner().invoke(mine, [str(foreign.path), "--to", str(tmp_path / "suite")], env=cache)
    assert done.exit_code == 0, done.output
    (file,) = loader.find(tmp_path / "suite")
    ((story, _),) = loader.load([file], tmp_path, tmp_path / "cache")
    assert len(story.changes) > 1
    again = shutil.copyfile(file, file.with_name("again.toml"))
    with pytest.raises(loader.ScenarioError, match=r"is told by 'mined/.*', too, and would count twice"):
        loader.load([file, again], tmp_path, tmp_path / "cache")


def test_a_value_whose_name_stands_in_no_other_place_is_read_by_nothing(foreign: Foreign, tmp_path: Path) -> None:
    for value in (3, 7):
        code = f"READ_TWICE = {value}\nREAD_NOWHERE = {value + 1}\n"
        foreign.commit(
            {"waits.py": code, "shop.py": "from waits import READ_TWICE\n", "a.env": f"QUAY_PORT=80{value}\n"}
        )
    found = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    assert [each.what for each in found.candidates] == ["READ_TWICE"]
    assert found.reasons["value that nothing reads"] == 2


def test_a_number_that_its_own_file_alone_reads_is_seen_by_who_works_there(foreign: Foreign, tmp_path: Path) -> None:
    for value, word in ((3, "finch"), (7, "ibis")):
        code = f'OWN = {value} * 60\nOURS = {value + 1}\nLANE = "{word}"\nQUAY = "bad{value}"\n'
        code += "print(OWN, OURS, LANE, QUAY)\n"
        foreign.commit({"waits.py": code, "shop.py": "from waits import OURS\n"})
    found = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    assert {each.what for each in found.candidates} == {"OURS", "LANE", "QUAY"}
    assert found.reasons["number that only its own file reads"] == 1


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("deploy/web.yaml", "registry: quay.example.io/shop", "registry: harbor.example.io/shop", None),
        ("deploy/web.yaml", "api: https://one.example.com/a", "api: https://two.example.com/a", None),
        ("deploy/web.yaml", "api: https://one.example.com/a", "api: https://one.example.com/b", "link"),
        ("package.json", '"homepage": "https://one.example.com"', '"homepage": "https://two.example.com"', "link"),
        (
            "web.yaml",
            "api: db://ada:lane@one.example.com",
            "api: db://ada:lane@two.example.com",
            "a secret",
        ),
        ("web.yaml", 'tag: "{{.Lane}}-1"', 'tag: "{{.Quay}}-1"', "expression"),
        ("web.yaml", "row: <b>lane</b>", "row: <b>quay</b>", "markup"),
        ("docs/a.yaml", "sidebar_position: 3", "sidebar_position: 4", "order"),
        ("shop/__init__.py", 'VERSION = "unknown lane"', 'VERSION = "released lane"', "version bump"),
        (".github/workflows/ci.yml", "id: lane-one", "id: quay-one", "label that is shown to people"),
        (".github/workflows/ci.yml", "uses: quay/lane@v4", "uses: quay/harbor@v5", "pin of a dependency"),
        (".github/workflows/stale-bot.yml", "days: 1", "days: 2", "settings of the host of the repository"),
        (
            "pom.xml",
            "<lane-api.version>3.4.0</lane-api.version>",
            "<lane-api.version>3.7.1</lane-api.version>",
            "pin of a dependency",
        ),
        ("web.yaml", "size: <%= 2.lanes %>", "size: <%= 3.lanes %>", "expression"),
        ("Makefile", "COMMIT := $(shell lane a)", "COMMIT := $(shell lane b)", "expression"),
        ("Shop/Localization/pl.yaml", "lane: jeden", "lane: dwa", "translation"),
        ("shop/lane.ts", 'const LANE = "Größe"', 'const LANE = "Menge"', "long value or prose"),
        ("shop/src/__fixtures__/lane.yaml", "lane: harborline", "lane: kestrelway", "test data"),
        ("lane-benchmarks/lane.yaml", "lane: harborline", "lane: kestrelway", "test data"),
        ("shop/lanes.js", "const LANE = 3;", 'const LANE = "/lane";', "number that became another thing"),
        ("shop/black-box-tests/lane.yaml", "lane: harborline", "lane: kestrelway", "test data"),
        ("dev/api/create.json", '"lane": "harborline"', '"lane": "kestrelway"', "data"),
        ("web/package.json", '"main": "harborline"', '"main": "kestrelway"', None),
        ("web/Lane.tsx", "const LANE_WIDTH = 500;", "const LANE_WIDTH = 590;", "look of a page"),
        ("lane.ts", 'const LANE = "bg-lane/40 text-one";', 'const LANE = "bg-lane/50 text-two";', "look of a page"),
        ("lane.py", 'LANE = "#4990BA"', 'LANE = "#1976D2"', "look of a page"),
        ("ci.yml", "lanes: [a, b, c]", "lanes: [a, b, d]", "list that grew or shrank"),
        ("README.md", "    git checkout -b my-lane", "    git checkout -b my-quay", "argument of an example"),
        ("pom.xml", "<organization>Lane</organization>", "<organization>Quay</organization>", "long value or prose"),
        ("pom.xml", "<groupId>lane</groupId>", "<groupId>quay</groupId>", "nothing that a question could call it by"),
        ("crowdin.yml", "lane: harborline", "lane: kestrelway", "settings of the host of the repository"),
        ("pyproject.toml", 'lane = "~0.4.0"', 'lane = ["lane>=0.4.0"]', "pin of a dependency"),
        ("Cargo.toml", 'lane = ["quay"]', 'lane = ["dep:quay"]', "white space, case or quotes"),
        ("README.md", "    npm run-script quay", "    npm run quay", "white space, case or quotes"),
        ("lane.py", "LANE = 'one/two'", "LANE = 'one/%s' % TWO", "expression"),
        ("shop/de-DE.js", 'const LANE = "eins"', 'const LANE = "zwei"', "translation"),
        ("shop/__init__.py", "__all__ = ['Lane']", "__all__ = ['Quay']", "list of names that a module shows"),
        ("Lane.java", "final long serialVersionUID = -12L;", "final long serialVersionUID = 3L;", "hash"),
        ("shop/resources/rules.json", '"lane": "harborline"', '"lane": "kestrelway"', "data"),
        ("shop/assets/page.json", '"lane": "harborline"', '"lane": "kestrelway"', "data"),
        ("package.json", '"type": "lane"', '"type": "module"', "nothing that a question could call it by"),
        ("go.mod", "\texample.com/lane v1.0.0", "\texample.com/lane/v2 v2.0.0", "pin of a dependency"),
    ],
)
def test_what_is_not_worth_asking_has_its_reason(
    foreign: Foreign, tmp_path: Path, file: str, old: str, new: str, reason: str | None
) -> None:
    for row in (old, new):
        foreign.commit({file: f"require (\n{row}\n)\n" if file == "go.mod" else f"{row}\n"})
    if reason is None:
        assert len(mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates) == 1
    else:
        with pytest.raises(MineError, match=f"{reason}: 1"):
            mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


@pytest.mark.parametrize(
    ("file", "row"),
    [("lane.js", '  alert: "{} JSON",'), ("lane.go", '\treturn "{} JSON"'), ("pyproject.toml", '  "lane=={}",')],
)
def test_capitals_in_a_value_declare_nothing_and_a_pin_sets_no_key(file: str, row: str) -> None:
    found = shapes.find_shape(file, row.format("1.2.3"), row.format("2.1.4"))
    assert found is None or found.kind not in ("constant", "setting")


def test_what_is_numbered_anew_with_each_change_is_no_fact(foreign: Foreign, tmp_path: Path) -> None:
    for number in (7, 8, 9):
        foreign.commit({"db.toml": f"latestVersion = {number}\nnode-version = {2 * number}\n"})
    found = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    assert [each.what for each in found.candidates] == ["node-version"]
    assert found.reasons["version bump"] == 1


def test_a_key_of_another_table_is_another_key(foreign: Foreign, tmp_path: Path) -> None:
    for row in ('  "lane": "one",', '    "lane": "two",'):
        foreign.commit({"a.json": f"{{\n{row}\n}}\n"})
    with pytest.raises(MineError, match="nothing to mine"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


@pytest.mark.parametrize(
    ("old", "new", "grade"),
    [
        ("components/Lane", "components/common/Lane", 1),
        ("./lane", "./quay", 1),
        ("lib/lane", "lib/quay", 1),
        ("lib/lane", "harbor/quay", 2),
        ("harbor.lanes.quay", "harbor.basics", 1),
        ("com.example.harbor.Lane", "com.example.quay.Basin", 1),
        ("javax.quay.Lane", "jakarta.quay.Basin", 2),
        ("crate::lanes", "harbor::lanes", 1),
        ("lib/web", "harbor-basics", 2),
        ("./lane", "@shop/harbor", 1),
    ],
)
def test_a_module_that_only_moved_is_found_by_its_name(old: str, new: str, grade: int) -> None:
    assert worth.judge_worth("place", "shop/lane.ts", "", old, new) == grade
