from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.files import LIMIT
from tasks.loader import ScenarioError, find, load, read, resolve, validate
from tests.support.two_repositories import write_story
from tests.unit.conftest import House, Series


def test_a_good_scenario_is_loaded_with_hashes(house: House) -> None:
    assert validate(house.write(house.story), house.fixtures, house.cache) == []
    [(scenario, repo)] = load([house.file], house.fixtures, house.cache)
    assert scenario.id == "stale-deploy-rule/move"
    assert [session.commit for session in scenario.sessions] == list(repo.commits)
    assert [fact.source and fact.source.commit for fact in scenario.facts] == [*repo.commits[:2], None]
    assert scenario.by_id["new-platform"].source == scenario.facts[1].source
    plain = read(house.file)
    assert [session.commit for session in plain.sessions] == ["0001", "0002", "0003"]
    assert plain.by_id and resolve(plain, repo, house.file) == scenario


def test_scenarios_are_sorted_and_share_their_fixture(house: House) -> None:
    other = house.file.with_name("again.toml")
    other.write_text(house.story)
    loaded = load([house.write(house.story), other], house.fixtures, house.cache)
    assert [scenario.id for scenario, _ in loaded] == ["stale-deploy-rule/again", "stale-deploy-rule/move"]
    assert loaded[0][1] is loaded[1][1]
    with pytest.raises(ScenarioError, match="id: another file is 'stale-deploy-rule/move' as well"):
        load([house.file, house.file], house.fixtures, house.cache)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "file: is empty"),
        (" \n\t\n", "file: is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "file: is not UTF-8 text (at line 1)"),
        (b"schema = 1\ntitle = '\xff'\n", "file: is not UTF-8 text (at line 2)"),
        ("schema = 1\nversion =\n", "file: is not TOML: Invalid value (at line 2, column 10)"),
        ("schema = 1\nschema = 1\n", "file: is not TOML: Cannot overwrite a value (at line 2, column 11)"),
        ("a = " + "[" * 100_000, "file: is not TOML: nested too deeply"),
        ("schema = 1\n" + "a." * 100_000 + "a = 1", "file: has more than 64 dots in one line (at line 2)"),
        ("a = " + "1" * 5_000, "file: is not TOML: a number of too many digits"),
        ("schema = 1\n", "version: missing"),
    ],
)
def test_what_is_no_scenario_is_one_clear_line(house: House, text: str | bytes, says: str) -> None:
    assert house.fails(text).startswith(says)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title", "titel", "title: missing"),
        ("schema = 1", "schema = 1\ncolour = 3", "colour: unknown key"),
        ("schema = 1", "schema = 2", "schema: must be 1"),
        ('"stale-deploy-rule"', '"stale"', "kind: must be 'refactor'"),
        (
            "since = 2024-01-02T10:00:00Z",
            "since = 2024-01-02T10:00:00",
            "facts.new-platform.since: needs a time zone",
        ),
        ('[["kestrelway", "kestrel way"]]', '"kestrelway"', "facts.new-platform.forms: must be a list, as [...]"),
        ('id = "approver"\n', "", "facts.2.id: missing"),
        ('"use harborline", ', "", "facts.old-platform.rewrites: needs at least 3 entries, has 2"),
        (
            'supersedes = "old-platform"',
            'supersedes = "nothing"',
            "facts.new-platform.supersedes: unknown fact 'nothing'",
        ),
        ('{plain = "Where do we deploy?"}', "{}", "sessions.tuesday.steps.where.ask: needs at least one of"),
        (
            'do = "probe"',
            'do = "\\u001b[31m"',
            "sessions.tuesday.steps.where: do: unknown '\\x1b[31m'; there are learn,",
        ),
        ("line = 3}", "line = 3, page = 1}", "facts.old-platform.source.page: unknown key"),
        ("since", "confidence = nan\nsince", "facts.old-platform.confidence: must be"),
        ("since", "confidence = []\nsince", "facts.old-platform.confidence: must be a number"),
        ('do = "probe"\n', "", "sessions.tuesday.steps.where: needs a key 'do'"),
        ('fixture = "shop"', 'fixture = "stall"', "fixture: unknown 'stall'; there are shop in"),
        ('fixture = "shop"', 'fixture = "../shop"', "fixture: must be lower-case letters, digits and single hyphens"),
        ("schema = 1", 'schema = 1\nid = "x/y"', "id: unknown key"),
    ],
)
def test_what_breaks_the_format_is_one_clear_line(house: House, old: str, new: str, says: str) -> None:
    assert house.fails(house.changed(old, new)).startswith(says)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('beside = ["pier"]', 'beside = ["yard"]', "beside: unknown 'yard'; there are pier, shop in"),
        ('beside = ["pier"]', 'beside = ["pier", "pier"]', "beside: 'pier' is there twice"),
        ('beside = ["pier"]', 'beside = ["shop"]', "beside: `fixture` must be a folder of the fixtures, and is not"),
        (
            'fixture = "shop"',
            f'fixture = {{git = "x", commit = "{"0" * 40}"}}',
            "beside: `fixture` must be a folder of the fixtures",
        ),
        (
            'beside = ["pier"]\n',
            "",
            "sessions.thursday.commit: fixture shop: no patch 'pier/0002'; the series goes from 0001 to 0003",
        ),
        (
            '"pier/0002"',
            '"yard/0002"',
            "sessions.thursday.commit: fixture shop: no patch 'yard/0002'; the series goes from 0001 to 0003; beside",
        ),
        ('"pier/0002"', '"pier/0003"', "sessions.thursday.commit: fixture pier: no patch '0003'; the series goes from"),
        (
            'scope = {repo = "pier"',
            'scope = {repo = "shop"',
            "sessions.thursday.scope: its repo is 'shop', but its commit is one of 'pier'",
        ),
        ('"pier/0002"', '"0002"', "sessions.thursday.scope: its repo is 'pier', but its commit is one of 'shop'"),
    ],
)
def test_a_fixture_beside_that_does_not_fit_is_one_clear_line(
    house: House, series: Series, old: str, new: str, says: str
) -> None:
    text = write_story(house, series)
    assert house.problems(text) == [] and text.count(old) == 1
    assert house.fails(text.replace(old, new)).startswith(says)


def test_a_fixture_that_does_not_apply(house: House) -> None:
    patch = house.fixtures / "shop" / "0002-step.patch"
    patch.write_text(patch.read_text().replace("-The platform is harborline.", "-The platform is another."))
    assert house.fails(house.story).startswith("fixture: fixture shop: 0002-step.patch does not apply: ")


def test_validate_finds_everything(house: House) -> None:
    text = house.changed("title", "titel").replace("line = 3}", "line = 3, page = 1}", 1)
    found = validate(house.write(text), house.fixtures, house.cache)
    assert {line.removeprefix(f"{house.file}: ") for line in found} == {
        "title: missing", "titel: unknown key", "facts.old-platform.source.page: unknown key",
    }  # fmt: skip
    text = house.changed("line = 3}", "line = 1}").replace("Fill in the order.", "Fill in harborline.")
    assert len(validate(house.write(text), house.fixtures, house.cache)) == 2


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(50_000_000)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _locked(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser reads everything")
    path.write_text("schema = 1")
    path.chmod(0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_folder, "file: cannot be read: Is a directory"),
        (_loop, "file: cannot be read: Too many levels"),
        (_large, f"file: cannot be read: larger than {LIMIT:,} bytes"),
        (_pipe, "file: cannot be read: not a regular file"),
        (_locked, "file: cannot be read: Permission denied"),
        (lambda path: None, "file: cannot be read: No such file"),
    ],
)
def test_what_is_no_readable_file_is_one_clear_line(house: House, make: Callable[[Path], None], says: str) -> None:
    make(house.file)
    with pytest.raises(ScenarioError) as caught:
        read(house.file)
    assert str(caught.value).startswith(f"{house.file}: {says}")


def test_an_error_while_reading_is_one_clear_line(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    house.write(house.story)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ScenarioError, match="file: cannot be read: Permission denied"):
        read(house.file)


def test_a_hostile_file_name_stays_in_its_line() -> None:
    for name in ("a\nb\x1b[31m.toml", "a\0b.toml", "\udcff.toml", "x" * 5_000):
        with pytest.raises(ScenarioError, match=r"^[ -~]+$") as caught:
            read(Path("tasks/rename") / name)
        assert len(str(caught.value)) <= 500


def test_find_knows_ids_kinds_and_file_names(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = house.file.parent.parent
    with pytest.raises(ScenarioError, match="scenarios: none"):
        find(tasks)
    house.write(house.story)
    (tasks / "rename").mkdir()
    other = tasks / "rename" / "module.toml"
    other.write_text(house.story)
    assert find(tasks) == [other, house.file]
    for name in ("stale-deploy-rule/move", "stale-deploy-rule", "move", "move.toml", str(house.file)):
        assert find(tasks, [name]) == [house.file]
    assert find(tasks, ["move", "rename", "stale-deploy-rule"]) == [house.file, other]
    with pytest.raises(ScenarioError, match=r"^stale-deploy-rul/mvoe: scenario: .* did you mean stale-deploy-rule/mov"):
        find(tasks, ["move", "stale-deploy-rul/mvoe"])
    with pytest.raises(ScenarioError, match=r"^: scenario: "):
        find(tasks, [""])


def only_scenario_errors(house: House, data: bytes) -> None:
    try:
        load([house.write(data)], house.fixtures, house.cache)
    except ScenarioError as error:
        assert len(str(error).splitlines()) == 1 and str(error).startswith(f"{house.file}: ")
        assert validate(house.file, house.fixtures, house.cache)
    else:
        assert validate(house.file, house.fixtures, house.cache) == []


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))))
@settings(deadline=None)
def test_arbitrary_bytes_raise_nothing_else(lasting: House, data: bytes) -> None:
    only_scenario_errors(lasting, data)


LINES = (Path(__file__).parents[1] / "story.toml").read_text().splitlines()
VALUES = [
    "1", "-1", "99999999999999999999", "nan", "inf", "true", '""', '"x"', '"\\u0000"', '"../.."', "[]", "{}",
    "[[]]", "[{}]", '["x"]', '[["x"]]', "1979-05-27", "07:32:00", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59", '"approver"', '"{canary}"', '"0001"',
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The story with lines dropped, doubled, swapped, given another value or torn."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at, to = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        key, equals, value = lines[at].partition(" = ")
        match draw(st.sampled_from(["drop", "double", "swap", "value", "inner", "tear", "key"])):
            case "drop":
                lines[at] = ""
            case "double":
                lines.insert(to, lines[at])
            case "swap":
                lines[at], lines[to] = lines[to], lines[at]
            case "value" if equals:
                lines[at] = f"{key} = {draw(st.sampled_from(VALUES))}"
            case "inner" if '"' in value:
                first, _, rest = value.partition('"')
                lines[at] = f"{key} = {first}{draw(st.sampled_from(VALUES))}{rest.partition(chr(34))[2]}"
            case "key":
                lines[at] = f"{draw(st.sampled_from(['id', 'do', 'x', 'facts', 'old']))} = {value}"
            case _:
                cut = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + draw(st.text(max_size=3)) + lines[at][cut:]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@pytest.mark.slow
@given(mutated())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutated_scenarios_raise_nothing_else(lasting: House, data: bytes) -> None:
    only_scenario_errors(lasting, data)
