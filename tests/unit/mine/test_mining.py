"""A history becomes a suite that holds, or one clear line; never half a suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.log.parts import Check
from harness.mine import exclusions, mining, review_page, shapes, stories, tested
from harness.mine.mining import MineError
from harness.repo.names import find_head
from harness.repo.series import FixtureError
from harness.selftest import suite
from tasks import loader
from tests.support.foreign import Foreign, live
from tests.support.recorded_sessions import KEY


def run(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(mine, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
def test_what_changed_becomes_a_story_that_keeps_every_promise(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--stories", "1")
    assert code == 0, said
    files = loader.find(tmp_path / "suite")
    ((story, _),) = loader.load(files, tmp_path, tmp_path / "cache")
    said_values = {form for fact in story.facts for form in fact.forms[-1]}
    assert {"harborline", "kestrelway", "finchgate", "3", "7", "0.5", "2.5", "40", "65"} <= said_values
    assert story.kind == "mined" and story.id.startswith("mined/")
    assert all(fact.source and fact.source.commit and fact.source.line for fact in story.facts)
    probes = [(step.id, step.gold) for session in story.sessions for step in session.steps if step.do == "probe"]
    before = {name.removesuffix("-before"): gold for name, gold in probes if name.endswith("-before")}
    assert before and all(name in dict(probes) and gold != dict(probes)[name] for name, gold in before.items())
    proven = suite.prove(files, tmp_path, tmp_path / "cache")
    assert not proven.breaches
    (row,) = proven.rows
    assert row.oracle.hits == row.oracle.of > 0 and row.stale.hits == row.stale.of > 0 and row.none.hits == row.none.of


def test_the_same_seed_writes_the_same_bytes(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    for name in ("one", "two"):
        assert run(foreign.path, "--to", tmp_path / name)[0] == 0
    texts = [[file.read_bytes() for file in sorted((tmp_path / name).rglob("*.*"))] for name in ("one", "two")]
    assert texts[0] == texts[1] and texts[0]


def test_the_check_of_a_decision_reads_the_real_file(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    assert run(foreign.path, "--to", tmp_path / "suite")[0] == 0
    (file,) = loader.find(tmp_path / "suite")
    text = file.read_text()
    assert 'line = "lane = \\"{value}\\""' in text
    file.write_text(text.replace('line = "lane = \\"{value}\\""', 'line = "road = \\"{value}\\""'))
    (problem, *_) = suite.validate([file], tmp_path, tmp_path / "cache")
    assert "prints nothing" in problem


def test_a_page_shows_both_lines_and_remembers_what_was_dropped(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    page, kept = tmp_path / "page.html", tmp_path / "decisions.json"
    assert run(foreign.path, "--review", page)[0] == 0
    shown = page.read_text()
    assert "harborline" in shown and "kestrelway" in shown and "http://" not in shown
    found = mining.search(str(foreign.path), None, 3000, {}, tmp_path / "cache")
    (lane,) = [each for each in found.candidates if "lane" in each.what]
    kept.write_text(json.dumps({"candidates": {lane.id: "drop"}}))
    again = mining.search(str(foreign.path), None, 3000, review_page.read(kept), tmp_path / "cache")
    assert lane.id not in {each.id for each in again.candidates} and again.reasons["dropped by hand"] == 1
    assert run(foreign.path, "--review", page, "--decisions", kept)[0] == 0
    assert f'data-id="{lane.id}" data-judged="drop"' in page.read_text(), "it can be taken back"


HIDDEN = (
    ("a.yaml", "password: {}\n", ("harb0ur-master", "harb0ur-keeper")),
    ("a.yaml", "env:\n- name: DB_PASSWORD\n  value: {}\n", ("harb0ur-master", "harb0ur-keeper")),
    ("a.env", "QUAY_TOKEN={}\n", ("harb0ur-master", "harb0ur-keeper")),
    ("a.toml", 'lane = "{}"\n', (f"{KEY}0", f"{KEY}1")),
    ("a.py", 'LANE = "{}"\nprint(LANE)\n', ("harborline", KEY)),
    ("a.toml", 'api = "db://mira:{}@db.example.com"\n', ("harb0ur/master", "harb0ur@keeper")),
)


@pytest.mark.parametrize(("file", "text", "values"), HIDDEN)
def test_a_secret_is_no_candidate(
    foreign: Foreign, tmp_path: Path, file: str, text: str, values: tuple[str, str]
) -> None:
    for value in values:
        foreign.commit(
            {file: text.format(value), "b.toml": f'quay = "{value[::-1].upper()}"\n', "README.md": "QUAY_TOKEN\n"}
        )
    found = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    assert [each.file for each in found.candidates] == ["b.toml"] and found.reasons["a secret"] == 1


def test_the_page_shows_no_secret_beside_a_value(foreign: Foreign, tmp_path: Path) -> None:
    for lane in ("harborline", "kestrelway"):
        foreign.commit(
            {"a.toml": f'[shop]\nkey = "{KEY}"\nlane = "{lane}"\npassword = "harb0ur-master"\n'}, subject=f"Not {KEY}"
        )
    assert run(foreign.path, "--review", tmp_path / "page.html")[0] == 0
    shown = (tmp_path / "page.html").read_text()
    assert "kestrelway" in shown and "password = " in shown
    assert KEY not in shown and "harb0ur-master" not in shown


@pytest.mark.parametrize("text", ["", "[]", "{", '{"candidates": 3}', '{"candidates": {"a": "perhaps"}}', "\x00"])
def test_a_file_that_is_no_decisions_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "decisions.json").write_text(text)
    with pytest.raises(MineError, match="is no file that a page"):
        review_page.read(tmp_path / "decisions.json")


def test_no_repository_is_one_line_and_writes_nothing(tmp_path: Path) -> None:
    for named in (tmp_path / "nowhere", tmp_path):
        code, said = run(named, "--to", tmp_path / "suite")
        assert code == 2 and len(said.splitlines()) == 1 and "coldwarm:" in said
    assert not (tmp_path / "suite").exists()


def test_one_commit_or_nothing_to_mine_is_one_line(foreign: Foreign, tmp_path: Path) -> None:
    foreign.commit({"README.md": "# Shop\n"})
    assert "has one commit" in run(foreign.path, "--to", tmp_path / "suite")[1]
    foreign.commit({"README.md": "# Shop\n\nMore.\n", "data.bin": b"\x00\xff" * 99})
    code, said = run(foreign.path, "--to", tmp_path / "suite")
    assert code == 2 and "nothing to mine" in said and not (tmp_path / "suite").exists()
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".suite")]


@pytest.mark.parametrize(
    ("file", "words", "says"),
    [
        ("lane.toml", ["--commits", "1"], "read more of the history with --commits"),
        ("lane.toml", [], "name a repository with more history"),
        (".github/workflows/ci.yml", [], "take those, too, with --min-worth 1"),
    ],
)
def test_what_may_bring_more_is_advised(
    foreign: Foreign, tmp_path: Path, file: str, words: list[str], says: str
) -> None:
    for lane in ("harborline", "kestrelway", "finchgate"):
        foreign.commit({"lane.toml": 'lane = "quay"\n', file: f'lane: "{lane}"\n'})
    code, said = run(foreign.path, "--to", tmp_path / "suite", *words)
    assert code == 2 and said.endswith(f"); {says}\n")


def test_an_empty_repository_has_no_commit(foreign: Foreign) -> None:
    with pytest.raises(FixtureError, match="names no commit"):
        find_head(str(foreign.path))


@pytest.mark.parametrize("how", ["loose", "packed", "detached", "bare"])
def test_head_is_found_without_asking_git(how: str, foreign: Foreign, tmp_path: Path) -> None:
    commit, path = foreign.commit({"a.txt": "a\n"}), foreign.path
    if how == "packed":
        foreign.git("pack-refs", "--all")
    elif how == "detached":
        foreign.git("checkout", "--quiet", "--detach")
    elif how == "bare":
        foreign.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
        path = tmp_path / "bare"
    assert find_head(str(path)) == commit


def test_a_folder_with_something_in_it_is_left_alone(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "mine.txt").write_text("mine")
    code, said = run(foreign.path, "--to", tmp_path / "suite")
    assert code == 2 and "not empty" in said and [each.name for each in (tmp_path / "suite").iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_odd_files_are_counted_and_passed_by(foreign: Foreign, tmp_path: Path) -> None:
    def odd(value: str) -> dict[str, str | bytes]:
        return {
            "latin.toml": f'name = "caf\u00e9"\nlane = "{value}"\n'.encode("latin-1"),
            "not-toml.toml": f"<xml lane='{value}'>\n",
            "crlf.ini": f"[a]\r\nlane = {value}-crlf\r\n",
            "big.json": "x" * 1_100_000 + value,
            'a "quoted" name.toml': f'lane = "{value}"\n',
            "caf\u00e9.toml": f'lane = "{value}-accent"\n',
            "broken.py": f"RETRIES = = {value}\n",
        }

    live(foreign)
    foreign.commit(odd("wagtail"))
    foreign.commit(odd("redstart"))
    foreign.git("mv", "crlf.ini", "moved.ini")
    foreign.commit({})
    foreign.commit({"moved.ini": "[a]\r\nlane = plover-crlf\r\n"})
    code, said = run(foreign.path, "--to", tmp_path / "suite")
    assert code == 0, said
    found = mining.search(str(foreign.path), None, 3000, {}, tmp_path / "cache")
    assert found.reasons["binary, very large, or no UTF-8 text"] >= 2
    values = {stand.value for each in found.candidates for stand in each.stands}
    assert {"redstart-accent", "plover-crlf"} <= values and "wagtail" not in values


def test_what_a_bot_changed_is_left_out(foreign: Foreign, tmp_path: Path) -> None:
    foreign.commit({"a.toml": 'lane = "harborline"\n'})
    foreign.commit({"a.toml": 'lane = "kestrelway"\n'}, author="dependabot[bot]")
    with pytest.raises(MineError, match="commit of a bot: 1"):
        mining.search(str(foreign.path), None, 3000, {}, tmp_path / "cache")


@pytest.mark.slow
def test_mined_stories_are_never_mixed_with_others(foreign: Foreign, tmp_path: Path) -> None:
    from harness import paths

    live(foreign)
    assert run(foreign.path, "--to", tmp_path / "suite")[0] == 0
    own = loader.find(paths.TASKS, ["forgotten-runbook"])
    with pytest.raises(loader.ScenarioError, match="no one suite"):
        loader.load([*own, *loader.find(tmp_path / "suite")], paths.FIXTURES, tmp_path / "cache")


@pytest.mark.parametrize(
    ("path", "old", "new", "kind", "values"),
    [
        ("a.toml", 'lane = "a1"', 'lane = "b2"  # why', "setting", ("a1", "b2")),
        ("a.yml", "  node-version: 18", "  node-version: 20", "setting", ("18", "20")),
        ("package.json", '  "main": "a.js",', '  "main": "b.js",', "setting", ("a.js", "b.js")),
        (".env.example", "PORT=80", "PORT=8080", "setting", ("80", "8080")),
        ("Dockerfile", "FROM python:3.9 AS base", "FROM python:3.12 AS base", "setting", ("python:3.9", "python:3.12")),
        ("Makefile", "JOBS ?= 2", "JOBS ?= 4", "setting", ("2", "4")),
        ("go.mod", "go 1.20", "go 1.22", "setting", ("1.20", "1.22")),
        ("a.go", "const Limit = 3", "const Limit = 5", "constant", ("3", "5")),
        ("a.rs", "pub fn open(a: u8) {", "pub fn begin(a: u8) {", "name", ("open", "begin")),
        ("a.ts", "import { A } from './old-way'", "import { A } from './new-way'", "place", ("./old-way", "./new-way")),
        ("README.md", "$ make check", "$ pytest -n auto", "command", ("make check", "pytest -n auto")),
        ("README.md", "Use `--fast-lane` here", "Use `--quick` here", "flag", ("--fast-lane", "--quick")),
        ("docs/adr/0003.md", "Status: Accepted", "Status: Superseded by 7", "record", ("Accepted", "Superseded by 7")),
    ],
)
def test_lines_of_each_kind_of_file(path: str, old: str, new: str, kind: str, values: tuple[str, str]) -> None:
    shape = shapes.find_shape(path, old, new)
    assert shape is not None and shape.kind == kind and (shape.old, shape.new) == values


@pytest.mark.parametrize(
    ("old", "new", "what", "reason"),
    [
        ("1.2.3", "1.2.4", "version", "version bump"),
        ("1.2.3", "1.3.0", "left-pad", "pin of a dependency"),
        ("shop-2.5.0.tar.gz", "shop-2.6.0.tar.gz", "pypi", "version bump"),
        ("['ada']", "['bo']", "maintainers", "long value or prose"),
        ("actions/checkout@v3", "actions/checkout@v4", "uses", "pin of a dependency"),
        ("a b", "a  b", "lane", "white space, case or quotes"),
        ("2023", "2024", "year", "date"),
        ("deadbeefdeadbeef", "cafebabecafebabe", "rev", "hash"),
        (
            "actions/setup-node@v3",
            "actions/setup-node@48b55a011bda9f5d6aeb4c2d9c7362e8dae4041e",
            "uses",
            "pin of a dependency",
        ),
        ("shop-0.4.1-20-g40bd8f6.zip", "shop-main.zip", "pypi", "hash"),
        ("%LANES%\\\\lane.exe", "%LANES%/lane.exe", "lane", "white space, case or quotes"),
        ("[linux, macOS]", "[macos, linux]", "os", "order"),
        ("${{ github.head }}", "${{ github.ref }}", "repo", "expression"),
        ("list(LANES)", "set(LANES) | {HARBOR}", "LANES", "expression"),
        ("['ferry>=0.1.4', 'quay>=1.4']", "['ferry>=0.1.5', 'quay>=1.4']", "requirements", "pin of a dependency"),
        ("3.8", "3.9", "python-version", None),
        ("3.1", "3.10", "python-version", None),
        ("30", "30s", "timeout", None),
        ("-1", "1", "limit", None),
        ("30.0", "30", "limit", "another spelling of the number"),
        ("1000000", "1_000_000", "limit", "another spelling of the number"),
        ("1000000", "1_000_001", "limit", None),
        ("0x01", "0x1", "limit", "another spelling of the number"),
        ("0x2", "2", "limit", "another spelling of the number"),
        ("0x03", "0x07", "mask", None),
        ("\\x1b[1;34m", "\\x1b[94m", "LANE", "look of a page"),
        ("Keep the lane", "Keep the quay", "LANE_FILE_DOC", "long value or prose"),
        ("5.4.1", "$versions.gradle", "gradleVersion", "expression"),
        ("org.example:quay:3.3.1", "org.example:quay:3.4", "quay", "pin of a dependency"),
        ("17", "JavaVersion.VERSION_17", "sourceCompatibility", "another spelling of the number"),
        ("-version", "--version", "flag", "dashes"),
        ("harborline", "kestrelway", "lane", None),
        ('["-id"]', '("-id",)', "ordering", "white space, case or quotes"),
        ('("lane",)', '("lane", "quay")', "actions", "list that grew or shrank"),
        ("./dist/lane", "./dist/lane/index.js", "./lane", "other way to name the same module"),
        ("./dist/lane", "./dist/quay/index.js", "./lane", None),
        ("python:3.14.6-slim", "python:3.14.7-slim", "FROM", "version bump"),
        ("python:3.13.6-slim", "python:3.14.1-slim", "FROM", None),
        ("matrix.os == 'linux'", "matrix.os == 'macos'", "if", "expression"),
        ("lane$(if $(QUAY),-q)", "lane$(if $(QUAY),-b)", "IMAGE", "expression"),
        ("http://localhost:8080", "http://127.0.0.1:8080", "API_URL", "white space, case or quotes"),
        ("8", "1.8", "maven.compiler.source", "another spelling of the number"),
        ("1.22.2", "1.22", "go", "version bump"),
        ("^5.1.3", "latest", "typescript", "pin of a dependency"),
        ("sudo apt install lane", "sudo apt install -y lane", "setup", "other way to say the same"),
        ("export A='b' && lane dev", "A=b lane dev", "dev", "other way to say the same"),
        ("lane", "foobar", "prefix", "placeholder"),
        ("foobar", "lane", "prefix", None),
        ("berth add user/repo/one", "berth add user/repository/one", "add", "placeholder"),
        ("text-green-500", "text-white", "actionTone", "look of a page"),
        ("text-davinci-002", "text-davinci-003", "model", None),
        ("300", "5 * 60", "timeout", "another spelling of the number"),
        ("300", "5 * 61", "timeout", None),
        ("example/jre:1.8.0_212", "example/jre:1.8.0_252", "FROM", "version bump"),
        ("example/base:base-1.26.1", "example/base:base-1.29.0", "FROM", "version bump"),
        ("node:18", "node:22", "FROM", None),
        ("18.x", "18", "node-version", "version bump"),
        ("18.x", "20.x", "node-version", None),
        ("lane-secret", "SET_THIS", "db", "placeholder"),
        ("Confirm it", "Register it", "MAIL_SUBJECT", "long value or prose"),
        ("v12.16.3", "v12.18.3", "nodeVersion", "version bump"),
        ("v12.16.3", "v14.0.0", "nodeVersion", None),
        ("text-indigo-600", "text-pink-600", "CHAIN", "look of a page"),
        ("['-created']", "['-id']", "ordering", "order"),
        ("Reset your password", "Your reset code", "previewText", "long value or prose"),
    ],
)
def test_what_is_no_fact_has_a_reason(old: str, new: str, what: str, reason: str | None) -> None:
    assert exclusions.skip_values(old, new, what, "A step") == reason


@pytest.mark.parametrize(
    "path",
    [
        "docker/test-images/pom.xml",
        "src/it/pom.xml",
        "test-timings.json",
        "tools/artillery/aws.yaml",
        "k6/lane.js",
        "load-tests/a.yml",
        "prisma/seed.ts",
        "database/seeders/Lane.php",
    ],
)
def test_numbers_of_a_load_and_rows_to_begin_with_are_test_data(path: str) -> None:
    assert exclusions.skip_file(path) == "test data"


def test_a_file_of_values_that_stand_for_any_shows_its_form_only(foreign: Foreign, tmp_path: Path) -> None:
    for pause in ("15s", "42s"):
        names = "".join(f"{name}: foobar\n" for name in "abc")
        foreign.commit({"docs/reference.yml": f"{names}catalog:\n  pause: {pause}\n", "reader.sh": "echo pause"})
    with pytest.raises(MineError, match="placeholder: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


@pytest.mark.parametrize(
    ("file", "text", "old", "new", "reason"),
    [
        ("compose.yml", "quay:\n  healthcheck:\n    start_period: {}\n", "5s", "1s", "patience of a health check"),
        ("fly.toml", "[http_service.checks]\ninterval = '{}'\n", "5s", "9s", "patience of a health check"),
        ("pom.xml", "<p>\n  <issueManagement>\n    <system>{}</system>\n", "jira", "github", "metadata of the package"),
        ("a.yml", "data:\n  example:\n    file: {}\n", "lane.json", "quay.json", "placeholder"),
        ("a.yml", "metadata:\n  labels:\n    app: {}\n", "lane", "quay", "label that is shown to people"),
        (
            "app.json",
            '{\n  "at": [\n    {\n      "go": "{}"\n    },\n    {\n      "go": "both"\n    }\n  ]\n}\n',
            "manual",
            "push",
            "value of several things of one name",
        ),
        (
            "pom.xml",
            "<p>\n  <parent>\n    <groupId>a.b</groupId>\n  </parent>\n  <dependency>\n    <groupId>{}</groupId>\n",
            "com.lane",
            "a.b",
            "value of several things of one name",
        ),
    ],
)
def test_what_nobody_acts_upon_by_where_it_stands_is_no_fact(
    foreign: Foreign, tmp_path: Path, file: str, text: str, old: str, new: str, reason: str
) -> None:
    for value in (old, new):
        foreign.commit({file: text.replace("{}", value)})
    with pytest.raises(MineError, match=f"{reason}: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_a_path_that_leads_to_the_same_file_did_not_change() -> None:
    same = ("api/definition/lane.yml", "api/definition/lane.yml")
    says = "other way to name the same file"
    assert exclusions.skip_renamed(same, ("../definition/commons.yml", "./commons.yml")) == says
    assert exclusions.skip_renamed(same, ("../other/commons.yml", "./commons.yml")) is None
    moved = ("tools/ci.yml", "ci.yml")
    assert exclusions.skip_renamed(moved, ("../quay/lane.yml", "./quay/lane.yml")) == says


UNNAMED = "nothing that a question could call it by"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("The lanes are kept in `now.json`", "The lanes are kept in `later.json`", None),
        ("See [the hooks](docs/Hooks.md) first", "See [the hooks](guides/Quays.md) first", None),
        ("See [ajv](Server.md#factory-ajv) for its options", "See [ajv](Server.md#ajv) for its options", "link"),
        ('<a id="one-two"></a> is about the lanes', '<a id="two-one"></a> is about the lanes', "link"),
        ("Such are _liveness_ checks of a lane", "Such are *liveness* checks of a lane", "spelling"),
        ('* <a href="./docs/Hooks.md">the hooks</a>', '* <a href="./docs/guides/Hooks.md">the hooks</a>', None),
        ("Such is `docs/Guidlines.md` of a lane", "Such is `docs/Guidelines.md` of a lane", "spelling"),
        ("See the final request/resposne as said", "See the final request/response as said", "spelling"),
        ("Such is `docs/Lanes.md` of a quay", "Such is `docs/Berths.md` of a quay", UNNAMED),
        ("It reads `now.json` at the start", "It reads `later.json` at the start", UNNAMED),
        ("$ shop open --all lanes < lanes.json", "$ shop open --all lanes < data/lanes.json", "argument of an example"),
        ("> shop/open --wait=5 lanes", "> shop/open --wait=2 lanes", "argument of an example"),
        ("$ shop-open lanes of quays", "$ quay-begin lanes of quays", UNNAMED),
        ("  app.open(lane, of, quay)", "  harbor.open(lane, of, quay)", "variable of an example"),
        ("  app.open(lane, of, quay)", "  app.lanes.open(lane, of, quay)", UNNAMED),
        ("  app.open(lane, of, quay)", "  app.begin(lane, of, quay)", UNNAMED),
    ],
)
def test_what_is_no_fact_in_a_document_has_a_reason(
    foreign: Foreign, tmp_path: Path, old: str, new: str, reason: str | None
) -> None:
    for row in (old, new):
        foreign.commit({"docs/guide.md": f"# Guide\n\n{row}\n"})
    if reason is None:
        (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
        assert found.kind == "text"
    else:
        with pytest.raises(MineError, match=f"{reason}: 1"):
            mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_a_commit_that_mends_spelling_changes_no_fact(foreign: Foreign, tmp_path: Path) -> None:
    for subject, value in (("docs", "io::LaneWriter"), ("docs: fix typo", "harbor::LaneReader")):
        foreign.commit({"README.md": f"# Lanes\n\nIt implements `{value}` of the harbor.\n"}, subject=subject)
    with pytest.raises(MineError, match="spelling: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_a_commit_that_mends_documents_changes_no_fact_in_them(foreign: Foreign, tmp_path: Path) -> None:
    """What a setting says is one all the same."""
    for subject, value in (("Start", "harbor/lanes"), ("docs: correct the guide", "kestrel/quays")):
        text = f"# Lanes\n\nThe lanes are read from `{value}` first.\n"
        foreign.commit({"README.md": text, "a.toml": f'lane = "{value.title()}"\n'}, subject=subject)
    mined = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    assert [each.kind for each in mined.candidates] == ["setting"]
    assert mined.reasons["mended document"] == 1


def test_a_name_that_an_example_declares_is_its_own(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("openLane", "beginLane"):
        foreign.commit({"README.md": f"# Lanes\n\n    const {value} = 3, of = 4\n    so wait for ({value}, quay)\n"})
    with pytest.raises(MineError, match="variable of an example: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_the_extension_of_a_module_is_another_way_to_name_it(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("./open-lane", "./open-lane.js"):
        foreign.commit({"shop.js": f"import {{ openLane }} from '{value}'\n"})
    with pytest.raises(MineError, match="other way to name the same module: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_a_value_that_follows_the_name_of_its_folder_is_no_fact(foreign: Foreign, tmp_path: Path) -> None:
    """Each folder has its own: git takes the one that left and the one that came for the same file."""
    rows = "".join(f"RUN make step-{number}\n" for number in range(20))
    foreign.commit({"ci/harbor-linux/Dockerfile": f"FROM example/cross:harbor-linux\n{rows}"})
    foreign.git("rm", "--quiet", "ci/harbor-linux/Dockerfile")
    foreign.commit({"ci/kestrel-linux/Dockerfile": f"FROM example/cross:kestrel-linux\n{rows}"})
    with pytest.raises(MineError, match="value that follows the name of its file: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


PACKAGES = {
    "package.json": '{{\n  "devDependencies": {{\n    "quay": "^1.0.0",\n    "{name}": "^{version}.1.0"\n  }}\n}}\n',
    "Cargo.toml": '[package]\nname = "shop"\n\n[dev-dependencies]\nquay = "1"\n{name} = "0.{version}"\n',
    "go.mod": "module example.com/shop\n\nrequire (\n\texample.com/quay v1.0.0\n\t{name} v1.{version}.0\n)\n",
    "pyproject.toml": '[project]\ndependencies = [\n  "quay>=1",\n  "{name}>={version}",\n]\n',
    "setup.py": 'setup(\n    install_requires=[\n        "quay>=1",\n        "{name}>={version}",\n    ],\n)\n',
}


@pytest.mark.parametrize("file", PACKAGES)
def test_a_package_that_takes_the_place_of_another_is_a_fact(foreign: Foreign, tmp_path: Path, file: str) -> None:
    lead = "example.com/" if file == "go.mod" else ""
    for turn, name in enumerate(("harbor-line", "harbor-way"), 2):
        foreign.commit({file: PACKAGES[file].format(name=lead + name, version=turn)})
    (found,) = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
    assert found.kind == "dependency" and found.what.endswith(f"harbor package in {file}")
    assert [stand.value for stand in found.stands] == [f"{lead}harbor-line", f"{lead}harbor-way"]


def test_a_package_that_is_named_in_another_form_takes_no_place(foreign: Foreign, tmp_path: Path) -> None:
    for said in ('harbor-line = { path = "../line" }', 'harbor-line.path = "../line"'):
        foreign.commit({"Cargo.toml": f'[package]\nname = "shop"\n\n[dependencies]\nquay = "1"\n{said}\n'})
    with pytest.raises(MineError, match="nothing to mine"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


def test_a_key_that_takes_the_place_of_another_is_no_package(foreign: Foreign, tmp_path: Path) -> None:
    for name in ("harbor-line", "kestrel-way"):
        foreign.commit({"package.json": f'{{\n  "scripts": {{\n    "{name}": "make lanes"\n  }}\n}}\n'})
    with pytest.raises(MineError, match="nothing that a question could call it by: 1"):
        mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")


@pytest.mark.slow
def test_what_goes_before_the_others_change_is_told_in_another_story(foreign: Foreign, tmp_path: Path) -> None:
    """Values that never stood side by side are no reason to tell nothing."""
    for turn in ("early", "late"):
        names = [f"{name}_{turn}" for name in ("lane", "quay", "berth")]
        for value in ("harborline", "kestrelway"):
            foreign.commit({f"{name}.toml": f'{name} = "{value}-{name}"\n' for name in names})
        if turn == "early":
            foreign.git("rm", "--quiet", *(f"{name}.toml" for name in names))
            foreign.commit({})
    assert run(foreign.path, "--to", tmp_path / "suite")[0] == 0
    told = [file.read_text() for file in loader.find(tmp_path / "suite")]
    assert len(told) == 2 and ["kestrelway-lane_early" in each for each in told].count(True) == 1


def test_what_never_holds_makes_room_for_what_does(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for turn in range(2):
        for at in range(5):
            foreign.commit({f"{at}.toml": f'lane{at} = "{["harborline", "kestrelway"][turn]}{at}"\n'})
    found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache")
    bad = found.candidates[0].what

    def find_wrong(_repo: object, _scenario: object, chains: Sequence[stories.Chained]) -> set[str]:
        return {each.name for each in chains if each.candidate.what == bad}

    monkeypatch.setattr(stories, "find_wrong", find_wrong)
    (story,) = mining.list_stories(found, 9, 1, Counter())
    assert found.candidates[0].id not in story.used and len(story.used) == 3


def test_two_things_of_one_name_are_never_in_one_story(foreign: Foreign, tmp_path: Path) -> None:
    """A question for one would be a question for the other."""
    live(foreign)
    for value in ("wagtail", "redstart"):
        foreign.commit({f"{name}.env": f"HARBOUR={value}-{name}\n" for name in ("one", "two")})
    found = {each.what for each in mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache").candidates}
    assert run(foreign.path, "--to", tmp_path / "suite", "--stories", "1")[0] == 0
    told = "".join(file.read_text() for file in loader.find(tmp_path / "suite"))
    assert "HARBOUR" in found and ("redstart-one" in told) + ("redstart-two" in told) <= 1


@pytest.mark.slow
def test_tests_of_the_repository_judge_what_they_tell_apart(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    (lane,) = [
        each for each in mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
        if "lane" in each.what
    ]  # fmt: skip
    command = f"grep -q {lane.stands[-1].value} {lane.file}"
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--tests", command)
    assert code == 0 and "The tests judge 2 of 5 decisions that were tried" in said, said
    (file,) = loader.find(tmp_path / "suite")
    assert file.read_text().count("tests = [") == 2, "in the middle and at the end"
    assert suite.validate([file], tmp_path, tmp_path / "cache") == []
    proven = suite.prove([file], tmp_path, tmp_path / "cache")
    assert not proven.breaches, "one wrong decision of a job spoils no other's"
    file.write_text(file.read_text().replace('"grep"', '"no-such-program"'))
    (problem, *_) = suite.validate([file], tmp_path, tmp_path / "cache")
    assert "prints nothing" in problem


@pytest.mark.slow
def test_tests_that_fail_now_and_then_judge_nothing(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(foreign)
    (lane,) = [
        each for each in mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache").candidates
        if "lane" in each.what
    ]  # fmt: skip
    monkeypatch.setattr(tested, "repeat", lambda *_: [(Check(decision="", command=(), exit=1, value=None, output=""),)])
    command = f"grep -q {lane.stands[-1].value} {lane.file}"
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--tests", command)
    assert code == 0 and "The tests judge 0 of 5 decisions that were tried" in said, said
    assert "Of 2 decisions they judged otherwise when run again, and judge nothing." in said, said
    (file,) = loader.find(tmp_path / "suite")
    assert "tests = [" not in file.read_text()


def test_tests_that_fail_as_they_are_judge_nothing_and_it_is_said(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    code, said = run(foreign.path, "--to", tmp_path / "suite", "--tests", "false")
    assert code == 0 and "The tests judge 0 of 2 decisions" in said, said
    assert "At 2 commits they fail without any change, and judge nothing: with " in said
    command = "sh -c 'echo no such module; exit 1'"
    code, said = run(foreign.path, "--to", tmp_path / "third", "--tests", command)
    assert code == 0 and "fail without any change, and judge nothing: no such module\n" in said, said
    code, said = run(foreign.path, "--to", tmp_path / "other", "--tests", "pytest 'half")
    assert code == 2 and said == "coldwarm: --tests: No closing quotation\n"
