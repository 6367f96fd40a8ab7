"""Changed lines: which of them is a candidate of which kind, and the reason why another is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.mine import exclusions, mining, shapes
from harness.mine.mining import MineError
from tests.support.foreign import Foreign
from tests.support.recorded_sessions import KEY

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


def test_what_a_bot_changed_is_left_out(foreign: Foreign, tmp_path: Path) -> None:
    foreign.commit({"a.toml": 'lane = "harborline"\n'})
    foreign.commit({"a.toml": 'lane = "kestrelway"\n'}, author="dependabot[bot]")
    with pytest.raises(MineError, match="commit of a bot: 1"):
        mining.search(str(foreign.path), None, 3000, {}, tmp_path / "cache")


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
